//! Trigonometric and hyperbolic functions, and their inverses.

use std::f64::consts::PI;

use super::elementwise;
use crate::rules::Ex;
use crate::simd::trigonometric::FARTHEST;
use crate::special::trigonometric as degrees;

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
const EDGES: [f64; 8] = [30.0, 45.0, 90.0, -90.0, 180.0, -270.0, 360.0, 7290.0];
/// Zeros of sine and cosine, and angles about the bound beyond which the method changes.
const ANGLES: [f64; 7] = [0.5 * PI, PI, -710.0 * PI, 355.0, FARTHEST, -100_001.0, 1e22];
/// One degree.
const RADIANS: f64 = PI / 180.0;

/// The derivative of arcsec, 1 / (|x| √(x² - 1)), in factors that do not overflow.
fn secant_slope(x: Ex<'_>) -> Ex<'_> {
    let x = x.abs();
    x.reciprocal() / (x - 1.0).sqrt() / (x + 1.0).sqrt()
}

elementwise! { $
    /// Sine, of radians.
    Sin = sin, "sin(x)", "DLMF 4.14.1",
    (x) => x.v_sin(), within FARTHEST, else f64::sin,
    vjp(g, y) = [Some(g * x.cos())],
    domain = [ALL],
    edges = ANGLES,
    numpy = ["sin"],
    method = sin;

    /// Cosine, of radians.
    Cos = cos, "cos(x)", "DLMF 4.14.2",
    (x) => x.v_cos(), within FARTHEST, else f64::cos,
    vjp(g, y) = [Some(-(g * x.sin()))],
    domain = [ALL],
    edges = ANGLES,
    numpy = ["cos"],
    method = cos;

    /// Tangent, of radians.
    Tan = tan, "tan(x)", "DLMF 4.14.4",
    (x) -> f64::tan,
    vjp(g, y) = [Some(g * (y * y + 1.0))],
    domain = [&[(-1.0, 1.0)]],
    numpy = ["tan"],
    method = tan;

    /// Hyperbolic tangent.
    Tanh = tanh, "tanh(x)", "DLMF 4.28.4",
    (x) => x.v_tanh(),
    vjp(g, y) = [Some(g * (1.0 - y * y))],
    domain = [ALL],
    numpy = ["tanh"],
    method = tanh;

    /// Secant, of radians.
    Sec = sec, "1 / cos(x)", "DLMF 4.14.6",
    (x) -> |x| 1.0 / x.cos(),
    vjp(g, y) = [Some(g * (y * x.tan()))],
    domain = [&[(-1.0, 1.0)]];

    /// Cosecant, of radians.
    Csc = csc, "1 / sin(x)", "DLMF 4.14.5",
    (x) -> |x| 1.0 / x.sin(),
    vjp(g, y) = [Some(-(g * (y * x.cot())))],
    domain = [NONZERO];

    /// Cotangent, of radians.
    Cot = cot, "1 / tan(x)", "DLMF 4.14.7",
    (x) -> |x| 1.0 / x.tan(),
    vjp(g, y) = [Some(-(g * (y * y + 1.0)))],
    domain = [NONZERO];

    /// Inverse sine, in radians.
    Arcsin = arcsin, "arcsin(x)", "DLMF 4.23.1",
    (x) -> f64::asin,
    vjp(g, y) = [Some(g / ((1.0 - x) * (x + 1.0)).sqrt())],
    domain = [UNIT],
    numpy = ["arcsin", "asin"];

    /// Inverse cosine, in radians.
    Arccos = arccos, "arccos(x)", "DLMF 4.23.2",
    (x) -> f64::acos,
    vjp(g, y) = [Some(-(g / ((1.0 - x) * (x + 1.0)).sqrt()))],
    domain = [UNIT],
    numpy = ["arccos", "acos"];

    /// Inverse tangent, in radians.
    Arctan = arctan, "arctan(x)", "DLMF 4.23.3",
    (x) -> f64::atan,
    vjp(g, y) = [Some(g * x.arctan_slope())],
    domain = [ALL],
    numpy = ["arctan", "atan"];

    /// Derivative of the inverse tangent.
    ArctanSlope = arctan_slope, "1 / (1 + x^2)", "definition",
    (x) -> |x| 1.0 / (1.0 + x * x),
    vjp(g, y) = [Some({
        // -2 x y², of numbers within [-1, 1], so that it is 0 at infinity.
        let one = x.constant(1.0);
        g * (x.direction(one) * one.direction(x) * y * -2.0)
    })],
    domain = [ALL],
    internal = "the gradients of arctan and arccot";

    /// Inverse secant, in radians.
    Arcsec = arcsec, "arccos(1 / x)", "DLMF 4.23.8",
    (x) -> |x| (1.0 / x).acos(),
    vjp(g, y) = [Some(g * secant_slope(x))],
    domain = [OUTSIDE];

    /// Inverse cosecant, in radians.
    Arccsc = arccsc, "arcsin(1 / x)", "DLMF 4.23.7",
    (x) -> |x| (1.0 / x).asin(),
    vjp(g, y) = [Some(-(g * secant_slope(x)))],
    domain = [OUTSIDE];

    /// Inverse cotangent, in radians.
    Arccot = arccot, "arctan(1 / x)", "DLMF 4.23.9",
    (x) -> |x| (1.0 / x).atan(),
    vjp(g, y) = [Some(-(g * x.arctan_slope()))],
    domain = [NONZERO];

    /// Sine, of degrees.
    Sind = sind, "sin(π x / 180)", "DLMF 4.14.1",
    (x) -> degrees::sind,
    vjp(g, y) = [Some(g * (x.cosd() * RADIANS))],
    domain = [DEGREES],
    edges = EDGES,
    scipy = ["sindg"];

    /// Cosine, of degrees.
    Cosd = cosd, "cos(π x / 180)", "DLMF 4.14.2",
    (x) -> degrees::cosd,
    vjp(g, y) = [Some(-(g * (x.sind() * RADIANS)))],
    domain = [DEGREES],
    edges = EDGES,
    scipy = ["cosdg"];

    /// Tangent, of degrees.
    Tand = tand, "tan(π x / 180)", "DLMF 4.14.4",
    (x) -> degrees::tand,
    vjp(g, y) = [Some(g * ((y * y + 1.0) * RADIANS))],
    domain = [DEGREES],
    edges = EDGES,
    scipy = ["tandg"];

    /// Secant, of degrees.
    Secd = secd, "1 / cos(π x / 180)", "DLMF 4.14.6",
    (x) -> |x| 1.0 / degrees::cosd(x),
    vjp(g, y) = [Some(g * (y * x.tand() * RADIANS))],
    domain = [DEGREES];

    /// Cosecant, of degrees.
    Cscd = cscd, "1 / sin(π x / 180)", "DLMF 4.14.5",
    (x) -> |x| 1.0 / degrees::sind(x),
    vjp(g, y) = [Some(-(g * (y * x.cotd() * RADIANS)))],
    domain = [DEGREES];

    /// Cotangent, of degrees.
    Cotd = cotd, "1 / tan(π x / 180)", "DLMF 4.14.7",
    (x) -> degrees::cotd,
    vjp(g, y) = [Some(-(g * ((y * y + 1.0) * RADIANS)))],
    domain = [DEGREES],
    edges = EDGES,
    scipy = ["cotdg"];

    /// Inverse sine, in degrees.
    Arcsind = arcsind, "180 arcsin(x) / π", "DLMF 4.23.1",
    (x) -> |x| x.asin() / RADIANS,
    vjp(g, y) = [Some(g / (((1.0 - x) * (x + 1.0)).sqrt() * RADIANS))],
    domain = [UNIT];

    /// Inverse cosine, in degrees.
    Arccosd = arccosd, "180 arccos(x) / π", "DLMF 4.23.2",
    (x) -> |x| x.acos() / RADIANS,
    vjp(g, y) = [Some(-(g / (((1.0 - x) * (x + 1.0)).sqrt() * RADIANS)))],
    domain = [UNIT];

    /// Inverse tangent, in degrees.
    Arctand = arctand, "180 arctan(x) / π", "DLMF 4.23.3",
    (x) -> |x| x.atan() / RADIANS,
    vjp(g, y) = [Some(g * (x.arctan_slope() * (1.0 / RADIANS)))],
    domain = [ALL];

    /// Inverse secant, in degrees.
    Arcsecd = arcsecd, "180 arccos(1 / x) / π", "DLMF 4.23.8",
    (x) -> |x| (1.0 / x).acos() / RADIANS,
    vjp(g, y) = [Some(g * (secant_slope(x) * (1.0 / RADIANS)))],
    domain = [OUTSIDE];

    /// Inverse cosecant, in degrees.
    Arccscd = arccscd, "180 arcsin(1 / x) / π", "DLMF 4.23.7",
    (x) -> |x| (1.0 / x).asin() / RADIANS,
    vjp(g, y) = [Some(-(g * (secant_slope(x) * (1.0 / RADIANS))))],
    domain = [OUTSIDE];

    /// Inverse cotangent, in degrees.
    Arccotd = arccotd, "180 arctan(1 / x) / π", "DLMF 4.23.9",
    (x) -> |x| (1.0 / x).atan() / RADIANS,
    vjp(g, y) = [Some(-(g * (x.arctan_slope() * (1.0 / RADIANS))))],
    domain = [NONZERO];

    /// Sine of a multiple of π.
    Sinpi = sinpi, "sin(π x)", "DLMF 4.14.1",
    (x) -> degrees::sinpi,
    vjp(g, y) = [Some(g * (x.cospi() * PI))],
    domain = [ALL];

    /// Cosine of a multiple of π.
    Cospi = cospi, "cos(π x)", "DLMF 4.14.2",
    (x) -> degrees::cospi,
    vjp(g, y) = [Some(-(g * (x.sinpi() * PI)))],
    domain = [ALL];

    /// NumPy's sinc; 1 at 0.
    Sinc = sinc, "sin(π x) / (π x)", "definition",
    (x) -> |x| degrees::sinc_derivative(0, x),
    vjp(g, y) = [Some(g * x.sinc_derivative(1))],
    domain = [ALL],
    numpy = ["sinc"];

    /// A derivative of sinc, of order n from 0, smooth at 0.
    SincDerivative = sinc_derivative, "d^n/dx^n sin(π x) / (π x)", "definition",
    (n; x) -> degrees::sinc_derivative,
    vjp(g, y) = [Some(g * x.sinc_derivative(n + 1))],
    domain = [ALL],
    internal = "the gradients of sinc, smooth at 0",
    orders = [1, 2, 5];

    /// Hyperbolic sine.
    Sinh = sinh, "(exp(x) - exp(-x)) / 2", "DLMF 4.28.1",
    (x) -> f64::sinh,
    vjp(g, y) = [Some(g * x.cosh())],
    domain = [ALL],
    numpy = ["sinh"];

    /// Hyperbolic cosine.
    Cosh = cosh, "(exp(x) + exp(-x)) / 2", "DLMF 4.28.2",
    (x) -> f64::cosh,
    vjp(g, y) = [Some(g * x.sinh())],
    domain = [ALL],
    numpy = ["cosh"];

    /// Hyperbolic secant.
    Sech = sech, "1 / cosh(x)", "DLMF 4.28.6",
    (x) -> |x| 1.0 / x.cosh(),
    vjp(g, y) = [Some(-(g * (y * x.tanh())))],
    domain = [ALL];

    /// Hyperbolic cosecant.
    Csch = csch, "1 / sinh(x)", "DLMF 4.28.5",
    (x) -> |x| 1.0 / x.sinh(),
    vjp(g, y) = [Some(-(g * (y * x.coth())))],
    domain = [NONZERO];

    /// Hyperbolic cotangent.
    Coth = coth, "1 / tanh(x)", "DLMF 4.28.7",
    (x) -> |x| 1.0 / x.tanh(),
    vjp(g, y) = [Some(-(g * x.csch().square()))],
    domain = [NONZERO];

    /// Inverse hyperbolic sine.
    Arcsinh = arcsinh, "ln(x + √(x^2 + 1))", "DLMF 4.37.16",
    (x) -> libm::asinh,
    vjp(g, y) = [Some(g / x.hypot(x.constant(1.0)))],
    domain = [ALL],
    numpy = ["arcsinh", "asinh"];

    /// Inverse hyperbolic cosine.
    Arccosh = arccosh, "ln(x + √(x^2 - 1))", "DLMF 4.37.19",
    (x) -> libm::acosh,
    vjp(g, y) = [Some(g / (x - 1.0).sqrt() / (x + 1.0).sqrt())],
    domain = [&[(1.3, 3.0)]],
    edges = [1.0000001],
    numpy = ["arccosh", "acosh"];

    /// Inverse hyperbolic tangent.
    Arctanh = arctanh, "ln((1 + x) / (1 - x)) / 2", "DLMF 4.37.24",
    (x) -> libm::atanh,
    vjp(g, y) = [Some(g / ((1.0 - x) * (x + 1.0)))],
    domain = [UNIT],
    numpy = ["arctanh", "atanh"];

    /// Inverse hyperbolic secant.
    Arcsech = arcsech, "arccosh(1 / x)", "DLMF 4.37.8",
    (x) -> |x| libm::acosh(1.0 / x),
    vjp(g, y) = [Some(-(g / (x * ((1.0 - x) * (x + 1.0)).sqrt())))],
    domain = [&[(0.3, 0.7)]];

    /// Inverse hyperbolic cosecant.
    Arccsch = arccsch, "arcsinh(1 / x)", "DLMF 4.37.7",
    (x) -> |x| libm::asinh(1.0 / x),
    vjp(g, y) = [Some(-(g / (x.abs() * x.hypot(x.constant(1.0)))))],
    domain = [NONZERO];

    /// Inverse hyperbolic cotangent.
    Arccoth = arccoth, "arctanh(1 / x)", "DLMF 4.37.9",
    (x) -> |x| libm::atanh(1.0 / x),
    vjp(g, y) = [Some(g / ((1.0 - x) * (x + 1.0)))],
    domain = [OUTSIDE];
}
