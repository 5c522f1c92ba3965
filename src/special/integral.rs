//! Exponential integrals, and complete elliptic integrals.

use std::f64::consts::{FRAC_PI_2, PI};

use super::series;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Σ x^k / (k·k!), from k = 1.
fn entire(x: f64) -> f64 {
    x * series(1.0, |term, k| term * x * k / ((k + 1.0) * (k + 1.0)))
}

/// E_1(x): power series (DLMF 6.6.2) to 1, beyond the continued fraction (DLMF 6.9.1) by Lentz's
/// method. NaN below zero.
pub(crate) fn exp1(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x <= 1.0 {
        return -EULER - x.ln() - entire(-x);
    }
    if x > 750.0 {
        return 0.0;
    }
    let mut b = x + 1.0;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut h = d;
    for k in 1..500 {
        let a = -f64::from(k * k);
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

/// Ei(x): power series (DLMF 6.6.1) to 40, beyond the asymptotic one (DLMF 6.12.2).
pub(crate) fn expi(x: f64) -> f64 {
    if x < 0.0 {
        -exp1(-x)
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else if x <= 40.0 {
        EULER + x.ln() + entire(x)
    } else if x == f64::INFINITY {
        x
    } else {
        // In two steps, since e^x may overflow where the quotient does not.
        let half = (0.5 * x).exp();
        half / x * series(1.0, |term, k| term * (k / x)) * half
    }
}

/// K and E of the complement `1 - m`, which is in (0, 1], by the arithmetic-geometric mean (DLMF
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
