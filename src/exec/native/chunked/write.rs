//! Machine code of [loops over ranges](super): their headers, and what is done at limits.

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};

use super::{ChunkedLoop, WrittenHeader};
use crate::exec::native::translate::Translator;
use crate::exec::native::unsupported::Translated;
use crate::ir::Target;

impl Translator<'_> {
    /// The loop over a range around the current block, if no loop is between.
    pub(in crate::exec::native) fn around(&mut self) -> Option<&mut ChunkedLoop> {
        let header = self.cfg.loops()[self.cfg.innermost(self.current)?].header;
        self.chunked.get_mut(&header)
    }

    /// The limit that a jump gives the header of such a loop: at first the integer itself.
    pub(in crate::exec::native) fn limit_for(
        &mut self,
        target: &Target,
    ) -> Option<Translated<BlockArg>> {
        let found = self.chunked.get(&target.block)?;
        let limit = match &found.header {
            Some(header) if self.is_back(target.block) => Ok(header.limit),
            _ => {
                let number = found.number;
                self.read(target.args[number])
            }
        };
        Some(limit.map(BlockArg::Value))
    }

    /// Ends the header of such a loop; whether it is one. Targets are what [`Translator::edge`] gave.
    pub(in crate::exec::native) fn branch_at_limit(
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
    pub(in crate::exec::native) fn write_limits(&mut self) -> Translated {
        for (block, found) in std::mem::take(&mut self.chunked) {
            let Some(header) = &found.header else {
                continue;
            };
            self.current = block;
            self.open(header.at_limit);
            let (integer, end) = (self.read(found.integer)?, self.read(found.end)?);
            let ends = match found.is_up {
                true => IntCC::SignedGreaterThanOrEqual,
                false => IntCC::Equal,
            };
            let ends = self.cursor.ins().icmp(ends, integer, end);
            let next = self.cursor.func.dfg.make_block();
            let none: &[BlockArg] = &[];
            let (to, args) = &header.end;
            // Cranelift writes the second of two blocks next, and values that it reads are not needed through all
            // that comes after the loop.
            self.cursor.ins().brif(ends, *to, args, next, none);
            self.open(next);
            if !found.is_up {
                self.pass_end(&found, header)?;
            }
            let most = self.integer(found.most_turns());
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
    pub(in crate::exec::native) fn add_limit(&mut self, block: usize) {
        if self.chunked.contains_key(&block) {
            let to = self.blocks[block];
            self.cursor.func.dfg.append_block_param(to, I64);
        }
    }
}
