//! Functions with blocks that are well formed but for one random change: what the check lets pass runs the same in
//! every way, and nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Datum, Expression, Function, Lengths, Terminator, ValueId, ValueKind, jvp, merge_returns,
    simplify, vjp,
};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{DType, Error, Result, Type};

use crate::common::array_functions::{array_arguments, random_array_function};
use crate::common::derivatives::{differentiable, like};
use crate::common::functions::random_function;
use crate::common::outcomes::{bits, random_arguments};

/// Most instructions of a run.
const STEPS: usize = 20_000;

type Random = Xoshiro256PlusPlus;

/// One of the values of a function, or one that it has not.
fn some(function: &Function, random: &mut Random) -> ValueId {
    random.random_range(0..function.kinds.len() as ValueId + 1)
}

fn kind(random: &mut Random) -> ValueKind {
    let array = |dtype, shape: &[usize]| ValueKind::Array(Type::new(dtype, shape));
    match random.random_range(0..8) {
        0 => ValueKind::Int,
        1 => ValueKind::Bool,
        2 => ValueKind::number(DType::F64),
        3 => ValueKind::number(DType::F32),
        4 => ValueKind::number(DType::U32),
        5 => array(DType::F64, &[3]),
        6 => array(DType::F64, &[2, 2]),
        _ => array(DType::U32, &[0]),
    }
}

fn operator(random: &mut Random) -> OpRef {
    let all: [&'static dyn Operator; 8] = [
        &rules::Add,
        &rules::Neg,
        &rules::Where,
        &rules::Gather,
        &rules::VecDot,
        &rules::BroadcastLike { core: 0 },
        &rules::ReplacedSum,
        &rules::Greater,
    ];
    OpRef::Static(all[random.random_range(0..all.len())])
}

/// Changes one thing, which may change nothing.
fn change(function: &mut Function, random: &mut Random) {
    let (some, other) = (some(function, random), some(function, random));
    let block = random.random_range(0..function.blocks.len());
    let count = function.blocks.len() + 1;
    let values = function.kinds.len();
    let block = &mut function.blocks[block];
    let at = match block.instructions.len() {
        0 => None,
        n => Some(random.random_range(0..n)),
    };
    match (random.random_range(0..14), at) {
        (0, _) => function.kinds[some as usize % values] = kind(random),
        (1, Some(at)) => {
            let operands = block.instructions[at].expression.operands_mut();
            if let Some(first) = operands.first_mut() {
                *first = some;
            }
        }
        (2, Some(at)) => {
            if let Some(last) = block.instructions[at].expression.operands_mut().last_mut() {
                *last = some;
            }
        }
        (3, Some(at)) => match &mut block.instructions[at].expression {
            Expression::Apply(op, _) => *op = operator(random),
            Expression::Compute(_, _, exit) => *exit = None,
            Expression::Guard(_, exit) => *exit = some,
            Expression::Push(tape, _) | Expression::Pop(tape) => *tape = random.random_range(0..3),
            Expression::Constant(value) => *value = Datum::Int(7),
        },
        (4, Some(at)) => match &mut block.instructions[at].expression {
            Expression::Apply(_, args)
            | Expression::Compute(_, args, _)
            | Expression::Push(_, args) => args.push(some),
            _ => {}
        },
        (5, Some(at)) => match &mut block.instructions[at].expression {
            Expression::Apply(_, args)
            | Expression::Compute(_, args, _)
            | Expression::Push(_, args) => drop(args.pop()),
            _ => {}
        },
        (6, Some(at)) => drop(block.instructions.remove(at)),
        (7, Some(at)) => {
            let again = block.instructions[at].clone();
            block.instructions.push(again);
        }
        (8, Some(at)) => {
            let to = random.random_range(0..block.instructions.len());
            block.instructions.swap(at, to);
        }
        (9, Some(at)) => {
            if let Some(result) = block.instructions[at].results.first_mut() {
                *result = some;
            }
        }
        (10, _) => {
            for target in block.terminator.targets_mut() {
                target.block = random.random_range(0..count);
            }
        }
        (11, _) => {
            for target in block.terminator.targets_mut() {
                match random.random_range(0..3) {
                    0 => target.args.push(some),
                    1 => drop(target.args.pop()),
                    _ => target.args.iter_mut().for_each(|arg| *arg = other),
                }
            }
        }
        (12, _) => {
            block.terminator = match random.random_range(0..3) {
                0 => Terminator::Return(vec![some]),
                1 => Terminator::Leave(some),
                _ => Terminator::Switch {
                    value: some,
                    targets: Vec::new(),
                },
            };
        }
        _ => match random.random_range(0..3) {
            0 => block.parameters.push(some),
            1 => drop(block.parameters.pop()),
            _ => block
                .terminator
                .operands_mut()
                .iter_mut()
                .for_each(|id| *id = some),
        },
    }
}

