//! What it takes to make a gradient of a function with branches and loops, before any of it runs:
//! checking, differentiating and simplifying some 300 instructions.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, Lengths, ScalarOperator, Target, Terminator, ValueId,
    ValueKind, simplify, vjp,
};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{DType, Result};

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

/// A number that `count` operators make of three.
fn chain(b: &Builder, mut values: [ValueId; 3], count: usize) -> Result<ValueId> {
    let operators: [(&'static dyn Operator, usize); 5] = [
        (&rules::Sin, 1),
        (&rules::Mul, 2),
        (&rules::Add, 2),
        (&rules::Tanh, 1),
        (&rules::Sub, 2),
    ];
    for k in 0..count {
        let (op, operands) = operators[k % operators.len()];
        let y = b.try_apply(OpRef::Static(op), &values[..operands])?;
        values = [y, values[0], values[1]];
    }
    Ok(values[0])
}

/// A function of two numbers and an integer: 60 operators, then a loop of 80 with a branch of 60 or
/// 50 in it, then 50 more.
fn function() -> Result<Function> {
    let b = Builder::new();
    let number = ValueKind::number(DType::F64);
    let (x, y) = (b.parameter(number.clone()), b.parameter(number.clone()));
    let n = b.parameter(ValueKind::Int);
    let exit = b.exit("an integer of more than 64 bits", 0);
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let start = chain(&b, [x, y, x], 60)?;
    b.terminate(Terminator::Jump(to(1, &[start, zero])));
    b.block();
    let (z, i) = (b.parameter(number.clone()), b.parameter(ValueKind::Int));
    let less = ScalarOperator::CompareInt(Comparison::Less);
    let condition = b.compute(less, &[i, n], None)?;
    b.terminate(Terminator::Branch {
        condition,
        then: to(2, &[]),
        otherwise: to(6, &[]),
    });
    b.block();
    let u = chain(&b, [z, x, y], 80)?;
    let next = b.compute(ScalarOperator::IntAdd, &[i, one], Some(exit))?;
    let less = ScalarOperator::CompareNumber(Comparison::Less);
    let condition = b.compute(less, &[u, x], None)?;
    b.terminate(Terminator::Branch {
        condition,
        then: to(3, &[]),
        otherwise: to(4, &[]),
    });
    for count in [60, 50] {
        b.block();
        let v = chain(&b, [u, y, z], count)?;
        b.terminate(Terminator::Jump(to(5, &[v])));
    }
    b.block();
    let v = b.parameter(number);
    b.terminate(Terminator::Jump(to(1, &[v, next])));
    b.block();
    let result = chain(&b, [z, x, y], 50)?;
    b.terminate(Terminator::Return(vec![result]));
    b.finish("long")
}

fn compile(c: &mut Criterion) {
    let f = function().expect("fitting kinds");
    let wrt = &f.parameters()[..2];
    let gradient = |f: &Function| -> Result<Function> {
        f.check()?;
        let f = simplify(f, Lengths::Seen)?;
        let gradient = vjp(&f, wrt)?.function;
        simplify(&gradient, Lengths::Seen)
    };
    let raw = vjp(&f, wrt).expect("it has rules").function;
    let mut group = c.benchmark_group("ir");
    group.bench_function("check", |bench| bench.iter(|| black_box(&f).check()));
    group.bench_function("simplify", |bench| {
        bench.iter(|| simplify(black_box(&f), Lengths::Seen));
    });
    group.bench_function("vjp", |bench| bench.iter(|| vjp(black_box(&f), wrt)));
    group.bench_function("simplify gradient", |bench| {
        bench.iter(|| simplify(black_box(&raw), Lengths::Seen));
    });
    group.bench_function("all", |bench| bench.iter(|| gradient(black_box(&f))));
    group.finish();
}

criterion_group!(benches, compile);
criterion_main!(benches);
