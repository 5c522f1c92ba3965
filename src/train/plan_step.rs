//! Batches that a frozen program computes: what a worker runs for [`fit`](super::fit()).
//!
//! The inputs of a batch are bound to the plan's executor; the gradients stay in its memory until
//! they are applied.

use std::ops::Range;
use std::sync::Arc;

use super::data::Feeds;
use super::input_buffer::InputBuffer;
use super::trained::{AnyScratch, TableScratch, TrainedTable};
use super::worker::BatchStep;
use crate::array::{Number, Real, with_real};
use crate::error::Result;
use crate::exec::{Executor, Leaf, Place, Plan, Program, RowTerms, Sink};
use crate::optim::apply;
use crate::optim::gradient::{Access, Scratch, StepTarget};
use crate::optim::{Optimizer, State};
use crate::table::{Table, moves};

/// Plans that are ready to run: for whole batches, and for the last one if it is shorter.
struct BatchExecutors {
    full: Executor,
    /// With the length of that batch.
    rest: Option<(Executor, usize)>,
    /// Whether the batch at hand is the shorter one.
    is_rest: bool,
    /// Samples in the batch at hand.
    samples: usize,
}

impl BatchExecutors {
    /// That of the batch at hand.
    fn current(&mut self) -> &mut Executor {
        match &mut self.rest {
            Some((rest, _)) if self.is_rest => rest,
            _ => &mut self.full,
        }
    }
}

/// A parameter that a program has a gradient of.
struct TrainedParameter<'a> {
    /// The index of the gradient in the program.
    number: usize,
    /// The rows of bags may be more than there is scratch for; then there is new scratch.
    table: TrainedTable<'a>,
}

/// An input as it is staged.
struct StagedInput {
    leaf: usize,
    /// Elements in a sample.
    row: usize,
}

/// Batches by plans. See the [module documentation](self).
pub(super) struct PlanStep<'a> {
    executors: BatchExecutors,
    /// The inputs, as they are staged.
    inputs: Vec<StagedInput>,
    trained: Vec<TrainedParameter<'a>>,
    /// Lookups whose rows are prefetched: the table, and the input that names its rows.
    early: Vec<(&'a Table, usize)>,
}

fn part_rows(parts: &[RowTerms<Place>]) -> usize {
    parts.iter().map(|p| p.index.ty.size()).sum()
}

impl<'a> PlanStep<'a> {
    /// Room for batches of a program.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory, and as [`Executor::new`].
    pub(super) fn new(
        program: &'a Program,
        feeds: &Feeds,
        optimizer: &Optimizer,
        states: &'a [Arc<State>],
        plans: &BatchPlans,
    ) -> Result<Self> {
        let ready = |plan: &Arc<Plan>| -> Result<Executor> {
            let mut executor = Executor::new(Arc::clone(plan), program.tables())?;
            program.bind_variables(&mut executor)?;
            Ok(executor)
        };
        let full = ready(&plans.full)?;
        let rest = match &plans.rest {
            Some((plan, batch)) => Some((ready(plan)?, *batch)),
            None => None,
        };
        let tables = program.tables().iter().zip(&plans.full.sinks);
        let trained = tables.enumerate().filter_map(|(k, (table, sink))| {
            let rows = match sink.as_ref()? {
                Sink::Rows(parts) => part_rows(parts),
                Sink::Dense(_) => 0,
            };
            let table = TrainedTable::new(table, &states[k], optimizer, rows);
            Some(table.map(|table| TrainedParameter { number: k, table }))
        });
        let large = |t: &Table| t.ty().size() * t.ty().dtype.size() > moves::CACHED;
        let lookups = plans.full.lookups().into_iter();
        let early = lookups
            .map(|(table, input)| (&*program.tables()[table], input))
            .filter(|(table, _)| large(table));
        let leaves = program.leaves().iter().enumerate();
        let leaves = leaves.filter(|(_, leaf)| matches!(leaf, Leaf::Input { .. }));
        let inputs = leaves.zip(feeds.rows());
        Ok(PlanStep {
            executors: BatchExecutors {
                full,
                rest,
                is_rest: false,
                samples: 0,
            },
            inputs: inputs
                .map(|((leaf, _), row)| StagedInput { leaf, row })
                .collect(),
            trained: trained.collect::<Result<_>>()?,
            early: early.collect(),
        })
    }
}

