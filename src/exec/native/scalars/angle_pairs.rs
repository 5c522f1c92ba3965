//! Which angles a block of a function has both the sine and the cosine of.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::Value;

use crate::ir::{Block, Expression, ValueId};
use crate::rules::{Cos, Operator, Sin};

/// The values of which a block has both sine and cosine, neither of them written.
pub(in crate::exec::native) fn both_angles(block: &Block) -> HashMap<ValueId, Option<[Value; 2]>> {
    let of = |is_it: fn(&dyn Operator) -> bool| {
        let applied = block.instructions.iter().map(|i| &i.expression);
        applied.filter_map(move |expression| match expression {
            Expression::Apply(op, args) if is_it(&**op) => args.first().copied(),
            _ => None,
        })
    };
    let sines: HashSet<ValueId> = of(|op| op.downcast::<Sin>().is_some()).collect();
    let cosines = of(|op| op.downcast::<Cos>().is_some());
    cosines
        .filter(|id| sines.contains(id))
        .map(|id| (id, None))
        .collect()
}
