//! Integers, truth, exits, tapes and switches.

use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Expression, Function, Instruction, ScalarOperator, Terminator,
    ValueId, ValueKind,
};
use wyrmling::{Error, rules, rules::OpRef};

use super::{apply, number, to};

/// `f(n) = n!` where it fits 64 bits, by integers; else it is left by exit 0, and by 1 where `n < 0`.
fn factorial() -> Function {
    let b = Builder::new();
    let n = b.parameter(ValueKind::Int);
    let exits = [b.exit("too large", 3), b.exit("negative", 2)];
    let [zero, one] = [0, 1].map(|i: i64| b.literal(i.into()));
    let compute = |op, args: &[ValueId], exit| b.compute(op, args, exit).expect("fitting kinds");
    let natural = compute(
        ScalarOperator::CompareInt(Comparison::GreaterEqual),
        &[n, zero],
        None,
    );
    b.guard(natural, exits[1]).expect("a bool");
    b.terminate(Terminator::Jump(to(1, &[n, one])));

    b.block();
    let (left, product) = (b.parameter(ValueKind::Int), b.parameter(ValueKind::Int));
    b.name(product, "product");
    let more = compute(ScalarOperator::IntToBool, &[left], None);
    b.terminate(Terminator::Branch {
        condition: more,
        then: to(2, &[]),
        otherwise: to(3, &[]),
    });

    b.block();
    b.line(3);
    let next = compute(ScalarOperator::IntMul, &[product, left], Some(exits[0]));
    let fewer = compute(ScalarOperator::IntSub, &[left, one], Some(exits[0]));
    b.terminate(Terminator::Jump(to(1, &[fewer, next])));

    b.block();
    b.terminate(Terminator::Return(vec![product]));
    b.finish("factorial").expect("fitting kinds")
}

#[test]
fn functions_of_integers_run_and_are_left() {
    let factorial = factorial();
    let run = |n: i64| interpret(&factorial, &[n.into()], 1000).unwrap();
    for (n, expected) in [(0, 1), (1, 1), (5, 120), (20, 2_432_902_008_176_640_000)] {
        match run(n) {
            Outcome::Returned(results) => {
                assert!(
                    matches!(results[..], [Datum::Int(i)] if i == expected),
                    "{results:?}"
                );
            }
            Outcome::Left(exit) => panic!("{n}! was left by {exit}"),
        }
    }
    assert!(matches!(run(21), Outcome::Left(0)));
    assert!(matches!(run(-1), Outcome::Left(1)));
    let printed = factorial.to_string();
    for line in [
        "1(%4: int, %5: int):  # product",
        "  guard %3 or leave by 1",
        "  %7: int = int_mul(%5, %4) or leave by 0  # line 3",
        "exit 1: line 2: negative",
    ] {
        assert!(
            printed.lines().any(|found| found == line),
            "{line}\n{printed}"
        );
    }
}

#[test]
fn a_block_may_leave() {
    let mut function = factorial();
    function.blocks[3].terminator = Terminator::Leave(1);
    function.check().unwrap();
    let left = interpret(&function, &[3i64.into()], 99).unwrap();
    assert!(matches!(left, Outcome::Left(1)));
    assert!(function.to_string().contains("\n  leave by 1\n"));
}

/// What is pushed comes back in the opposite order, record by record.
#[test]
fn tapes_return_what_was_pushed_in_the_opposite_order() {
    let b = Builder::new();
    let (x, n) = (b.parameter(number()), b.parameter(ValueKind::Int));
    let tape = b.tape(vec![number().into(), ValueKind::Int]);
    let three = b.literal(3i64.into());
    let square = apply(&b, &rules::Square, &[x]);
    b.push(tape, &[x, n]).unwrap();
    b.push(tape, &[square, three]).unwrap();
    let (last, first) = (b.pop(tape).unwrap(), b.pop(tape).unwrap());
    b.terminate(Terminator::Return(vec![
        last[0], last[1], first[0], first[1],
    ]));
    assert!(matches!(b.push(tape, &[n, x]), Err(Error::Type(_))));
    assert!(matches!(b.push(tape, &[x]), Err(Error::Value(_))));
    assert!(matches!(b.push(9, &[x]), Err(Error::Value(_))));
    let mut function = b.finish("records").unwrap();
    let run = |f: &Function| interpret(f, &[5.0.into(), 7i64.into()], 99);
    match run(&function).unwrap() {
        Outcome::Returned(results) => {
            let items: Vec<f64> = results.iter().map(|r| r.item().unwrap()).collect();
            assert_eq!(items, [25.0, 3.0, 5.0, 7.0]);
        }
        Outcome::Left(exit) => panic!("left by {exit}"),
    }
    // A record that was not pushed.
    let pushed = |i: &Instruction| matches!(i.expression, Expression::Push(..));
    let instructions = &mut function.blocks[0].instructions;
    let one = instructions.iter().position(pushed).unwrap();
    instructions.remove(one);
    assert!(matches!(run(&function), Err(Error::Value(_))));
}

