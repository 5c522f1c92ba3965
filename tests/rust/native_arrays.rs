//! Machine code for functions with arrays, beside the interpreter: random functions with loops, branches
//! and tapes of arrays, and their gradients.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::{View, ViewMut};
use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, Lengths, ScalarOperator as S, Target, Terminator,
    ValueId, ValueKind, jvp, simplify, vjp,
};
use wyrmling::rules::Ex;
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{Array, DType, Error, Result, Type};

use crate::common::array_functions::{array_arguments, random_array_function};

/// Shape and bits of each result.
type Bits = Vec<(Vec<usize>, Vec<u64>)>;

/// The bits of results, where all NaN are one; or the exit.
fn bits(outcome: &Outcome) -> Result<Bits, u32> {
    let one = |datum: &Datum| match datum {
        Datum::Array(a) => {
            let canonical = |x: &f64| if x.is_nan() { f64::NAN } else { *x }.to_bits();
            (
                a.shape().to_vec(),
                a.to_f64().iter().map(canonical).collect(),
            )
        }
        Datum::Int(i) => (Vec::new(), vec![*i as u64]),
        Datum::Bool(b) => (Vec::new(), vec![u64::from(*b)]),
    };
    match outcome {
        Outcome::Returned(results) => Ok(results.iter().map(one).collect()),
        Outcome::Left(exit) => Err(*exit),
    }
}

pub fn native(function: Function) -> Compiled {
    let compiled = Compiled::new(function).expect("well formed");
    assert_eq!(compiled.why_interpreted(), None, "{}", compiled.function());
    compiled
}

/// Runs a function both ways, and compares; whether it returned. Arguments stay as they are.
pub fn agrees(compiled: &Compiled, args: &[Datum]) -> bool {
    let show = |args: &[Datum]| format!("{args:?}");
    let before = show(args);
    let expected = interpret(compiled.function(), args, 1_000_000);
    let found = compiled.run(args);
    assert_eq!(show(args), before);
    match (&found, &expected) {
        (Ok(found), Ok(expected)) => {
            let what = compiled.function();
            assert_eq!(bits(found), bits(expected), "{what}\n{args:?}");
            bits(found).is_ok()
        }
        (Err(found), Err(expected)) => {
            assert_eq!(found, expected);
            false
        }
        _ => panic!("{found:?}, not {expected:?}\n{}", compiled.function()),
    }
}

fn to(block: usize, args: Vec<ValueId>) -> Target {
    Target { block, args }
}

#[test]
fn random_functions_of_arrays_and_their_gradients_agree() {
    let mut random_numbers = Xoshiro256PlusPlus::seed_from_u64(3);
    let (mut returned, mut refused, mut differentiated) = (0, 0, 0);
    // Machine code reaches elements of up to three axes; of four the operators do.
    const SHAPES: [&[usize]; 5] = [&[4], &[4, 5], &[4], &[5, 4, 4], &[4, 4, 4, 4]];
    for seed in 0..600 {
        let shape = SHAPES[seed as usize % SHAPES.len()];
        let function = random_array_function(seed, 10 + seed as usize % 40, shape);
        let pullback = vjp(&function, function.parameters());
        let compiled = native(function);
        for _ in 0..3 {
            let args = array_arguments(&mut random_numbers, shape);
            returned += u32::from(agrees(&compiled, &args));
        }
        // Indices are beyond the end of one axis.
        for axis in 0..shape.len() {
            let mut shorter = shape.to_vec();
            shorter[axis] = 3;
            let args = array_arguments(&mut random_numbers, &shorter);
            refused += u32::from(!agrees(&compiled, &args));
        }
        let Ok(pullback) = pullback else { continue };
        // That gradients are well formed is tested where they are made.
        if pullback.function.check().is_err() {
            continue;
        }
        let compiled = native(pullback.function);
        let mut args = array_arguments(&mut random_numbers, shape);
        args.extend(array_arguments(&mut random_numbers, shape));
        differentiated += u32::from(agrees(&compiled, &args));
    }
    assert!(
        returned > 850 && refused > 200 && differentiated > 250,
        "{returned} {refused} {differentiated}"
    );
}

