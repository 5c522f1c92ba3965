//! Arithmetic of two operands, with NumPy's broadcasting.
//!
//! `maximum` and `minimum` share the gradient evenly between equal operands, which is a
//! subgradient and does not depend on their order.

use super::elementwise::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];
/// Two ranges that do not meet, so that an ordering is never in doubt.
const LOW_HIGH: &[(f64, f64)] = &[(-2.0, -1.5), (0.5, 1.0)];
const HIGH_LOW: &[(f64, f64)] = &[(1.5, 2.0), (-1.0, -0.5)];

elementwise! { $
    /// Sum.
    Add = add, "x + y", "definition",
    (x, y) => x + y,
    vjp(g, out) = [Some(g), Some(g)],
    domain = [ALL, ALL],
    numpy = ["add"];

    /// Difference.
    Sub = subtract as "sub", "x - y", "definition",
    (x, y) => x - y,
    vjp(g, out) = [Some(g), Some(-g)],
    domain = [ALL, ALL],
    numpy = ["subtract"];

    /// Product.
    Mul = multiply as "mul", "x y", "definition",
    (x, y) => x * y,
    vjp(g, out) = [Some(g * y), Some(g * x)],
    domain = [ALL, ALL],
    numpy = ["multiply"];

    /// Quotient.
    Div = divide as "div", "x / y", "definition",
    (x, y) => x / y,
    vjp(g, out) = [Some(g / y), Some(-(g * out / y))],
    domain = [ALL, POSITIVE],
    numpy = ["divide", "true_divide"];

    /// Power. The gradient for the exponent takes ln(1) at x = 0, the one for the
    /// base is 0 where y = 0, so that both are finite wherever x^y is smooth.
    Pow = power as "pow", "x^y", "DLMF 4.2.26",
    (x, y) => x.powf(y),
    vjp(g, out) = [
        Some({
            let zero = y.equal(y.constant(0.0));
            g * (y * x.power(zero.select(y.constant(1.0), y - 1.0)))
        }),
        Some({
            let zero = x.equal(x.constant(0.0));
            g * (out * zero.select(x.constant(1.0), x).log())
        })
    ],
    domain = [POSITIVE, ALL],
    numpy = ["power", "pow", "float_power"];

    /// The larger of two; NaN if either is.
    Maximum = maximum, "max(x, y)", "definition",
    (x, y) => if x > y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(g * (x.greater(y) + x.equal(y) * 0.5)),
        Some(g * (y.greater(x) + x.equal(y) * 0.5))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["maximum"];

    /// The smaller of two; NaN if either is.
    Minimum = minimum, "min(x, y)", "definition",
    (x, y) => if x < y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(g * (x.less(y) + x.equal(y) * 0.5)),
        Some(g * (y.less(x) + x.equal(y) * 0.5))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["minimum"];
}
