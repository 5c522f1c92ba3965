//! One worker: its share of an epoch, batch after batch.
//!
//! A worker stages the inputs of many batches before it runs the first of them, so it knows which
//! rows it will need, and prefetches them. All memory that it writes to is allocated when the worker
//! is made. What computes and applies a batch is a [`BatchStep`]: a program's plan
//! ([`plan_step`](super::steps::plan_step)) or a function of one sample
//! ([`function_step`](super::steps::function_step)).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;

use super::data::feeds::Feeds;
use super::data::input_buffer::InputBuffer;
use super::dealt_rows::Among;
use super::samples::Samples;
use super::sampling::adaptive::FactorOrders;
use super::stream::stream;
use crate::error::{Error, Result};
use crate::optim::gradient::Access;

/// How many samples ahead rows are prefetched.
const AHEAD: usize = 64;
/// Samples and bytes that are staged at a time, unless a batch is larger: few enough to stay
/// in the first-level cache, many enough that starting costs nothing.
pub(super) const STAGED: usize = 1024;
const STAGED_BYTES: usize = 16 << 10;

/// What computes the loss and the gradients of a batch, and applies them.
pub(super) trait BatchStep {
    /// Changes the learning rate.
    fn set_lr(&mut self, lr: f64);

    /// Prefetches what some staged samples need.
    fn prefetch(&self, _staged: &[InputBuffer], _samples: Range<usize>) {}

    /// Brings the first `count` staged samples, of `room` that there may be, into an order in which
    /// [groups](Self::group) of them can be run at once, with the result of one after the other before.
    fn arrange(&mut self, _staged: &mut [InputBuffer], _count: usize, _room: usize) {}

    /// How many of the samples that were arranged are run at once next; `None` where whole batches are run.
    fn group(&mut self) -> Option<usize> {
        None
    }

    /// The number of a staged sample before they were arranged.
    fn number(&self, sample: usize) -> usize {
        sample
    }

    /// Computes the loss of some staged samples and keeps the gradients.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the run is to stop, and whatever a kernel reports.
    ///
    /// # Safety
    /// The locks of all tables are held.
    unsafe fn run(&mut self, staged: &[InputBuffer], samples: Range<usize>) -> Result<f64>;

    /// Applies the gradients of the last run.
    ///
    /// # Safety
    /// What was staged for that run has not changed since. The locks of all tables are held as `access` says.
    unsafe fn apply(&mut self, access: Access);

    /// Told that the last run failed, in an epoch, at samples of this window, the first of which that
    /// are staged is at `start`.
    fn failed(&mut self, _epoch: usize, _samples: &Samples, _start: usize) {}
}

/// What computes a worker's batches.
pub(super) type AnyBatchStep<'a> = Box<dyn BatchStep + Send + 'a>;

/// What all workers of a run share.
pub(super) struct RunContext<'a> {
    pub feeds: &'a Feeds,
    pub access: Access,
    pub batch: usize,
    pub seed: u64,
    /// Set by the caller when the run is to end.
    pub stop: &'a AtomicBool,
    /// Set when a worker has failed, so that the others end.
    pub failed: AtomicBool,
    pub workers: usize,
    /// Whether workers compute together and update in turn, so that results do not depend
    /// on their speed.
    pub in_turn: bool,
    /// Batches of the window that have been computed.
    pub computed: AtomicUsize,
    /// Batches of the window that have been applied.
    pub applied: AtomicUsize,
    /// Blocks of the window that workers have finished, the sum over all workers.
    pub finished: AtomicUsize,
}

