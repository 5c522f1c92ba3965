//! Bessel functions of integer order.
//!
//! Those of the first and second kind are `libm`'s, from fdlibm (Sun Microsystems, 1993). The
//! modified ones are here.

use std::f64::consts::{EULER_GAMMA, LN_2, PI};

use super::{bessel_integral, series};

/// `value` times (-1)^n.
fn alternate(n: i32, value: f64) -> f64 {
    if n % 2 == 0 { value } else { -value }
}

/// J_n(x).
pub(crate) fn jn(n: i32, x: f64) -> f64 {
    if n < 0 {
        return alternate(n, jn(n.saturating_neg(), x));
    }
    libm::jn(n, x)
}

/// Y_n(x); NaN below zero.
pub(crate) fn yn(n: i32, x: f64) -> f64 {
    if n < 0 {
        return alternate(n, yn(n.saturating_neg(), x));
    }
    libm::yn(n, x)
}

/// I_n(x).
pub(crate) fn iv(n: i32, x: f64) -> f64 {
    let size = x.abs();
    let value = match Method::of(n, size) {
        Method::Series => iv_series(n, size),
        // Multiplied in two steps, since e^x may overflow where the product does not.
        Method::Asymptotic => (0.5 * size).exp() * ive_asymptotic(n, size) * (0.5 * size).exp(),
        Method::Integral => bessel_integral::iv_integral(f64::from(n).abs(), 0, size, false),
    };
    let value = if size == f64::INFINITY { size } else { value };
    if x < 0.0 { alternate(n, value) } else { value }
}

/// `e^-|x|·I_n(x)`.
pub(crate) fn ive(n: i32, x: f64) -> f64 {
    let size = x.abs();
    let value = match Method::of(n, size) {
        Method::Series => iv_series(n, size) * (-size).exp(),
        Method::Asymptotic => ive_asymptotic(n, size),
        Method::Integral => bessel_integral::iv_integral(f64::from(n).abs(), 0, size, true),
    };
    if x < 0.0 { alternate(n, value) } else { value }
}

/// How I_n is computed.
enum Method {
    Series,
    Asymptotic,
    Integral,
}

impl Method {
    fn of(n: i32, x: f64) -> Self {
        let n = f64::from(n);
        if x <= 20.0 || x.is_nan() {
            Method::Series
        } else if x >= 0.5 * n * n {
            Method::Asymptotic
        } else {
            Method::Integral
        }
    }
}

/// I_n(x) for moderate `x ≥ 0` by its power series (DLMF 10.25.2), whose terms are positive.
fn iv_series(n: i32, x: f64) -> f64 {
    let (n, half) = (n.unsigned_abs(), 0.5 * x);
    let mut first = 1.0;
    for k in 1..=n {
        first *= half / f64::from(k);
        if first == 0.0 || first.is_nan() {
            return first;
        }
    }
    first
        * series(1.0, |term, k| {
            term * (half / k) * (half / (k + f64::from(n)))
        })
}

/// `e^-x·I_n(x)` for large `x` (DLMF 10.40.1).
fn ive_asymptotic(n: i32, x: f64) -> f64 {
    let square = 4.0 * f64::from(n) * f64::from(n);
    let sum = series(1.0, |term, k| {
        let odd = 2.0 * k - 1.0;
        term * ((odd * odd - square) / (8.0 * k) / x)
    });
    sum / (2.0 * PI).sqrt() / x.sqrt()
}

/// K_n(x); NaN below zero.
pub(crate) fn kn(n: i32, x: f64) -> f64 {
    let factor = (-x).exp();
    if factor < 1e-300 && x < f64::INFINITY {
        // The factor vanishes before the product does.
        return bessel_integral::kv_integral(f64::from(n).abs(), 0, x, false);
    }
    kve_times(n, x, factor)
}

/// `e^x·K_n(x)`.
pub(crate) fn kve(n: i32, x: f64) -> f64 {
    kve_times(n, x, 1.0)
}

/// `e^x·K_n(x)` times `factor`, by forward recurrence (DLMF 10.29.1), which is stable.
fn kve_times(n: i32, x: f64, factor: f64) -> f64 {
    if x < 0.0 || x.is_nan() {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let (mut here, mut above) = if x <= 2.0 {
        let (zero, one) = k0_k1_series(x);
        let back = x.exp() * factor;
        (zero * back, one * back)
    } else {
        let (zero, one) = k0e_k1e_fraction(x);
        (zero * factor, one * factor)
    };
    for k in 1..=n.unsigned_abs() {
        (here, above) = (above, here + 2.0 * f64::from(k) / x * above);
        if here.is_infinite() {
            break;
        }
    }
    here
}

/// K_0(x) and K_1(x) for `x ≤ 2` by their power series (DLMF 10.31.2, 10.31.1).
fn k0_k1_series(x: f64) -> (f64, f64) {
    let square = 0.25 * x * x;
    // Not the logarithm of x / 2, which may be 0 where x is not.
    let log = x.ln() - LN_2 + EULER_GAMMA;
    // Σ H_k·t^k/k!² and Σ (H_k + H_(k+1))·t^k/(k!·(k+1)!).
    let (mut term, mut harmonic, mut zero, mut one) = (1.0, 0.0, 0.0, 0.0);
    for k in 0..20 {
        let next = 1.0 / f64::from(k + 1);
        zero += harmonic * term;
        one += (2.0 * harmonic + next) * term * next;
        harmonic += next;
        term *= square * next * next;
    }
    (
        zero - log * iv_series(0, x),
        1.0 / x + log * iv_series(1, x) - 0.25 * x * one,
    )
}

/// `e^x·K_0(x)` and `e^x·K_1(x)` for `x ≥ 2`, by Steed's evaluation of the second continued
/// fraction (Temme, Journal of Computational Physics 19 (1975); DLMF 10.74(v)).
fn k0e_k1e_fraction(x: f64) -> (f64, f64) {
    if x > 1e20 {
        // The leading term (DLMF 10.40.2) has all digits, and the fraction below would overflow.
        let value = (0.5 * PI).sqrt() / x.sqrt();
        return (value, value);
    }
    let mut b = 2.0 * (1.0 + x);
    let mut d = 1.0 / b;
    let (mut h, mut step) = (d, d);
    let (mut before, mut q) = (0.0, 1.0);
    let (mut a, mut c) = (-0.25, 0.25);
    let mut weight = c;
    let mut sum = 1.0 + weight * step;
    for k in 2..1000 {
        let k = f64::from(k);
        a -= 2.0 * (k - 1.0);
        c *= -a / k;
        (before, q) = (q, (before - b * q) / a);
        weight += c * q;
        b += 2.0;
        d = 1.0 / (b + a * d);
        step *= b * d - 1.0;
        h += step;
        let part = weight * step;
        sum += part;
        if part.abs() <= f64::EPSILON / 4.0 * sum.abs() {
            break;
        }
    }
    let zero = (0.5 * PI).sqrt() / x.sqrt() / sum;
    (zero, zero * (x + 0.5 - 0.25 * h) / x)
}
