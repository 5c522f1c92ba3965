//! Arrays of a run, which machine code reaches by number.
//!
//! Arrays are not in registers: each value that is one has a place in the frame. What computes with
//! arrays is a [`ArrayStep`], which machine code asks for by number ([`step`](crate::exec::native::run::step));
//! its operands that are single numbers are put into memory first. An operand that is read for the
//! last time is taken out of its place, so that assignments and sums change arrays in place, as in
//! the interpreter, whose function applies the operators.
//!
//! One element of an array is read without a call, and changed without one where nobody else has the array:
//! beside each place there is an [`ElementAddress`] that says where the elements are.

use std::ptr;

use smallvec::SmallVec;

use super::array_tape::{ArrayTape, missing};
use super::element_change::MOST_INDICES;
use super::places::Use;
use crate::array::{Array, SliceMut, Type, ViewMut};
use crate::error::Result;
use crate::exec::interpreter::{accept, apply};
use crate::exec::native::fixed::FixedMemory;
use crate::exec::native::fixed::step::FixedStep;
use crate::exec::native::segment::Segment;
use crate::exec::native::word::{RawSlot, Word};
use crate::ir::{Datum, Function, ValueId, rows};
use crate::rules::OpRef;

/// Elements of an array with several axes, fewer than which have positions that are computed of indices
/// without overflow.
const MANY: usize = 1 << 31;

/// The elements of an array with one to [`MOST_INDICES`] axes; none of other arrays, of very large ones
/// with several axes, and where there is no array. Machine code reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::exec::native) struct ElementAddress {
    pub(super) start: *const u8,
    pub(in crate::exec::native) count: usize,
    /// How many elements may be changed in place: all or none.
    pub(super) changeable: usize,
    /// The length of each axis.
    pub(super) lengths: [usize; MOST_INDICES],
}

impl ElementAddress {
    const NONE: ElementAddress = ElementAddress {
        start: ptr::null(),
        count: 0,
        changeable: 0,
        lengths: [0; MOST_INDICES],
    };

    /// That of elements which begin at an address.
    fn new(start: *const u8, count: usize, shape: &[usize]) -> Self {
        let mut lengths = [0; MOST_INDICES];
        match lengths.get_mut(..shape.len()) {
            Some(first) if first.len() == 1 || (1..MANY).contains(&count) && !shape.is_empty() => {
                first.copy_from_slice(shape);
            }
            _ => return Self::NONE,
        }
        ElementAddress {
            start,
            count,
            changeable: 0,
            lengths,
        }
    }

    fn of(array: &Array) -> Self {
        let elements = array.elements();
        Self::new(elements.address(), elements.len(), array.shape())
    }
}

/// An operand of a step.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec::native) enum StepOperand {
    /// An array.
    Array(Use),
    /// A single number, in the operand's own slot.
    Number(Word),
}

/// Where the result of an operator goes.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec::native) enum Destination {
    /// An array, to a place.
    Place(usize),
    /// A single number, to the first slot.
    Slot(Word),
}

/// What is done with arrays.
#[derive(Debug)]
pub(in crate::exec::native) enum ArrayStep {
    /// A constant is put into a place.
    Constant(Array, usize),
    /// Operators are applied.
    Segment(Box<Segment>),
    /// What is done with arrays that have memory of their own.
    Fixed(Vec<FixedStep>),
    /// An operator is applied.
    Apply {
        op: OpRef,
        operands: SmallVec<[StepOperand; 3]>,
        result: ValueId,
        to: Destination,
    },
    /// The length of an axis is put into the first slot; -1 if there is no such axis.
    Length(usize, usize),
    /// Indices are put into a place: the first, how many and the last are in the first slots; 0 is put into
    /// the first slot if there are none.
    Rows(usize),
    /// An array is not needed any more.
    Drop(usize),
    /// Arrays go to a tape.
    Push(usize, SmallVec<[Use; 2]>),
    /// Arrays come from a tape.
    Pop(usize, SmallVec<[usize; 2]>),
    /// Arrays go to other places, all at once.
    Move(Vec<(Use, usize)>),
    /// Arrays that are read for the last time go to other places, one after the other.
    Hand(Vec<(usize, usize)>),
    /// Arrays are results, in order.
    Return(Vec<Use>),
}

