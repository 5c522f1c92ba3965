//! A graph's program, bound to the values that the graph's leaves have: it runs without a walk over the graph.
//!
//! What changes from run to run are the values of leaves, and the shapes of inputs. A run reads the values where
//! they are, in the graph, and chooses the plan for their shapes.
//!
//! Limit: some plans are kept, each for inputs of other shapes. With one more they are made anew, or where
//! there are [`RunLimits`] the run is refused.

use std::cell::Ref;

use smallvec::SmallVec;

use crate::array::{Array, Shape, Slice, equal_shapes};
use crate::error::{Error, Result};
use crate::exec::{Executor, ExecutorSet, Leaf, Program, Wrt};
use crate::graph::lengths::asked_lengths;
use crate::graph::node::{IntoDyn, Kind, Variable};
use crate::rules::check_indices;

/// Most plans that are kept.
const PLANS: usize = 64;

/// Beyond which a run is refused, before it begins.
pub(crate) struct RunLimits {
    /// Plans, each for inputs of other shapes: to make one takes as long as many runs.
    pub(crate) plans: usize,
    /// Bytes that a run is on.
    pub(crate) bytes: usize,
}

/// A leaf of the graph that may get another value between two runs.
struct BoundLeaf {
    leaf: usize,
    node: Variable,
    /// Whether the program makes plans by its shape, as by that of any input.
    is_input: bool,
}

/// A program and the leaves that its values come from. See the [module documentation](self).
pub(crate) struct BoundProgram {
    program: Program,
    leaves: Vec<BoundLeaf>,
    executors: ExecutorSet,
    wrt: Wrt,
    limits: Option<RunLimits>,
}

impl BoundProgram {
    /// The program of the graph below `root`, with gradients of what `wrt` says.
    ///
    /// # Errors
    /// As [`freeze`](Variable::freeze).
    pub(crate) fn new<N: ?Sized + IntoDyn>(
        root: &Variable<N>,
        wrt: Wrt,
        limits: Option<RunLimits>,
    ) -> Result<Self> {
        let program = root.freeze()?;
        let nodes = root.topological()?.into_iter();
        let held =
            nodes.filter(|node| matches!(node.kind(), Kind::Input(..) | Kind::Independent(..)));
        let of_program = program.leaves().iter().enumerate();
        let of_program = of_program.filter(|(_, leaf)| !matches!(leaf, Leaf::Parameter(_)));
        // `freeze` makes the leaves in the order of the nodes.
        let leaves = of_program.zip(held).map(|((leaf, of), node)| BoundLeaf {
            leaf,
            node,
            is_input: matches!(of, Leaf::Input { .. }),
        });
        let leaves: Vec<BoundLeaf> = leaves.collect();
        Ok(BoundProgram {
            executors: ExecutorSet::new(program.tables())?,
            program,
            leaves,
            wrt,
            limits,
        })
    }

    /// Whether lengths of an input were asked for, as integers that do not follow it.
    pub(super) fn asks_lengths(&self) -> bool {
        asked_lengths::any()
            && self.leaves.iter().any(|bound| {
                let records = bound.node.0.length_records();
                records.is_some_and(|records| !records.is_empty())
            })
    }

    /// The program.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Runs on the values that the leaves have, and hands the executor to `then`.
    ///
    /// # Errors
    /// [`Error::State`] beyond the limits, [`Error::Shape`] or [`Error::Index`] if a value of an input does not
    /// fit, whatever an operator reports, and those of `then`.
    ///
    /// # Safety
    /// Nobody has plain access to the program's tables until this returns.
    pub(crate) unsafe fn run<R>(
        &mut self,
        then: impl FnOnce(&Program, &Executor) -> Result<R>,
    ) -> Result<R> {
        // A list that is collected is moved, and each step would wait for that.
        let mut values: SmallVec<[Ref<'_, Array>; 8]> = SmallVec::new();
        for bound in &self.leaves {
            values.push(bound.node.leaf_value()?);
        }
        let fits = |executor: &Executor| {
            let leaves = executor.plan().leaves();
            let mut bound = self.leaves.iter().zip(&values);
            bound.all(|(bound, value)| equal_shapes(&leaves[bound.leaf].shape, value.shape()))
        };
        if !self.executors.current().is_some_and(fits) {
            let inputs = self
                .leaves
                .iter()
                .zip(&values)
                .filter(|(bound, _)| bound.is_input);
            let shapes: Vec<Shape> = inputs.map(|(_, value)| value.shape().into()).collect();
            let made = self.executors.len();
            if self.limits.is_none() && made >= PLANS {
                self.executors.clear();
            }
            let plan = || match &self.limits {
                Some(limits) if made >= limits.plans => {
                    Err(refused("its inputs have had many shapes"))
                }
                _ => self.program.plan(&shapes, self.wrt),
            };
            self.executors.choose(&shapes, plan)?;
        }
        let Some(executor) = self.executors.current_mut() else {
            unreachable!("one has just been chosen");
        };
        if let Some(limits) = &self.limits {
            let plan = executor.plan();
            if plan.bytes().saturating_add(plan.register_bytes()) > limits.bytes {
                return Err(refused("its values are large"));
            }
        }
        for (bound, value) in self.leaves.iter().zip(&values) {
            let data = value.elements();
            if let (Some(limit), Slice::U32(indices)) = (executor.plan().bounds[bound.leaf], data) {
                check_indices(|| self.program.leaves()[bound.leaf].label(), indices, limit)?;
            }
            executor.bind(bound.leaf, data);
        }
        // SAFETY: every leaf that is no table was just bound to a value that `values` borrows until the end of
        // this function, and its indices were compared with the plan's bounds. By the condition of this
        // function nobody has plain access to the tables.
        unsafe { executor.run() }?;
        then(&self.program, executor)
    }
}

/// Why a program is not run.
fn refused(why: &str) -> Error {
    Error::State(format!("a graph is not run as a program: {why}"))
}
