//! The tests of smaller packages: autograd 2.0 (expressions of numbers, second derivatives, clipping),
//! rustograd 0.2 (derivatives of a Gaussian of high order), peroxide 0.37 (a Jacobian, second order).

use wyrmling::graph::{Constant, Independent, ops};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, Input, Variable};

use super::{array, check, close};

fn number(x: f64) -> Variable {
    Independent::new(x).expect("operands fit").boxed()
}

fn by(y: &Variable, x: &Variable) -> Variable {
    y.gradients(&[x])
        .expect("operands fit")
        .remove(0)
        .expect("it depends on it")
}

#[track_caller]
fn is(x: &Variable, expected: f64) {
    close(
        &[x.item().expect("operands fit")],
        &[expected],
        1e-14,
        "a number",
    );
}

#[test]
fn expressions_of_numbers() {
    let x = Input::new(1.5).boxed();
    let [v, w] = [1.0, 2.0].map(number);
    is(&by(&(x.clone() + v.clone()).boxed(), &v), 1.0);
    is(&by(&(v.clone() - 3.0).boxed(), &v), 1.0);
    is(&by(&(v.clone() * 3.0).boxed(), &v), 3.0);
    is(&by(&(v.clone() / 3.0).boxed(), &v), 1.0 / 3.0);
    is(&by(&(v.clone() / 3.0 / 4.0).boxed(), &v), 1.0 / 12.0);
    // 2 v w + 3 w² + 6 v, and its derivatives.
    let z = (2.0 * v.clone() * w.clone() + 3.0 * w.clone() * w.clone() + 6.0 * v.clone()).boxed();
    let (by_v, by_w) = (by(&z, &v), by(&z, &w));
    is(&by_v, 10.0);
    is(&by_w, 14.0);
    is(&by(&by_v, &w), 2.0);
    is(&by(&by_w, &v), 2.0);
    is(&by(&by_w, &w), 6.0);
    assert!(by_v.gradients(&[&v]).unwrap()[0].is_none());
    // A derivative is a value like any other.
    let mixed = (by_v.clone() * by_w.clone() + z).boxed();
    is(&by(&mixed, &v), 2.0 * 10.0 + 10.0);
}

#[test]
fn values_that_change_reach_second_derivatives() {
    let x = Input::new(2.0);
    let v = number(3.0);
    let z = (x.clone().boxed() * v.clone().square()).boxed();
    let second = by(&by(&z, &v), &v);
    is(&second, 4.0);
    for new in [0.0, -0.0, 7.0, f64::INFINITY] {
        x.set_value(new).unwrap();
        is(&second, 2.0 * new);
    }
    v.set_value(f64::NAN).unwrap();
    x.set_value(1.0).unwrap();
    is(&second, 2.0);
    assert!(z.item().unwrap().is_nan());
}

#[test]
fn numbers_beside_arrays() {
    let x = || [array(&[2, 3], &[1.0, -2.0, 3.0, 0.5, -0.0, 0.0])];
    check(
        &x(),
        |v| (2.0 - v[0].clone()).boxed(),
        &[1.0, 4.0, -1.0, 1.5, 2.0, 2.0],
        &[&[-1.0; 6]],
        0.0,
    );
    check(
        &[x()[0].clone(), array(&[], &[4.0])],
        |v| (v[1].clone() * v[0].clone()).boxed(),
        &[4.0, -8.0, 12.0, 2.0, 0.0, 0.0],
        &[&[4.0; 6], &[2.5]],
        0.0,
    );
    // A single element of many, and the sum of three variables.
    let at =
        |v: &[Variable]| ops::slice(&(2.0 * v[0].clone()).boxed(), vec![SliceItem::At(1)]).unwrap();
    check(
        &[array(&[3], &[1.0, 2.0, 3.0])],
        at,
        &[4.0],
        &[&[0.0, 2.0, 0.0]],
        0.0,
    );
    let three = || array(&[3], &[1.0, 2.0, 3.0]);
    check(
        &[three(), three(), three()],
        |v| (v[0].clone() + v[1].clone() + v[2].clone()).boxed(),
        &[3.0, 6.0, 9.0],
        &[&[1.0; 3], &[1.0; 3], &[1.0; 3]],
        0.0,
    );
    let constant =
        |x: &Variable, bound: f64| Constant::new(Array::scalar(x.dtype(), bound)).boxed();
    check(
        &[three()],
        |v| {
            let low = v[0].clone().maximum(constant(&v[0], 1.5));
            low.minimum(constant(&v[0], 2.5)).boxed()
        },
        &[1.5, 2.0, 2.5],
        &[&[0.0, 1.0, 0.0]],
        0.0,
    );
}

