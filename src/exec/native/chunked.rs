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
//! goes down by 1 as in reverse passes; the loop does not change the end.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};

use super::translate::Translator;
use super::unsupported::Translated;
use crate::ir::{
    Cfg, Comparison, Datum, Expression, Function, Induction, ScalarOperator as S, Target,
    Terminator, ValueId, inductions,
};

/// Turns up to the next limit.
const MOST_TURNS: i64 = 1024;

/// A loop over a range.
#[derive(Debug, Clone)]
pub(super) struct ChunkedLoop {
    /// The integer, a parameter of the header, and which one it is.
    integer: ValueId,
    number: usize,
    /// What the header compares it with.
    end: ValueId,
    /// Whether it goes up.
    is_up: bool,
    /// Whether the branch's first target is in the loop.
    is_then: bool,
    /// Once the header is written.
    header: Option<WrittenHeader>,
    /// Estimated nanoseconds of a turn.
    cost: i64,
    /// Whether a part of a turn counts itself, since it takes long: then each turn polls.
    is_long: bool,
}

/// The header of a loop over a range in machine code.
#[derive(Debug, Clone)]
struct WrittenHeader {
    /// The parameter for the limit.
    limit: clif::Value,
    /// Where to go at the limit.
    at_limit: clif::Block,
    /// Where to go for a turn, and at the end.
    inside: (clif::Block, Vec<BlockArg>),
    end: (clif::Block, Vec<BlockArg>),
}

/// Such loops by the block that is the header.
pub(super) type ChunkedLoops = BTreeMap<usize, ChunkedLoop>;

/// Loops over ranges.
pub(super) fn chunked_loops(function: &Function, cfg: &Cfg) -> ChunkedLoops {
    let loops = cfg.loops();
    let outer: BTreeSet<usize> = loops.iter().filter_map(|l| l.parent).collect();
    let instructions = || function.blocks.iter().flat_map(|b| &b.instructions);
    let ones: BTreeSet<ValueId> = instructions()
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

impl Translator<'_> {
    /// The loop over a range around the current block, if no loop is between.
    pub(super) fn around(&mut self) -> Option<&mut ChunkedLoop> {
        let header = self.cfg.loops()[self.cfg.innermost(self.current)?].header;
        self.chunked.get_mut(&header)
    }

    /// The limit that a jump gives the header of such a loop: at first the integer itself.
    pub(super) fn limit_for(&self, target: &Target) -> Option<Translated<BlockArg>> {
        let found = self.chunked.get(&target.block)?;
        let limit = match &found.header {
            Some(header) if self.is_back(target.block) => Ok(header.limit),
            _ => self.read(target.args[found.number]),
        };
        Some(limit.map(BlockArg::Value))
    }

    /// Ends the header of such a loop; whether it is one. Targets are what [`Translator::edge`] gave.
    pub(super) fn branch_at_limit(
        &mut self,
        then: &(clif::Block, Vec<BlockArg>),
        otherwise: &(clif::Block, Vec<BlockArg>),
    ) -> Translated<bool> {
        let Some(found) = self.chunked.get(&self.current) else {
            return Ok(false);
        };
        let (is_up, is_then) = (found.is_up, found.is_then);
        let integer = self.read(found.integer)?;
        let dfg = &mut self.cursor.func.dfg;
        let parameters = dfg.block_params(self.blocks[self.current]);
        let Some(&limit) = parameters.last() else {
            return Ok(false);
        };
        let at_limit = dfg.make_block();
        let reached = match is_up {
            true => IntCC::SignedGreaterThanOrEqual,
            false => IntCC::SignedLessThanOrEqual,
        };
        let reached = self.cursor.ins().icmp(reached, integer, limit);
        let (inside, end) = match is_then {
            true => (then, otherwise),
            false => (otherwise, then),
        };
        let none: &[BlockArg] = &[];
        self.cursor
            .ins()
            .brif(reached, at_limit, none, inside.0, &inside.1);
        if let Some(found) = self.chunked.get_mut(&self.current) {
            found.header = Some(WrittenHeader {
                limit,
                at_limit,
                inside: inside.clone(),
                end: end.clone(),
            });
        }
        Ok(true)
    }

    /// Writes what is done where limits are reached, once it is known what turns take.
    pub(super) fn write_limits(&mut self) -> Translated {
        for (block, found) in std::mem::take(&mut self.chunked) {
            let Some(header) = &found.header else {
                continue;
            };
            self.current = block;
            self.open(header.at_limit);
            let (integer, end) = (self.read(found.integer)?, self.read(found.end)?);
            let goes_on = match found.is_up {
                true => IntCC::SignedLessThan,
                false => IntCC::NotEqual,
            };
            let goes_on = self.cursor.ins().icmp(goes_on, integer, end);
            let next = self.cursor.func.dfg.make_block();
            let none: &[BlockArg] = &[];
            let (to, args) = &header.end;
            self.cursor.ins().brif(goes_on, next, none, *to, args);
            self.open(next);
            if !found.is_up {
                self.pass_end(&found, header)?;
            }
            let most = self.integer(if found.is_long { 1 } else { MOST_TURNS });
            let (low, high) = match found.is_up {
                true => (integer, end),
                false => (end, integer),
            };
            // Without a sign the difference fits, however far they are apart.
            let left = self.cursor.ins().isub(high, low);
            let turns = self.cursor.ins().umin(left, most);
            let limit = match found.is_up {
                true => self.cursor.ins().iadd(integer, turns),
                false => self.cursor.ins().isub(integer, turns),
            };
            let taken = self.cursor.ins().imul_imm_s(turns, -found.cost);
            let to = self.blocks[block];
            let parameters = self.cursor.func.dfg.block_params(to);
            let mut args: Vec<BlockArg> = parameters.iter().map(|&p| p.into()).collect();
            args.pop();
            args.push(limit.into());
            let left = self.add_to_counter(taken);
            self.poll_if_due(left, to, &args);
        }
        Ok(())
    }

    /// Where an integer that goes down begins below the end, it never meets it: each turn comes here then,
    /// polls, and goes on.
    fn pass_end(&mut self, found: &ChunkedLoop, header: &WrittenHeader) -> Translated {
        let (integer, end) = (self.read(found.integer)?, self.read(found.end)?);
        let below = self.cursor.ins().icmp(IntCC::SignedLessThan, integer, end);
        let (turn, next) = (self.cold(), self.cursor.func.dfg.make_block());
        let none: &[BlockArg] = &[];
        self.cursor.ins().brif(below, turn, none, next, none);
        self.cursor.goto_bottom(turn);
        let taken = self.integer(-found.cost);
        let left = self.add_to_counter(taken);
        let (to, args) = &header.inside;
        self.poll_if_due(left, *to, args);
        self.open(next);
        Ok(())
    }

    /// Adds the parameter for the limit to the header of such a loop.
    pub(super) fn add_limit(&mut self, block: usize) {
        if self.chunked.contains_key(&block) {
            let to = self.blocks[block];
            self.cursor.func.dfg.append_block_param(to, I64);
        }
    }
}

impl ChunkedLoop {
    /// Takes note of a way back to the header, and of what it takes.
    pub(super) fn end_turn(&mut self, cost: i64) {
        self.cost = self.cost.max(cost);
    }

    /// Takes note of a way that takes long.
    pub(super) fn mark_long(&mut self) {
        self.is_long = true;
    }
}
