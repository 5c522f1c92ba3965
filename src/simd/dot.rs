//! The loops under linear algebra, to be inlined into a kernel: dot, sum, axpy, axpby.
//!
//! A dot product in one accumulator waits for each addition before the next.
//! Here four vector registers of accumulators run side by side. The order is
//! fixed by the length alone: whole blocks of four registers, then one register
//! at a time into the first, second and third accumulator, what remains into the
//! fourth; at the end the accumulators and then their lanes are added as a binary
//! tree. So a result is bit-reproducible per instruction set, and its rounding
//! error grows with the length divided by 16 to 64 (the number of accumulators).
//!
//! These are `#[inline(always)]` and take a [`Machine`]: call them from a body of
//! `multiversion!`. The functions of the same names in [`crate::simd`] are for
//! everyone else.
//!
//! Limits: of slices of different lengths only the shorter length is used; callers
//! check lengths. `axpy` and `axpby` fuse products with sums where the hardware can.

use super::Real;
use crate::simd::vector::Vector;
use crate::simd::{Isa, Machine, mul_add};

/// Calls the function with the register type of the machine, which is chosen at
/// compile time. What it asks for besides the instruction set, whoever calls it here has shown.
macro_rules! with_register {
    ($machine:ident, $type:ident, $function:ident $(::<$parameter:ty>)?($($argument:expr),*)) => {
        match $machine::ISA {
            // SAFETY: this register is an array of numbers, which needs no instruction set of its own.
            Isa::Scalar => unsafe { $function::<$type::Scalar, $type, $($parameter)?>($($argument),*) },
            // SAFETY: a value of `$machine` was passed, whose instruction set is AVX2; such a value is
            // made only where the CPU was found to have AVX2 and FMA.
            Isa::Avx2 => unsafe { $function::<$type::Avx2, $type, $($parameter)?>($($argument),*) },
            // SAFETY: a value of `$machine` was passed, whose instruction set is AVX-512; such a value is
            // made only where the CPU was found to have it.
            Isa::Avx512 => unsafe { $function::<$type::Avx512, $type, $($parameter)?>($($argument),*) },
        }
    };
}
pub(super) use with_register;

/// `Σ a[i]·b[i]`.
#[inline(always)]
pub fn dot<M: Machine, T: Real>(_: M, a: &[T], b: &[T]) -> T {
    with_register!(M, T, accumulate::<PairProduct>(a, b))
}

/// `Σ x[i]`.
#[inline(always)]
pub fn sum<M: Machine, T: Real>(_: M, x: &[T]) -> T {
    with_register!(M, T, accumulate::<First>(x, x))
}

/// `y[i] += alpha·x[i]`.
#[inline(always)]
pub fn axpy<M: Machine, T: Real>(m: M, alpha: T, x: &[T], y: &mut [T]) {
    axpby(m, alpha, x, T::one(), y)
}

/// `y[i] = beta·y[i] + alpha·x[i]`.
#[inline(always)]
pub fn axpby<M: Machine, T: Real>(_: M, alpha: T, x: &[T], beta: T, y: &mut [T]) {
    // A loop that LLVM vectorises uses whole registers only from 64 elements on, and a
    // load soon after a masked store to the same row waits for that store. So: whole
    // registers, then half registers, then single elements.
    let mut done = 0;
    if M::ISA == Isa::Avx512 {
        // SAFETY: a value of `M` was passed, whose instruction set is AVX-512; such a value is made only
        // where the CPU was found to have it.
        done += unsafe { axpby_whole::<T::Avx512, T>(alpha, x, beta, y) };
    }
    if M::ISA >= Isa::Avx2 {
        // SAFETY: a value of `M` was passed, whose instruction set is AVX2 or AVX-512; such a value is
        // made only where the CPU was found to have that, and AVX2 and FMA besides.
        done += unsafe { axpby_whole::<T::Avx2, T>(alpha, &x[done..], beta, &mut y[done..]) };
    }
    for (y, &x) in y[done..].iter_mut().zip(&x[done..]) {
        *y = mul_add::<M, T>(alpha, x, beta * *y);
    }
}

