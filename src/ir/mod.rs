//! The intermediate representation: programs in static single assignment form.
//!
//! A [`Function`] is a list of [`Block`]s with parameters. Each instruction applies one
//! operator of the rule table to values and names its result; a block ends in a return,
//! a jump or a branch. Freezing a graph gives one block. Jumps and branches are public for users who
//! put functions together by hand, with loops and conditions; the interpreter runs them, and
//! `tests/rust/ir.rs` tests both. They stay because source-to-source differentiation of control flow
//! will stand on them; nothing else in the crate makes them. [`adjoint()`] and [`tangent()`] read the
//! same rules as `.backward()` and append the instructions that compute gradients or tangents.
//! Functions print.

mod derive;
mod display;
mod function;
mod optimize;

pub(crate) use derive::pushforward;
pub use derive::{Adjoint, Tangent, adjoint, tangent};
pub use function::{
    Block, Builder, Expression, Function, Instruction, Target, Terminator, ValueId,
};
pub(crate) use optimize::{drop_dead, simplify, specialize};
