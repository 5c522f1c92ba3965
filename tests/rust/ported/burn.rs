//! The tests of burn-autodiff 0.13: what they expect of operators, alone and between matrix products.

use wyrmling::Variable;
use wyrmling::graph::ops::{self, Reduction};

use super::{array, check, square};

const ROUNDED: f64 = 2e-3;

pub(super) fn mm(x: &Variable, y: &Variable) -> Variable {
    ops::matmul(x, y).expect("operands fit")
}

fn over(kind: Reduction, x: &Variable, axis: i64) -> Variable {
    ops::reduce(kind, x, Some(&[axis]), true).expect("operands fit")
}

/// What is computed of two matrices, and both gradients.
#[track_caller]
fn two(
    (x, y): (&[f64], &[f64]),
    expression: impl Fn(&Variable, &Variable) -> Variable,
    gradients: [&[f64]; 2],
    tolerance: f64,
) {
    let leaves = [square(x), square(y)];
    check(
        &leaves,
        |v| expression(&v[0], &v[1]),
        &[],
        &gradients,
        tolerance,
    );
}

/// `x f(y) y` of two matrices.
#[track_caller]
fn between(f: impl Fn(Variable) -> Variable, gradients: [&[f64]; 2]) {
    let xy = (&[0.0, 1.0, 3.0, 4.0][..], &[6.0, 7.0, 9.0, 10.0][..]);
    two(xy, |x, y| mm(&mm(x, &f(y.clone())), y), gradients, ROUNDED);
}

#[test]
fn functions_between_products() {
    between(
        |y| y.cos().boxed(),
        [
            &[26.8063, -27.7870, 26.8063, -27.7870],
            &[9.222064, -39.123375, -28.721354, 49.748356],
        ],
    );
    between(
        |y| y.sin().boxed(),
        [
            &[8.8500, -4.9790, 8.8500, -4.9790],
            &[38.668987, 44.194775, -59.97261, -80.46094],
        ],
    );
    between(|y| y.erf().boxed(), [&[32.0; 4], &[8.0; 4]]);
    between(
        |y| y.log().boxed(),
        [
            &[60.2652, 72.3130, 60.2652, 72.3130],
            &[22.8614, 24.5043, 24.5729, 26.8507],
        ],
    );
    between(
        |y| y.log1p().boxed(),
        [
            &[64.80622, 75.49362, 64.80622, 75.49362],
            &[22.922085, 24.475657, 24.727802, 26.864166],
        ],
    );
    between(
        |y| y.sqrt().boxed(),
        [
            &[82.1126, 99.0832, 82.1126, 99.0832],
            &[30.3093, 33.1204, 34.5819, 38.7694],
        ],
    );
    between(
        |y| y.tanh().boxed(),
        [&[32.0; 4], &[8.00092, 8.000153, 8.000003, 7.999995]],
    );
    between(
        |y| ops::power(&y, 0.4).unwrap(),
        [
            &[68.0, 79.0328, 68.0, 79.0328],
            &[23.5081, 25.2779, 26.0502, 28.6383],
        ],
    );
    let xy = (&[0.0, -1.0, 3.0, 4.0][..], &[6.0, 7.0, 9.0, -10.0][..]);
    let gradients: [&[f64]; 2] = [&[71.0, 107.0, 71.0, 107.0], &[84.0, 42.0, 90.0, 54.0]];
    two(
        xy,
        |x, y| mm(&mm(x, &y.clone().abs().boxed()), y),
        gradients,
        1e-12,
    );
    let xy = (&[1.0, 7.0, -2.0, -3.0][..], &[4.0, -7.0, 2.0, 3.0][..]);
    let gradients: [&[f64]; 2] = [
        &[54.5991, 27.4746, 54.5991, 27.4746],
        &[-54.598, -9.1188e-4, 29.556, 80.342],
    ];
    two(
        xy,
        |x, y| mm(x, &y.clone().exp().boxed()),
        gradients,
        ROUNDED,
    );
    let gradients: [&[f64]; 2] = [&[-47.0, 9.0, -35.0, 15.0], &[15.0, 13.0, -2.0, 39.0]];
    two(xy, |x, y| mm(&mm(x, y).relu().boxed(), y), gradients, 1e-12);
}

