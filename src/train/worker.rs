//! One worker: its share of an epoch, batch after batch.
//!
//! A worker stages the inputs of many batches before it runs the first of them, so it knows which
//! rows it will need, and prefetches them. All memory that it writes to is allocated when the worker
//! is made.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::data::{Feeds, InputBuffer};
use super::samples::Samples;
use super::stream::stream;
use crate::array::{DType, Number, Real, with_real};
use crate::error::{Error, Result};
use crate::exec::{Executor, Leaf, Place, Plan, Program, RowTerms, Sink};
use crate::optim::apply;
use crate::optim::gradient::{Access, Scratch, StepTarget};
use crate::optim::{Optimizer, State};
use crate::table::{Table, moves};

/// How many samples ahead rows are prefetched.
const AHEAD: usize = 64;
/// Samples and bytes that are staged at a time, unless a batch is larger: few enough to stay
/// in the first-level cache, many enough that starting costs nothing.
const STAGED: usize = 1024;
const STAGED_BYTES: usize = 16 << 10;

/// What all workers of a run share.
pub(super) struct RunContext<'a> {
    pub program: &'a Program,
    pub feeds: &'a Feeds,
    pub optimizer: &'a Optimizer,
    pub states: &'a [Arc<State>],
    pub access: Access,
    pub batch: usize,
    pub seed: u64,
    pub stop: &'a AtomicBool,
    pub workers: usize,
    /// Whether workers compute together and update in turn, so that results do not depend
    /// on their speed.
    pub in_turn: bool,
    /// Batches of the epoch that have been computed.
    pub computed: AtomicUsize,
    /// Batches of the epoch that have been applied.
    pub applied: AtomicUsize,
}

impl RunContext<'_> {
    /// Waits until `counter` has reached `count`; `false` if the run stops.
    fn wait(&self, counter: &AtomicUsize, count: usize) -> bool {
        while counter.load(Ordering::Acquire) < count {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

/// Scratch of either element type.
enum AnyScratch {
    F32(Scratch<f32>),
    F64(Scratch<f64>),
}

impl AnyScratch {
    /// Scratch for gradients of up to `rows` rows of a table.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    fn new(table: &Table, rows: usize) -> Result<Self> {
        Ok(match table.ty().dtype {
            DType::F32 => AnyScratch::F32(Scratch::new(table.width(), rows)?),
            _ => AnyScratch::F64(Scratch::new(table.width(), rows)?),
        })
    }
}

/// A plan for one batch length, ready to run.
struct BatchExecutor {
    executor: Executor,
    batch: usize,
}

/// A parameter that a program has a gradient of.
struct TrainedParameter<'a> {
    /// The index of the gradient in the program.
    number: usize,
    target: StepTarget<'a>,
    scratch: AnyScratch,
}

/// An input as it is staged.
struct StagedInput {
    leaf: usize,
    /// Elements in a sample.
    row: usize,
}

/// Stops the other workers if this one panics: they may wait for it.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A worker. See the [module documentation](self).
pub(super) struct Worker<'a> {
    shared: &'a RunContext<'a>,
    number: usize,
    full: BatchExecutor,
    rest: Option<BatchExecutor>,
    /// The inputs, and what is staged for each.
    inputs: Vec<StagedInput>,
    staged: Vec<InputBuffer>,
    /// Samples that there is room for: whole batches.
    room: usize,
    trained: Vec<TrainedParameter<'a>>,
    /// Lookups whose rows are prefetched: the table, and the input that names its rows.
    early: Vec<(&'a Table, usize)>,
    pub loss: f64,
}

