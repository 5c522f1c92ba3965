//! Making a function smaller without changing what it computes: its results are the same to the bit,
//! and it leaves by the same exits.
//!
//! What follows from records of tapes moves to where they are appended ([`kept`]). Then two passes are
//! run in turn until they find nothing more: parameters that are copies ([`copies`]), and what is known or
//! computed already ([`values`]); then again if comparisons are found that always come out the same
//! ([`ranges`]). Blocks that are not needed go ([`jumps`]), what does not change moves
//! out of loops ([`invariant`]), and what no result needs is dropped ([`dead`]).
//!
//! Guards and operators that can fail are effects, in order: none moves past another, and none goes
//! that may leave.
//!
//! A function of one block, as plans are made of, takes one pass over its instructions and one back.

mod copies;
mod dead;
mod fixed;
mod inferred_lengths;
mod invariant;
mod jumps;
mod kept;
mod known;
mod lengths;
mod ranges;
mod repeated;
mod scalars;
mod values;

pub(crate) use dead::drop_dead;
pub(crate) use fixed::{ArgumentLengths, KnownLengths, LengthInvariant, for_lengths_seen};
pub(crate) use jumps::drop_unreachable;
pub use lengths::{Lengths, are_exact};
pub(crate) use ranges::Ranges;

use super::cfg::Cfg;
use super::ends::separate_entry;
use super::function::{Function, ValueId};
use crate::error::Result;
use crate::reserve;

/// How often the passes are run at most. Each time more is found only if one of them made it known
/// where a branch goes. What is not found by then stays as it is.
const ROUNDS: usize = 8;

/// A smaller function with the same results.
///
/// # Errors
/// As [`Function::check`], [`Error::Memory`](crate::Error::Memory),
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn simplify(function: &Function, lengths: Lengths) -> Result<Function> {
    function.check()?;
    reserve::ahead(function.kinds.len(), reserve::bytes::OPTIMIZED)?;
    simplified(function.clone(), lengths)
}

/// As [`simplify`], of a function that nobody else has and that is well formed.
///
/// # Errors
/// As [`simplify`], but for those of [`Function::check`].
pub(crate) fn simplified(mut out: Function, lengths: Lengths) -> Result<Function> {
    reserve::ahead(out.kinds.len(), reserve::bytes::OPTIMIZED)?;
    out = separate_entry(&out).unwrap_or(out);
    if out.blocks.len() == 1 {
        let same = (0..out.kinds.len() as ValueId).collect();
        values::simplify_values(&mut out, lengths, None, same)?;
        drop_dead(&mut out, lengths);
        return Ok(out);
    }
    kept::compute_before_keeping(&mut out);
    let mut decided = true;
    for _ in 0..ROUNDS {
        let graph = Cfg::new(&out);
        let (stands, copies) = copies::drop_copies(&mut out, &graph);
        if !copies && !decided && !ranges::decide(&mut out, &graph)? {
            break;
        }
        decided = values::simplify_values(&mut out, lengths, Some(&graph), stands)?;
    }
    jumps::tidy(&mut out);
    invariant::hoist(&mut out, lengths);
    drop_dead(&mut out, lengths);
    while jumps::tidy(&mut out) {
        drop_dead(&mut out, lengths);
    }
    Ok(out)
}
