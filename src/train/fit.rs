//! Fitting a program to data: checks, workers, epochs.
//!
//! This file does what is done once a run and once an epoch: it checks everything before the first
//! step, shuffles the samples, gives workers their streams of random numbers and their shares, and
//! calls the observer. [`worker`](super::worker) does what is done for each batch;
//! [`table`](crate::table) decides which threads may use a parameter at the same time.
//!
//! Limits: data are columns in memory or mapped there, and an observer is called once an epoch.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::data::feeds::Feeds;
use super::data::source::Source;
use super::history::{Flow, History};
use super::partition::{Partition, TableLookup};
use super::samples::Samples;
use super::steps::function_step::{FunctionLoss, FunctionStep};
use super::steps::plan_step::{BatchPlans, PlanStep};
use super::steps::sample_groups::SampleGroups;
use super::steps::sample_plan_step::SamplePlanStep;
use super::stream::{MOST_WORKERS, SHUFFLER, stream};
use super::worker::{AnyBatchStep, RunContext, Worker, staged_samples};
use crate::error::{Error, Result};
use crate::exec::{Leaf, Program};
use crate::interrupt;
use crate::optim::gradient::{Access, adds};
use crate::optim::{Optimizer, State};
use crate::table::Table;
use crate::table::lock::Membership;

/// How to fit.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Where each input's values come from, by the input's identity.
    pub sources: Vec<(u64, Source)>,
    /// Passes over the data, by number. Streams of random numbers depend on the number of the epoch,
    /// so that a run from epoch `k` on goes on as one that began at 0.
    pub epochs: Range<usize>,
    /// Samples in a batch; the last batch of an epoch may be shorter.
    pub batch_size: usize,
    /// Workers; 0 means one for each core.
    pub threads: usize,
    /// Seed of all random streams.
    pub seed: u64,
    /// Whether several workers must give the same result every time. They then compute
    /// batches together and apply them in turn. Samples are not divided into blocks that fit a
    /// cache then, by one worker either.
    pub deterministic: bool,
}

/// Watches a run.
pub trait Observer {
    /// Called after every epoch, with the record so far. Parameters may be read.
    ///
    /// # Errors
    /// Whatever the observer wants [`fit`] to return.
    fn epoch(&mut self, epoch: usize, history: &History) -> Result<Flow>;
}

/// Any function of the epoch and the record.
impl<F: FnMut(usize, &History) -> Flow> Observer for F {
    fn epoch(&mut self, epoch: usize, history: &History) -> Result<Flow> {
        Ok(self(epoch, history))
    }
}

/// How many workers `threads` asks for: one for each core if it is 0.
///
/// # Errors
/// [`Error::Value`] for more than [`MOST_WORKERS`].
pub(super) fn worker_count(threads: usize) -> Result<usize> {
    match threads {
        0 => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(cores.min(MOST_WORKERS))
        }
        n if n <= MOST_WORKERS => Ok(n),
        n => Err(Error::Value(format!(
            "threads: expected at most {MOST_WORKERS}, got {n}"
        ))),
    }
}

