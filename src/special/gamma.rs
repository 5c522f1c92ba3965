//! The gamma function, its logarithm, its logarithmic derivatives, and the beta function.

use std::f64::consts::PI;

use super::euler_maclaurin::{euler_maclaurin, inverse_power};
use super::zeta::hurwitz_zeta;
use super::{jet, polynomial};

/// `ln √(2π)`.
const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_8;

/// Γ(x); NaN at negative integers.
pub(crate) fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// 1 / Γ(x), which is 0 at the poles.
pub(crate) fn rgamma(x: f64) -> f64 {
    if pole(x) { 0.0 } else { gamma(x).recip() }
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
        // The cotangent has period 1; a pole at every integer.
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
            sign * gamma(f64::from(n) + 1.0) * hurwitz_zeta(f64::from(n) + 1.0, x)
        }
        _ => f64::NAN,
    }
}

/// ψ'(x).
pub(crate) fn trigamma(x: f64) -> f64 {
    polygamma(1, x)
}

/// `ψ^(n)(x) - ψ^(n)(x + y)`, also where they are nearly equal, or both infinite and the
/// difference has a limit as `x` moves.
pub(crate) fn polygamma_difference(n: i32, x: f64, y: f64) -> f64 {
    if n < 0 || x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (sum, s) = (x + y, f64::from(n) + 1.0);
    // (-1)^(n+1) n!, of which the sums of differences of powers are multiples.
    let factor = gamma(s) * if n % 2 == 0 { -1.0 } else { 1.0 };
    if x > 0.0 && sum > 0.0 {
        factor * difference(s, x, y)
    } else if pole(x) && pole(sum) && sum.is_finite() && x.is_finite() {
        // A finite sum, over integers below zero.
        gamma(s) * difference(s, 1.0 - sum, y)
    } else {
        polygamma(n, x) - polygamma(n, sum)
    }
}

/// `Σ_k (x + k)^-s - (x + y + k)^-s` for positive `x` and `x + y`, of powers that are taken from
/// each other before they are rounded, where they may be near.
fn difference(s: f64, x: f64, y: f64) -> f64 {
    // ln(1 + y / x).
    let log = |x: f64| {
        if y < -0.5 * x {
            ((x + y) / x).ln()
        } else {
            (y / x).ln_1p()
        }
    };
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
fn pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// B(a, b) = Γ(a)·Γ(b) / Γ(a + b) (DLMF 5.12.1).
pub(crate) fn beta(a: f64, b: f64) -> f64 {
    if pole(a) || pole(b) {
        return match at_pole(a, b) {
            Ok((a, b)) if b % 2.0 == 0.0 => beta(a, b),
            Ok((a, b)) => -beta(a, b),
            Err(value) => value,
        };
    }
    let sum = a + b;
    if sum.abs() < 170.0 && a.abs() < 170.0 && b.abs() < 170.0 {
        return if pole(sum) {
            0.0
        } else {
            // The larger factor first, so that nothing overflows which the quotient does not.
            let (large, small) = if a > b { (a, b) } else { (b, a) };
            gamma(large) / gamma(sum) * gamma(small)
        };
    }
    sign(a) * sign(b) * sign(sum) * betaln(a, b).exp()
}

/// ln |B(a, b)|; for large arguments by Stirling's formula, whose leading terms cancel here
/// before they are rounded (Didonato and Morris, ACM TOMS 18 (1992), algorithm 708).
pub(crate) fn betaln(a: f64, b: f64) -> f64 {
    if pole(a) || pole(b) {
        return at_pole(a, b).map_or_else(|value| value, |(a, b)| betaln(a, b));
    }
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if b == f64::INFINITY {
        return if a > 0.0 { -b } else { b };
    }
    if a >= 10.0 {
        let correction = stirling(a) + stirling(b) - stirling(a + b);
        let h = a / b;
        let u = (a - 0.5) * (h / (1.0 + h)).ln();
        return LN_SQRT_2_PI - 0.5 * b.ln() + correction + u - b * h.ln_1p();
    }
    if b >= 10.0 && a > 0.0 {
        let correction = stirling(b) - stirling(a + b);
        let sum = a + b;
        return gammaln(a) + correction + a - a * sum.ln() + (b - 0.5) * (-a / sum).ln_1p();
    }
    if a.abs() < 20.0 && b.abs() < 20.0 && !pole(a + b) {
        return (gamma(a) / gamma(a + b) * gamma(b)).abs().ln();
    }
    gammaln(a) + gammaln(b) - gammaln(a + b)
}

/// The sign of Γ(x).
fn sign(x: f64) -> f64 {
    if x < 0.0 && x.floor() % 2.0 != 0.0 {
        -1.0
    } else {
        1.0
    }
}

/// B where an argument is a pole of Γ: finite if the other is an integer and cancels it, by
/// B(a, b) = (-1)^b B(1 - a - b, b), whose arguments are the result. Else infinite, or NaN.
fn at_pole(a: f64, b: f64) -> Result<(f64, f64), f64> {
    let (a, b) = if pole(a) { (a, b) } else { (b, a) };
    let rest = 1.0 - a - b;
    if a.is_infinite() || a.is_nan() || b.is_nan() {
        Err(f64::NAN)
    } else if b == b.floor() && rest > 0.0 && b > 0.0 {
        Ok((rest, b))
    } else {
        Err(f64::INFINITY)
    }
}

/// The coefficient `k` from 1 of ln Γ(x + δ).
pub(super) fn log_gamma_coefficient(k: usize, x: f64) -> f64 {
    polygamma(k as i32 - 1, x) / (1..=k).map(|k| k as f64).product::<f64>()
}
