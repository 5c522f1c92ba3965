//! Machine code for arguments of several lengths, where some others stay as they are: recurrent networks whose
//! states are all kept, with their gradients, beside the interpreter.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use smallvec::smallvec;
use wyrmling::array::Dense;
use wyrmling::exec::Compiled;
use wyrmling::ir::{Builder, Datum, Function, ValueKind, vjp};
use wyrmling::rules::{self, OpRef};
use wyrmling::{Array, Type};

use crate::common::loops::counted;
use crate::native_arrays::{agrees, native};

/// Steps, the length of a row, and that of a state.
type Sizes = [usize; 3];

fn matrix(rows: usize, columns: usize, from: usize) -> Datum {
    let numbers = (0..rows * columns).map(|i| ((i * 37 + from * 11) % 29) as f64 / 19.0 - 0.7);
    let dense = Dense::new(&[rows, columns], numbers.collect()).expect("as many elements");
    Array::F64(dense).into()
}

/// `for t in range(n): h = tanh(x[t] @ w + h); states[t] = h`, from a row of zeros on. The states are the
/// result; `w`, `x` and `states` as they are before are parameters, and so is `n`.
fn states([steps, k, n]: Sizes) -> Function {
    let b = Builder::new();
    let real = |shape: &[usize]| Type::new(wyrmling::DType::F64, shape);
    let w = b.parameter(real(&[k, n]));
    let x = b.parameter(real(&[steps, k]));
    let empty = b.parameter(real(&[steps, n]));
    let count = b.parameter(ValueKind::Int);
    let start = b.literal(Array::full(&real(&[1, n]), 0.0).into());
    counted("states", b, count, [start, empty], 1, |turn, [h, kept]| {
        let at = turn.index();
        let row = turn.apply(OpRef::Static(&rules::Gather), &[x, at]);
        let row = turn.apply(OpRef::new(rules::ExpandDims { axes: smallvec![0] }), &[row]);
        let multiply = rules::MatMul {
            transpose_a: false,
            transpose_b: false,
        };
        let product = turn.apply(OpRef::new(multiply), &[row, w]);
        let sum = turn.apply(OpRef::Static(&rules::Add), &[product, h]);
        let tanh = turn.apply(OpRef::Static(&rules::Tanh), &[sum]);
        let flat = turn.apply(OpRef::new(rules::Squeeze { axes: smallvec![0] }), &[tanh]);
        let written = turn.apply(OpRef::Static(&rules::ReplaceRow), &[kept, flat, at]);
        [tanh, written]
    })
}

/// The function and the gradients of its result by `w`, `x` and what `states` were.
fn with_gradients(sizes: Sizes) -> Compiled {
    let function = states(sizes);
    let pullback = vjp(&function, &function.parameters()[..3]).expect("differentiable");
    native(pullback.function)
}

fn arguments([steps, k, n]: Sizes, count: usize) -> Vec<Datum> {
    vec![
        matrix(k, n, 1),
        matrix(steps, k, 2),
        matrix(steps, n, 3),
        Datum::Int(count as i64),
        matrix(steps, n, 4),
    ]
}

#[test]
fn sequences_of_other_lengths_have_the_bits_of_the_interpreter() {
    for [k, n] in [[3, 4], [1, 1], [8, 33], [5, 0]] {
        let compiled = with_gradients([3, k, n]);
        for steps in [3, 5, 1, 0, 12, 3, 40, 2] {
            for count in [steps, steps / 2] {
                assert!(agrees(&compiled, &arguments([steps, k, n], count)));
            }
            // A row that is not there is an error, and the next run does not notice.
            assert!(!agrees(&compiled, &arguments([steps, k, n], steps + 1)));
        }
    }
}

#[test]
fn what_stayed_the_same_so_far_may_change() {
    let compiled = with_gradients([3, 4, 5]);
    for sizes in [
        [7, 4, 5],
        [7, 2, 5],
        [2, 4, 5],
        [2, 4, 1],
        [3, 4, 5],
        [9, 4, 5],
        [9, 9, 9],
    ] {
        // The row of zeros has five, whatever the arguments have.
        let fits = sizes[2] == 5;
        assert_eq!(
            agrees(&compiled, &arguments(sizes, sizes[0])),
            fits,
            "{sizes:?}"
        );
    }
}

#[test]
fn lengths_that_do_not_fit_each_other_give_what_they_give_the_interpreter() {
    let compiled = with_gradients([3, 4, 5]);
    for steps in [2, 6, 6, 9] {
        let mut args = arguments([steps, 4, 5], steps);
        args[2] = matrix(steps, 4, 3);
        assert!(!agrees(&compiled, &args));
        let mut args = arguments([steps, 4, 5], steps);
        args[4] = matrix(steps + 1, 5, 3);
        agrees(&compiled, &args);
        assert!(agrees(&compiled, &arguments([steps, 4, 5], steps)));
    }
}

#[test]
fn an_array_that_somebody_else_has_is_not_changed() {
    let compiled = with_gradients([3, 4, 5]);
    for steps in [2, 5] {
        // `agrees` looks whether arguments stay as they are.
        let mut args = arguments([steps, 4, 5], steps);
        args[4] = args[2].clone();
        assert!(agrees(&compiled, &args));
    }
}

#[test]
fn threads_may_be_the_first_with_other_lengths_at_once() {
    let compiled = with_gradients([3, 4, 5]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let compiled = &compiled;
            scope.spawn(move || {
                for turn in 0..20 {
                    let steps = 1 + (3 * thread + turn) % 17;
                    assert!(agrees(compiled, &arguments([steps, 4, 5], steps)));
                }
            });
        }
    });
}
