//! What many small operators cost grows with their number and no faster: graphs of eight times as many
//! nodes allocate about eight times as many bytes.
//!
//! Bytes are counted, all that are ever asked for by the thread, and not time: what is copied or listed
//! again for each operator shows, also where it is given back at once. It is a binary of its own, since
//! its allocator counts. With the feature `python` the module has an allocator of its own, and there is
//! nothing here.

#![cfg(not(feature = "python"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wyrmling::exec::interpret;
use wyrmling::graph::{Constant, Independent, ops};
use wyrmling::ir::{
    Builder, Comparison, Function, ScalarOperator, Target, Terminator, ValueKind, vjp,
};
use wyrmling::rules::{self, OpRef, SliceItem};
use wyrmling::{Array, DType, Input, Parameter, Type, Variable};

/// The system's allocator, with the bytes that the calling thread has asked for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; the
// counter is a thread-local cell without destructor, initialised at compile time, so that counting
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get().wrapping_add(layout.size()));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WIDTH: usize = 5;

fn vector(start: f64) -> Array {
    (0..WIDTH)
        .map(|k| start + k as f64)
        .collect::<Vec<_>>()
        .into()
}

fn leaf() -> Variable {
    Independent::new(vector(1.0)).unwrap().boxed()
}

fn element(x: &Variable, k: usize) -> Variable {
    ops::slice(x, vec![SliceItem::At((k % WIDTH) as i64)]).unwrap()
}

/// The sum of the squares of `n` lookups.
fn lookups(x: &Variable, n: usize) -> Variable {
    let squares = (0..n).map(|k| element(x, k).square().boxed());
    squares.reduce(|a, b| (a + b).boxed()).unwrap()
}

/// The same, of a value that is another one each time.
fn steps(x: &Variable, n: usize) -> Variable {
    let (mut y, mut sum) = (x.clone(), element(x, 0));
    for k in 1..n {
        y = (y + 1.0).boxed();
        sum = (sum + element(&y, k).square()).boxed();
    }
    sum
}

fn gradient(y: &Variable, x: &Variable) -> Variable {
    y.gradients(&[x]).unwrap().remove(0).unwrap()
}

fn forward(results: &[&Variable], x: &Variable) {
    let direction = Constant::new(vector(0.5)).boxed();
    let found = Variable::tangents(results, &[x], &[&direction]).unwrap();
    assert!(found.iter().all(Option::is_some));
}

/// Checks that work on eight times as many operators allocates less than twelve times as much.
fn linear(name: &str, work: impl Fn(usize, &Variable)) {
    let [few, many] = [150, 1200].map(|n| {
        let x = leaf();
        let before = ASKED.get();
        work(n, &x);
        ASKED.get().wrapping_sub(before)
    });
    assert!(
        0 < few && many <= 12 * few,
        "{name}: {few} bytes, then {many}"
    );
}

#[test]
fn derivatives_of_many_lookups_are_linear() {
    for (name, of) in [("lookups", lookups as fn(&_, _) -> _), ("steps", steps)] {
        linear(name, |n, x| drop(gradient(&of(x, n), x)));
        linear(name, |n, x| forward(&[&of(x, n)], x));
        linear(name, |n, x| forward(&[&gradient(&of(x, n), x)], x));
        linear(name, |n, x| {
            let slope = gradient(&of(x, n), x).sum().boxed();
            drop(gradient(&slope, x));
        });
    }
}

#[test]
fn derivatives_of_many_results_are_linear() {
    // Each is computed from the one before.
    let chain = |n: usize, x: &Variable| -> Vec<Variable> {
        let next = |y: &Variable| Some((y.clone() + 1.0).boxed());
        std::iter::successors(Some(x.clone()), next)
            .take(n)
            .collect()
    };
    linear("tangents", |n, x| {
        let results = chain(n, x);
        forward(&results.iter().collect::<Vec<_>>(), x);
    });
    linear("captures", |n, x| {
        let inner = Constant::traced(vector(1.0)).unwrap().boxed();
        assert!(!Variable::any_captures(&chain(n, &inner), &[&inner]).unwrap());
        assert!(Variable::any_captures(&chain(n, x), &[&inner]).unwrap());
    });
}

#[test]
fn operators_beside_leaves_that_change_are_linear() {
    // Neither is below the operators, but below another one.
    let (number, parameter) = (Input::new(0.0), Parameter::new(0.0));
    let other = number.clone() * parameter.clone();
    let changes: [&dyn Fn(f64); 2] = [&|to| number.set_value(to).unwrap(), &|to| {
        parameter.set_value(to).unwrap()
    }];
    for change in changes {
        linear("beside changes", |n, x| {
            let (mut y, factor) = (x.clone(), x.clone().square().boxed());
            for k in 0..n {
                change(k as f64);
                y = (y * factor.clone()).boxed();
            }
            assert_eq!(y.value().unwrap().size(), WIDTH);
        });
    }
    assert!(other.item().is_ok());
}