/// The arrays of a run. The elements that an [`ElementAddress`] names stay where they are until its place
/// is set: the array there holds them, stays where it is, and shares them with nobody who could change
/// them, since an array is changed only if nobody else has its elements. They are changeable from when
/// [`claim`](Self::claim) found that nobody else has them until something here reads the array again:
/// to share it, or to compute with it ([`get`](Self::get)).
///
/// An array that is not needed any more may stay where it is, if it is [small](LARGE) and nobody else has it,
/// until another one comes there: which has its memory then, if it is of the same type.
pub(in crate::exec::native) struct Frame {
    pub(in crate::exec::native) arrays: Vec<Option<Array>>,
    addresses: Vec<ElementAddress>,
    pub(in crate::exec::native) tapes: Vec<ArrayTape>,
    /// What [segments](Segment) compute, in between and from turn to turn.
    pub(in crate::exec::native) buffers: Vec<Option<Array>>,
    pub(in crate::exec::native) results: Vec<Array>,
    /// Arrays that have memory of their own.
    pub(in crate::exec::native) fixed: FixedMemory,
}

/// Most elements of an array whose memory waits to be used again.
pub(in crate::exec::native) const LARGE: usize = 1 << 13;

/// Whether the memory of an array that is not needed any more is to be used again.
fn reusable(array: &Array) -> bool {
    array.size() <= LARGE && !array.is_shared()
}

impl Frame {
    /// A frame without arrays.
    pub(in crate::exec::native) fn new(places: usize, tapes: usize, buffers: usize) -> Self {
        Frame {
            arrays: vec![None; places],
            addresses: vec![ElementAddress::NONE; places],
            tapes: ArrayTape::take(if places == 0 { 0 } else { tapes }),
            buffers: vec![None; buffers],
            results: Vec::new(),
            fixed: FixedMemory::default(),
        }
    }

    /// Where the addresses are; they do not move during a run.
    pub(in crate::exec::native) fn addresses(&mut self) -> *const ElementAddress {
        self.addresses.as_mut_ptr()
    }

    pub(in crate::exec::native) fn set(&mut self, place: usize, array: Option<Array>) {
        self.arrays[place] = array;
        self.enter(place);
    }

    /// Notes where the elements of an array are.
    pub(in crate::exec::native) fn enter(&mut self, place: usize) {
        // The address is taken of the array where it stays: one may hold its elements itself.
        let array = self.arrays[place].as_ref();
        self.addresses[place] = array.map_or(ElementAddress::NONE, ElementAddress::of);
    }

    /// An array that is there to be read. Machine code changes it no more until it is found again that
    /// nobody else has it.
    fn get(&mut self, place: usize) -> Result<&Array> {
        self.keep(place);
        self.arrays[place].as_ref().ok_or_else(missing)
    }

    /// Lets machine code change nothing of an array.
    pub(in crate::exec::native) fn keep(&mut self, place: usize) {
        self.addresses[place].changeable = 0;
    }

    /// An array, which is gone from its place if this is its last use.
    pub(in crate::exec::native) fn take(&mut self, from: Use) -> Result<Array> {
        match from.last {
            true => self.leave(from.place).ok_or_else(missing),
            false => self.get(from.place).cloned(),
        }
    }

    /// What is in a place, if there is anything, which is gone from there.
    pub(in crate::exec::native) fn leave(&mut self, place: usize) -> Option<Array> {
        self.addresses[place] = ElementAddress::NONE;
        self.arrays[place].take()
    }

    /// Lets go of an array that is not needed any more, unless its memory may be used again.
    pub(in crate::exec::native) fn end(&mut self, place: usize) {
        self.keep(place);
        if !self.arrays[place].as_ref().is_some_and(reusable) {
            self.leave(place);
        }
    }

    /// Puts what is in a buffer into a place, under a shape of as many elements. What was there
    /// becomes the buffer.
    ///
    /// # Errors
    /// [`Value`](crate::Error::Value) if there is nothing.
    pub(in crate::exec::native) fn put(
        &mut self,
        buffer: usize,
        place: usize,
        shape: &[usize],
    ) -> Result<()> {
        std::mem::swap(&mut self.buffers[buffer], &mut self.arrays[place]);
        if let Some(array) = &mut self.arrays[place] {
            array.set_shape(shape);
        }
        if !self.buffers[buffer].as_ref().is_some_and(reusable) {
            self.buffers[buffer] = None;
        }
        self.enter(place);
        self.arrays[place].as_ref().map(|_| ()).ok_or_else(missing)
    }

    /// Sees to it that in a buffer there is memory for a result of a segment: an array of as many elements,
    /// which nobody else has.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory).
    pub(in crate::exec::native) fn make_ready(&mut self, buffer: usize, ty: &Type) -> Result<()> {
        let there = self.buffers[buffer].as_ref();
        if !there.is_some_and(|array| {
            array.dtype() == ty.dtype && array.size() == ty.size() && !array.is_shared()
        }) {
            self.buffers[buffer] = Some(Array::scratch(ty.dtype, &ty.shape)?);
        }
        Ok(())
    }

