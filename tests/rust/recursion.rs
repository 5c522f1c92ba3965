//! Regions that call themselves: random ones against calls of the same pieces one by one, simplified, as
//! machine code and differentiated; and what is put together wrongly.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Expression, Function, Lengths, Recursion, RegionCall,
    ScalarOperator as S, Target, Terminator, ValueId, ValueKind, simplify, without_calls,
};
use wyrmling::rules::{Add, Mul, OpRef};
use wyrmling::{DType, Error};

use crate::common::derivatives::{Mode, THIRD, check, check_orders, check_third};
use crate::common::functions::random_function;
use crate::common::outcomes::{bits, random_arguments};

/// Functions `(x, y, n, b) -> (x, y, n, b)` that call each other, to a depth that they are given.
struct Plan {
    functions: Vec<Piece>,
}

/// One of them: what it computes first, what it returns at the bottom, its calls, and what it
/// computes at last.
struct Piece {
    first: Function,
    bottom: Function,
    calls: Vec<Call>,
    last: Function,
}

struct Call {
    callee: usize,
    /// Whether it is made only where the bool of what was computed last holds.
    conditional: bool,
    /// Which of all values so far are its arguments, and those of the piece that is computed next.
    picks: [usize; 4],
}

const KINDS: usize = 4;

fn plan(seed: u64) -> Plan {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut piece = |count: usize, seed: u64| {
        let calls = (0..random.random_range(1..3)).map(|_| Call {
            callee: random.random_range(0..count),
            conditional: random.random_range(0..3) == 0,
            picks: [(); 4].map(|()| random.random_range(0..10)),
        });
        let part = |k: u64| random_function(seed * 7 + k, 2 + (seed % 5) as usize);
        Piece {
            calls: calls.collect(),
            first: part(0),
            bottom: part(1),
            last: part(2),
        }
    };
    let count = 1 + (seed % 3) as usize;
    Plan {
        functions: (0..count as u64)
            .map(|k| piece(count, seed * 3 + k))
            .collect(),
    }
}

/// One of each kind of all values so far, which are `(x, y, n, b)` over and over.
fn picked<T: Clone>(values: &[T], picks: &[usize; 4]) -> Vec<T> {
    let rounds = values.len() / KINDS;
    let one = |k: usize| values[picks[k] % rounds * KINDS + k].clone();
    (0..KINDS).map(one).collect()
}

/// Calls function `f` as it stands; `None` if a piece of it is left.
fn called(plan: &Plan, f: usize, depth: i64, args: &[Datum]) -> Option<Vec<Datum>> {
    let run = |piece: &Function, args: &[Datum]| match interpret(piece, args, 1_000_000)
        .expect("it ends")
    {
        Outcome::Returned(results) => Some(results),
        Outcome::Left(_) => None,
    };
    let piece = &plan.functions[f];
    let mut values = run(&piece.first, args)?;
    if depth <= 0 {
        return run(&piece.bottom, &values);
    }
    for call in &piece.calls {
        let newest = values[values.len() - KINDS..].to_vec();
        let results = match newest[3] {
            Datum::Bool(false) if call.conditional => newest,
            _ => called(plan, call.callee, depth - 1, &picked(&values, &call.picks))?,
        };
        values.extend(results);
    }
    let picks = &piece.calls[0].picks;
    run(&piece.last, &picked(&values, picks))
}

/// Writes a plan as a function with regions.
struct Writer<'p> {
    plan: &'p Plan,
    builder: Builder,
    /// What is being written: which function, and the number of its region.
    open: Vec<(usize, usize)>,
    /// Entries, calls, and ends with results.
    regions: Vec<(usize, Vec<RegionCall>, usize, Vec<ValueId>)>,
}

fn float() -> ValueKind {
    ValueKind::number(DType::F64)
}

fn kinds() -> [ValueKind; KINDS] {
    [float(), float(), ValueKind::Int, ValueKind::Bool]
}

