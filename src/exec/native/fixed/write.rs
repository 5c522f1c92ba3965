//! Operators on arrays that have [memory of their own](super), as machine code: a call does as many
//! steps as follow one another. They wait until something reads what they compute, or works with the frame.
//! A guard does not: what leaves has no need of them.

use smallvec::SmallVec;

use super::quick::{kernel, quick};
use super::step::{
    FixedApply, FixedOperand, FixedSource, FixedStep, FixedTarget, FixedWay, FrameUpdate,
};
use crate::exec::native::arrays::OPERATOR;
use crate::exec::native::arrays::frame::ArrayStep;

use crate::array::Type;
use crate::exec::native::translate::Translator;
use crate::exec::native::unsupported::{Translated, Unsupported};
use crate::ir::{Expression, Instruction, ValueId};
use crate::rules::{Accumulate, OpRef, is_one_of, shares};

impl Translator<'_> {
    /// The memory where the elements of a value are; `None` if that is the frame.
    fn memory(&self, id: ValueId) -> Option<usize> {
        let id = self.stands.get(&id).copied().unwrap_or(id);
        self.place(id)
            .filter(|&place| self.interface.fixed.has(place))
    }

    /// Whether an array is in the frame.
    pub(in crate::exec::native) fn is_framed(&self, id: ValueId) -> bool {
        self.place(id)
            .is_some_and(|place| !self.interface.fixed.has(place))
    }

    /// The length of an axis, if it is a fact.
    pub(in crate::exec::native) fn known_length(&self, of: ValueId, axis: u8) -> Option<i64> {
        self.memory(of)?;
        let length = self.function.ty(of).shape.get(usize::from(axis))?;
        i64::try_from(*length).ok()
    }

    /// Whether steps may wait while an instruction runs that touches no arrays in the frame.
    pub(in crate::exec::native) fn leaves_steps_waiting(&self, instruction: &Instruction) -> bool {
        let framed = |ids: &[ValueId]| ids.iter().any(|&id| self.is_framed(id));
        match &instruction.expression {
            Expression::Compute(_, args, _) | Expression::Push(_, args) => !framed(args),
            Expression::Guard(..) => true,
            Expression::Constant(_) | Expression::Pop(_) => !framed(&instruction.results),
            Expression::Apply(..) => false,
        }
    }

    /// The number of elements of an array.
    fn size(&self, id: ValueId) -> usize {
        self.function.ty(id).size()
    }

    fn wait_for(&mut self, step: FixedStep) {
        self.write_segment();
        self.fixed.steps.push(step);
    }

    /// Writes the steps that wait.
    pub(in crate::exec::native) fn write_fixed(&mut self) {
        let waiting = std::mem::take(&mut self.fixed);
        if !waiting.steps.is_empty() {
            let cost = OPERATOR / 10 * waiting.steps.len() as i64;
            self.step(ArrayStep::Fixed(waiting.steps), cost);
        }
    }

    /// Copies arguments to the memory of their parameters.
    pub(in crate::exec::native) fn enter_fixed(&mut self) {
        for k in 0..self.function.parameters().len() {
            let id = self.function.parameters()[k];
            if let Some(place) = self.memory(id) {
                self.wait_for(FixedStep::Enter(place));
            }
        }
        self.write_fixed();
    }

    /// Copies those of some values to the frame that are not there.
    pub(in crate::exec::native) fn leave_fixed(&mut self, ids: &[ValueId]) {
        let mut left: SmallVec<[ValueId; 4]> = SmallVec::new();
        for &id in ids {
            if let (Some(from), Some(to)) = (self.memory(id), self.place(id))
                && !left.contains(&id)
            {
                let shape = self.function.ty(id).shape.clone();
                self.wait_for(FixedStep::Leave(from, to, shape));
                left.push(id);
            }
        }
        if !left.is_empty() {
            self.write_fixed();
        }
    }

    /// Lets a constant wait; whether it is one in memory.
    pub(in crate::exec::native) fn fixed_constant(
        &mut self,
        array: &crate::array::Array,
        result: ValueId,
    ) -> bool {
        let Some(place) = self.memory(result) else {
            return false;
        };
        self.wait_for(FixedStep::Constant(array.clone(), place));
        true
    }

    /// Lets the part of a record wait that is in memory.
    pub(in crate::exec::native) fn push_fixed(&mut self, tape: u32, args: &[ValueId]) {
        let places = args
            .iter()
            .filter_map(|&id| Some((self.memory(id)?, self.size(id))));
        let places: Vec<_> = places.collect();
        if !places.is_empty() {
            self.wait_for(FixedStep::Push(tape as usize, places));
        }
    }

    /// As [`push_fixed`](Self::push_fixed), of what is taken.
    pub(in crate::exec::native) fn pop_fixed(&mut self, tape: u32, results: &[ValueId]) {
        let places = results
            .iter()
            .filter_map(|&id| Some((self.memory(id)?, self.size(id))));
        let places: Vec<_> = places.collect();
        if !places.is_empty() {
            self.wait_for(FixedStep::Pop(tape as usize, places));
        }
    }

    /// Lets the moves wait that a jump makes to memory. What goes from there to the frame goes to
    /// where the frame has it.
    pub(in crate::exec::native) fn move_fixed(&mut self, args: &[ValueId], to: usize) {
        if !self.interface.fixed.is_used() {
            return;
        }
        let parameters = &self.function.blocks[to].parameters;
        let (mut moves, mut leave) = (Vec::new(), Vec::new());
        for (&id, &parameter) in args.iter().zip(parameters) {
            let Some(own) = self.place(id) else {
                continue;
            };
            match (self.memory(id), self.memory(parameter)) {
                (None, None) => {}
                (Some(_), None) => leave.push(id),
                (Some(from), Some(to)) if from == to => {}
                (Some(from), Some(to)) => {
                    moves.push((FixedSource::Memory(from), self.size(id), to));
                }
                (None, Some(to)) => moves.push((FixedSource::Frame(own), self.size(id), to)),
            }
        }
        self.leave_fixed(&leave);
        if !moves.is_empty() {
            self.wait_for(FixedStep::Move(moves));
        }
    }

    /// An operand of a step.
    fn fixed_operand(&mut self, id: ValueId) -> Translated<FixedOperand> {
        let ty = match self.function.kind(id).array() {
            Some(ty) => ty,
            None => return Err(Unsupported("an operand that is no array")),
        };
        let (shape, count) = (ty.shape.clone(), ty.size());
        let source = match (self.memory(id), self.place(id)) {
            (Some(place), _) => FixedSource::Memory(place),
            (None, Some(place)) => FixedSource::Frame(place),
            (None, None) => {
                let slot = self.fixed.numbers;
                self.fixed.numbers += 1;
                FixedSource::Slot(slot, self.put_number(id, slot)?)
            }
        };
        Ok(FixedOperand {
            source,
            shape,
            count,
        })
    }

    /// Lets an operator wait whose result is in memory, or a number made of arrays: `None` if it is
    /// another one. The value is that of a number.
    pub(in crate::exec::native) fn wait_fixed(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
    ) -> Translated<Option<Option<cranelift_codegen::ir::Value>>> {
        if !self.interface.fixed.is_used() || op.stays_in_thread() {
            return Ok(None);
        }
        let own = self.place(result);
        let in_memory = own.filter(|&place| self.interface.fixed.has(place));
        // A step checks no shapes: those of its operands must have been found to fit.
        let unsure = !self.interface.fixed.is_inferred(result);
        if in_memory.is_none() && (own.is_some() || !self.has_arrays(args) || unsure) {
            if let Some(to) = own
                && self.wait_update(op, args, result, instruction, to)?
            {
                return Ok(Some(None));
            }
            self.leave_fixed(args);
            return Ok(None);
        }
        if self.stands.contains_key(&result) {
            return Ok(Some(None));
        }
        self.write_segment();
        if let Some(to) = in_memory
            && self.adds_outer(op, args, to)
        {
            return Ok(Some(None));
        }
        let mut operands: SmallVec<[FixedOperand; 3]> = SmallVec::new();
        for &id in args {
            operands.push(self.fixed_operand(id)?);
        }
        let ty = self.function.ty(result).clone();
        let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| self.function.ty(a)).collect();
        let first = operands.first().map(|first| first.source);
        if let (Some(FixedSource::Memory(from)), Some(to)) = (first, in_memory)
            && shares(&**op, &types, &ty)
        {
            if from != to {
                let moved = (FixedSource::Memory(from), ty.size(), to);
                self.wait_for(FixedStep::Move(vec![moved]));
            }
            return Ok(Some(None));
        }
        let others = operands.iter().skip(1);
        let alone = in_memory.is_some_and(|to| {
            let to = FixedSource::Memory(to);
            first == Some(to) && others.clone().all(|o| o.source != to)
        });
        let in_place = alone && is_one_of!(op: Accumulate, ReplaceRow) && *types[0] == ty;
        // The lengths of an array in the frame are known only when the step runs, so no kernel is chosen now.
        let is_framed = |o: &FixedOperand| matches!(o.source, FixedSource::Frame(_));
        let way = match kernel(op, &types, &ty) {
            Some(kernel) if !operands.iter().any(is_framed) => FixedWay::Elements(kernel),
            _ if in_place => FixedWay::Update,
            _ => FixedWay::Operator,
        };
        let to = match in_memory {
            Some(place) => FixedTarget::Memory(place),
            None => {
                self.fixed.numbers += 1;
                FixedTarget::Slot(self.fixed.numbers - 1, self.word(result)?)
            }
        };
        if let Some(steps) = quick(op, way, &operands, &types, &ty, to) {
            self.write_segment();
            self.fixed.steps.extend(steps);
            return Ok(Some(None));
        }
        let drops = self.drops(args, instruction, 0);
        self.wait_for(FixedStep::Apply(Box::new(FixedApply {
            op: op.clone(),
            way,
            operands,
            count: ty.size(),
            ty,
            to,
        })));
        self.fixed.steps.extend(drops);
        match to {
            FixedTarget::Memory(_) => Ok(Some(None)),
            FixedTarget::Slot(slot, word) => {
                let at = self.scratch(slot);
                self.write_fixed();
                Ok(Some(Some(self.load(word.ty(), self.slots, at))))
            }
        }
    }

    /// Steps that drop the operands of an instruction, from number `start` on, that are in the frame and read
    /// for the last time.
    fn drops(&self, args: &[ValueId], instruction: usize, start: usize) -> Vec<FixedStep> {
        let operands = args.iter().enumerate().skip(start);
        let drops = operands.filter_map(|(k, &id)| {
            let place = self.place(id).filter(|_| self.is_framed(id))?;
            let last = self.last.operand(self.current, instruction, k);
            last.then_some(FixedStep::Drop(place))
        });
        drops.collect()
    }

    /// Queues a step for an operator that changes an array of the frame in place, if nothing reads that array
    /// later; returns whether it did. The step checks no shapes: those of all operands were inferred from the
    /// arguments'.
    fn wait_update(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        instruction: usize,
        to: usize,
    ) -> Translated<bool> {
        let Some((&changed, others)) = args.split_first() else {
            return Ok(false);
        };
        let sums = || {
            op.downcast::<Accumulate>()
                .is_some_and(Accumulate::has_base)
        };
        let last = self.last.operand(self.current, instruction, 0);
        let Some(from) = self
            .place(changed)
            .filter(|_| last && self.is_framed(changed))
        else {
            return Ok(false);
        };
        let apart = |&id: &ValueId| self.place(id) != Some(from) || !self.is_framed(id);
        let is_inferred = |&id: &ValueId| self.interface.fixed.is_inferred(id);
        if !(is_one_of!(op: ReplaceRow) || sums())
            || !others.iter().all(apart)
            || !args.iter().chain([&result]).all(is_inferred)
        {
            return Ok(false);
        }
        self.write_segment();
        let mut operands: SmallVec<[FixedOperand; 3]> = SmallVec::new();
        for &id in others {
            operands.push(self.fixed_operand(id)?);
        }
        let mut drops = self.drops(args, instruction, 1);
        // The result may be in the place of an operand that is read for the last time.
        drops.retain(|drop| !matches!(drop, FixedStep::Drop(place) if *place == to));
        self.wait_for(FixedStep::Update(Box::new(FrameUpdate {
            op: op.clone(),
            from,
            to,
            operands,
        })));
        self.fixed.steps.extend(drops);
        Ok(true)
    }

    /// Lets an outer product that waits, and that is added to a sum in its place and read nowhere else, be
    /// added there; whether it is that.
    fn adds_outer(&mut self, op: &OpRef, args: &[ValueId], to: usize) -> bool {
        let &[x, y] = args else {
            return false;
        };
        let Some(FixedStep::Apply(last)) = self.fixed.steps.last() else {
            return false;
        };
        let FixedTarget::Memory(product) = last.to else {
            return false;
        };
        let same = |id: ValueId| *self.function.ty(id) == last.ty;
        let sums = |sum: ValueId, other: ValueId| {
            self.memory(sum) == Some(to)
                && self.memory(other) == Some(product)
                && self.uses[other as usize] == 1
                && !self.stands.contains_key(&other)
                && product != to
        };
        let fits = is_one_of!(op: Add) && same(x) && same(y) && (sums(x, y) || sums(y, x));
        let &[m, n] = &last.ty.shape[..] else {
            return false;
        };
        let apart = |operand: &FixedOperand| match operand.source {
            FixedSource::Memory(place) if place != to => Some((place, operand.count)),
            _ => None,
        };
        let factors: Option<SmallVec<[_; 2]>> = last.operands.iter().map(apart).collect();
        let Some(&[a, b]) = factors.as_deref() else {
            return false;
        };
        let last_op = &last.op;
        if !fits || !is_one_of!(last_op: MatMul) || (a.1, b.1) != (m, n) || !last.ty.dtype.is_real()
        {
            return false;
        }
        self.fixed.steps.pop();
        self.wait_for(FixedStep::AddOuter([a, b], to));
        true
    }
}