#[test]
fn a_gaussian_has_derivatives_by_hermite_polynomials() {
    let at = 0.7f64;
    let x = number(at);
    let mut y = (-x.clone().square()).exp().boxed();
    // (-1)^n H_n(x) exp(-x²), by H_{n + 1} = 2 x H_n - 2 n H_{n - 1}.
    let (mut last, mut hermite, mut sign) = (0.0, 1.0, 1.0);
    for n in 0..7 {
        let expected = sign * hermite * (-at * at).exp();
        close(
            &[y.item().unwrap()],
            &[expected],
            1e-11,
            &format!("derivative {n}"),
        );
        let program = y.freeze().unwrap();
        close(
            &[program.run(&[]).unwrap().item().unwrap()],
            &[expected],
            1e-11,
            "a program",
        );
        let next = 2.0 * at * hermite - 2.0 * f64::from(n) * last;
        (last, hermite, sign) = (hermite, next, -sign);
        y = by(&y, &x);
    }
}

#[test]
fn a_jacobian_by_rows_and_by_columns() {
    let x = Independent::new(vec![1.0, 0.0]).unwrap().boxed();
    let part = |k| ops::slice(&x, vec![SliceItem::At(k)]).unwrap();
    let (a, b) = (part(0), part(1));
    let first = (a.clone().square() * b.clone()).boxed();
    let second = (5.0 * a + b.sin()).boxed();
    let y = ops::stack(&[first, second], 0).unwrap();
    let row = |k: usize| {
        let mut seed = [0.0; 2];
        seed[k] = 1.0;
        let seed = Constant::new(array(&[2], &seed)).boxed();
        let weighted = (y.clone() * seed).sum().boxed();
        by(&weighted, &x).value().unwrap().to_f64()
    };
    assert_eq!([row(0), row(1)], [[0.0, 1.0], [5.0, 1.0]]);
    let tangent = y.freeze().unwrap().tangent().unwrap();
    let column = |k: usize| {
        let mut moved = [0.0; 2];
        moved[k] = 1.0;
        tangent.run(&[array(&[2], &moved)]).unwrap().to_f64()
    };
    assert_eq!([column(0), column(1)], [[0.0, 5.0], [1.0, 1.0]]);
}

#[test]
fn second_order_of_compositions() {
    // Numbers with two derivatives, a = (4, 4, 2), b = (2, 1, 0) and c = (1/4, 1, 2), as functions of t at
    // 0; compositions have those of the chain rule.
    let t = number(0.0);
    let series =
        |c: [f64; 3]| (c[0] + c[1] * t.clone() + (c[2] / 2.0) * t.clone().square()).boxed();
    let (a, b, c) = (
        series([4.0, 4.0, 2.0]),
        series([2.0, 1.0, 0.0]),
        series([0.25, 1.0, 2.0]),
    );
    let two = |y: Variable| {
        let first = by(&y, &t);
        let second = first.gradients(&[&t]).unwrap().remove(0);
        let second = second.map_or(0.0, |s| s.item().unwrap());
        [y.item().unwrap(), first.item().unwrap(), second]
    };
    let same =
        |y: Variable, expected: [f64; 3]| close(&two(y), &expected, 1e-13, "two derivatives");
    same((a.clone() + b.clone()).boxed(), [6.0, 5.0, 2.0]);
    same((a.clone() * b.clone()).boxed(), [8.0, 12.0, 12.0]);
    same((a.clone() / b.clone()).boxed(), [2.0, 1.0, 0.0]);
    let e = 4f64.exp();
    same(a.clone().exp().boxed(), [e, 4.0 * e, 18.0 * e]);
    same(a.clone().log().boxed(), [4f64.ln(), 1.0, -0.5]);
    same(a.clone().sqrt().boxed(), [2.0, 1.0, 0.0]);
    let ln4 = 4f64.ln();
    let slope = 2.0 + ln4;
    same(
        a.clone().power(b).boxed(),
        [16.0, 16.0 * slope, 16.0 * (slope * slope + 2.0 - 1.0)],
    );
    let r = (1.0 - 0.0625f64).sqrt();
    same(
        c.clone().arcsin().boxed(),
        [0.25f64.asin(), 1.0 / r, 2.0 / r + 0.25 / r.powi(3)],
    );
    same(
        c.arctan().boxed(),
        [
            0.25f64.atan(),
            1.0 / 1.0625,
            2.0 / 1.0625 - 0.5 / 1.0625f64.powi(2),
        ],
    );
}
