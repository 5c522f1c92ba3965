//! The regularised incomplete gamma functions P and Q, and their derivatives of any order.
//!
//! With `t = x·e^v` both integrals (DLMF 8.2.4) are `x^a e^-x / Γ(a)` times the integral of
//! `e^(a·v - x·(e^v - 1))`: over `v < 0` for P, over `v > 0` for Q. On one of the two sides the
//! integrand falls from the start: for `x ≤ a` that of P, else that of Q. There it is smooth and has
//! one scale, so that the trapezoidal rule after the substitution of Takahasi and Mori (1974),
//! `v ∝ e^(u - e^-u)`, gives all digits with the same nodes for the smallest and the largest `a`. The
//! other function is 1 less this one. Differentiating by `a` multiplies the integrand by `v`, whose
//! sign does not change, so nothing cancels. For `x < 1` P is computed by its power series.
//!
//! Relative errors are below 1e-13. Where the result is tiny they are larger: the rounding unit times
//! the logarithm of the result.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::gamma::{digamma, digamma_less_log, log_gamma_coefficient, rgamma, stirling};
use super::jet::{self, Jet};
use super::{less_log, polynomial};

/// P(a, x); NaN for negative arguments.
pub(crate) fn gammainc(a: f64, x: f64) -> f64 {
    limit(a, x).unwrap_or_else(|| both(a, x).0)
}

/// Q(a, x) = 1 - P(a, x); NaN for negative arguments.
pub(crate) fn gammaincc(a: f64, x: f64) -> f64 {
    limit(a, x).map_or_else(|| both(a, x).1, |p| 1.0 - p)
}

/// The derivative of order `n` of P in `a`.
pub(crate) fn gammainc_derivative(n: i32, a: f64, x: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return gammainc(a, x);
    }
    match limit(a, x) {
        // P is constant (0 or 1) in `a` there, but at `a = 0`, where it has a slope to the right.
        Some(p) if a > 0.0 || p.is_nan() => 0.0 * p,
        Some(_) if x == f64::INFINITY => 0.0,
        _ if x < 1.0 => jet::derivative(&power_series(a, x, order)),
        _ => {
            let (side, integral) = integral(a, x, order);
            let mut factor = factor(a, x, order);
            jet::times_linear(&mut factor, a);
            -side * jet::derivative(&jet::product(&factor, &integral))
        }
    }
}

/// The derivative of order `n` in `a` of `x^(a-1) e^-x / Γ(a)`, the derivative of P by `x`. NaN for
/// negative arguments, except for negative `a` at `x = 0`: higher derivatives of P by `x` are
/// sums of such terms.
pub(crate) fn gamma_density(n: i32, a: f64, x: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    // `a - x` is NaN also if both are infinite.
    if (a - x).is_nan() || x < 0.0 || (a < 0.0 && x != 0.0) {
        f64::NAN
    } else if x == f64::INFINITY || a.is_infinite() {
        0.0
    } else if x > 0.0 {
        let mut density = factor(a, x, order);
        jet::times_linear(&mut density, a);
        jet::derivative(&density) / x
    } else {
        density_at_zero(n, a)
    }
}

/// [`gamma_density`] at `x = 0`, for finite `a`: the limit from above, of the term with the highest power of `ln x`.
fn density_at_zero(n: i32, a: f64) -> f64 {
    let is_pole = a <= 0.0 && a == a.floor();
    if a > 1.0 {
        0.0
    } else if n == 0 && a == 1.0 {
        1.0
    } else if n == 0 && is_pole {
        0.0
    } else {
        // Each derivative in `a` is a factor `ln x`, which is -∞ here, but for one at a pole of Γ: there 1/Γ is 0, and
        // its slope has the sign that 1/Γ has above the pole.
        let logarithms = if is_pole { n - 1 } else { n };
        let is_negative = (a <= 0.0 && a.floor() % 2.0 != 0.0) != (logarithms % 2 != 0);
        if is_negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }
    }
}

/// P where an argument is 0, infinite, negative or NaN; `None` elsewhere.
fn limit(a: f64, x: f64) -> Option<f64> {
    let undefined = (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite());
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || undefined {
        Some(f64::NAN)
    } else if x == 0.0 || a == f64::INFINITY {
        Some(0.0)
    } else if a == 0.0 || x == f64::INFINITY {
        Some(1.0)
    } else {
        None
    }
}

