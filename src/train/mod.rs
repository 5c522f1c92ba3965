//! Training: a frozen program over columns of data, by one worker or many.
//!
//! [`fit()`] binds columns and samplers to a program's inputs, shuffles every epoch, and runs
//! batches: forward, backward and update in one plan, without allocating. Several workers
//! update shared tables without locks (Hogwild; Recht et al. 2011). [`parallel()`] is the
//! other way, for models written as typed graphs in Rust: every worker builds its own graph
//! over shared tables.

mod data;
mod fit;
mod history;
mod known;
mod parallel;
mod samples;
pub mod sampling;
mod shuffle;
mod stream;
mod worker;

pub use data::Source;
pub use fit::{Fit, Observer, fit};
pub use history::{Flow, History};
pub use parallel::{Member, parallel};
pub use sampling::Sampler;
