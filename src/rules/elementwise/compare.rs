//! Comparisons and choices.
//!
//! Comparisons give masks of zeros and ones in the operands' type; their gradient is zero.

use super::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Two ranges that do not meet, so that an ordering is never in doubt.
const LOW_HIGH: &[(f64, f64)] = &[(-2.0, -1.5), (0.5, 1.0)];
const HIGH_LOW: &[(f64, f64)] = &[(1.5, 2.0), (-1.0, -0.5)];
/// Masks.
const MASK: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0)];

/// One element of a boolean mask, as a number.
fn mask(x: bool) -> f64 {
    f64::from(u8::from(x))
}

elementwise! { $
    /// 1 where x > y, else 0.
    Greater = greater, "[x > y]", "definition",
    (x, y) => if x > y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["greater"];

    /// 1 where x >= y, else 0.
    GreaterEqual = greater_equal, "[x >= y]", "definition",
    (x, y) => if x >= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["greater_equal"];

    /// 1 where x < y, else 0.
    Less = less, "[x < y]", "definition",
    (x, y) => if x < y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["less"];

    /// 1 where x <= y, else 0.
    LessEqual = less_equal, "[x <= y]", "definition",
    (x, y) => if x <= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["less_equal"];

    /// 1 where x = y, else 0.
    Equal = equal, "[x = y]", "definition",
    (x, y) => if x == y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["equal"];

    /// x where the mask is not 0, else y.
    Where = select as "where", "x if mask else y", "definition",
    (mask, x, y) => if mask != T::zero() { x } else { y },
    vjp(g, out) = [
        None,
        Some(mask.select(g, g.constant(0.0))),
        Some(mask.select(g.constant(0.0), g))
    ],
    domain = [MASK, ALL, ALL],
    special = [[0.0, -0.0, 1.0], [0.0], [0.0]];

    /// 1 where x and y differ, else 0; NaN differs from itself.
    NotEqual = not_equal, "[x ≠ y]", "definition",
    (x, y) => if x != y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["not_equal"];

    /// 1 where both are not 0, else 0.
    LogicalAnd = logical_and, "[x ≠ 0 and y ≠ 0]", "definition",
    (x, y) -> |x, y| mask(x != 0.0 && y != 0.0),
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["logical_and"];

    /// 1 where one or both are not 0, else 0.
    LogicalOr = logical_or, "[x ≠ 0 or y ≠ 0]", "definition",
    (x, y) -> |x, y| mask(x != 0.0 || y != 0.0),
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["logical_or"];

    /// 1 where just one is not 0, else 0.
    LogicalXor = logical_xor, "[x ≠ 0] ≠ [y ≠ 0]", "definition",
    (x, y) -> |x, y| mask((x != 0.0) != (y != 0.0)),
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["logical_xor"];

    /// 1 where x is 0, else 0.
    LogicalNot = logical_not, "[x = 0]", "definition",
    (x) -> |x| mask(x == 0.0),
    vjp(g, y) = [None],
    domain = [LOW_HIGH],
    special = [[0.0, -0.0, 1.0]],
    numpy = ["logical_not"];

    /// 1 where x is NaN, else 0.
    IsNan = isnan, "[x is NaN]", "definition",
    (x) => if x.is_nan() { T::one() } else { T::zero() },
    vjp(g, y) = [None],
    domain = [LOW_HIGH],
    special = [[0.0, -0.0, 1.0]],
    numpy = ["isnan"];

    /// 1 where x is infinite, else 0.
    IsInf = isinf, "[|x| = ∞]", "definition",
    (x) -> |x| mask(x.is_infinite()),
    vjp(g, y) = [None],
    domain = [LOW_HIGH],
    special = [[0.0, -0.0, 1.0]],
    numpy = ["isinf"];

    /// 1 where x is neither infinite nor NaN, else 0.
    IsFinite = isfinite, "[|x| < ∞]", "definition",
    (x) -> |x| mask(x.is_finite()),
    vjp(g, y) = [None],
    domain = [LOW_HIGH],
    special = [[0.0, -0.0, 1.0]],
    numpy = ["isfinite"];

    /// 1 where the sign of x is negative, also of -0.0, else 0.
    SignBit = signbit, "[x < 0]", "definition",
    (x) -> |x| mask(x.is_sign_negative()),
    vjp(g, y) = [None],
    domain = [LOW_HIGH],
    special = [[0.0, -0.0, 1.0]],
    numpy = ["signbit"];
}
