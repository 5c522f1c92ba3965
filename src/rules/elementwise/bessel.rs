//! Bessel functions of integer order.
//!
//! Derivatives are those of DLMF 10.6.1, 10.29.1: half the difference or sum of the neighbours, which
//! are halved first where the sum may overflow. Those of the scaled functions, which would cancel, are operators,
//! numbered as in [`partial`] by the function's order and the derivative's.

use super::super::Ex;
use super::elementwise;
use crate::special::{bessel, partial, scaled_bessel};

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-3.0, 3.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(1.0, 4.0)];
/// Where methods change.
const EDGES: [f64; 13] = [
    0.0, 1e-300, 1e-9, 1.9, 2.1, 7.5, 19.9, 20.1, -30.0, 51.0, 300.0, 650.0, 1e3,
];

/// The derivative of Y_n, half the difference of its neighbours Y_(n-1) and Y_(n+1). Next to 0, where that of the
/// larger order is infinite, so is the derivative. The other neighbour, which may be infinite too, would make NaN of
/// it, and counts as 0 there; it is computed at 1, so that its own derivatives make no NaN either.
fn yn_rule(n: i32, x: Ex<'_>) -> Ex<'_> {
    let (smaller, larger) = if n > 0 {
        (n - 1, n + 1)
    } else {
        (n + 1, n - 1)
    };
    let larger = x.yn(larger);
    let is_infinite = larger.isinf();
    let elsewhere = is_infinite.select(x.constant(1.0), x).yn(smaller);
    let difference = is_infinite.select(x.constant(0.0), elsewhere) - larger;
    difference * if n > 0 { 0.5 } else { -0.5 }
}

/// The derivative of K_n, whose value is y (DLMF 10.29.2): neither term cancels, and both are finite where the
/// sum is.
fn kn_rule<'t>(n: i32, x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    match n.saturating_abs() {
        0 => -x.k1(),
        n => -(x.kn(n - 1) + y / x * f64::from(n)),
    }
}