#[test]
fn softmaxes_between_products() {
    let xy = (&[0.0, 1.0, 3.0, 4.0][..], &[6.0, 7.0, 9.0, 10.0][..]);
    let soft = |x: &Variable, y: &Variable| mm(&ops::softmax(&mm(x, y), 1).unwrap(), y);
    two(
        xy,
        soft,
        [
            &[1.1797, 1.1797, 0.0055, 0.0055],
            &[0.2534, 0.2862, 0.5286, 2.9317],
        ],
        ROUNDED,
    );
    let log = |x: &Variable, y: &Variable| mm(&ops::log_softmax(&mm(x, y), 1).unwrap(), y);
    two(
        xy,
        log,
        [
            &[-4.3939, -4.3939, -12.9709, -12.9709],
            &[30.5984, -47.2267, 55.9631, -56.5914],
        ],
        ROUNDED,
    );
    // The mean over rows of the cross entropy with given probabilities.
    let leaves = [square(xy.0), square(xy.1), square(&[0.8, 0.2, 0.9, 0.1])];
    let loss = |v: &[Variable]| {
        let rows = v[2].clone() * ops::log_softmax(&mm(&v[0], &v[1]), 1).unwrap();
        (-over(Reduction::Sum, &rows.boxed(), 1).mean()).boxed()
    };
    let gradients: [&[f64]; 3] = [
        &[0.2655, 0.2655, 0.4496, 0.4496],
        &[-1.3486, 1.3486, -2.0637, 2.0637],
        &[],
    ];
    check(&leaves, loss, &[], &gradients, ROUNDED);
}

#[test]
fn arithmetic() {
    let (x, y) = (array(&[2], &[2.0, 5.0]), array(&[2], &[4.0, 1.0]));
    let both = [x, y];
    let ones: &[f64] = &[1.0, 1.0];
    check(
        &both,
        |v| (v[0].clone() + v[1].clone()).boxed(),
        &[6.0, 6.0],
        &[ones, ones],
        0.0,
    );
    check(
        &both,
        |v| (v[0].clone() - v[1].clone()).boxed(),
        &[-2.0, 4.0],
        &[ones, &[-1.0, -1.0]],
        0.0,
    );
    let both = [array(&[2], &[1.0, 7.0]), array(&[2], &[4.0, 7.0])];
    check(
        &both,
        |v| (v[0].clone() * v[1].clone()).boxed(),
        &[4.0, 49.0],
        &[&[4.0, 7.0], &[1.0, 7.0]],
        0.0,
    );
    check(
        &both,
        |v| (v[0].clone() / v[1].clone()).boxed(),
        &[0.25, 1.0],
        &[&[0.25, 1.0 / 7.0], &[-0.0625, -1.0 / 7.0]],
        1e-7,
    );
    let one = [array(&[2], &[2.0, 10.0])];
    check(
        &one,
        |v| (v[0].clone() + 5.0).boxed(),
        &[7.0, 15.0],
        &[ones],
        0.0,
    );
    check(
        &one,
        |v| (v[0].clone() - 5.0).boxed(),
        &[-3.0, 5.0],
        &[ones],
        0.0,
    );
    check(
        &one,
        |v| (v[0].clone() * 4.0).boxed(),
        &[8.0, 40.0],
        &[&[4.0, 4.0]],
        0.0,
    );
    check(
        &one,
        |v| (v[0].clone() / 4.0).boxed(),
        &[0.5, 2.5],
        &[&[0.25, 0.25]],
        0.0,
    );
    let one = [array(&[3], &[2.0, 5.0, 0.4])];
    check(
        &one,
        |v| v[0].clone().reciprocal().boxed(),
        &[0.5, 0.2, 2.5],
        &[&[-0.25, -0.04, -6.25]],
        1e-6,
    );
    let both = [array(&[2], &[2.0, 7.0]), array(&[2], &[4.0, 2.0])];
    check(
        &both,
        |v| v[0].clone().power(v[1].clone()).boxed(),
        &[16.0, 49.0],
        &[&[32.0, 14.0], &[11.0904, 95.3496]],
        1e-4,
    );
}

