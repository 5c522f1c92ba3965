//! Elementwise operators of two and three operands, with NumPy's broadcasting.
//!
//! Comparisons give masks of zeros and ones in the operands' type; their gradient
//! is zero. `maximum` and `minimum` share the gradient evenly between equal
//! operands, which is a subgradient and does not depend on their order.

use super::elementwise::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];
/// Two ranges that do not meet, so that an ordering is never in doubt.
const LOW_HIGH: &[(f64, f64)] = &[(-2.0, -1.5), (0.5, 1.0)];
const HIGH_LOW: &[(f64, f64)] = &[(1.5, 2.0), (-1.0, -0.5)];
/// Masks.
const MASK: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0)];

elementwise! {
    /// Sum.
    Add = "add", "x + y",
    (x, y) => x + y,
    vjp(g, out) = [Some(g), Some(g)],
    domain = [ALL, ALL];

    /// Difference.
    Sub = "sub", "x - y",
    (x, y) => x - y,
    vjp(g, out) = [Some(g), Some(-g)],
    domain = [ALL, ALL];

    /// Product.
    Mul = "mul", "x y",
    (x, y) => x * y,
    vjp(g, out) = [Some(g * y), Some(g * x)],
    domain = [ALL, ALL];

    /// Quotient.
    Div = "div", "x / y",
    (x, y) => x / y,
    vjp(g, out) = [Some(g / y), Some(-(g * out / y))],
    domain = [ALL, POSITIVE];

    /// Power. The gradient for the exponent takes ln(1) at x = 0, the one for the
    /// base is 0 where y = 0, so that both are finite wherever x^y is smooth.
    Pow = "pow", "x^y",
    (x, y) => x.powf(y),
    vjp(g, out) = [
        Some({
            let zero = y.equal(y.constant(0.0));
            g * (y * x.pow(zero.select(y.constant(1.0), y - 1.0)))
        }),
        Some({
            let zero = x.equal(x.constant(0.0));
            g * (out * zero.select(x.constant(1.0), x).log())
        })
    ],
    domain = [POSITIVE, ALL];

    /// The larger of two; NaN if either is.
    Maximum = "maximum", "max(x, y)",
    (x, y) => if x > y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(g * (x.greater(y) + x.equal(y) * 0.5)),
        Some(g * (y.greater(x) + x.equal(y) * 0.5))
    ],
    domain = [LOW_HIGH, HIGH_LOW];

    /// The smaller of two; NaN if either is.
    Minimum = "minimum", "min(x, y)",
    (x, y) => if x < y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(g * (x.less(y) + x.equal(y) * 0.5)),
        Some(g * (y.less(x) + x.equal(y) * 0.5))
    ],
    domain = [LOW_HIGH, HIGH_LOW];

    /// 1 where x > y, else 0.
    Greater = "greater", "[x > y]",
    (x, y) => if x > y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW];

    /// 1 where x >= y, else 0.
    GreaterEqual = "greater_equal", "[x >= y]",
    (x, y) => if x >= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW];

    /// 1 where x < y, else 0.
    Less = "less", "[x < y]",
    (x, y) => if x < y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW];

    /// 1 where x <= y, else 0.
    LessEqual = "less_equal", "[x <= y]",
    (x, y) => if x <= y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW];

    /// 1 where x = y, else 0.
    Equal = "equal", "[x = y]",
    (x, y) => if x == y { T::one() } else { T::zero() },
    vjp(g, out) = [None, None],
    domain = [LOW_HIGH, HIGH_LOW];

    /// x where the mask is not 0, else y.
    Where = "where", "x if mask else y",
    (mask, x, y) => if mask != T::zero() { x } else { y },
    vjp(g, out) = [
        None,
        Some(mask.select(g, g.constant(0.0))),
        Some(mask.select(g.constant(0.0), g))
    ],
    domain = [MASK, ALL, ALL];
}
