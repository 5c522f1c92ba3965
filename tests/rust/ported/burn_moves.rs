//! The tests of burn-autodiff 0.13 of what moves elements, picks them or masks them.

use wyrmling::array::Dense;
use wyrmling::graph::{Constant, ops};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Type, Variable};

use super::burn::mm;
use super::{array, check, square};

fn range(start: i64, stop: i64) -> SliceItem {
    SliceItem::Range {
        start: Some(start),
        stop: Some(stop),
        step: 1,
    }
}

#[test]
fn axes_and_elements_that_move() {
    let a = || square(&[1.0, 7.0, 2.0, 3.0]);
    let b = || square(&[4.0, 7.0, 2.0, 3.0]);
    let expected: [&[f64]; 2] = [&[11.0, 5.0, 11.0, 5.0], &[3.0, 3.0, 10.0, 10.0]];
    check(
        &[a(), b()],
        |v| mm(&v[0], &v[1]),
        &[18.0, 28.0, 14.0, 23.0],
        &expected,
        0.0,
    );
    check(
        &[a(), b()],
        |v| (-mm(&v[0], &(-v[1].clone()).boxed())).boxed(),
        &[],
        &expected,
        0.0,
    );
    check(
        &[a(), array(&[4], &[4.0, 7.0, 2.0, 3.0])],
        |v| mm(&v[0], &ops::reshape(&v[1], &[2, 2]).unwrap()),
        &[],
        &expected,
        0.0,
    );
    check(
        &[a(), b()],
        |v| mm(&v[0], &v[1].clone().t().boxed()).t().boxed(),
        &[],
        &[&[6.0, 10.0, 6.0, 10.0], &[3.0, 10.0, 3.0, 10.0]],
        0.0,
    );
    let wide = array(&[2, 3], &[4.0, 7.0, 100.0, 2.0, 3.0, 15.0]);
    check(
        &[a(), wide],
        |v| {
            mm(
                &v[0],
                &ops::slice(&v[1], vec![range(0, 2), range(0, 2)]).unwrap(),
            )
        },
        &[],
        &[&[11.0, 5.0, 11.0, 5.0], &[3.0, 3.0, 0.0, 10.0, 10.0, 0.0]],
        0.0,
    );
    let corner = || vec![range(0, 1), range(0, 1)];
    let nine = || array(&[1, 1], &[9.0]);
    check(
        &[a(), b(), nine()],
        |v| {
            let product = mm(&v[0], &v[1]);
            mm(
                &ops::slice_replace(&product, corner(), &v[2]).unwrap(),
                &v[0],
            )
        },
        &[],
        &[&[58.0, 38.0, 118.0, 82.0], &[16.0, 15.0, 24.0, 50.0], &[]],
        0.0,
    );
    check(
        &[a(), b(), nine()],
        |v| {
            let part = ops::slice(&v[1], corner()).unwrap() * v[2].clone();
            let product = mm(&v[0], &v[1]);
            mm(
                &ops::slice_replace(&product, corner(), &part.boxed()).unwrap(),
                &v[0],
            )
        },
        &[],
        &[
            &[85.0, 65.0, 118.0, 82.0],
            &[88.0, 15.0, 24.0, 50.0],
            &[32.0],
        ],
        0.0,
    );
    let three = array(&[1, 2, 2], &[1.0, 7.0, 2.0, 3.0]);
    let tall = array(&[1, 3, 2], &[1.0, 7.0, 3.2, 2.0, 3.0, 3.0]);
    check(
        &[three.clone(), tall],
        |v| mm(&v[0], &ops::transpose(&v[1], Some(&[0, 2, 1])).unwrap()),
        &[],
        &[&[7.2, 12.0, 7.2, 12.0], &[3.0, 10.0, 3.0, 10.0, 3.0, 10.0]],
        1e-6,
    );
    let back = || SliceItem::Range {
        start: None,
        stop: None,
        step: -1,
    };
    check(
        &[three, array(&[1, 2, 3], &[3.0, 2.0, 7.0, 3.0, 3.2, 1.0])],
        |v| {
            let all = SliceItem::Range {
                start: None,
                stop: None,
                step: 1,
            };
            mm(
                &v[0],
                &ops::slice(&v[1], vec![all, back(), back()]).unwrap(),
            )
        },
        &[],
        &[&[7.2, 12.0, 7.2, 12.0], &[10.0, 10.0, 10.0, 3.0, 3.0, 3.0]],
        1e-6,
    );
    check(
        &[
            array(&[2, 2, 2], &[0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0, 10.0]),
            array(&[2, 2, 2], &[1.0, 4.0, 2.0, 5.0, 7.0, 10.0, 8.0, 11.0]),
        ],
        |v| {
            let swapped = ops::transpose(&v[1], Some(&[2, 1, 0])).unwrap();
            let last = ops::transpose(&v[1], Some(&[0, 2, 1])).unwrap();
            mm(&mm(&v[0], &swapped), &last)
        },
        &[],
        &[
            &[66.0, 78.0, 66.0, 78.0, 270.0, 306.0, 270.0, 306.0],
            &[22.0, 286.0, 28.0, 316.0, 172.0, 652.0, 190.0, 694.0],
        ],
        0.0,
    );
    let rows = array(&[4], &[4.0, 7.0, 2.0, 3.0]);
    check(
        &[rows, array(&[4], &[2.0, 4.5, 7.0, 3.0])],
        |v| {
            (v[1].clone() * ops::broadcast_to(&v[0], &[4, 4]).unwrap())
                .sum()
                .boxed()
        },
        &[],
        &[&[8.0, 18.0, 28.0, 12.0], &[16.0, 28.0, 8.0, 12.0]],
        0.0,
    );
    check(
        &[square(&[1.0, 7.0, -2.0, -3.0]), array(&[2, 1], &[4.0, 2.0])],
        |v| mm(&v[0], &ops::broadcast_to(&v[1], &[2, 3]).unwrap()),
        &[],
        &[&[], &[-3.0, 12.0]],
        0.0,
    );
}

