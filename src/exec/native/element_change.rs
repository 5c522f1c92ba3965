//! Operators that read or change single elements of a vector, which machine code does without a call.

use crate::array::DType;
use crate::ir::{Function, ValueId};
use crate::rules::{Accumulate, Gather, OpRef, Operator, ReplaceRow, ScatterRows};

/// Changes of elements by one operator that are written as stores, at most.
const MOST_CHANGES: usize = 16;

/// How an operator changes elements of a vector, its operand 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementChange {
    /// So often a number is added to an element: two operands each, which are the number and the index.
    Added(usize),
    /// Operand 1 is put at the index that is operand 2.
    Put,
}

impl ElementChange {
    pub(super) fn of(op: &dyn Operator) -> Option<Self> {
        if op.downcast::<ReplaceRow>().is_some() {
            return Some(ElementChange::Put);
        }
        let sum = op.downcast::<Accumulate>()?;
        let parts = sum.parts();
        let mut numbered = parts.iter().enumerate();
        let adds = sum.has_base()
            && numbered.all(|(k, (op, places))| {
                op.downcast::<ScatterRows>().is_some() && *places == (1 + 2 * k..3 + 2 * k)
            });
        (adds && parts.len() <= MOST_CHANGES).then_some(ElementChange::Added(parts.len()))
    }

    /// For each change the operand that is the number; the next one is the index.
    pub(super) fn operands(self) -> impl Iterator<Item = usize> {
        let count = match self {
            ElementChange::Added(count) => count,
            ElementChange::Put => 1,
        };
        (0..count).map(|k| 1 + 2 * k)
    }
}

/// Whether machine code reads or changes single elements of operands of an operator.
pub(super) fn changes_elements(
    function: &Function,
    op: &OpRef,
    args: &[ValueId],
    result: ValueId,
) -> bool {
    let is_one = |id: ValueId| {
        let ty = function.kind(id).array();
        ty.is_some_and(|ty| ty.ndim() == 0)
    };
    let vector = args.first().and_then(|&first| function.kind(first).array());
    let is_vector = vector.is_some_and(|ty| (ty.dtype, ty.ndim()) == (DType::F64, 1));
    let reads = op.downcast::<Gather>().is_some() && is_one(result);
    is_vector && (reads || ElementChange::of(&**op).is_some_and(|_| is_one(args[1])))
}
