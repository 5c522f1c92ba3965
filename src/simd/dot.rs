//! The loops under linear algebra, to be inlined into a kernel: dot, sum, axpy.
//!
//! A dot product in one accumulator waits for each addition before the next.
//! Here four vector registers of accumulators run side by side. The order is
//! fixed by the length alone: whole blocks of four registers, then one register
//! at a time into the first, second and third accumulator, what remains into the
//! fourth; at the end the accumulators and then their lanes are added as a binary
//! tree. Slices of more than 4096 elements are cut in half until they are shorter, and the
//! sums of the halves are added (pairwise summation: Higham, "The accuracy of floating point
//! summation", SIAM Journal on Scientific Computing 14, 1993). So a result is bit-reproducible per
//! instruction set, and beyond that length its rounding error grows with the logarithm alone.
//!
//! These are `#[inline(always)]` and take a [`Machine`]: call them from a body of
//! `multiversion!`. The functions of the same names in [`crate::simd`] are for
//! everyone else.
//!
//! Limits: of slices of different lengths only the shorter length is used; callers
//! check lengths. `axpy` fuses products with sums where the hardware can.

use super::Real;
use crate::simd::vector::{One, Vector};
use crate::simd::{Isa, Machine};

/// Calls the function with the register type of the machine, which is chosen at
/// compile time. What it asks for besides the instruction set, whoever calls it here has shown.
macro_rules! with_register {
    ($machine:ident, $type:ident, $function:ident $(::<$($parameter:ty),+>)?($($argument:expr),*)) => {
        match $machine::ISA {
            // SAFETY: this register is an array of numbers, which needs no instruction set of its own.
            Isa::Scalar => unsafe { $function::<$type::Scalar, $type, $($($parameter),+)?>($($argument),*) },
            // SAFETY: a value of `$machine` was passed, whose instruction set is AVX2; such a value is
            // made only where the CPU was found to have AVX2 and FMA.
            Isa::Avx2 => unsafe { $function::<$type::Avx2, $type, $($($parameter),+)?>($($argument),*) },
            // SAFETY: a value of `$machine` was passed, whose instruction set is AVX-512; such a value is
            // made only where the CPU was found to have it.
            Isa::Avx512 => unsafe { $function::<$type::Avx512, $type, $($($parameter),+)?>($($argument),*) },
        }
    };
}
pub(super) use with_register;

/// Elements that are added up without being cut in half.
pub(crate) const LONG: usize = 4096;

/// Where a slice of more than [`LONG`] elements is cut: about the middle, so that the first part fills
/// whole registers.
fn middle(length: usize) -> usize {
    (length / 2).next_multiple_of(64)
}

/// `Σ a[i]·b[i]` of many elements.
#[cold]
#[inline(never)]
fn dot_of_halves<T: Real>(a: &[T], b: &[T]) -> T {
    let at = middle(a.len());
    super::dot(&a[..at], &b[..at]) + super::dot(&a[at..], &b[at..])
}

/// `Σ x[i]` of many elements.
#[cold]
#[inline(never)]
fn sum_of_halves<T: Real>(x: &[T]) -> T {
    let (first, second) = x.split_at(middle(x.len()));
    super::sum(first) + super::sum(second)
}

/// `Σ a[i]·b[i]`.
#[inline(always)]
pub fn dot<M: Machine, T: Real>(m: M, a: &[T], b: &[T]) -> T {
    let length = a.len().min(b.len());
    if length > LONG {
        return dot_of_halves(&a[..length], &b[..length]);
    }
    // SAFETY: both slices have so many elements.
    unsafe { dot_at::<Plain, Plain, M, T>(m, a.as_ptr(), b.as_ptr(), length) }
}

/// [`dot`] of the `length` elements from `a` and from `b` on, which are not cut in half.
///
/// # Safety
///
/// So many elements are there, which others use as `A` and `B` say.
#[inline(always)]
pub(crate) unsafe fn dot_at<A: LoadStore, B: LoadStore, M: Machine, T: Real>(
    m: M,
    a: *const T,
    b: *const T,
    length: usize,
) -> T {
    with_register!(M, T, accumulate::<PairProduct, A, B, M>(m, a, b, length))
}

/// `Σ x[i]`.
#[inline(always)]
pub fn sum<M: Machine, T: Real>(m: M, x: &[T]) -> T {
    if x.len() > LONG {
        return sum_of_halves(x);
    }
    with_register!(
        M,
        T,
        accumulate::<First, Plain, Plain, M>(m, x.as_ptr(), x.as_ptr(), x.len())
    )
}