/// P and Q for finite positive numbers.
fn both(a: f64, x: f64) -> (f64, f64) {
    if x >= 1.0 {
        let (side, integral) = integral(a, x, 0);
        let part = a * factor(a, x, 0)[0] * integral[0];
        return if side < 0.0 {
            (part, 1.0 - part)
        } else {
            (1.0 - part, part)
        };
    }
    let p = power_series(a, x, 0)[0];
    if a >= 1.0 {
        return (p, 1.0 - p);
    }
    // Q = ∫_x^1 + ∫_1^∞, since 1 - P would cancel: the first by the series of e^-t, the second as above.
    let log = x.ln();
    let mut near = -(a * log).exp_m1() / a;
    let mut sign = 1.0;
    for k in 1..20 {
        let k = f64::from(k);
        sign /= -k;
        near -= sign * ((a + k) * log).exp_m1() / (a + k);
    }
    let upper = near + (-1.0_f64).exp() * integral(a, 1.0, 0).1[0];
    let q = a * rgamma(a + 1.0) * upper;
    // The product that p is exceeds 1 by rounding where it is nearly 1.
    (if q < 0.5 { 1.0 - q } else { p }, q)
}

/// The Taylor series in `a` of `x^a e^-x / Γ(a + 1)`.
fn factor(a: f64, x: f64, n: usize) -> Jet {
    // `x - a`, and so the relative distance, has no rounding error where it is small.
    let distance = (x - a) / a;
    let near = a >= 10.0 && distance.abs() < 0.5;
    let value = if a < 10.0 {
        let half = (-0.5 * x).exp();
        if half == 0.0 {
            0.0
        } else {
            x.powf(a) * half * half * rgamma(a + 1.0)
        }
    } else {
        // Stirling's formula, in which the exponent is -a·(distance - ln(1 + distance)).
        let less = if near {
            less_log(distance)
        } else {
            let ratio = x / a;
            let log = if ratio.is_normal() {
                ratio.ln()
            } else {
                x.ln() - a.ln()
            };
            distance - log
        };
        (-a * less - stirling(a)).exp() / (2.0 * PI).sqrt() / a.sqrt()
    };
    let mut exponent = jet::constant(0.0, n);
    for k in 2..=n {
        exponent[k] = -log_gamma_coefficient(k, a + 1.0);
    }
    if n > 0 {
        exponent[1] = if near {
            distance.ln_1p() - digamma_less_log(a) - 1.0 / a
        } else {
            x.ln() - digamma(a + 1.0)
        };
    }
    jet::exp(value, &exponent)
}

/// The Taylor series in `a` of P, by its power series (DLMF 8.7.1, 8.5.1), of positive terms.
fn power_series(a: f64, x: f64, n: usize) -> Jet {
    let mut term = jet::constant(1.0, n);
    let mut sum = term.clone();
    for k in 1..100 {
        jet::over_linear(&mut term, a + f64::from(k));
        term.iter_mut().for_each(|entry| *entry *= x);
        jet::add(&mut sum, 1.0, &term);
        if jet::negligible(&term, &sum) {
            break;
        }
    }
    jet::product(&factor(a, x, n), &sum)
}

/// How many nodes the trapezoidal rule in `u` has.
const NODES: usize = 128;

/// `e^(u - e^-u)` at the nodes, and the weights.
fn nodes() -> &'static [(f64, f64); NODES] {
    static TABLE: OnceLock<[(f64, f64); NODES]> = OnceLock::new();
    const STEP: f64 = 1.0 / 16.0;
    TABLE.get_or_init(|| {
        std::array::from_fn(|k| {
            let u = STEP * k as f64 - 3.8;
            let inner = (-u).exp();
            let node = (u - inner).exp();
            (node, STEP * node * (1.0 + inner))
        })
    })
}

/// On which side the integrand falls, -1 for `v < 0`, and its integral over this side, that of
/// `e^(a·v - x·(e^v - 1))`, as a Taylor series in `a`.
fn integral(a: f64, x: f64, n: usize) -> (f64, Jet) {
    let side = if x <= a { -1.0 } else { 1.0 };
    let distance = (x - a).abs();
    let scale = 1.0 / (distance + x.sqrt());
    let mut sum = jet::constant(0.0, n);
    for (node, weight) in nodes() {
        let v = scale * node;
        let exponent = distance * v + x * exp_less_line(side * v);
        if exponent > 100.0 {
            break;
        }
        let mut value = weight * (-exponent).exp();
        for (k, sum) in sum.iter_mut().enumerate() {
            *sum += value;
            value *= side * v / (k + 1) as f64;
        }
    }
    sum.iter_mut().for_each(|entry| *entry *= scale);
    (side, sum)
}

/// `e^v - 1 - v`.
fn exp_less_line(v: f64) -> f64 {
    if v.abs() > 0.5 {
        return v.exp_m1() - v;
    }
    let coefficients = [
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    v * v * polynomial(v, &coefficients)
}
