//! Single instructions of Cranelift's, calls, and ways to leave.

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    self as clif, AbiParam, BlockArg, Inst, InstBuilder, MemFlagsData, Signature,
};

use super::run::status;
use super::translate::Translator;

impl Translator<'_> {
    /// Lets instructions go to a block, which is appended.
    pub(super) fn open(&mut self, block: clif::Block) {
        self.cursor.func.layout.append_block(block);
        self.cursor.goto_bottom(block);
    }

    /// A new block for what seldom happens.
    pub(super) fn cold(&mut self) -> clif::Block {
        let block = self.cursor.func.dfg.make_block();
        self.cursor.func.layout.append_block(block);
        self.cursor.func.layout.set_cold(block);
        block
    }

    /// Says that the block to which instructions go now is for what seldom happens.
    pub(super) fn is_seldom(&mut self) {
        if let Some(block) = self.cursor.current_block() {
            self.cursor.func.layout.set_cold(block);
        }
    }

    pub(super) fn load(&mut self, ty: clif::Type, at: clif::Value, offset: i32) -> clif::Value {
        let flags = MemFlagsData::trusted();
        self.cursor.ins().load(ty, flags, at, offset)
    }

    pub(super) fn store(&mut self, value: clif::Value, at: clif::Value, offset: i32) {
        let flags = MemFlagsData::trusted();
        self.cursor.ins().store(flags, value, at, offset);
    }

    pub(super) fn integer(&mut self, value: i64) -> clif::Value {
        self.cursor.ins().iconst(I64, value)
    }

    /// Calls a function by its address.
    pub(super) fn call(
        &mut self,
        address: usize,
        args: &[clif::Value],
        results: &[clif::Type],
    ) -> Inst {
        let dfg = &self.cursor.func.dfg;
        let mut signature = Signature::new(self.convention);
        let types = args.iter().map(|&a| AbiParam::new(dfg.value_type(a)));
        signature.params = types.collect();
        signature.returns = results.iter().map(|&ty| AbiParam::new(ty)).collect();
        let mut known = self.signatures.iter().copied();
        let known = known.find(|&known| dfg.signatures[known] == signature);
        let signature = known.unwrap_or_else(|| {
            let signature = self.cursor.func.import_signature(signature);
            self.signatures.push(signature);
            signature
        });
        let callee = self.integer(address as i64);
        self.cursor.ins().call_indirect(signature, callee, args)
    }

    /// The result of a call.
    pub(super) fn result_of(&self, call: Inst) -> clif::Value {
        self.cursor.func.dfg.first_result(call)
    }

    /// The block that returns a status.
    pub(super) fn leave_with(&mut self, status: i64) -> clif::Block {
        if let Some(&(_, block)) = self.leave.iter().find(|(known, _)| *known == status) {
            return block;
        }
        let block = self.cursor.func.dfg.make_block();
        self.leave.push((status, block));
        block
    }

    /// Writes the blocks that return a status.
    pub(super) fn write_leaving(&mut self) {
        for (status, block) in self.leave.clone() {
            self.open(block);
            self.cursor.func.layout.set_cold(block);
            let status = self.integer(status);
            self.return_status(status);
        }
    }

    /// Leaves with a status if a condition holds, or unless it does.
    pub(super) fn leave_if(&mut self, condition: clif::Value, holds: bool, status: i64) {
        let leave = self.leave_with(status);
        let next = self.cursor.func.dfg.make_block();
        let none: &[BlockArg] = &[];
        let [then, otherwise] = if holds { [leave, next] } else { [next, leave] };
        self.cursor
            .ins()
            .brif(condition, then, none, otherwise, none);
        self.open(next);
    }

    /// Leaves with a status unless a condition holds.
    pub(super) fn require(&mut self, condition: clif::Value, status: i64) {
        self.leave_if(condition, false, status);
    }

    /// As [`require`](Self::require), by an exit.
    pub(super) fn require_or_exit(&mut self, condition: clif::Value, exit: u32) {
        self.require(condition, status::LEFT + i64::from(exit));
    }
}
