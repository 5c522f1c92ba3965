//! Arrays of known lengths in machine code: recurrent networks of all small sizes with their gradients,
//! beside the interpreter and beside loops by hand, and for lengths other than those that were seen.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use smallvec::smallvec;
use wyrmling::array::Dense;
use wyrmling::exec::{Compiled, Outcome};
use wyrmling::ir::{Builder, Datum, Function, ValueKind, vjp};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{Array, DType, Type};

use crate::common::loops::counted;
use crate::native_arrays::{agrees, native};

/// Length of a row, of the state, and steps.
type Sizes = [usize; 3];

/// How the product of a step is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Product {
    /// `x[t] @ w`.
    Row,
    /// `w.T @ x[t]`.
    Column,
}

/// `for t in range(n): h = tanh(x[t] @ w + h)` from `h = start` on; all of `w`, `x`, `start` and `n` are
/// parameters.
fn recurrent([k, n, steps]: Sizes, dtype: DType, product: Product) -> Function {
    let b = Builder::new();
    let w = b.parameter(Type::new(dtype, &[k, n]));
    let x = b.parameter(Type::new(dtype, &[steps, k]));
    let start = b.parameter(Type::new(dtype, &[n]));
    let count = b.parameter(ValueKind::Int);
    counted("recurrent", b, count, [start], 0, |turn, [h]| {
        let row = turn.apply(OpRef::Static(&rules::Gather), &[x, turn.index()]);
        let (axis, transposed) = match product {
            Product::Row => (0, false),
            Product::Column => (1, true),
        };
        let axes = smallvec![axis];
        let matrix = turn.apply(OpRef::new(rules::ExpandDims { axes }), &[row]);
        let operands = match product {
            Product::Row => [matrix, w],
            Product::Column => [w, matrix],
        };
        let multiply = rules::MatMul {
            transpose_a: transposed,
            transpose_b: false,
        };
        let multiplied = turn.apply(OpRef::new(multiply), &operands);
        let axes = smallvec![axis];
        let vector = turn.apply(OpRef::new(rules::Squeeze { axes }), &[multiplied]);
        let sum = turn.apply(OpRef::Static(&rules::Add), &[vector, h]);
        [turn.apply(OpRef::Static(&rules::Tanh as &dyn Operator), &[sum])]
    })
}

/// Numbers that differ.
fn numbers(count: usize, from: usize) -> Vec<f64> {
    let number = |i: usize| ((i * 37 + from * 11) % 29) as f64 / 19.0 - 0.7;
    (0..count).map(number).collect()
}

fn array(dtype: DType, shape: &[usize], elements: &[f64]) -> Datum {
    let array = Array::from(elements.to_vec()).to_dtype(dtype);
    Datum::from(
        match array {
            Array::F32(a) => Dense::new(shape, a.as_slice().to_vec()).map(Array::F32),
            Array::F64(a) => Dense::new(shape, a.as_slice().to_vec()).map(Array::F64),
            Array::U32(a) => Dense::new(shape, a.as_slice().to_vec()).map(Array::U32),
        }
        .expect("as many elements"),
    )
}

/// Arguments of these sizes.
fn arguments([k, n, steps]: Sizes, dtype: DType, count: usize) -> Vec<Datum> {
    vec![
        array(dtype, &[k, n], &numbers(k * n, 1)),
        array(dtype, &[steps, k], &numbers(steps * k, 2)),
        array(dtype, &[n], &numbers(n, 3)),
        Datum::Int(count as i64),
    ]
}

/// The state after all steps, and the gradients of its sum by `w`, `x` and `start`, by hand.
fn by_hand([k, n, steps]: Sizes) -> [Vec<f64>; 4] {
    let (w, x, start) = (numbers(k * n, 1), numbers(steps * k, 2), numbers(n, 3));
    let mut states = vec![start];
    for t in 0..steps {
        let h = (0..n).map(|j| {
            let product: f64 = (0..k).map(|i| x[t * k + i] * w[i * n + j]).sum();
            (product + states[t][j]).tanh()
        });
        let h = h.collect();
        states.push(h);
    }
    let (mut by_w, mut by_x, mut back) = (vec![0.0; k * n], vec![0.0; steps * k], vec![1.0; n]);
    for t in (0..steps).rev() {
        for (back, h) in back.iter_mut().zip(&states[t + 1]) {
            *back *= 1.0 - h * h;
        }
        for i in 0..k {
            for j in 0..n {
                by_w[i * n + j] += x[t * k + i] * back[j];
                by_x[t * k + i] += w[i * n + j] * back[j];
            }
        }
    }
    let last = states.pop().unwrap_or_default();
    [last, by_w, by_x, back]
}

