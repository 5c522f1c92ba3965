//! Truncated Taylor series, by which a formula gives derivatives of any order with its value.
//!
//! Entry `k` is the coefficient of `δ^k`; a series of `n + 1` entries gives the derivative of order
//! `n`. The functions multiply, divide and compose power series.

use smallvec::{SmallVec, smallvec};

/// The coefficients.
pub(super) type Jet = SmallVec<[f64; 4]>;

/// A number that does not depend on δ.
pub(super) fn constant(value: f64, n: usize) -> Jet {
    let mut jet = smallvec![0.0; n + 1];
    jet[0] = value;
    jet
}

/// `value·e^(rate·δ)`.
pub(super) fn exponential(value: f64, rate: f64, n: usize) -> Jet {
    let mut jet = constant(value, n);
    for k in 1..=n {
        jet[k] = jet[k - 1] * rate / k as f64;
    }
    jet
}

/// Adds `factor` times `b` to `a`.
pub(super) fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// The product.
pub(super) fn product(a: &[f64], b: &[f64]) -> Jet {
    let entry = |k: usize| (0..=k).map(|i| a[i] * b[k - i]).sum();
    (0..a.len()).map(entry).collect()
}

/// Multiplies by `c + δ`.
pub(super) fn times_linear(a: &mut [f64], c: f64) {
    for k in (0..a.len()).rev() {
        a[k] = a[k] * c + if k > 0 { a[k - 1] } else { 0.0 };
    }
}

/// Divides by `c + δ`.
pub(super) fn over_linear(a: &mut [f64], c: f64) {
    for k in 0..a.len() {
        a[k] = (a[k] - if k > 0 { a[k - 1] } else { 0.0 }) / c;
    }
}

/// Divides by a series whose entry 0 is not 0.
pub(super) fn quotient(a: &[f64], b: &[f64]) -> Jet {
    let mut jet = constant(0.0, a.len() - 1);
    for k in 0..a.len() {
        let sum: f64 = (1..=k).map(|i| b[i] * jet[k - i]).sum();
        jet[k] = (a[k] - sum) / b[0];
    }
    jet
}

/// The sine of an angle plus `rate·δ`, from the sine and the cosine of the angle, or both times a number.
pub(super) fn sine(sine: f64, cosine: f64, rate: f64, n: usize) -> Jet {
    let mut scale = 1.0;
    let entry = |k: usize| {
        if k > 0 {
            scale *= rate / k as f64;
        }
        scale * [sine, cosine, -sine, -cosine][k % 4]
    };
    (0..=n).map(entry).collect()
}

/// The cotangent of an angle plus `rate·δ`, from the sine and the cosine of the angle.
pub(super) fn cotangent(sine: f64, cosine: f64, rate: f64, n: usize) -> Jet {
    let of = self::sine;
    quotient(&of(cosine, -sine, rate, n), &of(sine, cosine, rate, n))
}

/// `value` times the exponential of `a` without its entry 0, which the caller put into `value`.
pub(super) fn exp(value: f64, a: &[f64]) -> Jet {
    let mut jet = constant(value, a.len() - 1);
    for k in 1..a.len() {
        let sum: f64 = (1..=k).map(|i| i as f64 * a[i] * jet[k - i]).sum();
        jet[k] = sum / k as f64;
    }
    jet
}

/// The logarithm; its entry 0 is left at 0.
pub(super) fn logarithm(a: &[f64]) -> Jet {
    let mut jet = constant(0.0, a.len() - 1);
    for k in 1..a.len() {
        let sum: f64 = (1..k).map(|i| i as f64 * jet[i] * (a[k - i] / a[0])).sum();
        jet[k] = a[k] / a[0] - sum / k as f64;
    }
    jet
}

/// The derivative of highest order.
pub(super) fn derivative(a: &[f64]) -> f64 {
    let last = a.len() - 1;
    (1..=last).fold(a[last], |value, k| value * k as f64)
}

/// Whether adding `term` to `sum` changes no entry: each is below the rounding, or that of `sum` is NaN.
pub(super) fn negligible(term: &[f64], sum: &[f64]) -> bool {
    let small = |(t, s): (&f64, &f64)| s.is_nan() || t.abs() <= f64::EPSILON / 8.0 * s.abs();
    term.iter().zip(sum).all(small)
}
