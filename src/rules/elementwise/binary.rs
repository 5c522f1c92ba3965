//! Arithmetic of two operands, with NumPy's broadcasting.
//!
//! `maximum` and `minimum` share the gradient evenly between equal operands, which is a
//! subgradient and does not depend on their order.

use std::f64::consts::LN_2;

use super::elementwise;
use crate::rules::Ex;

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

/// `y`, or 1 where it and `x` are 0.
fn unless_both_zero<'t>(y: Ex<'t>, x: Ex<'t>) -> Ex<'t> {
    let zeros = y.equal(y.constant(0.0)) * x.equal(x.constant(0.0));
    zeros.select(y.constant(1.0), y)
}

/// `x - y`, and 0 where they are the same infinity.
fn difference<'t>(x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    let same = x.equal(y) * x.isinf();
    same.select(x.constant(0.0), x - y)
}

fn logaddexp(x: f64, y: f64) -> f64 {
    let d = if x == y { 0.0 } else { (x - y).abs() };
    // Not `max`, which takes the number of a number and NaN.
    (if x > y { x } else { y }) + (-d).exp().ln_1p()
}

fn logaddexp2(x: f64, y: f64) -> f64 {
    let d = if x == y { 0.0 } else { (x - y).abs() };
    (if x > y { x } else { y }) + (-d).exp2().ln_1p() / LN_2
}

/// The cosine of the angle of the point (x, y), also where squares or their sum overflow.
fn direction(x: f64, y: f64) -> f64 {
    let largest = x.abs().max(y.abs());
    if x.is_nan() || y.is_nan() {
        // Also beside an infinite one, where the length is known but not the angle.
        f64::NAN
    } else if largest == 0.0 {
        0.0
    } else if largest.is_infinite() {
        let unit = |x: f64| if x.is_infinite() { x.signum() } else { 0.0 * x };
        unit(x) / unit(x).hypot(unit(y))
    } else {
        let (x, y) = (x / largest, y / largest);
        x / x.hypot(y)
    }
}

/// `x·f(y)`, 0 where `x` is.
fn product(x: f64, y: f64, f: fn(f64) -> f64) -> f64 {
    if x == 0.0 && !y.is_nan() {
        0.0
    } else {
        x * f(y)
    }
}

/// `x·ln(x / y)`, 0 where `x` is; infinite where either is negative.
fn rel_entr(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > 0.0 && y > 0.0 {
        let ratio = x / y;
        // A ratio that overflows or vanishes has a logarithm all the same.
        x * if ratio.is_normal() {
            ratio.ln()
        } else {
            x.ln() - y.ln()
        }
    } else if x == 0.0 && y >= 0.0 {
        0.0
    } else {
        f64::INFINITY
    }
}

