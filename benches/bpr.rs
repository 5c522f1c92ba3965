//! An epoch of Bayesian personalised ranking, in every way the crate can run it, beside
//! the same written by hand: data of the size of MovieLens 100K, 32 factors.
//!
//! Each measurement starts from a fresh model, and an epoch includes shuffling and the
//! drawing of negatives. For a frozen program it is the time that its history reports;
//! what comes before the first epoch is measured as `freeze`.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group,
    criterion_main,
};
use rand::seq::SliceRandom;
use wyrmling::graph::IntoDyn;
use wyrmling::optim::Optimizer;
use wyrmling::train::sampling::{Sampler, stream};
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, Input, Parameter, Result, Table, Variable};

#[path = "common/bpr.rs"]
mod by_hand;
#[path = "common/interactions.rs"]
mod interactions;
use interactions::Interactions;
#[path = "common/random_table.rs"]
mod random_table;
use random_table::random_table;

const FACTORS: usize = 32;
const RATE: f64 = 0.05;
const SEED: u64 = 1;

/// The tables of a model: users, items, and the items' biases.
type Tables = [Arc<Table>; 3];

fn tables(data: &Interactions) -> Result<Tables> {
    let mut rng = stream(SEED, 0, 0);
    let mut table = |shape: &[usize]| random_table(shape, &mut rng);
    Ok([
        table(&[data.users, FACTORS])?,
        table(&[data.items, FACTORS])?,
        table(&[data.items])?,
    ])
}

/// A graph of the loss, with its parameters and its inputs: user, item, other item.
struct Graph<N: ?Sized> {
    parameters: [Parameter; 3],
    inputs: [Input; 3],
    loss: Variable<N>,
}

fn leaves(tables: &Tables) -> ([Parameter; 3], [Input; 3]) {
    let parameters = tables.each_ref().map(|t| Parameter::shared(t.clone()));
    let inputs = std::array::from_fn(|_| Input::indices(vec![0]));
    (parameters, inputs)
}

/// The loss as one expression, whose type holds all of it.
fn typed(tables: &Tables) -> Graph<impl IntoDyn + use<>> {
    let (parameters, inputs) = leaves(tables);
    let [users, items, bias] = parameters.clone();
    let [u, i, j] = inputs.clone();
    let user = users.gather(u);
    let score = |item: Input| {
        user.clone().vecdot(items.clone().gather(item.clone())) + bias.clone().gather(item)
    };
    let loss = -(score(i) - score(j)).logsigmoid().sum();
    Graph {
        parameters,
        inputs,
        loss,
    }
}

/// The same with every node's type erased, as when Python composes it.
fn boxed(tables: &Tables) -> Graph<dyn wyrmling::graph::Node> {
    let (parameters, inputs) = leaves(tables);
    let [users, items, bias] = parameters.clone().map(Variable::boxed);
    let [u, i, j] = inputs.clone().map(Variable::boxed);
    let user = users.gather(u).boxed();
    let score = |item: Variable| {
        let vector = items.clone().gather(item.clone()).boxed();
        let bias = bias.clone().gather(item).boxed();
        (user.clone().vecdot(vector).boxed() + bias).boxed()
    };
    let margin = (score(i) - score(j)).boxed();
    let loss = (-margin.logsigmoid().boxed().sum().boxed()).boxed();
    Graph {
        parameters,
        inputs,
        loss,
    }
}

