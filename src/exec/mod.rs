//! Running programs.
//!
//! A function of the ir runs in one of three ways: [`interpret`] takes one instruction at a
//! time; [`Compiled`] is machine code for any function, where that can be made; a [`Plan`] is made for
//! concrete shapes, with elementwise operators fused and all memory assigned once, and run by an
//! [`Executor`] per thread.

mod analysis;
mod arena;
mod bags;
mod batched;
mod check;
mod compiled;
mod executor;
mod executor_set;
mod fused_group;
mod interpreter;
mod last_uses;
mod leaf;
mod link;
mod lookup;
mod loss_argument;
mod lower;
mod memory;
#[cfg(all(feature = "jit", unix, target_arch = "x86_64"))]
mod native;
#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
#[path = "without_native.rs"]
mod native;
mod per_sample;
mod place;
mod plan;
mod plan_cache;
mod program;
mod program_run;
mod repeated_lookups;
mod results;
mod rows;
mod rows_in_place;
mod sample_loss;
mod sample_program;
mod schedule;
mod slices;
mod table_rows;
mod tiles;

pub use batched::{BatchColumn, batched, range_of};
pub use compiled::Compiled;
pub use executor::Executor;
pub(crate) use executor_set::ExecutorSet;
pub use interpreter::{Interpreter, Outcome, interpret};
pub use leaf::Leaf;
pub(crate) use leaf::{Length, check_input, check_lengths};
pub(crate) use link::BoundSink;
pub use loss_argument::LossArgument;
pub(crate) use per_sample::Lookups;
pub use plan::Plan;
pub(crate) use plan::{Place, Sink, Wrt};
pub use program::Program;
pub(crate) use rows::RowTerms;
pub use sample_loss::SampleLoss;
pub(crate) use sample_loss::{SampleResult, TableGradient};
pub(crate) use sample_program::SampleProgram;
pub(crate) use table_rows::{RowCollection, RowRecords};
