//! The intermediate representation: programs in static single assignment form.
//!
//! A [`Function`] is a list of [`Block`]s with parameters. An instruction applies an operator of the
//! rule table to arrays and numbers, or one of [`scalar`] to integers and truth, and names its results; a
//! block ends in a return, a jump, a branch or a switch. Freezing a graph gives one block of arrays, of
//! which plans are made. Functions with control flow are run by machine code or by an interpreter.
//!
//! Derivatives read the same rules as `.backward()`. [`vjp()`] and [`jvp()`] take functions of any
//! blocks, and give functions that can be differentiated again. [`adjoint()`] and [`tangent()`] are for
//! one block of arrays: they append to it, and keep what rules made, whose types are compared again when a
//! plan is made for other lengths. [`simplify()`] makes any of them smaller, and
//! [`Cfg`] and [`Liveness`] tell passes about blocks. Functions print.

mod activity;
mod availability;
mod builder;
mod cfg;
mod derive;
mod display;
mod ends;
mod flagged;
mod function;
mod induction;
mod inline;
mod jvp;
mod kind;
mod liveness;
mod origins;
mod presence;
mod recursion;
mod restore;
mod reversed;
pub mod scalar;
mod shapes;
mod simplify;
mod specialize;
mod verify;
mod vjp;

pub use builder::Builder;
pub use cfg::{Cfg, Edge, NaturalLoop};
pub(crate) use derive::pushforward;
pub use derive::{Adjoint, adjoint, tangent};
pub use ends::merge_returns;
pub(crate) use ends::separate_entry;
pub(crate) use function::Straight;
pub use function::{
    Block, Exit, Expression, Function, Instruction, Notes, Operands, Target, Terminator, ValueId,
};
pub(crate) use induction::{Induction, inductions};
pub use jvp::{Pushforward, jvp};
pub use kind::{Datum, ValueKind};
pub use liveness::Liveness;
pub(crate) use liveness::each_range;
pub use recursion::{Recursion, RegionCall, without_calls};
pub(crate) use scalar::rows;
pub use scalar::{Comparison, ScalarKind, ScalarOperator};
pub(crate) use simplify::Ranges;
pub(crate) use simplify::{
    ArgumentLengths, KnownLengths, LengthInvariant, drop_dead, drop_unreachable, for_lengths_seen,
    simplified,
};
pub use simplify::{Lengths, are_exact, simplify};
pub(crate) use specialize::specialize;
pub use vjp::{Pullback, vjp};
