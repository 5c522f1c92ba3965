//! Airy functions, each with its derivatives: `y'' = x y` gives those of any order.
//!
//! The scaled functions solve none so simple. Of them derivatives are operators, whose values far
//! out do not cancel as the parts of the product's derivative would.

use super::elementwise;
use crate::special::airy;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-4.0, 3.0)];

/// Where the scaled functions are smooth.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];
const BOTH: &[(f64, f64)] = &[(0.3, 3.0), (-4.0, -0.2)];

/// Where methods change, and results vanish or overflow.
const EDGES: [f64; 12] = [
    0.0, -9.6, -9.4, -4.8, -4.7, 0.4, 0.6, 3.4, 9.4, 9.6, 50.0, 103.0,
];

/// Up to here the parts of a scaled slope's derivative do not cancel.
const NEAR: f64 = 1.0 / 1024.0;

elementwise! { $
    /// A derivative of the Airy function Ai, of order n from 0.
    AiryAi = airy_ai, "d^n/dx^n Ai(x)", "DLMF 9.2.1, 9.7(ii)",
    (n; x) -> airy::airy_ai,
    vjp(g, y) = [Some(g * x.airy_ai(n + 1))],
    domain = [ALL],
    special = [EDGES],
    orders = [0, 1, 2, 5];

    /// A derivative of the Airy function Bi, of order n from 0.
    AiryBi = airy_bi, "d^n/dx^n Bi(x)", "DLMF 9.2.1, 9.7(ii)",
    (n; x) -> airy::airy_bi,
    vjp(g, y) = [Some(g * x.airy_bi(n + 1))],
    domain = [ALL],
    special = [EDGES],
    orders = [0, 1, 2, 5];

    /// A derivative of the Airy function Ai scaled, of order n from 0; NaN below zero.
    AiryAie = airy_aie, "d^n/dx^n exp(2/3 x^(3/2)) Ai(x)", "DLMF 9.2.1, 9.7.5",
    (n; x) -> airy::airy_aie,
    vjp(g, y) = [Some(g * x.airy_aie(n + 1))],
    domain = [POSITIVE],
    special = [EDGES],
    orders = [0, 1, 2, 3];

    /// A derivative of the Airy function Bi scaled, of order n from 0; of Bi itself below zero.
    AiryBie = airy_bie, "d^n/dx^n exp(-Re(2/3 x^(3/2))) Bi(x)", "DLMF 9.2.1, 9.7.7",
    (n; x) -> airy::airy_bie,
    vjp(g, y) = [Some(g * x.airy_bie(n + 1))],
    domain = [BOTH],
    special = [EDGES],
    orders = [0, 1, 2, 3];

    /// The derivative of Ai, scaled; NaN below zero.
    AiryAieSlope = airy_aie_slope, "exp(2/3 x^(3/2)) Ai'(x)", "DLMF 9.2.1, 9.7.6",
    (x) -> airy::airy_aie_slope,
    vjp(g, y) = [Some({
        // √x times the derivative of the scaled function, in parts where that one's derivative is infinite.
        let near = x.less(x.constant(NEAR));
        // Of the two zeros the positive one, whose root is positive.
        let positive = x + x.constant(0.0);
        let (low, high) = (near.select(positive, x.constant(NEAR)), near.select(x.constant(1.0), x));
        let parts = low * low.airy_aie(0) + low.sqrt() * low.airy_aie_slope();
        g * near.select(parts, high.sqrt() * high.airy_aie(1))
    })],
    domain = [POSITIVE],
    special = [EDGES];

    /// The derivative of Bi, scaled; of Bi itself below zero.
    AiryBieSlope = airy_bie_slope, "exp(-Re(2/3 x^(3/2))) Bi'(x)", "DLMF 9.2.1, 9.7.8",
    (x) -> airy::airy_bie_slope,
    vjp(g, y) = [Some({
        let (below, near) = (x.less(x.constant(0.0)), x.less(x.constant(NEAR)));
        let (low, high) = (below.select(x, x.constant(0.0)), near.select(x.constant(1.0), x));
        let positive = x + x.constant(0.0);
        let middle = below.select(x.constant(NEAR), near.select(positive, x.constant(NEAR)));
        let parts = middle * middle.airy_bie(0) - middle.sqrt() * middle.airy_bie_slope();
        let above = near.select(parts, -(high.sqrt() * high.airy_bie(1)));
        g * below.select(low * low.airy_bi(0), above)
    })],
    domain = [BOTH],
    special = [EDGES];
}