/// Epochs on graphs that workers build, each its own, over shared tables.
fn graph_epochs<N: ?Sized + IntoDyn>(
    data: &Interactions,
    epochs: u64,
    threads: usize,
    batch: usize,
    build: impl Fn(&Tables) -> Graph<N> + Sync,
) -> Result<Duration> {
    let tables = tables(data)?;
    let sampler = Sampler::uniform(data.items)?;
    let sgd = Optimizer::sgd(RATE)?;
    let mut pairs = data.pairs.clone();
    let mut elapsed = Duration::ZERO;
    for epoch in 0..epochs {
        let start = Instant::now();
        pairs.shuffle(&mut stream(SEED, threads, epoch as usize));
        train::parallel(threads, epoch, &tables, &sgd, |mut worker| {
            let graph = build(&tables);
            let [u, i, j] = &graph.inputs;
            let parameters = graph.parameters.each_ref().map(|p| &**p.param());
            let batches = pairs.chunks(batch);
            for batch in batches.skip(worker.number).step_by(worker.workers) {
                u.set_value(batch.iter().map(|pair| pair.0).collect::<Vec<_>>())?;
                i.set_value(batch.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
                let drawn = batch.iter().map(|_| sampler.draw(&mut worker.rng, None));
                j.set_value(drawn.collect::<Vec<_>>())?;
                graph.loss.try_backward()?;
                worker.step(&parameters)?;
            }
            Ok(())
        })?;
        elapsed += start.elapsed();
    }
    Ok(elapsed)
}

/// Epochs of a frozen program.
fn frozen_epochs(
    data: &Interactions,
    columns: &[Array; 2],
    epochs: u64,
    threads: usize,
    batch_size: usize,
) -> Result<Duration> {
    let graph = typed(&tables(data)?);
    let program = graph.loss.freeze()?;
    let [u, i, j] = graph.inputs.each_ref().map(Input::id);
    let sampler = Arc::new(Sampler::uniform(data.items)?);
    let [users, items] = columns.clone();
    let fit = Fit {
        sources: vec![
            (u, Source::Column(users)),
            (i, Source::Column(items)),
            (
                j,
                Source::Sampled {
                    sampler,
                    given: None,
                },
            ),
        ],
        epochs: 0..epochs as usize,
        batch_size,
        threads,
        seed: SEED,
        deterministic: false,
    };
    let go_on = &mut |_: usize, _: &History| Flow::Continue;
    let optimizer = Optimizer::sgd(RATE)?;
    let history = train::fit(&program, &fit, &optimizer, &AtomicBool::new(false), go_on)?;
    Ok(history
        .seconds
        .iter()
        .copied()
        .map(Duration::from_secs_f64)
        .sum())
}

/// Epochs by hand, in one of its forms.
fn by_hand<S: by_hand::Margin>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    data: &Interactions,
) {
    group.bench_function(name, |bench| {
        bench.iter_custom(|epochs| {
            let mut model = by_hand::Model::<FACTORS>::new(data, SEED);
            let mut pairs = data.pairs.clone();
            let start = Instant::now();
            for _ in 0..epochs {
                black_box(model.epoch::<S>(&mut pairs, RATE as f32));
            }
            let elapsed = start.elapsed();
            let loss = model.loss(&pairs);
            assert!(
                loss < std::f64::consts::LN_2,
                "no better than chance: {loss}"
            );
            elapsed
        });
    });
}

fn epoch(c: &mut Criterion) {
    let data = Interactions::like_movielens_100k(SEED);
    let columns = [
        data.pairs
            .iter()
            .map(|pair| pair.0)
            .collect::<Vec<_>>()
            .into(),
        data.pairs
            .iter()
            .map(|pair| pair.1)
            .collect::<Vec<_>>()
            .into(),
    ];
    let mut group = c.benchmark_group("bpr epoch");
    group.sample_size(10);
    group.sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(500));
    group.throughput(Throughput::Elements(data.pairs.len() as u64));

    by_hand::<by_hand::Whole>(&mut group, "by hand", &data);
    by_hand::<by_hand::Bare>(&mut group, "by hand, without the loss", &data);
    let name = |kind: &str, threads: usize, batch: usize| {
        let threads = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        BenchmarkId::new(kind, format!("{threads}, batch {batch}"))
    };
    let done = |result: Result<Duration>| result.expect("the data fit the model");
    for (threads, batch) in [(1, 10), (1, 64), (2, 10), (2, 64)] {
        group.bench_function(name("frozen", threads, batch), |bench| {
            bench.iter_custom(|n| done(frozen_epochs(&data, &columns, n, threads, batch)));
        });
    }
    for (threads, batch) in [(1, 1), (1, 10), (2, 10)] {
        group.bench_function(name("typed graph", threads, batch), |bench| {
            bench.iter_custom(|n| done(graph_epochs(&data, n, threads, batch, typed)));
        });
    }
    group.bench_function(name("boxed graph", 1, 10), |bench| {
        bench.iter_custom(|n| done(graph_epochs(&data, n, 1, 10, boxed)));
    });
    group.finish();
}

fn freeze(c: &mut Criterion) {
    let data = Interactions::like_movielens_100k(SEED);
    let graph = typed(&tables(&data).expect("the tables fit in memory"));
    let mut group = c.benchmark_group("bpr freeze");
    group.bench_function("graph to program", |bench| {
        bench.iter(|| graph.loss.freeze())
    });
    // Nothing but the plan is left to make: a batch of one is soon computed.
    let index = || Array::from(vec![0_u32]);
    group.bench_function("and first gradient", |bench| {
        bench.iter(|| {
            let program = graph.loss.freeze()?;
            program.value_and_grad(&[index(), index(), index()])
        });
    });
    group.finish();
}

criterion_group!(benches, epoch, freeze);
criterion_main!(benches);
