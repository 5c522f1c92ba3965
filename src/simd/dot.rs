//! The loops under linear algebra, to be inlined into a kernel: dot, sum, axpy.
//!
//! A dot product in one accumulator waits for each addition before the next.
//! Here 128 bytes of accumulators (32 `f32` or 16 `f64`, that is 2 to 8 vector
//! registers) run side by side and are added up as a binary tree. The order is
//! fixed by the length alone: lane `i` takes the elements `i`, `i + lanes`, …,
//! what remains is taken by blocks of half the size, a quarter, … down to 4, and
//! the last 3 elements at most by a sum of their own. So a result is
//! bit-reproducible per instruction set (with FMA each product is not rounded)
//! and its rounding error grows with `n / lanes` rather than with `n`.
//!
//! These are `#[inline(always)]` and generic over the [`Machine`]: call them from
//! a body of [`multiversion!`](crate::simd). The functions of the same names in
//! [`crate::simd`] are for everyone else.
//!
//! Limits: slices of different length are taken up to the shorter one; whoever
//! calls has checked.

use crate::array::dtype::Real;
use crate::simd::{Machine, mul_add};

/// `Σ a[i]·b[i]`.
#[inline(always)]
pub fn dot<M: Machine, T: Real>(a: &[T], b: &[T]) -> T {
    accumulate::<M, T, Product>(a, b)
}

/// `Σ x[i]`.
#[inline(always)]
pub fn sum<M: Machine, T: Real>(x: &[T]) -> T {
    accumulate::<M, T, First>(x, x)
}

/// `y[i] += alpha·x[i]`.
#[inline(always)]
pub fn axpy<M: Machine, T: Real>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = mul_add::<M, T>(alpha, x, *y);
    }
}

/// `out[i] = alpha·x[i]`.
#[inline(always)]
pub fn scale_into<M: Machine, T: Real>(alpha: T, x: &[T], out: &mut [T]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = alpha * x;
    }
}

/// What a pair of elements adds to its accumulator.
trait Term {
    fn add<M: Machine, T: Real>(sum: T, a: T, b: T) -> T;
}

struct Product;
impl Term for Product {
    #[inline(always)]
    fn add<M: Machine, T: Real>(sum: T, a: T, b: T) -> T {
        mul_add::<M, T>(a, b, sum)
    }
}

struct First;
impl Term for First {
    #[inline(always)]
    fn add<M: Machine, T: Real>(sum: T, a: T, _: T) -> T {
        sum + a
    }
}

/// The sum of the terms, with accumulators of 128 bytes in all.
#[inline(always)]
fn accumulate<M: Machine, T: Real, F: Term>(a: &[T], b: &[T]) -> T {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    if size_of::<T>() == 4 {
        lanes::<M, T, F, 32>(a, b)
    } else {
        lanes::<M, T, F, 16>(a, b)
    }
}

/// The sum of the terms of two slices of one length, in `N` lanes.
#[inline(always)]
fn lanes<M: Machine, T: Real, F: Term, const N: usize>(a: &[T], b: &[T]) -> T {
    let mut total = T::zero();
    let (mut a, mut b) = (a, b);
    if a.len() >= N {
        let mut sums = [T::zero(); N];
        let (blocks_a, rest_a) = a.as_chunks::<N>();
        let (blocks_b, rest_b) = b.as_chunks::<N>();
        for (a, b) in blocks_a.iter().zip(blocks_b) {
            for i in 0..N {
                sums[i] = F::add::<M, T>(sums[i], a[i], b[i]);
            }
        }
        total = tree(sums);
        (a, b) = (rest_a, rest_b);
    }
    if N > 16 {
        (a, b, total) = block::<M, T, F, 16>(a, b, total);
    }
    (a, b, total) = block::<M, T, F, 8>(a, b, total);
    (a, b, total) = block::<M, T, F, 4>(a, b, total);
    let mut last = T::zero();
    for (&a, &b) in a.iter().zip(b) {
        last = F::add::<M, T>(last, a, b);
    }
    total + last
}

/// Adds the first `N` terms to `total`, if there are so many; returns the rest.
#[inline(always)]
fn block<'a, M: Machine, T: Real, F: Term, const N: usize>(
    a: &'a [T],
    b: &'a [T],
    total: T,
) -> (&'a [T], &'a [T], T) {
    match (a.split_first_chunk::<N>(), b.split_first_chunk::<N>()) {
        (Some((a, rest_a)), Some((b, rest_b))) => {
            let mut sums = [T::zero(); N];
            for i in 0..N {
                sums[i] = F::add::<M, T>(sums[i], a[i], b[i]);
            }
            (rest_a, rest_b, total + tree(sums))
        }
        _ => (a, b, total),
    }
}

/// Adds up `N` lanes, `N` a power of two: the upper half onto the lower half,
/// until one is left.
#[inline(always)]
fn tree<T: Real, const N: usize>(mut lanes: [T; N]) -> T {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}
