//! Operators large enough to be split over threads: right, and the same bits as on one thread.

use wyrmling::array::{Dense, View};
use wyrmling::graph::ops;
use wyrmling::rules::{self, MatMul, OpRef};
use wyrmling::{Array, Input, Variable};

/// Numbers of a fixed sequence.
fn numbers(shape: &[usize], seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let count = shape.iter().product();
    std::iter::repeat_with(next).take(count).collect()
}

fn input(shape: &[usize], seed: u64, single: bool) -> Variable {
    let numbers = numbers(shape, seed);
    let array: Array = if single {
        let numbers = numbers.iter().map(|&x| x as f32).collect();
        Dense::new(shape, numbers).expect("the shape fits").into()
    } else {
        Dense::new(shape, numbers).expect("the shape fits").into()
    };
    Input::new(array).boxed()
}

/// The result of `f`, which a thread of a pool, that takes no others, must find too.
fn result(f: impl Fn() -> Variable + Sync) -> Array {
    let value = || f().value().expect("it is computed");
    let here = value();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let alone = pool.expect("a thread starts").install(value);
    assert_eq!(here.shape(), alone.shape());
    let bits = |a: &Array| a.to_f64().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert!(bits(&here) == bits(&alone), "threads changed the bits");
    here
}

fn close(found: &Array, expected: impl Fn(usize) -> f64, digits: f64) {
    for (at, x) in found.to_f64().into_iter().enumerate() {
        let y = expected(at);
        assert!((x - y).abs() <= digits, "element {at}: {x}, expected {y}");
    }
}

#[test]
fn products_of_all_layouts() {
    // Split by rows, by columns, and products with a vector on either side.
    let sizes = [
        [200, 150, 300],
        [301, 90, 203],
        [1, 900, 1100],
        [1100, 900, 1],
    ];
    for single in [false, true] {
        for [m, k, n] in sizes {
            for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                let a = if ta { [k, m] } else { [m, k] };
                let b = if tb { [n, k] } else { [k, n] };
                let product = result(|| {
                    let op = OpRef::new(MatMul {
                        transpose_a: ta,
                        transpose_b: tb,
                    });
                    Variable::apply(op, &[input(&a, 1, single), input(&b, 2, single)]).unwrap()
                });
                assert_eq!(product.shape(), [m, n]);
                let (x, y) = (numbers(&a, 1), numbers(&b, 2));
                let expected = |at: usize| -> f64 {
                    let (i, j) = (at / n, at % n);
                    let x = |l: usize| if ta { x[l * m + i] } else { x[i * k + l] };
                    let y = |l: usize| if tb { y[j * k + l] } else { y[l * n + j] };
                    (0..k).map(|l| x(l) * y(l)).sum()
                };
                close(&product, expected, if single { 1e-3 } else { 1e-11 });
            }
        }
    }
}

#[test]
fn batches() {
    // The second operand is one matrix for each of the first axis, the same for the second.
    let (a, b) = ([3, 7, 60, 50], [3, 1, 50, 40]);
    let product = result(|| ops::matmul(&input(&a, 1, false), &input(&b, 2, false)).unwrap());
    assert_eq!(product.shape(), [3, 7, 60, 40]);
    let (x, y) = (numbers(&a, 1), numbers(&b, 2));
    let expected = |at: usize| -> f64 {
        let (batch, i, j) = (at / 2400, at / 40 % 60, at % 40);
        let x = &x[(batch * 60 + i) * 50..][..50];
        let y = |l: usize| y[(batch / 7 * 50 + l) * 40 + j];
        (0..50).map(|l| x[l] * y(l)).sum()
    };
    close(&product, expected, 1e-12);
}

#[test]
fn elements() {
    const COUNT: usize = 300_001;
    for single in [false, true] {
        let digits = if single { 1e-6 } else { 1e-15 };
        let x = || input(&[COUNT], 1, single);
        let (p, q) = (numbers(&[COUNT], 1), numbers(&[COUNT], 2));
        let exp = result(|| ops::unary(&rules::Exp, &x()).unwrap());
        close(&exp, |at| p[at].exp(), digits * 2.0);
        let sum = result(|| ops::binary(&rules::Add, &x(), &input(&[COUNT], 2, single)).unwrap());
        close(&sum, |at| p[at] + q[at], digits);
        let number = result(|| ops::binary(&rules::Sub, &input(&[], 3, single), &x()).unwrap());
        let first = numbers(&[], 3)[0];
        close(&number, |at| first - p[at], digits);
    }
}

#[test]
fn memory_is_used_again_only_when_nobody_holds_it() {
    let x = Input::new(vec![1.0f64; 50_000]);
    let exp = |x: &Variable| ops::unary(&rules::Exp, x).unwrap();
    let x = x.boxed();
    let first = exp(&x);
    let held = first.value().unwrap();
    drop(first);
    x.set_value(vec![2.0f64; 50_000]).unwrap();
    let second = exp(&x);
    drop(exp(&exp(&x)));
    let third = exp(&x).value().unwrap();
    let all = |a: &Array, y: f64| {
        let View { data, .. } = a.view();
        assert_eq!(data.len(), 50_000);
        a.to_f64().iter().all(|&x| (x - y).abs() < 1e-14)
    };
    assert!(all(&held, 1.0f64.exp()));
    assert!(all(&second.value().unwrap(), 2.0f64.exp()));
    assert!(all(&third, 2.0f64.exp()));
}
