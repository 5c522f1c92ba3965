//! `x·ln y` and its relatives, and their partial derivatives of any order.
//!
//! Each contains one logarithm, times a linear factor, so that the higher derivatives are powers.
//! Derivatives made of products of operators would be 0·∞ where `x` is 0. Partial derivatives are
//! numbered as in [`partial`].

use super::{less_log, partial};

/// `factor` times the derivative of order `n` of ln x; NaN below zero, as the logarithm is.
fn times_log_derivative(factor: f64, n: u32, x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    if n == 0 {
        return factor * x.ln();
    }
    let factorial = (1..n).map(f64::from).product::<f64>();
    let sign = if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    // Divided step by step: a power of x could overflow or vanish where the quotient does not.
    (0..n).fold(sign * factorial * factor, |value, _| value / x.abs())
}

/// The derivative of order `n` of ln x; NaN below zero.
fn log_derivative(n: u32, x: f64) -> f64 {
    times_log_derivative(1.0, n, x)
}

/// The derivative of order `n` of -x ln x; NaN below zero.
pub(crate) fn entr_derivative(n: i32, x: f64) -> f64 {
    match u32::try_from(n) {
        Ok(0) => entr(x),
        Ok(1) => -(log_derivative(0, x) + 1.0),
        Ok(n) => -log_derivative(n - 1, x),
        Err(_) => f64::NAN,
    }
}

/// -x ln x; 0 at 0, and -inf below zero.
pub(crate) fn entr(x: f64) -> f64 {
    if x > 0.0 {
        -x * x.ln()
    } else if x == 0.0 {
        0.0
    } else if x < 0.0 {
        f64::NEG_INFINITY
    } else {
        x
    }
}

/// `x` times the derivative of order `k` of ln y; 0 where `x` is 0, unless `y` is NaN.
fn product(x: f64, k: u32, y: f64) -> f64 {
    if x == 0.0 && !y.is_nan() {
        0.0
    } else {
        times_log_derivative(x, k, y)
    }
}

/// Partial derivative number `n` of `x·ln y`. Where it has the factor `x` and that is 0, it is 0.
pub(crate) fn xlogy_derivative(n: i32, x: f64, y: f64) -> f64 {
    match partial::orders(n) {
        Some((0, k)) => product(x, k, y),
        Some((1, k)) => log_derivative(k, y),
        Some(_) if y >= 0.0 => 0.0,
        _ => f64::NAN,
    }
}

/// Partial derivative number `n` of `x·ln(1 + y)`, in the same way.
pub(crate) fn xlog1py_derivative(n: i32, x: f64, y: f64) -> f64 {
    match partial::orders(n) {
        Some((0, 0)) if x == 0.0 && !y.is_nan() => 0.0,
        Some((0, 0)) => x * y.ln_1p(),
        Some((1, 0)) => y.ln_1p(),
        _ => xlogy_derivative(n, x, 1.0 + y),
    }
}

/// `ln(x / y)`, also where the quotient overflows, vanishes or is nearly 1.
fn log_ratio(x: f64, y: f64) -> f64 {
    let distance = (x - y) / y;
    if distance.abs() < 0.5 {
        return distance.ln_1p();
    }
    let ratio = x / y;
    if ratio.is_normal() {
        ratio.ln()
    } else {
        x.ln() - y.ln()
    }
}

/// `x·ln(x / y)`, 0 where `x` is 0; infinite where either argument is negative.
pub(crate) fn rel_entr(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > 0.0 && y > 0.0 {
        x * log_ratio(x, y)
    } else if x == 0.0 && y >= 0.0 {
        0.0
    } else {
        f64::INFINITY
    }
}

/// `x·ln(x / y) - x + y`; infinite if a term is.
pub(crate) fn kl_div(x: f64, y: f64) -> f64 {
    let distance = (y - x) / x;
    if x > 0.0 && distance.abs() < 0.5 {
        // x·(distance - ln(1 + distance)), whose three terms would cancel.
        return x * less_log(distance);
    }
    let entropy = rel_entr(x, y);
    if entropy == f64::INFINITY || (y == f64::INFINITY && x.is_finite()) {
        f64::INFINITY
    } else {
        entropy - x + y
    }
}

/// Partial derivative number `n` of [`rel_entr`]; NaN where either argument is negative.
pub(crate) fn rel_entr_derivative(n: i32, x: f64, y: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    if x.is_nan() || y.is_nan() || ((m, k) != (0, 0) && (x < 0.0 || y < 0.0)) {
        return f64::NAN;
    }
    match (m, k) {
        (0, 0) => rel_entr(x, y),
        (1, 0) => log_ratio(x, y) + 1.0,
        (0, k) => -product(x, k, y),
        (1, k) => -log_derivative(k, y),
        (m, 0) => log_derivative(m - 1, x),
        _ => 0.0,
    }
}

/// Partial derivative number `n` of [`kl_div`]; NaN where either argument is negative.
pub(crate) fn kl_div_derivative(n: i32, x: f64, y: f64) -> f64 {
    if n == 0 {
        return kl_div(x, y);
    }
    if x < 0.0 || y < 0.0 {
        return f64::NAN;
    }
    match n {
        // The 1 in the derivative of x·ln(x / y) and that of -x cancel.
        1 => log_ratio(x, y),
        2 if x == 0.0 && !y.is_nan() => 1.0,
        2 if x.is_infinite() || y.is_infinite() => 1.0 - x / y,
        2 => (y - x) / y,
        _ => rel_entr_derivative(n, x, y),
    }
}
