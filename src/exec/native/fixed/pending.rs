//! What waits while steps with arrays in [memory of their own](super) are written, and which
//! values need no memory.
//!
//! A result that has the elements of an operand under another shape is where these are, if nothing
//! else is put there as long as it is read.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::step::FixedStep;
use crate::array::Type;
use crate::exec::native::interface::Interface;
use crate::ir::{Expression, Function, ValueId};
use crate::rules::shares;

/// Steps that wait, and the slots that are taken.
#[derive(Default)]
pub(in crate::exec::native) struct PendingSteps {
    pub(super) steps: Vec<FixedStep>,
    pub(super) numbers: usize,
}

/// Values that are read in the place of others, whose elements they have.
pub(in crate::exec::native) type StandIns = HashMap<ValueId, ValueId>;

/// For each value that is a result with the elements of an operand, and need not be put anywhere, the value
/// in whose place it is.
pub(in crate::exec::native) fn stand_ins(function: &Function, interface: &Interface) -> StandIns {
    let mut found = StandIns::new();
    if !interface.fixed.is_used() {
        return found;
    }
    let place = |id: ValueId| interface.places[id as usize].map(|place| place as usize);
    let fixed = |id: ValueId| place(id).is_some_and(|place| interface.fixed.has(place));
    let uses = function.uses();
    for block in &function.blocks {
        for (at, i) in block.instructions.iter().enumerate() {
            let Expression::Apply(op, args) = &i.expression else {
                continue;
            };
            let (result, Some(&of)) = (i.results[0], args.first()) else {
                continue;
            };
            if !fixed(result) || !fixed(of) {
                continue;
            }
            let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| function.ty(a)).collect();
            if !shares(&**op, &types, function.ty(result)) {
                continue;
            }
            let root = found.get(&of).copied().unwrap_or(of);
            let mut open = uses[result as usize];
            let later = block.instructions[at + 1..].iter();
            let free = later.take_while(|i| {
                let before = open;
                let reads = i.expression.operands().iter();
                open -= reads.filter(|&&id| id == result).count();
                before > 0
            });
            let overwritten = free
                .flat_map(|i| &i.results)
                .any(|&id| place(id) == place(root));
            if !overwritten && open == 0 {
                found.insert(result, root);
            }
        }
    }
    // What stands for something is read as often as that: it was looked at for its own uses alone.
    let chained: Vec<ValueId> = found
        .iter()
        .filter(|(_, root)| found.contains_key(root))
        .map(|(&id, _)| id)
        .collect();
    for id in chained {
        found.remove(&id);
    }
    found
}
