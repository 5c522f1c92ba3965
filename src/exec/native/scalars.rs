//! Scalar operators as machine code.
//!
//! [`ScalarOperator::eval`](crate::ir::ScalarOperator::eval) says what they compute. What fails there leaves
//! by the exit here, before an instruction is reached that could trap. With an integer that is known, as the
//! step of a counter, fewer instructions do: a power of two divides by a shift, and a positive one does not
//! fail. In loops, what [`Ranges`] proves is not compared: that a counter fits 64 bits, or is not negative.

pub(super) mod angle_pairs;
pub(super) mod angles;
pub(super) mod operators;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I32, I64};
use cranelift_codegen::ir::{
    InstBuilder, InstructionData, Opcode, StackSlotData, StackSlotKind, Value,
};

use super::run::{self, status};
use super::translate::Translator;
use super::unsupported::{Translated, Unsupported};
use super::word::Word;
use crate::ir::{Comparison, Ranges, ScalarOperator as S, ValueId};

fn of_integers(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Less => IntCC::SignedLessThan,
        Comparison::LessEqual => IntCC::SignedLessThanOrEqual,
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Greater => IntCC::SignedGreaterThan,
        Comparison::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
    }
}

/// As IEEE 754 has it: NaN differs from everything, and compares in no other way.
fn of_numbers(comparison: Comparison) -> FloatCC {
    match comparison {
        Comparison::Less => FloatCC::LessThan,
        Comparison::LessEqual => FloatCC::LessThanOrEqual,
        Comparison::Equal => FloatCC::Equal,
        Comparison::NotEqual => FloatCC::NotEqual,
        Comparison::Greater => FloatCC::GreaterThan,
        Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
    }
}

impl<'a> Translator<'a> {
    /// Whether a condition holds, of kind Bool or a number.
    pub(super) fn truth(&mut self, id: ValueId) -> Translated<Value> {
        let value = self.read(id)?;
        Ok(match self.word(id)? {
            Word::Bool => value,
            Word::Int | Word::U32 => self.cursor.ins().icmp_imm_s(IntCC::NotEqual, value, 0),
            word => {
                let zero = self.zero(word);
                self.cursor.ins().fcmp(FloatCC::NotEqual, value, zero)
            }
        })
    }

    fn compare(&mut self, how: IntCC, x: Value, y: i64) -> Value {
        self.cursor.ins().icmp_imm_s(how, x, y)
    }

    /// Writes a scalar operator that [`Function::check`](crate::ir::Function::check) found to have
    /// operands of its kinds, and an exit if it can fail.
    pub(super) fn compute(
        &mut self,
        op: S,
        args: &[ValueId],
        exit: Option<u32>,
    ) -> Translated<Value> {
        let words = args.iter().map(|&id| self.word(id));
        let words: Vec<Word> = words.collect::<Translated<_>>()?;
        let values = args.iter().map(|&id| self.read(id));
        let values: Vec<Value> = values.collect::<Translated<_>>()?;
        match (values.as_slice(), exit) {
            (&[x], None) => self.total_of_one(op, x, words[0]),
            (&[x, y], None) => self.total_of_two(op, x, y),
            (&[x], Some(exit)) => self.partial_of_one(op, x, words[0], exit),
            (&[x, y], Some(exit)) => self.partial_of_two(op, args, [x, y], exit),
            _ => Err(Unsupported("a scalar operator of three operands")),
        }
    }

    fn total_of_one(&mut self, op: S, x: Value, word: Word) -> Translated<Value> {
        Ok(match op {
            S::IntInvert => self.cursor.ins().bnot(x),
            S::BoolNot => self.compare(IntCC::Equal, x, 0),
            S::IntToFloat => self.cursor.ins().fcvt_from_sint(F64, x),
            S::BoolToInt | S::IndexToInt => self.cursor.ins().uextend(I64, x),
            S::IndexToSigned => self.cursor.ins().sextend(I64, x),
            S::IntToBool => self.compare(IntCC::NotEqual, x, 0),
            S::FloatToBool => {
                let zero = self.zero(word);
                self.cursor.ins().fcmp(FloatCC::NotEqual, x, zero)
            }
            _ => return Err(Unsupported("an unknown scalar operator")),
        })
    }

