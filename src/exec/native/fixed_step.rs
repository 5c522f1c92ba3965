//! What is done with arrays that have [memory of their own](super::fixed).

use smallvec::SmallVec;

use super::word::Word;
use crate::array::{Array, DType, Shape, Type};
use crate::rules::{Kernel, MOST_OPERANDS, OpRef};

/// Where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixedSource {
    /// In the memory of a place.
    Memory(usize),
    /// In a place of the frame.
    Frame(usize),
    /// A single number, in a slot.
    Slot(usize, Word),
}

/// An operand, and its lengths. Those of arrays in the frame are what is found there.
#[derive(Debug, Clone)]
pub(super) struct FixedOperand {
    pub(super) source: FixedSource,
    pub(super) shape: Shape,
    pub(super) count: usize,
}

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixedTarget {
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
pub(super) struct FixedApply {
    pub(super) op: OpRef,
    pub(super) way: FixedWay,
    pub(super) operands: SmallVec<[FixedOperand; 3]>,
    pub(super) ty: Type,
    pub(super) count: usize,
    pub(super) to: FixedTarget,
}

/// An operator that is applied element by element to arrays in memory and single numbers.
#[derive(Debug)]
pub(super) struct ElementStep {
    pub(super) kernel: Kernel,
    pub(super) dtype: DType,
    /// Where each operand is, and how many elements it has.
    pub(super) operands: SmallVec<[(FixedSource, usize); MOST_OPERANDS]>,
    pub(super) count: usize,
    pub(super) to: usize,
}

/// A step. Places are those of memory, but where it says that they are of the frame.
#[derive(Debug)]
pub(super) enum FixedStep {
    Apply(Box<FixedApply>),
    /// A result is computed element by element.
    Elements(Box<ElementStep>),
    /// So many elements of a place, from one on, are copied to another place.
    Part {
        from: usize,
        start: usize,
        count: usize,
        to: usize,
    },
    /// Adds the products of all elements of one array and all of another to a matrix in a place.
    AddOuter([(FixedSource, usize); 2], usize),
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