impl RunContext<'_> {
    /// Whether the run is to end.
    fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Waits until `counter` has reached `count`; `false` if the run stops.
    fn wait(&self, counter: &AtomicUsize, count: usize) -> bool {
        while counter.load(Ordering::Acquire) < count {
            if self.ends() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Whether a part of the work was done, which is not if the caller ends the run. Has all workers end
    /// if it has failed, also by what looks like an interruption and is an operator's or sampler's own.
    fn goes_on<R>(&self, done: Result<R>) -> Result<Option<R>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(Error::Interrupted) if self.stop.load(Ordering::Relaxed) => Ok(None),
            Err(error) => {
                self.failed.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }
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

/// How many samples are staged at a time: whole batches.
pub(super) fn staged_samples(feeds: &Feeds, batch: usize) -> usize {
    let samples = STAGED.min(STAGED_BYTES / feeds.bytes().max(1));
    // What reads the parameters reads those that the batch before has left.
    let batches = match feeds.read_tables() {
        true => 1,
        false => (samples / batch).max(1),
    };
    batch * batches
}

/// A worker. See the [module documentation](self).
pub(super) struct Worker<'a> {
    shared: &'a RunContext<'a>,
    number: usize,
    step: AnyBatchStep<'a>,
    /// What is staged for each input.
    staged: Vec<InputBuffer>,
    /// Samples that there is room for: whole batches.
    room: usize,
    epoch: usize,
    rng: Xoshiro256PlusPlus,
    /// What samplers that read the model keep.
    orders: Vec<FactorOrders>,
    pub loss: f64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a RunContext<'a>,
        number: usize,
        step: AnyBatchStep<'a>,
    ) -> Result<Self> {
        let room = staged_samples(shared.feeds, shared.batch);
        Ok(Worker {
            number,
            step,
            staged: shared.feeds.buffers(room)?,
            room,
            epoch: 0,
            rng: stream(shared.seed, number, 0),
            orders: shared.feeds.orders()?,
            loss: 0.0,
            shared,
        })
    }

    /// Begins an epoch, with a learning rate.
    pub(super) fn begin(&mut self, epoch: usize, lr: f64) {
        self.step.set_lr(lr);
        self.epoch = epoch;
        self.rng = stream(self.shared.seed, self.number, epoch);
        self.orders.iter_mut().for_each(FactorOrders::outdate);
        self.loss = 0.0;
    }

    /// This worker's part of the samples: whole batches, as many as every other worker has or
    /// one more; the last worker's last may be short.
    fn part(&self, samples: Range<usize>) -> Range<usize> {
        let RunContext { batch, workers, .. } = *self.shared;
        let batches = samples.len().div_ceil(batch);
        let before = |worker: usize| batches / workers * worker + worker.min(batches % workers);
        let start = |worker: usize| (samples.start + before(worker) * batch).min(samples.end);
        start(self.number)..start(self.number + 1)
    }

    /// What asks the run to stop.
    pub(super) fn stop(&self) -> &'a AtomicBool {
        self.shared.stop
    }

    /// Trains on this worker's part of a window of the epoch.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a loss is not finite, and whatever a kernel reports or
    /// [`Samples::fill`].
    pub(super) fn window(&mut self, samples: &Samples) -> Result<()> {
        let shared = self.shared;
        let _unwinding = StopOnPanic(&shared.failed);
        if !samples.are_divided() {
            return self.stretch(samples, self.part(0..samples.len()), None);
        }
        let mut turns = 0;
        for (partition, rounds) in samples.divided() {
            for (range, among) in partition.blocks(rounds, self.number) {
                self.stretch(samples, range, Some(among))?;
                turns += 1;
                // The rows of the next block are those of other workers now.
                shared.finished.fetch_add(1, Ordering::AcqRel);
                if !shared.wait(&shared.finished, turns * shared.workers) {
                    return Ok(());
                }
            }
            self.stretch(samples, self.part(rounds.rest.clone()), None)?;
        }
        Ok(())
    }

    /// Trains on some samples of a window, drawing `among` some items.
    ///
    /// # Errors
    /// As [`window`](Self::window).
    fn stretch(
        &mut self,
        samples: &Samples,
        part: Range<usize>,
        among: Option<Among<'_>>,
    ) -> Result<()> {
        let shared = self.shared;
        let batches = samples.len().div_ceil(shared.batch);
        // If workers take turns, batches are numbered in the order in which they are applied: one
        // batch of each worker, then the next of each.
        let mut number = self.number;
        for start in part.clone().step_by(self.room) {
            let count = self.room.min(part.end - start);
            let feeds = shared.feeds;
            let rng = &mut self.rng;
            let staged = samples
                .fill(start..start + count, feeds, &mut self.staged)
                .and_then(|()| feeds.draw(shared.batch, among, count, rng, &mut self.staged));
            if shared.goes_on(staged)?.is_none() {
                return Ok(());
            }
            if feeds.read_tables() {
                // In a round all workers read the parameters as the round before left them.
                if shared.in_turn && !shared.wait(&shared.applied, number - self.number) {
                    return Ok(());
                }
                let state = (&mut *rng, &mut *self.orders);
                // SAFETY: `fit` holds the locks of all tables that are trained or read, as its `access`
                // says.
                let drawn = unsafe { feeds.draw_scored(count, state, &mut self.staged) };
                if shared.goes_on(drawn)?.is_none() {
                    return Ok(());
                }
            }
            self.step.arrange(&mut self.staged, count, self.room);
            self.step.prefetch(&self.staged, 0..AHEAD.min(count));
            // Samples before this one are run in batches, not in groups.
            let mut ungrouped = 0;
            let mut at = 0;
            while at < count {
                if shared.ends() {
                    return Ok(());
                }
                let group = match at < ungrouped {
                    true => None,
                    false => self.step.group(),
                };
                let end = (at + group.unwrap_or(shared.batch)).min(count);
                let ahead = (at + AHEAD).min(count)..(end + AHEAD).min(count);
                self.step.prefetch(&self.staged, ahead);
                match self.batch(at..end, number, batches) {
                    Ok(true) => {
                        at = end;
                        number += shared.workers;
                    }
                    // Sample by sample it is found out which one fails.
                    Ok(false) => ungrouped = end,
                    Err(error) => {
                        self.step.failed(self.epoch, samples, start);
                        return Err(match error {
                            Error::NotFinite(what) => Error::NotFinite(format!(
                                "{what} in epoch {}, {} samples after its start (the batch was not \
                                 applied); a smaller learning rate, l2 or clip may help",
                                self.epoch + 1,
                                samples.start() + start + self.step.number(at)
                            )),
                            other => other,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Computes and applies batch number `number` of the `batches` of a window, the staged samples
    /// `samples`. `false`, and nothing is applied, if they are several batches and one of these fails.
    fn batch(&mut self, samples: Range<usize>, number: usize, batches: usize) -> Result<bool> {
        let shared = self.shared;
        let is_group = samples.len() > shared.batch;
        // In a round all workers compute on the parameters as the round before left them.
        let round = number - self.number;
        if shared.in_turn && !shared.wait(&shared.applied, round) {
            return Ok(true);
        }
        // SAFETY: `fit` holds the locks of all tables.
        let loss = unsafe { self.step.run(&self.staged, samples) };
        // A result is large to move: that of most batches goes no further.
        let loss = match loss {
            Ok(loss) if loss.is_finite() => loss,
            failed => {
                let error = match failed {
                    Ok(loss) => Error::NotFinite(format!("the loss became {loss}")),
                    Err(error) => error,
                };
                if is_group && !matches!(error, Error::Interrupted) {
                    return Ok(false);
                }
                return shared.goes_on::<()>(Err(error)).map(|_| true);
            }
        };
        // A round's gradients are applied when all are computed, in the order of the workers.
        if shared.in_turn {
            shared.computed.fetch_add(1, Ordering::AcqRel);
            let all = (round + shared.workers).min(batches);
            if !(shared.wait(&shared.computed, all) && shared.wait(&shared.applied, number)) {
                return Ok(true);
            }
        }
        self.loss += loss;
        // SAFETY: `stretch` alone changes what is staged, between batches. `fit` holds the locks of all tables,
        // as its `access` says.
        unsafe { self.step.apply(shared.access) };
        if shared.in_turn {
            shared.applied.store(number + 1, Ordering::Release);
        }
        Ok(true)
    }
}