/// The gradients by the first `wrt` parameters.
fn gradients(sizes: Sizes, dtype: DType, product: Product, wrt: usize) -> Compiled {
    let function = recurrent(sizes, dtype, product);
    let pullback = vjp(&function, &function.parameters()[..wrt]).expect("differentiable");
    native(pullback.function)
}

const SIZES: [Sizes; 16] = [
    [1, 1, 1],
    [2, 3, 4],
    [3, 2, 1],
    [5, 7, 3],
    [8, 8, 2],
    [7, 1, 5],
    [1, 9, 5],
    [16, 17, 2],
    [33, 31, 3],
    [7, 16, 3],
    [5, 32, 2],
    [2, 64, 3],
    [3, 80, 2],
    [0, 3, 2],
    [3, 0, 2],
    [4, 5, 0],
];

#[test]
fn gradients_of_recurrent_networks_are_those_by_hand_at_all_sizes() {
    for sizes in SIZES {
        for dtype in [DType::F64, DType::F32] {
            for product in [Product::Row, Product::Column] {
                let compiled = gradients(sizes, dtype, product, 3);
                let mut args = arguments(sizes, dtype, sizes[2]);
                args.push(array(dtype, &[sizes[1]], &vec![1.0; sizes[1]]));
                assert!(agrees(&compiled, &args), "{sizes:?}");
                let Ok(Outcome::Returned(found)) = compiled.run(&args) else {
                    panic!("{sizes:?}");
                };
                let most = if dtype == DType::F64 { 1e-12 } else { 1e-4 };
                for (found, expected) in found.iter().zip(by_hand(sizes)) {
                    let Datum::Array(found) = found else {
                        panic!("{found:?}");
                    };
                    let found = found.to_f64();
                    assert_eq!(found.len(), expected.len());
                    for (x, y) in found.iter().zip(&expected) {
                        assert!((x - y).abs() <= most * (1.0 + y.abs()), "{x} {y} {sizes:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn other_lengths_than_those_that_were_seen_come_in_any_order() {
    for wrt in [1, 3] {
        let compiled = gradients([3, 4, 2], DType::F64, Product::Row, wrt);
        for sizes in SIZES
            .into_iter()
            .chain([[3, 4, 2], [3, 4, 9], [2, 4, 2], [3, 4, 2]])
        {
            let mut args = arguments(sizes, DType::F64, sizes[2]);
            args.push(array(DType::F64, &[sizes[1]], &numbers(sizes[1], 4)));
            assert!(agrees(&compiled, &args), "{sizes:?}");
            // A row that is not there is an error, and the next run does not notice.
            args[3] = Datum::Int(sizes[2] as i64 + 1);
            assert!(!agrees(&compiled, &args), "{sizes:?}");
        }
    }
}

#[test]
fn nothing_is_skipped_for_a_zero() {
    let sizes = [3, 9, 2];
    let compiled = gradients(sizes, DType::F64, Product::Row, 3);
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for (k, &number) in special.iter().enumerate() {
        let mut args = arguments(sizes, DType::F64, 2);
        let mut x = [0.0; 6];
        x[k] = number;
        args[0] = array(DType::F64, &[3, 9], &vec![special[4 - k]; 27]);
        args[1] = array(DType::F64, &[2, 3], &x);
        args.push(array(DType::F64, &[9], &[number; 9]));
        assert!(agrees(&compiled, &args));
    }
}

#[test]
fn threads_share_code_and_no_memory() {
    let compiled = gradients([5, 6, 40], DType::F64, Product::Row, 3);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let compiled = &compiled;
            scope.spawn(move || {
                for turn in 0..20 {
                    let mut args = arguments([5, 6, 40], DType::F64, 10 + (thread + turn) % 31);
                    args.push(array(DType::F64, &[6], &numbers(6, thread)));
                    assert!(agrees(compiled, &args));
                }
            });
        }
    });
}

/// `for t in range(n): s = s + outer(x[t], y[t])` from `s = start` on.
fn outer_products(m: usize, n: usize, steps: usize, dtype: DType) -> Function {
    let b = Builder::new();
    let start = b.parameter(Type::new(dtype, &[m, n]));
    let x = b.parameter(Type::new(dtype, &[steps, m]));
    let y = b.parameter(Type::new(dtype, &[steps, n]));
    let count = b.parameter(ValueKind::Int);
    counted("outer products", b, count, [start], 0, |turn, [s]| {
        let at = turn.index();
        let [column, row] = [(x, 1), (y, 0)].map(|(of, axis)| {
            let row = turn.apply(OpRef::Static(&rules::Gather), &[of, at]);
            let axes = smallvec![axis];
            turn.apply(OpRef::new(rules::ExpandDims { axes }), &[row])
        });
        let multiply = rules::MatMul {
            transpose_a: false,
            transpose_b: false,
        };
        let product = turn.apply(OpRef::new(multiply), &[column, row]);
        [turn.apply(OpRef::Static(&rules::Add), &[s, product])]
    })
}

#[test]
fn sums_of_outer_products_have_the_bits_of_the_interpreter() {
    let special = [0.0, -0.0, 1.5, -1e-200, 1e-200, 3.25, -2.0];
    for m in [0, 1, 2, 3, 9] {
        for n in [0, 1, 2, 5, 16, 33] {
            for dtype in [DType::F64, DType::F32] {
                let compiled = native(outer_products(m, n, 3, dtype));
                for start in [-0.0, 0.0, 0.7] {
                    let numbers = |count: usize, by: usize| -> Vec<f64> {
                        (0..count).map(|i| special[i * by % 7]).collect()
                    };
                    let mut args = vec![
                        array(dtype, &[m, n], &vec![start; m * n]),
                        array(dtype, &[3, m], &numbers(3 * m, 3)),
                        array(dtype, &[3, n], &numbers(3 * n, 5)),
                    ];
                    for steps in 0..=3 {
                        args.truncate(3);
                        args.push(Datum::Int(steps));
                        assert!(agrees(&compiled, &args), "{m} x {n}");
                    }
                }
            }
        }
    }
}

/// `for _ in range(count): z = w @ h; h = tanh(z[:n]) / (1 + exp(-z[n:2n])) + h * z[last n by step]` from
/// `start` on; `w`, `start` and `count` are parameters.
fn gated(n: usize, dtype: DType, step: i64) -> Function {
    let b = Builder::new();
    let w = b.parameter(Type::new(dtype, &[3 * n, n]));
    let start = b.parameter(Type::new(dtype, &[n]));
    let count = b.parameter(ValueKind::Int);
    let unit = b.literal(array(dtype, &[], &[1.0]));
    counted("gated", b, count, [start], 0, |turn, [h]| {
        let axes = smallvec![1];
        let column = turn.apply(OpRef::new(rules::ExpandDims { axes: axes.clone() }), &[h]);
        let multiply = rules::MatMul {
            transpose_a: false,
            transpose_b: false,
        };
        let product = turn.apply(OpRef::new(multiply), &[w, column]);
        let z = turn.apply(OpRef::new(rules::Squeeze { axes }), &[product]);
        let part = |start: Option<usize>, stop: Option<usize>, step: i64| {
            let [start, stop] = [start, stop].map(|at| at.map(|at| at as i64));
            let items = vec![rules::SliceItem::Range { start, stop, step }];
            turn.apply(OpRef::new(rules::BasicSlice { items }), &[z])
        };
        let tanh = turn.apply(OpRef::Static(&rules::Tanh), &[part(None, Some(n), 1)]);
        let minus = turn.apply(OpRef::Static(&rules::Neg), &[part(Some(n), Some(2 * n), 1)]);
        let exp = turn.apply(OpRef::Static(&rules::Exp), &[minus]);
        let below = turn.apply(OpRef::Static(&rules::Add), &[unit, exp]);
        let gate = turn.apply(OpRef::Static(&rules::Div), &[tanh, below]);
        let last = match step {
            1 => part(Some(2 * n), None, 1),
            step => part(None, Some(2 * n - 1), step),
        };
        let kept = turn.apply(OpRef::Static(&rules::Mul), &[h, last]);
        [turn.apply(OpRef::Static(&rules::Add), &[gate, kept])]
    })
}

#[test]
fn slices_of_a_state_and_their_sums_are_what_operators_give() {
    for n in [1, 2, 3, 7, 8, 9, 16, 17, 33] {
        for dtype in [DType::F64, DType::F32] {
            for step in [1, -1] {
                let function = gated(n, dtype, step);
                let pullback = vjp(&function, &function.parameters()[..2]).expect("differentiable");
                let compiled = native(pullback.function);
                for special in [0.3, 0.0, -0.0, f64::NAN, f64::INFINITY] {
                    let mut start = numbers(n, 2);
                    start[n / 2] = special;
                    let args = [
                        array(dtype, &[3 * n, n], &numbers(3 * n * n, 1)),
                        array(dtype, &[n], &start),
                        Datum::Int(3),
                        array(dtype, &[n], &numbers(n, 5)),
                    ];
                    assert!(agrees(&compiled, &args), "{n} {dtype} {step}");
                }
            }
        }
    }
}
