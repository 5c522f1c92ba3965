//! Sine and cosine as machine code.
//!
//! In a loop a call would change nearly all registers and hide what is computed beside it, so there the
//! formulas of [`trigonometric`](crate::simd::trigonometric) are written, by the functions that compute
//! them elsewhere: results have the same bits. Only angles beyond [`FARTHEST`] are a call then. A block
//! that has both the sine and the cosine of a value computes them at once.
//!
//! Branches tell small angles apart, as in [`sine_and_cosine`]: a loop whose next turn waits for the sine
//! does not wait for the quarter.
//!
//! Limits: double precision. Code outside of loops, and that of a function with many angles, calls.

use std::cell::RefCell;
use std::ops::{Add, Mul, Sub};

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    self as clif, BlockArg, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value,
};

use crate::exec::native::translate::Translator;
use crate::ir::ValueId;
use crate::simd::trigonometric::{
    FARTHEST, FormulaNumber, LAST, NEAR, NEXT, cosine_of, quarters, remainder, sine_and_cosine,
    sine_of,
};

/// A number of the program that is written: arithmetic with it appends instructions.
#[derive(Clone, Copy)]
struct Written<'c, 'f> {
    value: Value,
    cursor: &'c RefCell<&'c mut FuncCursor<'f>>,
}

impl FormulaNumber for Written<'_, '_> {
    fn number(self, x: f64) -> Self {
        let value = self.cursor.borrow_mut().ins().f64const(x);
        Written { value, ..self }
    }
}

/// An operator of Rust that appends an instruction.
macro_rules! append {
    ($($trait:ident $method:ident $instruction:ident;)+) => {$(
        impl $trait for Written<'_, '_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                let value = self.cursor.borrow_mut().ins().$instruction(self.value, other.value);
                Written { value, ..self }
            }
        }
    )+};
}

append! {
    Add add fadd;
    Sub sub fsub;
    Mul mul fmul;
}

/// Most angles of a function whose formulas are written: each takes nine blocks, and about a kilobyte.
const MOST_WRITTEN: usize = 16;

extern "C" fn sine(x: f64) -> f64 {
    sine_and_cosine(x).0
}

extern "C" fn cosine(x: f64) -> f64 {
    sine_and_cosine(x).1
}

/// Sine and cosine: the calling convention returns two numbers in registers, as it does a structure.
#[repr(C)]
struct SineAndCosine(f64, f64);

extern "C" fn both(x: f64) -> SineAndCosine {
    let (sine, cosine) = sine_and_cosine(x);
    SineAndCosine(sine, cosine)
}