/// How the elements that a loop changes are loaded and stored.
///
/// # Safety
///
/// The functions touch as many elements as they say at the place that they are given, and no others.
pub(crate) unsafe trait LoadStore {
    /// # Safety
    ///
    /// `from` is valid for reading `V::LANES` elements that others use as the type says. `V` is
    /// [`One`] or a register of the machine.
    unsafe fn load<M: Machine, T: Real, V: Vector<T>>(m: M, from: *const T) -> V;

    /// The first `count` elements, fewer than a register's; the others are 0.
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load), of `count` elements.
    unsafe fn load_first<M: Machine, T: Real, V: Vector<T>>(
        m: M,
        from: *const T,
        count: usize,
    ) -> V;

    /// # Safety
    ///
    /// As for [`load`](Self::load), of `to` and writing.
    unsafe fn store<M: Machine, T: Real, V: Vector<T>>(m: M, to: *mut T, elements: V);
}

/// Of elements that nobody else uses meanwhile.
pub(crate) struct Plain;

// SAFETY: a register's load and store touch as many elements as it has.
unsafe impl LoadStore for Plain {
    #[inline(always)]
    unsafe fn load<M: Machine, T: Real, V: Vector<T>>(_: M, from: *const T) -> V {
        // SAFETY: the elements are there, and the instruction set of `V` is that of `M`, by the
        // conditions of the function.
        unsafe { V::load(from) }
    }
    #[inline(always)]
    unsafe fn load_first<M: Machine, T: Real, V: Vector<T>>(
        _: M,
        from: *const T,
        count: usize,
    ) -> V {
        // SAFETY: the elements are there, and the instruction set of `V` is that of `M`, by the
        // conditions of the function.
        unsafe { V::load_first(from, count) }
    }
    #[inline(always)]
    unsafe fn store<M: Machine, T: Real, V: Vector<T>>(_: M, to: *mut T, elements: V) {
        // SAFETY: the elements are there, and the instruction set of `V` is that of `M`, by the
        // conditions of the function.
        unsafe { elements.store(to) }
    }
}

/// `y[i] += alpha·x[i]`.
#[inline(always)]
pub fn axpy<M: Machine, T: Real>(m: M, alpha: T, x: &[T], y: &mut [T]) {
    let x = &x[..x.len().min(y.len())];
    // SAFETY: `y` has as many elements as `x`, at least, and is borrowed mutably.
    unsafe {
        let terms = [(alpha, x.as_ptr())];
        add_terms::<Plain, Plain, M, T, 1, false>(m, terms, x.len(), T::zero(), y.as_mut_ptr());
    }
}

/// `y[i] += alpha·x[i] + gamma·z[i]`, added in that order.
#[inline(always)]
pub fn axpy_two<M: Machine, T: Real>(m: M, alpha: T, x: &[T], gamma: T, z: &[T], y: &mut [T]) {
    let length = x.len().min(z.len()).min(y.len());
    let terms = [(alpha, x.as_ptr()), (gamma, z.as_ptr())];
    // SAFETY: each has `length` elements at least, and `y` is borrowed mutably.
    unsafe {
        add_terms::<Plain, Plain, M, T, 2, false>(m, terms, length, T::zero(), y.as_mut_ptr());
    }
}

/// `y[i] += Σ alpha·x[i]` over the terms `(alpha, x)`, added in their order, for `length` elements. Where it
/// `SCALES`, `scale·y[i]` is the first summand: a scale near 0 keeps its digits, which a factor `1 + scale` of
/// `y[i]` would lose.
///
/// # Safety
///
/// From each `x` on are so many elements, which others use as `X` says, and from `y` on are as many, which others use
/// as `Y` says.
#[inline(always)]
pub(crate) unsafe fn add_terms<
    X: LoadStore,
    Y: LoadStore,
    M: Machine,
    T: Real,
    const N: usize,
    const SCALES: bool,
