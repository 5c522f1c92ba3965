//! The partial derivatives of `x^y`, of any order, also where a factor of one is zero or infinite.
//!
//! With the falling factorial `(y)_m = y·(y - 1)·…·(y - m + 1)` the derivative of order `m` in `x` is
//! `(y)_m·x^(y-m)`. Its derivative of order `k` in `y` is, by Leibniz' rule,
//! `x^(y-m)·Σ_j C(k, j)·(y)_m^(j)·ln(x)^(k-j)`. As a product of operators this would be 0·∞ or ∞ - ∞ at
//! `x = 0` and at infinity for whole `y`; here the term with the highest power of the logarithm decides.

use super::partial;

/// Partial derivative number `n` (see [`partial`]) of `x^y`.
///
/// At `x = 0` and at infinity it is the limit from positive `x`; derivatives in `x` alone have the limit
/// from the side that the sign of `x` says. Below zero the function is real for whole `y` only, so there
/// are derivatives in `x`, and those in `y` are NaN.
pub(crate) fn power_derivative(n: i32, x: f64, y: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    if k == 0 {
        return by_base(x, y, m);
    }
    let factors = falling_factorial(y, m, k as usize);
    let Some(first) = factors.iter().position(|&c| c != 0.0) else {
        // For whole y the function is a polynomial, and this order is beyond its degree.
        return 0.0;
    };
    if x < 0.0 {
        return f64::NAN;
    }
    let power = shifted(x, y, m);
    let logs = k as usize - first;
    if power == 0.0 {
        0.0
    } else if x == 0.0 || x == f64::INFINITY {
        let sign = if x == 0.0 && logs % 2 == 1 { -1.0 } else { 1.0 };
        let log = if logs > 0 { f64::INFINITY } else { 1.0 };
        sign * factors[first] * (log * power.abs())
    } else {
        let log = x.ln();
        let sum = factors.iter().enumerate().fold(0.0, |sum, (j, &c)| {
            let power = log.powi(k as i32 - j as i32);
            if c == 0.0 { sum } else { sum + c * power }
        });
        if sum == 0.0 {
            0.0
        } else if power.is_infinite() {
            over(sum * x.powf(y), x, m)
        } else {
            sum * power
        }
    }
}

/// The derivative of order `m` by `x` of `x^y`.
fn by_base(x: f64, y: f64, m: u32) -> f64 {
    let times = |product: f64, i: u32| match product {
        // Where a factor is 0 and another infinite, too.
        0.0 => 0.0,
        product => product * (y - f64::from(i)),
    };
    let factor = (0..m).fold(1.0, times);
    if factor == 0.0 {
        // For whole y the function is a polynomial, and this order is beyond its degree.
        return 0.0;
    }
    if x < 0.0 && y != y.floor() {
        return f64::NAN;
    }
    let power = shifted(x, y, m);
    // Where y is infinite and the power 0, the product is 0, though the factor is infinite.
    if power == 0.0 {
        power
    } else if power.is_infinite() && x.is_finite() && x != 0.0 {
        over(factor * x.powf(y), x, m)
    } else {
        factor * power
    }
}

/// `x^(y - m)`. For negative `x` its sign is that of `x^y` changed `m` times, also where `y - m`
/// rounds to `y`.
fn shifted(x: f64, y: f64, m: u32) -> f64 {
    let exponent = y - f64::from(m);
    if x.is_sign_positive() || x.is_nan() || y != y.floor() {
        return x.powf(exponent);
    }
    let odd = (y % 2.0 != 0.0) == m.is_multiple_of(2);
    let power = x.abs().powf(exponent);
    if odd { -power } else { power }
}

/// `value / x^m`, also where the power alone vanishes.
fn over(value: f64, x: f64, m: u32) -> f64 {
    (0..m).fold(value, |value, _| value / x)
}

/// `C(k, j)` times the derivative of order `j` of `y·(y - 1)·…·(y - m + 1)`, for `j` from 0 to `k`.
fn falling_factorial(y: f64, m: u32, k: usize) -> Vec<f64> {
    // The coefficients of Taylor's series of the product, factor by factor.
    let mut series = vec![0.0; k + 1];
    series[0] = 1.0;
    for i in 0..m {
        let c = y - f64::from(i);
        for j in (0..=k).rev() {
            // 0 where `c` is infinite, too.
            let product = if series[j] == 0.0 { 0.0 } else { series[j] * c };
            series[j] = product + if j > 0 { series[j - 1] } else { 0.0 };
        }
    }
    // C(k, j)·j! is k·(k - 1)·…, of j factors.
    let mut scale = 1.0;
    for (j, entry) in series.iter_mut().enumerate() {
        *entry *= scale;
        scale *= (k - j) as f64;
    }
    series
}