/// The derivative of ive of order n; of orders too large for a number, what its neighbours give.
fn ive_rule(n: i32, x: Ex<'_>) -> Ex<'_> {
    match partial::number(n.unsigned_abs(), 1) {
        Some(number) => x.ive_derivative(number),
        None => (x.ive(n - 1) + x.ive(n + 1)) * 0.5 - x.sign() * x.ive(n),
    }
}

/// The derivative of kve of order n, in the same way.
fn kve_rule(n: i32, x: Ex<'_>) -> Ex<'_> {
    match partial::number(n.unsigned_abs(), 1) {
        Some(number) => x.kve_derivative(number),
        None => x.kve(n) - (x.kve(n - 1) + x.kve(n + 1)) * 0.5,
    }
}

elementwise! { $
    /// Bessel function of the first kind of order 0.
    J0 = j0, "J_0(x)", "DLMF 10.2.2",
    (x) -> libm::j0,
    vjp(g, y) = [Some(-(g * x.j1()))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["j0"];

    /// Bessel function of the first kind of order 1.
    J1 = j1, "J_1(x)", "DLMF 10.2.2",
    (x) -> libm::j1,
    vjp(g, y) = [Some(g * ((x.j0() - x.jn(2)) * 0.5))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["j1"];

    /// Bessel function of the first kind of order n.
    Jn = jn, "J_n(x)", "DLMF 10.2.2",
    (n; x) -> bessel::jn,
    vjp(g, y) = [Some(g * ((x.jn(n - 1) - x.jn(n + 1)) * 0.5))],
    domain = [ALL],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["jn", "jv", "jve"];

    /// Bessel function of the second kind of order 0.
    Y0 = y0, "Y_0(x)", "DLMF 10.2.3",
    (x) -> libm::y0,
    vjp(g, y) = [Some(-(g * x.y1()))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["y0"];

    /// Bessel function of the second kind of order 1.
    Y1 = y1, "Y_1(x)", "DLMF 10.2.3",
    (x) -> libm::y1,
    vjp(g, y) = [Some(g * yn_rule(1, x))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["y1"];

    /// Bessel function of the second kind of order n.
    Yn = yn, "Y_n(x)", "DLMF 10.2.3",
    (n; x) -> bessel::yn,
    vjp(g, y) = [Some(g * yn_rule(n, x))],
    domain = [POSITIVE],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["yn", "yv", "yve"];

    /// Modified Bessel function of the first kind of order 0.
    I0 = i0, "I_0(x)", "DLMF 10.25.2, 10.40.1",
    (x) -> |x| bessel::iv(0, x),
    vjp(g, y) = [Some(g * x.i1())],
    domain = [ALL],
    special = [EDGES],
    scipy = ["i0"];

    /// Modified Bessel function of the first kind of order 1.
    I1 = i1, "I_1(x)", "DLMF 10.25.2, 10.40.1",
    (x) -> |x| bessel::iv(1, x),
    vjp(g, y) = [Some(g * (x.i0() * 0.5 + x.iv(2) * 0.5))],
    domain = [ALL],
    special = [EDGES],
    scipy = ["i1"];

    /// Modified Bessel function of the first kind of order n.
    Iv = iv, "I_n(x)", "DLMF 10.25.2, 10.40.1, 10.29.1",
    (n; x) -> bessel::iv,
    vjp(g, y) = [Some(g * (x.iv(n - 1) * 0.5 + x.iv(n + 1) * 0.5))],
    domain = [ALL],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["iv"];

    /// The same of order 0, scaled.
    I0e = i0e, "exp(-|x|) I_0(x)", "DLMF 10.25.2, 10.40.1",
    (x) -> |x| bessel::ive(0, x),
    vjp(g, y) = [Some(g * ive_rule(0, x))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["i0e"];

    /// The same of order 1, scaled.
    I1e = i1e, "exp(-|x|) I_1(x)", "DLMF 10.25.2, 10.40.1",
    (x) -> |x| bessel::ive(1, x),
    vjp(g, y) = [Some(g * ive_rule(1, x))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["i1e"];

    /// The same of order n, scaled.
    Ive = ive, "exp(-|x|) I_n(x)", "DLMF 10.25.2, 10.40.1, 10.29.1",
    (n; x) -> bessel::ive,
    vjp(g, y) = [Some(g * ive_rule(n, x))],
    domain = [POSITIVE],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["ive"];

    /// Modified Bessel function of the second kind of order 0.
    K0 = k0, "K_0(x)", "DLMF 10.31.2, 10.74(v)",
    (x) -> |x| bessel::kn(0, x),
    vjp(g, y) = [Some(-(g * x.k1()))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["k0"];

    /// Modified Bessel function of the second kind of order 1.
    K1 = k1, "K_1(x)", "DLMF 10.31.1, 10.74(v)",
    (x) -> |x| bessel::kn(1, x),
    vjp(g, y) = [Some(g * kn_rule(1, x, y))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["k1"];

    /// Modified Bessel function of the second kind of order n.
    Kn = kn, "K_n(x)", "DLMF 10.31.1, 10.74(v), 10.29.1",
    (n; x) -> bessel::kn,
    vjp(g, y) = [Some(g * kn_rule(n, x, y))],
    domain = [POSITIVE],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["kn", "kv"];

    /// The same of order 0, scaled.
    K0e = k0e, "exp(x) K_0(x)", "DLMF 10.31.2, 10.74(v)",
    (x) -> |x| bessel::kve(0, x),
    vjp(g, y) = [Some(g * kve_rule(0, x))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["k0e"];

    /// The same of order 1, scaled.
    K1e = k1e, "exp(x) K_1(x)", "DLMF 10.31.1, 10.74(v)",
    (x) -> |x| bessel::kve(1, x),
    vjp(g, y) = [Some(g * kve_rule(1, x))],
    domain = [POSITIVE],
    special = [EDGES],
    scipy = ["k1e"];

    /// The same of order n, scaled.
    Kve = kve, "exp(x) K_n(x)", "DLMF 10.31.1, 10.74(v), 10.29.1",
    (n; x) -> bessel::kve,
    vjp(g, y) = [Some(g * kve_rule(n, x))],
    domain = [POSITIVE],
    special = [EDGES],
    orders = [0, 1, 3, -2],
    scipy = ["kve"];

    /// A derivative of ive; number n says the function's order and the derivative's.
    IveDerivative = ive_derivative, "∂_n exp(-|x|) I(x)", "DLMF 10.32.3",
    (n; x) -> scaled_bessel::ive_derivative,
    vjp(g, y) = [Some(g * x.ive_derivative(partial::further(n, 1)))],
    domain = [POSITIVE],
    special = [EDGES],
    internal = "the gradients of ive, without cancellation",
    orders = [0, 1, 2, 4, 8, 11];

    /// A derivative of kve; number n says the function's order and the derivative's.
    KveDerivative = kve_derivative, "∂_n exp(x) K(x)", "DLMF 10.32.9",
    (n; x) -> scaled_bessel::kve_derivative,
    vjp(g, y) = [Some(g * x.kve_derivative(partial::further(n, 1)))],
    domain = [POSITIVE],
    special = [EDGES],
    internal = "the gradients of kve, without cancellation",
    orders = [0, 1, 2, 4, 8, 11];
}
