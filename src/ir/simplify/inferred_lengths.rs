//! The lengths of a function's arrays in a run, inferred from those of its arguments.
//!
//! Arguments of other lengths leave many arrays as they are: the states of a loop over a sequence, say, and
//! all that a turn computes of them. Machine code for any lengths does better where it knows these.
//!
//! Limit: an array that has different lengths on different ways through the function, or in different turns,
//! counts as unknown.

use smallvec::SmallVec;

use crate::array::Type;
use crate::error::Result;
use crate::interrupt::Poller;
use crate::ir::function::{Expression, Function, ValueId};
use crate::ir::kind::Datum;
use crate::rules::OpRef;

/// About how many nanoseconds it takes to infer the result of an instruction.
const INSTRUCTION: usize = 50;

/// What is known of the lengths of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InferredLengths {
    /// No instruction that was reached computes it, or it is no array.
    Unreached,
    /// They are these wherever it is computed.
    Known(Type),
    /// They differ from one instruction that computes it to another, or an operator refuses them.
    Varying,
}

impl InferredLengths {
    /// Takes note of lengths that a value may have too; whether that says more.
    fn meet(&mut self, other: InferredLengths) -> bool {
        let new = match (&*self, other) {
            (_, InferredLengths::Unreached) | (InferredLengths::Varying, _) => return false,
            (InferredLengths::Unreached, other) => other,
            (known, other) if *known == other => return false,
            _ => InferredLengths::Varying,
        };
        *self = new;
        true
    }

    /// Whether it is an array that always has the lengths of a type, as far as is known.
    pub(crate) fn is(&self, ty: &Type) -> bool {
        matches!(self, InferredLengths::Known(found) if found == ty)
    }
}

/// The lengths of the result of an operator.
fn result(op: &OpRef, args: &[ValueId], found: &[InferredLengths]) -> InferredLengths {
    let mut types: SmallVec<[&Type; 4]> = SmallVec::new();
    for &id in args {
        match &found[id as usize] {
            InferredLengths::Known(ty) => types.push(ty),
            other => return other.clone(),
        }
    }
    op.infer(&types)
        .map_or(InferredLengths::Varying, InferredLengths::Known)
}

/// What is known of the lengths of each value in a run on these arguments, which are of the right kinds.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub(crate) fn infer_lengths(function: &Function, args: &[Datum]) -> Result<Vec<InferredLengths>> {
    let of = |id: ValueId| match function.kind(id).array() {
        None => InferredLengths::Unreached,
        Some(ty) if ty.ndim() == 0 => InferredLengths::Known(ty.clone()),
        Some(_) => InferredLengths::Varying,
    };
    let mut found = vec![InferredLengths::Unreached; function.kinds.len()];
    for (&id, arg) in function.parameters().iter().zip(args) {
        if let Datum::Array(array) = arg {
            found[id as usize] = InferredLengths::Known(array.ty());
        }
    }
    let records = function
        .tapes
        .iter()
        .map(|kinds| vec![InferredLengths::Unreached; kinds.len()]);
    let mut tapes: Vec<Vec<InferredLengths>> = records.collect();
    let mut poller = Poller::default();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for block in &function.blocks {
            poller.step(INSTRUCTION * (1 + block.instructions.len()))?;
            for i in &block.instructions {
                match &i.expression {
                    Expression::Push(tape, ids) => {
                        for (part, &id) in tapes[*tape as usize].iter_mut().zip(ids) {
                            changed |= part.meet(found[id as usize].clone());
                        }
                    }
                    Expression::Pop(tape) => {
                        for (&id, part) in i.results.iter().zip(&tapes[*tape as usize]) {
                            changed |= found[id as usize].meet(part.clone());
                        }
                    }
                    Expression::Apply(op, ids) => {
                        let new = result(op, ids, &found);
                        changed |= found[i.results[0] as usize].meet(new);
                    }
                    Expression::Constant(Datum::Array(array)) => {
                        let new = InferredLengths::Known(array.ty());
                        changed |= found[i.results[0] as usize].meet(new);
                    }
                    Expression::Constant(_) | Expression::Compute(..) | Expression::Guard(..) => {
                        for &id in &i.results {
                            changed |= found[id as usize].meet(of(id));
                        }
                    }
                }
            }
            for to in block.terminator.targets() {
                for (&id, &p) in to.args.iter().zip(&function.blocks[to.block].parameters) {
                    let given = found[id as usize].clone();
                    changed |= found[p as usize].meet(given);
                }
            }
        }
    }
    Ok(found)
}
