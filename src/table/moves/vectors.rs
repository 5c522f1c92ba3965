//! Moves by whole vectors, for the instruction set of a kernel: each function returns how many bytes it
//! has moved, a multiple of 16, and leaves the rest.
//!
//! They are functions of a loop each, so that LLVM copies them into kernels, where it knows how many
//! bytes there are and can unroll them.

use std::arch::asm;
use std::arch::x86_64::{__m128, __m256, __m512};

use crate::simd::{Isa, Machine};

/// Whether rows are moved by vector instructions, and not element by element.
pub const BY_VECTORS: bool = true;

/// Defines a load and a store by vectors of one type, from byte `at` on, of `$block` bytes at a
/// time. Both return where they ended. Each is small, so that LLVM copies it into kernels.
macro_rules! movers {
    (
        $(#[$feature:meta])? $load:ident, $store:ident, $instruction:literal,
        $vector:ty, $class:ident, $block:expr
    ) => {
        /// # Safety
        ///
        /// The features are available. `src` is valid for `bytes` bytes of
        /// elements that are raced by atomic accesses of their own size only;
        /// `dst` is valid for writing as many and not shared; `at` is not beyond `bytes`.
        $(#[$feature])?
        #[inline]
        unsafe fn $load(src: *const u8, dst: *mut u8, mut at: usize, bytes: usize) -> usize {
            movers!(@load $block, $instruction, $vector, $class, src, dst, at, bytes);
            at
        }

        /// # Safety
        ///
        /// The features are available. `dst` is valid for `bytes` bytes of
        /// elements that are raced by atomic accesses of their own size only;
        /// `src` is valid for reading as many and nobody writes there; `at` is not beyond
        /// `bytes`.
        $(#[$feature])?
        #[inline]
        unsafe fn $store(dst: *mut u8, src: *const u8, mut at: usize, bytes: usize) -> usize {
            movers!(@store $block, $instruction, $vector, $class, src, dst, at, bytes);
            at
        }
    };
    (
        @load $block:expr, $instruction:literal, $vector:ty, $class:ident,
        $src:ident, $dst:ident, $at:ident, $bytes:ident
    ) => {
        while $bytes - $at >= $block {
            for _ in 0..$block / size_of::<$vector>() {
                let vector: $vector;
                // SAFETY: `src` is valid for `bytes` bytes, and the vector ends at or before
                // them, by the condition of the loop. To other threads the load is a relaxed
                // atomic load of each of its elements, as the module says; it writes no memory,
                // uses no stack and leaves the flags alone.
                unsafe {
                    asm!(
                        concat!($instruction, " {}, [{}]"),
                        out($class) vector,
                        in(reg) $src.add($at),
                        options(readonly, nostack, preserves_flags),
                    );
                }
                // SAFETY: `dst` is valid for writing `bytes` bytes and not shared, and the vector
                // ends at or before `bytes`; no alignment is assumed.
                unsafe { $dst.add($at).cast::<$vector>().write_unaligned(vector) };
                $at += size_of::<$vector>();
            }
        }
    };
    (
        @store $block:expr, $instruction:literal, $vector:ty, $class:ident,
        $src:ident, $dst:ident, $at:ident, $bytes:ident
    ) => {
        while $bytes - $at >= $block {
            for _ in 0..$block / size_of::<$vector>() {
                // SAFETY: `src` is valid for `bytes` bytes, and the vector ends at or before
                // them, by the condition of the loop; no alignment is assumed.
                let vector = unsafe { $src.add($at).cast::<$vector>().read_unaligned() };
                // SAFETY: `dst` is valid for `bytes` bytes, and the vector ends at or before
                // them. To other threads the store is a relaxed atomic store of each of its
                // elements, as the module says; it uses no stack and leaves the flags alone.
                unsafe {
                    asm!(
                        concat!($instruction, " [{}], {}"),
                        in(reg) $dst.add($at),
                        in($class) vector,
                        options(nostack, preserves_flags),
                    );
                }
                $at += size_of::<$vector>();
            }
        }
    };
}

/// Bytes moved at once by the widest vectors.
const BLOCK: usize = 128;

movers!(
    load_sse2_blocks,
    store_sse2_blocks,
    "movups",
    __m128,
    xmm_reg,
    BLOCK
);
movers!(
    load_sse2,
    store_sse2,
    "movups",
    __m128,
    xmm_reg,
    size_of::<__m128>()
);
movers!(
    #[target_feature(enable = "avx2,fma")]
    load_half,
    store_half,
    "vmovups",
    __m128,
    xmm_reg,
    size_of::<__m128>()
);
movers!(
    #[target_feature(enable = "avx2,fma")]
    load_avx2_blocks,
    store_avx2_blocks,
    "vmovups",
    __m256,
    ymm_reg,
    BLOCK
);
movers!(
    #[target_feature(enable = "avx2,fma")]
    load_avx2,
    store_avx2,
    "vmovups",
    __m256,
    ymm_reg,
    size_of::<__m256>()
);
movers!(
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    load_avx512_blocks,
    store_avx512_blocks,
    "vmovups",
    __m512,
    zmm_reg,
    BLOCK
);
movers!(
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    load_avx512,
    store_avx512,
    "vmovups",
    __m512,
    zmm_reg,
    size_of::<__m512>()
);

/// # Safety
///
/// `src` is valid for `bytes` bytes of elements that are raced by atomic
/// accesses of their own size only; `dst` is valid for writing as many and not
/// shared.
#[inline(always)]
pub unsafe fn load<M: Machine>(_: M, src: *const u8, dst: *mut u8, bytes: usize) -> usize {
    // SAFETY: a value of `M` was passed, hence its features are available: those of AVX-512 with
    // AVX2, or AVX2, or SSE2, which every x86-64 has. `src` and `dst` are as this function's
    // conditions say; `at` is 0 or where the call before ended, which is not beyond `bytes`.
    unsafe {
        match M::ISA {
            Isa::Scalar => {
                let at = load_sse2_blocks(src, dst, 0, bytes);
                load_sse2(src, dst, at, bytes)
            }
            Isa::Avx2 | Isa::Avx512 => {
                let mut at = 0;
                if M::ISA == Isa::Avx512 {
                    at = load_avx512_blocks(src, dst, at, bytes);
                    at = load_avx512(src, dst, at, bytes);
                } else {
                    at = load_avx2_blocks(src, dst, at, bytes);
                }
                at = load_avx2(src, dst, at, bytes);
                load_half(src, dst, at, bytes)
            }
        }
    }
}

/// # Safety
///
/// `dst` is valid for `bytes` bytes of elements that are raced by atomic
/// accesses of their own size only; `src` is valid for reading as many and
/// nobody writes there.
#[inline(always)]
pub unsafe fn store<M: Machine>(_: M, dst: *mut u8, src: *const u8, bytes: usize) -> usize {
    // SAFETY: a value of `M` was passed, hence its features are available: those of AVX-512 with
    // AVX2, or AVX2, or SSE2, which every x86-64 has. `src` and `dst` are as this function's
    // conditions say; `at` is 0 or where the call before ended, which is not beyond `bytes`.
    unsafe {
        match M::ISA {
            Isa::Scalar => {
                let at = store_sse2_blocks(dst, src, 0, bytes);
                store_sse2(dst, src, at, bytes)
            }
            Isa::Avx2 | Isa::Avx512 => {
                let mut at = 0;
                if M::ISA == Isa::Avx512 {
                    at = store_avx512_blocks(dst, src, at, bytes);
                    at = store_avx512(dst, src, at, bytes);
                } else {
                    at = store_avx2_blocks(dst, src, at, bytes);
                }
                at = store_avx2(dst, src, at, bytes);
                store_half(dst, src, at, bytes)
            }
        }
    }
}
