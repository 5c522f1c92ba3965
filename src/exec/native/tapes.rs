//! Tapes in machine code.
//!
//! A record is written at the top of its tape and read from there; only to grow a tape is a function
//! called. Whether a tape has the room, or the record, is compared each time: that a function
//! takes no more records than it appends is not relied on.

use std::mem::offset_of;

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};
use cranelift_codegen::isa::CallConv;

use super::interface::MOST_VALUES;
use super::rare;
use super::run::{NativeRun, NumberTape, status};
use super::translate::{SLOT, Translator};
use super::unsupported::{Translated, Unsupported};
use crate::ir::ValueId;

impl Translator<'_> {
    /// The offset of one of a tape's fields.
    fn field(tape: u32, offset: usize) -> Translated<i32> {
        let at = tape as usize * size_of::<NumberTape>() + offset;
        i32::try_from(at).map_err(|_| Unsupported("too many tapes"))
    }

    /// Slots of a record. One without values takes one, so that it is counted.
    fn record(count: usize) -> Translated<i64> {
        match count <= MOST_VALUES {
            true => Ok(count.max(1) as i64),
            false => Err(Unsupported("too long a record")),
        }
    }

    /// Calls a function of [`RareCalls`](rare::RareCalls) by its address.
    pub(super) fn call_keeping(&mut self, address: usize, args: &[Value]) {
        let signature = rare::signature(args.len(), CallConv::PreserveAll);
        let signature = self.cursor.func.import_signature(signature);
        let callee = self.integer(address as i64);
        self.cursor.ins().call_indirect(signature, callee, args);
    }

    /// As [`call_keeping`](Self::call_keeping); leaves if it fails.
    pub(super) fn call_rarely(&mut self, address: usize, args: &[Value]) {
        self.call_keeping(address, args);
        let failed = offset_of!(NativeRun<'_>, failed) as i32;
        let failed = self.load(I64, self.run, failed);
        let (leave, next) = (self.leave_with(status::FAILED), self.cold());
        let none: &[BlockArg] = &[];
        self.cursor.ins().brif(failed, leave, none, next, none);
        self.cursor.goto_bottom(next);
    }

    /// Those values of a record that are no arrays.
    fn singles(&self, ids: &[ValueId]) -> Vec<ValueId> {
        let singles = ids.iter().copied();
        singles.filter(|&id| self.place(id).is_none()).collect()
    }

    pub(super) fn push(&mut self, tape: u32, args: &[ValueId]) -> Translated {
        let args: Vec<ValueId> = self.singles(args);
        self.cost += 1 + args.len() as i64;
        let slots = Self::record(args.len())?;
        let bytes = slots * i64::from(SLOT);
        let at = Self::field(tape, offset_of!(NumberTape, top))?;
        let tapes = self.tapes;
        let top = self.load(I64, tapes, at);
        let end = self.load(I64, tapes, Self::field(tape, offset_of!(NumberTape, end))?);
        let room = self.cursor.ins().isub(end, top);
        let fits = self.integer(bytes);
        let fits = self
            .cursor
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, room, fits);
        let (full, next) = (self.cold(), self.cursor.func.dfg.make_block());
        let base = self.cursor.func.dfg.append_block_param(next, I64);
        let none: &[BlockArg] = &[];
        let args_of_next = [BlockArg::Value(top)];
        self.cursor
            .ins()
            .brif(fits, next, &args_of_next, full, none);

        self.cursor.goto_bottom(full);
        let (number, count) = (self.integer(i64::from(tape)), self.integer(slots));
        self.call_rarely(self.rare.grow(), &[self.run, number, count]);
        let top = self.load(I64, tapes, at);
        self.cursor.ins().jump(next, &[BlockArg::Value(top)]);

        self.open(next);
        for (k, &id) in args.iter().enumerate() {
            let value = self.read(id)?;
            self.store(value, base, k as i32 * SLOT);
        }
        let top = self.cursor.ins().iadd_imm_s(base, bytes);
        self.store(top, tapes, at);
        Ok(())
    }

    pub(super) fn pop(&mut self, tape: u32, results: &[ValueId]) -> Translated {
        let results: Vec<ValueId> = self.singles(results);
        self.cost += 1 + results.len() as i64;
        let bytes = Self::record(results.len())? * i64::from(SLOT);
        let at = Self::field(tape, offset_of!(NumberTape, top))?;
        let tapes = self.tapes;
        let top = self.load(I64, tapes, at);
        let bottom = self.load(
            I64,
            tapes,
            Self::field(tape, offset_of!(NumberTape, bottom))?,
        );
        let used = self.cursor.ins().isub(top, bottom);
        let least = self.integer(bytes);
        let there = self
            .cursor
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, used, least);
        self.require(there, status::NO_RECORD);
        let base = self.cursor.ins().iadd_imm_s(top, -bytes);
        for (k, &id) in results.iter().enumerate() {
            let ty = self.word(id)?.ty();
            let value = self.load(ty, base, k as i32 * SLOT);
            self.define(id, value)?;
        }
        self.store(base, tapes, at);
        Ok(())
    }
}
