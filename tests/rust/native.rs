//! Machine code beside the interpreter: the same results to the bit, on random functions, on every
//! operator at its special points, and on functions that are wrong.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarKind, ScalarOperator as S, Target, Terminator,
    ValueId, ValueKind,
};
use wyrmling::rules::{self, OpRef, table};
use wyrmling::{Array, DType, Error};

use crate::common::functions::random_function;
use crate::common::outcomes::random_arguments;

/// A result in a form that can be compared: all NaN are one, since machine code may give it another
/// sign.
#[derive(Debug, PartialEq)]
enum Seen {
    Number(DType, u64),
    Int(i64),
    Bool(bool),
}

fn seen(datum: &Datum) -> Seen {
    match datum {
        Datum::Bool(b) => Seen::Bool(*b),
        Datum::Int(i) => Seen::Int(*i),
        Datum::Array(a) => {
            assert!(a.shape().is_empty());
            let x = a.item().expect("well formed");
            let bits = if x.is_nan() { f64::NAN } else { x }.to_bits();
            Seen::Number(a.dtype(), bits)
        }
    }
}

fn outcome(outcome: Outcome) -> Result<Vec<Seen>, u32> {
    match outcome {
        Outcome::Returned(results) => Ok(results.iter().map(seen).collect()),
        Outcome::Left(exit) => Err(exit),
    }
}

fn native(function: Function) -> Compiled {
    let compiled = Compiled::new(function).expect("well formed");
    assert_eq!(compiled.why_interpreted(), None, "{}", compiled.function());
    compiled
}

/// Runs a function both ways, and compares.
fn agrees(compiled: &Compiled, args: &[Datum]) -> Result<Vec<Seen>, u32> {
    let expected = outcome(interpret(compiled.function(), args, 1_000_000).expect("well formed"));
    let found = outcome(compiled.run(args).expect("well formed"));
    assert_eq!(found, expected, "{}\n{args:?}", compiled.function());
    found
}

#[test]
fn random_functions_give_what_the_interpreter_gives() {
    let (mut returned, mut left) = (0, 0);
    for seed in 0..1500 {
        let compiled = native(random_function(seed, 20 + (seed % 60) as usize));
        for k in 0..8 {
            match agrees(&compiled, &random_arguments(seed * 8 + k)) {
                Ok(_) => returned += 1,
                Err(_) => left += 1,
            }
        }
    }
    assert!(returned > 4000 && left > 200, "{returned} {left}");
}

/// A function of one instruction.
fn of_one(kinds: &[ValueKind], write: impl FnOnce(&Builder, &[ValueId]) -> ValueId) -> Compiled {
    let b = Builder::new();
    let args: Vec<ValueId> = kinds.iter().map(|k| b.parameter(k.clone())).collect();
    let result = write(&b, &args);
    b.terminate(Terminator::Return(vec![result]));
    native(b.finish("one").expect("well formed"))
}

/// Numbers from all over, NaN and infinities among them.
fn numbers(special: &[f64], random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut all = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    all.extend([f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e5, 1.000_01e5, -2e5]);
    all.extend_from_slice(special);
    for _ in 0..20 {
        all.push(random.random_range(-4.0..4.0));
        all.push(f64::from_bits(random.random()));
    }
    all
}