/// `y[i] += alpha·x[i] + gamma·z[i]`, added in that order.
#[inline(always)]
pub fn axpy_two<M: Machine, T: Real>(m: M, alpha: T, x: &[T], gamma: T, z: &[T], y: &mut [T]) {
    axpby_two(m, (alpha, x), (gamma, z), T::one(), y)
}

/// `y[i] = beta·y[i] + alpha·x[i] + gamma·z[i]`, added in that order.
#[inline(always)]
pub fn axpby_two<M: Machine, T: Real>(
    _: M,
    (alpha, x): (T, &[T]),
    (gamma, z): (T, &[T]),
    beta: T,
    y: &mut [T],
) {
    let mut done = 0;
    if M::ISA == Isa::Avx512 {
        // SAFETY: a value of `M` was passed, whose instruction set is AVX-512; such a value is made only
        // where the CPU was found to have it.
        done += unsafe { axpby_two_whole::<T::Avx512, T>((alpha, x), (gamma, z), beta, y) };
    }
    if M::ISA >= Isa::Avx2 {
        let (x, z, y) = (&x[done..], &z[done..], &mut y[done..]);
        // SAFETY: a value of `M` was passed, whose instruction set is AVX2 or AVX-512; such a value is
        // made only where the CPU was found to have that, and AVX2 and FMA besides.
        done += unsafe { axpby_two_whole::<T::Avx2, T>((alpha, x), (gamma, z), beta, y) };
    }
    for ((y, &x), &z) in y[done..].iter_mut().zip(&x[done..]).zip(&z[done..]) {
        *y = mul_add::<M, T>(gamma, z, mul_add::<M, T>(alpha, x, beta * *y));
    }
}

/// `out[i] = alpha·x[i]`.
#[inline(always)]
pub fn scale_into<M: Machine, T: Real>(_: M, alpha: T, x: &[T], out: &mut [T]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = alpha * x;
    }
}

/// What a pair of elements adds to its accumulator.
trait PairTerm {
    /// # Safety
    ///
    /// The instruction set of `V` is available.
    unsafe fn add<T, V: Vector<T>>(sum: V, a: V, b: V) -> V;
}

struct PairProduct;
impl PairTerm for PairProduct {
    #[inline(always)]
    unsafe fn add<T, V: Vector<T>>(sum: V, a: V, b: V) -> V {
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe { a.mul_add(b, sum) }
    }
}

struct First;
impl PairTerm for First {
    #[inline(always)]
    unsafe fn add<T, V: Vector<T>>(sum: V, a: V, _: V) -> V {
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe { sum.add(a) }
    }
}

/// The sum of the terms.
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn accumulate<V: Vector<T>, T: Real, F: PairTerm>(a: &[T], b: &[T]) -> T {
    let length = a.len().min(b.len());
    let (a, b) = (a.as_ptr(), b.as_ptr());
    let mut at = 0;
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Every load
    // starts at `at` or whole registers after it, and the condition before it has shown that so many
    // elements are left of both slices.
    unsafe {
        let mut sums = [V::splat(T::zero()); 4];
        while length - at >= 4 * V::LANES {
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = at + i * V::LANES;
                *sum = F::add(*sum, V::load(a.add(at)), V::load(b.add(at)));
            }
            at += 4 * V::LANES;
        }
        for sum in sums.iter_mut().take(3) {
            if length - at >= V::LANES {
                *sum = F::add(*sum, V::load(a.add(at)), V::load(b.add(at)));
                at += V::LANES;
            }
        }
        let left = length - at;
        if left > 0 {
            let (a, b) = (
                V::load_first(a.add(at), left),
                V::load_first(b.add(at), left),
            );
            sums[3] = F::add(sums[3], a, b);
        }
        (sums[0].add(sums[1])).add(sums[2].add(sums[3])).sum()
    }
}

/// [`axpby`] for as many elements as fill whole registers; returns their number.
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn axpby_whole<V: Vector<T>, T: Real>(alpha: T, x: &[T], beta: T, y: &mut [T]) -> usize {
    let length = x.len().min(y.len());
    let (x, y) = (x.as_ptr(), y.as_mut_ptr());
    let mut at = 0;
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Where one
    // is loaded or stored, the loop's condition has shown that a register's worth of elements is left
    // of both slices.
    unsafe {
        let (alpha, beta) = (V::splat(alpha), V::splat(beta));
        while length - at >= V::LANES {
            alpha
                .mul_add(V::load(x.add(at)), beta.mul(V::load(y.add(at))))
                .store(y.add(at));
            at += V::LANES;
        }
    }
    at
}

