//! A loss of batches as one that computes for each sample what a batch of that sample alone would.
//!
//! In a batch of one sample the sum over the first axis, that of the samples, is the sample's own value. So
//! without that sum, and with a first axis of `n` samples in place of 1, operators that treat each sample by
//! itself compute for every sample what `n` batches of one compute. Training uses this where samples share no
//! row ([`sample_groups`](crate::train)): what one of them changes no other reads, so they can run together.
//!
//! Limits: parameters are only looked up in, by inputs. Operators are those of one element, dot products of
//! rows, sums and means, and what gives a value further axes behind the first. With any other there is no such
//! function.

use crate::array::{Shape, Type};
use crate::error::Result;
use crate::exec::leaf::Leaf;
use crate::exec::plan::analysis::elementwise;
use crate::ir::{Builder, Function, Straight, Terminator, ValueId};
use crate::rules::{ExpandDims, Form, Mean, OpRef, Squeeze, Sum, is_one_of, result_type};

/// Samples for which types are inferred. Another number fits as well.
const LIKE: usize = 3;

/// How a value stands to the samples.
#[derive(Clone, Copy, PartialEq)]
enum BatchRole {
    /// A parameter.
    Parameter,
    /// The same for all samples.
    Same,
    /// The first axis is that of the samples.
    Each,
    /// The samples have been summed: the first axis has been put in front of those that there were.
    Summed,
}

/// A value of the function, and what it is in the new one.
#[derive(Clone, Copy)]
struct RoledValue {
    id: ValueId,
    role: BatchRole,
    /// The number of the leaf that it is, if it is one.
    leaf: Option<usize>,
    /// Whether it is rows that were looked up.
    is_lookup: bool,
}

/// Lookups of rows: for each the number of the parameter and that of the input that names rows.
pub(crate) type Lookups = Vec<(usize, usize)>;

/// The function of `n` samples, whose result has one loss a sample, and its lookups, by numbers of leaves; `None`
/// if there is none.
///
/// # Errors
/// As [`Function::straight`] and [`Builder::finish`].
pub(in crate::exec) fn per_sample(
    function: &Function,
    leaves: &[Leaf],
) -> Result<Option<(Function, Lookups)>> {
    let (block, results) = function.straight()?;
    let mut writer = PerSampleWriter {
        builder: Builder::new(),
        values: vec![None; function.kinds.len()],
        types: Vec::new(),
        lookups: Vec::new(),
    };
    for (number, (&parameter, leaf)) in block.parameters.iter().zip(leaves).enumerate() {
        let mut ty = function.ty(parameter).clone();
        let role = match leaf {
            Leaf::Parameter(_) => BatchRole::Parameter,
            Leaf::Independent(..) => BatchRole::Same,
            Leaf::Input { .. } if ty.ndim() == 0 => return Ok(None),
            Leaf::Input { .. } => {
                ty.shape[0] = LIKE;
                BatchRole::Each
            }
        };
        let id = writer.builder.parameter(ty.clone());
        writer.define(parameter, id, role, ty, Some(number));
    }
    for instruction in &block.instructions {
        let written = match instruction.straight() {
            Straight::Constant(value) => {
                let id = writer.builder.fixed(value.clone());
                writer.define(instruction.result(), id, BatchRole::Same, value.ty(), None);
                Some(())
            }
            Straight::Apply(op, args) => writer.apply(instruction.result(), op, args),
        };
        if written.is_none() {
            return Ok(None);
        }
    }
    let [result] = results else {
        return Ok(None);
    };
    let Some(RoledValue {
        id,
        role: BatchRole::Each | BatchRole::Summed,
        ..
    }) = writer.values[*result as usize]
    else {
        return Ok(None);
    };
    writer.builder.terminate(Terminator::Return(vec![id]));
    let function = writer.builder.finish(&function.name)?;
    Ok(Some((function, writer.lookups)))
}

/// Writes the new function.
struct PerSampleWriter {
    builder: Builder,
    /// By number of the value in the old function.
    values: Vec<Option<RoledValue>>,
    /// By number of the value in the new function.
    types: Vec<Type>,
    /// By numbers of leaves.
    lookups: Lookups,
}

impl PerSampleWriter {
    /// Says what a value of the old function is in the new one.
    fn define(
        &mut self,
        old: ValueId,
        id: ValueId,
        role: BatchRole,
        ty: Type,
        leaf: Option<usize>,
    ) {
        if id as usize == self.types.len() {
            self.types.push(ty);
        }
        self.values[old as usize] = Some(RoledValue {
            id,
            role,
            leaf,
            is_lookup: false,
        });
    }

