//! The gamma function, its reciprocal, its logarithm, and their derivatives of any order.
//!
//! A derivative of the function is the function times a coefficient of Taylor's series of the exponential of its
//! logarithm, whose own coefficients are polygamma functions: nothing overflows before the result does.

use std::f64::consts::{E, PI};

use super::euler_maclaurin::{euler_maclaurin, inverse_power};
use super::jet::{self, Jet};
use super::polynomial;
use super::trigonometric::{cospi, sine_and_cosine_of_sum, sinpi};
use super::zeta::hurwitz_zeta;

/// Γ(x); NaN at negative integers.
pub(crate) fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// 1 / Γ(x), which is 0 at the poles.
pub(crate) fn rgamma(x: f64) -> f64 {
    if x.abs() < 1e-300 {
        // Γ overflows; its reciprocal does not vanish.
        x
    } else if pole(x) {
        0.0
    } else if x > 170.0 {
        // Γ overflows before its reciprocal vanishes (DLMF 5.5.1).
        (1..=10).fold(gamma(x - 10.0).recip(), |y, k| y / (x - f64::from(k)))
    } else {
        gamma(x).recip()
    }
}

/// Taylor's series of `Γ(x + δ)^power / Γ(x)^power`.
fn series(x: f64, power: f64, n: usize) -> Jet {
    let mut exponent = jet::constant(0.0, n);
    for k in 1..=n {
        exponent[k] = power * log_gamma_coefficient(k, x);
    }
    jet::exp(1.0, &exponent)
}

/// `factor` times `x`, 0 where either is 0.
fn times(factor: f64, x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { factor * x }
}

/// The derivative of order `n` of Γ, which is infinite where the function overflows.
pub(crate) fn gamma_derivative(n: i32, x: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if x == 0.0 {
        // As the derivatives of 1 / x; the sign of the zero says from which side.
        let negative = x.is_sign_negative() || n % 2 != 0;
        return if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    if x == f64::INFINITY {
        return x;
    }
    times(gamma(x), jet::derivative(&series(x, 1.0, order)))
}

/// The derivative of order `n` of 1 / Γ, reflected where Γ has poles (DLMF 5.5.3).
pub(crate) fn rgamma_derivative(n: i32, x: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return rgamma(x);
    }
    if x.is_infinite() {
        return if x > 0.0 { 0.0 } else { f64::NAN };
    }
    if x >= 0.5 || x.is_nan() {
        return times(rgamma(x), jet::derivative(&series(x, -1.0, order)));
    }
    // Taylor's series of Γ(1 - x)·sin(πx) / π.
    let mut mirrored = series(1.0 - x, 1.0, order);
    let sine = jet::sine(sinpi(x) / PI, cospi(x) / PI, PI, order);
    for k in 1..=order {
        mirrored[k] *= if k % 2 == 0 { 1.0 } else { -1.0 };
    }
    times(
        gamma(1.0 - x),
        jet::derivative(&jet::product(&mirrored, &sine)),
    )
}

/// ln |Γ(x)|; infinite at the poles.
pub(crate) fn gammaln(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return x;
    }
    libm::lgamma(x)
}

/// ln Γ(x), which is real for positive x; NaN below zero.
pub(crate) fn loggamma(x: f64) -> f64 {
    if x < 0.0 { f64::NAN } else { libm::lgamma(x) }
}

/// ψ(x) = Γ'(x) / Γ(x): upward recurrence (DLMF 5.5.2) to the asymptotic series (DLMF 5.11.2),
/// reflected (DLMF 5.5.4) below zero.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY.copysign(-x);
    }
    if x < 0.0 {
        // cot(πx) has period 1, and a pole at every integer.
        let part = x - x.round();
        return if part == 0.0 || x.is_infinite() {
            f64::NAN
        } else {
            digamma(1.0 - x) - PI / (PI * part).tan()
        };
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / x;
        x += 1.0;
    }
    if x == f64::INFINITY {
        return x;
    }
    x.ln() + digamma_less_log(x) - sum
}

/// `ψ(x) - ln x` for `x ≥ 10` (DLMF 5.11.2).
pub(super) fn digamma_less_log(x: f64) -> f64 {
    // B_2k / 2k.
    let tail = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
    ];
    let square = 1.0 / x / x;
    -0.5 / x - square * polynomial(square, &tail)
}

/// The derivative of order `n` of ψ: `(-1)^(n+1) n! ζ(n + 1, x)` (DLMF 25.11.12).
pub(crate) fn polygamma(n: i32, x: f64) -> f64 {
    match n {
        0 => digamma(x),
        1.. => {
            let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
            let s = f64::from(n) + 1.0;
            let (factor, sum) = (gamma(s), hurwitz_zeta(s, x));
            if x > 0.0 && x.is_finite() && (factor.is_infinite() || sum < 1e-290) {
                return sign * large_polygamma(s, x);
            }
            sign * factor * sum
        }
        _ => f64::NAN,
    }
}

