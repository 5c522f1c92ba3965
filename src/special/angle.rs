//! The partial derivatives of the angle of a point, of any order, near the origin and far from it.

use super::partial;

/// Partial derivative number `n` (see [`partial`]) of the angle of the point (x, y), by `y` and `x` in
/// that order; 0 at the origin.
///
/// With `z = x + i·y` the angle is the imaginary part of ln z. The derivative of ln z, taken `m` times
/// by `y` and `k` times by `x`, is `i^m·(-1)^(m+k-1)·(m+k-1)!·z^-(m+k)`.
pub(crate) fn angle_derivative(n: i32, y: f64, x: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    let order = m + k;
    if order == 0 {
        return y.atan2(x);
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let largest = x.abs().max(y.abs());
    if largest == 0.0 || largest.is_infinite() {
        return 0.0;
    }
    let (x, y) = (x / largest, y / largest);
    let length = x.hypot(y);
    // The reciprocal of z / |z|, to be raised to the power m + k.
    let (cosine, sine) = (x / length, -y / length);
    let (mut real, mut imaginary) = (1.0, 0.0);
    for _ in 0..order {
        (real, imaginary) = (
            real * cosine - imaginary * sine,
            real * sine + imaginary * cosine,
        );
    }
    let part = match m % 4 {
        0 => imaginary,
        1 => real,
        2 => -imaginary,
        _ => -real,
    };
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    let factorial = (1..order).map(f64::from).product::<f64>();
    (0..order).fold(sign * factorial * part, |value, _| value / length / largest)
}

/// The cosine of the angle of the point (x, y), also where squares or their sum overflow.
pub(crate) fn direction(x: f64, y: f64) -> f64 {
    let largest = x.abs().max(y.abs());
    if x.is_nan() || y.is_nan() {
        // Also if the other is infinite: then the length is known, but not the angle.
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
