//! Airy functions of real numbers, and their derivatives.
//!
//! Within 9.5 of zero a solution of `y'' = x·y` (DLMF 9.2.1) is carried from where it is known by
//! Taylor series of the equation, in the direction in which it grows or oscillates, since there it
//! grows at least as fast as its errors. Farther out asymptotic series are used (DLMF 9.7(ii)); their
//! exponent or phase is computed with twice the digits of a float64. Errors are relative to the
//! function, or to the amplitude of its oscillation; far below zero the phase has no digit left, and
//! the result is NaN.

use std::f64::consts::{FRAC_PI_4, PI};

use super::jet::{self, Jet};

/// A solution and its derivative.
type SolutionAndSlope = (f64, f64);

/// From here on asymptotic series are used: their least term is below the rounding unit.
const FAR: f64 = 9.5;
/// Below this the result is NaN: here the phase is 10^18, and begins to lose digits.
const LOST: f64 = -1e12;
/// Ai and Ai' at 0 (DLMF 9.2.3, 9.2.4). Bi is Ai times √3 there, and Bi' is Ai' times -√3.
const ZERO: SolutionAndSlope = (0.355_028_053_887_817_2, -0.258_819_403_792_806_8);

/// The derivative of order `n` of Ai.
pub(crate) fn airy_ai(n: i32, x: f64) -> f64 {
    derivative(n, x, ai(x))
}

/// The derivative of order `n` of Bi.
pub(crate) fn airy_bi(n: i32, x: f64) -> f64 {
    derivative(n, x, bi(x))
}

fn ai(x: f64) -> SolutionAndSlope {
    match x {
        FAR.. if x > 1e5 => (0.0, 0.0),
        FAR.. => {
            let (zeta, rest) = zeta(x);
            let scale = (-zeta).exp() * (-rest).exp();
            let (y, slope) = far(zeta, x, DECAYS);
            (scale * y, scale * slope)
        }
        0.5..FAR => carry(FAR, ai(FAR), x),
        _ => oscillating(x, ZERO, FRAC_PI_4),
    }
}

fn bi(x: f64) -> SolutionAndSlope {
    let zero = (ZERO.0 * 3.0_f64.sqrt(), -ZERO.1 * 3.0_f64.sqrt());
    match x {
        FAR.. if x > 1e5 => (f64::INFINITY, f64::INFINITY),
        FAR.. => {
            let (zeta, rest) = zeta(x);
            // Multiplied in two steps, since e^ζ may overflow where the product does not.
            let half = (0.5 * zeta).exp();
            let scale = half * rest.exp();
            let (y, slope) = far(zeta, x, GROWS);
            (y * scale * half, slope * scale * half)
        }
        // All terms of the series at 0 are positive, so that nothing cancels.
        0.0..FAR => step(0.0, zero, x),
        _ => oscillating(x, zero, -FRAC_PI_4),
    }
}

/// The sign of the exponent of the asymptotic form tells the solutions apart: this is Ai.
const DECAYS: f64 = -1.0;
/// And this is Bi.
const GROWS: f64 = 1.0;

/// Ai or Bi and its derivative beyond [`FAR`], each divided by the exponential factor `e^(±ζ)` of its
/// asymptotic form.
fn far(zeta: f64, x: f64, sign: f64) -> SolutionAndSlope {
    let [[p, q], [r, s]] = sums(zeta, 1.0);
    let scale = if sign < 0.0 { 0.5 } else { 1.0 } / PI.sqrt();
    scaled(x, scale * (p + sign * q), scale * (sign * r + s))
}

/// The derivative of order `n` of `e^ζ·Ai(x)`, for `ζ = 2/3·x^(3/2)`; NaN below 0.
pub(crate) fn airy_aie(n: i32, x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    scaled_derivative(n, x, DECAYS)
}

/// The derivative of order `n` of `e^-ζ·Bi(x)`; of `Bi(x)` below 0.
pub(crate) fn airy_bie(n: i32, x: f64) -> f64 {
    if x < 0.0 {
        return airy_bi(n, x);
    }
    scaled_derivative(n, x, GROWS)
}

