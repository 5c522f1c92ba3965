//! The loss of one sample, for a batch at once.
//!
//! Many losses do the same for every sample: branches that are there only ask whether an index is
//! negative or in range, which the columns answer for all samples. Then the operators of one sample have
//! a form for all: the batch is a first axis, as in a graph that was written for batches, and the plan of
//! the same program trains it.
//!
//! The function is followed from its entry along the only way that samples can take. Integers are known
//! by the range of their column, truth is known or the function is left alone, and so are operators that
//! are not here: then each sample is run by itself ([`sample_loss`](super::sample_loss)). Guards that hold
//! for all samples are dropped; nothing is computed that the function would not have computed.
//!
//! Limits: integers of a sample are indices, and nothing else is computed of them; loops are as long as
//! is known without the sample, and are unrolled.

use std::sync::Arc;

use super::leaf::Leaf;
use super::program::Program;
use super::sample_loss::LossArgument;
use crate::array::{Array, DType, Type};
use crate::error::Result;
use crate::ir::{
    Builder, Comparison, Datum, Expression, Function, Lengths, ScalarOperator, Target, Terminator,
    ValueId, ValueKind, simplify,
};
use crate::rules::{Cast, ExpandDims, Gather, MatMul, Mul, OpRef, Reshape, Sum, VecDot};
use crate::table::Table;

/// Instructions that are followed, at most.
const MOST: usize = 4096;

/// Samples of the batch for which types are inferred. Another number fits as well.
const LIKE: usize = 3;

/// What is known of a part of a sample.
#[derive(Debug, Clone)]
pub struct BatchColumn {
    /// The column: an input with a first axis for samples.
    pub leaf: Leaf,
    /// The least and the largest value of a column of integers, or of arrays of them; `None` if values are
    /// floating-point numbers, or arrays of them.
    pub range: Option<(i64, i64)>,
}

/// A value of the function.
#[derive(Debug, Clone)]
enum BatchValue {
    /// The same for all samples, and known.
    Known(Datum),
    /// An integer in a range, and the indices that it is for a batch.
    Int(i64, i64, Option<ValueId>),
    /// An array that is the same for all samples.
    Same(ValueId),
    /// An array for each sample, along the first axis.
    Each(ValueId),
}

/// What follows a function.
struct Follower<'f> {
    function: &'f Function,
    builder: Builder,
    values: Vec<Option<BatchValue>>,
    left: usize,
}

/// The program of a batch whose loss is the sum of its samples' losses, if there is one. Its inputs are
/// the columns, in the order in which the function takes them.
///
/// # Errors
/// Whatever [`simplify`] and [`Program::new`] report.
pub fn batched(
    function: &Function,
    arguments: &[LossArgument],
    tables: &[Arc<Table>],
    columns: &[Option<BatchColumn>],
) -> Result<Option<Program>> {
    let function = simplify(function, Lengths::Seen)?;
    let mut follower = Follower {
        function: &function,
        builder: Builder::new(),
        values: vec![None; function.kinds.len()],
        left: MOST,
    };
    let Some(leaves) = follower.parameters(arguments, tables, columns) else {
        return Ok(None);
    };
    let Some(loss) = follower.follow() else {
        return Ok(None);
    };
    follower.builder.terminate(Terminator::Return(vec![loss]));
    let program = Program::new(follower.builder.finish(&function.name)?, leaves)?;
    Ok(program.trains_all().then_some(program))
}

