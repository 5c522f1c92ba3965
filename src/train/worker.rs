//! One worker: its share of an epoch, batch after batch.
//!
//! A worker fills the inputs of several batches before it runs the first of them, so it
//! knows which rows it will need and asks the memory for them in good time. Everything it
//! writes to was allocated when it was made.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;

use super::data::{Buffer, Feeds};
use super::sampling::stream;
use crate::array::{Real, Slice, with_real};
use crate::error::{Error, Result};
use crate::exec::{Executor, Leaf, Plan, Program, RowsPart, Sink};
use crate::optim::apply::{self, Access, Scratch, Target};
use crate::optim::{Optimizer, State};
use crate::table::{Table, moves};

/// Samples that are looked up ahead.
const AHEAD: usize = 64;

/// What all workers of a run share.
pub(super) struct Shared<'a> {
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

impl Shared<'_> {
    /// If workers take turns, waits until `counter` has reached `count`; `false` if the run
    /// stops.
    fn wait(&self, counter: &AtomicUsize, count: usize) -> bool {
        while self.in_turn && counter.load(Ordering::Acquire) < count {
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

/// A plan for one batch length.
struct Sized {
    executor: Executor,
    /// Elements of each leaf, 0 for tables.
    lengths: Vec<usize>,
}

/// A worker. See the [module documentation](self).
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    full: Sized,
    rest: Option<Sized>,
    /// Filled batches: their length, and one buffer an input.
    staged: VecDeque<(usize, Vec<Buffer>)>,
    free: Vec<Vec<Buffer>>,
    scratch: Vec<AnyScratch>,
    /// Lookups worth asking for early: the table, and the input that names its rows.
    early: Vec<(Arc<Table>, usize)>,
    pub loss: f64,
}

fn part_rows(parts: &[RowsPart]) -> usize {
    parts.iter().map(|p| p.index.ty.size()).sum()
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, number: usize, plans: &Plans) -> Result<Self> {
        let program = shared.program;
        let sized = |plan: &Arc<Plan>, batch: usize| -> Result<Sized> {
            let mut inputs = shared.feeds.lengths(batch);
            let length = |leaf: &Leaf| match leaf {
                Leaf::Parameter(_) => 0,
                Leaf::Variable(_, value) => value.size(),
                Leaf::Input { .. } => inputs.next().unwrap_or(0),
            };
            Ok(Sized {
                lengths: program.leaves().iter().map(length).collect(),
                executor: Executor::new(Arc::clone(plan), program.tables())?,
            })
        };
        let full = sized(&plans.full, shared.batch)?;
        let rest = match &plans.rest {
            Some((plan, batch)) => Some(sized(plan, *batch)?),
            None => None,
        };
        let scratch = program.tables().iter().zip(&plans.full.sinks);
        let scratch = scratch.map(|(table, sink)| {
            let rows = match sink {
                Some(Sink::Rows(parts)) => part_rows(parts),
                _ => 0,
            };
            match table.ty().dtype {
                crate::array::DType::F32 => AnyScratch::F32(Scratch::new(table.width(), rows)),
                _ => AnyScratch::F64(Scratch::new(table.width(), rows)),
            }
        });
        let large = |t: &Table| t.ty().size() * t.ty().dtype.size() > moves::CACHED;
        let lookups = plans.full.lookups().into_iter();
        let early: Vec<_> = lookups
            .map(|(table, leaf)| (Arc::clone(&program.tables()[table]), leaf))
            .filter(|(table, _)| large(table))
            .collect();
        let depth = if early.is_empty() {
            1
        } else {
            AHEAD.div_ceil(shared.batch) + 1
        };
        Ok(Worker {
            number,
            full,
            rest,
            staged: VecDeque::with_capacity(depth),
            free: (0..depth)
                .map(|_| shared.feeds.buffers(shared.batch))
                .collect(),
            scratch: scratch.collect(),
            early,
            loss: 0.0,
            shared,
        })
    }

    /// Trains on this worker's batches of an epoch over the samples `order`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a loss is not finite, and whatever a kernel reports.
    pub(super) fn epoch(&mut self, epoch: usize, order: &[u32]) -> Result<()> {
        let shared = self.shared;
        let mut rng = stream(shared.seed, self.number, epoch);
        self.loss = 0.0;
        while let Some((_, buffers)) = self.staged.pop_front() {
            self.free.push(buffers);
        }
        let batches = order.chunks(shared.batch);
        let mut batches = batches.skip(self.number).step_by(shared.workers);
        // The rows of the columns are looked up one batch before they are copied.
        let mut coming = batches.clone();
        if let Some(first) = coming.next() {
            shared.feeds.prefetch(first);
        }
        let mut number = self.number;
        loop {
            while let Some(mut buffers) = self.free.pop() {
                let Some(batch) = batches.next() else {
                    self.free.push(buffers);
                    break;
                };
                if let Some(next) = coming.next() {
                    shared.feeds.prefetch(next);
                }
                self.stage(batch, &mut rng, &mut buffers);
                self.staged.push_back((batch.len(), buffers));
            }
            let Some((count, buffers)) = self.staged.pop_front() else {
                return Ok(());
            };
            if shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let result = self.batch(count, &buffers, number);
            self.free.push(buffers);
            if let Err(error) = result {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(match error {
                    Error::NotFinite(what) => Error::NotFinite(format!(
                        "{what} in epoch {} at sample {} (its batch was not applied); a smaller \
                         learning rate, l2 or clip may help",
                        epoch + 1,
                        number * shared.batch
                    )),
                    other => other,
                });
            }
            number += shared.workers;
        }
    }

    fn stage(&self, batch: &[u32], rng: &mut Xoshiro256PlusPlus, buffers: &mut [Buffer]) {
        self.shared.feeds.fill(batch, rng, buffers);
        for (table, input) in &self.early {
            let width = table.width();
            let bytes = width * table.ty().dtype.size();
            let start = table.address();
            for &i in &buffers[*input].indices()[..batch.len()] {
                moves::prefetch(start.wrapping_add(i as usize * bytes), bytes);
            }
        }
    }

    /// Computes and applies batch number `number` of the epoch.
    fn batch(&mut self, count: usize, buffers: &[Buffer], number: usize) -> Result<()> {
        let shared = self.shared;
        let program = shared.program;
        let sized = match &mut self.rest {
            Some(rest) if count < shared.batch => rest,
            _ => &mut self.full,
        };
        // A fixed number of leaves fits without allocating in all but huge programs, whose
        // batches take long anyway.
        let mut leaves: smallvec::SmallVec<[Slice<'_>; 16]> = smallvec::SmallVec::new();
        let mut inputs = buffers.iter();
        for (leaf, &n) in program.leaves().iter().zip(&sized.lengths) {
            leaves.push(match leaf {
                Leaf::Parameter(_) => Slice::F64(&[]),
                Leaf::Variable(_, value) => value.view().data,
                Leaf::Input { .. } => inputs.next().map_or(Slice::F64(&[]), |b| b.slice(n)),
            });
        }
        // Everybody computes on the parameters as the last round left them.
        let round = number - self.number;
        if !shared.wait(&shared.applied, round) {
            return Ok(());
        }
        debug_assert!(sized.executor.plan().accepts(&leaves));
        // SAFETY: buffers have the types and lengths that the plan was made for (`Feeds`
        // gives both), and `fit` has compared every index that the feeds can give with its
        // bound.
        unsafe { sized.executor.run(&leaves)? };
        let plan = sized.executor.plan();
        let loss: f64 = with_real!(plan.result.ty.dtype, T => {
            let value: &[T] = sized.executor.numbers(&plan.result, &leaves);
            value.iter().map(|x| x.to()).sum()
        });
        if !loss.is_finite() {
            return Err(Error::NotFinite(format!("the loss became {loss}")));
        }
        // Nobody applies anything before the whole round is computed, and then in order.
        if shared.in_turn {
            shared.computed.fetch_add(1, Ordering::AcqRel);
        }
        let batches = shared.feeds.count.div_ceil(shared.batch);
        let all = (round + shared.workers).min(batches);
        if !(shared.wait(&shared.computed, all) && shared.wait(&shared.applied, number)) {
            return Ok(());
        }
        self.loss += loss;
        for (k, sink) in plan.sinks.iter().enumerate() {
            let Some(sink) = sink else { continue };
            let target = Target {
                table: &program.tables()[k],
                state: &shared.states[k],
                rule: shared.optimizer.rule(),
                settings: shared.optimizer.settings(),
            };
            match &mut self.scratch[k] {
                AnyScratch::F32(s) => {
                    apply_sink(&sized.executor, &leaves, k, sink, shared.access, &target, s)
                }
                AnyScratch::F64(s) => {
                    apply_sink(&sized.executor, &leaves, k, sink, shared.access, &target, s)
                }
            }
        }
        if shared.in_turn {
            shared.applied.store(number + 1, Ordering::Release);
        }
        Ok(())
    }
}

/// Applies one table's gradient out of an executor's memory.
fn apply_sink<T: Real>(
    executor: &Executor,
    leaves: &[Slice<'_>],
    number: usize,
    sink: &Sink,
    access: Access,
    target: &Target<'_>,
    scratch: &mut Scratch<T>,
) {
    match sink {
        Sink::Dense(place) => {
            let gradient: &[T] = executor.numbers(place, leaves);
            // SAFETY: the gradient has the table's type; `fit` holds the locks that
            // `access` stands for.
            unsafe { apply::dense(access, target, gradient, scratch) };
        }
        Sink::Rows(_) => {
            let rows = executor.rows(number, leaves);
            // SAFETY: `fit` has compared every index that the feeds can give, and the plan
            // every constant one, with the number of rows of all tables they are used on;
            // the plan has one row of the table's width for each. `fit` holds the locks
            // that `access` stands for.
            unsafe { apply::rows(access, target, &rows, scratch) };
        }
    }
}

/// The plans of a run: for whole batches, and for the last one if it is shorter.
pub(super) struct Plans {
    pub full: Arc<Plan>,
    pub rest: Option<(Arc<Plan>, usize)>,
}