/// Minimises the sum of the program's result over the data, by stochastic gradient steps.
///
/// Everything is checked before the first step. With one thread, or `deterministic`, equal
/// seeds give equal bits; otherwise workers race for rows (Hogwild). `stop` may be set from
/// any thread; the run then ends after the batches at hand, with [`Error::Interrupted`] and
/// the parameters as they are. It is only read.
///
/// # Errors
/// [`Error::Value`], [`Error::Shape`], [`Error::Type`] or [`Error::Index`] if settings or
/// data do not fit, [`Error::State`] if a parameter is being trained elsewhere,
/// [`Error::NotFinite`] if a loss becomes NaN or infinite.
pub fn fit(
    program: &Program,
    fit: &Fit,
    optimizer: &Optimizer,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<History> {
    // Setting `stop` ends waits for tables, too.
    interrupt::with_stop_flag(stop, || run(program, fit, optimizer, stop, observer))
}

/// As [`fit()`], of a function of one sample: the loss of a batch is the sum of its samples' losses. What
/// `fit.sources` are for are the numbers of the function's feeds.
///
/// # Errors
/// As [`fit()`]. Where the function is left, the error says so and [`FunctionLoss::departure`] has the
/// sample; its batch was not applied.
pub fn fit_function(
    loss: &FunctionLoss,
    fit: &Fit,
    optimizer: &Optimizer,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<History> {
    let run = || {
        let leaves: Vec<&Leaf> = loss.leaves().collect();
        let job = Job::new(loss.tables(), &leaves, fit)?;
        loss.check(&job.feeds)?;
        let states = job.states(optimizer)?;
        match loss.program().filter(|_| job.batch == 1) {
            Some(program) => {
                let new = || SamplePlanStep::new(loss, program, &job.feeds, optimizer, &states);
                let new = || Ok(Box::new(new()?) as AnyBatchStep<'_>);
                job.run(fit, optimizer, stop, observer, None, &new)
            }
            None => {
                let new = || FunctionStep::new(loss, &job.feeds, optimizer, &states);
                let new = || Ok(Box::new(new()?) as AnyBatchStep<'_>);
                job.run(fit, optimizer, stop, observer, None, &new)
            }
        }
    };
    interrupt::with_stop_flag(stop, run)
}

fn run(
    program: &Program,
    fit: &Fit,
    optimizer: &Optimizer,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<History> {
    let inputs: Vec<&Leaf> = program.inputs().collect();
    let mut job = Job::new(program.tables(), &inputs, fit)?;
    job.calls_out |= program.stays_in_thread();
    let feeds = &job.feeds;
    let grouped = match job.takes_groups(fit) {
        true => program.per_sample()?,
        false => None,
    };
    let rows: Vec<usize> = feeds.rows().collect();
    let groups = |(of, lookups): (Program, _)| Some((of, SampleGroups::new(lookups, &rows)?));
    let grouped = grouped.and_then(groups);
    let (program, mut plans) = match &grouped {
        Some((of, groups)) => (of, BatchPlans::of_groups(of, feeds, groups.clone())?),
        None => (program, BatchPlans::of_batches(program, feeds, job.batch)?),
    };
    let settings = |number: usize| optimizer.settings_of(&program.tables()[number]);
    // In a round all workers compute on the parameters as the round before left them, and another worker's gradients
    // are applied before one's own.
    if !job.in_turn(fit) {
        plans.read_rows_in_place(|number| adds(optimizer.rule(), &settings(number)));
    }
    for (_, plan) in &plans.plans {
        feeds.check(program.inputs(), plan.input_bounds())?;
    }
    let states = job.states(optimizer)?;
    let lookups = plans.largest().lookups().into_iter();
    let lookups = lookups.map(|(number, input)| TableLookup {
        table: &program.tables()[number],
        number,
        input,
    });
    let partition = match fit.deterministic {
        true => None,
        false => {
            let lookups: Vec<_> = lookups.collect();
            Partition::new(feeds, &lookups, job.workers, job.batch)?
        }
    };
    let new = || PlanStep::new(program, feeds, optimizer, &states, &plans);
    let new = || Ok(Box::new(new()?) as AnyBatchStep<'_>);
    job.run(fit, optimizer, stop, observer, partition, &new)
}

/// Fewer samples are run one by one, which takes less time than to plan for groups.
const GROUPED: usize = 1 << 12;

/// What is trained, on which samples.
struct Job<'a> {
    tables: &'a [Arc<Table>],
    feeds: Feeds,
    batch: usize,
    workers: usize,
    /// Whether a step or a sampler calls code of the caller's.
    calls_out: bool,
}

impl<'a> Job<'a> {
    /// Checks settings and data.
    fn new(tables: &'a [Arc<Table>], inputs: &[&Leaf], fit: &Fit) -> Result<Self> {
        let at_least_one = |name: &str, n: usize| match n {
            0 => Err(Error::Value(format!("{name}: expected at least 1, got 0"))),
            _ => Ok(()),
        };
        at_least_one("epochs", fit.epochs.end)?;
        if fit.epochs.start > fit.epochs.end {
            return Err(Error::Value(format!(
                "epochs: expected a range that does not end before it begins, got {:?}",
                fit.epochs
            )));
        }
        at_least_one("batch_size", fit.batch_size)?;
        let workers = worker_count(fit.threads)?;
        if tables.is_empty() {
            return Err(Error::Value(
                "the loss depends on no Parameter: there is nothing to train".into(),
            ));
        }
        let feeds = Feeds::new(inputs.iter().copied(), &fit.sources)?;
        let batch = fit.batch_size.min(feeds.count);
        feeds.check_batch_size(fit.batch_size)?;
        Ok(Job {
            tables,
            batch,
            workers: workers.min(feeds.count.div_ceil(batch)),
            calls_out: feeds.call_out(),
            feeds,
        })
    }

    /// Whether workers compute together and update in turn.
    fn in_turn(&self, fit: &Fit) -> bool {
        fit.deterministic && self.workers > 1
    }

    /// Whether a worker can run several batches of one sample at once: not if workers wait for each other or
    /// what is drawn depends on the batch before. Plans for groups are worth it from some samples on.
    fn takes_groups(&self, fit: &Fit) -> bool {
        !self.in_turn(fit)
            && self.batch == 1
            && !self.feeds.read_tables()
            && self.feeds.count >= GROUPED
    }

    /// The optimizer's state for each parameter.
    fn states(&self, optimizer: &Optimizer) -> Result<Vec<Arc<State>>> {
        optimizer.check_penalized(self.tables)?;
        self.tables.iter().map(|t| optimizer.state(t)).collect()
    }

    /// Trains; `new` makes what computes a worker's batches. Samples are divided among workers if there is
    /// a partition. Code of the caller's may wait for another thread that reads the parameters, so that a worker
    /// that calls some has them beside readers.
    fn run<'s>(
        &'s self,
        fit: &Fit,
        optimizer: &Optimizer,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
        partition: Option<Partition>,
        new: &dyn Fn() -> Result<AnyBatchStep<'s>>,
    ) -> Result<History> {
        let (feeds, workers, batch) = (&self.feeds, self.workers, self.batch);
        // What samplers read is locked as what is trained, so that nobody else writes it.
        let locked = self.tables.iter().chain(feeds.tables());
        let training = Table::begin_training(locked.map(|table| &**table))?;
        let access = access(workers, self.calls_out);
        let shared = RunContext {
            feeds,
            access,
            batch,
            seed: fit.seed,
            stop,
            failed: AtomicBool::new(false),
            workers,
            in_turn: self.in_turn(fit),
            computed: AtomicUsize::new(0),
            applied: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
        };
        let mut crew: Vec<Worker<'_>> = (0..workers)
            .map(|number| Worker::new(&shared, number, new()?))
            .collect::<Result<_>>()?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map_err(interrupt::no_thread(workers))?;
        let mut samples = Samples::new(feeds, staged_samples(feeds, batch), partition)?;
        let mut history = History {
            samples: feeds.count,
            ..History::default()
        };
        for epoch in fit.epochs.clone() {
            let start = Instant::now();
            let lr = optimizer.settings().lr;
            crew.iter_mut().for_each(|worker| worker.begin(epoch, lr));
            // In the pool, so that it uses as many threads as were asked for; the result does
            // not depend on their number.
            pool.install(|| samples.begin(feeds, &mut stream(fit.seed, SHUFFLER, epoch)));
            while pool.install(|| samples.advance(feeds))? {
                shared.computed.store(0, Ordering::Release);
                shared.applied.store(0, Ordering::Release);
                shared.finished.store(0, Ordering::Release);
                {
                    let _running = training.run(access == Access::Alone)?;
                    run_window(&mut crew, &pool, &samples)?;
                }
                Table::touch_all(self.tables.iter().map(|table| &**table));
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
            }
            history.loss.push(crew.iter().map(|w| w.loss).sum());
            history.seconds.push(start.elapsed().as_secs_f64());
            if observer.epoch(epoch, &history)? == Flow::Stop {
                break;
            }
        }
        // No loss has shown a parameter that became NaN or infinite and was not read afterwards.
        for table in self.tables {
            if !table.is_finite()? {
                return Err(Error::NotFinite(format!(
                    "{} holds NaN or infinity after training; a smaller learning rate, l2 or clip may \
                     help",
                    table.label()
                )));
            }
        }
        Ok(history)
    }
}

/// How so many workers reach the tables: plain reads and writes are for one alone, who calls nobody meanwhile.
fn access(workers: usize, calls_out: bool) -> Access {
    match (workers, calls_out) {
        (1, false) => Access::Alone,
        _ => Access::Shared,
    }
}

/// Runs the window of an epoch that is there on all workers. If several fail, the error is that of the worker with the
/// lowest number. A single worker runs in the pool, too: operators that run in a pool do not split their work among
/// threads. Each worker has a thread of the pool for itself: one that was queued there might be begun by a thread that
/// waits within an operator of the caller's which uses rayon, and workers wait for each other.
fn run_window(crew: &mut [Worker<'_>], pool: &rayon::ThreadPool, samples: &Samples) -> Result<()> {
    // The caller's own operators run in the workers. If one asks for a table of this run, it gets an
    // error: it would wait for itself.
    let membership = &Membership::of_this_thread();
    let crew: Vec<_> = crew.iter_mut().map(Mutex::new).collect();
    let results = pool.broadcast(|thread| {
        // No other thread has asked for this one.
        let mut worker = crew[thread.index()]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        membership.join(|| interrupt::with_stop_flag(worker.stop(), || worker.window(samples)))
    });
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_access_is_for_one_worker_who_calls_nobody() {
        assert_eq!(access(1, false), Access::Alone);
        assert_eq!(access(1, true), Access::Shared);
        for workers in [2, 3, MOST_WORKERS] {
            assert_eq!(access(workers, false), Access::Shared);
        }
    }
}