    fn total_of_two(&mut self, op: S, x: Value, y: Value) -> Translated<Value> {
        if let S::CompareInt(Comparison::Equal | Comparison::NotEqual) = op
            && self.known(y) == Some(0)
            && let Some(divides) = self.divides(x)
        {
            return Ok(match op {
                S::CompareInt(Comparison::Equal) => divides,
                _ => self.compare(IntCC::Equal, divides, 0),
            });
        }
        let ins = self.cursor.ins();
        Ok(match op {
            S::IntAnd | S::BoolAnd => ins.band(x, y),
            S::IntOr | S::BoolOr => ins.bor(x, y),
            S::IntXor | S::BoolXor => ins.bxor(x, y),
            S::BoolEqual => ins.icmp(IntCC::Equal, x, y),
            S::CompareInt(how) => ins.icmp(of_integers(how), x, y),
            S::CompareNumber(how) => ins.fcmp(of_numbers(how), x, y),
            _ => return Err(Unsupported("an unknown scalar operator")),
        })
    }

    fn partial_of_one(&mut self, op: S, x: Value, word: Word, exit: u32) -> Translated<Value> {
        Ok(match op {
            S::IntNeg => {
                let fits = self.compare(IntCC::NotEqual, x, i64::MIN);
                self.require_or_exit(fits, exit);
                self.cursor.ins().ineg(x)
            }
            S::IntAbs => {
                let fits = self.compare(IntCC::NotEqual, x, i64::MIN);
                self.require_or_exit(fits, exit);
                self.cursor.ins().iabs(x)
            }
            S::FloatToInt | S::Floor | S::Ceil | S::Round => {
                let x = match word {
                    Word::F32 => self.cursor.ins().fpromote(F64, x),
                    _ => x,
                };
                let whole = match op {
                    S::Floor => self.cursor.ins().floor(x),
                    S::Ceil => self.cursor.ins().ceil(x),
                    S::Round => self.cursor.ins().nearest(x),
                    _ => self.cursor.ins().trunc(x),
                };
                // 2^63 does not fit; NaN is in no range.
                let least = self.cursor.ins().f64const(-9_223_372_036_854_775_808.0);
                let above = self.cursor.ins().f64const(9_223_372_036_854_775_808.0);
                let mut within = |how, limit| self.cursor.ins().fcmp(how, whole, limit);
                let low = within(FloatCC::GreaterThanOrEqual, least);
                let high = within(FloatCC::LessThan, above);
                let fits = self.cursor.ins().band(low, high);
                self.require_or_exit(fits, exit);
                self.cursor.ins().fcvt_to_sint(I64, whole)
            }
            S::IntToIndex => {
                self.require_index(x, exit);
                self.cursor.ins().ireduce(I32, x)
            }
            S::Length(_) => {
                // A single number has no axes.
                let never = self.cursor.ins().iconst(I8, 0);
                self.require_or_exit(never, exit);
                self.integer(0)
            }
            _ => return Err(Unsupported("an unknown scalar operator")),
        })
    }

