//! Loops over ranges in machine code, which compares with the end once in many turns: what the interpreter
//! gives, wherever a range begins and ends.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueId,
    ValueKind,
};

/// A loop from one integer to another, up or down, that ends before where it meets a third: what is made of
/// the integers of its turns, how many these were, and the last integer: `f(start, end, stop)`.
fn over_a_range(is_up: bool) -> Function {
    let b = Builder::new();
    let [start, end, stop] = [(); 3].map(|()| b.parameter(ValueKind::Int));
    let (zero, one) = (b.literal(0i64.into()), b.literal(1i64.into()));
    let exit = b.exit("an integer of more than 64 bits", 0);
    let compute = |op, args: [ValueId; 2], exit| b.compute(op, &args, exit).expect("integers");
    let to = |block, args: &[ValueId]| Target {
        block,
        args: args.to_vec(),
    };
    let branch = |condition, then, otherwise| {
        b.terminate(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
    };
    let before = b.current();
    let [header, body, latch, after] = [(); 4].map(|()| b.block());
    b.switch_to(before).expect("there");
    b.terminate(Terminator::Jump(to(header, &[start, zero, zero])));
    b.switch_to(header).expect("there");
    let [i, mixed, turns] = [(); 3].map(|()| b.parameter(ValueKind::Int));
    let ended = to(after, &[i, mixed, turns]);
    if is_up {
        let less = compute(S::CompareInt(Comparison::Less), [i, end], None);
        branch(less, to(body, &[]), ended.clone());
    } else {
        let same = compute(S::CompareInt(Comparison::Equal), [end, i], None);
        branch(same, ended.clone(), to(body, &[]));
    }
    b.switch_to(body).expect("there");
    let same = compute(S::CompareInt(Comparison::Equal), [i, stop], None);
    branch(same, ended, to(latch, &[]));
    b.switch_to(latch).expect("there");
    let twice = compute(S::IntXor, [mixed, i], None);
    let more = compute(S::IntAdd, [turns, one], Some(exit));
    let mixed = compute(S::IntOr, [twice, turns], None);
    let step = if is_up { S::IntAdd } else { S::IntSub };
    let next = compute(step, [i, one], Some(exit));
    b.terminate(Terminator::Jump(to(header, &[next, mixed, more])));
    b.switch_to(after).expect("there");
    let results = [(); 3].map(|()| b.parameter(ValueKind::Int));
    b.terminate(Terminator::Return(results.to_vec()));
    b.finish("over_a_range").expect("well formed")
}

/// Runs a function both ways: how many turns there were, or none if it was left.
fn agrees(compiled: &Compiled, args: [i64; 3]) -> Option<i64> {
    let data = args.map(Datum::Int);
    let expected = interpret(compiled.function(), &data, 1_000_000).expect("well formed");
    let found = compiled.run(&data).expect("well formed");
    match (found, expected) {
        (Outcome::Returned(found), Outcome::Returned(expected)) => {
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{args:?}");
            match found[2] {
                Datum::Int(turns) => Some(turns),
                _ => panic!("an integer"),
            }
        }
        (Outcome::Left(found), Outcome::Left(expected)) => {
            assert_eq!(found, expected, "{args:?}");
            None
        }
        (found, expected) => panic!("{found:?}, expected {expected:?}: {args:?}"),
    }
}

#[test]
fn turns_are_those_of_the_range() {
    let lengths = [0, 1, 2, 3, 1022, 1023, 1024, 1025, 2047, 2048, 2049, 5000];
    for is_up in [true, false] {
        let compiled = Compiled::new(over_a_range(is_up)).expect("well formed");
        assert_eq!(compiled.why_interpreted(), None);
        for length in lengths {
            let last = if is_up {
                i64::MAX - length
            } else {
                i64::MIN + length
            };
            for start in [0, 7, -1, -1024, 1 << 40, last] {
                let end = if is_up {
                    start + length
                } else {
                    start - length
                };
                let beyond = if is_up { i64::MIN } else { i64::MAX };
                assert_eq!(agrees(&compiled, [start, end, beyond]), Some(length));
                for stop in [0, 1, 1023, 1024, 1025, 3000] {
                    let at = if is_up {
                        start.wrapping_add(stop)
                    } else {
                        start.wrapping_sub(stop)
                    };
                    let turns = agrees(&compiled, [start, end, at]);
                    assert_eq!(turns, Some(length.min(stop)));
                }
            }
        }
    }
}

#[test]
fn ranges_whose_ends_are_on_the_other_side_do_what_the_interpreter_does() {
    let up = Compiled::new(over_a_range(true)).expect("well formed");
    let down = Compiled::new(over_a_range(false)).expect("well formed");
    for (start, end) in [(5, 3), (0, i64::MIN), (i64::MAX, i64::MIN), (-4, -5)] {
        assert_eq!(agrees(&up, [start, end, 0]), Some(0));
    }
    // It goes down to the least integer, and on.
    for (above, end) in [(3, 9), (2000, 5000), (1024, i64::MAX), (5000, 5001)] {
        let start = i64::MIN + above;
        assert_eq!(
            agrees(&down, [start, end.max(i64::MIN + end), i64::MAX]),
            None
        );
    }
    // Ends so far apart that their difference has no sign.
    for (start, end) in [(i64::MIN, i64::MAX), (-2, i64::MAX)] {
        assert_eq!(agrees(&up, [start, end, start + 3000]), Some(3000));
        assert_eq!(agrees(&down, [end, start, end - 3000]), Some(3000));
    }
}

/// A loop that keeps numbers on a tape and one that takes them, each of which compares at the end of a turn:
/// what is made of the numbers, in the order in which they are taken.
fn kept_and_taken() -> Function {
    let b = Builder::new();
    let end = b.parameter(ValueKind::Int);
    let (zero, one) = (b.literal(0i64.into()), b.literal(1i64.into()));
    let exit = b.exit("an integer of more than 64 bits", 0);
    let compute = |op, args: [ValueId; 2], exit| b.compute(op, &args, exit).expect("integers");
    let to = |block, args: &[ValueId]| Target {
        block,
        args: args.to_vec(),
    };
    let tape = b.tape(vec![ValueKind::Int]);
    let before = b.current();
    let [keep, take, after] = [(); 3].map(|()| b.block());
    let close = |block, next_block, i: ValueId, found: ValueId| {
        let next = compute(S::IntAdd, [i, one], Some(exit));
        let condition = compute(S::CompareInt(Comparison::Less), [i, end], None);
        b.terminate(Terminator::Branch {
            condition,
            then: to(block, &[next, found]),
            otherwise: to(next_block, &[zero, found]),
        });
    };
    b.switch_to(before).expect("there");
    b.terminate(Terminator::Jump(to(keep, &[zero, zero])));
    b.switch_to(keep).expect("there");
    let [i, found] = [(); 2].map(|()| b.parameter(ValueKind::Int));
    b.push(tape, &[i]).expect("an integer");
    close(keep, take, i, found);
    b.switch_to(take).expect("there");
    let [i, found] = [(); 2].map(|()| b.parameter(ValueKind::Int));
    let taken = b.pop(tape).expect("it is there")[0];
    let twice = compute(S::IntAdd, [found, found], Some(exit));
    let mixed = compute(S::IntXor, [twice, taken], None);
    close(take, after, i, mixed);
    b.switch_to(after).expect("there");
    let results = [(); 2].map(|()| b.parameter(ValueKind::Int));
    b.terminate(Terminator::Return(results.to_vec()));
    b.finish("kept_and_taken").expect("well formed")
}

#[test]
fn what_a_turn_keeps_is_kept_once() {
    let compiled = Compiled::new(kept_and_taken()).expect("well formed");
    assert_eq!(compiled.why_interpreted(), None);
    for end in [-1, 0, 1, 2, 3, 4, 7, 40] {
        let data = [Datum::Int(end)];
        let expected = interpret(compiled.function(), &data, 1_000_000).expect("well formed");
        let found = compiled.run(&data).expect("well formed");
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{end}");
    }
}
