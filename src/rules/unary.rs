//! Arithmetic, powers, exponentials, logarithms and rounding of one operand.
//!
//! Derivatives are those of any calculus text (Abramowitz & Stegun, ch. 4); where
//! the obvious formula loses accuracy the stable one is used and said.

use super::elementwise::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.3), (0.3, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];

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
    numpy = ["exp"];

    /// Natural logarithm.
    Log = log, "ln(x)", "DLMF 4.2.2",
    (x) => x.v_ln(),
    vjp(g, y) = [Some(g / x)],
    domain = [POSITIVE],
    numpy = ["log"];

    /// Logarithm of 1 + x, accurate near zero.
    Log1p = log1p, "ln(1 + x)", "DLMF 4.2.2",
    (x) => x.v_ln_1p(),
    vjp(g, y) = [Some(g / (x + 1.0))],
    domain = [&[(-0.6, 2.0)]],
    numpy = ["log1p"],
    scipy = ["log1p"];

    /// Exponential minus 1, accurate near zero.
    Expm1 = expm1, "exp(x) - 1", "DLMF 4.2.19",
    (x) => x.v_exp_m1(),
    vjp(g, y) = [Some(g * (y + 1.0))],
    domain = [ALL],
    numpy = ["expm1"],
    scipy = ["expm1"];

    /// Square root.
    Sqrt = sqrt, "x^(1/2)", "DLMF 4.2.26",
    (x) => x.sqrt(),
    vjp(g, y) = [Some(g * 0.5 / y)],
    domain = [POSITIVE],
    numpy = ["sqrt"];

    /// Square.
    Square = square, "x^2", "definition",
    (x) => x * x,
    vjp(g, y) = [Some(g * (x * 2.0))],
    domain = [ALL],
    numpy = ["square"];

    /// Absolute value; the gradient at 0 is 0.
    Abs = abs, "|x|", "definition",
    (x) => x.abs(),
    vjp(g, y) = [Some(g * x.sign())],
    domain = [NONZERO],
    numpy = ["abs", "absolute", "fabs"];

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
    scipy = ["expit"];

    /// Logarithm of the logistic function, without overflow for any x.
    LogSigmoid = logsigmoid, "min(x, 0) - ln(1 + exp(-|x|))", "definition",
    (x) => x.v_log_sigmoid(),
    vjp(g, y) = [Some(g * (-x).sigmoid())],
    domain = [ALL],
    scipy = ["log_expit"];

    /// Smooth rectifier, without overflow for any x.
    Softplus = softplus, "max(x, 0) + ln(1 + exp(-|x|))", "definition",
    (x) => x.v_softplus(),
    vjp(g, y) = [Some(g * x.sigmoid())],
    domain = [ALL];

    /// Rectifier; the gradient at 0 is 0.
    Relu = relu, "max(x, 0)", "definition",
    (x) => if x > T::zero() || x.is_nan() { x } else { T::zero() },
    vjp(g, y) = [Some(g * x.greater(x.constant(0.0)))],
    domain = [NONZERO];
}
