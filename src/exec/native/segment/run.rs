//! Running a segment on the arrays of a frame.

use smallvec::SmallVec;

use super::{
    ElementSource, Output, ResolvedSegment, ResolvedStep, ResultWay, Segment, SegmentOperand,
};
use crate::array::{Array, View, ViewMut, equal_shapes};
use crate::error::Result;
use crate::exec::interpreter::{accept, apply};
use crate::exec::native::arrays::array_tape::{missing, overwrite};
use crate::exec::native::arrays::frame::{Frame, LARGE};
use crate::exec::native::arrays::places::Use;
use crate::exec::native::word::RawSlot;
use crate::ir::{Datum, Function};
use crate::rules::{MOST_OPERANDS, Operator};

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
                frame.make_ready(to, &step.ty)?;
                // Buffers of operands come before that of the result.
                let (buffers, rest) = frame.buffers.split_at_mut(to);
                let sources = OperandArrays {
                    places: &frame.arrays,
                    buffers,
                    numbers,
                };
                let out = rest.first_mut().and_then(Option::as_mut);
                step.compute(op, out.ok_or_else(missing)?, &sources)?;
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
        let is_operand = |output: &Output| matches!(output.source, ElementSource::Place(_));
        if !self.outputs.iter().any(is_operand) {
            self.end(frame);
            return self.put(frame);
        }
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
        self.end(frame);
        self.put(frame)?;
        for (place, array) in made {
            frame.set(place, Some(array));
        }
        Ok(())
    }

    /// Lets go of arrays that are not needed any more.
    fn end(&self, frame: &mut Frame) {
        for &place in &self.ends {
            frame.end(place);
        }
    }

    /// Puts results that are in buffers into their places.
    fn put(&self, frame: &mut Frame) -> Result<()> {
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
                false => overwrite(to, &output.shape, array.elements()),
            };
            frame.enter(output.place);
            written?;
        }
        Ok(())
    }
}

/// Where operands are.
struct OperandArrays<'a> {
    places: &'a [Option<Array>],
    buffers: &'a [Option<Array>],
    numbers: &'a [Array],
}

impl<'a> OperandArrays<'a> {
    fn get(&self, source: ElementSource) -> Result<&'a Array> {
        let array = match source {
            ElementSource::Buffer(buffer) => self.buffers.get(buffer).and_then(Option::as_ref),
            ElementSource::Place(place) => self.places[place].as_ref(),
            ElementSource::Number(number) => self.numbers.get(number),
        };
        array.ok_or_else(missing)
    }
}

impl ResolvedStep {
    /// Operands from number `start` on.
    fn views<'a>(
        &'a self,
        start: usize,
        sources: &OperandArrays<'a>,
    ) -> Result<SmallVec<[View<'a>; 4]>> {
        let mut views = SmallVec::new();
        for (source, shape) in &self.operands[start..] {
            views.push(View::new(shape, sources.get(*source)?.elements()));
        }
        Ok(views)
    }

    fn compute(
        &self,
        op: &dyn Operator,
        out: &mut Array,
        sources: &OperandArrays<'_>,
    ) -> Result<()> {
        let ResultWay::Elements(kernel) = self.way else {
            let data = out.view_mut().ok_or_else(missing)?.data;
            let shape = &self.ty.shape;
            return op.eval(&self.views(0, sources)?, ViewMut { shape, data });
        };
        let mut operands: SmallVec<[&Array; MOST_OPERANDS]> = SmallVec::new();
        for &(source, _) in &self.operands {
            operands.push(sources.get(source)?);
        }
        kernel.apply_to_arrays(&operands, out)
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
        let sources = OperandArrays {
            places: &frame.arrays,
            buffers: &frame.buffers,
            numbers,
        };
        let others = self.views(1, &sources)?;
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
    pub(in crate::exec::native) fn segment(
        &mut self,
        segment: &Segment,
        function: &Function,
        slots: &[RawSlot],
    ) -> Result<()> {
        for &place in &segment.places {
            self.keep(place);
        }
        match segment.has_numbers() {
            true => self.segment_of(segment, function, &segment.numbers(slots)?),
            false => self.segment_of(segment, function, &[]),
        }
    }

    /// Runs a segment that reads these single numbers.
    fn segment_of(
        &mut self,
        segment: &Segment,
        function: &Function,
        numbers: &[Array],
    ) -> Result<()> {
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
                return resolved.run(segment, self, numbers);
            }
        }
        self.one_by_one(segment, function, numbers)
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