/// `e^ζ·Ai'(x)`; NaN below 0.
pub(crate) fn airy_aie_slope(x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    scaled_slope(x, DECAYS)
}

/// `e^-ζ·Bi'(x)`; `Bi'(x)` below 0.
pub(crate) fn airy_bie_slope(x: f64) -> f64 {
    if x < 0.0 {
        return airy_bi(1, x);
    }
    scaled_slope(x, GROWS)
}

/// The slope divided by the exponential factor of the solution's asymptotic form, for `x ≥ 0`.
fn scaled_slope(x: f64, sign: f64) -> f64 {
    if x >= FAR {
        return far(zeta(x).0, x, sign).1;
    }
    let slope = if sign < 0.0 { ai(x).1 } else { bi(x).1 };
    slope * inverse_exponential(x, sign)
}

/// The derivative of order `n` of a solution divided by the exponential factor of its asymptotic
/// form, for `x ≥ 0`.
fn scaled_derivative(n: i32, x: f64, sign: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if x >= FAR {
        return scaled_far(n, x, sign);
    }
    if x == 0.0 && n >= 2 {
        // Those of the factor, whose exponent is a multiple of x^(3/2), are infinite.
        let even = if n % 2 == 0 { 1.0 } else { -1.0 };
        return -sign * even * f64::INFINITY;
    }
    let y = if sign < 0.0 { ai(x) } else { bi(x) };
    let mut solution = Jet::new();
    let mut factorial = 1.0;
    for k in 0..=n {
        factorial *= f64::from(k.max(1));
        solution.push(derivative(k, x, y) / factorial);
    }
    // Taylor's series of the exponent, by the binomial series of its derivative ∓√x.
    let mut exponent = jet::constant(0.0, order);
    let mut root = x.sqrt();
    for k in 1..=order {
        let number = k as f64;
        exponent[k] = -sign * root / number;
        // The product comes first: a number divided by a subnormal x would be infinite.
        root = root * ((1.5 - number) / number) / x;
    }
    let scale = inverse_exponential(x, sign);
    jet::derivative(&jet::product(&solution, &jet::exp(scale, &exponent)))
}

/// The inverse of the exponential factor: `e^ζ` for Ai and `e^-ζ` for Bi.
fn inverse_exponential(x: f64, sign: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let (zeta, rest) = zeta(x);
    (-sign * zeta).exp() * (-sign * rest).exp()
}

/// [`scaled_derivative`] beyond [`FAR`]: the asymptotic series (DLMF 9.7.5, 9.7.7) is a sum of powers
/// of `x`, which are differentiated one by one.
fn scaled_far(n: i32, x: f64, sign: f64) -> f64 {
    let zeta = x * x.sqrt() / 1.5;
    let (mut term, mut sum, mut last) = (1.0, 0.0, f64::INFINITY);
    for k in 0..60 {
        let power = -0.25 - 1.5 * f64::from(k);
        let part = (0..n).fold(term, |part, j| part * (power - f64::from(j)) / x);
        if part.abs() > last {
            break;
        }
        sum += part;
        last = part.abs();
        if last <= f64::EPSILON / 16.0 * sum.abs() {
            break;
        }
        term *= sign * ratio(k + 1) / zeta;
    }
    let scale = if sign < 0.0 { 0.5 } else { 1.0 } / PI.sqrt();
    scale * sum / x.sqrt().sqrt()
}

/// The derivative of order `n` of a solution, by the equation `y'' = x·y`, differentiated.
fn derivative(n: i32, x: f64, (y, slope): SolutionAndSlope) -> f64 {
    if n < 0 {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return y;
    }
    let mut last = [0.0, y, slope];
    for k in 0..n {
        last = [last[1], last[2], x * last[1] + f64::from(k) * last[0]];
    }
    last[1]
}

/// `y` times `x^(-1/4)`, and the slope times `x^(1/4)`.
fn scaled(x: f64, y: f64, slope: f64) -> SolutionAndSlope {
    let root = x.sqrt().sqrt();
    (y / root, slope * root)
}

