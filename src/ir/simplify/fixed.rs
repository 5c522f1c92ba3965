//! A function for the lengths that its kinds say, where all of them follow from those of its parameters.
//!
//! Gradients read many arrays for their lengths alone, so that what was repeated is summed: an
//! array of zeros that is there already serves as well as the one that a loop would have to keep
//! each turn. And a sum to lengths that an array has is no work at all.
//!
//! A parameter of which only rows are looked up may have any number of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::inferred_lengths::{InferredLengths, infer_lengths};
use super::lengths::{Lengths, are_exact_but};
use super::simplified;
use crate::array::{Array, Shape, Type};
use crate::error::Result;
use crate::ir::function::{Expression, Function, Instruction, ValueId};
use crate::ir::kind::{Datum, ValueKind};
use crate::ir::scalar::ScalarOperator;
use crate::reserve;
use crate::rules::is_one_of;

/// Most bytes of an array that is made for its lengths.
const LARGE: usize = 1 << 16;

/// Lengths that arguments must have.
#[derive(Debug)]
pub(crate) struct ArgumentLengths {
    /// Of each argument that is an array: its place, its lengths, and whether the first one does not matter.
    arrays: Vec<(usize, Shape, bool)>,
}

impl ArgumentLengths {
    /// Whether arguments have these lengths. They are of the right kinds.
    pub(crate) fn fit(&self, args: &[Datum]) -> bool {
        self.arrays.iter().all(|(at, shape, open)| {
            let from = usize::from(*open);
            matches!(args.get(*at), Some(Datum::Array(array)) if array.shape().len() == shape.len()
                && array.shape()[from..] == shape[from..])
        })
    }

    /// Whether the first axis of the argument in a place may have any length.
    fn is_open(&self, at: usize) -> bool {
        self.arrays.iter().any(|(k, _, open)| *k == at && *open)
    }

    /// Of which values of a function the lengths follow: of all but those whose first axis may have any
    /// length.
    pub(crate) fn known(&self, function: &Function) -> Vec<KnownLengths> {
        let mut known = vec![KnownLengths::Always; function.kinds.len()];
        for (at, &id) in function.parameters().iter().enumerate() {
            if self.is_open(at) {
                known[id as usize] = KnownLengths::EachRun;
            }
        }
        known
    }
}

/// When the lengths of a value are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownLengths {
    /// They are those of its kind in every run.
    Always,
    /// They follow from those of the arguments.
    EachRun,
    /// They depend on more than the arguments' lengths, and are known only while the function runs.
    Never,
}

/// A function for arguments of several lengths, and which of its values have the same lengths for all of
/// them.
#[derive(Debug)]
pub(crate) struct LengthInvariant {
    pub(crate) function: Arc<Function>,
    pub(crate) known: Vec<KnownLengths>,
    /// What was assumed of the function that this one was made of: arrays that were read for their lengths
    /// alone are in it no longer.
    assumed: (Function, Vec<KnownLengths>),
}

/// Whether the lengths that are known of a function's values hold in a run on these arguments.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
fn holds(function: &Function, known: &[KnownLengths], args: &[Datum]) -> Result<bool> {
    let found = infer_lengths(function, args)?;
    let mut values = known.iter().zip(&found).zip(&function.kinds);
    Ok(values.all(|((known, found), kind)| match (known, found) {
        (KnownLengths::Never, _) | (_, InferredLengths::Unreached) => true,
        (KnownLengths::EachRun, found) => *found != InferredLengths::Varying,
        (KnownLengths::Always, found) => kind.array().is_some_and(|ty| found.is(ty)),
    }))
}

impl LengthInvariant {
    /// That of a function, by arguments that have other lengths than those in the kinds of its parameters;
    /// `None` if all arrays are of other lengths then.
    ///
    /// # Errors
    /// As [`simplify`](super::simplify).
    pub(crate) fn new(function: &Function, args: &[Datum]) -> Result<Option<Self>> {
        // An operator that must run in the caller's thread calls code of the caller, which may return another
        // shape than `infer` gave.
        if function.blocks.len() == 1 || function.operators().any(|op| op.stays_in_thread()) {
            return Ok(None);
        }
        let before = known(function, &infer_lengths(function, args)?);
        reserve::ahead(2 * function.kinds.len(), reserve::bytes::OPTIMIZED)?;
        let original = function;
        let mut function = original.clone();
        read_zeros(&mut function, |id| {
            before[id as usize] == KnownLengths::Always
        });
        let function = simplified(function, Lengths::Seen)?;
        function.check()?;
        let known = known(&function, &infer_lengths(&function, args)?);
        let mut instructions = function.blocks.iter().flat_map(|b| &b.instructions);
        let some = instructions.any(|i| {
            let axes = |&id: &ValueId| function.kind(id).array().is_some_and(|ty| ty.ndim() > 0);
            let applied = matches!(i.expression, Expression::Apply(..));
            let always = |&id: &ValueId| known[id as usize] == KnownLengths::Always;
            applied && i.results.iter().any(|id| axes(id) && always(id))
        });
        Ok(some.then(|| LengthInvariant {
            function: Arc::new(function),
            known,
            assumed: (original.clone(), before),
        }))
    }

