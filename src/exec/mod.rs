//! Running programs.
//!
//! A function of the ir runs in one of three ways: [`interpret`] takes one instruction at a
//! time; [`Compiled`] is machine code for any function, where that can be made; a [`Plan`] is made for
//! concrete shapes, with elementwise operators fused and all memory assigned once, and run by an
//! [`Executor`] per thread.

mod compiled;
mod executor;
mod executor_set;
mod interpreter;
mod leaf;
#[cfg(all(feature = "jit", unix, target_arch = "x86_64"))]
mod native;
#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
#[path = "without_native.rs"]
mod native;
mod plan;
mod plan_cache;
mod program;
mod program_run;
mod results;
mod sample;

pub use compiled::Compiled;
pub use executor::Executor;
pub(crate) use executor_set::ExecutorSet;
pub use interpreter::{Interpreter, Outcome, interpret};
pub use leaf::Leaf;
pub(crate) use leaf::{Length, check_input, check_lengths};
pub use plan::Plan;
pub(crate) use plan::link::BoundSink;
pub(crate) use plan::rows::RowTerms;
pub(crate) use plan::table_rows::{RowCollection, RowRecords};
pub(crate) use plan::{Place, Sink, Wrt};
pub use program::Program;
pub use sample::batched::{BatchColumn, batched, range_of};
pub use sample::loss_argument::LossArgument;
pub(crate) use sample::per_sample::Lookups;
pub use sample::sample_loss::SampleLoss;
pub(crate) use sample::sample_loss::{SampleResult, TableGradient};
pub(crate) use sample::sample_program::SampleProgram;
