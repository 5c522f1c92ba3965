//! Exponential, sine and cosine integrals, and complete elliptic integrals.
//!
//! Near zero they are power series, farther out continued fractions or asymptotic series; the elliptic ones are by
//! the arithmetic-geometric mean. Each function says its formulas.

use std::f64::consts::{EULER_GAMMA, FRAC_PI_2, PI};

use super::series;

/// Σ x^k / (k·k!), from k = 1.
fn entire(x: f64) -> f64 {
    x * series(1.0, |term, k| term * x * k / ((k + 1.0) * (k + 1.0)))
}

/// E_1(x).
pub(crate) fn exp1(x: f64) -> f64 {
    expn(1, x)
}

/// E_n(x): power series (DLMF 8.19.8) to 1, beyond the continued fraction (DLMF 8.19.17) by Lentz's
/// method; below order 1 the recurrence (DLMF 8.19.12), of positive terms. NaN below zero.
pub(crate) fn expn(n: i32, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x > 750.0 {
        return 0.0;
    }
    let order = f64::from(n);
    if x == 0.0 {
        return if n > 1 {
            1.0 / (order - 1.0)
        } else {
            f64::INFINITY
        };
    }
    if n <= 0 {
        let zero = (-x).exp() / x;
        return (1..=-n).fold(zero, |e, k| zero + f64::from(k) / x * e);
    }
    if x <= 1.0 {
        return expn_series(n, x);
    }
    let mut b = x + order;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut h = d;
    for k in 1..500 {
        let k = f64::from(k);
        let a = -k * (order - 1.0 + k);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        h *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON / 2.0 {
            break;
        }
    }
    h * (-x).exp()
}

fn expn_series(n: i32, x: f64) -> f64 {
    // ψ(n) - ln x takes the place of the term whose divisor would be zero.
    let log = (1..n).fold(-EULER_GAMMA, |sum, k| sum + 1.0 / f64::from(k)) - x.ln();
    let (mut power, mut sum) = (1.0, 0.0);
    for k in 0..n + 20 {
        sum += match k + 1 - n {
            0 => power * log,
            divisor => -power / f64::from(divisor),
        };
        power *= -x / f64::from(k + 1);
        if power == 0.0 {
            break;
        }
    }
    sum
}