#[test]
fn operators_on_leaves_that_are_set_before_they_are_used_are_linear() {
    linear("set, then used", |n, x| {
        let inputs: Vec<Input> = (0..n).map(|_| Input::new(0.0)).collect();
        let mut y = x.clone();
        for (k, input) in inputs.iter().enumerate() {
            input.set_value(k as f64).unwrap();
            y = (y + input.clone()).boxed();
        }
        assert_eq!(y.value().unwrap().size(), WIDTH);
    });
}

/// A function that fills an array of `n` numbers, one a turn of a loop, each from the one before.
fn filling() -> Function {
    let number = || Type::scalar(DType::F64);
    let to = |block, args: &[u32]| Target {
        block,
        args: args.to_vec(),
    };
    let b = Builder::new();
    let (array, n) = (
        b.parameter(Type::new(DType::F64, &[1])),
        b.parameter(ValueKind::Int),
    );
    let (one, start) = (b.literal(1i64.into()), b.fixed(1.0.into()));
    let never = b.exit("the index does not fit", 0);
    b.terminate(Terminator::Jump(to(1, &[array, n, start])));

    b.block();
    let y = b.parameter(Type::new(DType::F64, &[1]));
    let (left, x) = (b.parameter(ValueKind::Int), b.parameter(number()));
    let more = b.compute(ScalarOperator::IntToBool, &[left], None);
    b.terminate(Terminator::Branch {
        condition: more.unwrap(),
        then: to(2, &[]),
        otherwise: to(3, &[]),
    });

    b.block();
    let fewer = b.compute(ScalarOperator::IntSub, &[left, one], Some(never));
    let fewer = fewer.unwrap();
    let index = b.compute(ScalarOperator::IntToIndex, &[fewer], Some(never));
    let next = b.try_apply(OpRef::Static(&rules::Sin), &[x]).unwrap();
    let operands = [y, next, index.unwrap()];
    let filled = b.try_apply(OpRef::Static(&rules::ReplaceRow), &operands);
    b.terminate(Terminator::Jump(to(1, &[filled.unwrap(), fewer, next])));

    b.block();
    b.terminate(Terminator::Return(vec![y]));
    b.finish("filling").unwrap()
}

/// A function of `n` loops, one after the other, of which each takes the sine as often as it is told.
fn loops(n: usize) -> Function {
    let number = || ValueKind::number(DType::F64);
    let to = |block, args: &[u32]| Target {
        block,
        args: args.to_vec(),
    };
    let b = Builder::new();
    let (mut x, times) = (b.parameter(number()), b.parameter(ValueKind::Int));
    let (zero, one) = (b.literal(0i64.into()), b.literal(1i64.into()));
    let never = b.exit("too many turns", 0);
    let less = ScalarOperator::CompareInt(Comparison::Less);
    for _ in 0..n {
        let header = b.count_blocks();
        let (body, after) = (header + 1, header + 2);
        b.terminate(Terminator::Jump(to(header, &[zero, x])));

        b.block();
        let (turn, y) = (b.parameter(ValueKind::Int), b.parameter(number()));
        b.terminate(Terminator::Branch {
            condition: b.compute(less, &[turn, times], None).unwrap(),
            then: to(body, &[]),
            otherwise: to(after, &[]),
        });

        b.block();
        let next = b.try_apply(OpRef::Static(&rules::Sin), &[y]).unwrap();
        let turn = b.compute(ScalarOperator::IntAdd, &[turn, one], Some(never));
        b.terminate(Terminator::Jump(to(header, &[turn.unwrap(), next])));

        b.block();
        x = y;
    }
    b.terminate(Terminator::Return(vec![x]));
    b.finish("loops").unwrap()
}

#[test]
fn derivatives_of_many_loops_are_linear() {
    linear("loops", |n, _| {
        let loops = loops(n);
        assert_eq!(
            vjp(&loops, &loops.parameters()[..1]).unwrap().gradients,
            [Some(1)]
        );
    });
}

#[test]
fn an_array_filled_in_a_loop_is_not_copied_each_turn() {
    let filling = filling();
    linear("filling", |n, _| {
        let zeros = Array::zeros(&Type::new(DType::F64, &[n])).unwrap();
        let args = [zeros.into(), (n as i64).into()];
        let filled = interpret(&filling, &args, usize::MAX).unwrap();
        let filled = filled.arrays().unwrap().remove(0).to_f64();
        assert!(filled.iter().all(|&x| x > 0.0));
        assert_eq!(args[0].array().unwrap().to_f64(), vec![0.0; n]);
    });
}
