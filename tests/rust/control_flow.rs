//! Functions of several blocks: the check that they are well formed, what is live where, and forms
//! that passes bring them into.

use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Cfg, Comparison, Datum, Expression, Function, Instruction, Lengths, Liveness,
    ScalarOperator, Target, Terminator, ValueId, ValueKind, jvp, merge_returns, simplify, vjp,
};
use wyrmling::rules::{self, OpRef};
use wyrmling::{Array, DType, Error};

use crate::common::functions::random_function;
use crate::common::outcomes::{bits, outcomes, random_arguments};

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

#[test]
fn random_functions_return_and_leave_and_loop() {
    let (mut returned, mut left, mut loops) = (0, 0, 0);
    for seed in 0..200 {
        let function = random_function(seed, 60);
        loops += Cfg::new(&function).loops().len();
        for outcome in outcomes(&function, seed) {
            match outcome {
                Ok(_) => returned += 1,
                Err(_) => left += 1,
            }
        }
    }
    assert!(
        returned > 300 && left > 30 && loops > 200,
        "{returned} {left} {loops}"
    );
}

/// Liveness by its definition: a way from the block to a use on which the value is not defined.
#[test]
fn what_is_live_is_what_a_way_leads_to_a_use_of() {
    for seed in 0..60 {
        let f = random_function(seed, 40);
        let graph = Cfg::new(&f);
        let live = Liveness::new(&f, &graph);
        let defines = |b: usize, id: ValueId| {
            let block = &f.blocks[b];
            let mut results = block.instructions.iter().flat_map(|i| &i.results);
            block.parameters.contains(&id) || results.any(|&r| r == id)
        };
        let uses = |b: usize, id: ValueId| {
            let block = &f.blocks[b];
            let mut read = false;
            block.terminator.each(|other| read |= other == id);
            let mut operands = block
                .instructions
                .iter()
                .flat_map(|i| i.expression.operands());
            read || operands.any(|&other| other == id)
        };
        for &block in graph.order() {
            let after = graph.successors(block).to_vec();
            for (starts, found) in [
                (vec![block], live.live_in(block)),
                (after, live.live_out(block)),
            ] {
                let is_live = |id: ValueId| {
                    let mut seen = vec![false; f.blocks.len()];
                    let mut waiting = starts.clone();
                    while let Some(b) = waiting.pop() {
                        if defines(b, id) || std::mem::replace(&mut seen[b], true) {
                            continue;
                        }
                        if uses(b, id) {
                            return true;
                        }
                        waiting.extend(graph.successors(b));
                    }
                    false
                };
                let all = 0..f.kinds.len() as ValueId;
                assert_eq!(
                    all.filter(|&id| is_live(id)).collect::<Vec<_>>(),
                    found,
                    "{f}"
                );
            }
        }
    }
}

#[test]
fn merged_returns_are_one() {
    for seed in 0..150 {
        let function = random_function(seed, 40);
        let (merged, exit) = merge_returns(&function).expect("it returns");
        merged.check().expect("well formed");
        let graph = Cfg::new(&merged);
        let returns = graph.order().iter().copied();
        let returns =
            returns.filter(|&b| matches!(merged.blocks[b].terminator, Terminator::Return(_)));
        assert_eq!(returns.collect::<Vec<_>>(), [exit]);
        assert_eq!(outcomes(&merged, seed), outcomes(&function, seed));
    }
    // A function that never returns has no such block.
    let b = Builder::new();
    let start = b.block();
    b.terminate(Terminator::Jump(to(start, &[])));
    b.switch_to(0).unwrap();
    b.terminate(Terminator::Jump(to(start, &[])));
    assert!(merge_returns(&b.finish("forever").unwrap()).is_none());
}