/// Ei(x): power series (DLMF 6.6.1) to 50, beyond the asymptotic one (DLMF 6.12.2), whose least term, of
/// relative size e^-x, is below the rounding there.
pub(crate) fn expi(x: f64) -> f64 {
    if x < 0.0 {
        -exp1(-x)
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else if x <= 50.0 {
        EULER_GAMMA + x.ln() + entire(x)
    } else if x == f64::INFINITY {
        x
    } else {
        // Multiplied in two steps, since e^x may overflow where the quotient does not.
        let half = (0.5 * x).exp();
        half / x * series(1.0, |term, k| term * (k / x)) * half
    }
}

/// `e^x / x`, in two factors of `e^(x/2)`, since `e^x` overflows before the quotient does.
pub(crate) fn exp_over(x: f64) -> f64 {
    let half = (0.5 * x).exp();
    // Infinity is not divided by itself.
    if half == f64::INFINITY {
        half
    } else {
        half / x * half
    }
}

/// K(m) and E(m) by `complement = 1 - m` in (0, 1], with the arithmetic-geometric mean (DLMF
/// 19.8.5, 19.8.6).
fn complete(complement: f64) -> (f64, f64) {
    let (mut a, mut b) = (1.0, complement.sqrt());
    let (mut sum, mut power) = (0.5 * (1.0 - complement), 0.5);
    for _ in 0..40 {
        let c = 0.5 * (a - b);
        power *= 2.0;
        sum += power * c * c;
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
        if c.abs() <= f64::EPSILON * a {
            break;
        }
    }
    let k = FRAC_PI_2 / a;
    (k, k * (1.0 - sum))
}

/// K(m), of the parameter `m = k²`; negative ones by DLMF 19.7.2.
pub(crate) fn ellipk(m: f64) -> f64 {
    if m == 1.0 {
        f64::INFINITY
    } else if m > 1.0 || m.is_nan() {
        f64::NAN
    } else if m >= 0.0 {
        complete(1.0 - m).0
    } else {
        complete(1.0 / (1.0 - m)).0 / (1.0 - m).sqrt()
    }
}

/// E(m), of the parameter `m = k²`; negative ones by DLMF 19.7.2.
pub(crate) fn ellipe(m: f64) -> f64 {
    if m == 1.0 {
        1.0
    } else if m > 1.0 || m.is_nan() {
        f64::NAN
    } else if m >= 0.0 {
        complete(1.0 - m).1
    } else if m < -1e30 {
        // E(1) = 1, to the last place.
        (1.0 - m).sqrt()
    } else {
        complete(1.0 / (1.0 - m)).1 * (1.0 - m).sqrt()
    }
}

/// The derivative of order `n` of K: near 0 by its power series (DLMF 19.5.1), elsewhere by the
/// recurrence that the differential equation (DLMF 19.4.8) gives.
pub(crate) fn ellipk_derivative(n: i32, m: f64) -> f64 {
    if n < 0 || m.is_nan() || m > 1.0 {
        return f64::NAN;
    }
    if n == 0 || m == 1.0 {
        return ellipk(m);
    }
    if m.abs() <= 0.5 {
        // π/2·(½)_j²/j!² is the coefficient of m^j.
        let first = (1..=n).fold(0.5 * PI, |c, j| {
            let odd = f64::from(j) - 0.5;
            c * odd * odd / f64::from(j)
        });
        let shift = f64::from(n);
        return series(first, |term, k| {
            let odd = k + shift - 0.5;
            term * m * odd * odd / (k * (k + shift))
        });
    }
    let rest = 1.0 - m;
    // K' = (E - (1 - m)·K) / (2·m·(1 - m)), DLMF 19.4.1.
    let (mut here, mut above) = (ellipk(m), (ellipe(m) - rest * ellipk(m)) / (2.0 * m) / rest);
    for k in 0..n - 1 {
        let k = f64::from(k);
        let next = ((k + 0.5) * (k + 0.5) * here - (k + 1.0) * (1.0 - 2.0 * m) * above) / m / rest;
        (here, above) = (above, next);
    }
    above
}

/// Si(x).
pub(crate) fn sinint(x: f64) -> f64 {
    sici(x.abs()).0.copysign(x)
}

/// Ci(|x|), the real part of Ci(x).
pub(crate) fn cosint(x: f64) -> f64 {
    sici(x.abs()).1
}

/// Si(x) and Ci(x) for `x ≥ 0`: power series (DLMF 6.6.5, 6.6.6) to 4, beyond E_1 of an imaginary
/// number by its continued fraction (DLMF 6.9.1), by 6.5.5 and 6.5.6.
fn sici(x: f64) -> (f64, f64) {
    if x.is_infinite() {
        return (FRAC_PI_2, 0.0);
    }
    if x <= 4.0 || x.is_nan() {
        // Terms ±x^m / (m·m!), of odd and of even m.
        let next = |term: f64, m: f64| -term * (x * x) * (m - 2.0) / (m * m * (m - 1.0));
        let sine = x * series(1.0, |term, k| next(term, 2.0 * k + 1.0));
        let cosine = series(-0.25 * x * x, |term, k| next(term, 2.0 * k + 2.0));
        return (sine, EULER_GAMMA + x.ln() + cosine);
    }
    let multiply = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
    let invert = |(a, b): (f64, f64)| (a / (a * a + b * b), -b / (a * a + b * b));
    // The continued fraction is evaluated from the last of the terms that matter.
    let terms = 20 + (400.0 / x) as i32;
    let mut tail = (0.0, 0.0);
    for k in (1..=terms).rev() {
        let k = f64::from(k);
        let (re, im) = invert((2.0 * k + 1.0 + tail.0, x + tail.1));
        tail = (-k * k * re, -k * k * im);
    }
    // Divided twice, for squares of large numbers overflow.
    let (re, im) = (1.0 + tail.0, x + tail.1);
    let length = re.hypot(im);
    let fraction = (re / length / length, -im / length / length);
    let (sin, cos) = x.sin_cos();
    let (re, im) = multiply(fraction, (cos, -sin));
    (FRAC_PI_2 + im, -re)
}
