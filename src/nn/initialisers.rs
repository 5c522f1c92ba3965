//! Random arrays that training starts from.
//!
//! The formulas are those of Glorot and Bengio, "Understanding the difficulty of training deep
//! feedforward neural networks", 2010 ([`xavier`]), and He et al., "Delving deep into rectifiers", 2015
//! ([`he`]). Fans are the lengths of the last two axes, of a vector its length twice.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

use crate::array::{Array, Dense, element_count, show_shape};
use crate::error::{Error, Result};

/// An array of numbers that a function gives one by one.
fn filled(shape: &[usize], mut number: impl FnMut() -> f64) -> Result<Array> {
    let count = element_count(shape)?;
    let mut numbers: Vec<f32> = crate::array::vec_for(shape)?;
    numbers.extend((0..count).map(|_| number() as f32));
    Ok(Dense::new(shape, numbers)?.into())
}

/// Largest scale: a normal number is at most about ten times its scale, which float32 holds.
const MOST: f64 = 1e36;

/// Refuses what is no scale.
fn check(name: &str, scale: f64) -> Result<()> {
    match (0.0..=MOST).contains(&scale) {
        true => Ok(()),
        false => Err(Error::Value(format!(
            "{name} is {scale}, expected 0 to {MOST:e}"
        ))),
    }
}

/// Independent normal numbers of float32 around 0, of standard deviation `scale`.
///
/// # Errors
/// [`Error::Value`] if `scale` is negative or more than 1e36; [`Error::Shape`] or [`Error::Memory`] if the
/// array is too large.
pub fn normal(shape: &[usize], scale: f64, rng: &mut impl Rng) -> Result<Array> {
    check("scale", scale)?;
    filled(shape, || {
        let number: f64 = StandardNormal.sample(rng);
        scale * number
    })
}

/// Independent numbers of float32 between `-bound` and `bound`.
///
/// # Errors
/// [`Error::Value`] if `bound` is negative or more than 1e36; [`Error::Shape`] or [`Error::Memory`] if the
/// array is too large.
pub fn uniform(shape: &[usize], bound: f64, rng: &mut impl Rng) -> Result<Array> {
    check("bound", bound)?;
    filled(shape, || {
        let number: f64 = StandardUniform.sample(rng);
        bound * (2.0 * number - 1.0)
    })
}

/// Uniform numbers within `sqrt(6 / (fan_in + fan_out))`: for layers with tanh or sigmoid.
///
/// # Errors
/// [`Error::Value`] for a shape without axes or with an empty one; [`Error::Shape`] or [`Error::Memory`] if
/// the array is too large.
pub fn xavier(shape: &[usize], rng: &mut impl Rng) -> Result<Array> {
    let [fan_in, fan_out] = fans(shape)?;
    uniform(shape, (6.0 / (fan_in + fan_out)).sqrt(), rng)
}

/// Normal numbers of standard deviation `sqrt(2 / fan_in)`: for layers with ReLU.
///
/// # Errors
/// As [`xavier`].
pub fn he(shape: &[usize], rng: &mut impl Rng) -> Result<Array> {
    let [fan_in, _] = fans(shape)?;
    normal(shape, (2.0 / fan_in).sqrt(), rng)
}

fn fans(shape: &[usize]) -> Result<[f64; 2]> {
    match *shape {
        [.., a, b] if !shape.contains(&0) => Ok([a as f64, b as f64]),
        [a] if a > 0 => Ok([a as f64; 2]),
        _ => Err(Error::Value(format!(
            "shape is {}, expected at least one axis and no empty one",
            show_shape(shape)
        ))),
    }
}
