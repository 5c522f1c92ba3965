//! Vector code on stable Rust, one copy per instruction set, chosen at run time.
//!
//! A kernel is written once, as a plain loop over slices. A macro, `multiversion!`,
//! compiles that loop for the portable baseline, for AVX2 with FMA and for
//! AVX-512, and LLVM vectorises each copy with what it may use. The choice is
//! one relaxed load and a jump *per call*, so a call must cover a block of work:
//! inside a kernel, use the inlined pieces of [`mod@dot`] and [`VectorMath`]
//! instead of calling another kernel.
//!
//! Limits: on anything but x86-64 only the baseline is compiled (on aarch64 that
//! includes NEON). The results of [`VectorMath`] do not depend on the instruction
//! set, for it never fuses a product with a sum. Those of [`mod@dot`] do, because
//! they fuse where the hardware can, but are bit-reproducible on each.

pub mod dot;
pub(crate) mod four;
pub mod math;
pub(crate) mod product;
mod real;
pub(crate) mod scaled;
pub(crate) mod search;
pub(crate) mod subnormal;
pub mod trigonometric;
pub(crate) mod vector;

use std::slice::ChunksExact;
use std::sync::atomic::{AtomicU8, Ordering};

pub use real::{Real, VectorMath};

/// The instruction sets that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Isa {
    /// The baseline of the target: SSE2 on x86-64, NEON on aarch64.
    Scalar = 1,
    /// 256-bit vectors and fused multiply-add.
    Avx2 = 2,
    /// 512-bit vectors (F, VL, DQ and BW) and fused multiply-add.
    Avx512 = 3,
}

impl Isa {
    /// The instruction set in use: the best the CPU has, or a lesser one named
    /// by the environment variable `WYRMLING_SIMD` (`scalar`, `avx2` or
    /// `avx512`). Read once, at the first call; another value of the variable,
    /// or one that the CPU lacks, changes nothing.
    #[inline(always)]
    pub fn active() -> Isa {
        match ACTIVE.load(Ordering::Relaxed) {
            1 => Isa::Scalar,
            2 => Isa::Avx2,
            3 => Isa::Avx512,
            _ => Isa::detect(),
        }
    }

    /// Decides, and remembers. Threads that race here come to the same answer.
    #[cold]
    #[inline(never)]
    fn detect() -> Isa {
        let best = Isa::best();
        let wanted = match std::env::var("WYRMLING_SIMD").as_deref() {
            Ok("scalar") => Isa::Scalar,
            Ok("avx2") => Isa::Avx2,
            _ => Isa::Avx512,
        };
        let isa = wanted.min(best);
        ACTIVE.store(isa as u8, Ordering::Relaxed);
        isa
    }

    /// The widest instruction set that this CPU and its operating system offer.
    fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            match (avx2, avx512) {
                (true, true) => return Isa::Avx512,
                (true, false) => return Isa::Avx2,
                (false, _) => {}
            }
        }
        Isa::Scalar
    }

    /// The name, as `WYRMLING_SIMD` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

/// The decision of [`Isa::active`]; 0 until it is made.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// An [`Isa`] as a type, so that a kernel knows at compile time what it is
/// compiled for. A value is a proof that the CPU has that instruction set:
/// `multiversion!` makes one where it has checked.
///
/// The trait is sealed: only this module implements it.
///
/// ```compile_fail
/// use wyrmling::simd::{Isa, Machine};
///
/// #[derive(Clone, Copy)]
/// struct Anything;
/// // SAFETY: there is nothing that makes it sound, so it must not compile.
/// unsafe impl Machine for Anything {
///     const ISA: Isa = Isa::Avx512; // Nobody has checked that the CPU has it.
///     const FMA: bool = true;
/// }
/// ```
///
/// # Safety
///
/// Safe functions run the instructions of `ISA` because they were passed a value of the type. So
/// wherever a value can exist the CPU has that instruction set, and a fused multiply-add if `FMA`
/// says so; only the baseline of the target may have a public constructor that is not `unsafe`.
pub unsafe trait Machine: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The instruction set.
    const ISA: Isa;
    /// Whether a fused multiply-add is one instruction. Where it is not, `mul_add`
    /// is a call into the C library, many times slower than two instructions.
    const FMA: bool;
}

