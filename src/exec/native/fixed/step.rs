//! What is done with arrays that have [memory of their own](super).

use smallvec::SmallVec;

use crate::array::{Array, DType, Shape, Slice, SliceMut, Type, View};
use crate::exec::native::word::{RawSlot, Word};
use crate::rules::{Kernel, MOST_OPERANDS, OpRef, VectorProduct};

/// Where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec::native) enum FixedSource {
    /// In the memory of a place.
    Memory(usize),
    /// In a place of the frame.
    Frame(usize),
    /// A single number, in a slot.
    Slot(usize, Word),
}

/// A single number, as an array without axes.
#[derive(Debug)]
pub(super) enum StepNumber {
    F32([f32; 1]),
    F64([f64; 1]),
    U32([u32; 1]),
}

impl StepNumber {
    /// The number in a slot; `None` if a truth value or integer is there.
    pub(super) fn of(word: Word, slot: RawSlot) -> Option<Self> {
        match word {
            Word::F32 => Some(StepNumber::F32([f32::from_bits(slot as u32)])),
            Word::F64 => Some(StepNumber::F64([f64::from_bits(slot)])),
            Word::U32 => Some(StepNumber::U32([slot as u32])),
            Word::Bool | Word::Int => None,
        }
    }

    /// It as a slot.
    pub(super) fn slot(&self) -> RawSlot {
        match self {
            StepNumber::F32([x]) => RawSlot::from(x.to_bits()),
            StepNumber::F64([x]) => x.to_bits(),
            StepNumber::U32([x]) => RawSlot::from(*x),
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        let data = match self {
            StepNumber::F32(x) => Slice::F32(x),
            StepNumber::F64(x) => Slice::F64(x),
            StepNumber::U32(x) => Slice::U32(x),
        };
        View::new(&[], data)
    }

    /// As [`view`](Self::view), to be changed.
    pub(in crate::exec::native) fn elements(&mut self) -> SliceMut<'_> {
        match self {
            StepNumber::F32(x) => SliceMut::F32(x),
            StepNumber::F64(x) => SliceMut::F64(x),
            StepNumber::U32(x) => SliceMut::U32(x),
        }
    }
}

/// An operand, and its lengths. Those of arrays in the frame are what is found there.
#[derive(Debug, Clone)]
pub(in crate::exec::native) struct FixedOperand {
    pub(super) source: FixedSource,
    pub(super) shape: Shape,
    pub(in crate::exec::native) count: usize,
}

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec::native) enum FixedTarget {
    /// To a place.
    Memory(usize),
    /// To a slot: it is a single number.
    Slot(usize, Word),
}

/// How a result is computed.
#[derive(Debug, Clone, Copy)]
pub(super) enum FixedWay {
    /// Element by element.
    Elements(Kernel),
    /// In the memory of operand 0, which is in the place where the result goes.
    Update,
    Operator,
}

/// An operator that is applied.
#[derive(Debug)]
pub(in crate::exec::native) struct FixedApply {
    pub(super) op: OpRef,
    pub(super) way: FixedWay,
    pub(in crate::exec::native) operands: SmallVec<[FixedOperand; 3]>,
    pub(super) ty: Type,
    pub(in crate::exec::native) count: usize,
    pub(in crate::exec::native) to: FixedTarget,
}

/// An operator that changes an array of the frame, which nothing else reads later.
#[derive(Debug)]
pub(in crate::exec::native) struct FrameUpdate {
    pub(super) op: OpRef,
    /// The place of the array before, and after.
    pub(super) from: usize,
    pub(in crate::exec::native) to: usize,
    /// The operands but for the array.
    pub(in crate::exec::native) operands: SmallVec<[FixedOperand; 3]>,
}

/// An operator that is applied element by element to arrays in memory and single numbers.
#[derive(Debug)]
pub(in crate::exec::native) struct ElementStep {
    pub(super) kernel: Kernel,
    pub(super) dtype: DType,
    /// Where each operand is, and how many elements it has.
    pub(in crate::exec::native) operands: SmallVec<[(FixedSource, usize); MOST_OPERANDS]>,
    pub(in crate::exec::native) count: usize,
    pub(in crate::exec::native) to: usize,
    /// Whether no operand is in the place where the result goes, which takes the half that is read then.
    pub(super) is_apart: bool,
}

/// A step. Places are those of memory, but where it says that they are of the frame.
#[derive(Debug)]
pub(in crate::exec::native) enum FixedStep {
    Apply(Box<FixedApply>),
    Update(Box<FrameUpdate>),
    /// A result is computed element by element.
    Elements(Box<ElementStep>),
    /// So many elements of a place, from one on, are copied to another place.
    Part {
        from: usize,
        start: usize,
        count: usize,
        to: usize,
    },
    /// Adds the products of all elements of one array and all of another to a matrix in a place: where the
    /// factors are, and how many elements they have.
    AddOuter([(usize, usize); 2], usize),
    /// Elements of one place, so many, are added to those of another, from one on.
    AddPart {
        from: usize,
        count: usize,
        start: usize,
        to: usize,
    },
    /// `all` elements are 0, but `count` of them, from `start` on, which are those of a place.
    Pad {
        from: usize,
        count: usize,
        start: usize,
        all: usize,
        to: usize,
    },
    /// A vector times a matrix: where they are, how many elements they have, and where the product goes.
    Product(VectorProduct, [(usize, usize); 2], usize),
    /// A constant is put into a place.
    Constant(Array, usize),
    /// The array in the place of the frame of the same number is copied to the place.
    Enter(usize),
    /// What is in a place is copied to a place of the frame.
    Leave(usize, usize, Shape),
    /// An array in the frame is not needed any more.
    Drop(usize),
    /// So many elements of each of some places go to a tape.
    Push(usize, Vec<(usize, usize)>),
    /// So many elements come from a tape to each of some places.
    Pop(usize, Vec<(usize, usize)>),
    /// So many elements go to other places, all at once.
    Move(Vec<(FixedSource, usize, usize)>),
}
