//! What several lines share: random numbers for both sides, and epochs of a frozen graph.

use std::sync::atomic::AtomicBool;

use rand::{Rng, SeedableRng, XorShiftRng};
use wyrmling::array::Dense;
use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, Parameter, Program};

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

/// Trains a program for so many epochs, on one thread.
pub fn fit(
    program: &Program,
    sources: Vec<(u64, Source)>,
    epochs: usize,
    batch_size: usize,
    optimizer: &Optimizer,
) {
    let fit = Fit {
        sources,
        epochs: 0..epochs,
        batch_size,
        threads: 1,
        seed: 1,
        deterministic: false,
    };
    let go_on = &mut |_: usize, _: &History| Flow::Continue;
    train::fit(program, &fit, optimizer, &AtomicBool::new(false), go_on).expect("a fit");
}