/// `Γ(s)·ζ(s, x)` for positive `x` where one factor overflows or vanishes before the product does. For large
/// `s` the largest term of the sum is taken into the gamma function, by Stirling's formula. For others `x` is
/// so large that two terms of the asymptotic series are all (DLMF 25.11.43).
fn large_polygamma(s: f64, x: f64) -> f64 {
    if s < 20.0 {
        let half = x.powf(0.5 * (1.0 - s));
        return half * (gamma(s - 1.0) * (1.0 + 0.5 * (s - 1.0) / x)) * half;
    }
    let power = |t: f64, p: f64| inverse_power(t / x, s) * inverse_power(t, p - s);
    let number = |value| jet::constant(value, 0);
    let sum = euler_maclaurin(s, x, 0, &|t, p| number(power(t, p)), &|t| {
        number(power(t, s - 1.0) / (s - 1.0))
    })[0];
    let half = (s / E / x).powf(0.5 * s);
    half * ((2.0 * PI / s).sqrt() * stirling(s).exp() * sum) * half
}

/// ψ'(x).
pub(crate) fn trigamma(x: f64) -> f64 {
    polygamma(1, x)
}

/// `ψ^(n)(x + y)`, also where the sum is next to a pole, where its rounding error would count: reflected
/// (DLMF 5.15.6).
pub(super) fn polygamma_of_sum(n: i32, x: f64, y: f64) -> f64 {
    let (sum, (sine, cosine)) = (x + y, sine_and_cosine_of_sum(x, y));
    match usize::try_from(n) {
        Ok(order) if sum < 0.5 && sine != 0.0 => {
            let cotangent = jet::cotangent(sine, cosine, PI, order);
            mirror(n) * polygamma(n, 1.0 - sum) - PI * jet::derivative(&cotangent)
        }
        _ => polygamma(n, sum),
    }
}

/// `(-1)^n`, the sign that a derivative of order `n` has by `-x`.
fn mirror(n: i32) -> f64 {
    if n % 2 == 0 { 1.0 } else { -1.0 }
}

/// `ψ^(n)(x) - ψ^(n)(x + y)`, also where the two are nearly equal. Where both are infinite it is the
/// limit of the difference as `x` approaches the pole, if there is one. Where one is negative and both are
/// below 1 it is reflected (DLMF 5.15.6): `cot(πx) - cot(π(x + y))` is
/// `sin(πy) / (sin(πx)·sin(π(x + y)))`, without cancellation.
pub(crate) fn polygamma_difference(n: i32, x: f64, y: f64) -> f64 {
    if n < 0 || x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (sum, s) = (x + y, f64::from(n) + 1.0);
    // ψ^(n)(x) is (-1)^(n+1)·n!·Σ_k (x + k)^-(n+1).
    let factor = -mirror(n) * gamma(s);
    if x > 0.0 && sum > 0.0 {
        factor * difference(s, x, y)
    } else if pole(x) && pole(sum) && sum.is_finite() && x.is_finite() {
        // The infinite terms cancel, and a finite sum over integers below zero is left.
        gamma(s) * difference(s, 1.0 - sum, y)
    } else if x < 1.0 && sum < 1.0 && !pole(x) && !pole(sum) {
        let (order, (sine, cosine)) = (n as usize, sine_and_cosine_of_sum(x, y));
        let first = jet::sine(sinpi(x), cospi(x), PI, order);
        let product = jet::product(&first, &jet::sine(sine, cosine, PI, order));
        let cotangents = jet::quotient(&jet::constant(PI * sinpi(y), order), &product);
        mirror(n) * factor * difference(s, 1.0 - x, -y) - jet::derivative(&cotangents)
    } else {
        polygamma(n, x) - polygamma_of_sum(n, x, y)
    }
}

/// `Σ_k (x + k)^-s - (x + y + k)^-s` for positive `x` and `x + y`. Each difference of two powers is
/// computed as one number, by `expm1`, since the powers may be nearly equal.
fn difference(s: f64, x: f64, y: f64) -> f64 {
    if y < 0.0 {
        // From the lesser of the two on: the formula holds from some x on.
        return -difference(s, x + y, -y);
    }
    // ln(1 + y / x).
    let log = |x: f64| (y / x).ln_1p();
    let power = |x: f64, p: f64| -inverse_power(x, p) * (-p * log(x)).exp_m1();
    let integral = |x| match s {
        1.0 => log(x),
        _ => power(x, s - 1.0) / (s - 1.0),
    };
    let number = |value| jet::constant(value, 0);
    euler_maclaurin(s, x, 0, &|x, p| number(power(x, p)), &|x| {
        number(integral(x))
    })[0]
}

/// ln Γ(x) less Stirling's formula, for `x ≥ 10` (DLMF 5.11.1).
pub(super) fn stirling(x: f64) -> f64 {
    let tail = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    polynomial(1.0 / x / x, &tail) / x
}

/// Whether Γ has a pole at `x`.
pub(super) fn pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// The sign of Γ(x), at 0 of the side that the zero is on; NaN at the other poles.
pub(crate) fn gammasgn(x: f64) -> f64 {
    if x == 0.0 {
        1.0_f64.copysign(x)
    } else if x.is_nan() || pole(x) {
        f64::NAN
    } else {
        sign(x)
    }
}

/// The sign of Γ(x), of any sign at a pole.
pub(super) fn sign(x: f64) -> f64 {
    if x < 0.0 && x.floor() % 2.0 != 0.0 {
        -1.0
    } else {
        1.0
    }
}

/// The coefficient `k` from 1 of ln Γ(x + δ).
pub(super) fn log_gamma_coefficient(k: usize, x: f64) -> f64 {
    polygamma(k as i32 - 1, x) / (1..=k).map(|k| k as f64).product::<f64>()
}
