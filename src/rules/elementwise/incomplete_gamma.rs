//! The regularised incomplete gamma functions.
//!
//! A derivative in `a` of any order is an operator. By `x` it is the density of the gamma
//! distribution, differentiated in `a` as often.

use super::elementwise;
use crate::special::incomplete_gamma;

/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.4, 0.9), (1.1, 4.0)];
/// Where methods change, and far beyond.
const EDGES: [f64; 11] = [
    0.0, 1.0, 1e-10, 0.3, 0.99, 1.01, 9.9, 10.1, 30.0, 35.0, 99.0,
];

elementwise! { $
    /// Regularised lower incomplete gamma function; NaN for negative arguments.
    GammaInc = gammainc, "∫_0^x t^(a-1) exp(-t) dt / Γ(a)", "DLMF 8.2.4, 8.7.1",
    (a, x) -> incomplete_gamma::gammainc,
    vjp(g, y) = [Some(g * a.gammainc_derivative(1, x)), Some(g * a.gamma_density(0, x))],
    domain = [POSITIVE, POSITIVE],
    special = [EDGES, EDGES],
    scipy = ["gammainc"];

    /// Regularised upper incomplete gamma function; NaN for negative arguments.
    GammaIncC = gammaincc, "∫_x^∞ t^(a-1) exp(-t) dt / Γ(a)", "DLMF 8.2.4, 8.7.1",
    (a, x) -> incomplete_gamma::gammaincc,
    vjp(g, y) = [Some(-(g * a.gammainc_derivative(1, x))), Some(-(g * a.gamma_density(0, x)))],
    domain = [POSITIVE, POSITIVE],
    special = [EDGES, EDGES],
    scipy = ["gammaincc"];

    /// A derivative of gammainc in a, of order n from 0.
    GammaIncDerivative = gammainc_derivative, "d^n/da^n ∫_0^x t^(a-1) exp(-t) dt / Γ(a)", "DLMF 8.2.4, 8.7.1",
    (n; a, x) -> incomplete_gamma::gammainc_derivative,
    vjp(g, y) = [Some(g * a.gammainc_derivative(n + 1, x)), Some(g * a.gamma_density(n, x))],
    domain = [POSITIVE, POSITIVE],
    special = [EDGES, EDGES],
    internal = "the gradients of gammainc and gammaincc by a",
    orders = [1, 2, 3];

    /// A derivative of the gamma distribution's density in a, of order n from 0.
    GammaDensity = gamma_density, "d^n/da^n x^(a-1) exp(-x) / Γ(a)", "DLMF 8.8.13",
    (n; a, x) -> incomplete_gamma::gamma_density,
    vjp(g, y) = [
        Some(g * a.gamma_density(n + 1, x)),
        Some({
            // At 0 the difference of two densities, which elsewhere would cancel.
            let zero = x.equal(x.constant(0.0));
            let (start, rest) = (zero.select(a, a.constant(2.0)), zero.select(x.constant(1.0), x));
            let at_zero = (start - 1.0).gamma_density(n, x) - y;
            // (a - 1 - x) / x, whose own derivative by x cancels where x is small; in two terms the
            // quotient itself would, where a and x are large and near each other.
            let below = rest.less(x.constant(1.0));
            let far = below.select(x.constant(1.0), rest);
            let near = below.select(rest, x.constant(1.0));
            let log_slope = below.select((a - 1.0) / near - 1.0, (a - 1.0 - far) / far);
            let lower = (n > 0).then(|| f64::from(n) * a.gamma_density(n - 1, x) / rest);
            let slope = lower.map_or(log_slope * y, |lower| log_slope * y + lower);
            g * zero.select(at_zero, slope)
        })
    ],
    domain = [POSITIVE, POSITIVE],
    special = [EDGES, EDGES],
    internal = "the gradients of gammainc and gammaincc by x",
    orders = [0, 1, 2];
}
