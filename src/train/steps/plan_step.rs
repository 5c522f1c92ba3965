//! Batches that a frozen program computes: what a worker runs for [`fit`](crate::train::fit()).
//!
//! The inputs of a batch are bound to the plan's executor; the gradients stay in its memory until
//! they are applied.

use std::ops::Range;
use std::sync::Arc;

use super::sample_groups::SampleGroups;
use crate::array::{Number, Real, with_real};
use crate::error::Result;
use crate::exec::{
    BoundSink, Executor, ExecutorSet, Leaf, Place, Plan, Program, RowTerms, Sink, Wrt,
};
use crate::optim::apply;
use crate::optim::gradient::{Access, Scratch, StepTarget};
use crate::optim::{Optimizer, State};
use crate::table::{Table, moves};
use crate::train::data::feeds::Feeds;
use crate::train::data::input_buffer::InputBuffer;
use crate::train::trained::{AnyScratch, TableScratch, TrainedTable};
use crate::train::worker::BatchStep;

/// A parameter that a program has a gradient of.
struct TrainedParameter<'a> {
    /// The index of the gradient in the program.
    number: usize,
    table: TrainedTable<'a>,
    /// Whether there are rows of bags, which may be more than there is scratch for.
    has_bags: bool,
}

/// An input as it is staged.
struct StagedInput {
    leaf: usize,
    /// Elements in a sample.
    row: usize,
}

/// Batches by plans. See the [module documentation](self).
pub(in crate::train) struct PlanStep<'a> {
    executors: ExecutorSet,
    /// The number of samples of each executor.
    sizes: Vec<usize>,
    /// Samples in the batch at hand.
    samples: usize,
    /// The inputs, as they are staged.
    inputs: Vec<StagedInput>,
    trained: Vec<TrainedParameter<'a>>,
    /// Lookups whose rows are prefetched: the table, and the input that names its rows.
    early: Vec<(&'a Table, usize)>,
    /// Which samples run at once, where a batch is one sample.
    groups: Option<SampleGroups>,
}

fn part_rows(parts: &[RowTerms<Place>]) -> usize {
    parts.iter().map(|p| p.index.ty.size()).sum()
}

