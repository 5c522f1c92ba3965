//! Arithmetic, powers, exponentials, logarithms and rounding of one operand.
//!
//! Derivatives are those of any calculus text (Abramowitz & Stegun, ch. 4); where
//! the obvious formula loses accuracy the stable one is used and said.

use std::f64::consts::{LN_2, LN_10, PI};

use super::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.3), (0.3, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];

/// Away from integers.
const BETWEEN: &[(f64, f64)] = &[(-1.8, -1.2), (0.2, 0.8)];
/// One degree.
const RADIANS: f64 = PI / 180.0;

/// Near 1/2 without the rounding of the quotient.
fn logit(x: f64) -> f64 {
    if (0.3..=0.65).contains(&x) {
        let s = 2.0 * (x - 0.5);
        s.ln_1p() - (-s).ln_1p()
    } else {
        (x / (1.0 - x)).ln()
    }
}

fn entr(x: f64) -> f64 {
    if x > 0.0 {
        -x * x.ln()
    } else if x == 0.0 {
        0.0
    } else if x < 0.0 {
        f64::NEG_INFINITY
    } else {
        x
    }
}

elementwise! { $
    /// Negation.
    Neg = negative as "neg", "-x", "definition",
    (x) => -x,
    vjp(g, y) = [Some(-g)],
    domain = [ALL],
    numpy = ["negative"];

    /// Exponential.
    Exp = exp, "exp(x)", "DLMF 4.2.19",
    (x) => x.v_exp(),
    vjp(g, y) = [Some(g * y)],
    domain = [ALL],
    numpy = ["exp"],
    method = exp;

    /// Natural logarithm.
    Log = log, "ln(x)", "DLMF 4.2.2",
    (x) => x.v_ln(),
    vjp(g, y) = [Some(g / x)],
    domain = [POSITIVE],
    numpy = ["log"],
    method = log;

    /// Logarithm of 1 + x, accurate near zero.
    Log1p = log1p, "ln(1 + x)", "DLMF 4.2.2",
    (x) => x.v_ln_1p(),
    vjp(g, y) = [Some(g / (x + 1.0))],
    domain = [&[(-0.6, 2.0)]],
    numpy = ["log1p"],
    scipy = ["log1p"],
    method = log1p;

    /// Exponential minus 1, accurate near zero.
    Expm1 = expm1, "exp(x) - 1", "DLMF 4.2.19",
    (x) => x.v_exp_m1(),
    vjp(g, y) = [Some(g * x.exp())],
    domain = [ALL],
    numpy = ["expm1"],
    scipy = ["expm1"],
    method = expm1;

    /// Square root.
    Sqrt = sqrt, "x^(1/2)", "DLMF 4.2.26",
    (x) => x.sqrt(),
    vjp(g, y) = [Some(g * 0.5 / y)],
    domain = [POSITIVE],
    numpy = ["sqrt"],
    method = sqrt;

    /// Square.
    Square = square, "x^2", "definition",
    (x) => x * x,
    vjp(g, y) = [Some(g * (x * 2.0))],
    domain = [ALL],
    numpy = ["square"],
    method = square;

    /// Absolute value; the gradient at 0 is 0.
    Abs = abs, "|x|", "definition",
    (x) => x.abs(),
    vjp(g, y) = [Some(g * x.sign())],
    domain = [NONZERO],
    numpy = ["abs", "absolute", "fabs"],
    method = abs;

    /// Sign: -1, 0 or 1, and NaN of NaN; its gradient is zero.
    Sign = sign, "sign(x)", "definition",
    (x) => if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        x
    },
    vjp(g, y) = [None],
    domain = [NONZERO],
    numpy = ["sign"];

    /// Reciprocal.
    Reciprocal = reciprocal, "1 / x", "definition",
    (x) => x.recip(),
    vjp(g, y) = [Some(-(g * (y * y)))],
    domain = [NONZERO],
    numpy = ["reciprocal"];

    /// Logistic function.
    Sigmoid = sigmoid, "1 / (1 + exp(-x))", "definition",
    (x) => x.v_sigmoid(),
    vjp(g, y) = [Some(g * (y * (1.0 - y)))],
    domain = [ALL],
    scipy = ["expit"],
    method = sigmoid;

    /// Logarithm of the logistic function, without overflow for any x.
    LogSigmoid = logsigmoid, "min(x, 0) - ln(1 + exp(-|x|))", "definition",
    (x) => x.v_log_sigmoid(),
    vjp(g, y) = [Some(g * (-x).sigmoid())],
    domain = [ALL],
    scipy = ["log_expit"],
    method = logsigmoid;

    /// Smooth rectifier, without overflow for any x.
    Softplus = softplus, "max(x, 0) + ln(1 + exp(-|x|))", "definition",
    (x) => x.v_softplus(),
    vjp(g, y) = [Some(g * x.sigmoid())],
    domain = [ALL],
    method = softplus;

    /// Rectifier; the gradient at 0 is 0.
    Relu = relu, "max(x, 0)", "definition",
    (x) => if x > T::zero() || x.is_nan() { x } else { T::zero() },
    vjp(g, y) = [Some(g * x.greater(x.constant(0.0)))],
    domain = [NONZERO],
    method = relu;

    /// The same.
    Positive = positive, "x", "definition",
    (x) -> |x| x,
    vjp(g, y) = [Some(g)],
    domain = [ALL],
    numpy = ["positive", "conj", "conjugate"];

    /// Cube root.
    Cbrt = cbrt, "x^(1/3)", "definition",
    (x) -> f64::cbrt,
    vjp(g, y) = [Some(g * (1.0 / 3.0) / y / y)],
    domain = [NONZERO],
    numpy = ["cbrt"],
    scipy = ["cbrt"];

    /// Power of 2.
    Exp2 = exp2, "2^x", "DLMF 4.2.26",
    (x) -> f64::exp2,
    vjp(g, y) = [Some(g * (y * LN_2))],
    domain = [ALL],
    numpy = ["exp2"],
    scipy = ["exp2"];

    /// Power of 10.
    Exp10 = exp10, "10^x", "DLMF 4.2.26",
    (x) -> libm::exp10,
    vjp(g, y) = [Some(g * (y * LN_10))],
    domain = [&[(-1.0, 1.0)]],
    scipy = ["exp10"];

    /// Logarithm to base 2.
    Log2 = log2, "ln(x) / ln 2", "DLMF 4.2.10",
    (x) -> f64::log2,
    vjp(g, y) = [Some(g / (x * LN_2))],
    domain = [POSITIVE],
    numpy = ["log2"];

    /// Logarithm to base 10.
    Log10 = log10, "ln(x) / ln 10", "DLMF 4.2.10",
    (x) -> f64::log10,
    vjp(g, y) = [Some(g / (x * LN_10))],
    domain = [POSITIVE],
    numpy = ["log10"];

    /// The largest integer not above; the gradient is zero.
    Floor = floor, "⌊x⌋", "definition",
    (x) -> f64::floor,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    edges = [2.5, -2.5, 0.49999999999999994],
    numpy = ["floor"];

    /// The smallest integer not below; the gradient is zero.
    Ceil = ceil, "⌈x⌉", "definition",
    (x) -> f64::ceil,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    edges = [2.5, -2.5],
    numpy = ["ceil"];

    /// The integer next to x towards zero; the gradient is zero.
    Trunc = trunc, "sign(x) ⌊|x|⌋", "definition",
    (x) -> f64::trunc,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    edges = [2.5, -2.5],
    numpy = ["trunc"];

    /// The nearest integer, of two the even one; the gradient is zero.
    Rint = rint, "round(x)", "definition",
    (x) -> f64::round_ties_even,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    edges = [1.5, 2.5, -2.5, 0.49999999999999994],
    numpy = ["rint"];

    /// Degrees to radians.
    Deg2rad = deg2rad, "π x / 180", "definition",
    (x) -> |x| x * RADIANS,
    vjp(g, y) = [Some(g * RADIANS)],
    domain = [ALL],
    numpy = ["deg2rad", "radians"];

    /// Radians to degrees.
    Rad2deg = rad2deg, "180 x / π", "definition",
    (x) -> |x| x * (1.0 / RADIANS),
    vjp(g, y) = [Some(g * (1.0 / RADIANS))],
    domain = [&[(-0.1, 0.1)]],
    numpy = ["rad2deg", "degrees"];

    /// Logarithm of the odds of a probability.
    Logit = logit, "ln(x / (1 - x))", "definition",
    (x) -> logit,
    vjp(g, y) = [Some(g / x / (1.0 - x))],
    domain = [&[(0.2, 0.8)]],
    edges = [0.3, 0.65, 0.29999],
    scipy = ["logit"];

    /// Entropy's term, 0 at 0.
    Entr = entr, "-x ln x", "definition",
    (x) -> entr,
    vjp(g, y) = [Some(-(g * (x.log() + 1.0)))],
    domain = [POSITIVE],
    scipy = ["entr"];
}
