//! The intermediate representation: programs in static single assignment form.
//!
//! A [`Function`] is a list of [`Block`]s with parameters. Each instruction applies one
//! operator of the rule table to values and names its result; a block ends in a return,
//! a jump or a branch. Freezing a graph gives one block. Nothing in the crate makes
//! jumps or branches yet: they are for control flow read from source, to come, and tests
//! make them by hand. [`adjoint()`] reads the same rules as `.backward()` and appends the
//! instructions that compute gradients. Functions print.

mod adjoint;
mod display;
mod function;
mod optimize;

pub use adjoint::{Adjoint, adjoint};
pub use function::{
    Block, Builder, Expression, Function, Instruction, Target, Terminator, ValueId,
};
pub(crate) use optimize::{simplify, specialize};
