//! Trigonometric and hyperbolic functions, and their inverses.

use std::f64::consts::PI;

use super::elementwise;
use crate::simd::trigonometric::FARTHEST;
use crate::special::{algebraic, hyperbolic, trigonometric as degrees};

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.4), (0.4, 2.0)];
/// Inside the unit interval.
const UNIT: &[(f64, f64)] = &[(-0.7, 0.7)];
/// Outside of it.
const OUTSIDE: &[(f64, f64)] = &[(-3.0, -1.3), (1.3, 3.0)];
/// Degrees, away from right angles.
const DEGREES: &[(f64, f64)] = &[(-70.0, -20.0), (20.0, 70.0)];
/// Multiples of the angles at which zeros and poles are.
const EDGES: [f64; 10] = [
    0.0, 1e-300, 30.0, 45.0, 90.0, -90.0, 180.0, -270.0, 360.0, 7290.0,
];
/// Zeros of sine and cosine, and angles about the bound beyond which the method changes.
const ANGLES: [f64; 10] = [
    0.0,
    -0.0,
    1e-300,
    0.5 * PI,
    PI,
    -710.0 * PI,
    355.0,
    FARTHEST,
    -100_001.0,
    1e22,
];
/// One degree.
const RADIANS: f64 = PI / 180.0;

/// The ends of the interval on which inverse sines are, and numbers beside them.
const UNIT_ENDS: [f64; 9] = [
    0.0,
    1e-300,
    1e-9,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.0 - f64::EPSILON / 2.0,
    -1.0 + f64::EPSILON / 2.0,
];
/// The same for functions that are outside of it.
const BEYOND_UNIT: [f64; 11] = [
    1.0,
    -1.0,
    1.0 + f64::EPSILON,
    -1.0 - f64::EPSILON,
    1.0 + 1e-12,
    -1.0 - 1e-6,
    1.0 + 1e-6,
    2.0,
    -1e8,
    1e155,
    f64::MAX,
];

