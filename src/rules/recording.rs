//! Algebras that know what their values were computed from, and sums of gradients in them.
//!
//! A value that is looked up many times has as many gradients, each of which adds a few rows to zeros.
//! A sum keeps them apart until it is complete, since one instruction adds all of them in place.

use smallvec::SmallVec;

use super::{Accumulate, Add, Algebra, Ex, Id, OpRef};

/// An algebra that knows what its values were computed from.
pub(crate) trait Recording: Algebra {
    /// The operator and the operands that gave a value, if it is the result of an operator.
    fn definition(&self, id: Id) -> Option<Applied>;

    /// The name that the next value will get: names grow.
    fn next(&self) -> Id;

    /// Whether a value is the result of an operator that [scatters](super::Operator::scatter).
    fn is_scattered(&self, id: Id) -> bool;
}

/// An operator and its operands.
pub(crate) type Applied = (OpRef, SmallVec<[Id; 3]>);

/// The gradient or tangent of a value as far as it is known: a sum. What is scattered is added up at
/// the end, by one instruction, so that each part costs what it adds.
#[derive(Clone, Default)]
pub(super) struct GradientSum {
    pub dense: Option<Id>,
    scattered: Vec<Id>,
}

impl GradientSum {
    /// Adds a part.
    pub(super) fn add(&mut self, cx: &dyn Recording, part: Id) {
        if cx.is_scattered(part) {
            self.scattered.push(part);
        } else {
            self.add_dense(cx, part);
        }
    }

    /// Adds a part as one value.
    pub(super) fn add_dense(&mut self, cx: &dyn Recording, part: Id) {
        self.dense = Some(match self.dense {
            None => part,
            Some(sum) => Ex::new(cx, sum).with(&Add, &[Ex::new(cx, part)]).id(),
        });
    }

    /// The sum, in one value; `None` if there is nothing to add.
    pub(super) fn total(&mut self, cx: &dyn Recording) -> Option<Id> {
        let total = match (self.dense, &self.scattered[..]) {
            (None, [only]) => Some(*only),
            (dense, []) => dense,
            (dense, scattered) => Some(accumulate(cx, dense, scattered)),
        };
        *self = GradientSum {
            dense: total,
            scattered: Vec::new(),
        };
        total
    }
}

/// One instruction that adds up values that are scattered, and another.
fn accumulate(cx: &dyn Recording, base: Option<Id>, scattered: &[Id]) -> Id {
    let mut operands: Vec<Id> = base.into_iter().collect();
    let mut parts: Vec<(OpRef, usize)> = Vec::with_capacity(scattered.len());
    let mut part = |op: &OpRef, args: &[Id]| {
        let like = op.scatter().filter(|_| base.is_some());
        let like = like.and_then(|scatter| scatter.like());
        let own = args.iter().enumerate().filter(|&(k, _)| Some(k) != like);
        let before = operands.len();
        operands.extend(own.map(|(_, &id)| id));
        parts.push((op.clone(), operands.len() - before));
    };
    for (op, args) in scattered.iter().filter_map(|&id| cx.definition(id)) {
        // Sums of sums are one.
        match op.scatter().and_then(|scatter| scatter.accumulation()) {
            Some(sum) if !sum.has_base() => {
                let parts = sum.parts().iter();
                parts.for_each(|(op, own)| part(op, &args[own.clone()]));
            }
            _ => part(&op, &args),
        }
    }
    let op = OpRef::new(Accumulate::new(base.is_some(), parts));
    cx.apply(op, &operands)
}
