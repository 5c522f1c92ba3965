//! Arithmetic of two operands, with NumPy's broadcasting.
//!
//! `maximum` and `minimum` share the gradient evenly between equal operands, which is a
//! subgradient and does not depend on their order.

use std::f64::consts::LN_2;

use super::elementwise;
use crate::rules::Ex;
use crate::special::{angle, entropy, partial, power};

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];
/// Two ranges that do not meet, so that an ordering is never in doubt.
const LOW_HIGH: &[(f64, f64)] = &[(-2.0, -1.5), (0.5, 1.0)];
const HIGH_LOW: &[(f64, f64)] = &[(1.5, 2.0), (-1.0, -0.5)];

/// Quotients that are no integers.
const DIVIDEND: &[(f64, f64)] = &[(-1.4, -1.1), (0.2, 0.4)];
const DIVISOR: &[(f64, f64)] = &[(0.5, 0.52), (-0.8, -0.76)];

/// `x`, or 1 where it is 0: what to divide by where the quotient's limit is wanted.
fn unless_zero(x: Ex<'_>) -> Ex<'_> {
    let zero = x.equal(x.constant(0.0));
    zero.select(x.constant(1.0), x)
}

/// `x - y`, and 0 where they are the same infinity.
fn difference<'t>(x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    let same = x.equal(y) * x.isinf();
    same.select(x.constant(0.0), x - y)
}

fn logaddexp(x: f64, y: f64) -> f64 {
    let d = if x == y { 0.0 } else { (x - y).abs() };
    // Not `max`, which ignores a NaN.
    (if x > y { x } else { y }) + (-d).exp().ln_1p()
}

fn logaddexp2(x: f64, y: f64) -> f64 {
    let d = if x == y { 0.0 } else { (x - y).abs() };
    (if x > y { x } else { y }) + (-d).exp2().ln_1p() / LN_2
}

/// As Python's `%`, and NumPy's at zeros and infinities.
fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        0.0_f64.copysign(y)
    } else if (rest < 0.0) == (y < 0.0) {
        rest
    } else {
        rest + y
    }
}

/// As Python's `//`: the quotient less what [`remainder`] is, which is near an integer.
fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = x % y;
    let mut quotient = (x - rest) / y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0.0_f64.copysign(x / y);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    }
}

fn heaviside(x: f64, y: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        0.0
    } else if x == 0.0 {
        y
    } else {
        x
    }
}

/// The gradient of the operand that was chosen where `wins` holds, half of it where both are equal, and NaN
/// where the result is NaN, as a product with NaN has it. It is selected and not multiplied by zero: elsewhere
/// `g` may be infinite.
fn chosen<'t>(g: Ex<'t>, out: Ex<'t>, wins: Ex<'t>, equal: Ex<'t>) -> Ex<'t> {
    let rest = out.isnan().select(out, out.constant(0.0));
    wins.select(g, equal.select(g * 0.5, rest))
}

