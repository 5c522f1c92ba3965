//! The floating-point types that kernels are generic over.
//!
//! [`Real`] is a number with its conversions, [`VectorMath`] the elementary functions that it has in
//! forms that vectorise, [`Registers`] the vector registers that hold it. `f32` and `f64` implement
//! all three. The tags by which arrays tell the two apart at run time are not known here:
//! `array` has them, and stands above this module.

use std::fmt;

use super::scaled::Scaled;
use super::vector::Registers;

/// The elementary functions of one floating-point type.
pub trait VectorMath: Registers {
    /// `e^x`.
    fn v_exp(self) -> Self;
    /// `e^x - 1`, accurate near 0.
    fn v_exp_m1(self) -> Self;
    /// The natural logarithm; `-inf` at 0, NaN below.
    fn v_ln(self) -> Self;
    /// `ln(1 + x)`, accurate near 0; `-inf` at -1, NaN below.
    fn v_ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn v_tanh(self) -> Self;
    /// `1 / (1 + e^-x)`, accurate in both tails.
    fn v_sigmoid(self) -> Self;
    /// `ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|)`, finite for finite `x`.
    fn v_log_sigmoid(self) -> Self;
    /// `ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)`, finite for finite `x`.
    fn v_softplus(self) -> Self;
    /// The sine of an angle in radians, which is at most
    /// [`FARTHEST`](super::trigonometric::FARTHEST) in either direction.
    fn v_sin(self) -> Self;
    /// The cosine of such an angle.
    fn v_cos(self) -> Self;
}

/// A floating-point number: what every kernel is generic over.
pub trait Real:
    num_traits::Float
    + num_traits::NumAssign
    + VectorMath
    + Scaled
    + Default
    + std::iter::Sum
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + 'static
{
    /// The nearest value of this type.
    fn of(x: f64) -> Self;
    /// The value as `f64` (exact).
    fn to(self) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn to(self) -> f64 {
        self
    }
}