fn part_rows(parts: &[RowTerms<Place>]) -> usize {
    parts.iter().map(|p| p.index.ty.size()).sum()
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a RunContext<'a>,
        number: usize,
        plans: &BatchPlans,
    ) -> Result<Self> {
        let program = shared.program;
        let sized = |plan: &Arc<Plan>, batch: usize| -> Result<BatchExecutor> {
            let mut executor = Executor::new(Arc::clone(plan), program.tables())?;
            program.bind_variables(&mut executor)?;
            Ok(BatchExecutor { executor, batch })
        };
        let full = sized(&plans.full, shared.batch)?;
        let rest = match &plans.rest {
            Some((plan, batch)) => Some(sized(plan, *batch)?),
            None => None,
        };
        let tables = program.tables().iter().zip(&plans.full.sinks);
        let trained = tables.enumerate().filter_map(|(k, (table, sink))| {
            let rows = match sink.as_ref()? {
                Sink::Rows(parts) => part_rows(parts),
                Sink::Dense(_) => 0,
            };
            let target = StepTarget {
                table,
                state: &shared.states[k],
                rule: shared.optimizer.rule(),
                settings: shared.optimizer.settings(),
            };
            let scratch = AnyScratch::new(table, rows);
            Some(scratch.map(|scratch| TrainedParameter {
                number: k,
                target,
                scratch,
            }))
        });
        let large = |t: &Table| t.ty().size() * t.ty().dtype.size() > moves::CACHED;
        let lookups = plans.full.lookups().into_iter();
        let early = lookups
            .map(|(table, input)| (&*program.tables()[table], input))
            .filter(|(table, _)| large(table));
        let leaves = program.leaves().iter().enumerate();
        let leaves = leaves.filter(|(_, leaf)| matches!(leaf, Leaf::Input { .. }));
        let inputs = leaves.zip(shared.feeds.rows());
        let samples = STAGED.min(STAGED_BYTES / shared.feeds.bytes().max(1));
        let room = shared.batch * (samples / shared.batch).max(1);
        Ok(Worker {
            number,
            full,
            rest,
            inputs: inputs
                .map(|((leaf, _), row)| StagedInput { leaf, row })
                .collect(),
            staged: shared.feeds.buffers(room)?,
            room,
            trained: trained.collect::<Result<_>>()?,
            early: early.collect(),
            loss: 0.0,
            shared,
        })
    }

    /// This worker's part of the samples: whole batches, as many as every other worker has or
    /// one more; the last worker's last may be short.
    fn part(&self, count: usize) -> Range<usize> {
        let RunContext { batch, workers, .. } = *self.shared;
        let batches = count.div_ceil(batch);
        let before = |worker: usize| batches / workers * worker + worker.min(batches % workers);
        let start = |worker: usize| (before(worker) * batch).min(count);
        start(self.number)..start(self.number + 1)
    }

    /// What asks the run to stop.
    pub(super) fn stop(&self) -> &'a AtomicBool {
        self.shared.stop
    }

    /// Trains on this worker's part of an epoch over `samples`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a loss is not finite, and whatever a kernel reports.
    pub(super) fn epoch(&mut self, epoch: usize, samples: &Samples) -> Result<()> {
        let shared = self.shared;
        let _unwinding = StopOnPanic(shared.stop);
        let mut rng = stream(shared.seed, self.number, epoch);
        self.loss = 0.0;
        let part = self.part(samples.len());
        // If workers take turns, batches are numbered in the order in which they are applied: one
        // batch of each worker, then the next of each.
        let mut number = self.number;
        for start in part.clone().step_by(self.room) {
            let count = self.room.min(part.end - start);
            let feeds = shared.feeds;
            samples.fill(start..start + count, feeds, &mut rng, &mut self.staged);
            self.prefetch(0..AHEAD.min(count));
            for at in (0..count).step_by(shared.batch) {
                if shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let end = (at + shared.batch).min(count);
                self.prefetch((at + AHEAD).min(count)..(end + AHEAD).min(count));
                if let Err(error) = self.batch(at..end, number) {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Err(match error {
                        Error::NotFinite(what) => Error::NotFinite(format!(
                            "{what} in epoch {} at sample {} (its batch was not applied); a \
                             smaller learning rate, l2 or clip may help",
                            epoch + 1,
                            start + at
                        )),
                        other => other,
                    });
                }
                number += shared.workers;
            }
        }
        Ok(())
    }

    /// Prefetches the rows of some staged samples.
    #[inline]
    fn prefetch(&self, samples: Range<usize>) {
        for &(table, input) in &self.early {
            let bytes = table.width() * table.ty().dtype.size();
            let start = table.address();
            let row = self.inputs[input].row;
            for &i in &self.staged[input].indices()[samples.start * row..samples.end * row] {
                moves::prefetch(start.wrapping_add(i as usize * bytes), bytes);
            }
        }
    }

    /// Computes and applies batch number `number` of the epoch, the staged samples `samples`.
    fn batch(&mut self, samples: Range<usize>, number: usize) -> Result<()> {
        let shared = self.shared;
        let executor = match &mut self.rest {
            Some(rest) if samples.len() == rest.batch => &mut rest.executor,
            _ => &mut self.full.executor,
        };
        for (input, staged) in self.inputs.iter().zip(&self.staged) {
            let data = staged.slice(samples.start * input.row, samples.len() * input.row);
            executor.bind(input.leaf, data);
        }
        // In a round all workers compute on the parameters as the round before left them.
        let round = number - self.number;
        if shared.in_turn && !shared.wait(&shared.applied, round) {
            return Ok(());
        }
        // SAFETY: variables of the program were bound in `new`, where their indices were compared
        // with the plan's bounds, and live as long as it; inputs were bound just now to what is
        // staged, which does not change until this returns, and `fit` has compared every index
        // that the feeds can give with its bound. `fit` holds the locks of all tables.
        match unsafe { executor.run() } {
            Err(Error::Interrupted) => return Ok(()),
            other => other?,
        }
        let plan = executor.plan();
        let loss: f64 = with_real!(plan.result.ty.dtype, T => {
            let value: &[T] = executor.numbers(&plan.result);
            value.iter().map(|x| x.to()).sum()
        });
        if !loss.is_finite() {
            return Err(Error::NotFinite(format!("the loss became {loss}")));
        }
        // A round's gradients are applied when all are computed, in the order of the workers.
        if shared.in_turn {
            shared.computed.fetch_add(1, Ordering::AcqRel);
            let batches = shared.feeds.count.div_ceil(shared.batch);
            let all = (round + shared.workers).min(batches);
            if !(shared.wait(&shared.computed, all) && shared.wait(&shared.applied, number)) {
                return Ok(());
            }
        }
        self.loss += loss;
        for trained in &mut self.trained {
            let Some(sink) = &plan.sinks[trained.number] else {
                continue;
            };
            let (access, target) = (shared.access, &trained.target);
            match &mut trained.scratch {
                AnyScratch::F32(s) => apply_sink(executor, trained.number, sink, access, target, s),
                AnyScratch::F64(s) => apply_sink(executor, trained.number, sink, access, target, s),
            }
        }
        if shared.in_turn {
            shared.applied.store(number + 1, Ordering::Release);
        }
        Ok(())
    }
}

/// Applies one table's gradient out of an executor's memory.
fn apply_sink<T: Number>(
    executor: &Executor,
    number: usize,
    sink: &Sink,
    access: Access,
    target: &StepTarget<'_>,
    scratch: &mut Scratch<T>,
) {
    match sink {
        Sink::Dense(place) => {
            let gradient: &[T] = executor.numbers(place);
            // SAFETY: the gradient has the table's type; `fit` holds the locks that
            // `access` stands for.
            unsafe { apply::dense(access, target, gradient, scratch) };
        }
        Sink::Rows(_) => {
            let rows = executor.rows(number);
            // SAFETY: `fit` has compared every index that the feeds can give, and the plan
            // every constant one, with the number of rows of all tables they are used on;
            // the plan has one row of the table's width for each. `fit` holds the locks
            // that `access` stands for.
            unsafe { apply::rows(access, target, &rows, scratch) };
        }
    }
}

/// The plans of a run: for whole batches, and for the last one if it is shorter.
pub(super) struct BatchPlans {
    pub full: Arc<Plan>,
    pub rest: Option<(Arc<Plan>, usize)>,
}
