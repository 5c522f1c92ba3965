//! The Hurwitz and the Riemann zeta function.
//!
//! A derivative in `s` of any order is an operator; by `q` it is the same of `s + 1` times `-s`
//! (DLMF 25.11.17), which has derivatives in `s` again.

use super::elementwise;
use crate::special::{riemann, zeta};

/// Exponents.
const LARGER: &[(f64, f64)] = &[(1.5, 4.0)];
/// Where the series begins.
const POSITIVE: &[(f64, f64)] = &[(0.6, 3.0)];
/// On both sides of the pole and of the reflection.
const BOTH: &[(f64, f64)] = &[(1.5, 4.0), (-3.0, -0.6), (-0.4, 0.5)];

elementwise! { $
    /// The Hurwitz zeta function; NaN for s below 1.
    HurwitzZeta = hurwitz_zeta, "Σ_(k≥0) (q + k)^-s", "DLMF 25.11.1, 25.11.7",
    (s, q) -> zeta::hurwitz_zeta,
    vjp(g, y) = [Some(g * s.zeta_derivative(1, q)), Some(-(g * (s * (s + 1.0).hurwitz_zeta(q))))],
    domain = [LARGER, POSITIVE],
    special = [[1.0, 1.001, 2.0, 4.5, 9.9, 10.1, 19.9, 31.5, 60.0, 250.0], [0.0, 1.0, 0.5, 2.0, 9.9, 60.0, -0.5, -2.0]];

    /// A derivative of the Hurwitz zeta function in s, of order n from 0.
    ZetaDerivative = zeta_derivative, "d^n/ds^n Σ_(k≥0) (q + k)^-s", "DLMF 25.11.1, 25.11.7",
    (n; s, q) -> zeta::zeta_derivative,
    vjp(g, y) = [
        Some(g * s.zeta_derivative(n + 1, q)),
        Some({
            let next = s + 1.0;
            let product = s * next.zeta_derivative(n, q);
            let lower = (n > 0).then(|| f64::from(n) * next.zeta_derivative(n - 1, q));
            -(g * lower.map_or(product, |lower| product + lower))
        })
    ],
    domain = [LARGER, POSITIVE],
    special = [[1.0, 1.001, 2.0, 4.5], [0.0, 1.0, 0.5]],
    internal = "the gradients of hurwitz_zeta by s",
    orders = [0, 1, 3];

    /// A derivative of the Riemann zeta function, of order n from 0.
    RiemannZeta = riemann_zeta, "d^n/dx^n ζ(x)", "DLMF 25.2.1, 25.2.9, 25.4.2",
    (n; x) -> riemann::riemann_zeta,
    vjp(g, y) = [Some(g * x.riemann_zeta(n + 1))],
    domain = [BOTH],
    special = [[-170.7, -60.5, -9.1, -8.9, -2.0, -1.0, -0.51, -0.49, 0.0, 0.999, 1.0, 1.001, 19.9, 60.0, 2000.0]],
    orders = [0, 1, 3];
}
