//! The Hurwitz and the Riemann zeta function.
//!
//! A partial derivative of any order is an operator, so that all are NaN where the function is.

use super::elementwise;
use crate::special::{partial, riemann, zeta};

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
    vjp(g, y) = [Some(g * s.zeta_derivative(1, q)), Some(g * s.zeta_derivative(2, q))],
    domain = [LARGER, POSITIVE],
    special = [[0.5, 1.0, 1.001, 2.0, 4.5, 9.9, 10.1, 19.9, 31.5, 60.0, 250.0], [0.0, 1.0, 0.5, 2.0, 9.9, 60.0, -0.5, -2.0]];

    /// Partial derivative number n of the Hurwitz zeta function; NaN for s below 1.
    ZetaDerivative = zeta_derivative, "∂_n Σ_(k≥0) (q + k)^-s", "DLMF 25.11.1, 25.11.7, 25.11.17",
    (n; s, q) -> zeta::zeta_derivative,
    vjp(g, y) = [
        Some(g * s.zeta_derivative(partial::further(n, 0), q)),
        Some(g * s.zeta_derivative(partial::further(n, 1), q))
    ],
    domain = [LARGER, POSITIVE],
    special = [[0.5, 1.0, 1.001, 2.0, 4.5], [0.0, 1.0, 0.5]],
    internal = "the gradients of hurwitz_zeta, which end where it does",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// A derivative of the Riemann zeta function, of order n from 0.
    RiemannZeta = riemann_zeta, "d^n/dx^n ζ(x)", "DLMF 25.2.1, 25.2.9, 25.4.2",
    (n; x) -> riemann::riemann_zeta,
    vjp(g, y) = [Some(g * x.riemann_zeta(n + 1))],
    domain = [BOTH],
    special = [[-3001.5, -2003.0, -1001.0, -1000.0, -170.7, -60.5, -9.1, -8.9, -2.0, -1.0, -0.51, -0.49, 0.0, 0.999, 1.0, 1.001, 19.9, 60.0, 2000.0]],
    orders = [0, 1, 3];
}