#[test]
fn sums_and_products_of_several_uses() {
    let (a, b) = (
        square(&[1.0, 7.0, 13.0, -3.0]),
        square(&[4.0, 7.0, 2.0, 3.0]),
    );
    let all = [a, b, square(&[2.0; 4])];
    let x = |v: &[Variable], k: usize| v[k].clone();
    check(
        &all,
        |v| {
            let sum = x(v, 0) + x(v, 1) + x(v, 2) + 5.0 + x(v, 0) + x(v, 1);
            (x(v, 0) + sum).boxed()
        },
        &[],
        &[&[3.0; 4], &[2.0; 4], &[1.0; 4]],
        0.0,
    );
    check(
        &all,
        |v| (x(v, 0) * (x(v, 0) * x(v, 1) * x(v, 2))).boxed(),
        &[],
        &[&[16.0, 196.0, 104.0, -36.0], &[2.0, 98.0, 338.0, 18.0], &[]],
        0.0,
    );
    check(
        &all,
        |v| (x(v, 0) - (x(v, 0) - x(v, 1) - x(v, 2) - 5.0)).boxed(),
        &[],
        &[&[0.0; 4], &[1.0; 4], &[1.0; 4]],
        0.0,
    );
    check(
        &all,
        |v| (x(v, 0) / x(v, 1) / x(v, 2)).boxed(),
        &[],
        &[
            &[0.125, 0.0714, 0.25, 0.1667],
            &[-0.0312, -0.0714, -1.625, 0.1667],
            &[],
        ],
        ROUNDED,
    );
    check(
        &all,
        |v| mm(&mm(&v[0], &v[1]), &v[2]),
        &[],
        &[&[44.0, 20.0, 44.0, 20.0], &[56.0, 56.0, 16.0, 16.0], &[]],
        0.0,
    );
    check(
        &all,
        |v| mm(&v[0], &mm(&mm(&v[0], &v[1]), &v[2])),
        &[],
        &[
            &[800.0, 792.0, 360.0, 592.0],
            &[264.0, 264.0, 344.0, 344.0],
            &[],
        ],
        0.0,
    );
    let pair = &all[..2];
    let cube = |v: &[Variable]| mm(&mm(&v[0], &v[1]), &v[0]);
    check(
        pair,
        |v| (cube(v) * x(v, 1)).boxed(),
        &[],
        &[
            &[593.0, 463.0, 487.0, 539.0],
            &[734.0, 294.0, 1414.0, 242.0],
        ],
        0.0,
    );
    check(
        pair,
        |v| (cube(v) + 17.0 + x(v, 1)).boxed(),
        &[],
        &[&[166.0, 110.0, 212.0, 156.0], &[113.0, 141.0, 33.0, 41.0]],
        0.0,
    );
    check(
        pair,
        |v| {
            let cube = cube(v);
            (cube.clone() - x(v, 1) + cube).boxed()
        },
        &[],
        &[&[332.0, 220.0, 424.0, 312.0], &[223.0, 279.0, 63.0, 79.0]],
        0.0,
    );
    let pair = [
        square(&[0.0, 1.0, 3.0, 4.0]),
        square(&[6.0, 7.0, 9.0, 10.0]),
    ];
    check(
        &pair,
        |v| (mm(&v[0], &v[1]) / x(v, 1)).boxed(),
        &[],
        &[
            &[2.0, 2.9286, 1.3667, 2.0],
            &[0.0833, 0.0959, -0.0556, -0.0671],
        ],
        ROUNDED,
    );
}

#[test]
fn reductions() {
    let xy = (&[1.0, 7.0, -2.0, -3.0][..], &[4.0, -7.0, 2.0, 3.0][..]);
    let whole = |kind: Reduction| {
        move |x: &Variable, y: &Variable| {
            let all = ops::reduce(kind, &mm(x, y), None, false).unwrap();
            (x.clone() * all).boxed()
        }
    };
    two(
        xy,
        whole(Reduction::Mean),
        [&[3.5, 9.5, 3.5, 9.5], &[-0.75, -0.75, 3.0, 3.0]],
        1e-6,
    );
    two(
        xy,
        whole(Reduction::Sum),
        [&[14.0, 38.0, 14.0, 38.0], &[-3.0, -3.0, 12.0, 12.0]],
        1e-6,
    );
    let column = |kind: Reduction| {
        move |x: &Variable, y: &Variable| (x.clone() * over(kind, &mm(x, y), 1)).boxed()
    };
    two(
        xy,
        column(Reduction::Mean),
        [&[4.0, 36.0, 3.0, -17.0], &[9.0, 9.0, 35.5, 35.5]],
        1e-6,
    );
    two(
        xy,
        column(Reduction::Sum),
        [&[8.0, 72.0, 6.0, -34.0], &[18.0, 18.0, 71.0, 71.0]],
        1e-6,
    );
    two(
        xy,
        column(Reduction::Max),
        [&[50.0, 34.0, 40.0, -10.0], &[8.0, 10.0, 56.0, 15.0]],
        1e-6,
    );
    two(
        xy,
        column(Reduction::Min),
        [&[-42.0, 38.0, -34.0, -24.0], &[10.0, 8.0, 15.0, 56.0]],
        1e-6,
    );
    let xy = (&[0.0, 1.0, 3.0, 4.0][..], &[6.0, 7.0, 9.0, 10.0][..]);
    let squares = |x: &Variable, y: &Variable| {
        let product = mm(x, y);
        (over(Reduction::Sum, &product, 1) * product).sum().boxed()
    };
    two(
        xy,
        squares,
        [
            &[494.0, 722.0, 2990.0, 4370.0],
            &[690.0, 690.0, 958.0, 958.0],
        ],
        1e-6,
    );
    let xy = (&[1.0, 7.0, -2.0, -3.0][..], &[4.0, -7.0, 2.0, 3.0][..]);
    let sorted = |x: &Variable, y: &Variable| {
        let product = mm(x, y);
        let order = ops::argsort(&product, 1).unwrap();
        (x.clone() * ops::take_along_axis(&product, &order, 1).unwrap()).boxed()
    };
    two(
        xy,
        sorted,
        [&[35.0, 35.0, -1.0, -8.0], &[11.0, 7.0, 55.0, 16.0]],
        1e-6,
    );
}
