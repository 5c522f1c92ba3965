//! Operators that read or change single elements of an array, which machine code does without a call.

use std::ops::Range;

use smallvec::SmallVec;

use crate::array::DType;
use crate::ir::{Function, ValueId};
use crate::rules::{Accumulate, OpRef, is_one_of};

/// Most axes of an array of which machine code reaches single elements.
pub(in crate::exec::native) const MOST_INDICES: usize = 3;

/// Most changes of elements by one operator that are written as stores.
const MOST_CHANGES: usize = 16;

/// How an operator changes elements of an array, its operand 0.
#[derive(Debug, Clone)]
pub(in crate::exec::native) struct ElementChange {
    /// Whether numbers are added to elements; else they are put in their place.
    pub(super) adds: bool,
    /// The operands of each change: the number, and an index for each axis.
    pub(super) changes: SmallVec<[Range<usize>; 1]>,
}

impl ElementChange {
    fn of(op: &OpRef, count: usize) -> Option<Self> {
        if is_one_of!(op: ReplaceRow, ReplaceAt) {
            // A row has its index after it, an element its indices.
            let changes = SmallVec::from_elem(1..count, 1);
            return Some(ElementChange {
                adds: false,
                changes,
            });
        }
        let sum = op.downcast::<Accumulate>()?;
        let adds = |(op, _): &(OpRef, Range<usize>)| is_one_of!(op: ScatterRows, AddAt);
        let fits = sum.has_base() && sum.parts().len() <= MOST_CHANGES;
        let parts = sum.parts().iter();
        (fits && parts.clone().all(adds)).then(|| ElementChange {
            adds: true,
            changes: parts.map(|(_, operands)| operands.clone()).collect(),
        })
    }
}

/// The number of axes of an array of float64 elements, if machine code reaches those.
fn axes(function: &Function, id: ValueId) -> Option<usize> {
    let ty = function.kind(id).array()?;
    (ty.dtype == DType::F64 && (1..=MOST_INDICES).contains(&ty.ndim())).then(|| ty.ndim())
}

/// Whether a value is one number of an element type.
fn is_one(function: &Function, id: ValueId, dtype: DType) -> bool {
    let ty = function.kind(id).array();
    ty.is_some_and(|ty| (ty.dtype, ty.ndim()) == (dtype, 0))
}

/// Whether these are an index for each of so many axes.
fn are_indices(function: &Function, ids: &[ValueId], axes: usize) -> bool {
    ids.len() == axes && ids.iter().all(|&id| is_one(function, id, DType::U32))
}

/// Whether an operator reads an element of an array that machine code reaches.
pub(in crate::exec::native) fn reads_element(
    function: &Function,
    op: &OpRef,
    args: &[ValueId],
) -> bool {
    let reads = is_one_of!(op: Gather, TakeAt);
    let array = args.split_first().filter(|_| reads);
    array.is_some_and(|(&array, indices)| {
        axes(function, array).is_some_and(|axes| are_indices(function, indices, axes))
    })
}

/// The changes that an operator makes of elements of an array, if machine code makes them.
pub(in crate::exec::native) fn element_change(
    function: &Function,
    op: &OpRef,
    args: &[ValueId],
) -> Option<ElementChange> {
    let change = ElementChange::of(op, args.len())?;
    let axes = axes(function, *args.first()?)?;
    let fits = |operands: &Range<usize>| {
        let operands = args.get(operands.clone()).and_then(<[_]>::split_first);
        operands.is_some_and(|(&number, indices)| {
            is_one(function, number, DType::F64) && are_indices(function, indices, axes)
        })
    };
    change.changes.iter().all(fits).then_some(change)
}
