//! The Hurwitz zeta function, and its derivatives of any order in `s`.
//!
//! The Euler-Maclaurin formula gives the sums; for derivatives it is applied to Taylor series in `s`.

use super::euler_maclaurin::{euler_maclaurin, inverse_power};
use super::jet::{self, Jet};

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

/// The derivative of order `n` of ζ(s, q) in `s`, which is `(-1)^n Σ ln^n(q + k)·(q + k)^-s`; NaN
/// where `q` is negative, and for `s < 1`.
pub(crate) fn zeta_derivative(n: i32, s: f64, q: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if n == 0 {
        hurwitz_zeta(s, q)
    } else if s.is_nan() || s < 1.0 || q.is_nan() || q < 0.0 {
        f64::NAN
    } else if s == 1.0 {
        at_pole(n)
    } else if q == 0.0 {
        f64::INFINITY
    } else if s == f64::INFINITY {
        if q < 1.0 { f64::INFINITY } else { 0.0 }
    } else {
        jet::derivative(&positive(s, q, order))
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
