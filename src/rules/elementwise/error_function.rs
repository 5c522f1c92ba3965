//! The error function and its relatives.
//!
//! Where a derivative would cancel, or be 0 times infinity far out, it is an operator of its own,
//! and so are its derivatives.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use super::elementwise;
use crate::rules::Ex;
use crate::special::error_function;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Where inverses are smooth.
const UNIT: &[(f64, f64)] = &[(-0.7, 0.7)];
/// Where methods change, and results vanish or overflow.
const EDGES: [f64; 13] = [
    0.0, -26.0, -6.6, -6.4, -3.0, 0.5, 4.0, 6.49, 6.51, 12.0, 24.9, 25.1, 27.5,
];
/// Probabilities, and other numbers that inverses take.
const PROBABILITIES: [f64; 14] = [
    0.0,
    1.0,
    2.0,
    1e-310,
    1e-100,
    1e-12,
    0.0749,
    0.0751,
    0.3,
    0.5,
    0.9,
    1.0 - 1e-14,
    1.5,
    1.99,
];

/// The derivative of erf.
fn slope(x: Ex<'_>) -> Ex<'_> {
    x.bell() * FRAC_2_SQRT_PI
}

/// The density of the normal distribution.
fn normal(x: Ex<'_>) -> Ex<'_> {
    (x * FRAC_1_SQRT_2).bell() * (1.0 / (2.0 * PI).sqrt())
}

elementwise! { $
    /// The error function.
    Erf = erf, "2/√π ∫_0^x exp(-t^2) dt", "DLMF 7.2.1",
    (x) -> libm::erf,
    vjp(g, y) = [Some(g * slope(x))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["erf"];

    /// The complementary error function, accurate where it vanishes.
    Erfc = erfc, "1 - erf(x)", "DLMF 7.2.2",
    (x) -> libm::erfc,
    vjp(g, y) = [Some(-(g * slope(x)))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["erfc"];

    /// The scaled complementary error function.
    Erfcx = erfcx, "exp(x^2) erfc(x)", "DLMF 7.2.3, 7.12.1",
    (x) -> error_function::erfcx,
    vjp(g, y) = [Some(g * x.erfcx_derivative(1))],
    domain = [&[(-1.0, 2.0)]],
    special = [EDGES],
    scipy = ["erfcx"];

    /// The imaginary error function.
    Erfi = erfi, "2/√π ∫_0^x exp(t^2) dt", "DLMF 7.6.1, 7.12.1",
    (x) -> error_function::erfi,
    vjp(g, y) = [Some(g * (x.square().exp() * FRAC_2_SQRT_PI))],
    domain = [&[(-1.0, 1.0)]],
    special = [EDGES],
    scipy = ["erfi"];

    /// Dawson's integral.
    Dawsn = dawsn, "exp(-x^2) ∫_0^x exp(t^2) dt", "DLMF 7.2.5, 7.12.1",
    (x) -> error_function::dawsn,
    vjp(g, y) = [Some(g * x.dawsn_derivative(1))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["dawsn"];

    /// Inverse of the error function.
    Erfinv = erfinv, "erf^-1(x)", "DLMF 7.17.1; algorithm AS 241",
    (x) -> error_function::erfinv,
    vjp(g, y) = [Some(g * (y.square().exp() / FRAC_2_SQRT_PI))],
    domain = [UNIT],
    special = [PROBABILITIES],
    scipy = ["erfinv"];

    /// Inverse of the complementary error function.
    Erfcinv = erfcinv, "erfc^-1(x)", "DLMF 7.17.1; algorithm AS 241",
    (x) -> error_function::erfcinv,
    vjp(g, y) = [Some(-(g * (y.square().exp() / FRAC_2_SQRT_PI)))],
    domain = [&[(0.3, 1.7)]],
    special = [PROBABILITIES],
    scipy = ["erfcinv"];

    /// The normal distribution.
    Ndtr = ndtr, "erfc(-x / √2) / 2", "DLMF 7.20.1",
    (x) -> error_function::ndtr,
    vjp(g, y) = [Some(g * normal(x))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["ndtr"];

    /// Logarithm of the normal distribution, also where that vanishes.
    LogNdtr = log_ndtr, "ln(erfc(-x / √2) / 2)", "DLMF 7.20.1",
    (x) -> error_function::log_ndtr,
    vjp(g, y) = [Some(g * x.log_ndtr_derivative(1))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["log_ndtr"];

    /// A derivative of log_ndtr, of order n from 0, without cancellation.
    LogNdtrDerivative = log_ndtr_derivative, "d^n/dx^n ln(erfc(-x / √2) / 2)", "DLMF 7.20.1, 7.18.4",
    (n; x) -> error_function::log_ndtr_derivative,
    vjp(g, y) = [Some(g * x.log_ndtr_derivative(n + 1))],
    domain = [ALL],
    special = [EDGES],
    internal = "the gradients of log_ndtr, without cancellation",
    orders = [0, 1, 2, 3];

    /// Inverse of the normal distribution.
    Ndtri = ndtri, "√2 erf^-1(2 x - 1)", "DLMF 7.20.1; algorithm AS 241",
    (x) -> error_function::ndtri,
    vjp(g, y) = [Some(g * ((y.square() * 0.5).exp() * (2.0 * PI).sqrt()))],
    domain = [&[(0.2, 0.8)]],
    special = [PROBABILITIES],
    scipy = ["ndtri"];

    /// The bell curve.
    Bell = bell, "exp(-x^2)", "definition",
    (x) => (-(x * x)).v_exp(),
    vjp(g, y) = [Some(g * x.bell_derivative(1))],
    domain = [ALL],
    special = [EDGES],
    internal = "the gradients of erf and its relatives";

    /// A derivative of exp(-x^2), of order n from 0, also where that vanishes.
    BellDerivative = bell_derivative, "d^n/dx^n exp(-x^2)", "DLMF 18.5.5",
    (n; x) -> error_function::bell_derivative,
    vjp(g, y) = [Some(g * x.bell_derivative(n + 1))],
    domain = [ALL],
    special = [EDGES],
    internal = "the gradients of bell, also where that vanishes",
    orders = [0, 1, 4];

    /// A derivative of erfcx, of order n from 0, without cancellation.
    ErfcxDerivative = erfcx_derivative, "d^n/dx^n exp(x^2) erfc(x)", "DLMF 7.18.4, 7.18.7",
    (n; x) -> error_function::erfcx_derivative,
    vjp(g, y) = [Some(g * x.erfcx_derivative(n + 1))],
    domain = [&[(-1.0, 5.0)]],
    special = [EDGES],
    internal = "the gradients of erfcx, without cancellation",
    orders = [1, 2, 3];

    /// A derivative of dawsn, of order n from 0, without cancellation.
    DawsnDerivative = dawsn_derivative, "d^n/dx^n exp(-x^2) ∫_0^x exp(t^2) dt", "DLMF 7.12.1; Rybicki 1989",
    (n; x) -> error_function::dawsn_derivative,
    vjp(g, y) = [Some(g * x.dawsn_derivative(n + 1))],
    domain = [&[(-4.0, 9.0)]],
    special = [EDGES],
    internal = "the gradients of dawsn, without cancellation",
    orders = [1, 2, 3];
}
