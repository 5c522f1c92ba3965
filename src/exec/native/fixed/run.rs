//! Doing steps with arrays that have [memory of their own](super), one after the other.

use smallvec::SmallVec;

use super::step::{
    FixedApply, FixedOperand, FixedSource, FixedStep, FixedTarget, FixedWay, FrameUpdate,
    StepNumber,
};
use crate::array::{Array, Slice, SliceMut, View, ViewMut};
use crate::error::Result;
use crate::exec::native::arrays::array_tape::missing;
use crate::exec::native::arrays::frame::Frame;
use crate::exec::native::word::RawSlot;

/// Single numbers that operands are.
type StepNumbers = SmallVec<[StepNumber; 2]>;

impl Frame {
    /// Does some steps.
    ///
    /// # Errors
    /// What an operator reports, [`Memory`](crate::Error::Memory), and
    /// [`Value`](crate::Error::Value) if something is read that is not there.
    pub(in crate::exec::native) fn fixed_steps(
        &mut self,
        steps: &[FixedStep],
        slots: &mut [RawSlot],
    ) -> Result<()> {
        for step in steps {
            match step {
                FixedStep::Apply(apply) => self.fixed_apply(apply, slots)?,
                FixedStep::Update(update) => self.frame_update(update, slots)?,
                FixedStep::Elements(step) => self.fixed.elements(step, slots),
                &FixedStep::Part {
                    from,
                    start,
                    count,
                    to,
                } => self.fixed.part(from, start, count, to)?,
                &FixedStep::AddOuter(factors, to) => self.fixed.add_outer(factors, to),
                &FixedStep::AddPart {
                    from,
                    count,
                    start,
                    to,
                } => self.fixed.add_part(from, count, start, to),
                &FixedStep::Pad {
                    from,
                    count,
                    start,
                    all,
                    to,
                } => self.fixed.pad((from, count), start, all, to),
                FixedStep::Product(product, factors, to) => {
                    self.fixed.product(product, *factors, *to);
                }
                FixedStep::Constant(array, to) => {
                    self.fixed.write(*to, array.view().data)?;
                    self.fixed.exchange(*to);
                }
                FixedStep::Enter(place) => {
                    let array = self.arrays[*place].as_ref().ok_or_else(missing)?;
                    self.fixed.write(*place, array.view().data)?;
                    self.fixed.exchange(*place);
                }
                FixedStep::Leave(from, to, shape) => {
                    let array = self.fixed.array(*from, shape)?;
                    self.set(*to, Some(array));
                }
                FixedStep::Drop(place) => self.set(*place, None),
                FixedStep::Push(tape, places) => {
                    for &(place, count) in places {
                        self.fixed.push(*tape, place, count)?;
                    }
                }
                FixedStep::Pop(tape, places) => {
                    for &(place, count) in places.iter().rev() {
                        self.fixed.pop(*tape, place, count)?;
                    }
                }
                FixedStep::Move(moves) => self.fixed_moves(moves)?,
            }
        }
        Ok(())
    }

    fn fixed_moves(&mut self, moves: &[(FixedSource, usize, usize)]) -> Result<()> {
        for &(from, count, to) in moves {
            match from {
                FixedSource::Memory(from) => self.fixed.copy(from, count, to)?,
                FixedSource::Frame(from) => {
                    self.keep(from);
                    let array = self.arrays[from].as_ref().ok_or_else(missing)?;
                    self.fixed.write(to, array.view().data)?;
                }
                FixedSource::Slot(..) => return Err(missing()),
            }
        }
        for &(.., to) in moves {
            self.fixed.exchange(to);
        }
        Ok(())
    }

