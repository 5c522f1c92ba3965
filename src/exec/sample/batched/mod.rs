//! The loss of one sample, for a batch at once.
//!
//! Most losses do the same for every sample, but for a choice here and there: the larger of two numbers,
//! a hinge. Then the operators of one sample have a form for all: the batch is a first axis, as in a graph
//! that was written for batches, and the plan of the same program trains it.
//!
//! The function is followed from its entry ([`Follower`]). Integers are known by the range of their
//! column, so most branches are known: those that ask whether an index is negative or in range. Where a
//! branch depends on a sample's numbers, both of its arms are computed and what they give is chosen by a
//! mask (`arms`). Where something else is unknown the function is left alone, and so are operators that
//! are not here: then each sample is run by itself ([`sample_loss`](super::sample_loss)). Guards that hold
//! for all samples are dropped.
//!
//! Limits: integers of a sample are indices, compared, or taken as numbers, and no arithmetic is done with
//! them as integers; loops are unrolled, and a turn that some samples take alone is an arm within that of the
//! turn before, so that their numbers of turns differ by a few; rows of tables are looked up outside of arms
//! alone.

mod arms;
mod arrays;
mod integers;

use std::rc::Rc;
use std::sync::Arc;

use super::loss_argument::{LossArgument, check_parameters};
use crate::array::DType;
use crate::error::Result;
use crate::exec::leaf::Leaf;
use crate::exec::program::Program;
use crate::ir::{
    Builder, Cfg, Datum, Expression, Function, Lengths, Liveness, Target, Terminator, ValueId,
    ValueKind, merge_returns, simplify,
};
use crate::rules::{Cast, OpRef};
use crate::table::Table;

use arms::by_mask;
pub use integers::range_of;

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
    /// An integer in a range, and what it is for a batch: indices, or the same as float64.
    Int(i64, i64, Option<ValueId>),
    /// An array that is the same for all samples.
    Same(ValueId),
    /// An array for each sample, along the first axis.
    Each(ValueId),
    /// The first of two values for the samples whose mask is 1, the second where it is 0. The mask is one
    /// number a sample.
    Choice(ValueId, Box<BatchValue>, Box<BatchValue>),
}

/// What follows a function.
struct Follower<'f> {
    function: &'f Function,
    builder: Builder,
    /// What each value is now: a block of a loop gives its values anew each time.
    values: Vec<Option<Rc<BatchValue>>>,
    live: Liveness,
    /// By the number of a block, the block through which all ways from it to the return pass next.
    joins: Vec<Option<usize>>,
    /// The masks of the arms that are followed, each within those before it.
    masks: Vec<ValueId>,
    /// Instructions that may still be followed.
    left: usize,
}

/// The program of a batch whose loss is the sum of its samples' losses, if there is one. Its inputs are
/// the columns, in the order in which the function takes them.
///
/// # Errors
/// [`Error::Value`](crate::Error::Value) if an argument is a parameter of which there is no table, and
/// whatever [`simplify`] and [`Program::new`] report.
pub fn batched(
    function: &Function,
    arguments: &[LossArgument],
    tables: &[Arc<Table>],
    columns: &[Option<BatchColumn>],
) -> Result<Option<Program>> {
    let function = simplify(function, Lengths::Seen)?;
    check_parameters(arguments, tables.len())?;
    let Some((function, exit)) = merge_returns(&function) else {
        return Ok(None);
    };
    let graph = Cfg::new(&function);
    let mut follower = Follower {
        function: &function,
        builder: Builder::new(),
        values: vec![None; function.kinds.len()],
        live: Liveness::new(&function, &graph),
        joins: graph.post_dominators(exit),
        masks: Vec::new(),
        left: MOST,
    };
    let Some((leaves, entry)) = follower.parameters(arguments, tables, columns) else {
        return Ok(None);
    };
    let Some(loss) = follower.follow(entry, exit) else {
        return Ok(None);
    };
    follower.builder.terminate(Terminator::Return(vec![loss]));
    let program = Program::new(follower.builder.finish(&function.name)?, leaves)?;
    Ok(program.trains_all().then_some(program))
}

impl Follower<'_> {
    /// Makes the parameters and their values; `None` if a batch cannot have one of them.
    fn parameters(
        &mut self,
        arguments: &[LossArgument],
        tables: &[Arc<Table>],
        columns: &[Option<BatchColumn>],
    ) -> Option<(Vec<Leaf>, Vec<BatchValue>)> {
        let (mut leaves, mut values) = (Vec::new(), Vec::new());
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
                        (Some(_), ValueKind::Bool) => {
                            by_mask(self.as_dtype(all, DType::F64)?, true)
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
            values.push(value);
        }
        Some((leaves, values))
    }

    fn value(&self, id: ValueId) -> Option<BatchValue> {
        self.values[id as usize].as_deref().cloned()
    }

    /// Follows the function to its loss, one for each sample.
    fn follow(&mut self, entry: Vec<BatchValue>, exit: usize) -> Option<ValueId> {
        let given = self.walk(0, entry, exit)?;
        self.bind(exit, given);
        self.instructions(exit)?;
        let Terminator::Return(results) = &self.function.blocks[exit].terminator else {
            return None;
        };
        match (&results[..], self.value(*results.first()?)?) {
            ([one], BatchValue::Each(loss)) if self.function.ty(*one).ndim() == 0 => Some(loss),
            _ => None,
        }
    }

    /// Follows the function from a block, given values, to block `stop`, and returns what that is given.
    fn walk(
        &mut self,
        mut block: usize,
        mut given: Vec<BatchValue>,
        stop: usize,
    ) -> Option<Vec<BatchValue>> {
        let function = self.function;
        while block != stop {
            self.left = self.left.checked_sub(1)?;
            self.bind(block, given);
            self.instructions(block)?;
            let target = match &function.blocks[block].terminator {
                Terminator::Jump(to) => to,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => match self.value(*condition)? {
                    BatchValue::Known(Datum::Bool(true)) => then,
                    BatchValue::Known(Datum::Bool(false)) => otherwise,
                    condition => {
                        let join = self.joins[block]?;
                        given = self.arms(block, &condition, [then, otherwise], join)?;
                        block = join;
                        continue;
                    }
                },
                Terminator::Switch { value, targets } => match self.value(*value)? {
                    BatchValue::Known(Datum::Int(k)) => targets.get(usize::try_from(k).ok()?)?,
                    _ => return None,
                },
                Terminator::Return(_) | Terminator::Leave(_) => return None,
            };
            given = self.arguments(target)?;
            block = target.block;
        }
        Some(given)
    }

    /// What a jump gives.
    fn arguments(&self, to: &Target) -> Option<Vec<BatchValue>> {
        to.args.iter().map(|&a| self.value(a)).collect()
    }

    /// Gives the parameters of a block their values.
    fn bind(&mut self, block: usize, given: Vec<BatchValue>) {
        let parameters = &self.function.blocks[block].parameters;
        for (&p, value) in parameters.iter().zip(given) {
            self.values[p as usize] = Some(Rc::new(value));
        }
    }

    /// Follows the instructions of a block.
    fn instructions(&mut self, block: usize) -> Option<()> {
        let function = self.function;
        for i in &function.blocks[block].instructions {
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
            self.values[i.results[0] as usize] = Some(Rc::new(value));
        }
        Some(())
    }
}
