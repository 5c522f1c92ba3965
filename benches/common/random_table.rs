//! A table of random numbers, which training starts from.

use std::sync::Arc;

use rand::Rng;
use wyrmling::array::Dense;
use wyrmling::{Result, Table};

/// A table of numbers drawn between -0.1 and 0.1.
pub fn random_table(shape: &[usize], rng: &mut impl Rng) -> Result<Arc<Table>> {
    let mut number = || f64::from(rng.next_u32()) / f64::from(u32::MAX) - 0.5;
    let numbers = (0..shape.iter().product()).map(|_| (0.2 * number()) as f32);
    let value = Dense::new(shape, numbers.collect())?;
    Ok(Arc::new(Table::new(&value.into(), None)?))
}
