//! The gradient tests of candle-core 0.8.

use wyrmling::graph::ops::{self, Reduction};
use wyrmling::optim::Optimizer;
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Parameter, Variable};

use super::{array, check};

#[track_caller]
fn of(
    x: &[f64],
    f: impl Fn(Variable) -> Variable,
    value: &[f64],
    gradient: &[f64],
    tolerance: f64,
) {
    check(
        &[array(&[x.len()], x)],
        |v| f(v[0].clone()),
        value,
        &[gradient],
        tolerance,
    );
}

#[test]
fn polynomials_and_sums() {
    let x = &[3.0, 1.0, 4.0];
    of(
        x,
        |x| (x.clone() * x.clone() + x * 5.0 + 4.0).boxed(),
        &[28.0, 10.0, 40.0],
        &[11.0, 7.0, 13.0],
        0.0,
    );
    let kept = |x: Variable| {
        let sum = ops::reduce(Reduction::Sum, &x.square().boxed(), Some(&[0]), true).unwrap();
        (sum * 2.0).boxed()
    };
    of(x, kept, &[52.0], &[12.0, 4.0, 16.0], 0.0);
    of(
        x,
        |x| ops::squeeze(&kept(x), Some(&[0])).unwrap(),
        &[52.0],
        &[12.0, 4.0, 16.0],
        0.0,
    );
}

#[test]
fn products_of_stacks() {
    let data: Vec<f64> = (0..12).map(f64::from).collect();
    check(
        &[array(&[2, 2, 3], &data), array(&[2, 3, 2], &data)],
        |v| ops::matmul(&v[0], &v[1]).unwrap(),
        &[],
        &[
            &[
                1.0, 5.0, 9.0, 1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 13.0, 17.0, 21.0,
            ],
            &[
                3.0, 3.0, 5.0, 5.0, 7.0, 7.0, 15.0, 15.0, 17.0, 17.0, 19.0, 19.0,
            ],
        ],
        0.0,
    );
}

#[test]
fn descent_of_one_number() {
    let x = Parameter::new(Array::scalar(DType::F32, 0.0));
    let sgd = Optimizer::sgd(0.1).unwrap();
    for _ in 0..100 {
        let off = x.clone() - 4.2;
        let loss = off.clone() * off;
        loss.backward();
        sgd.step_and_clear(&loss.parameters().unwrap()).unwrap();
    }
    assert!((x.item().unwrap() - 4.199999).abs() < 1e-5);
}

