//! Training: a frozen program, or a function of one sample, over columns of data, by one worker or
//! many.
//!
//! [`fit()`] binds columns and samplers to a program's inputs, shuffles every epoch, and runs
//! batches: forward, backward and update in one plan, without allocating. [`fit_function()`] does so for
//! a function with loops and branches, which runs sample by sample, on arrays that may differ in length
//! ([`Ragged`]). Several workers
//! update shared tables without locks (Hogwild; Recht et al. 2011), at different rows where that pays.
//!
//! The other way is a loop of one's own: a [`Trainer`] takes a step on a graph whose inputs have been
//! set, and [`parallel()`] has every worker build its own graph, and trainer, over shared tables.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use wyrmling::optim::Optimizer;
//! use wyrmling::train::{self, Fit, Flow, History, Source};
//! use wyrmling::{Input, Parameter};
//!
//! let (w, x, y) = (Parameter::new(0.0), Input::new(vec![0.0]), Input::new(vec![0.0]));
//! let loss = (w.clone() * x.clone() - y.clone()).square().sum();
//! let fit = Fit {
//!     sources: vec![
//!         (x.id(), Source::Column(vec![1.0, 2.0, 3.0].into())),
//!         (y.id(), Source::Column(vec![3.0, 6.0, 9.0].into())),
//!     ],
//!     epochs: 0..100,
//!     batch_size: 2,
//!     threads: 1,
//!     seed: 0,
//!     deterministic: false,
//! };
//! let mut watch = |_: usize, history: &History| match history.loss.last() {
//!     Some(&loss) if loss < 1e-12 => Flow::Stop,
//!     _ => Flow::Continue,
//! };
//! let stop = AtomicBool::new(false); // set by a handler of Ctrl-C, say
//! let history = train::fit(&loss.freeze()?, &fit, &Optimizer::sgd(0.02)?, &stop, &mut watch)?;
//! assert!(history.loss.len() < 100 && (w.item()? - 3.0).abs() < 1e-4);
//!
//! // By hand: `backward` collects a gradient, an optimizer applies it.
//! let adagrad = Optimizer::adagrad(0.5)?;
//! w.set_value(0.0)?;
//! loss.backward();
//! adagrad.step_and_clear(&[&w])?;
//! # Ok::<(), wyrmling::Error>(())
//! ```

mod checkpoint;
mod data;
mod dealt_rows;
mod fit;
mod history;
mod parallel;
mod partition;
mod samples;
pub mod sampling;
mod shuffle;
mod spans;
mod steps;
mod stream;
mod trained;
mod trainer;
mod worker;

pub use checkpoint::Checkpoint;
#[cfg(feature = "python")]
pub(crate) use checkpoint::{GivenTensor, SavedSettings, Values};
pub use data::mapped::{Mapped, Stored};
pub use data::ragged::Ragged;
pub use data::source::Source;
pub use fit::{Fit, Observer, fit, fit_function};
pub use history::{Flow, History};
pub use parallel::{Member, parallel};
pub use sampling::Sampler;
pub use sampling::custom::{CustomSampler, SampleBlock};
pub use sampling::negatives::Negatives;
pub use sampling::scored::{Choice, ScoredSampler};
pub use steps::function_step::{Departure, FunctionLoss};
pub use steps::sample_parts::{DrawnLength, SampleValue};
pub use stream::MOST_WORKERS;
pub use trainer::Trainer;