impl Follower<'_> {
    /// Makes the parameters; `None` if a batch cannot have one of them.
    fn parameters(
        &mut self,
        arguments: &[LossArgument],
        tables: &[Arc<Table>],
        columns: &[Option<BatchColumn>],
    ) -> Option<Vec<Leaf>> {
        let mut leaves = Vec::new();
        for (&id, argument) in self.function.parameters().iter().zip(arguments) {
            let value = match argument {
                LossArgument::Constant(datum) => BatchValue::Known(datum.clone()),
                LossArgument::Parameter(number) => {
                    let table = &tables[*number];
                    let known =
                        |leaf: &Leaf| matches!(leaf, Leaf::Parameter(t) if Arc::ptr_eq(t, table));
                    if leaves.iter().any(known) {
                        return None;
                    }
                    leaves.push(Leaf::Parameter(Arc::clone(table)));
                    BatchValue::Same(self.builder.parameter(table.ty().clone()))
                }
                LossArgument::Feed(number) => {
                    let column = columns.get(*number)?.as_ref()?;
                    let Leaf::Input { ty, .. } = &column.leaf else {
                        return None;
                    };
                    let mut like = ty.clone();
                    *like.shape.first_mut()? = LIKE;
                    let dtype = like.dtype;
                    let all = self.builder.parameter(like);
                    leaves.push(column.leaf.clone());
                    match (column.range, self.function.kind(id)) {
                        (Some((low, high)), ValueKind::Int) => {
                            BatchValue::Int(low, high, Some(all))
                        }
                        (Some((low, _)), ValueKind::Array(one))
                            if low >= 0 && one.dtype == dtype && one.ndim() > 0 =>
                        {
                            BatchValue::Each(all)
                        }
                        (None, ValueKind::Array(one)) if one.dtype == dtype => {
                            BatchValue::Each(all)
                        }
                        // A number is of 64 bits whatever its column has.
                        (None, ValueKind::Array(one)) if one.ndim() == 0 => {
                            let cast = OpRef::new(Cast { dtype: one.dtype });
                            BatchValue::Each(self.builder.try_apply(cast, &[all]).ok()?)
                        }
                        _ => return None,
                    }
                }
            };
            self.values[id as usize] = Some(value);
        }
        Some(leaves)
    }

    fn value(&self, id: ValueId) -> Option<BatchValue> {
        self.values[id as usize].clone()
    }

    /// Follows the function to its loss, one for each sample.
    fn follow(&mut self) -> Option<ValueId> {
        let function = self.function;
        let mut number = 0;
        loop {
            let block = &function.blocks[number];
            for i in &block.instructions {
                self.left = self.left.checked_sub(1)?;
                let value = match &i.expression {
                    Expression::Constant(datum) => BatchValue::Known(datum.clone()),
                    Expression::Compute(op, args, _) => self.compute(*op, args, i.results[0])?,
                    Expression::Apply(op, args) => self.apply(op, args, i.results[0])?,
                    Expression::Guard(condition, _) => match self.value(*condition)? {
                        BatchValue::Known(Datum::Bool(true)) => continue,
                        _ => return None,
                    },
                    Expression::Push(..) | Expression::Pop(_) => return None,
                };
                self.values[i.results[0] as usize] = Some(value);
            }
            self.left = self.left.checked_sub(1)?;
            let target = match &block.terminator {
                Terminator::Jump(to) => to,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => match self.value(*condition)? {
                    BatchValue::Known(Datum::Bool(true)) => then,
                    BatchValue::Known(Datum::Bool(false)) => otherwise,
                    _ => return None,
                },
                Terminator::Switch { value, targets } => match self.value(*value)? {
                    BatchValue::Known(Datum::Int(k)) => targets.get(usize::try_from(k).ok()?)?,
                    _ => return None,
                },
                Terminator::Return(results) => match (&results[..], self.value(*results.first()?)?)
                {
                    ([one], BatchValue::Each(loss)) if function.ty(*one).ndim() == 0 => {
                        return Some(loss);
                    }
                    _ => return None,
                },
                Terminator::Leave(_) => return None,
            };
            number = self.jump(target)?;
        }
    }

    fn jump(&mut self, to: &Target) -> Option<usize> {
        let given: Option<Vec<BatchValue>> = to.args.iter().map(|&a| self.value(a)).collect();
        let parameters = &self.function.blocks[to.block].parameters;
        for (&p, value) in parameters.iter().zip(given?) {
            self.values[p as usize] = Some(value);
        }
        Some(to.block)
    }

    /// A value of an operator on integers and truth.
    fn compute(
        &mut self,
        op: ScalarOperator,
        args: &[ValueId],
        result: ValueId,
    ) -> Option<BatchValue> {
        if let ScalarOperator::Length(axis) = op {
            let length = *self.function.ty(args[0]).shape.get(usize::from(axis))?;
            return Some(BatchValue::Known(Datum::Int(i64::try_from(length).ok()?)));
        }
        if let ScalarOperator::Rows(_) = op {
            return None;
        }
        let args: Option<Vec<BatchValue>> = args.iter().map(|&a| self.value(a)).collect();
        let args = args?;
        let known: Option<Vec<&Datum>> = args
            .iter()
            .map(|value| match value {
                BatchValue::Known(datum) => Some(datum),
                _ => None,
            })
            .collect();
        if let Some(known) = known {
            return op.eval(&known).map(BatchValue::Known);
        }
        if let (ScalarOperator::IntToIndex, &[BatchValue::Int(low, high, index)]) = (op, &args[..])
        {
            u32::try_from(low).ok()?;
            u32::try_from(high).ok()?;
            debug_assert!(self.function.ty(result).dtype == DType::U32);
            return Some(BatchValue::Each(index?));
        }
        let range = |value: &BatchValue| match value {
            BatchValue::Known(Datum::Int(k)) => Some((*k, *k)),
            BatchValue::Int(low, high, _) => Some((*low, *high)),
            _ => None,
        };
        let [x, y] = &args[..] else {
            return None;
        };
        let ((a, b), (c, d)) = (range(x)?, range(y)?);
        match op {
            ScalarOperator::CompareInt(comparison) => {
                let holds = compared(comparison, (a, b), (c, d))?;
                Some(BatchValue::Known(Datum::Bool(holds)))
            }
            _ => None,
        }
    }

    /// The value in the new function of an array that is the same for all samples.
    fn same(&self, value: &BatchValue) -> Option<ValueId> {
        match value {
            BatchValue::Same(id) => Some(*id),
            BatchValue::Known(datum @ Datum::Array(_)) => Some(self.builder.literal(datum.clone())),
            _ => None,
        }
    }

    fn write(&self, op: OpRef, args: &[ValueId]) -> Option<ValueId> {
        self.builder.try_apply(op, args).ok()
    }

    /// The value of an operator on arrays.
    fn apply(&mut self, op: &OpRef, ids: &[ValueId], result: ValueId) -> Option<BatchValue> {
        let args: Option<Vec<BatchValue>> = ids.iter().map(|&a| self.value(a)).collect();
        let args = args?;
        if op.stays_in_thread() {
            return None;
        }
        if !args
            .iter()
            .any(|value| matches!(value, BatchValue::Each(_)))
        {
            let args: Option<Vec<ValueId>> = args.iter().map(|value| self.same(value)).collect();
            return Some(BatchValue::Same(self.write(op.clone(), &args?)?));
        }
        let types: Vec<&Type> = ids.iter().map(|&id| self.function.ty(id)).collect();
        let each = |k: usize| match args.get(k)? {
            BatchValue::Each(id) => Some(*id),
            _ => None,
        };
        let id = if let ([x], Some(over)) = (&args[..], op.over_batch()) {
            let BatchValue::Each(x) = x else { return None };
            self.write(over, &[*x])?
        } else if op.downcast::<Reshape>().is_some() {
            let one = &self.function.ty(result).shape;
            let shape = one.iter().map(|&n| Some(n));
            let shape = std::iter::once(None).chain(shape).collect();
            self.write(OpRef::new(Reshape { shape }), &[each(0)?])?
        } else if op.downcast::<Cast>().is_some() {
            self.write(op.clone(), &[each(0)?])?
        } else if op.downcast::<Gather>().is_some() {
            // Rows of an array that all samples have.
            let table = self.same(&args[0])?;
            self.write(op.clone(), &[table, each(1)?])?
        } else if op.downcast::<VecDot>().is_some() {
            match (each(0), each(1)) {
                (Some(x), Some(y)) => self.write(op.clone(), &[x, y])?,
                _ => {
                    let product = self.elementwise(&OpRef::Static(&Mul), &args, &types)?;
                    let axes = [types[0].ndim()].into_iter().collect();
                    let sum = Sum {
                        axes,
                        keepdims: false,
                    };
                    self.write(OpRef::new(sum), &[product])?
                }
            }
        } else if op.downcast::<MatMul>().is_some() {
            let operand = |value: &BatchValue| match value {
                BatchValue::Each(id) => Some(*id),
                other => self.same(other),
            };
            if types.iter().any(|ty| ty.ndim() != 2) {
                return None;
            }
            self.write(op.clone(), &[operand(&args[0])?, operand(&args[1])?])?
        } else if op.kernel(types[0].dtype).is_some() {
            self.elementwise(op, &args, &types)?
        } else {
            return None;
        };
        // What an operator makes of a batch is what it makes of a sample, for each.
        let Ok(ValueKind::Array(found)) = self.builder.kind(id) else {
            return None;
        };
        let one = self.function.ty(result);
        let fits = found.dtype == one.dtype
            && found.shape.first() == Some(&LIKE)
            && found.shape[1..] == one.shape[..];
        fits.then_some(BatchValue::Each(id))
    }

    /// An operator on each element alone.
    fn elementwise(&self, op: &OpRef, args: &[BatchValue], types: &[&Type]) -> Option<ValueId> {
        let ndim = types.iter().map(|ty| ty.ndim()).max()?;
        let operand = |(value, ty): (&BatchValue, &&Type)| match value {
            BatchValue::Each(id) if ty.ndim() < ndim => {
                let axes = (1..=ndim - ty.ndim()).collect();
                self.write(OpRef::new(ExpandDims { axes }), &[*id])
            }
            BatchValue::Each(id) => Some(*id),
            other => self.same(other),
        };
        let operands: Option<Vec<ValueId>> = args.iter().zip(types).map(operand).collect();
        self.write(op.clone(), &operands?)
    }
}