/// A record may be empty, and counts.
#[test]
fn empty_records_are_counted() {
    for (pushes, pops, fits) in [(2, 2, true), (1, 1, true), (0, 1, false), (1, 2, false)] {
        let b = Builder::new();
        let tape = b.tape(Vec::new());
        for _ in 0..pushes {
            b.push(tape, &[]).unwrap();
        }
        for _ in 0..pops {
            b.pop(tape).unwrap();
        }
        b.terminate(Terminator::Return(Vec::new()));
        let function = b.finish("empty").unwrap();
        let found = interpret(&function, &[], 99);
        assert_eq!(found.is_ok(), fits, "{found:?}");
        let compiled = Compiled::new(function).unwrap().run(&[]);
        assert_eq!(compiled.is_ok(), fits, "{compiled:?}");
    }
}

/// All returns give the same kinds, so that callers know what they get.
#[test]
fn returns_of_different_kinds_are_refused() {
    let returning = |second: &[usize]| {
        let b = Builder::new();
        let values = [b.parameter(ValueKind::Int), b.parameter(number())];
        let condition = b.literal(true.into());
        b.terminate(Terminator::Branch {
            condition,
            then: to(1, &[]),
            otherwise: to(2, &[]),
        });
        b.block();
        b.terminate(Terminator::Return(values.to_vec()));
        b.block();
        b.terminate(Terminator::Return(
            second.iter().map(|&k| values[k]).collect(),
        ));
        b.finish("returns").unwrap().check()
    };
    returning(&[0, 1]).unwrap();
    for second in [&[1, 0][..], &[0], &[0, 1, 1], &[]] {
        let error = returning(second).unwrap_err();
        assert!(matches!(error, Error::Type(_)), "{error}");
    }
}

#[test]
fn a_switch_goes_where_its_number_says() {
    let b = Builder::new();
    let n = b.parameter(ValueKind::Int);
    let numbers = [10i64, 20, 30].map(|i| b.literal(i.into()));
    b.terminate(Terminator::Switch {
        value: n,
        targets: numbers.map(|i| to(1, &[i])).to_vec(),
    });
    b.block();
    let result = b.parameter(ValueKind::Int);
    b.terminate(Terminator::Return(vec![result]));
    let function = b.finish("switch").unwrap();
    for (k, expected) in [(0i64, 10), (1, 20), (2, 30)] {
        match interpret(&function, &[k.into()], 9).unwrap() {
            Outcome::Returned(found) => assert!(matches!(found[0], Datum::Int(i) if i == expected)),
            Outcome::Left(exit) => panic!("left by {exit}"),
        }
    }
    for k in [-1i64, 3, i64::MAX] {
        let error = interpret(&function, &[k.into()], 9).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
    }
}

/// What is wrong is said before anything runs.
#[test]
fn the_check_finds_other_kinds() {
    let right = factorial();
    right.check().unwrap();
    let refused = |change: &dyn Fn(&mut Function)| {
        let mut function = right.clone();
        change(&mut function);
        function.check().is_err() && interpret(&function, &[3i64.into()], 99).is_err()
    };
    assert!(refused(&|f| f.kinds[5] = number().into()));
    assert!(refused(&|f| f.kinds[3] = ValueKind::Int));
    assert!(refused(&|f| f.notes.exits.clear()));
    assert!(refused(
        &|f| f.blocks[0].terminator = Terminator::Jump(to(1, &[1]))
    ));
    assert!(refused(
        &|f| f.blocks[0].terminator = Terminator::Jump(to(1, &[0, 3]))
    ));
    assert!(refused(
        &|f| f.blocks[0].terminator = Terminator::Jump(to(9, &[]))
    ));
    assert!(refused(&|f| f.blocks[2].instructions[0].expression =
        Expression::Compute(
            ScalarOperator::IntMul,
            [4, 5].as_slice().into(),
            None
        )));
    assert!(refused(&|f| f.blocks[2].instructions[0].expression =
        Expression::Apply(
            OpRef::Static(&rules::Mul),
            [4, 5].as_slice().into()
        )));
    assert!(refused(&|f| f.blocks[2].instructions[0].results.clear()));
    assert!(refused(
        &|f| f.blocks[2].instructions[0].expression = Expression::Pop(0)
    ));
    // A parameter, of kind Int.
    assert!(refused(&|f| f.blocks[0].terminator = Terminator::Switch {
        value: 0,
        targets: Vec::new(),
    }));
    assert!(refused(&|f| f.blocks[1].terminator = Terminator::Branch {
        condition: 4,
        then: to(2, &[]),
        otherwise: to(3, &[]),
    }));
    let b = Builder::new();
    let n = b.parameter(ValueKind::Int);
    let add = OpRef::Static(&rules::Add);
    assert!(matches!(b.try_apply(add, &[n, n]), Err(Error::Type(_))));
    let op = ScalarOperator::IntAdd;
    assert!(matches!(b.compute(op, &[n, n], None), Err(Error::Value(_))));
    assert!(matches!(
        b.compute(op, &[n, n], Some(0)),
        Err(Error::Value(_))
    ));
    assert!(matches!(
        b.guard(n, b.exit("never", 0)),
        Err(Error::Type(_))
    ));
    assert!(matches!(b.switch_to(1), Err(Error::Value(_))));
}
