//! Elements of vectors in machine code, read by their index.
//!
//! Where the elements of an argument are and how many is loaded once, before all loops. An index is compared
//! with the length each time.

use std::mem::offset_of;

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::frame::VectorAddress;
use super::run::NativeRun;
use super::translate::{ArgumentVector, Translator};
use super::unsupported::{Translated, Unsupported};
use crate::array::DType;
use crate::ir::{Block, Expression, ScalarOperator, ValueId};
use crate::rules::{Gather, OpRef};

/// The element type and the number of axes of a number, of an index, and of a vector.
pub(super) const ONE: (DType, usize) = (DType::F64, 0);
pub(super) const INDEX: (DType, usize) = (DType::U32, 0);
pub(super) const MANY: (DType, usize) = (DType::F64, 1);

impl Translator<'_> {
    /// The element type and the number of axes of a value that is an array or a number.
    pub(super) fn axes(&self, id: ValueId) -> Option<(DType, usize)> {
        let ty = self.function.kind(id).array();
        ty.map(|ty| (ty.dtype, ty.ndim()))
    }

    /// Whether an operator reads an element of a vector.
    pub(super) fn reads_element(&self, op: &OpRef, args: &[ValueId], result: ValueId) -> bool {
        op.downcast::<Gather>().is_some()
            && [self.axes(args[0]), self.axes(args[1])] == [Some(MANY), Some(INDEX)]
            && self.axes(result) == Some(ONE)
    }

    /// Loads where the elements of arguments are of which loops read elements. They stay there: the
    /// caller has the arguments as long as the run goes on, so that nobody changes them either.
    pub(super) fn load_vectors(&mut self) -> Translated {
        let function = self.function;
        let mut read: Vec<ValueId> = Vec::new();
        for &block in self.cfg.order().iter().filter(|&&b| self.cfg.in_cycle(b)) {
            for i in &function.blocks[block].instructions {
                match &i.expression {
                    Expression::Apply(op, args) if op.downcast::<Gather>().is_some() => {
                        read.push(args[0]);
                    }
                    Expression::Compute(ScalarOperator::Length(0), args, _) => read.push(args[0]),
                    _ => {}
                }
            }
        }
        if !self.cfg.predecessors(0).is_empty() {
            return Ok(());
        }
        for &id in function.parameters() {
            let is_vector = function.kind(id).array().is_some_and(|ty| ty.ndim() == 1);
            if let Some(place) = self.place(id).filter(|_| is_vector && read.contains(&id)) {
                let start = self.vector(place, offset_of!(VectorAddress, start))?;
                let length = self.vector(place, offset_of!(VectorAddress, length))?;
                let most = self.integer(1 << 32);
                let indexed = self.cursor.ins().umin(length, most);
                let vector = ArgumentVector {
                    start,
                    length,
                    indexed,
                };
                self.vectors.insert(id, vector);
            }
        }
        Ok(())
    }

    /// The fields of a vector in the frame.
    pub(super) fn vector(&mut self, place: usize, field: usize) -> Translated<Value> {
        let at = place * size_of::<VectorAddress>() + field;
        let at = i32::try_from(at).map_err(|_| Unsupported("too many arrays"))?;
        let vectors = offset_of!(NativeRun<'_>, vectors) as i32;
        let vectors = self.load(I64, self.run, vectors);
        Ok(self.load(I64, vectors, at))
    }

    /// Writes an integer made an index and the element of an argument that it is the index of, if the
    /// instructions from here on are these: one comparison with the length does for both. The number of the
    /// second instruction then.
    pub(super) fn indexed_element(
        &mut self,
        here: &Block,
        number: usize,
    ) -> Translated<Option<usize>> {
        let Some([first, second]) = here.instructions[number..].first_chunk() else {
            return Ok(None);
        };
        let (
            Expression::Compute(ScalarOperator::IntToIndex, integer, Some(exit)),
            Expression::Apply(op, args),
        ) = (&first.expression, &second.expression)
        else {
            return Ok(None);
        };
        let element = second.result();
        let reads = self.reads_element(op, args, element) && args[1] == first.result();
        if !reads || !self.vectors.contains_key(&args[0]) {
            return Ok(None);
        }
        self.write_pending();
        let whole = self.read(integer[0])?;
        let index = self.cursor.ins().ireduce(I32, whole);
        self.define(first.result(), index)?;
        let checked = Some((whole, *exit));
        let value = self.element(op, args, element, number + 1, checked)?;
        self.define(element, value)?;
        Ok(Some(number + 1))
    }

    /// Writes an element of a vector: a load where the index is in range, else the operator, which says
    /// what is wrong. Of a vector that is an argument, the index may be that of an integer that nobody has
    /// compared yet, with where to leave if it cannot be one.
    pub(super) fn element(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
        integer: Option<(Value, u32)>,
    ) -> Translated<Value> {
        let place = self.place(args[0]).ok_or(Unsupported("no array"))?;
        let known = self.vectors.get(&args[0]).copied();
        self.cost += 1;
        let index = match integer {
            Some((integer, _)) => integer,
            None => {
                let index = self.read(args[1])?;
                self.cursor.ins().uextend(I64, index)
            }
        };
        let length = match known {
            Some(vector) if integer.is_some() => vector.indexed,
            Some(vector) => vector.length,
            None => self.vector(place, offset_of!(VectorAddress, length))?,
        };
        let within = self
            .cursor
            .ins()
            .icmp(IntCC::UnsignedLessThan, index, length);
        let dfg = &mut self.cursor.func.dfg;
        let (inside, next) = (dfg.make_block(), dfg.make_block());
        let value = dfg.append_block_param(next, F64);
        let outside = self.cold();
        let none: &[BlockArg] = &[];
        self.cursor.ins().brif(within, inside, none, outside, none);
        self.open(inside);
        let start = match known {
            Some(vector) => vector.start,
            None => self.vector(place, offset_of!(VectorAddress, start))?,
        };
        let bytes = self.cursor.ins().ishl_imm_u(index, 3);
        let at = self.cursor.ins().iadd(start, bytes);
        let found = self.load(F64, at, 0);
        self.drop_if_last(place, instruction, 0);
        self.cursor.ins().jump(next, &[BlockArg::Value(found)]);
        self.cursor.goto_bottom(outside);
        if let Some((integer, exit)) = integer {
            self.require_index(integer, exit);
            self.is_seldom();
        }
        let found = self.general(op, args, result, instruction, true)?;
        let found = found.ok_or(Unsupported("an element that is an array"))?;
        self.cursor.ins().jump(next, &[BlockArg::Value(found)]);
        self.open(next);
        Ok(value)
    }
}
