//! What one parameter costs among few and among many: the price for each has to stay what it is.

use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wyrmling::optim::Optimizer;
use wyrmling::train::Trainer;
use wyrmling::{Array, Parameter, Table};

const COUNTS: [usize; 3] = [500, 4_000, 32_000];

fn sgd() -> Optimizer {
    Optimizer::sgd(0.1).expect("a positive rate")
}

/// Each trainer keeps the locks of its parameters until it is dropped.
fn dropped_trainers(c: &mut Criterion) {
    let mut group = c.benchmark_group("trainers dropped, first to last");
    for count in COUNTS {
        group.throughput(Throughput::Elements(count as u64));
        group.sample_size(10);
        group.bench_function(BenchmarkId::from_parameter(count), |bench| {
            let optimizer = sgd();
            let losses: Vec<_> = (0..count)
                .map(|_| Parameter::new(1.0).square().boxed())
                .collect();
            let trainers = || -> Vec<_> {
                let made = losses.iter().map(|loss| Trainer::new(loss, &optimizer));
                made.map(|trainer| trainer.expect("nobody else trains it"))
                    .collect()
            };
            bench.iter_batched(trainers, drop, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// A step of parameters that share one table, as those of several workers do.
fn handles_of_one_table(c: &mut Criterion) {
    let mut group = c.benchmark_group("a step of handles of one table");
    for count in COUNTS {
        group.throughput(Throughput::Elements(count as u64));
        group.sample_size(10);
        group.bench_function(BenchmarkId::from_parameter(count), |bench| {
            let optimizer = sgd();
            let table = Table::new(&Array::from(vec![0.0]), None).expect("numbers");
            let table = Arc::new(table);
            let handles: Vec<_> = (0..count)
                .map(|_| Parameter::shared(Arc::clone(&table)))
                .collect();
            let parameters: Vec<_> = handles.iter().map(|handle| handle.param()).collect();
            let backward = || {
                for handle in &handles {
                    handle.clone().sum().backward();
                }
            };
            let step = |()| optimizer.step_and_clear(&parameters);
            bench.iter_batched(backward, step, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, dropped_trainers, handles_of_one_table);
criterion_main!(benches);