    /// Writes an operator; `None` if it does not treat each sample by itself.
    fn apply(&mut self, result: ValueId, op: &OpRef, args: &[ValueId]) -> Option<()> {
        let values: Option<Vec<RoledValue>> =
            args.iter().map(|&a| self.values[a as usize]).collect();
        let values = values?;
        let (role, op) = match &values[..] {
            _ if op.form() == Form::RowLookup => match values[..] {
                [
                    RoledValue {
                        role: BatchRole::Parameter,
                        leaf: Some(table),
                        ..
                    },
                    RoledValue {
                        role: BatchRole::Each,
                        leaf: Some(index),
                        ..
                    },
                ] => {
                    self.lookups.push((table, index));
                    (BatchRole::Each, op.clone())
                }
                _ => return None,
            },
            all if all.iter().any(|x| x.role == BatchRole::Parameter) => return None,
            [x] if x.role == BatchRole::Each && is_one_of!(op: Sum, Mean) => {
                match without_first_axis(op)? {
                    // The gradient of rows has a term for each use, and the sum has one for all.
                    (_, None) if x.is_lookup => return None,
                    (role, None) => {
                        self.values[result as usize] = Some(RoledValue {
                            role,
                            leaf: None,
                            ..*x
                        });
                        return Some(());
                    }
                    (role, Some(op)) => (role, op),
                }
            }
            [x] if x.role == BatchRole::Summed && is_one_of!(op: Sum, Mean) => {
                (BatchRole::Summed, op.over_batch()?)
            }
            [x] if x.role == BatchRole::Each && keeps_first_axis(op) => {
                (BatchRole::Each, op.clone())
            }
            [x, y]
                if (op.form() == Form::RowDot || op.form() == Form::Repeated)
                    && [x, y].iter().all(|x| x.role == BatchRole::Each)
                    && self.types[x.id as usize].ndim() == self.types[y.id as usize].ndim() =>
            {
                (BatchRole::Each, op.clone())
            }
            all => (self.by_elements(op, all)?, op.clone()),
        };
        let ids: Vec<ValueId> = values.iter().map(|x| x.id).collect();
        let types: Vec<&Type> = ids.iter().map(|&id| &self.types[id as usize]).collect();
        let ty = result_type(&*op, &types).ok()?;
        if role != BatchRole::Same && ty.shape.first() != Some(&LIKE) {
            return None;
        }
        let is_lookup = op.form() == Form::RowLookup;
        let id = self.builder.try_apply(op, &ids).ok()?;
        self.define(result, id, role, ty, None);
        if let Some(value) = &mut self.values[result as usize] {
            value.is_lookup = is_lookup;
        }
        Some(())
    }

    /// What the result of an operator is that computes each element by itself; `None` if it is another, or
    /// the first axes do not fall on each other.
    fn by_elements(&self, op: &OpRef, values: &[RoledValue]) -> Option<BatchRole> {
        let types: Vec<&Type> = values.iter().map(|x| &self.types[x.id as usize]).collect();
        let out = result_type(&**op, &types).ok()?;
        if !is_one_of!(op: Cast, Identity, StopGradient) {
            elementwise(&**op, &types, &out)?;
        }
        let found = |role| values.iter().any(|x| x.role == role);
        let role = match (found(BatchRole::Each), found(BatchRole::Summed)) {
            (true, _) => BatchRole::Each,
            (false, true) => BatchRole::Summed,
            (false, false) => return Some(BatchRole::Same),
        };
        let fits = |(value, ty): (&RoledValue, &&Type)| match value.role {
            // Beside values that have lost the first axis, one of as many axes as the result has would have
            // given them an axis.
            BatchRole::Same => {
                ty.ndim() < out.ndim() || (role == BatchRole::Each && ty.shape[0] == 1)
            }
            _ => ty.ndim() == out.ndim(),
        };
        values.iter().zip(&types).all(fits).then_some(role)
    }
}

/// Whether an operator of one value that has the samples along its first axis leaves that axis where it is
/// and treats each of them by itself.
fn keeps_first_axis(op: &OpRef) -> bool {
    let axes = match (op.downcast::<ExpandDims>(), op.downcast::<Squeeze>()) {
        (Some(op), _) => &op.axes,
        (_, Some(op)) => &op.axes,
        _ => return false,
    };
    !axes.contains(&0)
}

/// A sum or mean of a value that has the samples along its first axis without that axis, if there is another,
/// and the role of its result; `None` for what is neither.
fn without_first_axis(op: &OpRef) -> Option<(BatchRole, Option<OpRef>)> {
    let sum = op.downcast::<Sum>().map(|sum| (&sum.axes, sum.keepdims));
    let mean = op.downcast::<Mean>();
    let (all, keepdims) = sum.or(mean.map(|mean| (&mean.axes, mean.keepdims)))?;
    let axes: Shape = all.iter().copied().filter(|&axis| axis != 0).collect();
    let role = match axes.len() < all.len() && !keepdims {
        true => BatchRole::Summed,
        false => BatchRole::Each,
    };
    let op = match (axes.is_empty(), sum) {
        (true, _) => None,
        (false, Some(_)) => Some(OpRef::new(Sum { axes, keepdims })),
        (false, None) => Some(OpRef::new(Mean { axes, keepdims })),
    };
    Some((role, op))
}

#[cfg(test)]
mod tests;
