//! Elements of arrays in machine code, read by their indices.
//!
//! Where the elements of an argument are and how many is loaded once, before all loops. An index is compared
//! with the length of its axis each time.

use std::mem::offset_of;

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};
use smallvec::SmallVec;

use super::element_change::{MOST_INDICES, reads_element};
use super::frame::ElementAddress;
use crate::exec::native::run::NativeRun;
use crate::exec::native::translate::{ArgumentElements, Translator};
use crate::exec::native::unsupported::{Translated, Unsupported};
use crate::ir::{Block, Expression, ScalarOperator, ValueId};
use crate::rules::OpRef;

impl Translator<'_> {
    /// Loads where the elements of arguments are of which loops read elements. They stay there: the
    /// caller has the arguments as long as the run goes on, so that nobody changes them either.
    pub(in crate::exec::native) fn load_addresses(&mut self) -> Translated {
        let function = self.function;
        let mut read: Vec<ValueId> = Vec::new();
        for &block in self.cfg.order().iter().filter(|&&b| self.cfg.in_cycle(b)) {
            for i in &function.blocks[block].instructions {
                match &i.expression {
                    Expression::Apply(op, args) if reads_element(function, op, args) => {
                        read.push(args[0]);
                    }
                    Expression::Compute(ScalarOperator::Length(_), args, _) => read.push(args[0]),
                    _ => {}
                }
            }
        }
        if !self.cfg.predecessors(0).is_empty() {
            return Ok(());
        }
        for &id in function.parameters() {
            let axes = self.axes(id);
            let is_read = (1..=MOST_INDICES).contains(&axes) && read.contains(&id);
            if let Some(place) = self.place(id).filter(|_| is_read) {
                let start = self.address(place, offset_of!(ElementAddress, start))?;
                let count = self.address(place, offset_of!(ElementAddress, count))?;
                let most = self.integer(1 << 32);
                let indexed = self.cursor.ins().umin(count, most);
                let lengths = (0..axes).map(|axis| self.axis_length(place, axis));
                let elements = ArgumentElements {
                    start,
                    count,
                    indexed,
                    lengths: lengths.collect::<Translated<_>>()?,
                };
                self.arguments.insert(id, elements);
            }
        }
        Ok(())
    }

    /// The number of axes of a value that is an array or a number, else 0.
    pub(super) fn axes(&self, id: ValueId) -> usize {
        self.function.kind(id).array().map_or(0, |ty| ty.ndim())
    }

    /// A field of the address of an array's elements, in the frame.
    pub(super) fn address(&mut self, place: usize, field: usize) -> Translated<Value> {
        let at = place * size_of::<ElementAddress>() + field;
        let at = i32::try_from(at).map_err(|_| Unsupported("too many arrays"))?;
        let addresses = offset_of!(NativeRun<'_>, addresses) as i32;
        let addresses = self.load(I64, self.run, addresses);
        Ok(self.load(I64, addresses, at))
    }

    /// The length of an axis of an array whose elements have an address.
    pub(super) fn axis_length(&mut self, place: usize, axis: usize) -> Translated<Value> {
        let field = offset_of!(ElementAddress, lengths) + axis * size_of::<usize>();
        self.address(place, field)
    }

    /// Writes the indices of an element of an array, one for each axis.
    pub(super) fn indices(&mut self, ids: &[ValueId]) -> Translated<SmallVec<[Value; 1]>> {
        let index = |&id: &ValueId| {
            let index = self.read(id)?;
            Ok(self.cursor.ins().uextend(I64, index))
        };
        ids.iter().map(index).collect()
    }

    /// Writes the position of an element, in C order, and whether all its indices but the first are below
    /// the lengths of their axes; `None` if there are no others. It is within the array then if the position
    /// is below the number of elements.
    pub(super) fn position(
        &mut self,
        of: ValueId,
        place: usize,
        indices: &[Value],
    ) -> Translated<(Value, Option<Value>)> {
        let (&first, others) = indices.split_first().ok_or(Unsupported("no index"))?;
        let (mut position, mut within) = (first, None);
        for (&index, axis) in others.iter().zip(1..) {
            let known = self.arguments.get(&of).map(|known| known.lengths[axis]);
            let length = known.map_or_else(|| self.axis_length(place, axis), Ok)?;
            let is_below = self
                .cursor
                .ins()
                .icmp(IntCC::UnsignedLessThan, index, length);
            within = Some(within.map_or(is_below, |w| self.cursor.ins().band(w, is_below)));
            let rows = self.cursor.ins().imul(position, length);
            position = self.cursor.ins().iadd(rows, index);
        }
        Ok((position, within))
    }

    /// Writes whether a position, as [`position`](Self::position) gives it, is within an array of so many
    /// elements.
    pub(super) fn is_within(&mut self, position: (Value, Option<Value>), count: Value) -> Value {
        let ins = self.cursor.ins();
        let is_below = ins.icmp(IntCC::UnsignedLessThan, position.0, count);
        match position.1 {
            Some(within) => self.cursor.ins().band(within, is_below),
            None => is_below,
        }
    }

    /// Writes the address of the element at a position.
    pub(super) fn element_at(&mut self, start: Value, position: Value) -> Value {
        let bytes = self.cursor.ins().ishl_imm_u(position, 3);
        self.cursor.ins().iadd(start, bytes)
    }

    /// Writes an integer made an index and the element of an argument that it is the index of, if the
    /// instructions from here on are these: one comparison with the length does for both. The number of the
    /// second instruction then.
    pub(in crate::exec::native) fn indexed_element(
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
        let reads = reads_element(self.function, op, args) && args[1..] == [first.result()];
        if !reads || !self.arguments.contains_key(&args[0]) {
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

    /// Writes an element of an array: a load where the indices are in range, else the operator, which says
    /// what is wrong. Of an argument with one axis, the index may be that of an integer that nobody has
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
        let known = self.arguments.get(&args[0]).cloned();
        self.cost += 1;
        let position = match integer {
            Some((integer, _)) => (integer, None),
            None => {
                let indices = self.indices(&args[1..])?;
                self.position(args[0], place, &indices)?
            }
        };
        let count = match &known {
            Some(elements) if integer.is_some() => elements.indexed,
            Some(elements) => elements.count,
            None => self.address(place, offset_of!(ElementAddress, count))?,
        };
        let within = self.is_within(position, count);
        let dfg = &mut self.cursor.func.dfg;
        let (inside, next) = (dfg.make_block(), dfg.make_block());
        let value = dfg.append_block_param(next, F64);
        let outside = self.cold();
        let none: &[BlockArg] = &[];
        self.cursor.ins().brif(within, inside, none, outside, none);
        self.open(inside);
        let start = match known {
            Some(elements) => elements.start,
            None => self.address(place, offset_of!(ElementAddress, start))?,
        };
        let at = self.element_at(start, position.0);
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
