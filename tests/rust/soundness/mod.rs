//! What a downstream crate may say or build, however wrong: the answer is an error or a number,
//! never a panic of ours and never memory that is not ours. Memory checkers (`make check-address`
//! and its like) run these too, since reading out of bounds need not show.

mod blocks;
mod drops;
mod functions;
mod hand_made;
mod indices;
mod liar;
mod mutants;
mod operators;
mod samplers;
mod samples;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};

use wyrmling::Type;
use wyrmling::ir::{Builder, Function, Terminator};
use wyrmling::rules::{self, OpRef};

/// Runs `f`; a panic is reported with what was being tried.
#[track_caller]
fn without_panic<R>(what: &dyn std::fmt::Debug, f: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(_) => panic!("{what:?}: a panic"),
    }
}

/// A function of `w[i]` for a table and indices, made by hand.
fn lookup(table: &Type, index: &Type) -> Function {
    let b = Builder::new();
    let (w, i) = (b.parameter(table.clone()), b.parameter(index.clone()));
    let right = "the types fit";
    let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]);
    let sum = rules::Sum {
        axes: (0..table.shape.len() + index.shape.len() - 1).collect(),
        keepdims: false,
    };
    let loss = b.try_apply(OpRef::new(sum), &[rows.expect(right)]);
    b.terminate(Terminator::Return(vec![loss.expect(right)]));
    b.finish("lookup").expect(right)
}
