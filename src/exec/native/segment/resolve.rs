//! Segments whose operands have known lengths: which kernels run, where arrays are, what is changed in place.
//!
//! A result that has the elements of operand 0 in the same order is these elements under another shape.
//! Any other is computed in a buffer of the frame, and goes to its place when the segment is through if it
//! is read later; what was in that place becomes the buffer. So a loop uses the same memory turn by turn.

use smallvec::SmallVec;

use super::{
    ElementSource, Output, ResolvedSegment, ResolvedStep, ResultWay, Segment, SegmentOperand,
};
use crate::array::{Type, size};
use crate::exec::native::arrays::frame::LARGE;
use crate::exec::native::arrays::places::Use;
use crate::ir::Function;
use crate::rules::{Kernel, result_type, shares};

/// A value while a segment is resolved.
#[derive(Debug, Clone)]
struct Located {
    source: ElementSource,
    ty: Type,
}

impl ResolvedSegment {
    /// What follows from the types of the arrays in the places of a frame; `None` where operators
    /// refuse them.
    pub(in crate::exec::native) fn new(
        segment: &Segment,
        function: &Function,
        seen: impl Fn(usize) -> Option<Type>,
    ) -> Option<Self> {
        let mut found: Vec<Located> = Vec::with_capacity(segment.instructions.len());
        let (mut inputs, mut dying): (Vec<(usize, Type)>, Vec<usize>) = Default::default();
        let (mut steps, mut numbers): (Vec<ResolvedStep>, usize) = Default::default();
        for (k, i) in segment.instructions.iter().enumerate() {
            let mut operands: SmallVec<[Located; 3]> = SmallVec::new();
            for operand in &i.operands {
                operands.push(match *operand {
                    SegmentOperand::Local(local, _) => found[local].clone(),
                    SegmentOperand::Place(Use { place, last }) => {
                        let ty = seen(place)?;
                        if last {
                            dying.push(place);
                        }
                        if inputs.iter().all(|&(known, _)| known != place) {
                            inputs.push((place, ty.clone()));
                        }
                        let source = ElementSource::Place(place);
                        Located { source, ty }
                    }
                    SegmentOperand::Number(_, word) => {
                        numbers += 1;
                        Located {
                            source: ElementSource::Number(numbers - 1),
                            ty: Type::scalar(word.dtype()?),
                        }
                    }
                });
            }
            let types: SmallVec<[&Type; 4]> = operands.iter().map(|o| &o.ty).collect();
            let ty = result_type(&*i.op, &types).ok()?;
            let expected = function.kind(i.result).array()?;
            if (ty.dtype, ty.ndim()) != (expected.dtype, expected.ndim()) {
                return None;
            }
            let first = operands.first().map(|first| first.source);
            if let Some(source @ (ElementSource::Buffer(_) | ElementSource::Place(_))) = first
                && shares(&*i.op, &types, &ty)
            {
                found.push(Located { source, ty });
                continue;
            }
            let fits =
                |of: &&Type| of.dtype == ty.dtype && (of.shape == ty.shape || of.size() == 1);
            let way = match Kernel::of(&*i.op, ty.dtype, types.len()) {
                Some(kernel) if types.iter().all(fits) => ResultWay::Elements(kernel),
                _ => ResultWay::Operator,
            };
            let source = ElementSource::Buffer(segment.first_buffer + k);
            found.push(Located {
                source,
                ty: ty.clone(),
            });
            let operands = operands.iter().map(|o| (o.source, o.ty.shape.clone()));
            steps.push(ResolvedStep {
                instruction: k,
                way,
                operands: operands.collect(),
                ty,
                frees: SmallVec::new(),
            });
        }
        Some(Self::assigned(segment, inputs, dying, steps, found))
    }

    /// Decides what is changed in place, and what becomes of arrays after their last use.
    fn assigned(
        segment: &Segment,
        inputs: Vec<(usize, Type)>,
        dying: Vec<usize>,
        mut steps: Vec<ResolvedStep>,
        found: Vec<Located>,
    ) -> Self {
        let dies = |source: ElementSource| match source {
            ElementSource::Buffer(_) => true,
            ElementSource::Place(place) => dying.contains(&place),
            ElementSource::Number(_) => false,
        };
        let mut outputs: Vec<Output> = Vec::new();
        for (k, (i, at)) in segment.instructions.iter().zip(found).enumerate() {
            if segment.live[k] {
                // What nobody reads may share the place of what comes later.
                outputs.retain(|earlier| earlier.place != i.place);
                outputs.push(Output {
                    source: at.source,
                    shape: at.ty.shape,
                    place: i.place,
                    last: false,
                });
            }
        }
        for k in (0..outputs.len()).rev() {
            let source = outputs[k].source;
            let later = outputs[k + 1..].iter().any(|o| o.source == source);
            outputs[k].last = dies(source) && !later;
        }
        // Backwards, so that what was seen is read later.
        let mut seen: Vec<ElementSource> = outputs.iter().map(|o| o.source).collect();
        for step in steps.iter_mut().rev() {
            for k in 0..step.operands.len() {
                let (source, ref shape) = step.operands[k];
                if seen.contains(&source) || !dies(source) {
                    continue;
                }
                let others = step.operands.iter().enumerate();
                let alone = others.filter(|(_, other)| other.0 == source).count() == 1;
                let same = k == 0 && alone && *shape == step.ty.shape;
                if size(shape) > LARGE {
                    step.frees.push(source);
                }
                if same && matches!(step.way, ResultWay::Operator) {
                    step.way = ResultWay::Update;
                }
                seen.push(source);
            }
        }
        ResolvedSegment {
            inputs,
            steps,
            outputs,
            ends: dying,
        }
    }
}