>(
    m: M,
    terms: [(T, *const T); N],
    length: usize,
    scale: T,
    y: *mut T,
) {
    // A loop that LLVM vectorises uses whole registers only from 64 elements on, and a
    // load soon after a masked store to the same row waits for that store. So: whole
    // registers, then half registers, then single elements.
    let mut at = 0;
    // SAFETY: the terms and `y` have `length` elements, which others use as `X` and `Y` say, by the conditions
    // of this function. A value of `M` was passed, whose instruction set is that of the
    // registers here, or includes it: such a value is made only where the CPU was found to have it.
    unsafe {
        if M::ISA == Isa::Avx512 {
            at = add_registers::<T::Avx512, X, Y, M, T, N, SCALES>(m, terms, length, scale, y, at);
        }
        if M::ISA >= Isa::Avx2 {
            at = add_registers::<T::Avx2, X, Y, M, T, N, SCALES>(m, terms, length, scale, y, at);
        }
        add_registers::<One<M, T>, X, Y, M, T, N, SCALES>(m, terms, length, scale, y, at);
    }
}

/// [`add_terms`] from element `at` on for as many as fill whole registers; returns where it ended.
///
/// # Safety
///
/// As for [`add_terms`]; the instruction set of `V` is available, and `at` is not beyond the end.
#[inline(always)]
unsafe fn add_registers<
    V: Vector<T>,
    X: LoadStore,
    Y: LoadStore,
    M: Machine,
    T: Real,
    const N: usize,
    const SCALES: bool,
>(
    m: M,
    terms: [(T, *const T); N],
    length: usize,
    scale: T,
    y: *mut T,
    mut at: usize,
) -> usize {
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Where a register
    // is loaded or stored, the loop's condition has shown that as many elements are left of all terms and of
    // `y`, which others use as `X` and `Y` say.
    unsafe {
        let factors = terms.map(|(alpha, _)| V::splat(alpha));
        let scale = V::splat(scale);
        while length - at >= V::LANES {
            let old = Y::load::<M, T, V>(m, y.add(at));
            let mut sum = if SCALES { scale.mul(old) } else { old };
            for (factor, (_, x)) in factors.iter().zip(&terms) {
                sum = factor.mul_add(X::load::<M, T, V>(m, x.add(at)), sum);
            }
            let new = if SCALES { old.add(sum) } else { sum };
            Y::store::<M, T, V>(m, y.add(at), new);
            at += V::LANES;
        }
    }
    at
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

/// The sum of the terms of `length` elements.
///
/// # Safety
///
/// The instruction set of `V` is available, and that of `M`. From `a` and `b` on there are so many elements,
/// which others use as `A` and `B` say.
#[inline(always)]
unsafe fn accumulate<V: Vector<T>, T: Real, F: PairTerm, A: LoadStore, B: LoadStore, M: Machine>(
    m: M,
    a: *const T,
    b: *const T,
    length: usize,
) -> T {
    let mut at = 0;
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Every load
    // starts at `at` or whole registers after it, and the condition before it has shown that so many
    // elements are left of `a` and of `b`, which others use as `A` and `B` say.
    unsafe {
        let pair = |at: usize| {
            (
                A::load::<M, T, V>(m, a.add(at)),
                B::load::<M, T, V>(m, b.add(at)),
            )
        };
        let mut sums = [V::splat(T::zero()); 4];
        while length - at >= 4 * V::LANES {
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = at + i * V::LANES;
                let (a, b) = pair(at);
                *sum = F::add(*sum, a, b);
            }
            at += 4 * V::LANES;
        }
        for sum in sums.iter_mut().take(3) {
            if length - at >= V::LANES {
                let (a, b) = pair(at);
                *sum = F::add(*sum, a, b);
                at += V::LANES;
            }
        }
        let left = length - at;
        if left > 0 {
            let a = A::load_first::<M, T, V>(m, a.add(at), left);
            let b = B::load_first::<M, T, V>(m, b.add(at), left);
            sums[3] = F::add(sums[3], a, b);
        }
        (sums[0].add(sums[1])).add(sums[2].add(sums[3])).sum()
    }
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

    /// Running sums in 64 accumulators are off by .4 % of these.
    #[test]
    fn long_sums_are_pairwise() {
        for n in [super::LONG, super::LONG + 1, (1 << 22) - 3] {
            let x = vec![0.1f32; n];
            let exact = n as f64 * f64::from(0.1f32);
            assert!((f64::from(simd::sum(&x)) / exact - 1.0).abs() < 1e-6);
            let product = f64::from(0.1f32) * f64::from(0.1f32) * n as f64;
            assert!((f64::from(simd::dot(&x, &x)) / product - 1.0).abs() < 1e-6);
            // The shorter slice counts.
            let shorter = super::dot(simd::Scalar, &x, &vec![1.0; n - 1]);
            assert!((f64::from(shorter) / (exact - 0.1) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn unequal_lengths_are_refused() {
        simd::dot(&[1.0f32], &[]);
    }
}
