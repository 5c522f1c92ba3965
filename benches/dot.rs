//! The dot product against a scalar loop.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn dot(c: &mut Criterion) {
    let mut group = c.benchmark_group("dot");
    for length in [8, 32, 128, 1024] {
        let a: Vec<f32> = (0..length).map(|i| (i as f32).sin()).collect();
        let b: Vec<f32> = (0..length).map(|i| (i as f32).cos()).collect();
        group.throughput(Throughput::Elements(length));
        group.bench_function(BenchmarkId::new("simd", length), |bench| {
            bench.iter(|| wyrmling::simd::dot(black_box(&a), black_box(&b)))
        });
        group.bench_function(BenchmarkId::new("loop", length), |bench| {
            bench.iter(|| {
                let (a, b) = (black_box(&a), black_box(&b));
                a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>()
            })
        });
    }
    group.finish();
}

criterion_group!(benches, dot);
criterion_main!(benches);
