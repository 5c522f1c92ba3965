//! Simplifying functions of arrays: operators that do nothing in functions of one block, as plans are
//! made of, and lengths that are not those that were seen.

use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{
    Builder, Datum, Expression, Function, Lengths, Terminator, ValueId, simplify, vjp,
};
use wyrmling::rules::{Add, BroadcastTo, Div, Exp, Gather, Mul, Neg, OpRef, Operator, Sub, Sum};
use wyrmling::{Array, DType, Type};

use crate::common::functions::random_function;
use crate::common::outcomes::{bits, random_arguments};
use crate::common::vectors::vectorized;

/// The operators that are left of a function of `x`, four float64, which builds its result by `f`.
fn left(
    f: impl Fn(&dyn Fn(&'static dyn Operator, &[ValueId]) -> ValueId, &Builder, ValueId) -> ValueId,
) -> Vec<String> {
    let b = Builder::new();
    let x = b.parameter(Type::new(DType::F64, &[4]));
    let apply = |op: &'static dyn Operator, args: &[ValueId]| {
        b.try_apply(OpRef::Static(op), args).expect("fitting types")
    };
    let result = f(&apply, &b, x);
    b.terminate(Terminator::Return(vec![result]));
    let function = b.finish("f").expect("fitting types");
    let simple = simplify(&function, Lengths::Exact).expect("one block");
    let applied = simple.blocks[0]
        .instructions
        .iter()
        .filter_map(|i| match &i.expression {
            Expression::Apply(op, _) => Some(op.name().to_owned()),
            _ => None,
        });
    applied.collect()
}

#[test]
fn operators_that_do_nothing_are_dropped() {
    let none: [&str; 0] = [];
    for (op, number, first, expected) in [
        (&Mul as &'static dyn Operator, 1.0, true, &none[..]),
        (&Mul, 1.0, false, &none),
        (&Div, 1.0, false, &none),
        (&Sub, 0.0, false, &none),
        (&Mul, -1.0, true, &["neg"]),
        (&Mul, -1.0, false, &["neg"]),
        (&Div, 1.0, true, &["div"]),
        (&Sub, 0.0, true, &["sub"]),
        (&Mul, 0.0, true, &["mul"]),
        (&Mul, 2.0, false, &["mul"]),
        (&Sub, 1.0, false, &["sub"]),
        // -0 + 0 is 0, and so is -0 - -0: they are no identities.
        (&Add, 0.0, false, &["add"]),
        (&Sub, -0.0, false, &["sub"]),
        (&Add, -0.0, false, &none),
        (&Add, -0.0, true, &none),
    ] {
        let found = left(|apply, b, x| {
            let number = b.fixed(number.into());
            let args = if first { [number, x] } else { [x, number] };
            apply(op, &args)
        });
        assert_eq!(found, expected, "{} {number} {first}", op.name());
    }
    // Where the number gives the result its shape, something is done.
    let found = left(|apply, b, x| {
        let one = b.fixed(Array::full(&Type::new(DType::F64, &[3, 4]), 1.0));
        apply(&Mul, &[x, one])
    });
    assert_eq!(found, ["mul"]);
}

#[test]
fn what_is_known_is_computed_once_and_now() {
    let none: [&str; 0] = [];
    let folded = left(|apply, b, _| {
        let (two, three) = (b.fixed(2.0.into()), b.fixed(3.0.into()));
        apply(&Exp, &[apply(&Add, &[two, three])])
    });
    assert_eq!(folded, none);
    let negated = left(|apply, _, x| apply(&Neg, &[apply(&Neg, &[x])]));
    assert_eq!(negated, none);
    let thrice = left(|apply, _, x| apply(&Neg, &[apply(&Neg, &[apply(&Neg, &[x])])]));
    assert_eq!(thrice, ["neg"]);
    // The signs of the sigmoid's derivative: -(-x * y) is x * y, and so is a quotient.
    for op in [&Mul as &'static dyn Operator, &Div] {
        for first in [true, false] {
            let signs = left(|apply, _, x| {
                let (minus, y) = (apply(&Neg, &[x]), apply(&Exp, &[x]));
                let args = if first { [minus, y] } else { [y, minus] };
                apply(&Neg, &[apply(op, &args)])
            });
            assert_eq!(signs, ["exp", op.name()]);
        }
    }
    let shared = left(|apply, _, x| apply(&Add, &[apply(&Exp, &[x]), apply(&Exp, &[x])]));
    assert_eq!(shared, ["exp", "add"]);
    let unused = left(|apply, _, x| {
        apply(&Exp, &[x]);
        apply(&Neg, &[x])
    });
    assert_eq!(unused, ["neg"]);
    // Equal numbers are one, so what is computed from them is too.
    let numbers = left(|apply, b, x| {
        let sums = [(); 2].map(|()| apply(&Add, &[x, b.fixed(5.0.into())]));
        apply(&Mul, &sums)
    });
    assert_eq!(numbers, ["add", "mul"]);
}

#[test]
fn a_repeated_number_is_read_once() {
    let repeat = |b: &Builder, number| {
        let shape = [4].as_slice().into();
        b.try_apply(OpRef::new(BroadcastTo { shape }), &[number])
            .expect("fits")
    };
    let found = left(|apply, b, x| {
        let number = b.fixed(5.0.into());
        apply(&Add, &[x, repeat(b, number)])
    });
    assert_eq!(found, ["add"]);
    // Of two one still gives the shape.
    let found = left(|apply, b, _| {
        let number = b.fixed(5.0.into());
        apply(&Add, &[repeat(b, number), repeat(b, number)])
    });
    assert_eq!(found.last().map(String::as_str), Some("add"));
    assert_eq!(found.len(), 2);
}

#[test]
fn a_number_times_repeated_ones_is_the_number() {
    let repeat = |b: &Builder, number: f64, shape: &[usize]| {
        let shape = shape.into();
        let number = b.fixed(number.into());
        b.try_apply(OpRef::new(BroadcastTo { shape }), &[number])
            .expect("fits")
    };
    let total = |b: &Builder, x| {
        let (axes, keepdims) = ([0].as_slice().into(), false);
        b.try_apply(OpRef::new(Sum { axes, keepdims }), &[x])
            .expect("fits")
    };
    for first in [true, false] {
        // As the gradient of a sum of terms with the factor -1.
        let minus = left(|apply, b, x| {
            let (ones, minus) = (repeat(b, 1.0, &[4]), b.fixed((-1.0).into()));
            let factor = apply(&Mul, &if first { [ones, minus] } else { [minus, ones] });
            apply(&Mul, &[factor, apply(&Exp, &[x])])
        });
        assert_eq!(minus, ["exp", "neg"]);
        let computed = left(|apply, b, x| {
            let (ones, sum) = (repeat(b, 1.0, &[4]), total(b, x));
            let factor = apply(&Mul, &if first { [ones, sum] } else { [sum, ones] });
            apply(&Add, &[factor, x])
        });
        assert_eq!(computed, ["sum", "add"]);
    }
    // Where nothing else gives the result its shape, it is still repeated.
    let alone = left(|apply, b, x| apply(&Mul, &[repeat(b, 1.0, &[4]), total(b, x)]));
    assert_eq!(alone, ["sum", "broadcast_to"]);
    // Not where the ones are other numbers, nor where they repeat what is no number.
    let twos = left(|apply, b, x| apply(&Mul, &[repeat(b, 2.0, &[4]), total(b, x)]));
    assert_eq!(twos, ["broadcast_to", "sum", "mul"]);
    let rows = left(|apply, b, x| apply(&Mul, &[repeat(b, 1.0, &[3, 4]), x]));
    assert_eq!(rows.last().map(String::as_str), Some("mul"));
}

/// What a function does for arrays of other lengths than were seen, it does when it is simplified.
#[test]
fn functions_of_arrays_give_the_same_for_all_lengths() {
    let (mut returned, mut before, mut after) = (0, 0, 0);
    for seed in 0..300 {
        let number = random_function(seed, 40);
        let mut function = vectorized(&number, 1);
        if seed % 3 == 0 {
            let wrt = &function.parameters()[..2];
            function = vjp(&function, wrt).expect("it has rules").function;
        }
        let small = simplify(&function, Lengths::Seen).expect("memory");
        small.check().expect("well formed");
        let size = |f: &Function| f.blocks.iter().map(|b| b.instructions.len()).sum::<usize>();
        (before, after) = (before + size(&function), after + size(&small));
        for (k, length) in [1, 3, 3, 2].into_iter().enumerate() {
            let args = random_arguments(seed * 4 + k as u64).into_iter();
            let long = |datum: Datum| match datum {
                Datum::Array(a) => {
                    let x = a.item().expect("a number");
                    let steps = (0..length).map(|k| x + k as f64 * 0.25);
                    Datum::from(steps.collect::<Vec<f64>>())
                }
                other => other,
            };
            let mut args: Vec<Datum> = args.map(long).collect();
            while args.len() < function.parameters().len() {
                args.push(vec![0.5; length].into());
            }
            let run = |f: &Function| match interpret(f, &args, 1_000_000) {
                Ok(Outcome::Returned(results)) => Ok(bits(&results)),
                Ok(Outcome::Left(exit)) => Err(format!("left by {exit}")),
                Err(error) => Err(error.to_string()),
            };
            let (found, expected) = (run(&small), run(&function));
            returned += usize::from(expected.is_ok());
            assert_eq!(found, expected, "{seed} {length}\n{function}\n{small}");
        }
    }
    assert!(
        returned > 600 && after < before,
        "{returned} {before} {after}"
    );
}

/// The gradient of an element of an array adds it in place: nothing of the array's length is made.
#[test]
fn a_gradient_of_elements_makes_no_array_for_each() {
    let b = Builder::new();
    let array = b.parameter(Type::new(DType::F64, &[5]));
    let index = b.parameter(Type::scalar(DType::U32));
    let apply = |op: &'static dyn Operator, args: &[ValueId]| {
        b.try_apply(OpRef::Static(op), args).expect("fitting types")
    };
    let element = apply(&Gather, &[array, index]);
    let other = apply(&Gather, &[array, index]);
    b.terminate(Terminator::Return(vec![apply(&Mul, &[element, other])]));
    let function = b.finish("elements").expect("fitting types");
    let gradient = vjp(&function, &[array]).expect("it has rules").function;
    let small = simplify(&gradient, Lengths::Seen).expect("memory");
    let scatters = small.blocks[0]
        .instructions
        .iter()
        .filter(|i| matches!(&i.expression, Expression::Apply(op, _) if op.scatter().is_some()));
    assert_eq!(scatters.count(), 1, "{small}");
    let args: [Datum; 3] = [
        vec![1.0, 2.0, 3.0].into(),
        Array::from(1u32).into(),
        1.0.into(),
    ];
    let found = interpret(&small, &args, 100).expect("it runs");
    let found = found.arrays().expect("arrays");
    assert_eq!(found[1].to_f64(), [0.0, 4.0, 0.0]);
}