impl BatchStep for PlanStep<'_> {
    fn set_lr(&mut self, lr: f64) {
        for trained in &mut self.trained {
            trained.table.target.settings.lr = lr;
        }
    }

    #[inline]
    fn prefetch(&self, staged: &[InputBuffer], samples: Range<usize>) {
        for &(table, input) in &self.early {
            let bytes = table.width() * table.ty().dtype.size();
            let start = table.address();
            let row = self.inputs[input].row;
            for &i in &staged[input].indices()[samples.start * row..samples.end * row] {
                moves::prefetch(start.wrapping_add(i as usize * bytes), bytes);
            }
        }
    }

    fn bind(&mut self, staged: &[InputBuffer], samples: Range<usize>) {
        self.executors.samples = samples.len();
        let rest = &self.executors.rest;
        self.executors.is_rest = matches!(rest, Some((_, batch)) if samples.len() == *batch);
        let executor = self.executors.current();
        for (input, staged) in self.inputs.iter().zip(staged) {
            let data = staged.slice(samples.start * input.row, samples.len() * input.row);
            executor.bind(input.leaf, data);
        }
    }

    unsafe fn run(&mut self, _staged: &[InputBuffer], _samples: Range<usize>) -> Result<f64> {
        let executor = self.executors.current();
        // SAFETY: variables of the program were bound in `new`, where their indices were compared
        // with the plan's bounds, and live as long as it; inputs were bound to what is staged, which
        // does not change until this returns, by what the caller promises, and `fit` has compared
        // every index that the feeds can give with its bound. The caller holds the locks.
        unsafe { executor.run() }?;
        for trained in &mut self.trained {
            let rows = executor.row_count(trained.number);
            trained.table.make_room(rows)?;
        }
        Ok(loss(executor))
    }

    unsafe fn apply(&mut self, access: Access) {
        let samples = self.executors.samples;
        let executor = &*self.executors.current();
        for trained in &mut self.trained {
            // SAFETY: the executor has run, and the gradient of this number is of this table. The caller
            // holds the locks.
            unsafe {
                let TrainedTable { target, scratch } = &mut trained.table;
                apply_gradient(executor, (trained.number, samples), access, target, scratch)
            };
        }
    }
}

/// The sum of what an executor's last run has computed.
pub(super) fn loss(executor: &Executor) -> f64 {
    let result = &executor.plan().result;
    with_real!(result.ty.dtype, T => {
        let value: &[T] = executor.numbers(result);
        value.iter().map(|x| x.to()).sum()
    })
}

/// Applies the gradient of this number, of so many samples, if there is one.
///
/// # Safety
/// The gradient is of the target's table, and the executor has run. The locks are held as `access` says.
pub(super) unsafe fn apply_gradient(
    executor: &Executor,
    (number, samples): (usize, usize),
    access: Access,
    target: &StepTarget<'_>,
    scratch: &mut TableScratch,
) {
    let Some(sink) = &executor.plan().sinks[number] else {
        return;
    };
    match &mut scratch.numbers {
        // SAFETY: the sink is of this table, and the executor has run. The caller holds the locks.
        AnyScratch::F32(s) => unsafe {
            apply_sink(executor, (number, sink), samples, access, target, s);
        },
        // SAFETY: as above.
        AnyScratch::F64(s) => unsafe {
            apply_sink(executor, (number, sink), samples, access, target, s);
        },
    }
}

/// Applies one table's gradient, of so many samples, out of an executor's memory.
///
/// # Safety
/// The sink is the one of the target's table, and the executor has run. The locks are held as `access`
/// says.
unsafe fn apply_sink<T: Number>(
    executor: &Executor,
    (number, sink): (usize, &Sink),
    samples: usize,
    access: Access,
    target: &StepTarget<'_>,
    scratch: &mut Scratch<T>,
) {
    match sink {
        Sink::Dense(place) => {
            let gradient: &[T] = executor.numbers(place);
            // SAFETY: the gradient has the table's type, and the caller holds the locks.
            unsafe { apply::dense(access, target, gradient, samples, scratch) };
        }
        Sink::Rows(_) => {
            let rows = executor.rows(number);
            // SAFETY: the plan's bounds held for the indices of leaves, by what the caller of the
            // executor's `run` promises, and it has compared all others with the number of rows; the plan
            // has one row of the table's width for each. The caller holds the locks.
            unsafe { apply::rows(access, target, &rows, scratch) };
        }
    }
}

/// The plans of a run: for whole batches, and for the last one if it is shorter.
pub(super) struct BatchPlans {
    pub full: Arc<Plan>,
    pub rest: Option<(Arc<Plan>, usize)>,
}