/// Keeps other crates, which cannot name it, from implementing [`Machine`].
mod sealed {
    pub trait Sealed {}
}

/// The baseline of the target, as a type.
#[derive(Debug, Clone, Copy)]
pub struct Scalar;

impl sealed::Sealed for Scalar {}

// SAFETY: the target has its baseline, without which no code of ours runs at all; on aarch64 that
// includes a fused multiply-add.
unsafe impl Machine for Scalar {
    const ISA: Isa = Isa::Scalar;
    const FMA: bool = cfg!(target_arch = "aarch64");
}

macro_rules! machine {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        impl $name {
            /// Claims that the CPU has this instruction set.
            ///
            /// # Safety
            ///
            /// It has: otherwise what is called with this value is undefined
            /// behaviour.
            #[inline(always)]
            pub unsafe fn assume() -> Self {
                Self(())
            }
        }

        impl sealed::Sealed for $name {}

        // SAFETY: the field is private, and `assume`, which alone makes a value, asks its caller
        // to have checked that the CPU has the instruction set; both include FMA.
        unsafe impl Machine for $name {
            const ISA: Isa = Isa::$name;
            const FMA: bool = true;
        }
    };
}

machine! {
    /// AVX2 with FMA, as a type.
    Avx2
}
machine! {
    /// AVX-512, as a type.
    Avx512
}

/// `a * b + c`, rounded once where the hardware can, twice elsewhere.
#[inline(always)]
pub fn mul_add<M: Machine, T: num_traits::Float>(a: T, b: T, c: T) -> T {
    if M::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Compiles one function for every [`Isa`] and picks a copy at each call.
///
/// Inside the body the type `M:`[`Machine`] says which copy this is; see `M::FMA`.
/// If the first argument is declared as `machine: M`, under any name, the body
/// gets a value of it to hand on to inlined pieces such as [`dot::dot`]; whoever
/// calls the function does not pass it. The copies inherit only what is inlined
/// into them: whatever the body calls in its inner loop must be
/// `#[inline(always)]`.
///
/// Accepted: generic type parameters with one bound each (none may be called
/// `M`), further bounds in a `where` clause, plain argument names. With `@avx2` before the
/// function a CPU that has AVX-512 runs the copy for AVX2: what waits for memory gains nothing by
/// wider registers, LLVM makes some loops slower with them (the largest of many numbers takes 1.2
/// to 1.5 times as long), and every copy is bytes of a wheel.
///
/// ```ignore
/// multiversion! {
///     /// `out[i] = f(x[i])`.
///     pub fn map<T: Real, F: Unary>(f: F, x: &[T], out: &mut [T])
///     where
///         F: Copy,
///     {
///         for (out, &x) in out.iter_mut().zip(x) {
///             *out = f.apply(x);
///         }
///     }
/// }
///
/// multiversion! {
///     /// The inner products of the rows of two matrices.
///     pub fn row_dots<T: Real>(machine: M, a: &[T], b: &[T], width: usize, out: &mut [T]) {
///         for ((out, a), b) in out.iter_mut().zip(a.chunks(width)).zip(b.chunks(width)) {
///             *out = dot::dot(machine, a, b);
///         }
///     }
/// }
/// ```
macro_rules! multiversion {
    (
        $(@$most:ident)?
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$($generic:ident : $bound:path),+ $(,)?>)?
        ($machine:ident : M $(, $arg:ident : $type:ty)* $(,)?) $(-> $ret:ty)?
        $(where $($subject:ty : $also:path),+ $(,)?)?
        $body:block
    ) => {
        $(#[$meta])*
        $vis fn $name $(<$($generic: $bound),+>)? ($($arg: $type),*) $(-> $ret)?
        $(where $($subject: $also),+)?
        {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "as many as the function has")]
            fn body<M: $crate::simd::Machine, $($($generic: $bound),+)?>(
                $machine: M, $($arg: $type),*
            ) $(-> $ret)?
            $(where $($subject: $also),+)?
            $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "as many as the function has")]
            fn avx2 $(<$($generic: $bound),+>)? ($($arg: $type),*) $(-> $ret)?
            $(where $($subject: $also),+)?
            {
                // SAFETY: this function enables the features, so whoever calls it
                // has shown that the CPU has them.
                let machine = unsafe { $crate::simd::Avx2::assume() };
                body::<_, $($($generic),+)?>(machine, $($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "as many as the function has")]
            fn avx512 $(<$($generic: $bound),+>)? ($($arg: $type),*) $(-> $ret)?
            $(where $($subject: $also),+)?
            {
                // SAFETY: this function enables the features, so whoever calls it
                // has shown that the CPU has them.
                let machine = unsafe { $crate::simd::Avx512::assume() };
                body::<_, $($($generic),+)?>(machine, $($arg),*)
            }

            $(const _: () = assert!(matches!(stringify!($most).as_bytes(), b"avx2"));)?
            #[cfg(target_arch = "x86_64")]
            const IS_WIDE: bool = concat!($(stringify!($most))?).is_empty();
            match $crate::simd::Isa::active() {
                // SAFETY: `Isa::active` is `Avx512` only if the CPU was found to
                // have all six features that this copy enables.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx512 if IS_WIDE => unsafe {
                    avx512 $(::<$($generic),+>)? ($($arg),*)
                },
                // SAFETY: `Isa::active` is `Avx2` or more only if the CPU was found to
                // have both features that this copy enables.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx2 | $crate::simd::Isa::Avx512 => unsafe {
                    avx2 $(::<$($generic),+>)? ($($arg),*)
                },
                _ => body::<_, $($($generic),+)?>($crate::simd::Scalar, $($arg),*),
            }
        }
    };
    (
        $(@$most:ident)?
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$($generic:ident : $bound:path),+ $(,)?>)?
        ($($arg:ident : $type:ty),* $(,)?) $(-> $ret:ty)?
        $(where $($subject:ty : $also:path),+ $(,)?)?
        $body:block
    ) => {
        $crate::simd::multiversion! {
            $(@$most)?
            $(#[$meta])*
            $vis fn $name $(<$($generic: $bound),+>)? (_machine: M $(, $arg: $type)*) $(-> $ret)?
            $(where $($subject: $also),+)?
            $body
        }
    };
}
pub(crate) use multiversion;