fn indices(shape: &[usize], elements: &[u32]) -> Variable {
    let array: Array = Dense::new(shape, elements.to_vec())
        .expect("operands fit")
        .into();
    Constant::new(array).boxed()
}

#[test]
fn elements_by_their_indices() {
    let x = || array(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let gram = |v: &[Variable]| mm(&v[0], &v[0].clone().t().boxed());
    let places = indices(&[2, 5], &[2, 1, 0, 1, 2, 1, 0, 2, 1, 0]);
    check(
        &[x()],
        |v| mm(&gram(v), &ops::take_along_axis(&v[0], &places, 1).unwrap()),
        &[],
        &[&[94.0, 150.0, 187.0, 242.0, 305.0, 304.0]],
        0.0,
    );
    let rows = indices(&[2], &[1, 0]);
    check(
        &[x()],
        |v| mm(&gram(v), &ops::gather(&v[0], &rows).unwrap()),
        &[],
        &[&[109.0, 148.0, 187.0, 37.0, 58.0, 79.0]],
        0.0,
    );
    let table = || square(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0]);
    let rows = indices(&[2, 2], &[0, 1, 1, 1]);
    let right = array(
        &[2, 3, 2],
        &[1.0, 2.0, 4.0, 5.0, 3.0, 4.0, 4.0, 5.0, 8.0, 5.0, 1.0, 9.0],
    );
    check(
        &[table(), right],
        |v| mm(&ops::gather(&v[0], &rows).unwrap(), &v[1]),
        &[],
        &[&[3.0, 9.0, 7.0, 21.0, 35.0, 27.0, 0.0, 0.0, 0.0], &[]],
        0.0,
    );
    // Elements that a mask names.
    let mask = indices(&[2], &[1, 2]);
    check(
        &[square(&[1.0, 2.0, 3.0, 4.0]), array(&[2], &[-1.0, 1.0])],
        |v| {
            let flat = ops::reshape(&v[0], &[-1]).unwrap();
            ops::dot(&v[1], &ops::gather(&flat, &mask).unwrap()).unwrap()
        },
        &[1.0],
        &[&[0.0, -1.0, 1.0, 0.0], &[2.0, 3.0]],
        0.0,
    );
}

