//! Arithmetic, powers, exponentials, logarithms and rounding of one operand.
//!
//! Derivatives are those of any calculus text (Abramowitz & Stegun, ch. 4); where
//! the obvious formula loses accuracy the stable one is used and said.

use std::f64::consts::{LN_2, LN_10, PI};

use super::elementwise;
use crate::special::{algebraic, entropy};

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

elementwise! { $
    /// Negation.
    Neg = negative as "neg", "-x", "definition",
    (x) => -x,
    vjp(g, y) = [Some(-g)],
    domain = [ALL],
    special = [[0.0, -0.0]],
    numpy = ["negative"];

    /// Exponential.
    Exp = exp, "exp(x)", "DLMF 4.2.19",
    (x) => x.v_exp(),
    vjp(g, y) = [Some(g * y)],
    domain = [ALL],
    special = [[0.0, -708.4, -745.2, 709.78, -87.4, 88.7]],
    numpy = ["exp"],
    method = exp;

    /// Natural logarithm.
    Log = log, "ln(x)", "DLMF 4.2.2",
    (x) => x.v_ln(),
    vjp(g, y) = [Some(g / x)],
    domain = [POSITIVE],
    special = [[0.0, 5e-324, f64::MIN_POSITIVE, 0.99999, 1.0, f64::MAX]],
    numpy = ["log"],
    method = log;

    /// Logarithm of 1 + x, accurate near zero.
    Log1p = log1p, "ln(1 + x)", "DLMF 4.2.2",
    (x) => x.v_ln_1p(),
    vjp(g, y) = [Some(g / (x + 1.0))],
    domain = [&[(-0.6, 2.0)]],
    special = [[-1.0, -0.9999, 0.0, 1e-17, f64::MAX]],
    numpy = ["log1p"],
    scipy = ["log1p"],
    method = log1p;

    /// Exponential minus 1, accurate near zero.
    Expm1 = expm1, "exp(x) - 1", "DLMF 4.2.19",
    (x) => x.v_exp_m1(),
    vjp(g, y) = [Some(g * x.exp())],
    domain = [ALL],
    special = [[0.0, 1e-17, -36.0, -40.0, -745.2, 709.7]],
    numpy = ["expm1"],
    scipy = ["expm1"],
    method = expm1;

    /// Square root.
    Sqrt = sqrt, "x^(1/2)", "DLMF 4.2.26",
    (x) => x.sqrt(),
    vjp(g, y) = [Some(g * 0.5 / y)],
    domain = [POSITIVE],
    special = [[0.0, -0.0, 5e-324, 1.0, f64::MAX]],
    numpy = ["sqrt"],
    method = sqrt;

    /// Square.
    Square = square, "x^2", "definition",
    (x) => x * x,
    vjp(g, y) = [Some(g * (x * 2.0))],
    domain = [ALL],
    special = [[0.0, -0.0, 1e-162, 1.3e154, 1e155]],
    numpy = ["square"],
    method = square;

    /// Absolute value; the gradient at 0 is 0.
    Abs = abs, "|x|", "definition",
    (x) => x.abs(),
    vjp(g, y) = [Some(g * x.sign())],
    domain = [NONZERO],
    special = [[0.0, -0.0, 5e-324]],
    numpy = ["abs", "absolute", "fabs"],
    method = abs;

    /// Sign: -1, 0 or 1, and NaN of NaN; 0 of -0.0 as NumPy's. Its gradient is zero.
    Sign = sign, "sign(x)", "definition",
    (x) => if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        // -0.0 becomes 0.0, and NaN stays.
        x + T::zero()
    },
    vjp(g, y) = [None],
    domain = [NONZERO],
    special = [[0.0, -0.0, 5e-324]],
    numpy = ["sign"];

    /// Reciprocal.
    Reciprocal = reciprocal, "1 / x", "definition",
    (x) => x.recip(),
    vjp(g, y) = [Some(-(g * (y * y)))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-309, 1e-155, 1e155, f64::MAX]],
    numpy = ["reciprocal"];

    /// Logistic function.
    Sigmoid = sigmoid, "1 / (1 + exp(-x))", "definition",
    (x) => x.v_sigmoid(),
    vjp(g, y) = [Some(g * x.sigmoid_slope())],
    domain = [ALL],
    special = [[0.0, 1e-9, 20.0, 37.0, -37.0, 90.0, -709.0, -746.0]],
    scipy = ["expit"],
    method = sigmoid;

    /// Derivative of the logistic function, with all digits on both sides.
    SigmoidSlope = sigmoid_slope, "exp(-x) / (1 + exp(-x))^2", "definition",
    (x) => {
        let e = (-x.abs()).v_exp();
        let sum = T::one() + e;
        e / (sum * sum)
    },
    // y (1 - 2 sigmoid(x)), whose second factor is a hyperbolic tangent.
    vjp(g, y) = [Some(-(g * (y * (x * 0.5).tanh())))],
    domain = [ALL],
    special = [[0.0, 20.0, 37.0, -40.0, 746.0]],
    internal = "the gradients of sigmoid, also where that is 1 but for its last digits";

    /// Logarithm of the logistic function, without overflow for any x.
    LogSigmoid = logsigmoid, "min(x, 0) - ln(1 + exp(-|x|))", "definition",
    (x) => x.v_log_sigmoid(),
    vjp(g, y) = [Some(g * (-x).sigmoid())],
    domain = [ALL],
    special = [[0.0, 1e-9, 37.0, -37.0, 709.0, -709.0]],
    scipy = ["log_expit"],
    method = logsigmoid;

    /// Smooth rectifier, without overflow for any x.
    Softplus = softplus, "max(x, 0) + ln(1 + exp(-|x|))", "definition",
    (x) => x.v_softplus(),
    vjp(g, y) = [Some(g * x.sigmoid())],
    domain = [ALL],
    special = [[0.0, 1e-9, 37.0, -37.0, 709.0, -709.0]],
    method = softplus;

    /// Rectifier; the gradient at 0 is 0, and NaN at NaN.
    Relu = relu, "max(x, 0)", "definition",
    (x) => if x > T::zero() || x.is_nan() { x } else { T::zero() },
    // Where x is not positive, y is 0 or NaN.
    vjp(g, y) = [Some(x.greater(x.constant(0.0)).select(g, y))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 5e-324]],
    method = relu;

    /// The same.
    Positive = positive, "x", "definition",
    (x) -> |x| x,
    vjp(g, y) = [Some(g)],
    domain = [ALL],
    special = [[0.0, -0.0]],
    numpy = ["positive", "conj", "conjugate"];

    /// Cube root.
    Cbrt = cbrt, "x^(1/3)", "definition",
    (x) -> f64::cbrt,
    vjp(g, y) = [Some(g * (1.0 / 3.0) / y / y)],
    domain = [NONZERO],
    special = [[0.0, -0.0, 5e-324, 1.0, -1.0, f64::MAX]],
    numpy = ["cbrt"],
    scipy = ["cbrt"];

    /// Power of 2.
    Exp2 = exp2, "2^x", "DLMF 4.2.26",
    (x) -> f64::exp2,
    vjp(g, y) = [Some(g * (y * LN_2))],
    domain = [ALL],
    special = [[0.0, 1.0, -1022.0, -1074.0, 1023.5]],
    numpy = ["exp2"],
    scipy = ["exp2"];

    /// Power of 10.
    Exp10 = exp10, "10^x", "DLMF 4.2.26",
    (x) -> libm::exp10,
    vjp(g, y) = [Some(g * (y * LN_10))],
    domain = [&[(-1.0, 1.0)]],
    special = [[0.0, 1.0, -307.7, -323.0, 308.2]],
    scipy = ["exp10"];

    /// Logarithm to base 2.
    Log2 = log2, "ln(x) / ln 2", "DLMF 4.2.10",
    (x) -> f64::log2,
    vjp(g, y) = [Some(g * (1.0 / LN_2) / x)],
    domain = [POSITIVE],
    special = [[0.0, 5e-324, 1.0, 2.0, f64::MAX]],
    numpy = ["log2"];

    /// Logarithm to base 10.
    Log10 = log10, "ln(x) / ln 10", "DLMF 4.2.10",
    (x) -> f64::log10,
    vjp(g, y) = [Some(g * (1.0 / LN_10) / x)],
    domain = [POSITIVE],
    special = [[0.0, 5e-324, 1.0, 10.0, f64::MAX]],
    numpy = ["log10"];

    /// The largest integer not above; the gradient is zero.
    Floor = floor, "⌊x⌋", "definition",
    (x) -> f64::floor,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    special = [[0.0, 1.0, -1.0, 2.5, -2.5, 0.49999999999999994]],
    numpy = ["floor"];

    /// The smallest integer not below; the gradient is zero.
    Ceil = ceil, "⌈x⌉", "definition",
    (x) -> f64::ceil,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    special = [[0.0, 1.0, -1.0, 2.5, -2.5]],
    numpy = ["ceil"];

    /// The integer next to x towards zero; the gradient is zero.
    Trunc = trunc, "sign(x) ⌊|x|⌋", "definition",
    (x) -> f64::trunc,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    special = [[0.0, 1.0, -1.0, 2.5, -2.5]],
    numpy = ["trunc"];

    /// The nearest integer, of two the even one; the gradient is zero.
    Rint = rint, "round(x)", "definition",
    (x) -> f64::round_ties_even,
    vjp(g, y) = [None],
    domain = [BETWEEN],
    special = [[0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994]],
    numpy = ["rint"];

    /// Degrees to radians.
    Deg2rad = deg2rad, "π x / 180", "definition",
    (x) -> |x| x * RADIANS,
    vjp(g, y) = [Some(g * RADIANS)],
    domain = [ALL],
    special = [[0.0, 180.0]],
    numpy = ["deg2rad", "radians"];

    /// Radians to degrees.
    Rad2deg = rad2deg, "180 x / π", "definition",
    (x) -> |x| x * (1.0 / RADIANS),
    vjp(g, y) = [Some(g * (1.0 / RADIANS))],
    domain = [&[(-0.1, 0.1)]],
    special = [[0.0, PI]],
    numpy = ["rad2deg", "degrees"];

    /// Logarithm of the odds of a probability.
    Logit = logit, "ln(x / (1 - x))", "definition",
    (x) -> logit,
    vjp(g, y) = [Some(g * x.logit_slope(0))],
    domain = [&[(0.2, 0.8)]],
    special = [[0.0, 1e-300, 0.29999, 0.3, 0.5, 0.65, 1.0, 1.0 - f64::EPSILON / 2.0]],
    scipy = ["logit"];

    /// A derivative of logit's derivative, of order n from 0; NaN below 0 and above 1.
    LogitSlope = logit_slope, "d^n/dx^n 1 / (x (1 - x))", "definition",
    (n; x) -> algebraic::logit_slope,
    vjp(g, y) = [Some(g * x.logit_slope(n + 1))],
    domain = [&[(0.2, 0.8)]],
    special = [[0.0, 1e-300, 0.5, 1.0]],
    internal = "the gradients of logit, also at 0 and 1",
    orders = [0, 1, 3];

    /// Entropy's term, 0 at 0; below 0 it is -inf, as SciPy's, and its derivatives are NaN.
    Entr = entr, "-x ln x", "definition",
    (x) -> entropy::entr,
    vjp(g, y) = [Some(g * x.entr_derivative(1))],
    domain = [POSITIVE],
    special = [[-1.0, 0.0, 1e-300, 0.36787944117144233, 1.0]],
    scipy = ["entr"];

    /// A derivative of entr, of order n from 0; NaN below 0 from the first on.
    EntrDerivative = entr_derivative, "d^n/dx^n -x ln x", "definition",
    (n; x) -> entropy::entr_derivative,
    vjp(g, y) = [Some(g * x.entr_derivative(n + 1))],
    domain = [POSITIVE],
    special = [[0.0, 1.0, -1.0]],
    internal = "the gradients of entr, which end where the function does",
    orders = [0, 1, 2, 3];
}
