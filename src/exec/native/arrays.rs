//! Instructions with arrays in machine code: calls that do a step of the [`frame`], and
//! elements of an array put, or added to, by their indices.

pub(super) mod array_tape;
pub(super) mod element_change;
pub(super) mod elements;
pub(super) mod frame;
pub(super) mod places;

use std::mem::offset_of;

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I8, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};
use smallvec::SmallVec;

use self::element_change::{ElementChange, MOST_INDICES, element_change, reads_element};
use self::frame::{ArrayStep, Destination, ElementAddress, StepOperand};
use self::places::Use;
use super::run::{self, status};
use super::translate::{SLOT, Translator};
use super::unsupported::{Translated, Unsupported};
use super::word::Word;
use crate::ir::{Instruction, ValueId};
use crate::rules::OpRef;

/// Estimated nanoseconds of an operator on arrays; a large one polls for signals itself.
pub(super) const OPERATOR: i64 = 1000;

/// Estimated nanoseconds of a step that moves arrays.
const MOVES: i64 = 50;

impl Translator<'_> {
    /// The place of an array; `None` for what is in a register.
    pub(super) fn place(&self, id: ValueId) -> Option<usize> {
        self.interface.places[id as usize].map(|place| place as usize)
    }

    /// Whether one of some values is an array.
    pub(super) fn has_arrays(&self, ids: &[ValueId]) -> bool {
        ids.iter().any(|&id| self.place(id).is_some())
    }

    /// The number of a step.
    fn number(&mut self, step: ArrayStep) -> Value {
        let number = self.integer(self.steps.len() as i64);
        self.steps.push(step);
        number
    }

    /// Does a step that seldom is; leaves if it fails.
    fn rare_step(&mut self, step: ArrayStep) {
        let number = self.number(step);
        self.call_rarely(self.rare.step(), &[self.run, number]);
    }

    /// Does a step; leaves if it fails.
    pub(super) fn step(&mut self, step: ArrayStep, cost: i64) {
        self.cost += cost;
        let number = self.number(step);
        let function = run::step as *const () as usize;
        let call = self.call(function, &[self.run, number], &[I8]);
        let done = self.result_of(call);
        self.require(done, status::FAILED);
    }

    /// The offset of a slot for operands of steps.
    pub(super) fn scratch(&mut self, number: usize) -> i32 {
        self.scratch = self.scratch.max(number + 1);
        (self.interface.slots() + self.kept.count + number) as i32 * SLOT
    }

    /// Puts a single number into a slot for operands of steps: how it is there.
    pub(super) fn put_number(&mut self, id: ValueId, slot: usize) -> Translated<Word> {
        let (value, at) = (self.read(id)?, self.scratch(slot));
        self.store(value, self.slots, at);
        self.word(id)
    }

    /// The use of an array by an instruction of the block that is written.
    fn used(&self, place: usize, instruction: usize, operand: usize) -> Use {
        let last = self.last.operand(self.current, instruction, operand);
        Use { place, last }
    }

    /// Drops an array if an instruction reads it for the last time, so that nobody shares its elements.
    pub(super) fn drop_if_last(&mut self, place: usize, instruction: usize, operand: usize) {
        if self.last.operand(self.current, instruction, operand) {
            self.step(ArrayStep::Drop(place), 1);
        }
    }

    /// Puts single numbers where a step finds them.
    fn operands(&mut self, args: &[ValueId], instruction: usize) -> Translated<Vec<StepOperand>> {
        let mut operands = Vec::with_capacity(args.len());
        for (k, &id) in args.iter().enumerate() {
            operands.push(match self.place(id) {
                Some(place) => StepOperand::Array(self.used(place, instruction, k)),
                None => StepOperand::Number(self.put_number(id, k)?),
            });
        }
        Ok(operands)
    }

    /// What a step has left in the first slot.
    fn result_of_step(&mut self, word: Word) -> Value {
        let at = self.scratch(0);
        self.load(word.ty(), self.slots, at)
    }

    /// Writes an operator as a step, which is done `seldom` or not.
    pub(super) fn general(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
        seldom: bool,
    ) -> Translated<Option<Value>> {
        let operands = self.operands(args, instruction)?;
        let to = match self.place(result) {
            Some(place) => Destination::Place(place),
            None => Destination::Slot(self.word(result)?),
        };
        let step = ArrayStep::Apply {
            op: op.clone(),
            operands: operands.into(),
            result,
            to,
        };
        self.scratch(0);
        match seldom {
            true => self.rare_step(step),
            false => self.step(step, OPERATOR),
        }
        Ok(match to {
            Destination::Slot(word) => Some(self.result_of_step(word)),
            Destination::Place(_) => None,
        })
    }

    /// Writes an operator that has arrays, or no function of single numbers: its value, if that is in a
    /// register.
    pub(super) fn apply_to_arrays(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
    ) -> Translated<Option<Value>> {
        if reads_element(self.function, op, args) {
            self.write_pending();
            return self.element(op, args, result, instruction, None).map(Some);
        }
        if let Some(change) = element_change(self.function, op, args)
            && self.last.operand(self.current, instruction, 0)
        {
            self.write_pending();
            self.change_elements(op, &change, args, result, instruction)?;
            return Ok(None);
        }
        if let Some(value) = self.wait_fixed(op, args, result, instruction)? {
            return Ok(value);
        }
        // What must run in the thread of its caller is for the caller's code, which may give other types.
        if let Some(place) = self.place(result)
            && !op.stays_in_thread()
        {
            self.wait(op, args, result, place, instruction)?;
            return Ok(None);
        }
        self.write_pending();
        self.general(op, args, result, instruction, false)
    }

    /// Writes the positions of the elements of an array that are changed, and whether they all may be
    /// changed in place.
    fn changed_positions(
        &mut self,
        array: (ValueId, usize),
        indices: &[SmallVec<[Value; 1]>],
    ) -> Translated<(Vec<BlockArg>, Value)> {
        let (id, place) = array;
        let room = self.address(place, offset_of!(ElementAddress, changeable))?;
        let (mut positions, mut fits) = (Vec::new(), None);
        for indices in indices {
            let position = self.position(id, place, indices)?;
            let within = self.is_within(position, room);
            positions.push(BlockArg::Value(position.0));
            fits = Some(fits.map_or(within, |fits| self.cursor.ins().band(fits, within)));
        }
        Ok((positions, fits.ok_or(Unsupported("a change of nothing"))?))
    }

    /// Writes changes of elements of an array, which nobody else needs: stores where it may be changed in
    /// place, else the operator.
    fn change_elements(
        &mut self,
        op: &OpRef,
        change: &ElementChange,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
    ) -> Translated {
        let place = |id: ValueId| self.place(id).ok_or(Unsupported("no array"));
        let (from, to) = (place(args[0])?, place(result)?);
        if from != to {
            self.general(op, args, result, instruction, false)?;
            return Ok(());
        }
        let (mut numbers, mut indices) = (Vec::new(), Vec::new());
        for operands in &change.changes {
            numbers.push(self.read(args[operands.start])?);
            indices.push(self.indices(&args[operands.start + 1..operands.end])?);
        }
        let dfg = &mut self.cursor.func.dfg;
        let (inside, next) = (dfg.make_block(), dfg.make_block());
        let given = indices.iter().map(|_| dfg.append_block_param(inside, I64));
        let positions: Vec<Value> = given.collect();
        let (by_call, by_operator) = (self.cold(), self.cold());
        let none: &[BlockArg] = &[];
        let array = (args[0], from);
        let (found, fits) = self.changed_positions(array, &indices)?;
        self.cursor.ins().brif(fits, inside, &found, by_call, none);
        self.cursor.goto_bottom(by_call);
        let number = self.integer(from as i64);
        self.call_rarely(self.rare.claim(), &[self.run, number]);
        let (found, fits) = self.changed_positions(array, &indices)?;
        self.cursor
            .ins()
            .brif(fits, inside, &found, by_operator, none);
        self.open(inside);
        let start = self.address(from, offset_of!(ElementAddress, start))?;
        for (&x, &position) in numbers.iter().zip(&positions) {
            let address = self.element_at(start, position);
            let value = match change.adds {
                true => {
                    let old = self.load(F64, address, 0);
                    self.cursor.ins().fadd(old, x)
                }
                false => x,
            };
            self.store(value, address, 0);
        }
        self.cursor.ins().jump(next, none);
        self.cursor.goto_bottom(by_operator);
        self.general(op, args, result, instruction, true)?;
        self.cursor.ins().jump(next, none);
        self.open(next);
        Ok(())
    }

    /// Writes the length of an axis of an array, or leaves.
    pub(super) fn length(&mut self, of: ValueId, axis: u8, exit: u32) -> Translated<Value> {
        let place = self.place(of).ok_or(Unsupported("no array"))?;
        if let Some(length) = self.known_length(of, axis) {
            return Ok(self.integer(length));
        }
        let (axes, axis) = (self.axes(of), usize::from(axis));
        if let Some(known) = self.arguments.get(&of).filter(|_| (axes, axis) == (1, 0)) {
            return Ok(known.count);
        }
        if axes <= MOST_INDICES && axis < axes {
            return self.length_there(place, axis);
        }
        self.scratch(0);
        self.step(ArrayStep::Length(place, axis), MOVES);
        let length = self.result_of_step(Word::Int);
        let there = self
            .cursor
            .ins()
            .icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, 0);
        self.require_or_exit(there, exit);
        Ok(length)
    }

    /// Writes indices that follow one another, or leaves.
    pub(super) fn rows(&mut self, instruction: &Instruction, exit: u32) -> Translated {
        let place = self.place(instruction.result());
        let place = place.ok_or(Unsupported("no array"))?;
        for (k, &id) in instruction.expression.operands().iter().enumerate() {
            self.put_number(id, k)?;
        }
        self.step(ArrayStep::Rows(place), OPERATOR);
        let found = self.result_of_step(Word::Int);
        let there = self.cursor.ins().icmp_imm_s(IntCC::NotEqual, found, 0);
        self.require_or_exit(there, exit);
        Ok(())
    }

    /// Writes the length of an axis: a load where the elements have an address, else the step.
    fn length_there(&mut self, place: usize, axis: usize) -> Translated<Value> {
        let start = self.address(place, offset_of!(ElementAddress, start))?;
        let length = self.axis_length(place, axis)?;
        let next = self.cursor.func.dfg.make_block();
        let found = self.cursor.func.dfg.append_block_param(next, I64);
        let missing = self.cold();
        let (none, known): (&[BlockArg], _) = (&[], [BlockArg::Value(length)]);
        self.cursor.ins().brif(start, next, &known, missing, none);
        self.cursor.goto_bottom(missing);
        self.scratch(0);
        self.rare_step(ArrayStep::Length(place, axis));
        let length = self.result_of_step(Word::Int);
        self.cursor.ins().jump(next, &[BlockArg::Value(length)]);
        self.open(next);
        Ok(found)
    }

    /// Writes the part of a record that is arrays.
    pub(super) fn push_arrays(&mut self, tape: u32, args: &[ValueId], instruction: usize) {
        let arrays = args.iter().enumerate().filter_map(|(k, &id)| {
            let place = self.place(id).filter(|_| self.is_framed(id))?;
            Some(self.used(place, instruction, k))
        });
        let arrays: Vec<Use> = arrays.collect();
        if !arrays.is_empty() {
            self.step(ArrayStep::Push(tape as usize, arrays.into()), MOVES);
        }
    }

    /// Takes the part of a record that is arrays.
    pub(super) fn pop_arrays(&mut self, tape: u32, results: &[ValueId]) {
        let framed = results.iter().filter(|&&id| self.is_framed(id));
        let places = framed.filter_map(|&id| self.place(id));
        let places: Vec<usize> = places.collect();
        if !places.is_empty() {
            self.step(ArrayStep::Pop(tape as usize, places.into()), MOVES);
        }
    }

    /// Gives a block the arrays that are its parameters, where they are not where it looks for them.
    pub(super) fn moves(&self, args: &[ValueId], to: usize, target: usize) -> Option<ArrayStep> {
        let last = self.last.arguments(self.current, target);
        let parameters = &self.function.blocks[to].parameters;
        let moves = args.iter().zip(last).zip(parameters);
        let moves = moves.filter_map(|((&id, &last), &parameter)| {
            let (place, to) = (self.place(id)?, self.place(parameter)?);
            let last = last && self.is_framed(id);
            self.is_framed(parameter)
                .then_some((Use { place, last }, to))
        });
        let (stay, mut moves): (Vec<_>, Vec<_>) = moves.partition(|(from, to)| from.place == *to);
        for (from, _) in &mut moves {
            from.last &= stay.iter().all(|(stays, _)| stays.place != from.place);
        }
        // One after the other, if none has to wait for itself.
        let mut hand = Vec::new();
        let mut waiting = moves.clone();
        while let Some(next) = waiting
            .iter()
            .position(|&(from, to)| from.last && waiting.iter().all(|(other, _)| other.place != to))
        {
            let (from, to) = waiting.remove(next);
            hand.push((from.place, to));
        }
        match moves.is_empty() {
            true => None,
            false if waiting.is_empty() => Some(ArrayStep::Hand(hand)),
            false => Some(ArrayStep::Move(moves)),
        }
    }
}