/// As [`axpby_whole`], for two summands.
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn axpby_two_whole<V: Vector<T>, T: Real>(
    (alpha, x): (T, &[T]),
    (gamma, z): (T, &[T]),
    beta: T,
    y: &mut [T],
) -> usize {
    let length = x.len().min(y.len()).min(z.len());
    let (x, z, y) = (x.as_ptr(), z.as_ptr(), y.as_mut_ptr());
    let mut at = 0;
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Where one
    // is loaded or stored, the loop's condition has shown that a register's worth of elements is left
    // of all slices.
    unsafe {
        let [alpha, beta, gamma] = [alpha, beta, gamma].map(|factor| V::splat(factor));
        while length - at >= V::LANES {
            let old = beta.mul(V::load(y.add(at)));
            let first = alpha.mul_add(V::load(x.add(at)), old);
            gamma.mul_add(V::load(z.add(at)), first).store(y.add(at));
            at += V::LANES;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::simd;
    use proptest::prelude::*;

    /// Two vectors of one length and a factor.
    fn vectors() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, f64)> {
        (0usize..300).prop_flat_map(|n| {
            let vector = || prop::collection::vec(-1e3..1e3, n);
            (vector(), vector(), -10.0..10.0)
        })
    }

    fn single(x: &[f64]) -> Vec<f32> {
        x.iter().map(|&x| x as f32).collect()
    }

    proptest! {
        #[test]
        fn equal_the_plain_loops((a, b, alpha) in vectors()) {
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let size: f64 = a.iter().zip(&b).map(|(a, b)| (a * b).abs()).sum();
            prop_assert!((simd::dot(&a, &b) - exact).abs() <= 1e-13 * size);
            let (a32, b32) = (single(&a), single(&b));
            prop_assert!((f64::from(simd::dot(&a32, &b32)) - exact).abs() <= 1e-5 * size);

            let (exact, size): (f64, f64) = (a.iter().sum(), a.iter().map(|a| a.abs()).sum());
            prop_assert!((simd::sum(&a) - exact).abs() <= 1e-13 * size);
            prop_assert!((f64::from(simd::sum(&a32)) - exact).abs() <= 1e-5 * size);

            let (mut y, mut y32) = (b.clone(), b32.clone());
            simd::axpy(alpha, &a, &mut y);
            simd::axpy(alpha as f32, &a32, &mut y32);
            for i in 0..a.len() {
                let (want, size) = (b[i] + alpha * a[i], b[i].abs() + (alpha * a[i]).abs());
                prop_assert!((y[i] - want).abs() <= 1e-15 * size);
                prop_assert!((f64::from(y32[i]) - want).abs() <= 1e-6 * size);
            }

            simd::scale_into(alpha, &a, &mut y);
            prop_assert!(y.iter().zip(&a).all(|(y, a)| *y == alpha * a));
        }

        #[test]
        fn do_not_depend_on_alignment((a, b, _) in vectors(), shift in 0usize..16) {
            let moved = |x: &[f64]| [vec![f64::NAN; shift], x.to_vec(), vec![f64::NAN; 3]].concat();
            let (at, end) = (shift, shift + a.len());
            let (moved_a, moved_b) = (moved(&a), moved(&b));
            prop_assert_eq!(simd::dot(&moved_a[at..end], &moved_b[at..end]), simd::dot(&a, &b));
            prop_assert_eq!(simd::sum(&moved_a[at..end]), simd::sum(&a));
        }
    }

    /// Every instruction set that the CPU has gives the same sums of integers.
    #[test]
    fn every_instruction_set_agrees() {
        for n in 0..200u16 {
            let a: Vec<f32> = (0..n).map(f32::from).collect();
            let want: f32 = a.iter().map(|a| a * a).sum();
            assert_eq!(super::dot(simd::Scalar, &a, &a), want);
            assert_eq!(simd::dot(&a, &a), want);
            assert_eq!(super::sum(simd::Scalar, &a), a.iter().sum::<f32>());
        }
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn unequal_lengths_are_refused() {
        simd::dot(&[1.0f32], &[]);
    }
}
