//! Derivatives of any order of inverse trigonometric and hyperbolic functions, and of the logit.
//!
//! Their first derivatives are algebraic: powers `u = d^p` of `d = a + b·x²`, which satisfy
//! `d·u' = p·d'·u`. Comparing coefficients of Taylor's series in that equation gives each coefficient
//! from the two before. Products of operators would cancel near 0 and be ∞ - ∞ at the end of the
//! domain, where `d` is 0. Here nothing cancels near 0, and at the end of the domain the first term
//! of the recurrence outgrows the second and decides. Nothing is squared that could overflow.

use std::f64::consts::PI;

use super::jet::{self, Jet};

/// `d^p` at a point, with `b·x / d` and `b / d`, which the recurrence needs.
struct Power {
    value: f64,
    exponent: f64,
    x_over: f64,
    one_over: f64,
}

impl Power {
    /// Of `d = 1 - x²`, for |x| up to 1.
    fn one_less_square(x: f64, exponent: f64) -> Self {
        let (low, high) = (1.0 - x, 1.0 + x);
        Power {
            value: (low * high).powf(exponent),
            exponent,
            x_over: -(x / high / low),
            one_over: -(1.0 / high / low),
        }
    }

    /// Of `d = x² - 1`, for x from 1 on.
    fn square_less_one(x: f64, exponent: f64) -> Self {
        let (low, high) = (x - 1.0, x + 1.0);
        Power {
            value: low.powf(exponent) * high.powf(exponent),
            exponent,
            x_over: if x.is_infinite() { 0.0 } else { x / high / low },
            one_over: 1.0 / high / low,
        }
    }

    /// Of `d = 1 + x²`, for x from 0 on.
    fn square_and_one(x: f64, exponent: f64) -> Self {
        let length = x.hypot(1.0);
        let (sine, cosine) = (if x.is_infinite() { 1.0 } else { x / length }, 1.0 / length);
        Power {
            value: cosine.powf(-2.0 * exponent),
            exponent,
            x_over: sine * cosine,
            one_over: cosine * cosine,
        }
    }

    /// The first `n + 1` coefficients of Taylor's series.
    fn series(&self, n: usize) -> Jet {
        let mut series = jet::constant(self.value, n);
        for k in 0..n {
            let number = k as f64;
            let before = if k > 0 { series[k - 1] } else { 0.0 };
            let first = 2.0 * (self.exponent - number) * series[k] * self.x_over;
            let second = (2.0 * self.exponent + 1.0 - number) * before * self.one_over;
            let sum = if first.is_infinite() {
                first
            } else {
                first + second
            };
            series[k + 1] = sum / (number + 1.0);
        }
        series
    }

    /// The derivative of order `n`.
    fn derivative(&self, n: i32) -> f64 {
        usize::try_from(n).map_or(f64::NAN, |n| jet::derivative(&self.series(n)))
    }

    /// The derivative of order `n` of this divided by `x`, which is not negative.
    fn over_x(&self, n: i32, x: f64) -> f64 {
        let Ok(order) = usize::try_from(n) else {
            return f64::NAN;
        };
        let (sign, mut reciprocal) = (-1.0, jet::constant(x.recip(), order));
        for k in 1..=order {
            reciprocal[k] = sign * reciprocal[k - 1] / x;
        }
        let series = self.series(order);
        if reciprocal[order].is_infinite() && self.value > 0.0 {
            reciprocal[order]
        } else if series[order].is_infinite() {
            series[order]
        } else {
            jet::derivative(&jet::product(&reciprocal, &series))
        }
    }
}

/// The derivative of order `n` of an even function, from its derivative at |x|.
fn even(n: i32, x: f64, of_positive: impl Fn(f64) -> f64) -> f64 {
    let value = of_positive(x.abs());
    if n % 2 != 0 && x.is_sign_negative() {
        -value
    } else {
        value
    }
}

/// Of `1 / √(1 - x²)`, the derivative of the inverse sine; NaN beyond 1.
pub(crate) fn arcsin_slope(n: i32, x: f64) -> f64 {
    if x.abs() > 1.0 {
        return f64::NAN;
    }
    even(n, x, |x| Power::one_less_square(x, -0.5).derivative(n))
}

/// Of `1 / (1 - x²)`, the derivative of the inverse hyperbolic tangent; NaN beyond 1.
pub(crate) fn arctanh_slope(n: i32, x: f64) -> f64 {
    if x.abs() > 1.0 {
        return f64::NAN;
    }
    even(n, x, |x| Power::one_less_square(x, -1.0).derivative(n))
}

