//! An epoch of WARP, whose negatives are drawn until the model ranks one too high: frozen, and by workers that
//! build their own graphs. Data of the size of MovieLens 100K, 32 factors.
//!
//! How many negatives a sample takes depends on how much the model knows, so each measurement starts from a fresh
//! model, which has been trained for some epochs before the clock starts. An epoch includes shuffling.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use rand::seq::SliceRandom;
use wyrmling::graph::IntoDyn;
use wyrmling::optim::Optimizer;
use wyrmling::train::sampling::{Sampler, stream};
use wyrmling::train::{self, Choice, Fit, Flow, History, ScoredSampler, Source};
use wyrmling::{Array, Input, Parameter, Result, Table, Variable};

#[path = "common/interactions.rs"]
mod interactions;
use interactions::Interactions;
#[path = "common/random_table.rs"]
mod random_table;
use random_table::random_table;

const FACTORS: usize = 32;
const RATE: f64 = 0.05;
const SEED: u64 = 1;
/// Epochs before those that are measured.
const BEFORE: usize = 5;

/// The tables of a model, and the sampler that reads them.
struct Model {
    users: Arc<Table>,
    items: Arc<Table>,
    bias: Arc<Table>,
    sampler: Arc<ScoredSampler>,
}

impl Model {
    fn new(data: &Interactions) -> Result<Self> {
        let mut rng = stream(SEED, 0, 0);
        let mut table = |shape: &[usize]| random_table(shape, &mut rng);
        let users = table(&[data.users, FACTORS])?;
        let items = table(&[data.items, FACTORS])?;
        let bias = table(&[data.items])?;
        let (u, i): (Vec<_>, Vec<_>) = data.pairs.iter().copied().unzip();
        let base = Sampler::uniform(data.items)?.reject(&u, &i)?;
        let choice = Choice::Warp {
            margin: 1.0,
            most: 30,
        };
        let (vectors, biases) = (Arc::clone(&items), Arc::clone(&bias));
        let sampler = ScoredSampler::new(base, Arc::clone(&users), vectors, Some(biases), choice)?;
        Ok(Model {
            users,
            items,
            bias,
            sampler: Arc::new(sampler),
        })
    }

    fn tables(&self) -> [Arc<Table>; 3] {
        [&self.users, &self.items, &self.bias].map(Arc::clone)
    }
}

/// A graph of the loss of a batch, and its inputs.
struct Graph<N: ?Sized> {
    user: Input,
    item: Input,
    other: Input,
    rank: Input,
    loss: Variable<N>,
}

fn graph(model: &Model) -> Graph<impl IntoDyn + use<>> {
    let [users, items, bias] = model.tables().map(Parameter::shared);
    let [user, item, other] = std::array::from_fn(|_| Input::indices(vec![0]));
    let rank = Input::new(vec![1.0_f32]);
    let vector = users.gather(user.clone());
    let score = |item: &Input| {
        vector.clone().vecdot(items.clone().gather(item.clone()))
            + bias.clone().gather(item.clone())
    };
    let margin = 1.0 - score(&item) + score(&other);
    let loss = (rank.clone().log() * margin.relu()).sum();
    Graph {
        user,
        item,
        other,
        rank,
        loss,
    }
}

/// Epochs on graphs that workers build, each its own, over shared tables.
fn worker_epochs(
    data: &Interactions,
    epochs: u64,
    threads: usize,
    batch: usize,
) -> Result<Duration> {
    let model = Model::new(data)?;
    let adagrad = Optimizer::adagrad(RATE)?;
    let mut pairs = data.pairs.clone();
    let mut elapsed = Duration::ZERO;
    for epoch in 0..BEFORE + epochs as usize {
        let start = Instant::now();
        pairs.shuffle(&mut stream(SEED, threads, epoch));
        train::parallel(
            threads,
            epoch as u64,
            &model.tables(),
            &adagrad,
            |mut worker| {
                let graph = graph(&model);
                let mut trainer = worker.trainer(&graph.loss)?;
                let mut negatives = worker.negatives(&model.sampler)?;
                let (mut drawn, mut ranks) = (vec![0; batch], vec![0.0; batch]);
                for batch in pairs
                    .chunks(batch)
                    .skip(worker.number)
                    .step_by(worker.workers)
                {
                    let (u, i): (Vec<_>, Vec<_>) = batch.iter().copied().unzip();
                    let (drawn, ranks) = (&mut drawn[..u.len()], &mut ranks[..u.len()]);
                    negatives.draw(&mut worker.rng, (&u, &i), drawn, Some(ranks))?;
                    graph.user.set_slice(&u)?;
                    graph.item.set_slice(&i)?;
                    graph.other.set_slice(drawn)?;
                    graph.rank.set_slice(ranks)?;
                    trainer.step()?;
                }
                Ok(())
            },
        )?;
        if epoch >= BEFORE {
            elapsed += start.elapsed();
        }
    }
    Ok(elapsed)
}

/// Epochs of a frozen program.
fn frozen_epochs(
    data: &Interactions,
    epochs: u64,
    threads: usize,
    batch_size: usize,
) -> Result<Duration> {
    let model = Model::new(data)?;
    let graph = graph(&model);
    let program = graph.loss.freeze()?;
    let (u, i): (Vec<_>, Vec<_>) = data.pairs.iter().copied().unzip();
    let scored = Source::Scored {
        sampler: Arc::clone(&model.sampler),
        user: graph.user.id(),
        item: Some(graph.item.id()),
    };
    let fit = Fit {
        sources: vec![
            (graph.user.id(), Source::Column(Array::from(u))),
            (graph.item.id(), Source::Column(Array::from(i))),
            (graph.other.id(), scored),
            (graph.rank.id(), Source::Rank(model.sampler)),
        ],
        epochs: 0..BEFORE + epochs as usize,
        batch_size,
        threads,
        seed: SEED,
        deterministic: false,
    };
    let go_on = &mut |_: usize, _: &History| Flow::Continue;
    let never = AtomicBool::new(false);
    let history = train::fit(&program, &fit, &Optimizer::adagrad(RATE)?, &never, go_on)?;
    let seconds = history.seconds[BEFORE..].iter().copied();
    Ok(seconds.map(Duration::from_secs_f64).sum())
}

fn epoch(c: &mut Criterion) {
    let data = Interactions::like_movielens_100k(SEED);
    let mut group = c.benchmark_group("warp epoch");
    group.sample_size(10);
    group.sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(500));
    group.throughput(Throughput::Elements(data.pairs.len() as u64));
    let done = |result: Result<Duration>| result.expect("the data fit the model");
    for (threads, batch) in [(1, 1), (1, 16), (2, 16)] {
        let how = format!("{threads} threads, batch {batch}");
        group.bench_function(BenchmarkId::new("frozen", &how), |bench| {
            bench.iter_custom(|n| done(frozen_epochs(&data, n, threads, batch)));
        });
        group.bench_function(BenchmarkId::new("workers' graphs", &how), |bench| {
            bench.iter_custom(|n| done(worker_epochs(&data, n, threads, batch)));
        });
    }
    group.finish();
}

criterion_group!(benches, epoch);
criterion_main!(benches);
