//! Sums of powers over all integers from a number on, by the Euler-Maclaurin formula.
//!
//! The first terms are added as they are, the rest is an integral and a series of derivatives
//! (DLMF 25.11.7 with 2.10.1), which falls below the rounding when the first terms reach far enough.

use super::jet::{self, Jet};

/// `x^-p`.
pub(super) fn inverse_power(x: f64, p: f64) -> f64 {
    // `powi` multiplies once or twice a bit of the exponent: quicker, and as accurate for few bits.
    if p.abs() < 32.0 && p == p.floor() {
        x.powi(p as i32).recip()
    } else {
        x.powf(-p)
    }
}

/// Σ_k `power(x + k, s)` over all `k` from 0, as a Taylor series of `n + 1` entries in `s`. Terms up to
/// `10 + s` are added one by one, so `x` must not be far below zero. `power(x, s)` is the series of
/// `x^-s`, or of a difference of two such powers; `integral(x)` is the series of the integral of
/// `power` from `x` to infinity.
pub(super) fn euler_maclaurin(
    s: f64,
    mut x: f64,
    n: usize,
    power: &dyn Fn(f64, f64) -> Jet,
    integral: &dyn Fn(f64) -> Jet,
) -> Jet {
    // B_2k / (2k)!.
    const COEFFICIENTS: [f64; 10] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
        43867.0 / 5_109_094_217_170_944_000.0,
        -174_611.0 / 802_857_662_698_291_200_000.0,
    ];
    let mut sum = jet::constant(0.0, n);
    if x == f64::INFINITY {
        return sum;
    }
    // From x = 10 + s on, the series of derivatives falls below the rounding.
    while x < 10.0 + s {
        let term = power(x, s);
        jet::add(&mut sum, 1.0, &term);
        // For large `s` terms fall so fast that the rest is negligible long before x = s.
        if s > 20.0 && x > 1.0 && jet::negligible(&term, &sum) {
            return sum;
        }
        x += 1.0;
    }
    jet::add(&mut sum, 1.0, &integral(x));
    let first = power(x, s);
    jet::add(&mut sum, 0.5, &first);
    if first.iter().all(|&entry| entry == 0.0) {
        return sum;
    }
    // s·(s + 1)·…, with as many factors as the order of the derivative.
    let mut factor = jet::constant(s, n);
    if n > 0 {
        factor[1] = 1.0;
    }
    let mut p = s + 1.0;
    for c in COEFFICIENTS {
        jet::add(&mut sum, c, &jet::product(&factor, &power(x, p)));
        jet::times_linear(&mut factor, p);
        jet::times_linear(&mut factor, p + 1.0);
        p += 2.0;
    }
    sum
}