#[test]
fn masks() {
    let mask = |dtype| {
        let numbers = square(&[1.0, 0.0, 0.0, 1.0]).to_dtype(dtype);
        Constant::new(numbers).boxed()
    };
    let (a, b) = (square(&[1.0, 7.0, 2.0, 3.0]), square(&[4.0, 7.0, 2.0, 3.0]));
    check(
        &[a.clone(), b.clone()],
        |v| {
            let product = mm(&v[0], &v[1]);
            let two = product.clone() * 0.0 + 2.0;
            ops::select(&mask(product.dtype()), &two.boxed(), &product).unwrap()
        },
        &[2.0, 28.0, 14.0, 2.0],
        &[&[7.0, 3.0, 4.0, 2.0], &[2.0, 1.0, 3.0, 7.0]],
        0.0,
    );
    check(
        &[a, b, square(&[8.8, 9.8, 10.8, 11.8])],
        |v| {
            let product = mm(&mm(&v[0], &v[1]), &v[2]);
            ops::select(&mask(product.dtype()), &v[2], &product).unwrap()
        },
        &[],
        &[
            &[121.8, 55.0, 110.8, 50.0],
            &[27.4, 33.4, 95.0, 115.0],
            &[15.0, 18.0, 23.0, 29.0],
        ],
        1e-5,
    );
}

#[test]
fn activations_at_their_ends() {
    let far = [square(&[0.8762, -0.1423, -300.0, 200.0])];
    let gradient: &[f64] = &[0.293966, 0.535515, 1.0, 0.0];
    check(
        &far,
        |v| v[0].clone().logsigmoid().boxed(),
        &[],
        &[gradient],
        1e-5,
    );
    let near = [array(&[2], &[0.8762, -90.0])];
    check(
        &near,
        |v| v[0].clone().sigmoid().boxed(),
        &[],
        &[&[0.207549, 0.0]],
        1e-5,
    );
    let signs = [array(&[5], &[-2.0, -1.0, 0.0, 1.0, 2.0])];
    check(
        &signs,
        |v| v[0].clone().sign().boxed(),
        &[-1.0, -1.0, 0.0, 1.0, 1.0],
        &[&[0.0; 5]],
        0.0,
    );
    let gelu = |x: Variable| {
        let normal = ((x.clone() / 2f64.sqrt()).erf() + 1.0) * 0.5;
        (x * normal).boxed()
    };
    check(
        &[
            square(&[0.0, 1.0, -3.0, 4.0]),
            square(&[6.0, -0.5, 9.0, 10.0]),
        ],
        |v| mm(&v[0], &mm(&v[0], &gelu(v[1].clone()))),
        &[],
        &[
            &[1.4629, 1.4629, 48.2286, 153.4629],
            &[-15.0, -1.9895, 17.0, 17.0],
        ],
        5e-3,
    );
}

#[test]
fn operands_that_broadcast_have_gradients_of_their_own_shape() {
    let leaves = [
        Array::full(&Type::new(DType::F64, &[16, 5, 5]), 0.5),
        Array::full(&Type::new(DType::F64, &[4, 5, 5]), 2.0),
    ];
    let first = |x: &Variable| ops::slice(x, vec![range(0, 1)]).unwrap();
    let functions: [fn(Variable, Variable) -> Variable; 5] = [
        |x, y| (x * y).boxed(),
        |x, y| (x / y).boxed(),
        |x, y| (x - y).boxed(),
        |x, y| (x + y).boxed(),
        |x, y| ops::matmul(&x, &y).unwrap(),
    ];
    for f in functions {
        check(
            &leaves,
            |v| f(first(&v[0]), v[1].clone()),
            &[],
            &[&[], &[]],
            0.0,
        );
    }
}
