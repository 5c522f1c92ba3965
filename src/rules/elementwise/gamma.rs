//! The gamma function and its relatives.
//!
//! A derivative of any order is another function of the family, so that rules close.

use std::f64::consts::PI;

use super::elementwise;
use crate::special::gamma;

/// Away from the poles.
const POSITIVE: &[(f64, f64)] = &[(0.6, 3.0), (-0.7, -0.3)];
/// Arguments of the beta function.
const LARGER: &[(f64, f64)] = &[(0.6, 4.0)];
/// Where recurrences end, and reflection begins.
const EDGES: [f64; 9] = [
    -0.3,
    -19.3,
    -20.6,
    -1e5 - 0.25,
    0.3,
    9.99,
    10.0,
    30.5,
    171.7,
];

elementwise! { $
    /// The gamma function.
    Gamma = gamma, "Γ(x) = ∫_0^∞ t^(x-1) exp(-t) dt", "DLMF 5.2.1",
    (x) -> gamma::gamma,
    vjp(g, y) = [Some(g * (y * x.digamma()))],
    domain = [POSITIVE],
    edges = EDGES,
    scipy = ["gamma"];

    /// Reciprocal of the gamma function, 0 at its poles.
    RGamma = rgamma, "1 / Γ(x)", "DLMF 5.2.1, 5.5.3",
    (x) -> gamma::rgamma,
    vjp(g, y) = [Some({
        // Reflected where there are poles: Γ(1 - x) sin(πx) / π, differentiated.
        let reflected = x.less(x.constant(0.5));
        let low = reflected.select(x, x.constant(0.0));
        let high = reflected.select(x.constant(1.0), x);
        let m = 1.0 - low;
        let by_reflection = m.gamma() * (low.cospi() - m.digamma() * low.sinpi() * (1.0 / PI));
        g * reflected.select(by_reflection, -(high.rgamma() * high.digamma()))
    })],
    domain = [POSITIVE],
    edges = EDGES,
    scipy = ["rgamma"];

    /// Logarithm of the gamma function's absolute value.
    GammaLn = gammaln, "ln |Γ(x)|", "DLMF 5.2.1",
    (x) -> gamma::gammaln,
    vjp(g, y) = [Some(g * x.digamma())],
    domain = [POSITIVE],
    edges = EDGES,
    scipy = ["gammaln"];

    /// Logarithm of the gamma function; NaN below zero.
    LogGamma = loggamma, "ln Γ(x)", "DLMF 5.2.1",
    (x) -> gamma::loggamma,
    vjp(g, y) = [Some(g * x.digamma())],
    domain = [LARGER],
    edges = EDGES,
    scipy = ["loggamma"];

    /// Logarithmic derivative of the gamma function.
    Digamma = digamma, "ψ(x) = Γ'(x) / Γ(x)", "DLMF 5.2.2, 5.5.2, 5.5.4, 5.11.2",
    (x) -> gamma::digamma,
    vjp(g, y) = [Some(g * x.trigamma())],
    domain = [POSITIVE],
    edges = EDGES,
    scipy = ["digamma", "psi"];

    /// Derivative of digamma.
    Trigamma = trigamma, "ψ'(x)", "DLMF 5.15.1",
    (x) -> gamma::trigamma,
    vjp(g, y) = [Some(g * x.polygamma(2))],
    domain = [POSITIVE];

    /// Derivative of digamma of order n from 0.
    Polygamma = polygamma, "ψ^(n)(x)", "DLMF 5.15.1, 25.11.12, 25.11.7",
    (n; x) -> gamma::polygamma,
    vjp(g, y) = [Some(g * x.polygamma(n + 1))],
    domain = [&[(1.5, 4.0)]],
    orders = [0, 1, 2, 3],
    edges = EDGES,
    scipy = ["polygamma"];

    /// The beta function.
    Beta = beta, "Γ(x) Γ(y) / Γ(x + y)", "DLMF 5.12.1",
    (x, y) -> gamma::beta,
    vjp(g, out) = [Some(g * (out * x.polygamma_difference(0, y))), Some(g * (out * y.polygamma_difference(0, x)))],
    domain = [LARGER, LARGER],
    edges = EDGES,
    scipy = ["beta"];

    /// Logarithm of the beta function's absolute value.
    BetaLn = betaln, "ln |B(x, y)|", "DLMF 5.12.1; ACM TOMS algorithm 708",
    (x, y) -> gamma::betaln,
    vjp(g, out) = [Some(g * x.polygamma_difference(0, y)), Some(g * y.polygamma_difference(0, x))],
    domain = [LARGER, LARGER],
    edges = EDGES,
    scipy = ["betaln"];

    /// What polygamma of order n loses from x to x + y, without cancellation.
    PolygammaDifference = polygamma_difference, "ψ^(n)(x) - ψ^(n)(x + y)", "DLMF 25.11.12, 25.11.7",
    (n; x, y) -> gamma::polygamma_difference,
    vjp(g, out) = [Some(g * x.polygamma_difference(n + 1, y)), Some(-(g * (x + y).polygamma(n + 1)))],
    domain = [LARGER, LARGER],
    internal = "the gradients of beta and betaln, without cancellation",
    orders = [0, 1, 3];
}
