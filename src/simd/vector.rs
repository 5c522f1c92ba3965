//! Vector registers as types: the few operations that dot products are made of.
//!
//! LLVM vectorises an elementwise loop well, but badly a sum in a fixed order (it
//! keeps 32 accumulators in registers of two) and a loop over short rows whose length
//! is no constant. So the reductions of [`mod@super::dot`] and the optimizers' rules
//! are written once, over this trait, and each instruction set provides its register.
//! [`One`] is a register of one element, for the end of a row.
//!
//! Limits: only `f32` and `f64`, and only the operations that these callers need.

use std::marker::PhantomData;

use num_traits::Float;

use super::Machine;

/// A register of some elements of type `T`.
///
/// # Safety
///
/// Every function here may only be called where the instruction set of the
/// implementing type is available: holding a [`Machine`] value
/// of that instruction set proves it. Further conditions are with the functions.
pub unsafe trait Vector<T>: Copy {
    /// Elements in a register.
    const LANES: usize;
    /// All lanes `x`.
    unsafe fn splat(x: T) -> Self;
    /// Reads `LANES` elements. `from` must be valid for reading them.
    unsafe fn load(from: *const T) -> Self;
    /// Reads the first `count <= LANES` elements, the other lanes are 0. `from`
    /// must be valid for reading `count` elements.
    unsafe fn load_first(from: *const T, count: usize) -> Self;
    /// Writes `LANES` elements. `to` must be valid for writing them.
    unsafe fn store(self, to: *mut T);
    /// Writes the first `count <= LANES` elements. `to` must be valid for writing `count` elements.
    unsafe fn store_first(self, to: *mut T, count: usize);
    /// `self + b`, lane by lane.
    unsafe fn add(self, b: Self) -> Self;
    /// `self * b`, lane by lane.
    unsafe fn mul(self, b: Self) -> Self;
    /// `self / b`, lane by lane.
    unsafe fn div(self, b: Self) -> Self;
    /// The lesser of `self` and `b`, lane by lane; `b` where either is NaN.
    unsafe fn min(self, b: Self) -> Self;
    /// The greater of `self` and `b`, lane by lane; `b` where either is NaN.
    unsafe fn max(self, b: Self) -> Self;
    /// The square root of each lane.
    unsafe fn sqrt(self) -> Self;
    /// `self * b + c`, lane by lane, rounded once where the hardware can.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// The sum of the lanes: upper half onto lower half, until one is left.
    unsafe fn sum(self) -> T;
}

/// One element as a register, for what is left of a row.
#[derive(Debug, Clone, Copy)]
pub struct One<M, T>(T, PhantomData<M>);

