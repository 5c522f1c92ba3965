//! The Riemann zeta function, and its derivatives of any order.
//!
//! From -1/2 on it is the Hurwitz zeta function at `q = 1`. Below -1/2 the reflection formula gives it
//! by the gamma function. Derivatives of the gamma function are computed by the Hurwitz zeta function,
//! which is why the two zeta functions have a file each.

use std::f64::consts::{E, PI};

use super::gamma::{gamma, log_gamma_coefficient, stirling};
use super::jet;
use super::trigonometric::{cospi, sinpi};
use super::zeta::{at_pole, positive};

/// The derivative of order `n` of the Riemann zeta function.
pub(crate) fn riemann_zeta(n: i32, s: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if s == 1.0 {
        at_pole(n)
    } else if s == f64::INFINITY {
        if n == 0 { 1.0 } else { 0.0 }
    } else if s >= -0.5 {
        jet::derivative(&positive(s, 1.0, order))
    } else if s.is_finite() {
        reflected(s, order)
    } else {
        f64::NAN
    }
}

/// The derivative of order `n` of the Riemann zeta function below -1/2: with `t = 1 - s` the function is
/// `2·(2π)^-t·sin(πs/2)·Γ(t)·ζ(t)` (DLMF 25.4.2).
fn reflected(s: f64, n: usize) -> f64 {
    let t = 1.0 - s;
    let sine = jet::sine(sinpi(0.5 * s), cospi(0.5 * s), 0.5 * PI, n);
    let mut exponent = jet::constant(0.0, n);
    let mut sign = 1.0;
    let mut zeta = positive(t, 1.0, n);
    for k in 1..=n {
        sign = -sign;
        exponent[k] = sign * log_gamma_coefficient(k, t);
        zeta[k] *= sign;
    }
    if n > 0 {
        exponent[1] += (2.0 * PI).ln();
    }
    let quotient = jet::product(&jet::product(&sine, &zeta), &jet::exp(1.0, &exponent));
    let derivative = jet::derivative(&quotient);
    if derivative == 0.0 {
        // Far out the gamma function is infinite; that zero is one all the same.
        derivative
    } else if t < 10.0 {
        derivative * 2.0 * (2.0 * PI).powf(-t) * gamma(t)
    } else {
        // By Stirling's formula in two factors: one alone would overflow first.
        let half = (t / (2.0 * PI * E)).powf(0.5 * t);
        derivative * (2.0 * (2.0 * PI / t).sqrt() * stirling(t).exp()) * half * half
    }
}
