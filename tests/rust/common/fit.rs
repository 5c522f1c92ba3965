//! Training runs as tests set them up.

use std::sync::atomic::AtomicBool;

use wyrmling::exec::Program;
use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, Input, Result};

/// The samples of an input.
pub fn column(input: &Input, samples: impl Into<Array>) -> (u64, Source) {
    (input.id(), Source::Column(samples.into()))
}

/// One epoch in one thread.
pub fn once(sources: Vec<(u64, Source)>, batch_size: usize) -> Fit {
    Fit {
        sources,
        epochs: 0..1,
        batch_size,
        threads: 1,
        seed: 0,
        deterministic: false,
    }
}

/// Trains, and nobody watches.
pub fn fit(program: &Program, fit: &Fit, optimizer: &Optimizer) -> Result<History> {
    let mut watch = |_: usize, _: &History| Flow::Continue;
    train::fit(program, fit, optimizer, &AtomicBool::new(false), &mut watch)
}