#[test]
fn a_value_that_some_way_does_not_define_is_an_error() {
    let b = Builder::new();
    let x = b.parameter(ValueKind::number(DType::F64));
    let condition = b.parameter(ValueKind::Bool);
    let (then, join) = (b.block(), b.block());
    b.switch_to(then).unwrap();
    let sine = b.try_apply(OpRef::Static(&rules::Sin), &[x]).unwrap();
    b.terminate(Terminator::Jump(to(join, &[])));
    b.switch_to(join).unwrap();
    b.terminate(Terminator::Return(vec![sine]));
    b.switch_to(0).unwrap();
    b.terminate(Terminator::Branch {
        condition,
        then: to(then, &[]),
        otherwise: to(join, &[]),
    });
    let f = b.finish("f").unwrap();
    let error = f.check().unwrap_err();
    let expected = "f: value %2 is used in block 2, and not defined on every way there";
    assert_eq!(error, Error::Value(expected.into()));
    let ran = interpret(&f, &[1.0.into(), Datum::Bool(true)], 10);
    assert_eq!(ran.unwrap_err(), error);
}

/// A function that runs `f` in a loop, on what it gave before, and returns what it gives last.
fn run_in_a_loop(f: &Function, rounds: i64) -> Function {
    let b = Builder::new();
    let kinds: Vec<ValueKind> = f.parameters().iter().map(|&p| f.kind(p).clone()).collect();
    let parameters = |b: &Builder| -> Vec<ValueId> {
        kinds.iter().map(|kind| b.parameter(kind.clone())).collect()
    };
    let mut start = parameters(&b);
    let (one, rounds) = (b.literal(Datum::Int(1)), b.literal(Datum::Int(rounds)));
    let own = b.exit("own", 0);
    start.push(rounds);
    b.terminate(Terminator::Jump(to(1, &start)));
    let header = b.block();
    let args = parameters(&b);
    let left = b.parameter(ValueKind::Int);
    let mut next = b.inline(f, &args).expect("fitting kinds");
    let fewer = b.compute(ScalarOperator::IntSub, &[left, one], Some(own));
    let fewer = fewer.expect("ints");
    let more = b
        .compute(ScalarOperator::IntToBool, &[fewer], None)
        .expect("an int");
    next.push(fewer);
    let end = b.current();
    let last = b.block();
    b.terminate(Terminator::Return(next[..4].to_vec()));
    b.switch_to(end).expect("it is there");
    b.terminate(Terminator::Branch {
        condition: more,
        then: to(header, &next),
        otherwise: to(last, &[]),
    });
    let function = b.finish("loop").expect("fitting kinds");
    function.check().expect("well formed");
    function
}

#[test]
fn inlined_functions_do_what_they_do() {
    let mut returned = 0;
    for seed in 0..150 {
        let f = random_function(seed, 30);
        let looped = run_in_a_loop(&f, 3);
        let small = simplify(&looped, Lengths::Seen).expect("memory");
        small.check().expect("well formed");
        for k in 0..4 {
            let args = random_arguments(seed * 4 + k);
            let mut expected = Outcome::Returned(args.clone());
            for _ in 0..3 {
                if let Outcome::Returned(args) = &expected {
                    expected = interpret(&f, args, 1_000_000).expect("it ends");
                }
            }
            for g in [&looped, &small] {
                let found = interpret(g, &args, 1_000_000).expect("it ends");
                match (&found, &expected) {
                    (Outcome::Returned(found), Outcome::Returned(expected)) => {
                        returned += 1;
                        assert_eq!(bits(found), bits(expected));
                    }
                    // Its own exit is the first.
                    (Outcome::Left(found), Outcome::Left(expected)) => {
                        assert_eq!(*found, expected + 1);
                    }
                    _ => panic!("{found:?} {expected:?}"),
                }
            }
        }
    }
    assert!(returned > 600, "{returned}");
}

#[test]
fn inlining_what_does_not_fit_appends_nothing() {
    let f = random_function(3, 30);
    let b = Builder::new();
    let x = b.parameter(ValueKind::number(DType::F64));
    assert!(matches!(b.inline(&f, &[x]), Err(Error::Value(_))));
    assert!(matches!(b.inline(&f, &[x; 4]), Err(Error::Type(_))));
    assert!(matches!(b.inline(&f, &[x, x, 9, 9]), Err(Error::Value(_))));
    let never = Builder::new();
    never.terminate(Terminator::Leave(never.exit("always", 0)));
    let never = never.finish("never").expect("fitting kinds");
    assert!(matches!(b.inline(&never, &[]), Err(Error::Value(_))));
    b.terminate(Terminator::Return(vec![x]));
    let alone = b.finish("alone").expect("fitting kinds");
    assert_eq!((alone.blocks.len(), alone.kinds.len()), (1, 1));
    assert!(alone.notes.exits.is_empty());
}