#[test]
fn elementwise_operators_have_the_bits_of_their_kernels() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut tried = 0;
    for entry in table() {
        let Some(reference) = entry.reference else {
            continue;
        };
        let mut operators: Vec<OpRef> = (entry.cases)().into_iter().map(|c| c.op).collect();
        let mut attributes = Vec::new();
        operators.retain(|op| {
            let new = !attributes.contains(&op.attributes());
            attributes.push(op.attributes());
            new
        });
        for op in operators {
            for dtype in [DType::F64, DType::F32] {
                let count = reference.special.len();
                let kinds = vec![ValueKind::number(dtype); count];
                let apply = op.clone();
                let compiled = of_one(&kinds, |b, args| {
                    b.try_apply(apply, args).expect("well formed")
                });
                let operands: Vec<Vec<f64>> = reference
                    .special
                    .iter()
                    .map(|special| numbers(special, &mut random))
                    .collect();
                for k in 0..200 {
                    let args: Vec<Datum> = operands
                        .iter()
                        .map(|points| match count {
                            1 => points[k % points.len()],
                            _ => points[random.random_range(0..points.len())],
                        })
                        .map(|x| Array::scalar(dtype, x).into())
                        .collect();
                    // The sign of NaN is nobody's.
                    let nan = |d: &Datum| d.item().expect("well formed").is_nan();
                    let reads_sign = matches!(entry.name, "signbit" | "copysign");
                    if !(reads_sign && args.iter().any(nan)) {
                        agrees(&compiled, &args).expect("well formed");
                    }
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried}");
}

/// Integers at which operators change what they do, and beside them.
const INTEGERS: [i64; 20] = [
    i64::MIN,
    i64::MIN + 1,
    -(1 << 32),
    -65,
    -64,
    -7,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    62,
    63,
    64,
    (1 << 32) - 1,
    1 << 32,
    i64::MAX - 1,
    i64::MAX,
];

#[test]
fn operators_of_a_known_integer_give_what_the_interpreter_gives() {
    for op in S::all() {
        if op.signature().0 != [ScalarKind::Int; 2] {
            continue;
        }
        for known in INTEGERS.into_iter().chain([5, 10, 1 << 62, -3]) {
            for first in [false, true] {
                let compiled = of_one(&[ValueKind::Int], |b, args| {
                    let exit = op.can_fail().then(|| b.exit("it fails", 0));
                    let known = b.literal(known.into());
                    let mut operands = [args[0], known];
                    if first {
                        operands.reverse();
                    }
                    b.compute(op, &operands, exit).expect("well formed")
                });
                for x in INTEGERS {
                    drop(agrees(&compiled, &[x.into()]));
                }
            }
        }
    }
}

#[test]
fn scalar_operators_give_what_the_interpreter_gives() {
    let edge = 9_223_372_036_854_775_808.0;
    let floats = [
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        0.999,
        edge,
        -edge,
        edge - 1024.0,
        -edge - 2048.0,
        1e300,
        -1e300,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let all = |kind: ScalarKind, single: bool| -> (ValueKind, Vec<Datum>) {
        match kind {
            ScalarKind::Bool => (ValueKind::Bool, vec![true.into(), false.into()]),
            ScalarKind::Int => (ValueKind::Int, INTEGERS.map(Datum::from).into()),
            ScalarKind::Number if single => (
                ValueKind::number(DType::F32),
                floats.map(|x| (x as f32).into()).into(),
            ),
            ScalarKind::Number | ScalarKind::Array => (
                ValueKind::number(DType::F64),
                floats.map(Datum::from).into(),
            ),
            ScalarKind::Indices => (
                Datum::from(vec![0_u32, 1]).kind(),
                vec![vec![0_u32, 1].into()],
            ),
            ScalarKind::Index => (
                ValueKind::number(DType::U32),
                [0_u32, 1, u32::MAX].map(Datum::from).into(),
            ),
        }
    };
    for op in S::all() {
        for single in [false, true] {
            let operands: Vec<_> = op.signature().0.iter().map(|&k| all(k, single)).collect();
            let kinds: Vec<ValueKind> = operands.iter().map(|(kind, _)| kind.clone()).collect();
            let compiled = of_one(&kinds, |b, args| {
                let exit = op.can_fail().then(|| b.exit("it fails", 0));
                b.compute(op, args, exit).expect("well formed")
            });
            for x in &operands[0].1 {
                match operands.get(1) {
                    None => drop(agrees(&compiled, std::slice::from_ref(x))),
                    Some((_, others)) => {
                        for y in others {
                            drop(agrees(&compiled, &[x.clone(), y.clone()]));
                        }
                    }
                }
            }
        }
    }
}

/// Indices of computed number, in place of one another, and what a vector has there.
#[test]
fn rows_of_computed_number_are_those_of_the_interpreter() {
    let kinds = [ValueKind::Int, ValueKind::Int, ValueKind::Int];
    let compiled = of_one(&kinds, |b, args| {
        let exit = b.exit("no indices", 0);
        let rows = b.compute(S::Rows(2), args, Some(exit)).expect("three ints");
        let vector = b.fixed(vec![1.5, -2.0, 4.0].into());
        b.try_apply(OpRef::Static(&rules::Gather), &[vector, rows])
            .expect("a vector and indices")
    });
    for first in [-1, 0, 1, 2] {
        for count in [-1, 0, 1, 4, i64::MAX] {
            for last in [-1, 0, 2] {
                let args = [first, count, last].map(Datum::from);
                let expected = interpret(compiled.function(), &args, 100).expect("well formed");
                let found = compiled.run(&args).expect("well formed");
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{args:?}");
            }
        }
    }
}

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

/// Pushes records `pushed` times and takes as many as asked for, in loops.
fn tapes(record: usize) -> Function {
    let b = Builder::new();
    let counts = [b.parameter(ValueKind::Int), b.parameter(ValueKind::Int)];
    let tape = b.tape(vec![ValueKind::Int; record]);
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let out = b.exit("too many", 0);
    let mut sum = zero;
    let mut from = 0;
    for (k, count) in counts.into_iter().enumerate() {
        let header = b.block();
        let (i, total) = (b.parameter(ValueKind::Int), b.parameter(ValueKind::Int));
        b.switch_to(from).expect("well formed");
        b.terminate(Terminator::Jump(to(header, &[zero, sum])));
        let (body, after) = (b.block(), b.block());
        b.switch_to(header).expect("well formed");
        let less = S::CompareInt(Comparison::Less);
        let condition = b.compute(less, &[i, count], None).expect("well formed");
        b.terminate(Terminator::Branch {
            condition,
            then: to(body, &[]),
            otherwise: to(after, &[]),
        });
        b.switch_to(body).expect("well formed");
        let mut next_total = total;
        if k == 0 {
            b.push(tape, &vec![i; record]).expect("well formed");
        } else {
            let popped = b.pop(tape).expect("well formed");
            for &x in &popped {
                next_total = b
                    .compute(S::IntAdd, &[next_total, x], Some(out))
                    .expect("well formed");
            }
        }
        let next = b
            .compute(S::IntAdd, &[i, one], Some(out))
            .expect("well formed");
        b.terminate(Terminator::Jump(to(header, &[next, next_total])));
        b.switch_to(after).expect("well formed");
        (sum, from) = (total, after);
    }
    b.terminate(Terminator::Return(vec![sum]));
    b.finish("tapes").expect("well formed")
}

#[test]
fn tapes_grow_and_are_empty_at_the_start_of_each_run() {
    for record in [0, 1, 3, 40] {
        let compiled = native(tapes(record));
        let run = |pushed: i64, popped: i64| compiled.run(&[pushed.into(), popped.into()]);
        for count in [0, 1, 2, 1023, 1024, 1025, 100_000, 3] {
            let sum = record as i64 * count * (count - 1) / 2;
            let found = outcome(run(count, count).expect("well formed")).expect("well formed");
            assert_eq!(found, [Seen::Int(sum)]);
            // What a run leaves on its tapes is not there for the next.
            run(count + 5, 0).expect("well formed");
            let empty = run(count, count + 1);
            assert!(matches!(empty, Err(Error::Value(_))), "{empty:?}");
        }
    }
}

#[test]
fn any_number_of_threads_run_a_function_at_once() {
    let compiled = native(tapes(2));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for count in 0..300 {
                    let found = compiled
                        .run(&[count.into(), count.into()])
                        .expect("well formed");
                    assert_eq!(
                        outcome(found).expect("well formed"),
                        [Seen::Int(count * (count - 1))]
                    );
                }
            });
        }
    });
}

