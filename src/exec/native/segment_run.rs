//! Running a segment on the arrays of a frame.

use smallvec::SmallVec;

use super::array_tape::{missing, overwrite};
use super::frame::{Frame, LARGE};
use super::places::Use;
use super::segment::{
    ElementSource, ResolvedSegment, ResolvedStep, ResultWay, Segment, SegmentOperand,
};
use super::word::RawSlot;
use crate::array::{Array, Slice, View, ViewMut, equal_shapes};
use crate::error::Result;
use crate::exec::interpreter::{accept, apply};
use crate::ir::{Datum, Function};
use crate::rules::Operator;

impl ResolvedSegment {
    /// Whether the arrays of a frame have the types.
    pub(super) fn fits(&self, frame: &Frame) -> bool {
        self.inputs.iter().all(|(place, ty)| {
            let array = frame.arrays[*place].as_ref();
            array.is_some_and(|a| a.dtype() == ty.dtype && equal_shapes(a.shape(), &ty.shape))
        })
    }

    /// Runs a segment on the arrays of a frame, which [fit](Self::fits).
    pub(super) fn run(
        &self,
        segment: &Segment,
        frame: &mut Frame,
        numbers: &[Array],
    ) -> Result<()> {
        for step in &self.steps {
            let op = &*segment.instructions[step.instruction].op;
            let to = segment.first_buffer + step.instruction;
            let updated = match step.way {
                ResultWay::Update => step.update(op, to, frame, numbers)?,
                ResultWay::Elements(_) | ResultWay::Operator => false,
            };
            if !updated {
                let mut out = frame.buffer(to, &step.ty)?;
                let written = match out.view_mut() {
                    Some(view) => step.compute(op, view, frame, numbers),
                    None => Err(missing()),
                };
                frame.buffers[to] = Some(out);
                written?;
            }
            for &source in &step.frees {
                match source {
                    ElementSource::Buffer(buffer) => frame.buffers[buffer] = None,
                    ElementSource::Place(place) => frame.set(place, None),
                    ElementSource::Number(_) => {}
                }
            }
        }
        self.finish(frame)
    }

    /// Puts results into their places.
    fn finish(&self, frame: &mut Frame) -> Result<()> {
        // First those that are operands' elements: another result may get the operand's place.
        let mut made: SmallVec<[(usize, Array); 1]> = SmallVec::new();
        for output in &self.outputs {
            if let ElementSource::Place(place) = output.source {
                let array = match output.last {
                    true => frame.leave(place),
                    false => frame.arrays[place].clone(),
                };
                let mut array = array.ok_or_else(missing)?;
                array.set_shape(&output.shape);
                made.push((output.place, array));
            }
        }
        for &place in &self.ends {
            frame.end(place);
        }
        for output in &self.outputs {
            let ElementSource::Buffer(buffer) = output.source else {
                continue;
            };
            if output.last {
                frame.put(buffer, output.place, &output.shape)?;
                continue;
            }
            let array = frame.buffers[buffer].as_ref().ok_or_else(missing)?;
            let to = &mut frame.arrays[output.place];
            let written = match array.size() > LARGE {
                true => {
                    *to = Some(array.with_shape(&output.shape));
                    Ok(())
                }
                false => overwrite(to, &output.shape, array.view().data),
            };
            frame.enter(output.place);
            written?;
        }
        for (place, array) in made {
            frame.set(place, Some(array));
        }
        Ok(())
    }
}

/// The elements of an operand.
fn elements<'a>(
    source: ElementSource,
    frame: &'a Frame,
    numbers: &'a [Array],
) -> Result<Slice<'a>> {
    let array = match source {
        ElementSource::Buffer(buffer) => frame.buffers[buffer].as_ref(),
        ElementSource::Place(place) => frame.arrays[place].as_ref(),
        ElementSource::Number(number) => numbers.get(number),
    };
    array.map(|a| a.view().data).ok_or_else(missing)
}

