//! Hogwild for typed graphs: a closure per worker that builds its own graph.
//!
//! A graph cannot cross threads, its tables can. Every worker builds a graph over handles
//! on the shared tables, looks at its share of the samples, and updates the tables through
//! an optimizer that all workers share.

use std::sync::Arc;

use smallvec::SmallVec;

use super::fit::worker_count;
use super::stream::stream;
use super::trained::check_trained;
use super::trainer::Trainer;
use crate::error::Result;
use crate::graph::{IntoDyn, Variable};
use crate::interrupt;
use crate::optim::Optimizer;
use crate::table::{Param, Table};

/// One worker of [`parallel`].
pub struct Member<'a> {
    /// The worker's number, from 0.
    pub number: usize,
    /// How many workers there are.
    pub workers: usize,
    /// A random stream of the worker's own.
    pub rng: rand_xoshiro::Xoshiro256PlusPlus,
    optimizer: &'a Optimizer,
    tables: &'a [Arc<Table>],
}

impl<'a> Member<'a> {
    /// A trainer of a graph of this worker's, whose steps are beside those of the other workers.
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) if a parameter below `loss` is not among the tables of the
    /// run, and as [`Trainer::new`].
    pub fn trainer<N: ?Sized + IntoDyn>(&self, loss: &Variable<N>) -> Result<Trainer<'a>> {
        Trainer::of_worker(loss, self.optimizer, self.tables)
    }

    /// Applies and clears the gradients collected in `params`, beside the other workers.
    ///
    /// # Errors
    /// [`Error::NotFinite`](crate::Error::NotFinite) if a gradient holds NaN or infinity,
    /// [`Error::State`](crate::Error::State) if a parameter is not among the tables of the run; no
    /// parameter is changed then.
    pub fn step<P: AsRef<Param>>(&self, params: &[P]) -> Result<()> {
        let params: SmallVec<[&Param; 8]> = params.iter().map(AsRef::as_ref).collect();
        check_trained(params.iter().map(|param| param.table()), self.tables)?;
        self.optimizer.step_shared(&params)?;
        params.iter().for_each(|p| p.zero_grad());
        Ok(())
    }
}

/// Runs `work` on `threads` workers at once and returns what each gave.
///
/// While they run, `tables` may be read by anybody and written by the workers only.
///
/// # Errors
/// [`Error::Value`](crate::Error::Value) for more than [`MOST_WORKERS`](super::MOST_WORKERS) threads,
/// [`Error::State`](crate::Error::State) if a table is being trained elsewhere, and the first
/// worker's error.
///
/// ```
/// use std::sync::Arc;
/// use wyrmling::optim::Optimizer;
/// use wyrmling::{Array, Input, Parameter, Table, train};
///
/// let table = Arc::new(Table::new(&Array::from(vec![0.0_f64; 4]), None)?);
/// let sgd = Optimizer::sgd(0.1)?;
/// let shared = [Arc::clone(&table)];
/// train::parallel(2, 1, &shared, &sgd, |worker| {
///     let weights = Parameter::shared(Arc::clone(&shared[0]));
///     let row = Input::indices(vec![0]);
///     let loss = (weights.clone().gather(row.clone()) - 1.0).square().sum();
///     let mut trainer = worker.trainer(&loss)?;
///     for k in 0..200 {
///         row.set_slice(&[(2 * k + worker.number as u32) % 4])?;
///         trainer.step()?;
///     }
///     Ok(())
/// })?;
/// assert!(table.read().to_f64().iter().all(|w| (w - 1.0).abs() < 1e-3));
/// # Ok::<(), wyrmling::Error>(())
/// ```
pub fn parallel<R: Send>(
    threads: usize,
    seed: u64,
    tables: &[Arc<Table>],
    optimizer: &Optimizer,
    work: impl Fn(Member<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let workers = worker_count(threads)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .map_err(interrupt::no_thread(workers))?;
    for table in tables {
        optimizer.state(table)?;
    }
    let _training = Table::begin_training(tables.iter().map(|table| &**table))?;
    let work = &work;
    let mut results: Vec<Option<Result<R>>> = (0..workers).map(|_| None).collect();
    pool.scope(|scope| {
        for (number, result) in results.iter_mut().enumerate() {
            scope.spawn(move |_| {
                *result = Some(work(Member {
                    number,
                    workers,
                    rng: stream(seed, number, 0),
                    optimizer,
                    tables,
                }));
            });
        }
    });
    results.into_iter().flatten().collect()
}
