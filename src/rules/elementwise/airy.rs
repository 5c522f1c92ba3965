//! Airy functions, each with its derivatives: `y'' = x y` gives those of any order.

use super::elementwise;
use crate::special::airy;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-4.0, 3.0)];

/// Where methods change, and results vanish or overflow.
const EDGES: [f64; 11] = [-9.6, -9.4, -4.8, -4.7, 0.4, 0.6, 3.4, 9.4, 9.6, 50.0, 103.0];

elementwise! { $
    /// A derivative of the Airy function Ai, of order n from 0.
    AiryAi = airy_ai, "d^n/dx^n Ai(x)", "DLMF 9.2.1, 9.7(ii)",
    (n; x) -> airy::airy_ai,
    vjp(g, y) = [Some(g * x.airy_ai(n + 1))],
    domain = [ALL],
    orders = [0, 1, 2, 5],
    edges = EDGES;

    /// A derivative of the Airy function Bi, of order n from 0.
    AiryBi = airy_bi, "d^n/dx^n Bi(x)", "DLMF 9.2.1, 9.7(ii)",
    (n; x) -> airy::airy_bi,
    vjp(g, y) = [Some(g * x.airy_bi(n + 1))],
    domain = [ALL],
    orders = [0, 1, 2, 5],
    edges = EDGES;
}