#[test]
fn blocks_that_cannot_be_reached_are_not_differentiated() -> Result<(), Error> {
    for is_return in [false, true] {
        let b = Builder::new();
        let number = || b.parameter(ValueKind::number(DType::F64));
        let x = number();
        b.terminate(Terminator::Jump(to(1, &[x])));
        b.block();
        let x = number();
        let square = b.try_apply(OpRef::Static(&rules::Square), &[x])?;
        b.terminate(Terminator::Return(vec![square]));
        b.block();
        let z = number();
        b.terminate(match is_return {
            true => Terminator::Return(vec![z]),
            false => Terminator::Jump(to(1, &[z])),
        });
        let function = b.finish("square")?;
        function.check()?;
        for derived in [
            vjp(&function, &[0])?.function,
            jvp(&function, &[0])?.function,
        ] {
            derived.check()?;
            let results = interpret(&derived, &[3.0.into(), 1.0.into()], 99)?.arrays()?;
            assert_eq!([results[0].item()?, results[1].item()?], [9.0, 6.0]);
        }
    }
    Ok(())
}

/// Doubles a number while that makes it less, and counts. Another one changes, too, and nobody reads it.
fn with_a_loop_to_the_entry() -> Result<Function, Error> {
    let b = Builder::new();
    let [x, other] = [(); 2].map(|()| b.parameter(ValueKind::number(DType::F64)));
    let n = b.parameter(ValueKind::Int);
    let double = b.try_apply(OpRef::Static(&rules::Add), &[x, x])?;
    let sine = b.try_apply(OpRef::Static(&rules::Sin), &[other])?;
    let one = b.literal(Datum::Int(1));
    let exit = b.exit("too many", 0);
    let next = b.compute(ScalarOperator::IntAdd, &[n, one], Some(exit))?;
    let less = ScalarOperator::CompareNumber(Comparison::Less);
    let condition = b.compute(less, &[double, x], None)?;
    b.terminate(Terminator::Branch {
        condition,
        then: to(0, &[double, sine, next]),
        otherwise: to(1, &[]),
    });
    b.block();
    b.terminate(Terminator::Return(vec![x, n]));
    b.finish("doubled")
}

#[test]
fn the_entry_is_reached_from_outside_too() -> Result<(), Error> {
    let function = with_a_loop_to_the_entry()?;
    let simple = simplify(&function, Lengths::Seen)?;
    simple.check()?;
    let compiled = Compiled::new(function.clone())?;
    for start in [-1.0, 1.0] {
        let args = [start.into(), 0.5.into(), Datum::Int(0)];
        let outcomes = [
            interpret(&function, &args, 9999)?,
            interpret(&simple, &args, 9999)?,
            compiled.run(&args)?,
        ];
        for outcome in outcomes {
            let Outcome::Returned(results) = outcome else {
                panic!("left");
            };
            // -2^1024 is -infinity, which is its own double.
            let expected = if start < 0.0 {
                [f64::NEG_INFINITY, 1024.0]
            } else {
                [1.0, 0.0]
            };
            assert_eq!([results[0].item()?, results[1].item()?], expected);
        }
    }
    Ok(())
}

#[test]
fn operators_on_other_types_are_refused() -> Result<(), Error> {
    let b = Builder::new();
    let x = b.fixed(2.0.into());
    let square = b.try_apply(OpRef::Static(&rules::Square), &[x])?;
    b.terminate(Terminator::Return(vec![square]));
    let mut function = b.finish("square")?;
    function.blocks[0].instructions[0] = Instruction::new(
        x,
        Expression::Constant(Array::scalar(DType::U32, 2.0).into()),
    );
    function.kinds[x as usize] = ValueKind::number(DType::U32);
    let refused = |error: Error| matches!(error, Error::Type(_));
    assert!(function.check().is_err_and(refused));
    assert!(simplify(&function, Lengths::Seen).is_err_and(refused));
    assert!(interpret(&function, &[], 99).is_err_and(refused));
    Ok(())
}
