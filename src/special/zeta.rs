//! The Hurwitz zeta function, and its derivatives of any order.
//!
//! The Euler-Maclaurin formula gives the sums; for derivatives it is applied to Taylor series in `s`.

use super::euler_maclaurin::{euler_maclaurin, inverse_power};
use super::jet::{self, Jet};
use super::partial;

/// ζ(s, q) = Σ_k (q + k)^-s for `s > 1` (DLMF 25.11.1); NaN for `s < 1`. For `q ≤ 0` it is infinite
/// at the poles, the integers, and elsewhere NaN unless `s` is an integer.
pub(crate) fn hurwitz_zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 || q == f64::NEG_INFINITY {
        f64::NAN
    } else if s == 1.0 || (q <= 0.0 && q == q.floor()) {
        f64::INFINITY
    } else if s == f64::INFINITY {
        at_infinity(q)
    } else if q > 0.0 {
        positive(s, q, 0)[0]
    } else if s == s.floor() {
        negative(s, q)
    } else {
        f64::NAN
    }
}

/// Partial derivative number `n` (see [`partial`]) of ζ(s, q). Each one by `q` is that of
/// `s + 1` times `-s` (DLMF 25.11.17), and of order `m` by `s` the sum is of `(-1)^m·ln^m(q + k)·(q + k)^-s`.
/// NaN for `s < 1`; by `s` also where `q` is negative.
pub(crate) fn zeta_derivative(n: i32, s: f64, q: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return hurwitz_zeta(s, q);
    }
    if s.is_nan() || s < 1.0 || q.is_nan() || (m > 0 && q < 0.0) {
        return f64::NAN;
    }
    let (order, raised) = (m as usize, s + f64::from(k));
    let mut factor = jet::constant(1.0, order);
    for i in 0..k {
        jet::times_linear(&mut factor, s + f64::from(i));
    }
    let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
    sign * if m == 0 {
        factor[0] * hurwitz_zeta(raised, q)
    } else if raised == 1.0 {
        at_pole(m as i32)
    } else if q == 0.0 {
        f64::INFINITY
    } else if s == f64::INFINITY {
        if q < 1.0 { f64::INFINITY } else { 0.0 }
    } else {
        jet::derivative(&jet::product(&factor, &positive(raised, q, order)))
    }
}

/// The derivative of order `n` of `1 / (s - 1)` at 1, from above.
pub(super) fn at_pole(n: i32) -> f64 {
    if n % 2 == 0 {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

/// ζ(∞, q).
fn at_infinity(q: f64) -> f64 {
    match q {
        1.0 => 1.0,
        1.0.. => 0.0,
        0.0..1.0 => f64::INFINITY,
        _ => f64::NAN,
    }
}

/// The Taylor series in `s` for `q > 0`; near 1 also for `s < 1`, where it is the analytic continuation.
/// For `q < 0` near 0 and an integer `s` its entry 0 is right.
pub(super) fn positive(s: f64, q: f64, n: usize) -> Jet {
    let power = |x: f64, p: f64| jet::exponential(inverse_power(x, p), -x.ln(), n);
    euler_maclaurin(s, q, n, &power, &|x| {
        let mut integral = power(x, s - 1.0);
        jet::over_linear(&mut integral, s - 1.0);
        integral
    })
}

/// ζ(s, q) for `q < 0` and an integer `s`.
fn negative(s: f64, q: f64) -> f64 {
    let part = q - q.floor();
    let value = if q > -20.0 {
        // Summed from the most negative term on: terms of opposite signs cancel before larger ones
        // are added.
        positive(s, q, 0)[0]
    } else {
        // The sum from q on is the sum over q's fraction plus a difference of two such sums below zero,
        // so that there is not a step for each integer.
        let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
        let below = positive(s, 1.0 - part, 0)[0] - positive(s, 1.0 - q, 0)[0];
        positive(s, part, 0)[0] + sign * below
    };
    if value.is_nan() && part != 0.5 {
        // The two terms nearest to zero, of opposite signs, overflow: the nearer one is the larger.
        return (0.5 - part) * f64::INFINITY;
    }
    value
}
