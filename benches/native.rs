//! Functions of the ir as machine code, beside the same loops by hand: how long they take, and how long
//! it takes to compile them.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use wyrmling::exec::{Compiled, Outcome};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator, Target, Terminator, ValueId, ValueKind,
};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{DType, Error, Result};

/// Turns of the loop.
const TURNS: i64 = 1000;

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

/// Writes `for _ in 0..TURNS { value = body(value) }` after the current block: what the value is then.
fn repeat(
    b: &Builder,
    value: ValueId,
    body: impl FnOnce(ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let turns = b.literal(Datum::Int(TURNS));
    let exit = b.exit("an integer of more than 64 bits", 0);
    let before = b.current();
    let header = b.block();
    let (i, x) = (b.parameter(ValueKind::Int), b.parameter(b.kind(value)?));
    let less = ScalarOperator::CompareInt(Comparison::Less);
    let condition = b.compute(less, &[i, turns], None)?;
    let inside = b.block();
    let y = body(x)?;
    let next = b.compute(ScalarOperator::IntAdd, &[i, one], Some(exit))?;
    b.terminate(Terminator::Jump(to(header, &[next, y])));
    let after = b.block();
    b.switch_to(header)?;
    b.terminate(Terminator::Branch {
        condition,
        then: to(inside, &[]),
        otherwise: to(after, &[]),
    });
    b.switch_to(before)?;
    b.terminate(Terminator::Jump(to(header, &[zero, value])));
    b.switch_to(after)?;
    Ok(x)
}

/// The value of a thousand times `x = sin(x)·1.01 + 0.1·x`, and its gradient. What is kept for the way
/// back is `x`, or its cosine.
fn gradient(keeps_cosine: bool) -> Result<Function> {
    let b = Builder::new();
    let apply = |op: &'static dyn Operator, args: &[ValueId]| b.try_apply(OpRef::Static(op), args);
    let x = b.parameter(ValueKind::number(DType::F64));
    let [scale, rest, one] = [1.01, 0.1, 1.0].map(|x| b.literal(x.into()));
    let tape = b.tape(vec![ValueKind::number(DType::F64)]);
    let y = repeat(&b, x, |x| {
        let kept = match keeps_cosine {
            true => apply(&rules::Cos, &[x])?,
            false => x,
        };
        b.push(tape, &[kept])?;
        let sine = apply(&rules::Sin, &[x])?;
        let product = apply(&rules::Mul, &[sine, scale])?;
        let other = apply(&rules::Mul, &[rest, x])?;
        apply(&rules::Add, &[product, other])
    })?;
    let g = repeat(&b, one, |g| {
        let kept = b.pop(tape)?[0];
        let slope = apply(&rules::Mul, &[g, scale])?;
        let cosine = match keeps_cosine {
            true => kept,
            false => apply(&rules::Cos, &[kept])?,
        };
        let product = apply(&rules::Mul, &[slope, cosine])?;
        let other = apply(&rules::Mul, &[rest, g])?;
        apply(&rules::Add, &[product, other])
    })?;
    b.terminate(Terminator::Return(vec![y, g]));
    b.finish("gradient")
}

/// The same by hand.
fn by_hand(x: f64, tape: &mut Vec<f64>) -> (f64, f64) {
    let mut x = x;
    for _ in 0..TURNS {
        tape.push(x);
        x = x.sin() * 1.01 + 0.1 * x;
    }
    let mut g = 1.0;
    while let Some(x) = tape.pop() {
        g = g * 1.01 * x.cos() + 0.1 * g;
    }
    (x, g)
}

fn run(function: &Compiled) -> Result<f64> {
    match function.run(&[black_box(0.7).into()])? {
        Outcome::Returned(results) => results[1].item(),
        Outcome::Left(exit) => Err(Error::Value(format!("left by {exit}"))),
    }
}

fn native(c: &mut Criterion) {
    let mut tape = Vec::new();
    let expected = by_hand(0.7, &mut tape).1;
    let mut group = c.benchmark_group("native");
    let by_hand = |b: &mut Bencher<'_>| b.iter(|| by_hand(black_box(0.7), &mut tape));
    group.bench_function("gradient/by_hand", by_hand);
    for (name, keeps_cosine) in [("keeps_x", false), ("keeps_cosine", true)] {
        let function = Arc::new(gradient(keeps_cosine).expect("a function"));
        let compile = || Compiled::new(Arc::clone(&function)).expect("a well formed function");
        let compiled = compile();
        assert_eq!(compiled.why_interpreted(), None);
        let found = run(&compiled).expect("it runs");
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs(),
            "{found} {expected}"
        );
        group.bench_function(format!("gradient/{name}"), |b| b.iter(|| run(&compiled)));
        group.bench_function(format!("compile/{name}"), |b| b.iter(compile));
    }
}

criterion_group!(benches, native);
criterion_main!(benches);
