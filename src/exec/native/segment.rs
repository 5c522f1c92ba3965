//! Runs of operators on arrays, as one step.
//!
//! Operators on arrays that follow one another in a block are a [`Segment`], if nothing between them
//! touches arrays or may leave: machine code calls once for all of them. The first run of a segment
//! takes note of the lengths of what it reads, and of what follows from them ([`ResolvedSegment`]): the types
//! of results, kernels, results that have an operand's elements in the same order, and which operand is
//! changed in place. Runs with these lengths ask no operator for types. What is used in the segment alone
//! is in buffers that the frame keeps, so that a loop allocates them once.
//!
//! Limits: a segment takes note of [`LENGTHS`] sets of lengths. With others it runs one operator at
//! a time, as the interpreter does, which also reports what operators refuse, in order.

pub(super) mod pending;
pub(super) mod resolve;
pub(super) mod run;

use std::collections::HashMap;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::arrays::places::Use;
use super::word::{RawSlot, Word};
use crate::array::{Array, Shape, Type};
use crate::error::Result;
use crate::ir::{Datum, ValueId};
use crate::rules::{Kernel, OpRef};

/// Sets of lengths that a segment takes note of.
const LENGTHS: usize = 4;

/// An operand of an operator of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) enum SegmentOperand {
    /// The result of an operator of the segment, by number, and whether it is read for the last time.
    Local(usize, bool),
    /// An array of the frame.
    Place(Use),
    /// A single number, in this slot.
    Number(usize, Word),
}

/// An operator of a segment.
#[derive(Debug)]
pub(super) struct SegmentInstruction {
    pub(super) op: OpRef,
    pub(super) operands: SmallVec<[SegmentOperand; 3]>,
    pub(super) result: ValueId,
    /// Where the result goes if it is read after the segment.
    pub(super) place: usize,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) instructions: Vec<SegmentInstruction>,
    /// Whether results are read after the segment, by instruction.
    pub(super) live: Vec<bool>,
    /// Places of the frame that it reads.
    pub(super) places: Vec<usize>,
    /// Single numbers that it reads, by slot.
    numbers: Vec<(usize, Word)>,
    /// The frame's buffer of the first instruction's result; the others' follow.
    pub(super) first_buffer: usize,
    pub(super) resolved: [OnceLock<ResolvedSegment>; LENGTHS],
}

/// Where the elements of a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementSource {
    Buffer(usize),
    Place(usize),
    /// Among the single numbers that the segment reads.
    Number(usize),
}

/// How a result is computed.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultWay {
    /// Element by element.
    Elements(Kernel),
    /// In the memory of operand 0, if the operator does so.
    Update,
    Operator,
}

/// An operator whose operands have known types.
#[derive(Debug)]
pub(super) struct ResolvedStep {
    pub(super) instruction: usize,
    pub(super) way: ResultWay,
    pub(super) operands: SmallVec<[(ElementSource, Shape); 3]>,
    pub(super) ty: Type,
    /// Large arrays that are not needed any more.
    pub(super) frees: SmallVec<[ElementSource; 1]>,
}

/// A result that is read after the segment.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) source: ElementSource,
    pub(super) shape: Shape,
    pub(super) place: usize,
    /// Whether nobody else has the elements after this.
    pub(super) last: bool,
}

/// What follows from the types of what a segment reads.
#[derive(Debug)]
pub(super) struct ResolvedSegment {
    pub(super) inputs: Vec<(usize, Type)>,
    pub(super) steps: Vec<ResolvedStep>,
    pub(super) outputs: Vec<Output>,
    /// Places of arrays that are not needed any more.
    pub(super) ends: Vec<usize>,
}

/// What waits in the block that is written.
#[derive(Default)]
pub(super) struct PendingSegment {
    pub(super) instructions: Vec<SegmentInstruction>,
    /// Which instruction has which result.
    pub(super) locals: HashMap<ValueId, usize>,
    /// Slots that are taken.
    pub(super) numbers: usize,
}

impl Segment {
    pub(super) fn new(instructions: Vec<SegmentInstruction>, first_buffer: usize) -> Self {
        let mut live = vec![true; instructions.len()];
        let (mut places, mut numbers) = (Vec::new(), Vec::new());
        for operand in instructions.iter().flat_map(|i| &i.operands) {
            match *operand {
                SegmentOperand::Local(local, true) => live[local] = false,
                SegmentOperand::Local(_, false) => {}
                SegmentOperand::Place(from) => places.push(from.place),
                SegmentOperand::Number(slot, word) => numbers.push((slot, word)),
            }
        }
        Segment {
            instructions,
            live,
            places,
            numbers,
            first_buffer,
            resolved: [const { OnceLock::new() }; LENGTHS],
        }
    }

    /// Its operators.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self) -> impl Iterator<Item = &OpRef> {
        self.instructions.iter().map(|i| &i.op)
    }

    /// Whether it reads single numbers.
    pub(super) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The single numbers that it reads.
    pub(super) fn numbers(&self, slots: &[RawSlot]) -> Result<SmallVec<[Array; 2]>> {
        let mut numbers = SmallVec::new();
        for &(slot, word) in &self.numbers {
            match word.datum(slots[slot]) {
                Datum::Array(number) => numbers.push(number),
                other => return Err(other.is_no("a number")),
            }
        }
        Ok(numbers)
    }
}