/// Of `1 / √(x² - 1)`, the derivative of the inverse hyperbolic cosine; NaN below 1.
pub(crate) fn arccosh_slope(n: i32, x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    Power::square_less_one(x, -0.5).derivative(n)
}

/// Of `1 / (1 - x²)`, the derivative of the inverse hyperbolic cotangent; NaN within 1.
pub(crate) fn arccoth_slope(n: i32, x: f64) -> f64 {
    if x.abs() < 1.0 {
        return f64::NAN;
    }
    even(n, x, |x| -Power::square_less_one(x, -1.0).derivative(n))
}

/// Of `1 / (|x| √(x² - 1))`, the derivative of the inverse secant; NaN within 1.
pub(crate) fn arcsec_slope(n: i32, x: f64) -> f64 {
    if x.abs() < 1.0 {
        return f64::NAN;
    }
    even(n, x, |x| Power::square_less_one(x, -0.5).over_x(n, x))
}

/// Of `-1 / (x √(1 - x²))`, the derivative of the inverse hyperbolic secant; NaN below 0 and above 1.
pub(crate) fn arcsech_slope(n: i32, x: f64) -> f64 {
    if !(0.0..=1.0).contains(&x) {
        return f64::NAN;
    }
    -Power::one_less_square(x.abs(), -0.5).over_x(n, x.abs())
}

/// Of `-1 / (|x| √(1 + x²))`, the derivative of the inverse hyperbolic cosecant.
pub(crate) fn arccsch_slope(n: i32, x: f64) -> f64 {
    even(n, x, |x| -Power::square_and_one(x, -0.5).over_x(n, x))
}

/// Of `1 / (1 + x²)`, the derivative of the inverse tangent.
pub(crate) fn arctan_slope(n: i32, x: f64) -> f64 {
    even(n, x, |x| Power::square_and_one(x, -1.0).derivative(n))
}

/// Of `1 / x + 1 / (1 - x)`, the derivative of the logit; NaN below 0 and above 1.
pub(crate) fn logit_slope(n: i32, x: f64) -> f64 {
    if n < 0 || !(0.0..=1.0).contains(&x) {
        return f64::NAN;
    }
    let factorial = (1..=n).map(f64::from).product::<f64>();
    let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
    let power = |x: f64| factorial * x.abs().recip().powi(n + 1);
    sign * power(x) + power(1.0 - x)
}

// Next to ±1 the following functions are as steep as a root, or infinite, and the rounding of 1 / x
// would take half of their digits or all. So they are formulas in 1 - x, which is exact there.

/// arccosh(1 / x) as `ln(1 + (1 - x + √(1 - x²)) / x)` (DLMF 4.37.19), also where the reciprocal overflows.
pub(crate) fn arcsech(x: f64) -> f64 {
    if x > 0.0 && x < f64::MIN_POSITIVE {
        return std::f64::consts::LN_2 - x.ln();
    }
    let low = 1.0 - x;
    ((low + (low * (1.0 + x)).sqrt()) / x).ln_1p()
}

/// `√(x² - 1)` for positive x, without overflow; NaN below 1.
fn leg(x: f64) -> f64 {
    (x - 1.0).sqrt() * (x + 1.0).sqrt()
}

/// arccos(1 / x), which is the angle of a right triangle with the hypotenuse x next to the leg 1.
pub(crate) fn arcsec(x: f64) -> f64 {
    let angle = leg(x.abs()).atan();
    if x < 0.0 { PI - angle } else { angle }
}

/// arcsin(1 / x), the other angle of that triangle.
pub(crate) fn arccsc(x: f64) -> f64 {
    (1.0 / leg(x.abs())).atan().copysign(x)
}

/// arctanh(1 / x).
pub(crate) fn arccoth(x: f64) -> f64 {
    (0.5 * (2.0 / (x.abs() - 1.0)).ln_1p()).copysign(x)
}

/// arcsinh(1 / x), also where the reciprocal overflows.
pub(crate) fn arccsch(x: f64) -> f64 {
    if x != 0.0 && x.abs() < f64::MIN_POSITIVE {
        (std::f64::consts::LN_2 - x.abs().ln()).copysign(x)
    } else {
        libm::asinh(1.0 / x)
    }
}

/// The inverse hyperbolic cosine; NaN below 1.
pub(crate) fn arccosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}
