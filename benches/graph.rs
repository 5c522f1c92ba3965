//! Graphs evaluated as they are built: the value and all gradients, from Rust.

use criterion::{Criterion, criterion_group, criterion_main};
use wyrmling::array::Dense;
use wyrmling::graph::Leaf;
use wyrmling::{Array, Input, Parameter};

/// One sample of a regression on a line: all overhead and hardly any arithmetic.
fn regression(c: &mut Criterion) {
    let mut group = c.benchmark_group("scalar regression");
    let (slope, intercept) = (Parameter::new(1.0), Parameter::new(0.0));
    let (x, y) = (Input::new(3.0), Input::new(7.0));
    let clear = || {
        slope.zero_grad();
        intercept.zero_grad();
    };
    group.bench_function("typed graph, built each time", |bench| {
        bench.iter(|| {
            clear();
            let predicted = slope.clone() * x.clone() + intercept.clone();
            (y.clone() - predicted).square().try_backward()
        });
    });
    group.bench_function("boxed graph, built each time", |bench| {
        let [slope, intercept] = [&slope, &intercept].map(|p| p.clone().boxed());
        let [x, y] = [&x, &y].map(|i| i.clone().boxed());
        bench.iter(|| {
            clear();
            let predicted = (slope.clone() * x.clone()).boxed() + intercept.clone();
            let error = (y.clone() - predicted.boxed()).boxed();
            error.square().boxed().try_backward()
        });
    });
    let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
    group.bench_function("typed graph, input set each time", |bench| {
        bench.iter(|| {
            clear();
            x.set_value(3.0)?;
            loss.try_backward()
        });
    });
    group.bench_function("frozen", |bench| {
        let program = loss.freeze().expect("the graph has just been evaluated");
        bench.iter(|| program.value_and_grad(&[Array::from(7.0), Array::from(3.0)]));
    });
    group.finish();
}

/// The trace of a product of two 30×30 matrices.
fn trace(c: &mut Criterion) {
    const N: usize = 30;
    let mut group = c.benchmark_group("trace of a product");
    let matrix = |phase: f64| {
        let numbers = (0..N * N).map(|k| (k as f64 + phase).sin()).collect();
        let value = Dense::new(&[N, N], numbers).expect("as many numbers as the shape holds");
        Leaf::new(value).expect("a leaf holds numbers")
    };
    let (x1, x2) = (matrix(0.0), matrix(0.5));
    group.bench_function("typed graph, built each time", |bench| {
        bench.iter(|| {
            x1.zero_grad();
            x2.zero_grad();
            x1.clone().matmul(x2.clone()).trace().try_backward()
        });
    });
    group.bench_function("frozen", |bench| {
        let graph = x1.clone().matmul(x2.clone()).trace();
        let program = graph.freeze().expect("the graph has just been evaluated");
        bench.iter(|| program.value_and_grad(&[]));
    });
    group.finish();
}

criterion_group!(benches, regression, trace);
criterion_main!(benches);
