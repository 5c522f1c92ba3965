//! Hogwild for typed graphs: a closure per worker that builds its own graph.
//!
//! A graph cannot cross threads, its tables can. Every worker builds a graph over handles
//! on the shared tables, looks at its share of the samples, and updates the tables through
//! an optimizer that all workers share.

use std::sync::Arc;

use smallvec::SmallVec;

use super::fit::worker_count;
use super::sampling::negatives::Negatives;
use super::sampling::scored::ScoredSampler;
use super::stream::stream;
use super::trained::check_trained;
use super::trainer::Trainer;
use crate::error::Result;
use crate::graph::{IntoDyn, Variable};
use crate::interrupt;
use crate::optim::Optimizer;
use crate::order;
use crate::table::{Param, Table};

/// One worker of [`parallel`].
#[derive(Debug)]
pub struct Member<'a> {
    /// The worker's number, from 0.
    pub number: usize,
    /// How many workers there are.
    pub workers: usize,
    /// A random stream of the worker's own.
    pub rng: rand_xoshiro::Xoshiro256PlusPlus,
    optimizer: &'a Optimizer,
    /// Those of the run, as [`check_trained`] takes them.
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

    /// What draws negatives by a sampler that reads the model, as it is when they are drawn.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wyrmling::optim::Optimizer;
    /// use wyrmling::train::{self, Choice, Sampler, ScoredSampler};
    /// use wyrmling::{Array, DType, Input, Parameter, Table, Type};
    ///
    /// let table = |rows| Table::new(&Array::full(&Type::new(DType::F32, &[rows, 2]), 0.5), None).map(Arc::new);
    /// let tables = [table(2)?, table(4)?];
    /// let [users, items] = tables.clone();
    /// let liked = ([0_u32, 0, 1, 1], [0_u32, 1, 2, 3]);
    /// let base = Sampler::uniform(4)?.reject(&liked.0, &liked.1)?;
    /// let warp = Choice::Warp { margin: 1.0, most: 10 };
    /// let warp = ScoredSampler::new(base, users, items, None, warp)?;
    /// train::parallel(1, 7, &tables, &Optimizer::sgd(0.05)?, |mut worker| {
    ///     let [users, items] = tables.each_ref().map(|table| Parameter::shared(table.clone()));
    ///     let [user, item, other] = std::array::from_fn(|_| Input::indices(vec![0]));
    ///     let rank = Input::new(vec![1.0_f32]);
    ///     let vector = users.gather(user.clone());
    ///     let score = |item: &Input| vector.clone().vecdot(items.clone().gather(item.clone()));
    ///     let loss = ((score(&other) - score(&item) + 1.0).relu() * rank.clone().log1p()).sum();
    ///     let (mut trainer, mut negatives) = (worker.trainer(&loss)?, worker.negatives(&warp)?);
    ///     for _ in 0..100 {
    ///         for (u, i) in liked.0.iter().zip(&liked.1) {
    ///             let (mut drawn, mut ranks) = ([0], [0.0]);
    ///             negatives.draw(&mut worker.rng, (&[*u], &[*i]), &mut drawn, Some(&mut ranks))?;
    ///             assert!(drawn[0] / 2 != *u); // no item that the user likes
    ///             user.set_slice(&[*u])?;
    ///             item.set_slice(&[*i])?;
    ///             other.set_slice(&drawn)?;
    ///             rank.set_slice(&ranks)?;
    ///             trainer.step()?;
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) if a table that the sampler reads is not among the tables of the
    /// run, and [`Error::Memory`](crate::Error::Memory).
    pub fn negatives<'s>(&self, sampler: &'s ScoredSampler) -> Result<Negatives<'s>>
    where
        'a: 's,
    {
        check_trained(sampler.tables(), self.tables)?;
        // SAFETY: the tables of the run, among which those of the sampler were just found, are being trained
        // while a worker lives. The drawer ends before that, as it borrows for no longer than the worker does.
        unsafe { Negatives::new(sampler) }
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
    let mut sorted = tables.to_vec();
    order::sort_by_key(&mut sorted, |table| table.id() as usize);
    let _training = Table::begin_training(tables.iter().map(|table| &**table))?;
    // Each worker has a thread for itself, as those of [`fit`](super::fit()).
    let results = pool.broadcast(|thread| {
        work(Member {
            number: thread.index(),
            workers,
            rng: stream(seed, thread.index(), 0),
            optimizer,
            tables: &sorted,
        })
    });
    results.into_iter().collect()
}