/// Writes `for i in range(n): y = body(y, i)` from the first block on: what `y` is then. A sum that does not
/// fit leaves by `exit`.
fn counted(
    b: &Builder,
    (start, n): (ValueId, ValueId),
    exit: u32,
    body: impl FnOnce(ValueId, ValueId) -> ValueId,
) -> ValueId {
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let kind = b.kind(start).expect("it is there");
    let header = b.block();
    let (y, i) = (b.parameter(kind), b.parameter(ValueKind::Int));
    let less = S::CompareInt(Comparison::Less);
    let condition = b.compute(less, &[i, n], None).expect("integers");
    let inside = b.block();
    let result = body(y, i);
    let next = b.compute(S::IntAdd, &[i, one], Some(exit));
    let next = next.expect("integers");
    b.terminate(Terminator::Jump(to(header, vec![result, next])));
    let after = b.block();
    b.switch_to(header).expect("it is there");
    b.terminate(Terminator::Branch {
        condition,
        then: to(inside, Vec::new()),
        otherwise: to(after, Vec::new()),
    });
    b.switch_to(0).expect("it is there");
    b.terminate(Terminator::Jump(to(header, vec![start, zero])));
    b.switch_to(after).expect("it is there");
    y
}

/// `for i in range(n): y = y·z + c[i]`, as far as the indices go.
fn horner() -> Function {
    let b = Builder::new();
    let c = b.parameter(Type::new(DType::F64, &[3]));
    let z = b.parameter(ValueKind::number(DType::F64));
    let n = b.parameter(ValueKind::Int);
    let (start, exit) = (b.literal(0.0.into()), b.exit("too many", 0));
    let apply = |op: &'static dyn Operator, args: &[ValueId]| {
        b.try_apply(OpRef::Static(op), args).expect("fitting types")
    };
    let y = counted(&b, (start, n), exit, |y, i| {
        let index = b.compute(S::IntToIndex, &[i], Some(exit));
        let element = apply(&rules::Gather, &[c, index.expect("an integer")]);
        let product = apply(&rules::Mul, &[y, z]);
        apply(&rules::Add, &[product, element])
    });
    b.terminate(Terminator::Return(vec![y]));
    b.finish("horner").expect("fitting kinds")
}

#[test]
fn elements_are_read_and_added_to_for_any_length_and_no_further() {
    let function = horner();
    let pullback = vjp(&function, &function.parameters()[..2])
        .unwrap()
        .function;
    let (value, gradient) = (native(function), native(pullback));
    for length in [0_usize, 1, 3, 16, 17, 1000] {
        let c: Vec<f64> = (0..length).map(|i| (i as f64).sin()).collect();
        let array = || Datum::from(Array::from(c.clone()));
        for asked in [0, length, length + 1] {
            let args = vec![array(), 0.9.into(), Datum::Int(asked as i64)];
            assert_eq!(agrees(&value, &args), asked <= length);
            let mut args = args;
            args.push(1.0.into());
            assert_eq!(agrees(&gradient, &args), asked <= length);
        }
    }
    let wrong = Array::zeros(&Type::new(DType::F64, &[2, 2])).unwrap();
    let found = value.run(&[wrong.into(), 0.9.into(), Datum::Int(2)]);
    assert!(matches!(found, Err(Error::Type(_))), "{found:?}");
}