#[test]
fn functions_of_one_number() {
    let x = &[3.0, 1.0, 4.0, 0.15];
    let t = 1e-4;
    of(
        x,
        |x| (x.log() + 1.0).boxed(),
        &[2.0986, 1.0, 2.3863, -0.8971],
        &[0.3333, 1.0, 0.25, 6.6667],
        t,
    );
    let exp = &[20.0855, std::f64::consts::E, 54.5982, 1.1618];
    of(x, |x| x.exp().boxed(), exp, exp, t);
    of(
        x,
        |x| x.exp().square().boxed(),
        &[403.429, 7.389, 2980.958, 1.35],
        &[806.86, 14.78, 5961.92, 2.7],
        2e-3,
    );
    let (sin, cos) = (
        &[0.1411, 0.8415, -0.7568, 0.1494],
        &[-0.99, 0.5403, -0.6536, 0.9888],
    );
    of(x, |x| x.sin().boxed(), sin, cos, t);
    of(
        x,
        |x| x.cos().boxed(),
        cos,
        &[-0.1411, -0.8415, 0.7568, -0.1494],
        t,
    );
    of(
        x,
        |x| x.square().boxed(),
        &[9.0, 1.0, 16.0, 0.0225],
        &[6.0, 2.0, 8.0, 0.3],
        1e-7,
    );
    of(x, |x| x.square().sqrt().boxed(), x, &[1.0; 4], 1e-7);
    of(
        x,
        |x| (-x).boxed(),
        &[-3.0, -1.0, -4.0, -0.15],
        &[-1.0; 4],
        1e-7,
    );
    of(
        x,
        |x| (x * 0.2 + 1.0).boxed(),
        &[1.6, 1.2, 1.8, 1.03],
        &[0.2; 4],
        1e-7,
    );
    of(
        x,
        |x| (1.0 / x).boxed(),
        &[0.3333, 1.0, 0.25, 6.6667],
        &[-0.11111111, -1.0, -0.0625, -44.444443],
        t,
    );
    of(
        x,
        |x| (x / 0.5).boxed(),
        &[6.0, 2.0, 8.0, 0.3],
        &[2.0; 4],
        1e-7,
    );
    of(
        x,
        |x| ops::power(&x, 2.5).unwrap(),
        &[15.59, 1.0, 32.0, 0.01],
        &[12.99, 2.5, 20.0, 0.15],
        6e-3,
    );
    of(
        x,
        |x| x.tanh().boxed(),
        &[1.0, 0.76, 1.0, 0.15],
        &[0.01, 0.42, 0.0, 0.98],
        6e-3,
    );
    of(
        x,
        |x| x.erf().boxed(),
        &[1.0, 0.8427, 1.0, 0.168],
        &[0.0001, 0.4151, 0.0, 1.1033],
        t,
    );
    let gelu = |x: Variable| (x.clone() * (((x / 2f64.sqrt()).erf() + 1.0) * 0.5)).boxed();
    of(
        x,
        gelu,
        &[2.9960, 0.8413, 3.9999, 0.0839],
        &[1.0119, 1.0833, 1.0005, 0.6188],
        t,
    );
    let silu = |x: Variable| (x.clone() * x.sigmoid()).boxed();
    of(
        x,
        silu,
        &[2.8577, 0.7311, 3.9281, 0.0806],
        &[1.0881, 0.9277, 1.0527, 0.5747],
        t,
    );
    let elu = |x: Variable| {
        let zero = wyrmling::graph::Constant::new(Array::scalar(x.dtype(), 0.0)).boxed();
        let above = ops::binary(&wyrmling::rules::Greater, &x, &zero).unwrap();
        let below = (x.clone().expm1() * 2.0).boxed();
        ops::select(&above, &x, &below).unwrap()
    };
    of(
        &[-1.0, 0.0, -2.0, 3.0],
        elu,
        &[-1.2642, 0.0, -1.7293, 3.0],
        &[0.7358, 2.0, 0.2707, 1.0],
        t,
    );
}

#[test]
fn the_larger_and_the_smaller() {
    let x = &[3.0, 1.0, -4.0, -1.0];
    let leaky = |x: Variable| x.clone().maximum((x * 0.1).boxed()).boxed();
    of(
        x,
        leaky,
        &[3.0, 1.0, -0.4, -0.1],
        &[1.0, 1.0, 0.1, 0.1],
        1e-7,
    );
    let lower = |x: Variable| x.clone().minimum((x * 0.1).boxed()).boxed();
    of(
        x,
        lower,
        &[0.3, 0.1, -4.0, -1.0],
        &[0.1, 0.1, 1.0, 1.0],
        1e-7,
    );
    // Of equal numbers either counts half, and both are the same one.
    of(x, |x| x.clone().minimum(x).boxed(), x, &[1.0; 4], 0.0);
}

#[test]
fn rows_that_are_replaced() {
    check(
        &[
            array(&[6], &[3.0, 1.0, -4.0, -1.0, 5.0, 9.0]),
            array(&[3], &[2.0, 7.0, 1.0]),
        ],
        |v| {
            let matrix = ops::reshape(&v[0], &[2, 3]).unwrap();
            let row = ops::reshape(&v[1], &[1, 3]).unwrap();
            let last = SliceItem::Range {
                start: Some(1),
                stop: Some(2),
                step: 1,
            };
            ops::slice_replace(&matrix, vec![last], &row)
                .unwrap()
                .square()
                .boxed()
        },
        &[9.0, 1.0, 16.0, 4.0, 49.0, 1.0],
        &[&[6.0, 2.0, -8.0, 0.0, 0.0, 0.0], &[4.0, 14.0, 2.0]],
        0.0,
    );
}
