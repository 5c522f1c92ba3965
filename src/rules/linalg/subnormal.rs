//! Products of factors that hold subnormal numbers, or numbers whose products may be subnormal.
//!
//! Gradients get there that shrink from step to step of a long sequence, and a processor takes a hundred
//! times as long for such products ([`crate::simd::scaled`]). To have these numbers taken for zeros is a
//! mode of the processor that Rust code may not run in, and would be wrong where the other factor is large. So
//! a factor is multiplied with a power of two first, exactly, and the product is divided by it in the end.
//! Sums are rounded as they were or, where they were subnormal, to more digits before they are divided.
//!
//! Limits: a factor is looked through if each of its numbers is multiplied often enough to pay for it, and if
//! it fits in a cache. Where a number of either factor is so large that a sum could overflow, the product is
//! the plain one.

use crate::array::{Real, filled};
use crate::simd::subnormal::{all_at_most, any_tiny, lower, raise};

/// What no number may exceed: a million products of two, times 2^60, are below the largest number.
const MOST: f64 = (1u64 << 20) as f64;

/// How often each number is multiplied, at least, in a factor that is looked through.
pub(super) const USES: usize = 32;

/// Bytes of the largest factor that is looked through.
const NEAR: usize = 1 << 20;

/// Calls `multiply` with two factors, each given with how often its numbers are multiplied, and its result.
/// If one holds small numbers, it is multiplied with a power of two, and then the result is divided by it.
pub(super) fn multiplied<T: Real, R>(
    (a, uses_of_a): (&[T], usize),
    (b, uses_of_b): (&[T], usize),
    out: &mut [T],
    multiply: impl Fn(&[T], &[T], &mut [T]) -> R,
) -> R {
    let is_tiny = |x: &[T], uses| uses >= USES && size_of_val(x) <= NEAR && any_tiny(x);
    let raised = if is_tiny(a, uses_of_a) {
        raised(a, b).map(|a| (a, true))
    } else if is_tiny(b, uses_of_b) {
        raised(b, a).map(|b| (b, false))
    } else {
        None
    };
    let Some((raised, is_first)) = raised else {
        return multiply(a, b, out);
    };
    let result = match is_first {
        true => multiply(&raised, b, out),
        false => multiply(a, &raised, out),
    };
    lower(out);
    result
}

/// A factor times the power of two, if no product with the other overflows, and there is the memory.
#[cold]
fn raised<T: Real>(x: &[T], other: &[T]) -> Option<Vec<T>> {
    let is_small = |x: &[T]| x.len() <= NEAR && all_at_most(x, T::of(MOST));
    if !(is_small(x) && is_small(other)) {
        return None;
    }
    let mut raised = filled(x.len(), T::zero()).ok()?;
    raise(x, &mut raised);
    Some(raised)
}

#[cfg(test)]
mod tests {
    use crate::array::{Array, Dense, View, ViewMut};
    use crate::rules::{Operator, linalg::matmul::MatMul};

    fn numbers(count: usize, seed: usize, scale: f64) -> Vec<f32> {
        let number = |i: usize| ((i * 31 + seed * 7 + i / 5) % 41) as f64 / 20.0 - 1.0;
        (0..count).map(|i| (number(i) * scale) as f32).collect()
    }

    /// The product by the operator.
    fn product([m, k, n]: [usize; 3], a: &[f32], b: &[f32], (ta, tb): (bool, bool)) -> Vec<f32> {
        let shape = |r, c, turned| if turned { [c, r] } else { [r, c] };
        let (a_shape, b_shape) = (shape(m, k, ta), shape(k, n, tb));
        let array = |shape: &[usize], x: &[f32]| Array::F32(Dense::copy_of(shape, x).unwrap());
        let (a, b) = (array(&a_shape, a), array(&b_shape, b));
        let mut out = vec![f32::NAN; m * n];
        let op = MatMul {
            transpose_a: ta,
            transpose_b: tb,
        };
        let shape = [m, n];
        let result = ViewMut {
            shape: &shape,
            data: crate::array::SliceMut::F32(&mut out),
        };
        let views: [View<'_>; 2] = [a.view(), b.view()];
        op.eval(&views, result).unwrap();
        out
    }

    /// Products of small and of large numbers are as near to the exact ones as those of others, in all
    /// layouts, of matrices and of vectors.
    #[test]
    fn they_are_as_near_as_others() {
        for sides in [
            [1, 64, 40],
            [40, 64, 1],
            [40, 1, 64],
            [40, 50, 64],
            [70, 33, 130],
            [33, 300, 2],
        ] {
            let [m, k, n] = sides;
            for (x, y) in [
                (1e-30, 1.0),
                (1e-37, 1.0),
                (1.0, 1e-41),
                (1e-44, 1e5),
                (1e-40, 1e30),
                (1e30, 1e-42),
                (1e-20, 1e-22),
            ] {
                for turned in [(false, false), (false, true), (true, false), (true, true)] {
                    let (a, b) = (numbers(m * k, 1, x), numbers(k * n, 2, y));
                    let at_a = |i, l| f64::from(a[if turned.0 { l * m + i } else { i * k + l }]);
                    let at_b = |l, j| f64::from(b[if turned.1 { j * k + l } else { l * n + j }]);
                    let out = product(sides, &a, &b, turned);
                    for (at, &x) in out.iter().enumerate() {
                        let terms = (0..k).map(|l| at_a(at / n, l) * at_b(l, at % n));
                        let size: f64 = terms.clone().map(f64::abs).sum();
                        let exact: f64 = terms.sum();
                        // A sum of k terms has k roundings, each of half of the last digit, or of the least number.
                        let bound = k as f64 * (6e-8 * size + 1e-45);
                        assert!(
                            (f64::from(x) - exact).abs() <= bound,
                            "{sides:?} {turned:?}: {x:e}, not {exact:e}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        for special in [f32::INFINITY, f32::NAN, f32::MAX] {
            let (mut a, b) = (numbers(40 * 50, 1, 1e-40), vec![1.0; 50 * 64]);
            a[7] = special;
            let out = product([40, 50, 64], &a, &b, (false, false));
            assert!(
                out[..64].iter().all(|x| x.to_bits() == special.to_bits()),
                "{special}"
            );
            assert!(out[64..].iter().all(|x| x.abs() < 1e-37));
            let mut b = b;
            b[0] = special;
            let tiny = numbers(50, 1, 1e-40);
            let out = product([1, 50, 64], &tiny, &b, (false, false));
            assert!(
                out[0].is_nan() == special.is_nan()
                    && out[0].is_infinite() == special.is_infinite()
            );
        }
    }
}