    fn partial_of_two(
        &mut self,
        op: S,
        args: &[ValueId],
        [x, y]: [Value; 2],
        exit: u32,
    ) -> Translated<Value> {
        Ok(match op {
            S::IntAdd => match (self.known(x), self.known(y)) {
                (_, Some(k)) => self.moved(args[0], x, k, exit),
                (Some(k), _) => self.moved(args[1], y, k, exit),
                _ if self.is_at_least(args[1], 0) => {
                    let sum = self.cursor.ins().iadd(x, y);
                    let fits = self
                        .cursor
                        .ins()
                        .icmp(IntCC::SignedGreaterThanOrEqual, sum, x);
                    self.require_or_exit(fits, exit);
                    sum
                }
                _ => {
                    let (sum, overflows) = self.cursor.ins().sadd_overflow(x, y);
                    self.leave_if(overflows, true, status::LEFT + i64::from(exit));
                    sum
                }
            },
            S::IntSub => match self.known(y).and_then(i64::checked_neg) {
                Some(k) => self.moved(args[0], x, k, exit),
                None => {
                    let (rest, overflows) = self.cursor.ins().ssub_overflow(x, y);
                    self.leave_if(overflows, true, status::LEFT + i64::from(exit));
                    rest
                }
            },
            S::IntMul => {
                let (product, overflows) = self.cursor.ins().smul_overflow(x, y);
                self.leave_if(overflows, true, status::LEFT + i64::from(exit));
                product
            }
            S::IntFloorDiv if let Some(n) = self.known(y).filter(|n| *n > 0) => {
                if n.count_ones() == 1 {
                    let by = i64::from(n.trailing_zeros());
                    return Ok(self.cursor.ins().sshr_imm_u(x, by));
                }
                if self.is_at_least(args[0], 0) {
                    return Ok(self.cursor.ins().udiv(x, y));
                }
                let quotient = self.cursor.ins().sdiv(x, y);
                let product = self.cursor.ins().imul(quotient, y);
                let rest = self.cursor.ins().isub(x, product);
                // -1 where it was rounded up.
                let less = self.cursor.ins().sshr_imm_u(rest, 63);
                self.cursor.ins().iadd(quotient, less)
            }
            S::IntMod if let Some(n) = self.known(y).filter(|n| *n > 0) => {
                if n.count_ones() == 1 {
                    let mask = self.integer(n - 1);
                    return Ok(self.cursor.ins().band(x, mask));
                }
                if self.is_at_least(args[0], 0) {
                    return Ok(self.cursor.ins().urem(x, y));
                }
                let rest = self.cursor.ins().srem(x, y);
                let below = self.cursor.ins().sshr_imm_u(rest, 63);
                let more = self.cursor.ins().band(below, y);
                self.cursor.ins().iadd(rest, more)
            }
            S::IntFloorDiv => {
                let divides = self.compare(IntCC::NotEqual, y, 0);
                self.require_or_exit(divides, exit);
                let (least, other) = (
                    self.compare(IntCC::NotEqual, x, i64::MIN),
                    self.compare(IntCC::NotEqual, y, -1),
                );
                let fits = self.cursor.ins().bor(least, other);
                self.require_or_exit(fits, exit);
                let quotient = self.cursor.ins().sdiv(x, y);
                let product = self.cursor.ins().imul(quotient, y);
                let rest = self.cursor.ins().isub(x, product);
                let other_sign = self.has_other_sign(rest, y);
                let less = self.cursor.ins().uextend(I64, other_sign);
                self.cursor.ins().isub(quotient, less)
            }
            S::IntMod => {
                let divides = self.compare(IntCC::NotEqual, y, 0);
                self.require_or_exit(divides, exit);
                // The remainder by -1 is that by 1; the instruction traps for the least integer.
                let minus_one = self.compare(IntCC::Equal, y, -1);
                let one = self.integer(1);
                let divisor = self.cursor.ins().select(minus_one, one, y);
                let rest = self.cursor.ins().srem(x, divisor);
                let other_sign = self.has_other_sign(rest, y);
                let moved = self.cursor.ins().iadd(rest, y);
                self.cursor.ins().select(other_sign, moved, rest)
            }
            S::IntShiftRight => {
                let counts = self.compare(IntCC::SignedGreaterThanOrEqual, y, 0);
                self.require_or_exit(counts, exit);
                let most = self.integer(63);
                let by = self.cursor.ins().umin(y, most);
                self.cursor.ins().sshr(x, by)
            }
            S::IntPow => self.by_call(run::int_pow as *const () as usize, x, y, exit),
            S::IntShiftLeft => self.by_call(run::int_shift_left as *const () as usize, x, y, exit),
            _ => return Err(Unsupported("an unknown scalar operator")),
        })
    }