impl Writer<'_> {
    fn call(&mut self, f: usize, depth: ValueId, args: &[ValueId]) -> Vec<ValueId> {
        let block = self.builder.current();
        let under_way = self.open.iter().rev().find(|(function, _)| *function == f);
        let region = match under_way {
            Some(&(_, region)) => region,
            None => self.region(f),
        };
        let then = self.builder.block();
        let results = kinds().map(|kind| self.builder.parameter(kind)).to_vec();
        let call = RegionCall {
            block,
            args: [&[depth], args].concat(),
            then,
        };
        // The first call is the one from outside.
        match under_way_or_first(&self.open, f) {
            true => self.regions[region].1.push(call),
            false => self.regions[region].1.insert(0, call),
        }
        results
    }

    fn region(&mut self, f: usize) -> usize {
        let number = self.regions.len();
        let entry = self.builder.block();
        self.regions.push((entry, Vec::new(), 0, Vec::new()));
        self.open.push((f, number));
        let b = &self.builder;
        let depth = b.parameter(ValueKind::Int);
        let args = kinds().map(|kind| b.parameter(kind));
        let piece = &self.plan.functions[f];
        let mut values = b.inline(&piece.first, &args).expect("fitting kinds");
        let zero = b.literal(Datum::Int(0));
        let at_bottom = S::CompareInt(Comparison::LessEqual);
        let at_bottom = b
            .compute(at_bottom, &[depth, zero], None)
            .expect("integers");
        let from = b.current();
        let [bottom, further, end] = [(); 3].map(|()| b.block());
        let results = kinds().map(|kind| b.parameter(kind)).to_vec();
        let to = |block, args: &[ValueId]| Target {
            block,
            args: args.to_vec(),
        };
        b.switch_to(from).expect("it exists");
        b.terminate(Terminator::Branch {
            condition: at_bottom,
            then: to(bottom, &[]),
            otherwise: to(further, &[]),
        });
        b.switch_to(bottom).expect("it exists");
        let found = b.inline(&piece.bottom, &values).expect("fitting kinds");
        b.terminate(Terminator::Jump(to(end, &found)));
        b.switch_to(further).expect("it exists");
        let (one, exit) = (b.literal(Datum::Int(1)), b.exit("depth", 0));
        let less = b.compute(S::IntSub, &[depth, one], Some(exit));
        let less = less.expect("integers");
        for call in &piece.calls {
            let args = picked(&values, &call.picks);
            let newest = values[values.len() - KINDS..].to_vec();
            let results = match call.conditional {
                false => self.call(call.callee, less, &args),
                true => {
                    let b = &self.builder;
                    let from = b.current();
                    let calls = b.block();
                    let meet = b.block();
                    let met = kinds().map(|kind| b.parameter(kind)).to_vec();
                    b.switch_to(from).expect("it exists");
                    b.terminate(Terminator::Branch {
                        condition: newest[3],
                        then: to(calls, &[]),
                        otherwise: to(meet, &newest),
                    });
                    b.switch_to(calls).expect("it exists");
                    let results = self.call(call.callee, less, &args);
                    self.builder.terminate(Terminator::Jump(to(meet, &results)));
                    self.builder.switch_to(meet).expect("it exists");
                    met
                }
            };
            values.extend(results);
        }
        let b = &self.builder;
        let last = picked(&values, &piece.calls[0].picks);
        let found = b.inline(&piece.last, &last).expect("fitting kinds");
        b.terminate(Terminator::Jump(to(end, &found)));
        self.open.pop();
        (self.regions[number].2, self.regions[number].3) = (end, results);
        number
    }
}

fn under_way_or_first(open: &[(usize, usize)], f: usize) -> bool {
    open.iter().any(|(function, _)| *function == f)
}

/// The first function of a plan, which takes its depth last.
fn written(plan: &Plan) -> Function {
    let builder = Builder::new();
    let args = kinds().map(|kind| builder.parameter(kind));
    let depth = builder.parameter(ValueKind::Int);
    let mut writer = Writer {
        plan,
        builder,
        open: Vec::new(),
        regions: Vec::new(),
    };
    let results = writer.call(0, depth, &args);
    writer.builder.terminate(Terminator::Return(results));
    let function = writer.builder.finish("recursive").expect("fitting kinds");
    let regions = writer.regions.into_iter();
    let regions = regions.map(|(entry, mut calls, end, results)| Recursion {
        entry,
        first: calls.remove(0),
        inner: calls,
        end,
        results,
    });
    let regions: Vec<Recursion> = regions.collect();
    let function = without_calls(&function, &regions).expect("well formed");
    function
        .check()
        .unwrap_or_else(|e| panic!("{e}\n{function}"));
    function
}

fn arguments(seed: u64, depth: i64) -> Vec<Datum> {
    let mut args = random_arguments(seed);
    args.push(Datum::Int(depth));
    args
}

