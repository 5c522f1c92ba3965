//! Simplifying functions of one block, as plans are made of: operators that do nothing, and numbers.

use wyrmling::ir::{Builder, Expression, Lengths, Terminator, ValueId, simplify};
use wyrmling::rules::{Add, BroadcastTo, Div, Exp, Mul, Neg, OpRef, Operator, Sub};
use wyrmling::{Array, DType, Type};

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