    /// Whether a known odd number divides another without a sign, if a value is the remainder: the
    /// product with its inverse modulo 2^64 is the quotient then, and too large for one otherwise (Warren,
    /// "Hacker's Delight", 2nd edition, section 10-17).
    fn divides(&mut self, remainder: Value) -> Option<Value> {
        let dfg = &self.cursor.func.dfg;
        let InstructionData::Binary {
            opcode: Opcode::Urem,
            args: [x, n],
        } = dfg.insts[dfg.value_def(remainder).inst()?]
        else {
            return None;
        };
        let n = self.known(n).filter(|n| n % 2 == 1)?.cast_unsigned();
        // Newton's iteration: 3 bits of n are its own inverse, and each step doubles their number.
        let inverse = (0..5).fold(n, |inverse, _| {
            inverse.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(inverse)))
        });
        let inverse = self.integer(inverse.cast_signed());
        let product = self.cursor.ins().imul(x, inverse);
        let most = self.integer((u64::MAX / n).cast_signed());
        let how = IntCC::UnsignedLessThanOrEqual;
        Some(self.cursor.ins().icmp(how, product, most))
    }

    /// The integer that a value always is, if that is known.
    fn known(&self, x: Value) -> Option<i64> {
        let dfg = &self.cursor.func.dfg;
        match dfg.insts[dfg.value_def(x).inst()?] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits()),
            _ => None,
        }
    }

    /// The sum of an integer and a known one. It has overflowed if it is below the first and should not be,
    /// or above it.
    fn moved(&mut self, id: ValueId, x: Value, k: i64, exit: u32) -> Value {
        let sum = self.cursor.ins().iadd_imm_s(x, k);
        let fits = match k >= 0 {
            true => self.is_at_most(id, i64::MAX - k),
            false => self.is_at_least(id, i64::MIN - k),
        };
        if !fits {
            let how = match k >= 0 {
                true => IntCC::SignedGreaterThanOrEqual,
                false => IntCC::SignedLessThanOrEqual,
            };
            let fits = self.cursor.ins().icmp(how, sum, x);
            self.require_or_exit(fits, exit);
        }
        sum
    }

    /// Leaves unless an integer can be an index.
    pub(super) fn require_index(&mut self, x: Value, exit: u32) {
        let fits = self.compare(IntCC::UnsignedLessThanOrEqual, x, i64::from(u32::MAX));
        self.require_or_exit(fits, exit);
    }

    /// Whether an integer is proven to be so large, here in a loop.
    fn is_at_least(&mut self, id: ValueId, least: i64) -> bool {
        self.ranges()
            .is_some_and(|(ranges, at)| ranges.is_at_least(id, least, at))
    }

    /// Whether an integer is proven to be no larger, here in a loop.
    fn is_at_most(&mut self, id: ValueId, most: i64) -> bool {
        self.ranges()
            .is_some_and(|(ranges, at)| ranges.is_at_most(id, most, at))
    }

    /// What is known of integers at this instruction, in a loop.
    fn ranges(&mut self) -> Option<(&mut Ranges<'a>, (usize, usize))> {
        let (function, graph) = (self.function, self.cfg);
        let at = (self.current, self.number);
        graph.in_cycle(at.0).then(|| {
            let ranges = self
                .ranges
                .get_or_insert_with(|| Ranges::new(function, graph));
            (ranges, at)
        })
    }

    /// Whether a remainder is not 0, and of another sign than the divisor.
    fn has_other_sign(&mut self, rest: Value, divisor: Value) -> Value {
        let signs = self.cursor.ins().bxor(rest, divisor);
        let differ = self.compare(IntCC::SignedLessThan, signs, 0);
        let inexact = self.compare(IntCC::NotEqual, rest, 0);
        self.cursor.ins().band(differ, inexact)
    }

    /// Calls a function of two integers that writes its result to memory, and says whether it has.
    fn by_call(&mut self, address: usize, x: Value, y: Value, exit: u32) -> Value {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.cursor.func.create_sized_stack_slot(slot);
        let to = self.cursor.ins().stack_addr(I64, slot, 0);
        let call = self.call(address, &[x, y, to], &[I8]);
        let there = self.result_of(call);
        self.require_or_exit(there, exit);
        self.load(I64, to, 0)
    }
}
