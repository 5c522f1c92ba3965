//! Ranking all items for many users, against the obvious loop: score every item by a dot
//! product, sort, look.
//!
//! As many items as in MovieLens 20M, 64 factors, 150 items seen and 20 held out for each
//! user. Throughput is in users.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::rank::{Csr, Factors, Metrics, evaluate, top_k};

const USERS: usize = 2048;
/// Users that the loop ranks: enough to time it.
const FEW: usize = 16;
const ITEMS: usize = 26_744;
const WIDTH: usize = 64;
const SEEN: usize = 150;
const HELD_OUT: usize = 20;
const K: usize = 10;

struct Case {
    users: Array2<f32>,
    items: Array2<f32>,
    bias: Array1<f32>,
    seen: Csr,
    held_out: Csr,
}

impl Case {
    fn new() -> Case {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut factor = || rng.random_range(-1.0..1.0);
        let users = Array2::from_shape_simple_fn((USERS, WIDTH), &mut factor);
        let items = Array2::from_shape_simple_fn((ITEMS, WIDTH), &mut factor);
        let bias = Array1::from_shape_simple_fn(ITEMS, &mut factor);
        let mut pairs = |each: usize| {
            let users: Vec<u32> = (0..USERS * each).map(|n| (n / each) as u32).collect();
            let items: Vec<u32> = users
                .iter()
                .map(|_| rng.random_range(0..ITEMS as u32))
                .collect();
            Csr::from_pairs(&users, &items, USERS, ITEMS).expect("numbers are in range")
        };
        Case {
            users,
            items,
            bias,
            seen: pairs(SEEN),
            held_out: pairs(HELD_OUT),
        }
    }

    fn factors(&self) -> Factors<'_> {
        let bias = Some(self.bias.view());
        Factors::new(self.users.view(), self.items.view(), bias).expect("shapes fit together")
    }

    /// The items that user `u` has not seen, by falling score.
    fn sorted(&self, u: usize) -> Vec<(f32, u32)> {
        let user = self.users.row(u);
        let scores = self.items.outer_iter().zip(&self.bias).enumerate();
        let mut scores: Vec<(f32, u32)> = scores
            .map(|(i, (item, bias))| (user.dot(&item) + bias, i as u32))
            .filter(|&(_, i)| !self.seen.contains(u, i))
            .collect();
        scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scores
    }

    /// The metrics of one user that follow from the sorted items alone.
    fn measured(&self, u: usize) -> Metrics {
        let ranks = self.sorted(u).into_iter().enumerate();
        let ranks = ranks.filter(|&(_, (_, item))| self.held_out.contains(u, item));
        let ranks: Vec<usize> = ranks.map(|(place, _)| place + 1).collect();
        let h = ranks.len().max(1) as f64;
        let gain = |rank: usize| 1.0 / (1.0 + rank as f64).log2();
        let hits = ranks.iter().filter(|&&rank| rank <= K).count() as f64;
        let gained: f64 = ranks.iter().filter(|&&r| r <= K).map(|&r| gain(r)).sum();
        Metrics {
            reciprocal_rank: ranks.first().map_or(0.0, |&best| 1.0 / best as f64),
            ndcg: gained / (1..=K.min(ranks.len())).map(gain).sum::<f64>(),
            recall: hits / h,
            precision: hits / K as f64,
            hit: hits.min(1.0),
            ..Metrics::default()
        }
    }
}

fn rank(c: &mut Criterion) {
    let case = Case::new();
    let factors = case.factors();
    let stop = AtomicBool::new(false);

    let mut group = c.benchmark_group("top_k");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.throughput(Throughput::Elements(USERS as u64));
    group.bench_function("library", |bench| {
        bench.iter(|| top_k(black_box(&factors), Some(&case.seen), K, &stop))
    });
    group.throughput(Throughput::Elements(FEW as u64));
    group.bench_function("loop", |bench| {
        bench.iter(|| {
            let best = (0..FEW).map(|u| black_box(&case).sorted(u)[..K].to_vec());
            best.collect::<Vec<_>>()
        })
    });
    group.finish();

    let mut group = c.benchmark_group("evaluate");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.throughput(Throughput::Elements(USERS as u64));
    group.bench_function("library", |bench| {
        bench.iter(|| evaluate(black_box(&factors), &case.seen, &case.held_out, K, &stop))
    });
    group.throughput(Throughput::Elements(FEW as u64));
    group.bench_function("loop", |bench| {
        bench.iter(|| {
            let metrics = (0..FEW).map(|u| black_box(&case).measured(u));
            metrics.collect::<Vec<_>>()
        })
    });
    group.finish();
}

criterion_group!(benches, rank);
criterion_main!(benches);