impl Translator<'_> {
    /// Writes a formula of numbers.
    fn formula<const N: usize, const R: usize>(
        &mut self,
        of: [Value; N],
        formula: impl for<'c, 'f> FnOnce([Written<'c, 'f>; N]) -> [Written<'c, 'f>; R],
    ) -> [Value; R] {
        let cursor = &RefCell::new(&mut self.cursor);
        formula(of.map(|value| Written { value, cursor })).map(|written| written.value)
    }

    /// Whether a number compares so with one that is known.
    fn is(&mut self, how: FloatCC, x: Value, limit: f64) -> Value {
        let limit = self.cursor.ins().f64const(limit);
        self.cursor.ins().fcmp(how, x, limit)
    }

    /// Goes on in one of two new blocks: which these are.
    fn fork(&mut self, holds: Value) -> [clif::Block; 2] {
        let blocks = [(); 2].map(|()| self.cursor.func.dfg.make_block());
        let none: &[BlockArg] = &[];
        self.cursor
            .ins()
            .brif(holds, blocks[0], none, blocks[1], none);
        blocks
    }

    /// The sine or cosine of a value, which the block may have asked for before: where it needs both,
    /// they are computed at once.
    pub(super) fn angle(&mut self, id: ValueId, x: Value, is_sine: bool) -> Value {
        let Some(&known) = self.angles.get(&id) else {
            return self.angles_of(x, [is_sine, !is_sine])[0];
        };
        let values = known.unwrap_or_else(|| {
            let both = self.angles_of(x, [true; 2]);
            [both[0], both[1]]
        });
        self.angles.insert(id, Some(values));
        values[usize::from(!is_sine)]
    }

    /// Sine, cosine or both of an angle.
    fn angles_of(&mut self, x: Value, wanted: [bool; 2]) -> Vec<Value> {
        if self.cfg.in_cycle(self.current) && self.written_angles < MOST_WRITTEN {
            self.written_angles += 1;
            return self.write_angle(x, wanted);
        }
        let (function, results): (_, &[_]) = match wanted {
            [true, true] => (both as *const () as usize, &[F64, F64]),
            [true, false] => (sine as *const () as usize, &[F64]),
            [false, _] => (cosine as *const () as usize, &[F64]),
        };
        let call = self.call(function, &[x], results);
        self.cursor.func.dfg.inst_results(call).to_vec()
    }

    fn write_angle(&mut self, x: Value, wanted: [bool; 2]) -> Vec<Value> {
        let dfg = &mut self.cursor.func.dfg;
        let (near, done) = (dfg.make_block(), dfg.make_block());
        let [r, tail] = [(); 2].map(|()| dfg.append_block_param(near, F64));
        let quarter = dfg.append_block_param(near, I64);
        let which = || [0, 1].into_iter().filter(|&which| wanted[which]);
        let results = which().map(|_| dfg.append_block_param(done, F64));
        let results: Vec<Value> = results.collect();
        self.reduce(x, near, done, wanted);

        // The angle is so many quarters and `r + tail`.
        self.open(near);
        let is_odd = self.cursor.ins().band_imm_u(quarter, 1);
        let signs = [0, 1].map(|turned| {
            let quarter = self.cursor.ins().iadd_imm_s(quarter, turned);
            let negative = self.cursor.ins().ushr_imm_u(quarter, 1);
            let sign = self.cursor.ins().ishl_imm_u(negative, 63);
            self.cursor.ins().bitcast(F64, MemFlagsData::new(), sign)
        });
        // What an arm does not use, Cranelift does not compute there.
        let exact = self.formula([r, tail], |[r, t]| [sine_of(r, t), cosine_of(r, t)]);
        let [odd, even] = self.fork(is_odd);
        for (block, turned) in [(even, 0), (odd, 1)] {
            self.open(block);
            let mut args = Vec::new();
            for which in which() {
                let y = self.cursor.ins().bxor(exact[which ^ turned], signs[which]);
                args.push(BlockArg::Value(y));
            }
            self.cursor.ins().jump(done, &args);
        }
        self.open(done);
        results
    }

    /// Goes on in `near`, with the quarter of an angle and what is left, or in `done` with what is wanted.
    fn reduce(&mut self, x: Value, near: clif::Block, done: clif::Block, wanted: [bool; 2]) {
        let angle = self.cursor.ins().fabs(x);
        let [zero, none] = [self.cursor.ins().f64const(0.0), self.integer(0)];
        let small = [x, zero, none].map(BlockArg::Value);
        let is_small = self.is(FloatCC::LessThanOrEqual, angle, NEAR);
        let larger = self.cursor.func.dfg.make_block();
        let empty: &[BlockArg] = &[];
        self.cursor
            .ins()
            .brif(is_small, near, &small, larger, empty);

        self.open(larger);
        let is_next = self.is(FloatCC::GreaterThanOrEqual, angle, NEXT);
        let [at_least, general] = self.fork(is_next);
        self.open(at_least);
        let is_next = self.is(FloatCC::LessThanOrEqual, angle, LAST);
        let [next, beyond] = self.fork(is_next);
        self.open(next);
        // One quarter forwards or back: the remainder of -x is that of x negated.
        let [r, tail] = self.formula([angle], |[x]| remainder(x, x.number(1.0)).into());
        let sign = self.cursor.ins().f64const(-0.0);
        let sign = self.cursor.ins().band(x, sign);
        let r = self.cursor.ins().bxor(r, sign);
        let tail = self.cursor.ins().bxor(tail, sign);
        let bits = self.cursor.ins().bitcast(I64, MemFlagsData::new(), x);
        let quarter = self.cursor.ins().sshr_imm_u(bits, 63);
        let quarter = self.cursor.ins().bor_imm_u(quarter, 1);
        self.cursor
            .ins()
            .jump(near, &[r, tail, quarter].map(BlockArg::Value));

        self.open(beyond);
        let far = self.cold();
        let within = self.is(FloatCC::LessThanOrEqual, angle, FARTHEST);
        self.cursor.ins().brif(within, general, empty, far, empty);
        self.open(general);
        let [bits, n, r, tail] = self.formula([x], |[x]| {
            let (bits, n) = quarters(x);
            let (r, tail) = remainder(x, n);
            [bits, n, r, tail]
        });
        let is_none = self.is(FloatCC::Equal, n, 0.0);
        let r = self.cursor.ins().select(is_none, x, r);
        let quarter = self.cursor.ins().bitcast(I64, MemFlagsData::new(), bits);
        self.cursor
            .ins()
            .jump(near, &[r, tail, quarter].map(BlockArg::Value));

        self.cursor.goto_bottom(far);
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3);
        let slot = self.cursor.func.create_sized_stack_slot(slot);
        let to = self.cursor.ins().stack_addr(I64, slot, 0);
        let bits = self.cursor.ins().bitcast(I64, MemFlagsData::new(), x);
        self.call_keeping(self.rare.angle(), &[bits, to]);
        let mut args = Vec::new();
        for (k, _) in wanted.into_iter().enumerate().filter(|(_, wanted)| *wanted) {
            args.push(BlockArg::Value(self.load(F64, to, 8 * k as i32)));
        }
        self.cursor.ins().jump(done, &args);
    }
}