/// [`rel_entr`] less x and more y; infinite if one of them is.
fn kl_div(x: f64, y: f64) -> f64 {
    let entropy = rel_entr(x, y);
    if entropy == f64::INFINITY || (y == f64::INFINITY && x.is_finite()) {
        f64::INFINITY
    } else {
        entropy - x + y
    }
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

    /// Length of the hypotenuse; both gradients are 0 at the origin.
    Hypot = hypot, "(x^2 + y^2)^(1/2)", "definition",
    (x, y) -> f64::hypot,
    vjp(g, out) = [Some(g * x.direction(y)), Some(g * y.direction(x))],
    domain = [ALL, POSITIVE],
    numpy = ["hypot"];

    /// Cosine of the angle of the point (x, y), 0 at the origin.
    Direction = direction, "x / (x^2 + y^2)^(1/2)", "definition",
    (x, y) -> direction,
    vjp(g, out) = [
        Some(g * (y.direction(x).square() / unless_zero(x.hypot(y)))),
        Some(-(g * (out * y.direction(x) / unless_zero(x.hypot(y)))))
    ],
    domain = [ALL, POSITIVE],
    internal = "the gradients of hypot, also where that is infinite";

    /// Angle of the point (x, y), from -π to π; both gradients are 0 at the origin.
    Arctan2 = arctan2, "arctan(y / x)", "DLMF 4.23.3",
    (y, x) -> f64::atan2,
    vjp(g, out) = [Some(g * (x.direction(y) / unless_zero(x.hypot(y)))), Some(-(g * (y.direction(x) / unless_zero(x.hypot(y)))))],
    domain = [ALL, POSITIVE],
    numpy = ["arctan2", "atan2"];

    /// Logarithm of a sum of exponentials, without overflow.
    LogAddExp = logaddexp, "ln(exp(x) + exp(y))", "definition",
    (x, y) -> logaddexp,
    vjp(g, out) = [Some(g * difference(x, y).sigmoid()), Some(g * difference(y, x).sigmoid())],
    domain = [ALL, ALL],
    numpy = ["logaddexp"];

    /// Logarithm to base 2 of a sum of powers of 2, without overflow.
    LogAddExp2 = logaddexp2, "log2(2^x + 2^y)", "definition",
    (x, y) -> logaddexp2,
    vjp(g, out) = [Some(g * (difference(x, y) * LN_2).sigmoid()), Some(g * (difference(y, x) * LN_2).sigmoid())],
    domain = [ALL, ALL],
    numpy = ["logaddexp2"];

    /// x ln y, 0 where x is 0.
    Xlogy = xlogy, "x ln y", "definition",
    (x, y) -> |x, y| product(x, y, f64::ln),
    vjp(g, out) = [Some(g * y.log()), Some(g * (x / unless_both_zero(y, x)))],
    domain = [ALL, POSITIVE],
    scipy = ["xlogy"];

    /// x ln(1 + y), 0 where x is 0.
    Xlog1py = xlog1py, "x ln(1 + y)", "definition",
    (x, y) -> |x, y| product(x, y, f64::ln_1p),
    vjp(g, out) = [Some(g * y.log1p()), Some(g * (x / unless_both_zero(y + 1.0, x)))],
    domain = [ALL, POSITIVE],
    scipy = ["xlog1py"];

    /// Relative entropy's term, 0 where x is 0.
    RelEntr = rel_entr, "x ln(x / y)", "definition",
    (x, y) -> rel_entr,
    vjp(g, out) = [Some(g * ((x / y).log() + 1.0)), Some(-(g * (x / unless_both_zero(y, x))))],
    domain = [POSITIVE, POSITIVE],
    scipy = ["rel_entr"];

    /// The Kullback-Leibler divergence's term.
    KlDiv = kl_div, "x ln(x / y) - x + y", "definition",
    (x, y) -> kl_div,
    vjp(g, out) = [Some(g * (x / y).log()), Some(g * (1.0 - x / unless_both_zero(y, x)))],
    domain = [POSITIVE, POSITIVE],
    scipy = ["kl_div"];

    /// The larger of two; of a number and NaN, the number.
    Fmax = fmax, "max(x, y)", "definition",
    (x, y) -> |x, y| if x >= y || y.is_nan() { x } else { y },
    vjp(g, out) = [Some(g * (x.greater(y) + x.equal(y) * 0.5 + y.isnan())), Some(g * (y.greater(x) + x.equal(y) * 0.5 + x.isnan()))],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["fmax"];

    /// The smaller of two; of a number and NaN, the number.
    Fmin = fmin, "min(x, y)", "definition",
    (x, y) -> |x, y| if x <= y || y.is_nan() { x } else { y },
    vjp(g, out) = [Some(g * (x.less(y) + x.equal(y) * 0.5 + y.isnan())), Some(g * (y.less(x) + x.equal(y) * 0.5 + x.isnan()))],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["fmin"];

    /// x with the sign of y.
    Copysign = copysign, "|x| sign(y)", "definition",
    (x, y) -> f64::copysign,
    vjp(g, out) = [Some(g * (x.constant(1.0).copysign(x) * x.constant(1.0).copysign(y))), None],
    domain = [LOW_HIGH, HIGH_LOW],
    numpy = ["copysign"];

    /// Remainder of the floored quotient, with the sign of y.
    Remainder = remainder, "x - y ⌊x / y⌋", "definition",
    (x, y) -> remainder,
    vjp(g, out) = [Some(g), Some(-(g * x.floor_divide(y)))],
    domain = [DIVIDEND, DIVISOR],
    numpy = ["remainder", "mod"];

    /// Remainder of the truncated quotient, with the sign of x.
    Fmod = fmod, "x - y trunc(x / y)", "definition",
    (x, y) -> |x, y| x % y,
    vjp(g, out) = [Some(g), Some(-(g * (x / y).trunc()))],
    domain = [DIVIDEND, DIVISOR],
    numpy = ["fmod"];

    /// Quotient, rounded down; its gradient is zero.
    FloorDivide = floor_divide, "⌊x / y⌋", "definition",
    (x, y) -> floor_divide,
    vjp(g, out) = [None, None],
    domain = [DIVIDEND, DIVISOR],
    numpy = ["floor_divide"];

    /// 0 below 0, 1 above, y at 0.
    Heaviside = heaviside, "[x > 0] + y [x = 0]", "definition",
    (x, y) -> heaviside,
    vjp(g, out) = [None, Some(g * x.equal(x.constant(0.0)))],
    domain = [LOW_HIGH, ALL],
    numpy = ["heaviside"];
}