    /// The elements of an operand, and its lengths. It is written where it is read from then on: what is
    /// moved just after it was written in parts waits for these.
    #[inline(always)]
    fn fixed_view<'a>(
        &'a self,
        operand: &'a FixedOperand,
        numbers: &mut std::slice::Iter<'a, StepNumber>,
    ) -> View<'a> {
        match operand.source {
            FixedSource::Memory(place) => {
                View::new(&operand.shape, self.fixed.read(place, operand.count))
            }
            FixedSource::Frame(place) => match &self.arrays[place] {
                Some(array) => array.view(),
                None => unreachable!("it was there when the step began"),
            },
            FixedSource::Slot(..) => match numbers.next() {
                Some(number) => number.view(),
                None => unreachable!("there are as many numbers as such operands"),
            },
        }
    }

    /// The elements of some operands, and their lengths.
    fn fixed_views<'a>(
        &'a self,
        operands: &'a [FixedOperand],
        numbers: &'a StepNumbers,
    ) -> SmallVec<[View<'a>; 4]> {
        let mut numbers = numbers.iter();
        let views = operands.iter();
        views
            .map(|operand| self.fixed_view(operand, &mut numbers))
            .collect()
    }

    /// The single numbers among some operands; what is in the frame is there.
    fn step_numbers(
        &mut self,
        operands: &[FixedOperand],
        slots: &[RawSlot],
    ) -> Result<StepNumbers> {
        let mut numbers = StepNumbers::new();
        for operand in operands {
            match operand.source {
                FixedSource::Slot(slot, word) => {
                    numbers.push(StepNumber::of(word, slots[slot]).ok_or_else(missing)?);
                }
                // Machine code changes it no more until it is found again that nobody else has it.
                FixedSource::Frame(place) => {
                    self.keep(place);
                    self.arrays[place].as_ref().ok_or_else(missing)?;
                }
                FixedSource::Memory(_) => {}
            }
        }
        Ok(numbers)
    }

    /// Changes an array of the frame.
    fn frame_update(&mut self, update: &FrameUpdate, slots: &[RawSlot]) -> Result<()> {
        let numbers = self.step_numbers(&update.operands, slots)?;
        let mut array = self.leave(update.from).ok_or_else(missing)?;
        if array.is_shared() {
            array = Array::copy_of(array.view())?;
        }
        let others = self.fixed_views(&update.operands, &numbers);
        let done = match array.view_mut() {
            Some(view) => update.op.update(&others, view),
            None => None,
        };
        drop(others);
        self.set(update.to, Some(array));
        done.ok_or_else(missing)?
    }

    fn fixed_apply(&mut self, apply: &FixedApply, slots: &mut [RawSlot]) -> Result<()> {
        let numbers = self.step_numbers(&apply.operands, slots)?;
        match apply.to {
            FixedTarget::Slot(slot, word) => {
                let mut out = StepNumber::of(word, 0).ok_or_else(missing)?;
                self.fixed_compute(apply, &numbers, out.elements())?;
                slots[slot] = out.slot();
                Ok(())
            }
            FixedTarget::Memory(place) => {
                if matches!(apply.way, FixedWay::Update)
                    && let Some(done) = self.fixed_update(apply, place, &numbers)
                {
                    return done;
                }
                let mut half = self.fixed.back(place);
                let done = self.fixed_compute(apply, &numbers, half.slice_mut(apply.count));
                self.fixed.put(place, half, done.is_ok());
                done
            }
        }
    }

    fn fixed_compute(
        &self,
        apply: &FixedApply,
        numbers: &StepNumbers,
        to: SliceMut<'_>,
    ) -> Result<()> {
        match apply.way {
            FixedWay::Elements(kernel) => {
                let mut numbers = numbers.iter();
                let mut operands: SmallVec<[Slice<'_>; 3]> = SmallVec::new();
                for operand in &apply.operands {
                    operands.push(self.fixed_view(operand, &mut numbers).data);
                }
                kernel.apply(&operands, to);
                Ok(())
            }
            FixedWay::Update | FixedWay::Operator => {
                let views = self.fixed_views(&apply.operands, numbers);
                let shape = &apply.ty.shape[..];
                apply.op.eval(&views, ViewMut { shape, data: to })
            }
        }
    }

    /// Computes a result in the memory of operand 0, if the operator does so.
    fn fixed_update(
        &mut self,
        apply: &FixedApply,
        place: usize,
        numbers: &StepNumbers,
    ) -> Option<Result<()>> {
        let mut front = self.fixed.take(place);
        let others = self.fixed_views(&apply.operands[1..], numbers);
        let shape = &apply.ty.shape[..];
        let data = front.slice_mut(apply.count);
        let done = apply.op.update(&others, ViewMut { shape, data });
        drop(others);
        self.fixed.replace(place, front);
        done
    }
}