#[test]
fn wrong_arguments_are_refused() {
    let compiled = native(tapes(1));
    let one = Datum::Int(1);
    assert!(matches!(
        compiled.run(std::slice::from_ref(&one)),
        Err(Error::Value(_))
    ));
    let number = Datum::from(1.0);
    assert!(matches!(
        compiled.run(&[one.clone(), number]),
        Err(Error::Type(_))
    ));
    let truth = Datum::Bool(true);
    assert!(matches!(compiled.run(&[one, truth]), Err(Error::Type(_))));
}

/// Functions that nobody should make, and anybody can.
#[test]
fn wrong_functions_are_refused_or_end_with_an_error() {
    // A switch beyond its targets.
    let b = Builder::new();
    let value = b.parameter(ValueKind::Int);
    let there = b.block();
    b.terminate(Terminator::Return(vec![value]));
    b.switch_to(0).expect("well formed");
    let targets = vec![to(there, &[]); 3];
    b.terminate(Terminator::Switch { value, targets });
    let compiled = native(b.finish("switch").expect("well formed"));
    for value in [0, 2] {
        agrees(&compiled, &[Datum::Int(value)]).expect("well formed");
    }
    for value in [-1, 3, 1 << 32, i64::MIN] {
        let found = compiled.run(&[Datum::Int(value)]);
        assert!(matches!(found, Err(Error::Value(_))), "{found:?}");
    }

    // A result of another kind than the function says: the operator gives float64.
    let b = Builder::new();
    let x = b.parameter(ValueKind::number(DType::F64));
    let y = b
        .try_apply(OpRef::Static(&rules::Exp), &[x])
        .expect("well formed");
    b.terminate(Terminator::Return(vec![y]));
    let mut function = b.finish("exp").expect("well formed");
    for dtype in [DType::F32, DType::U32] {
        function.kinds[y as usize] = ValueKind::number(dtype);
        let refused = Compiled::new(function.clone());
        assert!(matches!(refused, Err(Error::Type(_))));
    }

    // Returns that do not agree.
    let b = Builder::new();
    let truth = b.parameter(ValueKind::Bool);
    let [one, two] = [(); 2].map(|()| b.block());
    b.switch_to(one).expect("well formed");
    b.terminate(Terminator::Return(vec![truth]));
    b.switch_to(two).expect("well formed");
    b.terminate(Terminator::Return(Vec::new()));
    b.switch_to(0).expect("well formed");
    b.terminate(Terminator::Branch {
        condition: truth,
        then: to(one, &[]),
        otherwise: to(two, &[]),
    });
    let refused = Compiled::new(b.finish("returns").expect("well formed"));
    assert!(matches!(refused, Err(Error::Type(_))));

    // No way out of a function, and a block that nobody reaches.
    let b = Builder::new();
    let lost = b.block();
    let x = b.literal(1.0.into());
    b.terminate(Terminator::Jump(to(lost, &[])));
    b.switch_to(0).expect("well formed");
    let exit = b.exit("always", 0);
    b.terminate(Terminator::Leave(exit));
    let _ = x;
    let compiled = native(b.finish("leaves").expect("well formed"));
    assert_eq!(agrees(&compiled, &[]), Err(0));
}
