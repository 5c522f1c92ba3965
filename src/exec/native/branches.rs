//! Jumps and branches between blocks.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};

use super::translate::Translator;
use super::unsupported::Translated;
use crate::ir::{Target, ValueId};

/// A jump on the way to a target, which is written after the branch: its block, the target, and its
/// number among those of the branch.
pub(super) type LaterJump = (clif::Block, Target, usize);

impl Translator<'_> {
    fn args(&mut self, target: &Target) -> Translated<Vec<BlockArg>> {
        let mut args = Vec::with_capacity(target.args.len() + 1);
        for &id in &target.args {
            if self.place(id).is_none() {
                args.push(BlockArg::Value(self.read(id)?));
            }
        }
        if let Some(limit) = self.limit_for(target) {
            args.push(limit?);
        }
        Ok(args)
    }

    /// Writes a jump, which moves arrays to where they go, and polls if it goes back.
    pub(super) fn jump(&mut self, target: &Target, number: usize) -> Translated {
        self.move_fixed(&target.args, target.block);
        let moves = self.moves(&target.args, target.block, number);
        self.write_pending();
        if let Some(step) = moves {
            self.step(step, 50);
        }
        let args = self.args(target)?;
        match self.is_back(target.block) {
            true => self.jump_back(target.block, &args),
            false => self.jump_on(target.block, &args),
        }
        Ok(())
    }

    /// Where a branch goes for a target, with what arguments: a block of its own if there is something to
    /// do on the way.
    pub(super) fn edge(
        &mut self,
        target: &Target,
        number: usize,
        later: &mut Vec<LaterJump>,
    ) -> Translated<(clif::Block, Vec<BlockArg>)> {
        if self.is_head(target.block) || self.has_arrays(&target.args) {
            let edge = self.cursor.func.dfg.make_block();
            later.push((edge, target.clone(), number));
            return Ok((edge, Vec::new()));
        }
        self.go_on(target.block);
        Ok((self.blocks[target.block], self.args(target)?))
    }

    /// Whether a jump from the current block stays in the innermost loop around it.
    fn stays(&self, target: &Target) -> bool {
        let Some(around) = self.cfg.innermost(self.current) else {
            return false;
        };
        let mut found = self.cfg.innermost(target.block);
        while let Some(l) = found.filter(|&l| l != around) {
            found = self.cfg.loops()[l].parent;
        }
        found.is_some()
    }

    /// Whether a value is what a comparison of integers says, which Cranelift writes the other way round.
    fn is_comparison(&self, value: clif::Value) -> bool {
        let dfg = &self.cursor.func.dfg;
        let inst = dfg.value_def(value).inst();
        inst.is_some_and(|inst| dfg.insts[inst].opcode() == clif::Opcode::Icmp)
    }

    /// Writes a branch.
    pub(super) fn branch(
        &mut self,
        condition: ValueId,
        then: &Target,
        otherwise: &Target,
        later: &mut Vec<LaterJump>,
    ) -> Translated {
        let goes_on = self.stays(then) && !self.stays(otherwise);
        let then = self.edge(then, 0, later)?;
        let otherwise = self.edge(otherwise, 1, later)?;
        if self.branch_at_limit(&then, &otherwise)? {
            return Ok(());
        }
        let condition = self.truth(condition)?;
        // Cranelift writes the second of two blocks next: a loop's.
        let (condition, first, second) = match goes_on && self.is_comparison(condition) {
            true => {
                let not = self.cursor.ins().icmp_imm_s(IntCC::Equal, condition, 0);
                (not, otherwise, then)
            }
            false => (condition, then, otherwise),
        };
        self.cursor
            .ins()
            .brif(condition, first.0, &first.1, second.0, &second.1);
        Ok(())
    }
}
