//! Exponential integrals, and complete elliptic integrals of the parameter m = k².

use super::elementwise;
use crate::special::integral;

/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.6, 3.0)];
/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.4), (0.6, 2.0)];
/// Parameters.
const PARAMETER: &[(f64, f64)] = &[(-0.9, 0.7)];
/// Where methods change.
const EDGES: [f64; 9] = [-50.0, -0.9, 1e-5, 0.99, 1.01, 39.0, 41.0, 712.0, 740.0];
const PARAMETERS: [f64; 9] = [
    -1e20,
    -50.0,
    -0.6,
    1e-9,
    0.3,
    0.6,
    0.9,
    0.999999,
    1.0 - 1e-12,
];

elementwise! { $
    /// Exponential integral E_1.
    Exp1 = exp1, "∫_x^∞ exp(-t) / t dt", "DLMF 6.2.1, 6.6.2, 6.9.1",
    (x) -> integral::exp1,
    vjp(g, y) = [Some(-(g * ((-x).exp() / x)))],
    domain = [POSITIVE],
    edges = EDGES,
    scipy = ["exp1"];

    /// Exponential integral Ei.
    Expi = expi, "-∫_-x^∞ exp(-t) / t dt", "DLMF 6.2.5, 6.6.1, 6.12.2",
    (x) -> integral::expi,
    vjp(g, y) = [Some(g * (x.exp() / x))],
    domain = [NONZERO],
    edges = EDGES,
    scipy = ["expi"];

    /// Complete elliptic integral of the first kind.
    EllipK = ellipk, "∫_0^(π/2) (1 - x sin(t)^2)^(-1/2) dt", "DLMF 19.2.8, 19.8.5",
    (x) -> integral::ellipk,
    vjp(g, y) = [Some(g * x.ellipk_derivative(1))],
    domain = [PARAMETER],
    edges = PARAMETERS,
    scipy = ["ellipk"];

    /// Complete elliptic integral of the second kind.
    EllipE = ellipe, "∫_0^(π/2) (1 - x sin(t)^2)^(1/2) dt", "DLMF 19.2.8, 19.8.6",
    (x) -> integral::ellipe,
    vjp(g, y) = [Some(g * ((1.0 - x) * x.ellipk_derivative(1) - x.ellipk() * 0.5))],
    domain = [PARAMETER],
    edges = PARAMETERS,
    scipy = ["ellipe"];

    /// A derivative of ellipk, of order n from 0.
    EllipKDerivative = ellipk_derivative, "d^n/dx^n K(x)", "DLMF 19.5.1, 19.4.8",
    (n; x) -> integral::ellipk_derivative,
    vjp(g, y) = [Some(g * x.ellipk_derivative(n + 1))],
    domain = [PARAMETER],
    orders = [1, 2, 4];
}
