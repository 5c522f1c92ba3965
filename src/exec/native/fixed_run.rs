//! Doing steps with arrays that have [memory of their own](super::fixed), one after the other.

use smallvec::SmallVec;

use super::array_tape::missing;
use super::fixed::FixedRegion;
use super::fixed_step::{FixedApply, FixedOperand, FixedSource, FixedStep, FixedTarget, FixedWay};
use super::frame::Frame;
use super::word::RawSlot;
use crate::array::{Array, Slice, SliceMut, View, ViewMut};
use crate::error::Result;
use crate::ir::Datum;
use crate::rules::add_outer;

/// Single numbers that operands are.
type StepNumbers = SmallVec<[Array; 2]>;

impl Frame {
    /// Does some steps.
    ///
    /// # Errors
    /// What an operator reports, [`Memory`](crate::Error::Memory), and
    /// [`Value`](crate::Error::Value) if something is read that is not there.
    pub(super) fn fixed_steps(&mut self, steps: &[FixedStep], slots: &mut [RawSlot]) -> Result<()> {
        for step in steps {
            match step {
                FixedStep::Apply(apply) => self.fixed_apply(apply, slots)?,
                FixedStep::Elements(step) => self.fixed.elements(step, slots),
                &FixedStep::Part {
                    from,
                    start,
                    count,
                    to,
                } => self.fixed.part(from, start, count, to)?,
                FixedStep::AddOuter(factors, to) => self.add_outer(factors, *to)?,
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

    /// The elements of an operand, and its lengths.
    fn fixed_view<'a>(
        &'a self,
        operand: &'a FixedOperand,
        numbers: &mut std::slice::Iter<'a, Array>,
    ) -> Result<View<'a>> {
        let array = match operand.source {
            FixedSource::Memory(place) => {
                let elements = self.fixed.read(place, operand.count);
                return Ok(View::new(&operand.shape, elements));
            }
            FixedSource::Frame(place) => self.arrays[place].as_ref(),
            FixedSource::Slot(..) => numbers.next(),
        };
        array.map(Array::view).ok_or_else(missing)
    }

    fn fixed_views<'a>(
        &'a self,
        operands: &'a [FixedOperand],
        numbers: &'a StepNumbers,
    ) -> Result<SmallVec<[View<'a>; 4]>> {
        let mut numbers = numbers.iter();
        let mut views = SmallVec::new();
        for operand in operands {
            views.push(self.fixed_view(operand, &mut numbers)?);
        }
        Ok(views)
    }

    fn fixed_apply(&mut self, apply: &FixedApply, slots: &mut [RawSlot]) -> Result<()> {
        let mut numbers = StepNumbers::new();
        for operand in &apply.operands {
            match operand.source {
                FixedSource::Slot(slot, word) => match word.datum(slots[slot]) {
                    Datum::Array(number) => numbers.push(number),
                    other => return Err(other.is_no("a number")),
                },
                // Machine code changes it no more until it is found again that nobody else has it.
                FixedSource::Frame(place) => self.keep(place),
                FixedSource::Memory(_) => {}
            }
        }
        match apply.to {
            FixedTarget::Slot(slot, word) => {
                let mut out = Array::scratch(apply.ty.dtype, &[])?;
                if let Some(view) = out.view_mut() {
                    self.fixed_compute(apply, &numbers, view.data)?;
                }
                slots[slot] = word.slot(&Datum::Array(out)).ok_or_else(missing)?;
                Ok(())
            }
            FixedTarget::Memory(place) => {
                if matches!(apply.way, FixedWay::Update)
                    && let Some(done) = self.fixed_update(apply, place, &numbers)?
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
                    operands.push(self.fixed_view(operand, &mut numbers)?.data);
                }
                kernel.apply(&operands, to);
                Ok(())
            }
            FixedWay::Update | FixedWay::Operator => {
                let views = self.fixed_views(&apply.operands, numbers)?;
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
    ) -> Result<Option<Result<()>>> {
        let mut front = self.fixed.take(place);
        let done = self
            .fixed_views(&apply.operands[1..], numbers)
            .map(|others| {
                let shape = &apply.ty.shape[..];
                let data = front.slice_mut(apply.count);
                apply.op.update(&others, ViewMut { shape, data })
            });
        self.fixed.replace(place, front);
        done
    }

    fn add_outer(&mut self, factors: &[(FixedSource, usize); 2], to: usize) -> Result<()> {
        let mut sum: FixedRegion = self.fixed.take(to);
        let [x, y] = factors.map(|(source, count)| match source {
            FixedSource::Memory(place) => Ok(self.fixed.read(place, count)),
            _ => Err(missing()),
        });
        let done = x.and_then(|x| Ok((x, y?))).map(|(x, y)| {
            match (x, y, sum.slice_mut(x.len() * y.len())) {
                (Slice::F32(x), Slice::F32(y), SliceMut::F32(sum)) => add_outer(x, y, sum),
                (Slice::F64(x), Slice::F64(y), SliceMut::F64(sum)) => add_outer(x, y, sum),
                _ => unreachable!("the factors have the element type of the sum"),
            }
        });
        self.fixed.replace(to, sum);
        done
    }
}