elementwise! { $
    /// Sum.
    Add = add, "x + y", "definition",
    (x, y) => x + y,
    vjp(g, out) = [Some(g), Some(g)],
    domain = [ALL, ALL],
    special = [[0.0, -0.0, f64::MAX], [0.0, -0.0, f64::MAX]],
    numpy = ["add"];

    /// Difference.
    Sub = subtract as "sub", "x - y", "definition",
    (x, y) => x - y,
    vjp(g, out) = [Some(g), Some(-g)],
    domain = [ALL, ALL],
    special = [[0.0, -0.0, f64::MAX], [0.0, -0.0, f64::MAX]],
    numpy = ["subtract"];

    /// Product.
    Mul = multiply as "mul", "x y", "definition",
    (x, y) => x * y,
    vjp(g, out) = [Some(g * y), Some(g * x)],
    domain = [ALL, ALL],
    special = [[0.0, -0.0, 1e-200, 1e200], [0.0, -0.0, 1e-200, 1e200]],
    numpy = ["multiply"];

    /// Quotient.
    Div = divide as "div", "x / y", "definition",
    (x, y) => x / y,
    vjp(g, out) = [Some(g / y), Some(-(g * out / y))],
    domain = [ALL, POSITIVE],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0, 1e-200]],
    numpy = ["divide", "true_divide"];

    /// Power. By both operands derivatives are the limits for positive x, also at 0 and at infinity;
    /// where x is negative there are those by x alone.
    Pow = power as "pow", "x^y", "DLMF 4.2.26",
    (x, y) => x.powf(y),
    vjp(g, out) = [Some(g * x.power_derivative(1, y)), Some(g * x.power_derivative(2, y))],
    domain = [POSITIVE, ALL],
    special = [[0.0, -0.0, 1e-300, 0.5, 1.0, -1.0, 2.0, -3.0, 1e100], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, -0.5, -2.0, 400.0]],
    numpy = ["power", "pow"];

    /// Partial derivative number n of x^y, numbered by order: x^y, by x, by y, twice by x, and so on.
    PowerDerivative = power_derivative, "∂_n x^y", "DLMF 4.2.26; Leibniz' rule",
    (n; x, y) -> power::power_derivative,
    vjp(g, out) = [
        Some(g * x.power_derivative(partial::further(n, 0), y)),
        Some(g * x.power_derivative(partial::further(n, 1), y))
    ],
    domain = [POSITIVE, ALL],
    special = [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 0.5, -1.0]],
    internal = "the gradients of power, also where a factor of them vanishes",
    orders = [0, 1, 2, 3, 4, 5, 7, 8];

    /// The larger of two; NaN if either is, and so are both gradients.
    Maximum = maximum, "max(x, y)", "definition",
    (x, y) => if x > y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(chosen(g, out, x.greater(y), x.equal(y))),
        Some(chosen(g, out, y.greater(x), x.equal(y)))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["maximum"];

    /// The smaller of two; NaN if either is, and so are both gradients.
    Minimum = minimum, "min(x, y)", "definition",
    (x, y) => if x < y || x.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(chosen(g, out, x.less(y), x.equal(y))),
        Some(chosen(g, out, y.less(x), x.equal(y)))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["minimum"];

    /// Length of the hypotenuse; both gradients are 0 at the origin.
    Hypot = hypot, "(x^2 + y^2)^(1/2)", "definition",
    (x, y) -> f64::hypot,
    vjp(g, out) = [Some(g * x.direction(y)), Some(g * y.direction(x))],
    domain = [ALL, POSITIVE],
    special = [[0.0, 3.0, 1e-200, 1e-310, 1e300], [0.0, -4.0, 1e-200, 1e-310, 1e300]],
    numpy = ["hypot"];

    /// Cosine of the angle of the point (x, y), 0 at the origin.
    Direction = direction, "x / (x^2 + y^2)^(1/2)", "definition",
    (x, y) -> angle::direction,
    vjp(g, out) = [
        Some(g * (y.direction(x).square() / unless_zero(x.hypot(y)))),
        Some(-(g * (out * y.direction(x) / unless_zero(x.hypot(y)))))
    ],
    domain = [ALL, POSITIVE],
    special = [[0.0, 3.0, 1e-200, 1e-310, 1e300], [0.0, -4.0, 1e-200, 1e-310, 1e300]],
    internal = "the gradients of hypot, also where that is infinite";

    /// Angle of the point (x, y), from -π to π; all derivatives are 0 at the origin.
    Arctan2 = arctan2, "arctan(y / x)", "DLMF 4.23.3",
    (y, x) -> f64::atan2,
    vjp(g, out) = [Some(g * y.angle_derivative(1, x)), Some(g * y.angle_derivative(2, x))],
    domain = [ALL, POSITIVE],
    special = [[0.0, -0.0, 1.0, -1.0, 1e-160, 1e160], [0.0, -0.0, 1.0, -1.0, 1e-160, 1e160]],
    numpy = ["arctan2", "atan2"];

    /// Partial derivative number n of the angle of the point (x, y), in the order of arctan2's.
    AngleDerivative = angle_derivative, "∂_n arctan(y / x)", "DLMF 4.23.3; ln z = ln |z| + i arg z",
    (n; y, x) -> angle::angle_derivative,
    vjp(g, out) = [
        Some(g * y.angle_derivative(partial::further(n, 0), x)),
        Some(g * y.angle_derivative(partial::further(n, 1), x))
    ],
    domain = [ALL, POSITIVE],
    special = [[0.0, 1.0, 1e-200], [0.0, -1.0, 1e-200]],
    internal = "the gradients of arctan2, near the origin and far from it",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// Logarithm of a sum of exponentials, without overflow.
    LogAddExp = logaddexp, "ln(exp(x) + exp(y))", "definition",
    (x, y) -> logaddexp,
    vjp(g, out) = [Some(g * difference(x, y).sigmoid()), Some(g * difference(y, x).sigmoid())],
    domain = [ALL, ALL],
    special = [[0.0, 1.0, -1e3, 1e3, 1e300], [0.0, 1.0, -1e3, 1e3, 1e300]],
    numpy = ["logaddexp"];

    /// Logarithm to base 2 of a sum of powers of 2, without overflow.
    LogAddExp2 = logaddexp2, "log2(2^x + 2^y)", "definition",
    (x, y) -> logaddexp2,
    vjp(g, out) = [Some(g * (difference(x, y) * LN_2).sigmoid()), Some(g * (difference(y, x) * LN_2).sigmoid())],
    domain = [ALL, ALL],
    special = [[0.0, 1.0, -1e4, 1e4, 1e300], [0.0, 1.0, -1e4, 1e4, 1e300]],
    numpy = ["logaddexp2"];

    /// x ln y, 0 where x is 0, as are its derivatives by y.
    Xlogy = xlogy, "x ln y", "definition",
    (x, y) -> |x, y| entropy::xlogy_derivative(0, x, y),
    vjp(g, out) = [Some(g * x.xlogy_derivative(1, y)), Some(g * x.xlogy_derivative(2, y))],
    domain = [ALL, POSITIVE],
    special = [[0.0, -0.0, 1.0, -1.0], [0.0, 1e-300, 1.0, 2.0]],
    scipy = ["xlogy"];

    /// Partial derivative number n of x ln y.
    XlogyDerivative = xlogy_derivative, "∂_n x ln y", "definition",
    (n; x, y) -> entropy::xlogy_derivative,
    vjp(g, out) = [
        Some(g * x.xlogy_derivative(partial::further(n, 0), y)),
        Some(g * x.xlogy_derivative(partial::further(n, 1), y))
    ],
    domain = [ALL, POSITIVE],
    special = [[0.0, 1.0], [0.0, 1.0]],
    internal = "the gradients of xlogy, also where x is 0",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// x ln(1 + y), 0 where x is 0, as are its derivatives by y.
    Xlog1py = xlog1py, "x ln(1 + y)", "definition",
    (x, y) -> |x, y| entropy::xlog1py_derivative(0, x, y),
    vjp(g, out) = [Some(g * x.xlog1py_derivative(1, y)), Some(g * x.xlog1py_derivative(2, y))],
    domain = [ALL, POSITIVE],
    special = [[0.0, -0.0, 1.0, -1.0], [-1.0, 0.0, 1e-20, 1.0]],
    scipy = ["xlog1py"];

    /// Partial derivative number n of x ln(1 + y).
    Xlog1pyDerivative = xlog1py_derivative, "∂_n x ln(1 + y)", "definition",
    (n; x, y) -> entropy::xlog1py_derivative,
    vjp(g, out) = [
        Some(g * x.xlog1py_derivative(partial::further(n, 0), y)),
        Some(g * x.xlog1py_derivative(partial::further(n, 1), y))
    ],
    domain = [ALL, POSITIVE],
    special = [[0.0, 1.0], [-1.0, 0.0]],
    internal = "the gradients of xlog1py, also where x is 0",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// Relative entropy's term, 0 where x is 0; below 0 infinite, where derivatives are NaN.
    RelEntr = rel_entr, "x ln(x / y)", "definition",
    (x, y) -> |x, y| entropy::rel_entr_derivative(0, x, y),
    vjp(g, out) = [Some(g * x.rel_entr_derivative(1, y)), Some(g * x.rel_entr_derivative(2, y))],
    domain = [POSITIVE, POSITIVE],
    special = [[0.0, 1e-300, 1.0, 2.0, -1.0], [0.0, 1e-300, 1.0, 2.0, -1.0]],
    scipy = ["rel_entr"];

    /// Partial derivative number n of x ln(x / y).
    RelEntrDerivative = rel_entr_derivative, "∂_n x ln(x / y)", "definition",
    (n; x, y) -> entropy::rel_entr_derivative,
    vjp(g, out) = [
        Some(g * x.rel_entr_derivative(partial::further(n, 0), y)),
        Some(g * x.rel_entr_derivative(partial::further(n, 1), y))
    ],
    domain = [POSITIVE, POSITIVE],
    special = [[0.0, 1.0], [0.0, 1.0]],
    internal = "the gradients of rel_entr, also where x is 0",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// The Kullback-Leibler divergence's term; below 0 infinite, where derivatives are NaN.
    KlDiv = kl_div, "x ln(x / y) - x + y", "definition",
    (x, y) -> |x, y| entropy::kl_div_derivative(0, x, y),
    vjp(g, out) = [Some(g * x.kl_div_derivative(1, y)), Some(g * x.kl_div_derivative(2, y))],
    domain = [POSITIVE, POSITIVE],
    special = [[0.0, 1e-300, 1.0, 2.0, -1.0], [0.0, 1e-300, 1.0, 2.0, -1.0]],
    scipy = ["kl_div"];

    /// Partial derivative number n of x ln(x / y) - x + y.
    KlDivDerivative = kl_div_derivative, "∂_n x ln(x / y) - x + y", "definition",
    (n; x, y) -> entropy::kl_div_derivative,
    vjp(g, out) = [
        Some(g * x.kl_div_derivative(partial::further(n, 0), y)),
        Some(g * x.kl_div_derivative(partial::further(n, 1), y))
    ],
    domain = [POSITIVE, POSITIVE],
    special = [[0.0, 1.0], [0.0, 1.0]],
    internal = "the gradients of kl_div, also where x is 0",
    orders = [0, 1, 2, 3, 4, 5, 7];

    /// The larger of two; of a number and NaN, the number. Of zeros of two signs it is the first, as in
    /// NumPy's scalar loop; of NumPy's vector loops some take the second.
    Fmax = fmax, "max(x, y)", "definition",
    (x, y) -> |x, y| if x >= y || y.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(chosen(g, out, x.greater(y).logical_or(y.isnan().greater(x.isnan())), x.equal(y))),
        Some(chosen(g, out, y.greater(x).logical_or(x.isnan().greater(y.isnan())), x.equal(y)))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["fmax"];

    /// The smaller of two; of a number and NaN, the number. Of zeros of two signs it is as in `fmax`.
    Fmin = fmin, "min(x, y)", "definition",
    (x, y) -> |x, y| if x <= y || y.is_nan() { x } else { y },
    vjp(g, out) = [
        Some(chosen(g, out, x.less(y).logical_or(y.isnan().greater(x.isnan())), x.equal(y))),
        Some(chosen(g, out, y.less(x).logical_or(x.isnan().greater(y.isnan())), x.equal(y)))
    ],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0], [0.0, -0.0, 1.0]],
    numpy = ["fmin"];

    /// x with the sign of y.
    Copysign = copysign, "|x| sign(y)", "definition",
    (x, y) -> f64::copysign,
    vjp(g, out) = [Some(g * (x.constant(1.0).copysign(x) * x.constant(1.0).copysign(y))), None],
    domain = [LOW_HIGH, HIGH_LOW],
    special = [[0.0, -0.0, 1.0, -2.0], [0.0, -0.0, 1.0, -1.0]],
    numpy = ["copysign"];

    /// Remainder of the floored quotient, with the sign of y.
    Remainder = remainder, "x - y ⌊x / y⌋", "definition",
    (x, y) -> remainder,
    vjp(g, out) = [Some(g), Some(-(g * x.floor_divide(y)))],
    domain = [DIVIDEND, DIVISOR],
    special = [[0.0, -0.0, 1.0, 3.5, -3.5], [0.0, 1.0, -1.0, 0.5]],
    numpy = ["remainder", "mod"];

    /// Remainder of the truncated quotient, with the sign of x.
    Fmod = fmod, "x - y trunc(x / y)", "definition",
    (x, y) -> |x, y| x % y,
    // The quotient of what the remainder leaves: x / y may round up to an integer that the quotient is below.
    vjp(g, out) = [Some(g), Some(-(g * ((x - out) / y).rint()))],
    domain = [DIVIDEND, DIVISOR],
    special = [[0.0, -0.0, 1.0, 3.5, -3.5], [0.0, 1.0, -1.0, 0.5]],
    numpy = ["fmod"];

    /// Quotient, rounded down; its gradient is zero.
    FloorDivide = floor_divide, "⌊x / y⌋", "definition",
    (x, y) -> floor_divide,
    vjp(g, out) = [None, None],
    domain = [DIVIDEND, DIVISOR],
    special = [[0.0, -0.0, 1.0, 3.5, -3.5], [0.0, 1.0, -1.0, 0.5]],
    numpy = ["floor_divide"];

    /// 0 below 0, 1 above, y at 0.
    Heaviside = heaviside, "[x > 0] + y [x = 0]", "definition",
    (x, y) -> heaviside,
    vjp(g, out) = [None, Some(x.equal(x.constant(0.0)).select(g, g.constant(0.0)))],
    domain = [LOW_HIGH, ALL],
    special = [[0.0, -0.0, 1.0], [0.0, 0.5]],
    numpy = ["heaviside"];
}
