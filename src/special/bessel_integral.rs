//! Integrals for the modified Bessel functions and for the derivatives of the scaled ones.
//!
//! A derivative of `e^-x·I_n(x)` or `e^x·K_n(x)` is an integral (DLMF 10.32.3, 10.32.9) in which each
//! differentiation is a factor `cosh u - 1`, known to all digits. The path for I leads through the
//! saddle point of the integrand, along which this falls as a Gaussian, so that nothing cancels; that
//! for K is the real line. On both the trapezoidal rule converges faster than any power of its step.
//! Errors are those of the exponent, n times the rounding.

use std::f64::consts::PI;

use super::series;

/// The exponent at which a term of the rule no longer matters, with factors that grow.
const NEGLIGIBLE: f64 = 60.0;

/// `hypot(n, x)`, its distance from `x`, and where both integrands are largest: at `asinh(n / x)`.
fn saddle(n: f64, x: f64) -> (f64, f64, f64) {
    let radius = n.hypot(x);
    (radius, n / (radius + x) * n, (n / x).asinh())
}

/// `u^k` for a complex `u`, its real part times `c` less its imaginary part times `s`.
fn rotated_power((re, im): (f64, f64), k: u32, (c, s): (f64, f64)) -> f64 {
    let turn = |(a, b): (f64, f64), _| (a * re - b * im, a * im + b * re);
    (0..k).fold((c, s), turn).0
}

/// The integral for `I_n(x)`, or `e^-x·I_n(x)` if it is scaled, with a factor `(cosh u - 1)^k`, for
/// `n ≥ 0` and `x > 1`: if it is scaled the derivative of order `k`.
pub(super) fn iv_integral(n: f64, k: u32, x: f64, is_scaled: bool) -> f64 {
    let (radius, rest, peak) = saddle(n, x);
    // With N = 2·half nodes on the whole circle the rule gives, for k = 0, the sum of
    // I_(n+jN)·e^(j·N·peak) over all integers j, of which that of j = 0 is wanted.
    let half = (6.3 * radius.sqrt() + 12.0).ceil();
    let step = PI / half;
    let mut sum = 0.0;
    let mut number = 0.0;
    while number <= half {
        let angle = step * number;
        let sine = (0.5 * angle).sin();
        let fall = 2.0 * (radius * sine) * sine;
        if fall > NEGLIGIBLE {
            break;
        }
        // The phase is n·(sin θ - θ), of third order.
        let (s, c) = (n * sine_less_angle(angle)).sin_cos();
        let factor = ((rest - fall) / x, n * angle.sin() / x);
        let weight = if number == 0.0 || number == half {
            0.5
        } else {
            1.0
        };
        sum += weight * (-fall).exp() * rotated_power(factor, k, (c, s));
        number += 1.0;
    }
    // In two steps, since the exponential may overflow or vanish where the product does not.
    let unscaled = if is_scaled { 0.0 } else { x };
    let size = (0.5 * (unscaled + rest - n * peak)).exp();
    size * (sum / half) * size
}

/// `sin θ - θ`.
fn sine_less_angle(angle: f64) -> f64 {
    if angle > 0.7 {
        return angle.sin() - angle;
    }
    let square = angle * angle;
    let next = |term: f64, k: f64| -term * square / ((2.0 * k + 2.0) * (2.0 * k + 3.0));
    series(-angle * square / 6.0, next)
}

/// The integral for `K_n(x)`, or `e^x·K_n(x)` if it is scaled, with a factor `(1 - cosh u)^k`, for
/// `n ≥ 0` and `x > 1`: if it is scaled the derivative of order `k`.
pub(super) fn kv_integral(n: f64, k: u32, x: f64, is_scaled: bool) -> f64 {
    let (radius, rest, peak) = saddle(n, x);
    let step = 0.5 / (radius + 4.0).sqrt();
    let term = |u: f64| {
        // The exponent less that at the peak: n·(v - sinh v) - radius·(cosh v - 1) for v = u - peak.
        let v = u - peak;
        let (half, sine) = ((0.5 * v).sinh(), (0.5 * u).sinh());
        let fall = 2.0 * (radius * half) * half + n * (v.sinh() - v);
        (fall, (-2.0 * sine * sine).powi(k as i32) * (-fall).exp())
    };
    let mut sum = term(peak).1;
    for side in [step, -step] {
        let mut number = 1.0_f64;
        loop {
            let (fall, value) = term(number.mul_add(side, peak));
            if fall > NEGLIGIBLE {
                break;
            }
            sum += value;
            number += 1.0;
        }
    }
    let unscaled = if is_scaled { 0.0 } else { -x };
    let size = (0.5 * (unscaled - rest + n * peak)).exp();
    0.5 * (size * (step * sum) * size)
}