/// A solution below 0.5, from its values at 0. `phase` is the phase of its oscillation (DLMF 9.7.9 to
/// 9.7.12); that of Bi is a quarter of a turn behind that of Ai.
fn oscillating(x: f64, zero: SolutionAndSlope, phase: f64) -> SolutionAndSlope {
    if x > -0.5 * FAR {
        return carry(0.0, zero, x);
    }
    if x > -FAR {
        return carry(-FAR, oscillating(-FAR, zero, phase), x);
    }
    if x == f64::NEG_INFINITY {
        return (0.0, f64::NAN);
    }
    if x < LOST || x.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    let (zeta, rest) = zeta(-x);
    let [[p, q], [r, s]] = sums(zeta, -1.0);
    let ((a, b), (c, d)) = (zeta.sin_cos(), (rest - phase).sin_cos());
    let (sin, cos) = (a * d + b * c, b * d - a * c);
    let scale = 1.0 / PI.sqrt();
    scaled(-x, scale * (cos * p + sin * q), scale * (sin * r - cos * s))
}

/// `ζ = 2/3·x^(3/2)` as a sum of two numbers: the rounded value and its error.
fn zeta(x: f64) -> (f64, f64) {
    let root = x.sqrt();
    // √x = root + rest, x·√x = product + more, to twice the digits.
    let rest = (-root).mul_add(root, x) / (2.0 * root);
    let product = x * root;
    let more = x.mul_add(root, -product) + x * rest;
    let zeta = product / 1.5;
    (zeta, ((-1.5_f64).mul_add(zeta, product) + more) / 1.5)
}

/// `u_k / u_(k-1)` (DLMF 9.7.2).
fn ratio(k: i32) -> f64 {
    let six = 6.0 * f64::from(k);
    (six - 5.0) * (six - 3.0) * (six - 1.0) / ((six / 3.0 - 1.0) * 36.0 * six)
}

/// The sums of the even and of the odd terms of `Σ u_k/ζ^k`, and of `Σ v_k/ζ^k` (DLMF 9.7.2). Where
/// `sign` is -1 the terms of each sum alternate.
fn sums(zeta: f64, sign: f64) -> [[f64; 2]; 2] {
    let mut sums = [[1.0, 0.0], [1.0, 0.0]];
    let (mut term, mut factor) = (1.0, 1.0);
    for k in 1..40 {
        let six = 6.0 * f64::from(k);
        term *= ratio(k) / zeta;
        let odd = k % 2;
        factor *= if odd == 0 { sign } else { 1.0 };
        sums[0][odd as usize] += factor * term;
        sums[1][odd as usize] += factor * term * (six + 1.0) / (1.0 - six);
        if term < f64::EPSILON / 16.0 {
            break;
        }
    }
    sums
}

/// A solution at `to`, from its values at `at`.
fn carry(mut at: f64, mut values: SolutionAndSlope, to: f64) -> SolutionAndSlope {
    // In a long step the terms of an oscillating solution would cancel.
    let longest = if at > 0.0 { 3.0 } else { 1.0 };
    while (to - at).abs() > longest {
        let h = longest.copysign(to - at);
        values = step(at, values, h);
        at += h;
    }
    step(at, values, to - at)
}

/// A solution at `x + h`, by its Taylor series at `x`.
fn step(x: f64, (y, slope): SolutionAndSlope, h: f64) -> SolutionAndSlope {
    // A step this short changes nothing, and `slope * h` could underflow.
    if h.abs() < 1e-100 {
        return (y, slope);
    }
    let (a, b) = (x * h * h, h * h * h);
    let mut last = [0.0, y, slope * h];
    let (mut sum, mut change) = (y + last[2], last[2]);
    for k in 2..200 {
        let order = f64::from(k);
        let next = (a * last[1] + b * last[0]) / (order * (order - 1.0));
        last = [last[1], last[2], next];
        sum += next;
        change += order * next;
        let size: f64 = last.iter().map(|x| x.abs()).sum();
        if size * order <= f64::EPSILON / 16.0 * (sum.abs() + change.abs()) {
            break;
        }
    }
    (sum, change / h)
}