/// What a run gives, NaN as one number; `None` if it does not end soon.
fn outcome(run: Result<Outcome>) -> Option<std::result::Result<String, String>> {
    match run {
        Ok(Outcome::Left(exit)) => Some(Ok(format!("exit {exit}"))),
        Ok(Outcome::Returned(results)) => {
            let bits = bits(&results);
            let nan = |x: u64| {
                if f64::from_bits(x).is_nan() {
                    f64::NAN.to_bits()
                } else {
                    x
                }
            };
            let of = |(dtype, shape, bits): (DType, Vec<usize>, Vec<u64>)| {
                let bits: Vec<u64> = bits.into_iter().map(nan).collect();
                format!("{dtype} {shape:?} {bits:?}")
            };
            Some(Ok(bits.into_iter().map(of).collect::<Vec<_>>().join(", ")))
        }
        Err(Error::Value(message)) if message.contains("did not finish") => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Runs a function that was changed, if it passes the check, and what is made of it: how often it did.
fn run(function: &Function, args: &[Datum]) -> usize {
    let passes = function.check().is_ok();
    let compiled = Compiled::new(function.clone());
    assert_eq!(compiled.is_ok(), passes);
    assert_eq!(simplify(function, Lengths::Seen).is_ok(), passes);
    let by = differentiable_if(function);
    let derivatives = [
        vjp(function, &by).map(|f| f.function),
        jvp(function, &by).map(|f| f.function),
    ];
    let _ = function.to_string();
    let Ok(compiled) = compiled else {
        assert!(derivatives.iter().all(Result::is_err));
        assert!(interpret(function, args, STEPS).is_err());
        return 0;
    };
    merge_returns(function);
    if let Some(expected) = outcome(interpret(function, args, STEPS)) {
        let found = outcome(compiled.run(args)).expect("there is no limit");
        // Code without a record that nobody reads does not notice that there is none.
        let missed = |error: &String| error.contains("is empty, and a record is taken");
        if expected.as_ref().is_err_and(missed) {
            return 1;
        }
        assert_eq!(
            found.is_ok(),
            expected.is_ok(),
            "{function}{found:?} {expected:?}"
        );
        if expected.is_ok() {
            assert_eq!(found, expected);
            let simple = simplify(function, Lengths::Seen).expect("it was simplified before");
            assert_eq!(outcome(interpret(&simple, args, STEPS)), Some(expected));
        }
    }
    for derivative in derivatives.into_iter().flatten() {
        derivative
            .check()
            .expect("it is made of what is well formed");
        let mut args = args.to_vec();
        args.extend(like(&args, 3));
        args.truncate(derivative.parameters().len());
        let interpreted = outcome(interpret(&derivative, &args, STEPS));
        if let Some(Ok(expected)) = interpreted {
            let compiled = Compiled::new(derivative).expect("it is well formed");
            assert_eq!(outcome(compiled.run(&args)), Some(Ok(expected)));
        }
    }
    1
}

/// The parameters to differentiate by, of a function that may be anything.
fn differentiable_if(function: &Function) -> Vec<ValueId> {
    match function.check() {
        Ok(()) => differentiable(function),
        Err(_) => vec![0],
    }
}

#[test]
fn changed_functions_are_refused_or_run_the_same_in_every_way() {
    let mut random = Random::seed_from_u64(5);
    let (mut passed, mut failed) = (0, Vec::new());
    for seed in 0..400 {
        let (function, args) = match seed % 2 {
            0 => (random_function(seed, 8), random_arguments(seed)),
            _ => {
                let function = random_array_function(seed, 6, &[4]);
                (function, array_arguments(&mut random, &[4]))
            }
        };
        for _ in 0..4 {
            let mut changed = function.clone();
            change(&mut changed, &mut random);
            match catch_unwind(AssertUnwindSafe(|| run(&changed, &args))) {
                Ok(count) => passed += count,
                Err(_) => failed.push(changed.to_string()),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!((200..1500).contains(&passed), "{passed}");
}