/// Whether a comparison holds of all integers in two ranges, or of none; `None` if of some.
fn compared(comparison: Comparison, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<bool> {
    let less = match (b < c, a >= d) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let greater = match (a > d, b <= c) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let equal = match (a == b && c == d && a == c, b < c || a > d) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    match comparison {
        Comparison::Less => less,
        Comparison::GreaterEqual => less.map(|holds| !holds),
        Comparison::Greater => greater,
        Comparison::LessEqual => greater.map(|holds| !holds),
        Comparison::Equal => equal,
        Comparison::NotEqual => equal.map(|holds| !holds),
    }
}

/// The least and the largest of some integers.
///
/// # Panics
/// If the array holds something else.
pub fn range_of(indices: &Array) -> Option<(i64, i64)> {
    let view = indices.view();
    let indices = view.indices();
    let (low, high) = (indices.iter().min()?, indices.iter().max()?);
    Some((i64::from(*low), i64::from(*high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is said of two ranges holds for all pairs of integers in them.
        #[test]
        fn ranges_compare_as_their_integers(
            a in -4i64..5, b in 0i64..4, c in -4i64..5, d in 0i64..4,
        ) {
            let (b, d) = (a + b, c + d);
            for comparison in Comparison::ALL {
                let pairs = (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y)));
                let held: Vec<bool> = pairs.map(|(x, y)| comparison.holds(x, y)).collect();
                let all = held.iter().all(|&h| h).then_some(true);
                let none = held.iter().all(|&h| !h).then_some(false);
                prop_assert_eq!(compared(comparison, (a, b), (c, d)), all.or(none));
            }
        }
    }
}