impl<'a> PlanStep<'a> {
    /// Room for batches of a program.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory, and as [`Executor::new`].
    pub(in crate::train) fn new(
        program: &'a Program,
        feeds: &Feeds,
        optimizer: &Optimizer,
        states: &'a [Arc<State>],
        plans: &BatchPlans,
    ) -> Result<Self> {
        let mut executors = ExecutorSet::new(program.tables())?;
        for (_, plan) in &plans.plans {
            executors.add(Arc::clone(plan))?;
        }
        executors.each(|executor| program.bind_variables(executor))?;
        let largest = plans.largest();
        let tables = program.tables().iter().zip(&largest.sinks);
        let trained = tables.enumerate().filter_map(|(k, (table, sink))| {
            let parts: &[RowTerms<Place>] = match sink.as_ref()? {
                Sink::Rows(parts) => parts,
                Sink::Dense(_) => &[],
            };
            let table = TrainedTable::new(table, &states[k], optimizer, part_rows(parts));
            Some(table.map(|table| TrainedParameter {
                number: k,
                table,
                has_bags: parts.iter().any(|part| part.bags.is_some()),
            }))
        });
        let large = |t: &Table| t.size() * t.ty().dtype.size() > moves::CACHED;
        let lookups = largest.lookups().into_iter();
        let early = lookups
            .map(|(table, input)| (&*program.tables()[table], input))
            .filter(|(table, _)| large(table));
        let leaves = program.leaves().iter().enumerate();
        let leaves = leaves.filter(|(_, leaf)| matches!(leaf, Leaf::Input { .. }));
        let inputs = leaves.zip(feeds.rows());
        Ok(PlanStep {
            executors,
            sizes: plans.plans.iter().map(|(size, _)| *size).collect(),
            samples: 0,
            inputs: inputs
                .map(|((leaf, _), row)| StagedInput { leaf, row })
                .collect(),
            trained: trained.collect::<Result<_>>()?,
            early: early.collect(),
            groups: plans.groups.clone(),
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

    fn arrange(&mut self, staged: &mut [InputBuffer], count: usize, room: usize) {
        if let Some(groups) = &mut self.groups {
            groups.arrange(staged, count, room);
        }
    }

    #[inline]
    fn group(&mut self) -> Option<usize> {
        Some(self.groups.as_mut()?.next())
    }

    fn number(&self, sample: usize) -> usize {
        self.groups
            .as_ref()
            .map_or(sample, |groups| groups.number(sample))
    }

    unsafe fn run(&mut self, staged: &[InputBuffer], samples: Range<usize>) -> Result<f64> {
        if self.samples != samples.len() {
            self.samples = samples.len();
            let found = self.sizes.iter().position(|&size| size == self.samples);
            self.executors.select(found.unwrap_or_default());
        }
        let executor = current(&mut self.executors);
        for (input, staged) in self.inputs.iter().zip(staged) {
            let data = staged.slice(samples.start * input.row, samples.len() * input.row);
            executor.bind(input.leaf, data);
        }
        // SAFETY: variables of the program were bound in `new`, where their indices were compared
        // with the plan's bounds, and live as long as it; inputs were bound to what is staged, which
        // does not change until gradients are applied, by what the caller of `apply` promises, and `fit` has compared
        // every index that the feeds can give with its bound. The caller holds the locks.
        unsafe { executor.run() }?;
        for trained in self.trained.iter_mut().filter(|trained| trained.has_bags) {
            let rows = executor.row_count(trained.number);
            trained.table.make_room(rows)?;
        }
        Ok(loss(executor))
    }

    unsafe fn apply(&mut self, access: Access) {
        let (samples, executor) = (self.samples, &*current(&mut self.executors));
        // In the order of their numbers, which the plans rely on.
        for trained in &mut self.trained {
            // SAFETY: the executor has run, on what is staged still, and the gradient of this number is of this
            // table. The caller holds the locks.
            unsafe {
                let TrainedTable { target, scratch } = &mut trained.table;
                apply_gradient(executor, (trained.number, samples), access, target, scratch)
            };
        }
    }
}

/// The executor of the batch at hand.
fn current(executors: &mut ExecutorSet) -> &mut Executor {
    match executors.current_mut() {
        Some(executor) => executor,
        None => unreachable!("there is a plan for each number of samples that there can be"),
    }
}

/// The sum of what an executor's last run has computed. An addition waits for the one before it in
/// the same sum, so there are four.
#[inline]
pub(in crate::train) fn loss(executor: &Executor) -> f64 {
    with_real!(executor.plan().result.ty.dtype, T => {
        let (fours, rest) = executor.result::<T>().as_chunks::<4>();
        let mut sums = [0.0; 4];
        for four in fours {
            for (sum, x) in sums.iter_mut().zip(four) {
                *sum += x.to();
            }
        }
        let rest: f64 = rest.iter().map(|x| x.to()).sum();
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    })
}

/// Applies the gradient of this number, of so many samples, if there is one.
///
/// # Safety
/// The gradient is of the target's table, and the executor has run. The locks are held as `access` says.
#[inline(always)]
pub(in crate::train) unsafe fn apply_gradient(
    executor: &Executor,
    (number, samples): (usize, usize),
    access: Access,
    target: &StepTarget<'_>,
    scratch: &mut TableScratch,
) {
    match &mut scratch.numbers {
        // SAFETY: the sink is of this table, and the executor has run. The caller holds the locks.
        AnyScratch::F32(s) => unsafe {
            apply_sink(executor.sink(number), samples, access, target, s);
        },
        // SAFETY: as above.
        AnyScratch::F64(s) => unsafe {
            apply_sink(executor.sink(number), samples, access, target, s);
        },
    }
}

/// Applies one table's gradient, of so many samples, out of an executor's memory.
///
/// # Safety
/// The sink is one of the target's table, of an executor that has run. The locks are held as `access` says.
#[inline(always)]
unsafe fn apply_sink<T: Number>(
    sink: Option<BoundSink<'_, T>>,
    samples: usize,
    access: Access,
    target: &StepTarget<'_>,
    scratch: &mut Scratch<T>,
) {
    match sink {
        None => {}
        Some(BoundSink::Dense(gradient)) => {
            // SAFETY: the gradient has the table's type, and the caller holds the locks.
            unsafe { apply::dense(access, target, gradient, samples, scratch) };
        }
        Some(BoundSink::Rows(rows)) => {
            // SAFETY: the plan's bounds held for the indices of leaves, by what the caller of the
            // executor's `run` promises, and it has compared all others with the number of rows; the plan
            // has one row of the table's width for each. The caller holds the locks.
            unsafe { apply::rows(access, target, &rows, scratch) };
        }
    }
}

/// The plans of a run.
pub(in crate::train) struct BatchPlans {
    /// By number of samples: for each that a worker can run at once, the largest first.
    pub plans: Vec<(usize, Arc<Plan>)>,
    /// Which samples run at once, where a batch is one sample.
    groups: Option<SampleGroups>,
}

impl BatchPlans {
    /// Plans of a program for whole batches, and for the last one if it is shorter.
    ///
    /// # Errors
    /// Whatever an operator reports.
    pub(in crate::train) fn of_batches(
        program: &Program,
        feeds: &Feeds,
        batch: usize,
    ) -> Result<Self> {
        let rest = feeds.count % batch;
        let sizes = [batch, rest].into_iter().filter(|&size| size > 0);
        Self::of_sizes(program, feeds, sizes, None)
    }

    /// Plans of a [program of single samples](Program::per_sample) for groups.
    ///
    /// # Errors
    /// Whatever an operator reports.
    pub(in crate::train) fn of_groups(
        program: &Program,
        feeds: &Feeds,
        mut groups: SampleGroups,
    ) -> Result<Self> {
        let one = program.plan(&feeds.shapes(1), Wrt::Parameters)?;
        let sizes = groups.limit(one.bytes()).iter().copied();
        Self::of_sizes(program, feeds, sizes, Some(groups))
    }

    fn of_sizes(
        program: &Program,
        feeds: &Feeds,
        sizes: impl Iterator<Item = usize>,
        groups: Option<SampleGroups>,
    ) -> Result<Self> {
        let plan = |size| Ok((size, program.plan(&feeds.shapes(size), Wrt::Parameters)?));
        let plans = sizes.map(plan).collect::<Result<_>>()?;
        Ok(BatchPlans { plans, groups })
    }

    /// Leaves out copies of rows that gradients can read from the tables: this step applies them in their order.
    /// `adds` says of each whether its terms are added as they are. Where rows are moved element by element a copy is
    /// worth its time, for it is read by vectors.
    pub(in crate::train) fn read_rows_in_place(&mut self, adds: impl Fn(usize) -> bool) {
        if !moves::BY_VECTORS {
            return;
        }
        for (_, plan) in &mut self.plans {
            if let Some(fewer_copies) = plan.with_rows_in_place(&adds) {
                *plan = Arc::new(fewer_copies);
            }
        }
    }

    /// That of most samples.
    pub(in crate::train) fn largest(&self) -> &Plan {
        &self.plans[0].1
    }
}
