//! Random numbers for both sides.

use rand::{Rng, SeedableRng, XorShiftRng};
use wyrmling::array::Dense;
use wyrmling::{Array, Parameter};

/// As many numbers between -1/2 and 1/2, the same each time.
pub fn numbers(count: usize) -> Vec<f32> {
    let mut rng = XorShiftRng::from_seed([7; 16]);
    (0..count).map(|_| rng.r#gen::<f32>() - 0.5).collect()
}

/// A matrix of wyrm's.
pub fn theirs(rows: usize, columns: usize) -> wyrm::Arr {
    wyrm::Arr::from_shape_vec((rows, columns), numbers(rows * columns)).expect("as many numbers")
}

/// The same for us.
pub fn ours(rows: usize, columns: usize) -> Array {
    let value = Dense::new(&[rows, columns], numbers(rows * columns));
    value.expect("as many numbers").into()
}

/// A parameter of ours.
pub fn parameter(rows: usize, columns: usize) -> Parameter {
    Parameter::new(ours(rows, columns))
}