/// `for i in range(n): y[i] = c[i]·c[0]`, where each y is kept on a tape if `kept`; then the sum of y and of
/// all that was kept.
fn filled(kept: bool) -> Function {
    let b = Builder::new();
    let vector = || Type::new(DType::F64, &[3]);
    let (c, n) = (b.parameter(vector()), b.parameter(ValueKind::Int));
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let tape = b.tape(vec![ValueKind::from(vector())]);
    let exit = b.exit("too many", 0);
    let apply = |op: &'static dyn Operator, args: &[ValueId]| {
        b.try_apply(OpRef::Static(op), args).expect("fitting types")
    };
    let compute = |op: S, args: &[ValueId]| b.compute(op, args, Some(exit)).expect("integers");
    let less = |x, y| {
        let less = S::CompareInt(Comparison::Less);
        b.compute(less, &[x, y], None).expect("integers")
    };
    let switch_to = |block| b.switch_to(block).expect("it is there");
    let first = compute(S::IntToIndex, &[zero]);
    let start = apply(&rules::Neg, &[c]);
    let header = b.block();
    let (y, i) = (b.parameter(vector()), b.parameter(ValueKind::Int));
    let more = less(i, n);
    let body = b.block();
    let index = compute(S::IntToIndex, &[i]);
    let elements = [index, first].map(|at| apply(&rules::Gather, &[c, at]));
    let product = apply(&rules::Mul, &elements);
    let changed = apply(&rules::ReplaceRow, &[y, product, index]);
    if kept {
        b.push(tape, &[changed]).expect("an array");
    }
    let next = compute(S::IntAdd, &[i, one]);
    b.terminate(Terminator::Jump(to(header, vec![changed, next])));
    let back = b.block();
    let (total, left) = (b.parameter(vector()), b.parameter(ValueKind::Int));
    let some = less(zero, left);
    let popping = b.block();
    let sum = match kept {
        true => {
            let before = b.pop(tape).expect("a tape")[0];
            apply(&rules::Add, &[total, before])
        }
        false => total,
    };
    let fewer = compute(S::IntSub, &[left, one]);
    b.terminate(Terminator::Jump(to(back, vec![sum, fewer])));
    let end = b.block();
    b.terminate(Terminator::Return(vec![total]));
    switch_to(0);
    b.terminate(Terminator::Jump(to(header, vec![start, zero])));
    switch_to(header);
    b.terminate(Terminator::Branch {
        condition: more,
        then: to(body, Vec::new()),
        otherwise: to(back, vec![y, n]),
    });
    switch_to(back);
    b.terminate(Terminator::Branch {
        condition: some,
        then: to(popping, Vec::new()),
        otherwise: to(end, Vec::new()),
    });
    b.finish("filled").expect("fitting kinds")
}

#[test]
fn elements_are_changed_in_place_and_never_those_that_others_have() {
    for kept in [false, true] {
        let function = filled(kept);
        let pullback = vjp(&function, &function.parameters()[..1]).unwrap();
        let (value, gradient) = (native(function), native(pullback.function));
        for length in [0_usize, 1, 3, 16, 17, 400] {
            let c: Vec<f64> = (0..length).map(|i| (i as f64).cos()).collect();
            let array = || Datum::from(Array::from(c.clone()));
            for asked in [0, length, length + 1] {
                let args = vec![array(), Datum::Int(asked as i64)];
                assert_eq!(agrees(&value, &args), asked <= length);
                let mut args = args;
                args.push(array());
                assert_eq!(agrees(&gradient, &args), asked <= length);
            }
        }
    }
}

#[test]
fn forward_mode_over_a_loop_that_adds_to_elements_adds_to_elements() {
    let function = horner();
    let simple = |function: &Function| simplify(function, Lengths::Seen).unwrap();
    let pullback = vjp(&function, &function.parameters()[..2]).unwrap();
    let pullback = simple(&pullback.function);
    let both = jvp(&pullback, &pullback.parameters()[..2]).unwrap();
    let both = simple(&both.function);
    let shown = both.to_string();
    // No array is made in a turn.
    assert!(
        shown.matches("accumulate[base: true").count() >= 2,
        "{shown}"
    );
    assert!(!shown.contains("accumulate[base: false"), "{shown}");
    let compiled = native(both);
    for length in [0_usize, 1, 5, 40] {
        let c: Vec<f64> = (0..length).map(|i| (i as f64).sin()).collect();
        let array = || Datum::from(Array::from(c.clone()));
        let n = Datum::Int(length as i64);
        let args = [array(), 0.9.into(), n, 1.0.into(), array(), 0.5.into()];
        assert!(agrees(&compiled, &args));
    }
}