// SAFETY: a single element needs no instruction set but that of `M`, where the caller
// says it is; memory is touched as declared.
unsafe impl<M: Machine, T: Float> Vector<T> for One<M, T> {
    const LANES: usize = 1;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        One(x, PhantomData)
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: one element is valid there, by the condition of the function.
        One(unsafe { from.read() }, PhantomData)
    }
    #[inline(always)]
    unsafe fn load_first(from: *const T, count: usize) -> Self {
        match count {
            0 => One(T::zero(), PhantomData),
            // SAFETY: one element is valid there, by the condition of the function.
            _ => unsafe { Self::load(from) },
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: one element is valid there, by the condition of the function.
        unsafe { to.write(self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut T, count: usize) {
        if count > 0 {
            // SAFETY: one element is valid there, by the condition of the function.
            unsafe { self.store(to) }
        }
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        One(self.0 + b.0, PhantomData)
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        One(self.0 * b.0, PhantomData)
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        One(self.0 / b.0, PhantomData)
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        if self.0 < b.0 { self } else { b }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        if self.0 > b.0 { self } else { b }
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        One(self.0.sqrt(), PhantomData)
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        One(super::mul_add::<M, T>(self.0, b.0, c.0), PhantomData)
    }
    #[inline(always)]
    unsafe fn sum(self) -> T {
        self.0
    }
}

/// The registers of an element type, by instruction set. Other crates cannot name this trait, so
/// [`Real`](super::Real), which asks for it, is implemented here only. Unsafe code relies on that: a
/// `Real` is a float of its size, without padding, and any bits are a value of it.
pub trait Registers: Sized {
    /// The register of [`Scalar`](super::Scalar).
    type Scalar: Vector<Self>;
    /// The register of [`Avx2`](super::Avx2).
    type Avx2: Vector<Self>;
    /// The register of [`Avx512`](super::Avx512).
    type Avx512: Vector<Self>;
}

macro_rules! portable {
    ($type:ident) => {
        // SAFETY: arrays need no instruction set; memory is touched as declared.
        unsafe impl Vector<$type> for [$type; 4] {
            const LANES: usize = 4;
            #[inline(always)]
            unsafe fn splat(x: $type) -> Self {
                [x; 4]
            }
            #[inline(always)]
            unsafe fn load(from: *const $type) -> Self {
                // SAFETY: 4 elements are valid there, by the condition of the
                // function; an array has no stricter alignment than its elements.
                unsafe { from.cast::<Self>().read() }
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $type, count: usize) -> Self {
                let mut lanes = [0.0; 4];
                for (i, lane) in lanes.iter_mut().enumerate().take(count) {
                    // SAFETY: only elements before `count` are read, which are valid,
                    // by the condition of the function.
                    *lane = unsafe { from.add(i).read() };
                }
                lanes
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $type) {
                // SAFETY: 4 elements are valid there, by the condition of the
                // function; an array has no stricter alignment than its elements.
                unsafe { to.cast::<Self>().write(self) }
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $type, count: usize) {
                for (i, lane) in self.into_iter().enumerate().take(count) {
                    // SAFETY: only elements before `count` are written, which are valid, by the
                    // condition of the function.
                    unsafe { to.add(i).write(lane) }
                }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] + b[i])
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] * b[i])
            }
            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] / b[i])
            }
            #[inline(always)]
            unsafe fn min(self, b: Self) -> Self {
                std::array::from_fn(|i| if self[i] < b[i] { self[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn max(self, b: Self) -> Self {
                std::array::from_fn(|i| if self[i] > b[i] { self[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn sqrt(self) -> Self {
                std::array::from_fn(|i| self[i].sqrt())
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                std::array::from_fn(|i| super::mul_add::<super::Scalar, _>(self[i], b[i], c[i]))
            }
            #[inline(always)]
            unsafe fn sum(self) -> $type {
                (self[0] + self[2]) + (self[1] + self[3])
            }
        }

        impl Registers for $type {
            type Scalar = [$type; 4];
            #[cfg(target_arch = "x86_64")]
            type Avx2 = x86::$type::Narrow;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = x86::$type::Wide;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = [$type; 4];
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = [$type; 4];
        }
    };
}

portable!(f32);
portable!(f64);

/// The registers of AVX2 and AVX-512.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    pub mod f32 {
        pub type Narrow = std::arch::x86_64::__m256;
        pub type Wide = std::arch::x86_64::__m512;
    }
    pub mod f64 {
        pub type Narrow = std::arch::x86_64::__m256d;
        pub type Wide = std::arch::x86_64::__m512d;
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sum_f32(x: __m256) -> f32 {
        let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
        let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
        _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sum_f64(x: __m256d) -> f64 {
        let x = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd::<1>(x));
        _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)))
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn sum_f32_wide(x: __m512) -> f32 {
        sum_f32(_mm256_add_ps(
            _mm512_castps512_ps256(x),
            _mm512_extractf32x8_ps::<1>(x),
        ))
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn sum_f64_wide(x: __m512d) -> f64 {
        sum_f64(_mm256_add_pd(
            _mm512_castpd512_pd256(x),
            _mm512_extractf64x4_pd::<1>(x),
        ))
    }

    /// `LANES` entries from `LANES - count` on are a mask of the first `count` lanes.
    static FIRST_F32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    static FIRST_F64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn first_f32(count: usize) -> __m256i {
        debug_assert!(count <= 8);
        // SAFETY: 8 entries from `8 - count.min(8)`, which is at most 8 of 16.
        unsafe { _mm256_loadu_si256(FIRST_F32.as_ptr().add(8 - count.min(8)).cast()) }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn first_f64(count: usize) -> __m256i {
        debug_assert!(count <= 4);
        // SAFETY: 4 entries from `4 - count.min(4)`, which is at most 4 of 8.
        unsafe { _mm256_loadu_si256(FIRST_F64.as_ptr().add(4 - count.min(4)).cast()) }
    }

    #[inline(always)]
    fn first_f32_wide(count: usize) -> __mmask16 {
        debug_assert!(count <= 16);
        !(u32::MAX << (count % 32)) as u16
    }

    #[inline(always)]
    fn first_f64_wide(count: usize) -> __mmask8 {
        debug_assert!(count <= 8);
        !(u32::MAX << (count % 32)) as u8
    }

    macro_rules! register {
        (
            $features:literal, $type:ident, $register:ident, $lanes:literal, $first:ident,
            $splat:ident, $load:ident, $load_first:expr,
            $store:ident, $store_first:expr, $add:ident, $mul:ident, $div:ident, $min:ident, $max:ident,
            $sqrt:ident, $mul_add:ident, $sum:ident
        ) => {
            // SAFETY: the features enabled are those of the instruction set;
            // memory is touched as declared.
            unsafe impl Vector<$type> for $register {
                const LANES: usize = $lanes;
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn splat(x: $type) -> Self {
                    $splat(x)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn load(from: *const $type) -> Self {
                    // SAFETY: `LANES` elements are valid there, by the condition of the function; the
                    // instruction does not ask for alignment.
                    unsafe { $load(from) }
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn load_first(from: *const $type, count: usize) -> Self {
                    // SAFETY: the mask covers `count` elements, for which the
                    // condition of the function holds; lanes outside a mask touch no memory.
                    unsafe { $load_first(from, $first(count)) }
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn store(self, to: *mut $type) {
                    // SAFETY: `LANES` elements are valid there, by the condition of the function; the
                    // instruction does not ask for alignment.
                    unsafe { $store(to, self) }
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn store_first(self, to: *mut $type, count: usize) {
                    // SAFETY: the mask covers `count` elements, for which the condition of the
                    // function holds; lanes outside a mask touch no memory.
                    unsafe { $store_first(to, $first(count), self) }
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn add(self, b: Self) -> Self {
                    $add(self, b)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn mul(self, b: Self) -> Self {
                    $mul(self, b)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn div(self, b: Self) -> Self {
                    $div(self, b)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn min(self, b: Self) -> Self {
                    $min(self, b)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn max(self, b: Self) -> Self {
                    $max(self, b)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn sqrt(self) -> Self {
                    $sqrt(self)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                    $mul_add(self, b, c)
                }
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn sum(self) -> $type {
                    $sum(self)
                }
            }
        };
    }

    register!(
        "avx2,fma",
        f32,
        __m256,
        8,
        first_f32,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_maskload_ps,
        _mm256_storeu_ps,
        _mm256_maskstore_ps,
        _mm256_add_ps,
        _mm256_mul_ps,
        _mm256_div_ps,
        _mm256_min_ps,
        _mm256_max_ps,
        _mm256_sqrt_ps,
        _mm256_fmadd_ps,
        sum_f32
    );
    register!(
        "avx2,fma",
        f64,
        __m256d,
        4,
        first_f64,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_maskload_pd,
        _mm256_storeu_pd,
        _mm256_maskstore_pd,
        _mm256_add_pd,
        _mm256_mul_pd,
        _mm256_div_pd,
        _mm256_min_pd,
        _mm256_max_pd,
        _mm256_sqrt_pd,
        _mm256_fmadd_pd,
        sum_f64
    );
    register!(
        "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma",
        f32,
        __m512,
        16,
        first_f32_wide,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        |from, mask| _mm512_maskz_loadu_ps(mask, from),
        _mm512_storeu_ps,
        |to, mask, x| _mm512_mask_storeu_ps(to, mask, x),
        _mm512_add_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_min_ps,
        _mm512_max_ps,
        _mm512_sqrt_ps,
        _mm512_fmadd_ps,
        sum_f32_wide
    );
    register!(
        "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma",
        f64,
        __m512d,
        8,
        first_f64_wide,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        |from, mask| _mm512_maskz_loadu_pd(mask, from),
        _mm512_storeu_pd,
        |to, mask, x| _mm512_mask_storeu_pd(to, mask, x),
        _mm512_add_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_min_pd,
        _mm512_max_pd,
        _mm512_sqrt_pd,
        _mm512_fmadd_pd,
        sum_f64_wide
    );

    #[cfg(test)]
    mod tests;
}
