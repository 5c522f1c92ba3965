//! Reciprocals of hyperbolic functions, also where these overflow and the reciprocals do not vanish.

/// 1 / cosh x.
pub(crate) fn sech(x: f64) -> f64 {
    if x.abs() > 20.0 {
        2.0 * (-x.abs()).exp()
    } else {
        1.0 / x.cosh()
    }
}

/// 1 / sinh x.
pub(crate) fn csch(x: f64) -> f64 {
    if x.abs() > 20.0 {
        (2.0 * (-x.abs()).exp()).copysign(x)
    } else {
        1.0 / x.sinh()
    }
}