impl ResolvedStep {
    /// Operands from number `start` on.
    fn views<'a>(
        &'a self,
        start: usize,
        frame: &'a Frame,
        numbers: &'a [Array],
    ) -> Result<SmallVec<[View<'a>; 4]>> {
        let mut views = SmallVec::new();
        for (source, shape) in &self.operands[start..] {
            views.push(View::new(shape, elements(*source, frame, numbers)?));
        }
        Ok(views)
    }

    fn compute(
        &self,
        op: &dyn Operator,
        out: ViewMut<'_>,
        frame: &Frame,
        numbers: &[Array],
    ) -> Result<()> {
        let ResultWay::Elements(kernel) = self.way else {
            let shape = &self.ty.shape;
            let data = out.data;
            return op.eval(&self.views(0, frame, numbers)?, ViewMut { shape, data });
        };
        let mut operands: SmallVec<[Slice<'_>; 3]> = SmallVec::new();
        for &(source, _) in &self.operands {
            operands.push(elements(source, frame, numbers)?);
        }
        kernel.apply_split(&operands, out.data)
    }

    /// Computes the result in the memory of operand 0; whether that could be.
    fn update(
        &self,
        op: &dyn Operator,
        to: usize,
        frame: &mut Frame,
        numbers: &[Array],
    ) -> Result<bool> {
        let source = self.operands[0].0;
        let taken = match source {
            ElementSource::Buffer(buffer) => frame.buffers[buffer].take(),
            ElementSource::Place(place) => frame.leave(place),
            ElementSource::Number(_) => None,
        };
        let mut array = taken.ok_or_else(missing)?;
        let others = self.views(1, frame, numbers)?;
        let same = array.dtype() == self.ty.dtype;
        let view = array.view_mut().filter(|_| same);
        let done = view.and_then(|view| {
            let (shape, data) = (&self.ty.shape[..], view.data);
            op.update(&others, ViewMut { shape, data })
        });
        drop(others);
        match done {
            Some(done) => {
                done?;
                let old = frame.buffers[to].replace(array);
                if let ElementSource::Buffer(buffer) = source {
                    frame.buffers[buffer] = old;
                }
                Ok(true)
            }
            None => {
                match source {
                    ElementSource::Buffer(buffer) => frame.buffers[buffer] = Some(array),
                    ElementSource::Place(place) => frame.set(place, Some(array)),
                    ElementSource::Number(_) => {}
                }
                Ok(false)
            }
        }
    }
}

impl Frame {
    /// Runs a segment.
    ///
    /// # Errors
    /// What an operator reports.
    pub(super) fn segment(
        &mut self,
        segment: &Segment,
        function: &Function,
        slots: &[RawSlot],
    ) -> Result<()> {
        for &place in &segment.places {
            self.keep(place);
        }
        let numbers = segment.numbers(slots)?;
        for known in &segment.resolved {
            let resolved = match known.get() {
                Some(resolved) => resolved,
                None => match ResolvedSegment::new(segment, function, |place| {
                    Some(self.arrays[place].as_ref()?.ty())
                }) {
                    Some(resolved) => known.get_or_init(|| resolved),
                    None => break,
                },
            };
            if resolved.fits(self) {
                return resolved.run(segment, self, &numbers);
            }
        }
        self.one_by_one(segment, function, &numbers)
    }

    /// Runs the operators of a segment as the interpreter does.
    fn one_by_one(
        &mut self,
        segment: &Segment,
        function: &Function,
        numbers: &[Array],
    ) -> Result<()> {
        let mut made: Vec<Option<Array>> = Vec::with_capacity(segment.instructions.len());
        let mut next = 0;
        for i in &segment.instructions {
            let taken = match i.operands.first() {
                Some(&SegmentOperand::Local(local, true)) => made[local].take(),
                Some(&SegmentOperand::Place(from)) if from.last => Some(self.take(from)?),
                _ => None,
            };
            let first = usize::from(taken.is_some());
            let mut others: SmallVec<[&Array; 4]> = SmallVec::new();
            for operand in &i.operands[first..] {
                let array = match *operand {
                    SegmentOperand::Local(local, _) => made[local].as_ref(),
                    SegmentOperand::Place(from) => self.arrays[from.place].as_ref(),
                    SegmentOperand::Number(..) => {
                        next += 1;
                        numbers.get(next - 1)
                    }
                };
                others.push(array.ok_or_else(missing)?);
            }
            let result = Datum::Array(apply(&*i.op, &others, taken)?);
            drop(others);
            accept(function, i.result, &result)?;
            for operand in &i.operands[first..] {
                match *operand {
                    SegmentOperand::Local(local, true) => made[local] = None,
                    SegmentOperand::Place(Use { place, last: true }) => self.set(place, None),
                    _ => {}
                }
            }
            made.push(match result {
                Datum::Array(array) => Some(array),
                _ => None,
            });
        }
        let results = segment.instructions.iter().zip(made).zip(&segment.live);
        for ((i, array), _) in results.filter(|(_, live)| **live) {
            self.set(i.place, array);
        }
        Ok(())
    }
}