elementwise! { $
    /// Sine, of radians.
    Sin = sin, "sin(x)", "DLMF 4.14.1",
    (x) => x.v_sin(), within FARTHEST, else f64::sin,
    vjp(g, y) = [Some(g * x.cos())],
    domain = [ALL],
    special = [ANGLES],
    numpy = ["sin"],
    method = sin;

    /// Cosine, of radians.
    Cos = cos, "cos(x)", "DLMF 4.14.2",
    (x) => x.v_cos(), within FARTHEST, else f64::cos,
    vjp(g, y) = [Some(-(g * x.sin()))],
    domain = [ALL],
    special = [ANGLES],
    numpy = ["cos"],
    method = cos;

    /// Tangent, of radians.
    Tan = tan, "tan(x)", "DLMF 4.14.4",
    (x) -> f64::tan,
    vjp(g, y) = [Some(g * (y * y + 1.0))],
    domain = [&[(-1.0, 1.0)]],
    special = [ANGLES],
    numpy = ["tan"],
    method = tan;

    /// Hyperbolic tangent.
    Tanh = tanh, "tanh(x)", "DLMF 4.28.4",
    (x) => x.v_tanh(),
    vjp(g, y) = [Some(g * x.tanh_slope())],
    domain = [ALL],
    special = [[0.0, 1e-9, 1e-300, 9.5, 19.0, 22.0, -350.0, 360.0, 400.0]],
    numpy = ["tanh"],
    method = tanh;

    /// Derivative of the hyperbolic tangent, with all digits far out.
    TanhSlope = tanh_slope, "1 / cosh(x)^2", "DLMF 4.34.3",
    (x) => {
        let e = (T::of(-2.0) * x.abs()).v_exp();
        let sum = T::one() + e;
        T::of(4.0) * e / (sum * sum)
    },
    vjp(g, y) = [Some(g * (y * x.tanh() * -2.0))],
    domain = [ALL],
    special = [[0.0, 9.5, 22.0, 350.0]],
    internal = "the gradients of tanh, also where that is 1 but for its last digits";

    /// Secant, of radians.
    Sec = sec, "1 / cos(x)", "DLMF 4.14.6",
    (x) -> |x| 1.0 / x.cos(),
    vjp(g, y) = [Some(g * (y * x.tan()))],
    domain = [&[(-1.0, 1.0)]],
    special = [ANGLES];

    /// Cosecant, of radians.
    Csc = csc, "1 / sin(x)", "DLMF 4.14.5",
    (x) -> |x| 1.0 / x.sin(),
    vjp(g, y) = [Some(-(g * (y * x.cot())))],
    domain = [NONZERO],
    special = [ANGLES];

    /// Cotangent, of radians.
    Cot = cot, "1 / tan(x)", "DLMF 4.14.7",
    (x) -> |x| 1.0 / x.tan(),
    vjp(g, y) = [Some(-(g * (y * y + 1.0)))],
    domain = [NONZERO],
    special = [ANGLES];

    /// Inverse sine, in radians.
    Arcsin = arcsin, "arcsin(x)", "DLMF 4.23.1",
    (x) -> f64::asin,
    vjp(g, y) = [Some(g * x.arcsin_slope(0))],
    domain = [UNIT],
    special = [UNIT_ENDS],
    numpy = ["arcsin", "asin"];

    /// A derivative of arcsin's derivative, of order n from 0; NaN beyond 1.
    ArcsinSlope = arcsin_slope, "d^n/dx^n 1 / (1 - x^2)^(1/2)", "definition",
    (n; x) -> algebraic::arcsin_slope,
    vjp(g, y) = [Some(g * x.arcsin_slope(n + 1))],
    domain = [UNIT],
    special = [UNIT_ENDS],
    internal = "the gradients of arcsin and arccos, also at -1 and 1",
    orders = [0, 1, 2, 3];

    /// Inverse cosine, in radians.
    Arccos = arccos, "arccos(x)", "DLMF 4.23.2",
    (x) -> f64::acos,
    vjp(g, y) = [Some(-(g * x.arcsin_slope(0)))],
    domain = [UNIT],
    special = [UNIT_ENDS],
    numpy = ["arccos", "acos"];

    /// Inverse tangent, in radians.
    Arctan = arctan, "arctan(x)", "DLMF 4.23.3",
    (x) -> f64::atan,
    vjp(g, y) = [Some(g * x.arctan_slope(0))],
    domain = [ALL],
    special = [[0.0, 1e-300, 1.0, -1.0, 1e16, 1e155, f64::MAX]],
    numpy = ["arctan", "atan"];

    /// A derivative of arctan's derivative, of order n from 0.
    ArctanSlope = arctan_slope, "d^n/dx^n 1 / (1 + x^2)", "definition",
    (n; x) -> algebraic::arctan_slope,
    vjp(g, y) = [Some(g * x.arctan_slope(n + 1))],
    domain = [ALL],
    special = [[0.0, 1.0, -1.0, 1e155, f64::MAX]],
    internal = "the gradients of arctan and arccot",
    orders = [0, 1, 2, 3];

    /// Inverse secant, in radians.
    Arcsec = arcsec, "arccos(1 / x)", "DLMF 4.23.8",
    (x) -> algebraic::arcsec,
    vjp(g, y) = [Some(g * x.arcsec_slope(0))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT];

    /// A derivative of arcsec's derivative, of order n from 0; NaN within 1.
    ArcsecSlope = arcsec_slope, "d^n/dx^n 1 / (|x| (x^2 - 1)^(1/2))", "definition",
    (n; x) -> algebraic::arcsec_slope,
    vjp(g, y) = [Some(g * x.arcsec_slope(n + 1))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT],
    internal = "the gradients of arcsec and arccsc, also at -1 and 1",
    orders = [0, 1, 2, 3];

    /// Inverse cosecant, in radians.
    Arccsc = arccsc, "arcsin(1 / x)", "DLMF 4.23.7",
    (x) -> algebraic::arccsc,
    vjp(g, y) = [Some(-(g * x.arcsec_slope(0)))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT];

    /// Inverse cotangent, in radians.
    Arccot = arccot, "arctan(1 / x)", "DLMF 4.23.9",
    (x) -> |x| (1.0 / x).atan(),
    vjp(g, y) = [Some(-(g * x.arctan_slope(0)))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-300, 1.0, -1.0, 1e155, f64::MAX]];

    /// Sine, of degrees.
    Sind = sind, "sin(π x / 180)", "DLMF 4.14.1",
    (x) -> degrees::sind,
    vjp(g, y) = [Some(g * (x.cosd() * RADIANS))],
    domain = [DEGREES],
    special = [EDGES],
    scipy = ["sindg"];

    /// Cosine, of degrees.
    Cosd = cosd, "cos(π x / 180)", "DLMF 4.14.2",
    (x) -> degrees::cosd,
    vjp(g, y) = [Some(-(g * (x.sind() * RADIANS)))],
    domain = [DEGREES],
    special = [EDGES],
    scipy = ["cosdg"];

    /// Tangent, of degrees.
    Tand = tand, "tan(π x / 180)", "DLMF 4.14.4",
    (x) -> degrees::tand,
    vjp(g, y) = [Some(g * ((y * y + 1.0) * RADIANS))],
    domain = [DEGREES],
    special = [EDGES],
    scipy = ["tandg"];

    /// Secant, of degrees.
    Secd = secd, "1 / cos(π x / 180)", "DLMF 4.14.6",
    (x) -> |x| 1.0 / degrees::cosd(x),
    vjp(g, y) = [Some(g * (y * x.tand() * RADIANS))],
    domain = [DEGREES],
    special = [EDGES];

    /// Cosecant, of degrees.
    Cscd = cscd, "1 / sin(π x / 180)", "DLMF 4.14.5",
    (x) -> |x| 1.0 / degrees::sind(x),
    vjp(g, y) = [Some(-(g * (y * x.cotd() * RADIANS)))],
    domain = [DEGREES],
    special = [EDGES];

    /// Cotangent, of degrees.
    Cotd = cotd, "1 / tan(π x / 180)", "DLMF 4.14.7",
    (x) -> degrees::cotd,
    vjp(g, y) = [Some(-(g * ((y * y + 1.0) * RADIANS)))],
    domain = [DEGREES],
    special = [EDGES],
    scipy = ["cotdg"];

    /// Inverse sine, in degrees.
    Arcsind = arcsind, "180 arcsin(x) / π", "DLMF 4.23.1",
    (x) -> |x| x.asin() / RADIANS,
    vjp(g, y) = [Some(g * (x.arcsin_slope(0) * (1.0 / RADIANS)))],
    domain = [UNIT],
    special = [UNIT_ENDS];

    /// Inverse cosine, in degrees.
    Arccosd = arccosd, "180 arccos(x) / π", "DLMF 4.23.2",
    (x) -> |x| x.acos() / RADIANS,
    vjp(g, y) = [Some(-(g * (x.arcsin_slope(0) * (1.0 / RADIANS))))],
    domain = [UNIT],
    special = [UNIT_ENDS];

    /// Inverse tangent, in degrees.
    Arctand = arctand, "180 arctan(x) / π", "DLMF 4.23.3",
    (x) -> |x| x.atan() / RADIANS,
    vjp(g, y) = [Some(g * (x.arctan_slope(0) * (1.0 / RADIANS)))],
    domain = [ALL],
    special = [[0.0, 1e-300, 1.0, -1.0, 1e155]];

    /// Inverse secant, in degrees.
    Arcsecd = arcsecd, "180 arccos(1 / x) / π", "DLMF 4.23.8",
    (x) -> |x| algebraic::arcsec(x) / RADIANS,
    vjp(g, y) = [Some(g * (x.arcsec_slope(0) * (1.0 / RADIANS)))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT];

    /// Inverse cosecant, in degrees.
    Arccscd = arccscd, "180 arcsin(1 / x) / π", "DLMF 4.23.7",
    (x) -> |x| algebraic::arccsc(x) / RADIANS,
    vjp(g, y) = [Some(-(g * (x.arcsec_slope(0) * (1.0 / RADIANS))))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT];

    /// Inverse cotangent, in degrees.
    Arccotd = arccotd, "180 arctan(1 / x) / π", "DLMF 4.23.9",
    (x) -> |x| (1.0 / x).atan() / RADIANS,
    vjp(g, y) = [Some(-(g * (x.arctan_slope(0) * (1.0 / RADIANS))))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-300, 1.0, -1.0, 1e155]];

    /// Sine of a multiple of π.
    Sinpi = sinpi, "sin(π x)", "DLMF 4.14.1",
    (x) -> degrees::sinpi,
    vjp(g, y) = [Some(g * (x.cospi() * PI))],
    domain = [ALL],
    special = [[0.0, 0.25, 0.5, 1.0, -1.5, 2.0, 1e15, 1e17]];

    /// Cosine of a multiple of π.
    Cospi = cospi, "cos(π x)", "DLMF 4.14.2",
    (x) -> degrees::cospi,
    vjp(g, y) = [Some(-(g * (x.sinpi() * PI)))],
    domain = [ALL],
    special = [[0.0, 0.25, 0.5, 1.0, -1.5, 2.0, 1e15, 1e17]];

    /// NumPy's sinc; 1 at 0, NaN at infinity.
    Sinc = sinc, "sin(π x) / (π x)", "definition",
    (x) -> |x| degrees::sinc_derivative(0, x),
    vjp(g, y) = [Some(g * x.sinc_derivative(1))],
    domain = [ALL],
    special = [[0.0, 1e-300, 1e-8, 0.5, 1.0, -2.0, 1e10]],
    numpy = ["sinc"];

    /// A derivative of sinc, of order n from 0, smooth at 0.
    SincDerivative = sinc_derivative, "d^n/dx^n sin(π x) / (π x)", "definition",
    (n; x) -> degrees::sinc_derivative,
    vjp(g, y) = [Some(g * x.sinc_derivative(n + 1))],
    domain = [ALL],
    special = [[0.0, 1e-8, 0.5, 1.0, -2.0]],
    internal = "the gradients of sinc, smooth at 0",
    orders = [1, 2, 5];

    /// Hyperbolic sine.
    Sinh = sinh, "(exp(x) - exp(-x)) / 2", "DLMF 4.28.1",
    (x) -> f64::sinh,
    vjp(g, y) = [Some(g * x.cosh())],
    domain = [ALL],
    special = [[0.0, 1e-300, 1e-9, 22.0, 709.0, -710.4]],
    numpy = ["sinh"];

    /// Hyperbolic cosine.
    Cosh = cosh, "(exp(x) + exp(-x)) / 2", "DLMF 4.28.2",
    (x) -> f64::cosh,
    vjp(g, y) = [Some(g * x.sinh())],
    domain = [ALL],
    special = [[0.0, 1e-300, 1e-9, 22.0, 709.0, -710.4]],
    numpy = ["cosh"];

    /// Hyperbolic secant.
    Sech = sech, "1 / cosh(x)", "DLMF 4.28.6",
    (x) -> hyperbolic::sech,
    vjp(g, y) = [Some(-(g * (y * x.tanh())))],
    domain = [ALL],
    special = [[0.0, 1e-9, 22.0, 355.0, 709.0, -740.0]];

    /// Hyperbolic cosecant.
    Csch = csch, "1 / sinh(x)", "DLMF 4.28.5",
    (x) -> hyperbolic::csch,
    vjp(g, y) = [Some(-(g * (y * x.coth())))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-9, 22.0, 355.0, 709.0, -740.0]];

    /// Hyperbolic cotangent.
    Coth = coth, "1 / tanh(x)", "DLMF 4.28.7",
    (x) -> |x| 1.0 / x.tanh(),
    vjp(g, y) = [Some(-(g * x.csch().square()))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-9, 19.0, 22.0, 355.0, -360.0]];

    /// Inverse hyperbolic sine.
    Arcsinh = arcsinh, "ln(x + √(x^2 + 1))", "DLMF 4.37.16",
    (x) -> libm::asinh,
    vjp(g, y) = [Some(g / x.hypot(x.constant(1.0)))],
    domain = [ALL],
    special = [[0.0, 1e-300, 1e-9, 1.0, 1e16, 1e155, f64::MAX]],
    numpy = ["arcsinh", "asinh"];

    /// Inverse hyperbolic cosine.
    Arccosh = arccosh, "ln(x + √(x^2 - 1))", "DLMF 4.37.19",
    (x) -> algebraic::arccosh,
    vjp(g, y) = [Some(g * x.arccosh_slope(0))],
    domain = [&[(1.3, 3.0)]],
    special = [BEYOND_UNIT],
    numpy = ["arccosh", "acosh"];

    /// A derivative of arccosh's derivative, of order n from 0; NaN below 1.
    ArccoshSlope = arccosh_slope, "d^n/dx^n 1 / (x^2 - 1)^(1/2)", "definition",
    (n; x) -> algebraic::arccosh_slope,
    vjp(g, y) = [Some(g * x.arccosh_slope(n + 1))],
    domain = [&[(1.3, 3.0)]],
    special = [[1.0, 1.0 + f64::EPSILON, 2.0, 1e155]],
    internal = "the gradients of arccosh, also at 1",
    orders = [0, 1, 2, 3];

    /// Inverse hyperbolic tangent.
    Arctanh = arctanh, "ln((1 + x) / (1 - x)) / 2", "DLMF 4.37.24",
    (x) -> libm::atanh,
    vjp(g, y) = [Some(g * x.arctanh_slope(0))],
    domain = [UNIT],
    special = [UNIT_ENDS],
    numpy = ["arctanh", "atanh"];

    /// A derivative of arctanh's derivative, of order n from 0; NaN beyond 1.
    ArctanhSlope = arctanh_slope, "d^n/dx^n 1 / (1 - x^2)", "definition",
    (n; x) -> algebraic::arctanh_slope,
    vjp(g, y) = [Some(g * x.arctanh_slope(n + 1))],
    domain = [UNIT],
    special = [UNIT_ENDS],
    internal = "the gradients of arctanh, also at -1 and 1",
    orders = [0, 1, 2, 3];

    /// Inverse hyperbolic secant.
    Arcsech = arcsech, "arccosh(1 / x)", "DLMF 4.37.8",
    (x) -> algebraic::arcsech,
    vjp(g, y) = [Some(g * x.arcsech_slope(0))],
    domain = [&[(0.3, 0.7)]],
    special = [[0.0, 5e-324, 1e-300, 0.5, 1.0, 1.0 - f64::EPSILON / 2.0, 1.0 - 1e-12, 1.0 - 1e-6]];

    /// A derivative of arcsech's derivative, of order n from 0; NaN below 0 and above 1.
    ArcsechSlope = arcsech_slope, "d^n/dx^n -1 / (x (1 - x^2)^(1/2))", "definition",
    (n; x) -> algebraic::arcsech_slope,
    vjp(g, y) = [Some(g * x.arcsech_slope(n + 1))],
    domain = [&[(0.3, 0.7)]],
    special = [[0.0, 1e-300, 0.5, 1.0]],
    internal = "the gradients of arcsech, also at 0 and 1",
    orders = [0, 1, 2, 3];

    /// Inverse hyperbolic cosecant.
    Arccsch = arccsch, "arcsinh(1 / x)", "DLMF 4.37.7",
    (x) -> algebraic::arccsch,
    vjp(g, y) = [Some(g * x.arccsch_slope(0))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 5e-324, 1e-300, 1.0, -1.0, 1e16, 1e155]];

    /// A derivative of arccsch's derivative, of order n from 0.
    ArccschSlope = arccsch_slope, "d^n/dx^n -1 / (|x| (1 + x^2)^(1/2))", "definition",
    (n; x) -> algebraic::arccsch_slope,
    vjp(g, y) = [Some(g * x.arccsch_slope(n + 1))],
    domain = [NONZERO],
    special = [[0.0, -0.0, 1e-300, 1.0, 1e155]],
    internal = "the gradients of arccsch, also at 0 and far out",
    orders = [0, 1, 2, 3];

    /// Inverse hyperbolic cotangent.
    Arccoth = arccoth, "arctanh(1 / x)", "DLMF 4.37.9",
    (x) -> algebraic::arccoth,
    vjp(g, y) = [Some(g * x.arccoth_slope(0))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT];

    /// A derivative of arccoth's derivative, of order n from 0; NaN within 1.
    ArccothSlope = arccoth_slope, "d^n/dx^n 1 / (1 - x^2)", "definition",
    (n; x) -> algebraic::arccoth_slope,
    vjp(g, y) = [Some(g * x.arccoth_slope(n + 1))],
    domain = [OUTSIDE],
    special = [BEYOND_UNIT],
    internal = "the gradients of arccoth, also at -1 and 1",
    orders = [0, 1, 2, 3];
}
