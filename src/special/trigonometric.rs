//! Trigonometric functions of degrees and of multiples of π, and the derivatives of sinc.
//!
//! The angle is reduced to one quarter of a turn before it is converted to radians. The reduction
//! rounds nothing, so zeros and poles are exactly at the angles where they belong.

use std::f64::consts::PI;

/// An angle as a number of quarters of a turn, of which only the last two bits matter, and a rest in
/// radians between -π/4 and π/4. `quarter` is a quarter of a turn in the unit of `x`.
fn reduce(x: f64, quarter: f64) -> (u8, f64) {
    let x = x % (4.0 * quarter);
    let count = (x / quarter).round();
    if count == 0.0 {
        // Here -0.0 keeps its sign.
        return (0, x / quarter * (0.5 * PI));
    }
    let radians = (x - count * quarter) / quarter * (0.5 * PI);
    ((count as i8 & 3) as u8, radians)
}

fn sine((quarters, r): (u8, f64)) -> f64 {
    match quarters {
        0 => r.sin(),
        1 => r.cos(),
        2 => -r.sin(),
        _ => -r.cos(),
    }
}

fn cosine((quarters, r): (u8, f64)) -> f64 {
    sine(((quarters + 1) & 3, r))
}

fn tangent((quarters, r): (u8, f64)) -> f64 {
    match quarters & 1 {
        0 => r.tan(),
        _ if r == 0.0 => f64::INFINITY,
        _ => -1.0 / r.tan(),
    }
}

pub(crate) fn sind(x: f64) -> f64 {
    sine(reduce(x, 90.0))
}

pub(crate) fn cosd(x: f64) -> f64 {
    // |x|, so that zeros have one sign on both sides, and the poles of the secant too.
    cosine(reduce(x.abs(), 90.0))
}

pub(crate) fn tand(x: f64) -> f64 {
    tangent(reduce(x, 90.0))
}

pub(crate) fn cotd(x: f64) -> f64 {
    let (quarters, r) = reduce(x, 90.0);
    if r == 0.0 && quarters & 1 == 0 {
        f64::INFINITY
    } else {
        1.0 / tangent((quarters, r))
    }
}

pub(crate) fn sinpi(x: f64) -> f64 {
    sine(reduce(x, 0.5))
}

pub(crate) fn cospi(x: f64) -> f64 {
    cosine(reduce(x.abs(), 0.5))
}

/// The sine and the cosine of `π(x + y)`. The error of the rounded sum, which is all of the sine next to an
/// integer, is added (TwoSum; Knuth, The Art of Computer Programming, volume 2, section 4.2.2).
pub(super) fn sine_and_cosine_of_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    let rest = (x - (sum - part)) + (y - part);
    // The error of a large sum is not small: its sine and cosine are computed too.
    let (s, c) = (sinpi(rest), cospi(rest));
    let (sine, cosine) = (sinpi(sum), cospi(sum));
    (sine * c + s * cosine, cosine * c - s * sine)
}

/// The derivative of order `n` of `sin(πx) / (πx)`; NaN at infinity, as NumPy's quotient.
///
/// By the recurrence `(x·sinc)^(n) = x·sinc^(n) + n·sinc^(n-1) = π^(n-1)·sin(πx + nπ/2)` from order 0 up,
/// which is stable where `πx` is larger than the order; nearer to 0 by the power series.
pub(crate) fn sinc_derivative(n: i32, x: f64) -> f64 {
    if n < 0 || !x.is_finite() {
        return f64::NAN;
    }
    let order = f64::from(n);
    if (PI * x).abs() <= order.max(1.0) {
        return sinc_series(n, x);
    }
    let angle = reduce(x, 0.5);
    let mut value = sine(angle) / (PI * x);
    let mut power = 1.0;
    for k in 1..=n {
        let shifted = ((angle.0 + (k & 3) as u8) & 3, angle.1);
        value = (power * sine(shifted) - f64::from(k) * value) / x;
        power *= PI;
    }
    value
}

/// Σ (-1)^k·π^2k·x^(2k-n) / ((2k+1)·(2k-n)!), over `2k ≥ n`.
fn sinc_series(n: i32, x: f64) -> f64 {
    let y = PI * x;
    let first = (n + 1) / 2;
    let mut size = PI.powi(n) * if first % 2 == 0 { 1.0 } else { -1.0 };
    // (πx)^j / j!, j = 2k - n, which starts at 0 or 1.
    let mut j = f64::from(2 * first - n);
    if j == 1.0 {
        size *= y;
    }
    let mut sum = 0.0;
    for k in first..first + 200 {
        let term = size / (2.0 * f64::from(k) + 1.0);
        sum += term;
        if term.abs() <= f64::EPSILON / 8.0 * sum.abs() {
            break;
        }
        size *= -y / (j + 1.0) * (y / (j + 2.0));
        j += 2.0;
    }
    sum
}
