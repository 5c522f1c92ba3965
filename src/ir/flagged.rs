//! Cotangents that may be absent, each with the flag that tells, and what to do about their zeros.

use std::collections::BTreeMap;

use super::builder::Builder;
use super::function::{Expression, Instruction, ValueId};
use super::scalar::ScalarOperator;
use crate::error::Result;
use crate::rules::differentiate::{Applied, Cotangents};
use crate::rules::{Ex, Form, Id, OpRef, is_one_of};

/// When a cotangent is not absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Always.
    Certain,
    /// If this value of kind Bool holds.
    Flag(ValueId),
}

/// The cotangents that there are at a point of a reverse pass.
pub(super) struct Flagged {
    sums: Cotangents,
    live: BTreeMap<ValueId, Evidence>,
    /// The constants false and true.
    truth: [ValueId; 2],
}

impl Flagged {
    /// None yet, of so many values.
    pub(super) fn new(count: usize, truth: [ValueId; 2]) -> Self {
        let values: Vec<Id> = (0..count as Id).collect();
        Flagged {
            sums: Cotangents::new(&values),
            live: BTreeMap::new(),
            truth,
        }
    }

    /// When a value has a cotangent; `None` for never.
    pub(super) fn evidence(&self, id: ValueId) -> Option<Evidence> {
        self.live.get(&id).copied()
    }

    /// Adds to the cotangent of a value.
    pub(super) fn add(&mut self, cx: &Builder, id: ValueId, part: ValueId, evidence: Evidence) {
        self.sums.add(cx, id, part);
        self.note(cx, id, evidence);
    }

    /// As [`add`](Self::add), in another block than the part was computed in.
    pub(super) fn add_from_outside(
        &mut self,
        cx: &Builder,
        id: ValueId,
        part: ValueId,
        evidence: Evidence,
    ) {
        self.sums.add_whole(cx, id, part);
        self.note(cx, id, evidence);
    }

    /// Notes that a value has a cotangent when there is evidence.
    pub(super) fn note(&mut self, cx: &Builder, id: ValueId, evidence: Evidence) {
        let both = match (self.evidence(id), evidence) {
            (None, new) => new,
            (Some(Evidence::Certain), _) | (_, Evidence::Certain) => Evidence::Certain,
            (Some(Evidence::Flag(a)), Evidence::Flag(b)) if a == b => evidence,
            (Some(Evidence::Flag(a)), Evidence::Flag(b)) => {
                let either = cx.compute(ScalarOperator::BoolOr, &[a, b], None);
                Evidence::Flag(either.expect("both are of kind Bool, and it cannot fail"))
            }
        };
        self.live.insert(id, both);
    }

    /// Adds what the operands of an instruction have of the cotangent of its result, which is
    /// forgotten.
    ///
    /// # Errors
    /// As [`Cotangents::pull`].
    pub(super) fn pull(
        &mut self,
        cx: &Builder,
        (result, applied): (ValueId, Applied),
        wanted: impl Fn(usize, ValueId) -> bool,
        evidence: Evidence,
    ) -> Result<()> {
        let (op, operands) = applied.clone();
        let mut pull = |wanted: &dyn Fn(usize, ValueId) -> bool| {
            let applied = Some((op.clone(), operands.clone()));
            self.sums.pull(cx, result, applied, wanted, &mut ())
        };
        if changes_first(&op) {
            // Its rows are read before they are changed, so that this needs no copy.
            pull(&|n, a| n != 0 && wanted(n, a))?;
            pull(&|n, a| n == 0 && wanted(n, a))?;
        } else {
            pull(&wanted)?;
        }
        for (n, &a) in operands.iter().enumerate() {
            if wanted(n, a) {
                self.note(cx, a, evidence);
            }
        }
        self.forget(cx, result);
        Ok(())
    }

    /// The cotangent of a value in one value, if there is one.
    pub(super) fn known(&mut self, cx: &Builder, id: ValueId) -> Option<ValueId> {
        self.sums.total(cx, id)
    }

    /// The cotangent of a value in one value; zeros if there is none.
    pub(super) fn cotangent(&mut self, cx: &Builder, id: ValueId) -> ValueId {
        let known = self.known(cx, id);
        known.unwrap_or_else(|| zeros(cx, id))
    }

    /// The flag of a value's cotangent, as a value.
    pub(super) fn flag(&self, id: ValueId) -> ValueId {
        match self.live.get(&id) {
            None => self.truth[0],
            Some(Evidence::Certain) => self.truth[1],
            Some(Evidence::Flag(flag)) => *flag,
        }
    }

    /// Forgets the cotangent of a value.
    pub(super) fn forget(&mut self, cx: &Builder, id: ValueId) {
        self.live.remove(&id);
        self.sums.take(cx, id);
    }

    /// Takes out all that there is, each in one value.
    pub(super) fn take(&mut self, cx: &Builder) -> Vec<(ValueId, ValueId, Evidence)> {
        let all = std::mem::take(&mut self.live).into_iter();
        let all = all.map(|(id, evidence)| {
            let cotangent = self.cotangent(cx, id);
            self.sums.take(cx, id);
            (id, cotangent, evidence)
        });
        all.collect()
    }

    /// Forgets all that there is.
    pub(super) fn clear(&mut self, cx: &Builder) {
        for id in std::mem::take(&mut self.live).into_keys() {
            self.sums.take(cx, id);
        }
    }
}

/// Whether the result of an operator is its first operand with elements changed, and so is the cotangent of
/// that operand the result's: in a loop both are changed in place.
fn changes_first(op: &OpRef) -> bool {
    is_one_of!(op: ReplaceRow, ReplaceAt)
}

/// What some instructions of a block, from the last to the first, make of a value by changing its elements.
/// Where its cotangent is absent that of the result is, too, and can stand for it: the value need not be
/// kept for its lengths then, and is changed in place.
pub(super) fn changed_to(instructions: &[Instruction], done: &[usize], id: ValueId) -> ValueId {
    let mut found = id;
    for &k in done.iter().rev() {
        if let Expression::Apply(op, args) = &instructions[k].expression
            && changes_first(op)
            && args[0] == found
        {
            found = instructions[k].results[0];
        }
    }
    found
}

/// Zeros of a value's type.
pub(super) fn zeros(cx: &Builder, id: ValueId) -> ValueId {
    Ex::new(cx, id).zeros_like().id()
}

/// Whether the rules of an operator make zeros of zeros, whatever numbers there are. What only adds
/// elements to others does: in a loop over an array it changes its tangent or cotangent in place, which
/// with a zero beside, in a block of its own, would cost as much as the array is long.
pub(super) fn keeps_zero(cx: &Builder, op: &OpRef, args: &[ValueId]) -> bool {
    if op.scatter().is_some() || is_one_of!(op: Accumulate) {
        return true;
    }
    match op.form() {
        Form::Sum | Form::Difference | Form::Negation | Form::Shaped | Form::Repeated => true,
        Form::Product => {
            let finite = |&a: &ValueId| cx.number(a).is_some_and(f64::is_finite);
            args.iter().any(finite)
        }
        Form::Quotient => {
            let divisor = args.get(1).and_then(|&a| cx.number(a));
            divisor.is_some_and(|x| x != 0.0 && !x.is_nan())
        }
        _ => false,
    }
}