#[test]
fn random_recursions_give_what_calls_one_by_one_give() {
    let (mut returned, mut left) = (0, 0);
    for seed in 0..400 {
        let plan = plan(seed);
        let function = written(&plan);
        let small = simplify(&function, Lengths::Seen).expect("memory");
        small
            .check()
            .unwrap_or_else(|e| panic!("{seed}: {e}\n{function}\n{small}"));
        let compiled = Compiled::new(function.clone()).expect("well formed");
        let fast = Compiled::new(small.clone()).expect("well formed");
        for depth in 0..5 {
            let args = arguments(seed * 5 + depth, depth as i64);
            let expected = called(&plan, 0, depth as i64, &args[..KINDS]);
            let expected = expected.map(|results| bits(&results));
            let compare = |found: Outcome, what: &str| {
                let found = match found {
                    Outcome::Returned(results) => Some(bits(&results)),
                    Outcome::Left(_) => None,
                };
                let is_nan = |one: &(DType, Vec<usize>, Vec<u64>)| {
                    one.0 == DType::F64 && f64::from_bits(one.2[0]).is_nan()
                };
                let same = match (&found, &expected) {
                    (Some(a), Some(b)) => a
                        .iter()
                        .zip(b)
                        .all(|(a, b)| a == b || is_nan(a) && is_nan(b)),
                    (a, b) => a.is_none() && b.is_none(),
                };
                assert!(
                    same,
                    "{seed} {what}: {found:?} {expected:?} of {args:?}\n{function}"
                );
            };
            compare(
                interpret(&function, &args, 1_000_000).expect("it ends"),
                "as it is",
            );
            compare(
                interpret(&small, &args, 1_000_000).expect("it ends"),
                "simplified",
            );
            compare(compiled.run(&args).expect("it ends"), "compiled");
            compare(fast.run(&args).expect("it ends"), "simplified and compiled");
            returned += usize::from(expected.is_some());
            left += usize::from(expected.is_none());
        }
    }
    assert!(returned > 500 && left > 50, "{returned} {left}");
}

#[test]
fn random_recursions_have_the_derivatives_of_their_runs() {
    let mut compared = 0;
    for seed in 0..150 {
        let function = written(&plan(1000 + seed));
        let args = arguments(seed, (seed % 4) as i64);
        let modes = THIRD[seed as usize % THIRD.len()];
        let found = match seed % 5 {
            0 => check_third(modes, &function, &args),
            _ => [Mode::Reverse, Mode::Forward]
                .map(|mode| check(mode, &function, &args, &format!("seed {seed}")))
                .map(|found| found.is_some())
                .contains(&true)
                .then_some(()),
        };
        compared += usize::from(found.is_some());
    }
    assert!(compared > 60, "{compared}");
}

/// The power of a number, by calls: `1` for no factor, else the number times the power before.
fn power() -> (Function, Recursion) {
    let b = Builder::new();
    let (x, n) = (b.parameter(float()), b.parameter(ValueKind::Int));
    let entry = b.block();
    let k = b.parameter(ValueKind::Int);
    let zero = b.literal(Datum::Int(0));
    let is_zero = S::CompareInt(Comparison::Equal);
    let is_zero = b.compute(is_zero, &[k, zero], None).expect("integers");
    let [bottom, calls, after, end, last] = [(); 5].map(|()| b.block());
    let to = |block, args: &[ValueId]| Target {
        block,
        args: args.to_vec(),
    };
    b.switch_to(entry).expect("it exists");
    b.terminate(Terminator::Branch {
        condition: is_zero,
        then: to(bottom, &[]),
        otherwise: to(calls, &[]),
    });
    b.switch_to(bottom).expect("it exists");
    let one = b.literal(1.0.into());
    b.terminate(Terminator::Jump(to(end, &[one])));
    b.switch_to(calls).expect("it exists");
    let (step, exit) = (b.literal(Datum::Int(1)), b.exit("too deep", 0));
    let less = b
        .compute(S::IntSub, &[k, step], Some(exit))
        .expect("integers");
    let own = b.try_apply(OpRef::Static(&Mul), &[x, x]).expect("numbers");
    b.switch_to(after).expect("it exists");
    let inner = b.parameter(float());
    let product = b
        .try_apply(OpRef::Static(&Mul), &[inner, own])
        .expect("numbers");
    b.terminate(Terminator::Jump(to(end, &[product])));
    b.switch_to(end).expect("it exists");
    let result = b.parameter(float());
    b.switch_to(last).expect("it exists");
    let found = b.parameter(float());
    let sum = b
        .try_apply(OpRef::Static(&Add), &[found, x])
        .expect("numbers");
    b.terminate(Terminator::Return(vec![sum]));
    let function = b.finish("power").expect("fitting kinds");
    let call = |block, args: &[ValueId], then| RegionCall {
        block,
        args: args.to_vec(),
        then,
    };
    let recursion = Recursion {
        entry,
        first: call(0, &[n], last),
        inner: vec![call(calls, &[less], after)],
        end,
        results: vec![result],
    };
    (function, recursion)
}

