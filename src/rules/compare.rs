//! Comparisons and choices.
//!
//! Comparisons give masks of zeros and ones in the operands' type; their gradient is zero.

use super::elementwise::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Two ranges that do not meet, so that an ordering is never in doubt.
const LOW_HIGH: &[(f64, f64)] = &[(-2.0, -1.5), (0.5, 1.0)];
const HIGH_LOW: &[(f64, f64)] = &[(1.5, 2.0), (-1.0, -0.5)];
/// Masks.
const MASK: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0)];

elementwise! { $
    /// 1 where x > y, else 0.
    Greater = greater, "[x > y]", "definition",
    (x, y) => if x > y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["greater"];

    /// 1 where x >= y, else 0.
    GreaterEqual = greater_equal, "[x >= y]", "definition",
    (x, y) => if x >= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["greater_equal"];

    /// 1 where x < y, else 0.
    Less = less, "[x < y]", "definition",
    (x, y) => if x < y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["less"];

    /// 1 where x <= y, else 0.
    LessEqual = less_equal, "[x <= y]", "definition",
    (x, y) => if x <= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["less_equal"];

    /// 1 where x = y, else 0.
    Equal = equal, "[x = y]", "definition",
    (x, y) => if x == y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["equal"];

    /// x where the mask is not 0, else y.
    Where = select as "where", "x if mask else y", "definition",
    (mask, x, y) => if mask != T::zero() { x } else { y },
    vjp(g, out) = [
        None,
        Some(mask.select(g, g.constant(0.0))),
        Some(mask.select(g.constant(0.0), g))
    ],
    domain = [MASK, ALL, ALL];
}