    /// Whether what is known holds in a run on these arguments.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub(crate) fn holds_for(&self, args: &[Datum]) -> Result<bool> {
        let (original, before) = &self.assumed;
        Ok(holds(original, before, args)? && holds(&self.function, &self.known, args)?)
    }
}

/// What is known of each value of a function, by what is found of its lengths in a run.
fn known(function: &Function, found: &[InferredLengths]) -> Vec<KnownLengths> {
    let values = found.iter().zip(&function.kinds);
    let known = values.map(|(found, kind)| match (found, kind.array()) {
        (InferredLengths::Known(found), Some(ty)) if found == ty => KnownLengths::Always,
        (InferredLengths::Known(_), _) => KnownLengths::EachRun,
        _ => KnownLengths::Never,
    });
    known.collect()
}

/// A function that does what `function` does for arguments of the lengths in the kinds of its
/// parameters, and these lengths; `None` if not all others follow from them, or there are no arrays.
///
/// # Errors
/// As [`simplify`](super::simplify).
pub(crate) fn for_lengths_seen(function: &Function) -> Result<Option<(Function, ArgumentLengths)>> {
    let axes = |kind: &ValueKind| kind.array().is_some_and(|ty| ty.ndim() > 0);
    // What calls its caller may give what it did not say.
    let calls = function.operators().any(|op| op.stays_in_thread());
    if calls || !function.kinds.iter().any(axes) {
        return Ok(None);
    }
    let lengths = ArgumentLengths {
        arrays: parameters(function),
    };
    let parameters = function.parameters().iter().enumerate();
    let open = parameters.filter(|(at, _)| lengths.is_open(*at));
    let open: Vec<ValueId> = open.map(|(_, &id)| id).collect();
    if !are_exact_but(function, &open) {
        return Ok(None);
    }
    reserve::ahead(function.kinds.len(), reserve::bytes::OPTIMIZED)?;
    let mut fixed = function.clone();
    read_zeros(&mut fixed, |_| true);
    Ok(Some((simplified(fixed, Lengths::Fixed)?, lengths)))
}

/// The parameters that are arrays: the place, the lengths, and whether the first one does not matter.
fn parameters(function: &Function) -> Vec<(usize, Shape, bool)> {
    let parameters = function.parameters().iter().enumerate();
    let arrays = parameters.filter_map(|(at, &id)| {
        let ty = function.kind(id).array().filter(|ty| ty.ndim() > 0)?;
        Some((at, ty.shape.clone(), is_looked_up(function, id)))
    });
    arrays.collect()
}

/// Whether all that a function does with an array is to look rows up and to ask how many there are.
fn is_looked_up(function: &Function, id: ValueId) -> bool {
    let fits = |expression: &Expression| match expression {
        Expression::Apply(op, args) if is_one_of!(op: Gather) => !args[1..].contains(&id),
        Expression::Compute(ScalarOperator::Length(0), ..) => true,
        other => !other.operands().contains(&id),
    };
    function.blocks.iter().all(|block| {
        let mut passed = false;
        block.terminator.each(|used| passed |= used == id);
        !passed && block.instructions.iter().all(|i| fits(&i.expression))
    })
}

/// Lets operators that read an operand for its type alone read zeros of that type, but parameters, which
/// are there anyway. The lengths of `known` values are facts.
fn read_zeros(function: &mut Function, known: impl Fn(ValueId) -> bool) {
    let parameters = function.parameters().to_vec();
    let mut zeros: HashMap<Type, ValueId> = HashMap::new();
    let mut made = Vec::new();
    let kinds = &mut function.kinds;
    for i in function.blocks.iter_mut().flat_map(|b| &mut b.instructions) {
        let Expression::Apply(op, args) = &mut i.expression else {
            continue;
        };
        for (k, id) in args.iter_mut().enumerate() {
            let ty = match &kinds[*id as usize] {
                ValueKind::Array(ty) if ty.ndim() > 0 && ty.dtype.is_real() => ty,
                _ => continue,
            };
            let small = ty.size().saturating_mul(ty.dtype.size()) <= LARGE;
            if !small || op.reads(k) || parameters.contains(id) || !known(*id) {
                continue;
            }
            let ty = ty.clone();
            *id = *zeros.entry(ty).or_insert_with_key(|ty| {
                let zero = kinds.len() as ValueId;
                kinds.push(ValueKind::Array(ty.clone()));
                let value = Expression::Constant(Array::full(ty, 0.0).into());
                made.push(Instruction::new(zero, value));
                zero
            });
        }
    }
    if let Some(first) = function.blocks.first_mut() {
        made.append(&mut first.instructions);
        first.instructions = made;
    }
}
