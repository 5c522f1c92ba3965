//! Derivatives of any order of the scaled modified Bessel functions, `e^-|x|·I_n(x)` and `e^x·K_n(x)`.
//!
//! A derivative is a difference of neighbouring functions, which agree in the more digits the larger
//! `x` is: beyond 1 it is computed as an integral that does not cancel ([`bessel_integral`]).

use super::bessel::{ive, kve};
use super::{bessel_integral, partial};

/// The order of the function and that of the derivative: as [`partial`] numbers them.
fn orders(number: i32) -> Option<(i32, u32)> {
    partial::orders(number).map(|(n, k)| (n as i32, k))
}

/// The derivative of order `k` from the functions of the orders next to `n`: `half` times their second
/// difference, `k` times.
fn by_neighbours(f: fn(i32, f64) -> f64, half: f64, (n, k): (i32, u32), x: f64) -> f64 {
    let (mut binomial, mut sum) = (1.0, 0.0);
    for j in 0..=2 * k as i32 {
        let weight = if j % 2 == 0 { binomial } else { -binomial };
        sum += weight * f((n + k as i32 - j).abs(), x);
        binomial *= f64::from(2 * k as i32 - j) / f64::from(j + 1);
    }
    sum * half.powi(k as i32)
}

/// The derivative of `e^-|x|·I_n(x)` by `x`; of which order, and n, `number` says. At 0 it is the mean
/// of those on both sides.
pub(crate) fn ive_derivative(number: i32, x: f64) -> f64 {
    let Some((n, k)) = orders(number) else {
        return f64::NAN;
    };
    let size = x.abs();
    let odd = (n + k as i32) % 2 != 0;
    let value = if (x == 0.0 && odd) || size == f64::INFINITY {
        0.0
    } else if k == 0 {
        ive(n, size)
    } else if size <= 1.0 || size.is_nan() {
        by_neighbours(ive, 0.5, (n, k), size)
    } else {
        bessel_integral::iv_integral(f64::from(n), k, size, true)
    };
    if x < 0.0 && odd { -value } else { value }
}

/// The derivative of `e^x·K_n(x)`; of which order, and n, `number` says.
pub(crate) fn kve_derivative(number: i32, x: f64) -> f64 {
    let Some((n, k)) = orders(number) else {
        return f64::NAN;
    };
    if k == 0 || x.is_nan() || x < 0.0 {
        return kve(n, x);
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x > 1.0 {
        return bessel_integral::kv_integral(f64::from(n), k, x, true);
    }
    let highest = kve(n + k as i32, x);
    if highest.is_infinite() {
        // The largest of the neighbours.
        return if k % 2 == 0 { highest } else { -highest };
    }
    by_neighbours(kve, -0.5, (n, k), x)
}