/// Compiles `$body` for some usual widths of rows of `$type` as constants, so that its loops over
/// rows unroll without an odd end, and once for any other width. Every width costs code, which
/// counts in a wheel: so only for single precision, and not for the baseline.
macro_rules! by_width {
    ($machine:ty, $type:ty, $width:expr, [$($usual:literal),+], $W:ident => $body:expr) => {{
        let usual = size_of::<$type>() == size_of::<f32>()
            && <$machine as $crate::simd::Machine>::ISA as u8 > $crate::simd::Isa::Scalar as u8;
        match $width {
            $($usual if usual => {
                const $W: usize = $usual;
                $body
            })+
            #[allow(
                non_snake_case,
                reason = "it stands for the constant of the other arms"
            )]
            $W => $body,
        }
    }};
}
pub(crate) use by_width;

/// The rows of a matrix of so many columns. Clippy asks for arrays where [`by_width`] makes the number a constant,
/// which it is not in all arms.
#[inline(always)]
pub(crate) fn rows<T>(matrix: &[T], columns: usize) -> ChunksExact<'_, T> {
    matrix.chunks_exact(columns)
}

multiversion! {
    /// The inner product `Σ a[i]·b[i]`; 0 for empty slices.
    ///
    /// ```
    /// assert_eq!(wyrmling::simd::dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
    /// ```
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn dot<T: Real>(machine: M, a: &[T], b: &[T]) -> T {
        assert!(a.len() == b.len(), "dot: the slices differ in length");
        dot::dot(machine, a, b)
    }
}

multiversion! {
    /// The sum `Σ x[i]`; 0 for an empty slice.
    #[inline]
    pub fn sum<T: Real>(machine: M, x: &[T]) -> T {
        dot::sum(machine, x)
    }
}

multiversion! {
    /// `y[i] += alpha·x[i]`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn axpy<T: Real>(machine: M, alpha: T, x: &[T], y: &mut [T]) {
        assert!(x.len() == y.len(), "axpy: the slices differ in length");
        dot::axpy(machine, alpha, x, y)
    }
}

multiversion! {
    /// `out[i] = alpha·x[i]`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn scale_into<T: Real>(machine: M, alpha: T, x: &[T], out: &mut [T]) {
        assert!(x.len() == out.len(), "scale_into: the slices differ in length");
        dot::scale_into(machine, alpha, x, out)
    }
}
