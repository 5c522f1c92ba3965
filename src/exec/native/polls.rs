//! How machine code counts the time that it has taken, to poll for signals.
//!
//! A jump back subtracts what its block is estimated to take from a counter, and calls
//! [`run::poll`](super::run::poll) when that is below 0. The counter is in the register that Cranelift leaves to
//! those who ask for it, r15 (its flag `enable_pinned_reg`), so that a turn of a loop neither reads nor writes
//! memory for it. By the calling convention a function gives this register back as it got it: those that are
//! called from here do, and machine code does wherever it returns.

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};

use super::translate::Translator;

/// Estimated nanoseconds between two polls. At each the clock is read.
const BETWEEN_POLLS: i64 = 1 << 20;

impl Translator<'_> {
    /// Begins to count, in the prologue: what the register held, which is the caller's.
    pub(super) fn begin_counting(&mut self) -> Value {
        let held = self.cursor.ins().get_pinned_reg(I64);
        self.count_anew();
        held
    }

    fn count_anew(&mut self) {
        let left = self.integer(BETWEEN_POLLS);
        self.cursor.ins().set_pinned_reg(left);
    }

    /// Returns a status.
    pub(super) fn return_status(&mut self, status: Value) {
        self.cursor.ins().set_pinned_reg(self.counter_of_caller);
        self.cursor.ins().return_(&[status]);
    }

    /// Jumps back, and polls if it is time.
    pub(super) fn jump_back(&mut self, to: Block, args: &[BlockArg]) {
        let left = self.cursor.ins().get_pinned_reg(I64);
        let left = self.cursor.ins().iadd_imm_s(left, -self.cost);
        self.cursor.ins().set_pinned_reg(left);
        let due = self.cursor.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let poll = self.cold();
        let none: &[BlockArg] = &[];
        self.cursor.ins().brif(due, poll, none, to, args);
        self.cursor.goto_bottom(poll);
        self.call_rarely(self.rare.poll(), &[self.run]);
        self.count_anew();
        self.cursor.ins().jump(to, args);
    }
}
