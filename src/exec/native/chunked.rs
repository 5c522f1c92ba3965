//! Loops over ranges, which end and poll once in many turns.
//!
//! In the header of such a loop an integer that each turn changes by 1 is compared with the end. Machine
//! code compares it with a limit in the place of the end, at most [`MOST_TURNS`] away. Where that is reached,
//! it compares with the end, sets the next limit, and [counts](super::polls) what the turns up to there
//! take. So a turn has one comparison and one jump beside its work. (In compilers' terms, the loop is
//! strip-mined.)
//!
//! What it does is what the loop does, whatever the integers are: an integer before the limit is before
//! the end.
//!
//! Limits: innermost loops whose header compares `i < end`, where `i` goes up by 1, or `i == end`, where it
//! goes down by 1 as in reverse passes; the loop does not change the end. The header runs once more at a
//! limit, so it computes integers, truth and single numbers alone, and uses no tape.

pub(super) mod write;

use std::collections::{BTreeMap, HashSet};

use cranelift_codegen::ir::{self as clif, BlockArg};

use crate::ir::{
    Cfg, Comparison, Datum, Expression, Function, Induction, Instruction, ScalarOperator as S,
    Target, Terminator, ValueId, inductions,
};

/// Turns up to the next limit of a loop whose turns are short. Tests reach it in short loops, too.
const MOST_TURNS: i64 = if cfg!(debug_assertions) { 3 } else { 1024 };

/// A loop over a range.
#[derive(Debug, Clone)]
pub(super) struct ChunkedLoop {
    /// The integer, a parameter of the header, and which one it is.
    pub(super) integer: ValueId,
    pub(super) number: usize,
    /// What the header compares it with.
    pub(super) end: ValueId,
    /// Whether it goes up.
    pub(super) is_up: bool,
    /// Whether the branch's first target is in the loop.
    pub(super) is_then: bool,
    /// Once the header is written.
    pub(super) header: Option<WrittenHeader>,
    /// Estimated nanoseconds of a turn.
    pub(super) cost: i64,
    /// Whether a part of a turn counts itself, since it takes long: then each turn polls.
    is_long: bool,
}

/// The header of a loop over a range in machine code.
#[derive(Debug, Clone)]
pub(super) struct WrittenHeader {
    /// The parameter for the limit.
    pub(super) limit: clif::Value,
    /// Where to go at the limit.
    pub(super) at_limit: clif::Block,
    /// Where to go for a turn, and at the end.
    pub(super) inside: (clif::Block, Vec<BlockArg>),
    pub(super) end: (clif::Block, Vec<BlockArg>),
}

/// Such loops by the block that is the header.
pub(super) type ChunkedLoops = BTreeMap<usize, ChunkedLoop>;

/// Loops over ranges.
pub(super) fn chunked_loops(function: &Function, cfg: &Cfg) -> ChunkedLoops {
    let loops = cfg.loops();
    let outer: HashSet<usize> = loops.iter().filter_map(|l| l.parent).collect();
    let instructions = || function.blocks.iter().flat_map(|b| &b.instructions);
    let ones: HashSet<ValueId> = instructions()
        .filter(|i| matches!(i.expression, Expression::Constant(Datum::Int(1))))
        .map(|i| i.result())
        .collect();
    let of = |(&integer, induction): (&ValueId, &Induction)| {
        let found = &loops[induction.around];
        if outer.contains(&induction.around) || !ones.contains(&induction.step) {
            return None;
        }
        let here = &function.blocks[found.header];
        let Terminator::Branch {
            condition,
            then,
            otherwise,
        } = &here.terminator
        else {
            return None;
        };
        let again = |i: &Instruction| {
            matches!(
                i.expression,
                Expression::Constant(_) | Expression::Compute(..)
            )
        };
        if !here.instructions.iter().all(again) {
            return None;
        }
        let comparison = here.instructions.iter().find_map(|i| match i.expression {
            Expression::Compute(S::CompareInt(by), ref args, _) if i.result() == *condition => {
                Some((by, args[0], args[1]))
            }
            _ => None,
        })?;
        let is_up = induction.undo == S::IntSub;
        let (end, wanted) = match comparison {
            (Comparison::Less, i, end) if is_up && i == integer => (end, true),
            (Comparison::Equal, i, end) if !is_up && i == integer => (end, false),
            (Comparison::Equal, end, i) if !is_up && i == integer => (end, false),
            _ => return None,
        };
        let inside = |to: &Target| found.blocks.contains(&to.block);
        let changes = found.blocks.iter().any(|&b| {
            let block = &function.blocks[b];
            let mut results = block.instructions.iter().flat_map(|i| &i.results);
            block.parameters.contains(&end) || results.any(|&id| id == end)
        });
        if changes || inside(then) != wanted || inside(otherwise) == wanted {
            return None;
        }
        let chunked = ChunkedLoop {
            integer,
            number: here.parameters.iter().position(|&p| p == integer)?,
            end,
            is_up,
            is_then: wanted,
            header: None,
            cost: 0,
            is_long: false,
        };
        Some((found.header, chunked))
    };
    let wanted = |_| true;
    inductions(function, cfg, wanted)
        .iter()
        .filter_map(of)
        .collect()
}

impl ChunkedLoop {
    /// Takes note of a way back to the header, and of what it takes.
    pub(super) fn end_turn(&mut self, cost: i64) {
        self.cost = self.cost.max(cost);
    }

    /// Turns up to the next limit.
    pub(super) fn most_turns(&self) -> i64 {
        if self.is_long { 1 } else { MOST_TURNS }
    }

    /// Takes note of a way that takes long.
    pub(super) fn mark_long(&mut self) {
        self.is_long = true;
    }
}
