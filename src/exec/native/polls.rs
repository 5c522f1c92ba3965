//! How machine code counts the time that it has taken, to poll for signals.
//!
//! A jump back subtracts what the way to it is estimated to take from a counter, and calls
//! [`run::poll`](super::run::poll) when that is below 0. The way begins at the head of the loop, or
//! behind the last block that subtracted its part itself: one that takes [`LONG`], or from which an
//! inner loop is entered. Where ways meet, the longer one counts. The counter is in the register
//! that Cranelift leaves to those who ask for it, r15 (its flag `enable_pinned_reg`), so that a turn
//! of a loop neither reads nor writes memory for it. By the calling convention a function gives this
//! register back as it got it: those that are called from here do, and machine code does wherever it
//! returns.

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};

use super::translate::Translator;

/// Estimated nanoseconds between two polls. At each the clock is read.
const BETWEEN_POLLS: i64 = 1 << 20;

/// Estimated nanoseconds of a way that are subtracted at once: a branch that is seldom taken and
/// takes long is not to count each turn.
const LONG: i64 = 100;

impl Translator<'_> {
    /// Whether a jump from the current block goes back: every cycle has such a jump.
    pub(super) fn is_back(&self, to: usize) -> bool {
        self.cfg.position(to) <= self.cfg.position(self.current)
    }

    /// Whether a jump goes back to a block: it is the head of a loop.
    pub(super) fn is_head(&self, block: usize) -> bool {
        let at = |block| self.cfg.position(block);
        let mut edges = self.cfg.predecessors(block).iter();
        edges.any(|edge| at(block) <= at(edge.from))
    }

    /// Begins to add up what a block takes, to the way to it.
    pub(super) fn begin_cost(&mut self, block: usize) {
        let before = match self.is_head(block) {
            true => 0,
            false => self.costs[block],
        };
        self.cost = before + 1;
    }

    /// Lets the way go on forwards to a block, which is written later.
    pub(super) fn go_on(&mut self, to: usize) {
        self.costs[to] = self.costs[to].max(self.cost);
    }

    /// Subtracts what a long way has taken.
    pub(super) fn count_long_way(&mut self) {
        if self.cfg.in_cycle(self.current) && self.cost >= LONG {
            self.count();
            if let Some(around) = self.around() {
                around.mark_long();
            }
        }
    }

    /// Jumps forwards.
    pub(super) fn jump_on(&mut self, to: usize, args: &[BlockArg]) {
        self.count_long_way();
        if self.cfg.in_cycle(self.current) && self.is_head(to) {
            self.count();
        }
        self.go_on(to);
        let to = self.blocks[to];
        self.cursor.ins().jump(to, args);
    }

    /// Subtracts what the way has taken so far: what is left.
    fn count(&mut self) -> Value {
        let taken = self.integer(-self.cost);
        self.cost = 0;
        self.add_to_counter(taken)
    }

    /// Adds estimated nanoseconds, less than none of them, to the counter: what is left.
    pub(super) fn add_to_counter(&mut self, nanoseconds: Value) -> Value {
        let left = self.cursor.ins().get_pinned_reg(I64);
        let left = self.cursor.ins().iadd(left, nanoseconds);
        self.cursor.ins().set_pinned_reg(left);
        left
    }

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
    pub(super) fn jump_back(&mut self, to: usize, args: &[BlockArg]) {
        let block = self.blocks[to];
        if let Some(chunked) = self.chunked.get_mut(&to) {
            chunked.end_turn(self.cost);
            self.cursor.ins().jump(block, args);
            return;
        }
        let left = self.count();
        self.poll_if_due(left, block, args);
    }

    /// Jumps back, after a poll if no time is left.
    pub(super) fn poll_if_due(&mut self, left: Value, to: Block, args: &[BlockArg]) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::error::Error;
    use crate::exec::Outcome;
    use crate::exec::native::Native;
    use crate::interrupt::with_stop_flag;
    use crate::ir::{
        Builder, Comparison, Datum, ScalarOperator as S, Target, Terminator, ValueId, ValueKind,
    };

    fn to(block: usize, args: &[ValueId]) -> Target {
        Target {
            block,
            args: args.to_vec(),
        }
    }

    /// Ends the block at hand: on to another one if an integer is less than another, else to a third.
    fn branch_if_less(b: &Builder, [x, y]: [ValueId; 2], then: Target, otherwise: Target) {
        let less = S::CompareInt(Comparison::Less);
        b.terminate(Terminator::Branch {
            condition: b.compute(less, &[x, y], None).unwrap(),
            then,
            otherwise,
        });
    }

    /// A loop of so many turns, which computes so many integers in one of two branches, before a
    /// jump or before a loop that ends at once.
    fn turns(count: i64, work: usize, before_loop: bool) -> Native {
        let b = Builder::new();
        let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
        let count = b.literal(Datum::Int(count));
        let exit = b.exit("too many", 0);
        let [header, body, works, inner, latch, after] = [(); 6].map(|()| b.block());
        b.switch_to(0).unwrap();
        b.terminate(Terminator::Jump(to(header, &[zero])));
        b.switch_to(header).unwrap();
        let i = b.parameter(ValueKind::Int);
        branch_if_less(&b, [i, count], to(body, &[]), to(after, &[]));
        b.switch_to(body).unwrap();
        branch_if_less(&b, [i, zero], to(latch, &[]), to(works, &[]));
        b.switch_to(works).unwrap();
        for _ in 0..work {
            b.compute(S::IntXor, &[i, one], None).unwrap();
        }
        let next = if before_loop { inner } else { latch };
        b.terminate(Terminator::Jump(to(next, &[])));
        b.switch_to(inner).unwrap();
        branch_if_less(&b, [i, zero], to(inner, &[]), to(latch, &[]));
        b.switch_to(latch).unwrap();
        let next = b.compute(S::IntAdd, &[i, one], Some(exit)).unwrap();
        b.terminate(Terminator::Jump(to(header, &[next])));
        b.switch_to(after).unwrap();
        b.terminate(Terminator::Return(vec![]));
        let function = Arc::new(b.finish("turns").unwrap());
        function.check().unwrap();
        Native::compile(&function, None).unwrap()
    }

    #[test]
    fn work_counts_wherever_it_stands_in_a_loop() {
        let stop = AtomicBool::new(true);
        for (count, work, before_loop) in [(10_000, 1000, false), (10_000, 1000, true)]
            .into_iter()
            .chain([(40_000, 50, false), (40_000, 50, true)])
        {
            let native = turns(count, work, before_loop);
            let found = with_stop_flag(&stop, || native.run(&[])).unwrap();
            let stopped = matches!(found, Err(Error::Interrupted));
            assert!(stopped, "{work} {before_loop}: {found:?}");
            assert!(matches!(native.run(&[]), Some(Ok(Outcome::Returned(_)))));
        }
        // Too little work for a look at the flag.
        let few = turns(1000, 50, true);
        let found = with_stop_flag(&stop, || few.run(&[])).unwrap();
        assert!(matches!(found, Ok(Outcome::Returned(_))));
    }

    #[test]
    fn short_loops_within_a_loop_count() {
        let b = Builder::new();
        let outer_count = b.parameter(ValueKind::Int);
        let [zero, one, few] = [0, 1, 30].map(|k| b.literal(Datum::Int(k)));
        let exit = b.exit("too many", 0);
        let [outer, enter, inner, turn, latch, after] = [(); 6].map(|()| b.block());
        b.switch_to(0).unwrap();
        b.terminate(Terminator::Jump(to(outer, &[zero])));
        b.switch_to(outer).unwrap();
        let i = b.parameter(ValueKind::Int);
        branch_if_less(&b, [i, outer_count], to(enter, &[]), to(after, &[]));
        b.switch_to(enter).unwrap();
        b.terminate(Terminator::Jump(to(inner, &[zero])));
        b.switch_to(inner).unwrap();
        let k = b.parameter(ValueKind::Int);
        branch_if_less(&b, [k, few], to(turn, &[]), to(latch, &[]));
        b.switch_to(turn).unwrap();
        let next = b.compute(S::IntAdd, &[k, one], Some(exit)).unwrap();
        b.terminate(Terminator::Jump(to(inner, &[next])));
        b.switch_to(latch).unwrap();
        let next = b.compute(S::IntAdd, &[i, one], Some(exit)).unwrap();
        b.terminate(Terminator::Jump(to(outer, &[next])));
        b.switch_to(after).unwrap();
        b.terminate(Terminator::Return(vec![]));
        let function = Arc::new(b.finish("nested").unwrap());
        function.check().unwrap();
        let native = Native::compile(&function, None).unwrap();
        let stop = AtomicBool::new(true);
        let run = |count: i64| with_stop_flag(&stop, || native.run(&[Datum::Int(count)])).unwrap();
        // Turns of the outer loop alone would not be enough for a look at the flag.
        let found = run(30_000);
        assert!(matches!(found, Err(Error::Interrupted)), "{found:?}");
        assert!(matches!(run(1000), Ok(Outcome::Returned(_))));
    }
}