    /// Does a step of a function.
    ///
    /// # Errors
    /// What an operator reports; [`Value`](crate::Error::Value) if an array or a record is not there.
    pub(in crate::exec::native) fn step(
        &mut self,
        step: &ArrayStep,
        function: &Function,
        slots: &mut [RawSlot],
    ) -> Result<()> {
        match step {
            ArrayStep::Constant(array, to) => self.set(*to, Some(array.clone())),
            ArrayStep::Segment(segment) => self.segment(segment, function, slots)?,
            ArrayStep::Fixed(steps) => self.fixed_steps(steps, slots)?,
            ArrayStep::Apply {
                op,
                operands,
                result,
                to,
            } => {
                let found = Datum::Array(self.applied(op, operands, slots)?);
                accept(function, *result, &found)?;
                match (to, found) {
                    (Destination::Slot(word), found) => {
                        slots[0] = word.slot(&found).ok_or_else(missing)?;
                    }
                    (Destination::Place(to), Datum::Array(array)) => self.set(*to, Some(array)),
                    (Destination::Place(_), _) => return Err(missing()),
                }
            }
            ArrayStep::Length(of, axis) => {
                let length = self.get(*of)?.shape().get(*axis);
                let length = length.and_then(|&n| i64::try_from(n).ok());
                slots[0] = length.unwrap_or(-1) as RawSlot;
            }
            ArrayStep::Rows(to) => {
                let [first, count, last] = [0, 1, 2].map(|k| slots[k] as i64);
                let found = rows(first, count, last);
                slots[0] = RawSlot::from(found.is_some());
                self.set(*to, found);
            }
            ArrayStep::Drop(place) => self.set(*place, None),
            ArrayStep::Push(tape, from) => {
                for &from in from {
                    let array = self.arrays[from.place].as_ref().ok_or_else(missing)?;
                    if !self.tapes[*tape].copy(array)? {
                        let array = self.take(from)?;
                        self.tapes[*tape].push(array)?;
                    } else if from.last {
                        self.end(from.place);
                    }
                }
            }
            ArrayStep::Pop(tape, to) => {
                for &to in to.iter().rev() {
                    let popped = self.tapes[*tape].pop(&mut self.arrays[to]);
                    self.enter(to);
                    popped?;
                }
            }
            ArrayStep::Move(moves) => {
                let taken = moves.iter().map(|&(from, _)| self.take(from));
                let taken: SmallVec<[Array; 2]> = taken.collect::<Result<_>>()?;
                for (&(_, to), array) in moves.iter().zip(taken) {
                    self.set(to, Some(array));
                }
            }
            ArrayStep::Hand(moves) => {
                for &(from, to) in moves {
                    self.arrays.swap(from, to);
                    self.enter(to);
                    self.enter(from);
                    self.end(from);
                    if self.arrays[to].is_none() {
                        return Err(missing());
                    }
                }
            }
            ArrayStep::Return(from) => {
                for &from in from {
                    let array = self.take(from)?;
                    self.results.push(array);
                }
            }
        }
        Ok(())
    }

    /// The result of an operator.
    fn applied(
        &mut self,
        op: &OpRef,
        operands: &[StepOperand],
        slots: &[RawSlot],
    ) -> Result<Array> {
        let taken = match operands.first() {
            Some(StepOperand::Array(from)) if from.last => Some(self.take(*from)?),
            _ => None,
        };
        let first = usize::from(taken.is_some());
        let mut numbers: SmallVec<[Array; 3]> = SmallVec::new();
        for (operand, &slot) in operands.iter().zip(slots).skip(first) {
            if let StepOperand::Number(word) = operand
                && let Datum::Array(number) = word.datum(slot)
            {
                numbers.push(number);
            }
        }
        for operand in operands.iter().skip(first) {
            if let StepOperand::Array(from) = operand {
                self.keep(from.place);
            }
        }
        let (mut others, mut next): (SmallVec<[&Array; 4]>, _) = (SmallVec::new(), numbers.iter());
        for operand in operands.iter().skip(first) {
            others.push(match operand {
                StepOperand::Array(from) => self.arrays[from.place].as_ref().ok_or_else(missing)?,
                StepOperand::Number(_) => next.next().ok_or_else(missing)?,
            });
        }
        let result = apply(&**op, &others, taken);
        drop(others);
        for operand in &operands[first..] {
            if let StepOperand::Array(Use { place, last: true }) = *operand {
                self.set(place, None);
            }
        }
        result
    }

    /// Lets machine code change the elements of an array of float64, if nobody else has them.
    pub(in crate::exec::native) fn claim(&mut self, place: usize) {
        let view = self.arrays[place].as_mut().and_then(Array::view_mut);
        let Some(ViewMut { shape, mut data }) = view else {
            return;
        };
        if !matches!(data, SliceMut::F64(_)) {
            return;
        }
        let address = ElementAddress::new(data.address(), data.len(), shape);
        self.addresses[place] = ElementAddress {
            changeable: address.count,
            ..address
        };
    }
}
