//! The gamma function and its relatives.
//!
//! A derivative of any order is another function of the family, so that rules close.

use super::elementwise;
use crate::special::{beta, gamma, partial};

/// Away from the poles.
const POSITIVE: &[(f64, f64)] = &[(0.6, 3.0), (-0.7, -0.3)];
/// Arguments of the beta function.
const LARGER: &[(f64, f64)] = &[(0.6, 4.0)];
/// Where recurrences end, and reflection begins.
const EDGES: [f64; 13] = [
    0.0,
    -1.0,
    -2.0,
    1.0,
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
    vjp(g, y) = [Some(g * x.gamma_derivative(1))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["gamma"];

    /// Reciprocal of the gamma function, 0 at its poles.
    RGamma = rgamma, "1 / Γ(x)", "DLMF 5.2.1, 5.5.3",
    (x) -> gamma::rgamma,
    vjp(g, y) = [Some(g * x.rgamma_derivative(1))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["rgamma"];

    /// The sign of the gamma function: at 0 that of the zero, NaN at its other poles. Its gradient is zero.
    GammaSign = gammasgn, "sign(Γ(x))", "DLMF 5.2.1",
    (x) -> gamma::gammasgn,
    vjp(g, y) = [None],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["gammasgn"];

    /// A derivative of the gamma function, of order n from 0.
    GammaDerivative = gamma_derivative, "d^n/dx^n Γ(x)", "DLMF 5.2.1, 5.2.2",
    (n; x) -> gamma::gamma_derivative,
    vjp(g, y) = [Some(g * x.gamma_derivative(n + 1))],
    domain = [POSITIVE],
    special = [EDGES],
    internal = "the gradients of gamma, also where that overflows",
    orders = [0, 1, 3];

    /// A derivative of the reciprocal of the gamma function, of order n from 0.
    RGammaDerivative = rgamma_derivative, "d^n/dx^n 1 / Γ(x)", "DLMF 5.2.1, 5.5.3",
    (n; x) -> gamma::rgamma_derivative,
    vjp(g, y) = [Some(g * x.rgamma_derivative(n + 1))],
    domain = [POSITIVE],
    special = [EDGES],
    internal = "the gradients of rgamma, also at the poles of gamma",
    orders = [0, 1, 3];

    /// Logarithm of the gamma function's absolute value.
    GammaLn = gammaln, "ln |Γ(x)|", "DLMF 5.2.1",
    (x) -> gamma::gammaln,
    vjp(g, y) = [Some(g * x.digamma())],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["gammaln"];

    /// Logarithm of the gamma function; NaN below zero.
    LogGamma = loggamma, "ln Γ(x)", "DLMF 5.2.1",
    (x) -> gamma::loggamma,
    vjp(g, y) = [Some(g * x.digamma())],
    domain = [LARGER],
    special = [EDGES],
    scipy = ["loggamma"];

    /// Logarithmic derivative of the gamma function.
    Digamma = digamma, "ψ(x) = Γ'(x) / Γ(x)", "DLMF 5.2.2, 5.5.2, 5.5.4, 5.11.2",
    (x) -> gamma::digamma,
    vjp(g, y) = [Some(g * x.trigamma())],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["digamma", "psi"];

    /// Derivative of digamma.
    Trigamma = trigamma, "ψ'(x)", "DLMF 5.15.1",
    (x) -> gamma::trigamma,
    vjp(g, y) = [Some(g * x.polygamma(2))],
    domain = [POSITIVE],
    special = [EDGES];

    /// Derivative of digamma of order n from 0.
    Polygamma = polygamma, "ψ^(n)(x)", "DLMF 5.15.1, 25.11.12, 25.11.7",
    (n; x) -> gamma::polygamma,
    vjp(g, y) = [Some(g * x.polygamma(n + 1))],
    domain = [&[(1.5, 4.0)]],
    special = [EDGES],
    orders = [0, 1, 2, 3],
    scipy = ["polygamma"];

    /// The beta function.
    Beta = beta, "Γ(x) Γ(y) / Γ(x + y)", "DLMF 5.12.1",
    (x, y) -> beta::beta,
    vjp(g, out) = [Some(g * x.beta_derivative(1, y)), Some(g * x.beta_derivative(2, y))],
    domain = [LARGER, LARGER],
    special = [EDGES, EDGES],
    scipy = ["beta"];

    /// Partial derivative number n of the beta function.
    BetaDerivative = beta_derivative, "∂_n Γ(x) Γ(y) / Γ(x + y)", "DLMF 5.12.1, 5.7.3",
    (n; x, y) -> beta::beta_derivative,
    vjp(g, out) = [
        Some(g * x.beta_derivative(partial::further(n, 0), y)),
        Some(g * x.beta_derivative(partial::further(n, 1), y))
    ],
    domain = [LARGER, LARGER],
    special = [[0.1, 1e-5, 1.0], [0.1, 1e-5, 1.0]],
    internal = "the gradients of beta, also where both arguments are small",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// Logarithm of the beta function's absolute value.
    BetaLn = betaln, "ln |B(x, y)|", "DLMF 5.12.1; ACM TOMS algorithm 708",
    (x, y) -> beta::betaln,
    vjp(g, out) = [Some(g * x.betaln_derivative(1, y)), Some(g * x.betaln_derivative(2, y))],
    domain = [LARGER, LARGER],
    special = [EDGES, EDGES],
    scipy = ["betaln"];

    /// Partial derivative number n of the logarithm of the beta function's absolute value.
    BetaLnDerivative = betaln_derivative, "∂_n ln |B(x, y)|", "DLMF 25.11.12, 25.11.7, 5.15.6",
    (n; x, y) -> beta::betaln_derivative,
    vjp(g, out) = [
        Some(g * x.betaln_derivative(partial::further(n, 0), y)),
        Some(g * x.betaln_derivative(partial::further(n, 1), y))
    ],
    domain = [LARGER, LARGER],
    special = [EDGES, EDGES],
    internal = "the gradients of betaln, without cancellation",
    orders = [0, 1, 2, 3, 4, 5, 7];
}
