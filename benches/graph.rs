//! Graphs evaluated as they are built: the value and all gradients, from Rust.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use wyrmling::array::Dense;
use wyrmling::graph::{Independent, ops};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Input, Parameter, Type, Variable};

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
        Independent::new(value).expect("a leaf holds numbers")
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

/// The sum of the squares of `n` parts of `x`, one after the other, as a loop in Python writes it.
fn loop_over(x: &Variable, n: usize, part: impl Fn(&Variable, usize) -> Variable) -> Variable {
    let square = |k| part(x, k).square().sum().boxed();
    (1..n).fold(square(0), |sum, k| (sum + square(k)).boxed())
}

fn row(x: &Variable, k: usize) -> Variable {
    let index = Input::indices(vec![k as u32]).boxed();
    ops::gather(x, &index).expect("an index in range")
}

fn element(x: &Variable, k: usize) -> Variable {
    let items = vec![SliceItem::At(k as i64)];
    ops::slice(x, items).expect("an index in range")
}

/// The gradient of a sum of many lookups, which is to take time in proportion to their number.
fn loops(c: &mut Criterion) {
    let mut group = c.benchmark_group("gradient of a loop");
    group.sample_size(10);
    for n in [2000, 16_000] {
        let zeros = |shape: &[usize]| Array::full(&Type::new(DType::F64, shape), 0.5);
        let table = Parameter::new(zeros(&[n, 8]));
        let rows = loop_over(&table.clone().boxed(), n, row);
        let x = Independent::new(zeros(&[n])).expect("a leaf holds numbers");
        let elements = loop_over(&x.clone().boxed(), n, element);
        group.bench_function(BenchmarkId::new("rows of a table", n), |bench| {
            bench.iter_batched(
                || table.zero_grad(),
                |()| rows.try_backward(),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("elements of an array", n), |bench| {
            bench.iter_batched(
                || x.zero_grad(),
                |()| elements.try_backward(),
                BatchSize::PerIteration,
            );
        });
        let x = x.boxed();
        group.bench_function(BenchmarkId::new("elements, as a graph", n), |bench| {
            bench.iter(|| elements.gradients(&[&x]));
        });
    }
    group.finish();
}

/// One row of a large table, by an integer and by a list of one.
fn one_row(c: &mut Criterion) {
    let mut group = c.benchmark_group("one row of 200,000 x 64");
    let table = Array::full(&Type::new(DType::F32, &[200_000, 64]), 0.5);
    let table = Parameter::new(table);
    let boxed = table.clone().boxed();
    for (name, part) in [
        ("w[[5]]", row as fn(&Variable, usize) -> _),
        ("w[5]", element),
    ] {
        group.bench_function(BenchmarkId::new(name, "backward"), |bench| {
            bench.iter(|| {
                table.zero_grad();
                part(&boxed, 5).square().sum().try_backward()
            });
        });
        group.bench_function(BenchmarkId::new(name, "frozen"), |bench| {
            let program = part(&boxed, 5).square().sum().freeze();
            let program = program.expect("the graph has just been evaluated");
            let inputs: Vec<Array> = program.inputs().map(|_| vec![5u32].into()).collect();
            bench.iter(|| program.value_and_grad(&inputs));
        });
    }
    group.finish();
}

/// What lengths cost that are asked for at every step of a graph that grows, and of a sum of many inputs: the
/// price for each has to stay what it is.
fn lengths(c: &mut Criterion) {
    let ask = |x: &Variable| ops::ask_lengths(x, &[0], "len()").expect("an axis");
    let mut group = c.benchmark_group("lengths that are asked for");
    group.sample_size(10);
    for n in [500, 4000] {
        group.bench_function(BenchmarkId::new("at every step", n), |bench| {
            bench.iter(|| {
                let x = Input::new(vec![0.5; 3]).boxed();
                let step = |x: Variable, _| {
                    let next = x.tanh().boxed();
                    ask(&next);
                    next
                };
                (0..n).fold(x, step)
            });
        });
        group.bench_function(BenchmarkId::new("of many inputs", n), |bench| {
            bench.iter(|| {
                let input = || Input::new(vec![0.5; 3]).boxed();
                let sum = (1..n).fold(input(), |sum, _| (sum + input()).boxed());
                ask(&sum);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, regression, trace, loops, one_row, lengths);
criterion_main!(benches);