/// What [`Liar`] does when it runs.
static LIE: AtomicU8 = AtomicU8::new(0);

/// An operator that gives what it was built to give, or another type, or panics.
#[derive(Debug, Clone)]
struct Liar;

impl Operator for Liar {
    fn name(&self) -> &str {
        "liar"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(match LIE.load(Ordering::Relaxed) {
            1 => Type::new(DType::F32, &args[0].shape),
            2 => Type::new(DType::F64, &[2, 2]),
            3 => Type::scalar(DType::F64),
            4 => Type::new(DType::U32, &[1]),
            _ => args[0].clone(),
        })
    }
    fn eval(&self, _: &[View<'_>], _: ViewMut<'_>) -> Result<()> {
        match LIE.load(Ordering::Relaxed) {
            5 => panic!("on purpose"),
            _ => Ok(()),
        }
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

#[test]
fn operators_that_lie_give_errors_and_those_that_panic_panic() {
    let b = Builder::new();
    let x = b.parameter(Type::new(DType::F64, &[3]));
    let y = b.try_apply(OpRef::new(Liar), &[x]).unwrap();
    let index = b.literal(Array::from(2_u32).into());
    let element = b
        .try_apply(OpRef::Static(&rules::Gather), &[y, index])
        .unwrap();
    let number = b.try_apply(OpRef::new(Liar), &[element]).unwrap();
    b.terminate(Terminator::Return(vec![number, y]));
    let compiled = native(b.finish("lies").unwrap());
    let run = || compiled.run(&[Array::from(vec![1.0, 2.0, 3.0]).into()]);
    for lie in 1..=4 {
        LIE.store(lie, Ordering::Relaxed);
        assert!(matches!(run(), Err(Error::Type(_))), "{lie}");
    }
    LIE.store(5, Ordering::Relaxed);
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    LIE.store(0, Ordering::Relaxed);
    assert!(run().is_ok());
}

/// `for i in range(3): x = sin(sum_to(x·v, x)) with x[0] = 0.5`: the result, the first operand, and it
/// added to itself.
fn many_operators() -> Function {
    let b = Builder::new();
    let [x, v] = [(); 2].map(|()| b.parameter(Type::new(DType::F64, &[3])));
    let (three, half) = (b.literal(Datum::Int(3)), b.literal(0.5.into()));
    let first = b.literal(Array::from(0u32).into());
    let exit = b.exit("too many", 0);
    let apply = |op: &'static dyn Operator, args: &[ValueId]| {
        b.try_apply(OpRef::Static(op), args).expect("fitting types")
    };
    let y = counted(&b, (x, three), exit, |y, _| {
        let product = apply(&rules::Mul, &[y, v]);
        let sum = apply(&rules::SumTo, &[product, y]);
        let sine = apply(&rules::Sin, &[sum]);
        apply(&rules::ReplaceRow, &[sine, half, first])
    });
    let same = apply(&rules::SumTo, &[x, x]);
    let twice = apply(&rules::Add, &[same, x]);
    b.terminate(Terminator::Return(vec![y, same, twice]));
    b.finish("many operators").expect("fitting kinds")
}

#[test]
fn operators_that_are_one_step_take_any_lengths_one_after_the_other() {
    let compiled = native(many_operators());
    let array = |n: usize| {
        Datum::from(Array::from(
            (0..n).map(|i| i as f64 - 1.5).collect::<Vec<_>>(),
        ))
    };
    // More pairs of lengths than are remembered, some that do not fit, large arrays, and each again.
    for _ in 0..2 {
        for n in [3, 1, 2, 17, 1, 40, 0, 10_000, 3] {
            for m in [1, n, n + 1] {
                let fits = n > 0 && (m == 1 || n == m || n == 1);
                assert_eq!(
                    agrees(&compiled, &[array(n), array(m)]),
                    fits,
                    "{n} and {m}"
                );
            }
        }
    }
}