#[test]
fn a_recursion_keeps_what_its_caller_needs_and_constants_never() {
    let (function, recursion) = power();
    let function = without_calls(&function, &[recursion]).expect("well formed");
    function.check().expect("well formed");
    let run = interpret(&function, &[1.5.into(), Datum::Int(3)], 1000).expect("it ends");
    let found = run.arrays().expect("a number").remove(0).item();
    assert_eq!(found.expect("one number"), 1.5_f64.powi(6) + 1.5);
    check_orders(&function, &[vec![1.5.into(), Datum::Int(4)]]);
    // The square is the number of the call's; the number of calls and the square are kept.
    let pushed = |i: &&wyrmling::ir::Instruction| matches!(i.expression, Expression::Push(..));
    let blocks = function.blocks.iter();
    let pushes = blocks.map(|b| b.instructions.iter().filter(pushed).count());
    assert_eq!(pushes.collect::<Vec<_>>(), [1, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn a_recursion_is_as_deep_as_the_memory_allows() {
    let (function, recursion) = power();
    let function = without_calls(&function, &[recursion]).expect("well formed");
    let compiled = Compiled::new(function).expect("well formed");
    let args = [1.0.into(), Datum::Int(1_000_000)];
    let run = || compiled.run(&args).expect("there is the memory").arrays();
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let found = std::thread::scope(|scope| {
        let thread = small.spawn_scoped(scope, run).expect("a thread");
        thread.join().expect("it does not fail")
    });
    let found = found.expect("a number").remove(0).item();
    assert_eq!(found.expect("one number"), 2.0);
}

#[test]
fn calls_that_are_wrong_are_errors() {
    let is_error = |change: &dyn Fn(&mut Function, &mut Vec<Recursion>)| {
        let (mut function, recursion) = power();
        let mut regions = vec![recursion];
        change(&mut function, &mut regions);
        let done = without_calls(&function, &regions).and_then(|f| f.check());
        let found = done.expect_err("it is wrong");
        assert!(
            matches!(found, Error::Value(_) | Error::Type(_)),
            "{found:?}"
        );
    };
    // More arguments, fewer, of another kind, or values that do not exist.
    is_error(&|_, r| r[0].inner[0].args.push(0));
    is_error(&|_, r| r[0].first.args.clear());
    is_error(&|_, r| r[0].inner[0].args[0] = 0);
    is_error(&|_, r| r[0].inner[0].args[0] = 1000);
    is_error(&|_, r| r[0].results = vec![1000]);
    is_error(&|_, r| r[0].results = Vec::new());
    is_error(&|_, r| r[0].results[0] = 1);
    // Blocks that do not exist, or are two things.
    is_error(&|_, r| r[0].entry = 1000);
    is_error(&|_, r| r[0].entry = 0);
    is_error(&|_, r| r[0].end = 1000);
    is_error(&|_, r| r[0].first.block = 1000);
    is_error(&|_, r| r[0].inner[0].then = r[0].first.then);
    is_error(&|_, r| r[0].inner[0].block = r[0].end);
    is_error(&|_, r| r[0].inner[0].then = r[0].entry);
    is_error(&|_, r| {
        let again = r[0].clone();
        r.push(again);
    });
    // A call from outside that uses what the region defines, and the other way round.
    is_error(&|_, r| {
        let inner = r[0].inner.remove(0);
        let first = std::mem::replace(&mut r[0].first, inner);
        r[0].inner.push(first);
    });
    is_error(&|f, r| {
        let Terminator::Return(results) = &mut f.blocks[6].terminator else {
            panic!("it returns");
        };
        *results = r[0].inner[0].args.clone();
    });
    is_error(&|f, _| {
        f.blocks[3].terminator = Terminator::Jump(Target {
            block: 9,
            args: vec![],
        })
    });
}
