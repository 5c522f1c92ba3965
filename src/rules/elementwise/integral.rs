//! Exponential, sine and cosine integrals, and complete elliptic integrals of the parameter m = k².

use std::f64::consts::PI;

use super::elementwise;
use crate::special::integral;

/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.6, 3.0)];
/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.4), (0.6, 2.0)];
/// Parameters.
const PARAMETER: &[(f64, f64)] = &[(-3.0, -1.2), (-0.9, 0.7)];
/// Where methods change.
const EDGES: [f64; 10] = [
    0.0, -50.0, -0.9, 1e-5, 0.99, 1.01, 40.03, 50.01, 712.0, 740.0,
];
const PARAMETERS: [f64; 11] = [
    0.0,
    1.0,
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
    special = [EDGES],
    scipy = ["exp1"];

    /// Exponential integral E_n; NaN below zero.
    Expn = expn, "∫_1^∞ exp(-x t) / t^n dt", "DLMF 8.19.3, 8.19.8, 8.19.17",
    (n; x) -> integral::expn,
    vjp(g, y) = [Some(-(g * x.expn(n - 1)))],
    domain = [POSITIVE],
    special = [[-50.0, -0.9, 0.0, 1e-5, 0.99, 1.0, 1.01, 39.0, 700.0]],
    orders = [0, 1, 3, -2],
    scipy = ["expn"];

    /// Sine integral.
    SinInt = sinint, "∫_0^x sin(t) / t dt", "DLMF 6.2.9, 6.6.5, 6.9.1",
    (x) -> integral::sinint,
    vjp(g, y) = [Some({
        // Near 0 as sinc, whose derivatives are computed well there; farther out sinc would round x / π.
        let near = x.abs().less(x.constant(1.0));
        let (small, large) = (near.select(x, x.constant(0.0)), near.select(x.constant(1.0), x));
        g * near.select((small * (1.0 / PI)).sinc(), large.sin() / large)
    })],
    domain = [NONZERO],
    special = [EDGES];

    /// Cosine integral, of |x|.
    CosInt = cosint, "-∫_|x|^∞ cos(t) / t dt", "DLMF 6.2.11, 6.6.6, 6.9.1",
    (x) -> integral::cosint,
    vjp(g, y) = [Some(g * (x.cos() / x))],
    domain = [NONZERO],
    special = [EDGES];

    /// Exponential integral Ei.
    Expi = expi, "-∫_-x^∞ exp(-t) / t dt", "DLMF 6.2.5, 6.6.1, 6.12.2",
    (x) -> integral::expi,
    vjp(g, y) = [Some(g * x.exp_over())],
    domain = [NONZERO],
    special = [EDGES],
    scipy = ["expi"];

    /// Exponential divided by its argument.
    ExpOver = exp_over, "e^x / x", "definition",
    (x) -> integral::exp_over,
    // One factor times y: a sum of two infinite terms of different sign would be NaN.
    vjp(g, y) = [Some(g * ((1.0 - x.reciprocal()) * y))],
    domain = [NONZERO],
    special = [EDGES],
    internal = "the gradients of expi, also where e^x overflows";

    /// Complete elliptic integral of the first kind.
    EllipK = ellipk, "∫_0^(π/2) (1 - x sin(t)^2)^(-1/2) dt", "DLMF 19.2.8, 19.8.5",
    (x) -> integral::ellipk,
    vjp(g, y) = [Some(g * x.ellipk_derivative(1))],
    domain = [PARAMETER],
    special = [PARAMETERS],
    scipy = ["ellipk"];

    /// Complete elliptic integral of the second kind.
    EllipE = ellipe, "∫_0^(π/2) (1 - x sin(t)^2)^(1/2) dt", "DLMF 19.2.8, 19.8.6, 19.4.2",
    (x) -> integral::ellipe,
    vjp(g, y) = [Some({
        // (E - K) / (2x), which cancels near 0; there by K', which far out vanishes before E'.
        let far = x.less(x.constant(-1.0));
        let (low, high) = (far.select(x, x.constant(-1.0)), far.select(x.constant(0.0), x));
        let by_both = (low.ellipe() - low.ellipk()) * 0.5 / low;
        let by_slope = (1.0 - high) * high.ellipk_derivative(1) - high.ellipk() * 0.5;
        g * far.select(by_both, by_slope)
    })],
    domain = [PARAMETER],
    special = [PARAMETERS],
    scipy = ["ellipe"];

    /// A derivative of ellipk, of order n from 0.
    EllipKDerivative = ellipk_derivative, "d^n/dx^n K(x)", "DLMF 19.5.1, 19.4.8",
    (n; x) -> integral::ellipk_derivative,
    vjp(g, y) = [Some(g * x.ellipk_derivative(n + 1))],
    domain = [PARAMETER],
    special = [PARAMETERS],
    internal = "the gradients of ellipk and ellipe, smooth at 0",
    orders = [1, 2, 4];
}
