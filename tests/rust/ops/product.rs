//! Products, and decompositions taken apart.

#[cfg(feature = "linalg")]
use wyrmling::DType;
use wyrmling::Error;
use wyrmling::graph::ops;
use wyrmling::{Input, Variable};

use super::{array, check, constant, count, refused};
#[cfg(feature = "linalg")]
use crate::common::{assert_close, numbers};

#[test]
fn products_take_vectors_and_matrices() {
    let v = constant(vec![1.0, 2.0, 3.0]);
    let m = constant(count(&[2, 3]));
    let t = ops::matrix_transpose(&m).unwrap();
    let number = constant(2.0);
    check(ops::vecdot(&v, &v), &[], &[14.0]);
    check(ops::vecdot(&m, &v), &[2], &[8.0, 26.0]);
    check(ops::vecdot(&v, &m), &[2], &[8.0, 26.0]);
    check(ops::vecdot(&m, &m), &[2], &[5.0, 50.0]);
    refused(ops::vecdot(&number, &number), Error::Shape, "vecdot");
    refused(
        ops::vecdot(&m, &t),
        Error::Shape,
        "vecdot: shapes (2, 3) and (3, 2) do not fit",
    );
    check(ops::matmul(&v, &v), &[], &[14.0]);
    check(ops::matmul(&m, &v), &[2], &[8.0, 26.0]);
    check(ops::matmul(&v, &t), &[2], &[8.0, 26.0]);
    check(ops::matmul(&m, &t), &[2, 2], &[5.0, 14.0, 14.0, 50.0]);
    let many = constant(count(&[2, 3, 2]));
    check(
        ops::matmul(&many, &constant(vec![1.0, 10.0])),
        &[2, 3],
        &[10.0, 32.0, 54.0, 76.0, 98.0, 120.0],
    );
    check(ops::matmul(&v, &many), &[2, 2], &[16.0, 22.0, 52.0, 58.0]);
    for (x, y) in [(&number, &v), (&v, &number)] {
        let shape = |x: &Variable| wyrmling::array::show_shape(x.value().unwrap().shape());
        let text = format!("matmul: shapes {} and {} do not fit", shape(x), shape(y));
        refused(ops::matmul(x, y), Error::Shape, &text);
        check(ops::dot(x, y), &[3], &[2.0, 4.0, 6.0]);
    }
    check(ops::dot(&v, &v), &[], &[14.0]);
    check(ops::dot(&m, &t), &[2, 2], &[5.0, 14.0, 14.0, 50.0]);
    check(ops::dot(&v, &many), &[2, 2], &[16.0, 22.0, 52.0, 58.0]);
    // dot(a, b)[i, j, n] = sum over k of a[i, k] b[j, k, n].
    let expected = [10.0, 13.0, 28.0, 31.0, 28.0, 40.0, 100.0, 112.0];
    check(ops::dot(&m, &many), &[2, 2, 2], &expected);
    let deep = constant(count(&[1, 2, 1, 3]));
    check(ops::dot(&deep, &many), &[1, 2, 1, 2, 2], &expected);
    check(
        ops::outer(&constant(vec![1.0, 2.0]), &v),
        &[2, 3],
        &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0],
    );
    check(
        ops::outer(&number, &constant(array(&[1, 2], &[3.0, 4.0]))),
        &[1, 2],
        &[6.0, 8.0],
    );
}

/// A length of 1 is not repeated, for it may become another: the other must have it then.
#[test]
fn a_dot_product_repeats_no_summed_axis() {
    let x = Input::new(array(&[2, 1], &[2.0, 3.0]));
    let y = constant(vec![5.0]);
    for (a, b) in [(&x.clone().boxed(), &y), (&y, &x.clone().boxed())] {
        x.set_value(array(&[2, 1], &[2.0, 3.0])).unwrap();
        let dot = ops::vecdot(a, b).unwrap();
        check(Ok(dot.clone()), &[2], &[10.0, 15.0]);
        x.set_value(array(&[3, 1], &[2.0, 3.0, 4.0])).unwrap();
        check(Ok(dot.clone()), &[3], &[10.0, 15.0, 20.0]);
        x.set_value(array(&[2, 2], &[2.0, 3.0, 4.0, 5.0])).unwrap();
        assert!(matches!(dot.value(), Err(Error::Shape(_))));
    }
}

#[cfg(feature = "linalg")]
#[test]
fn decompositions_come_apart() {
    let product = |x: &Variable, y: &Variable| ops::matmul(x, y).unwrap();
    let many = numbers(DType::F64, &[3, 2, 4], 5);
    let [q, r] = ops::qr(&constant(many.clone())).unwrap();
    assert_close(&product(&q, &r).value().unwrap(), &many, 1e-12, "qr");
    for shape in [[3, 3], [4, 2], [2, 4]] {
        let a = numbers(DType::F64, &shape, 5);
        let x = constant(a.clone());
        let least = shape[0].min(shape[1]);
        let [q, r] = ops::qr(&x).unwrap();
        assert_eq!(q.value().unwrap().shape(), [shape[0], least]);
        assert_eq!(r.value().unwrap().shape(), [least, shape[1]]);
        assert_close(&product(&q, &r).value().unwrap(), &a, 1e-12, "qr");
        let lower = ops::tril(&r, -1).unwrap().value().unwrap();
        assert!(lower.to_f64().iter().all(|x| x.abs() < 1e-12));
        let [u, s, v] = ops::svd(&x).unwrap();
        let scaled = (u * ops::expand_dims(&s, &[0]).unwrap()).boxed();
        assert_close(&product(&scaled, &v).value().unwrap(), &a, 1e-12, "svd");
        let least = ops::pinv(&x, 1e-15).unwrap();
        assert_close(
            &product(&product(&x, &least), &x).value().unwrap(),
            &a,
            1e-12,
            "pinv",
        );
    }
    let [a, b] = [
        constant(array(&[2, 2], &[4.0, 1.0, 1.0, 3.0])),
        constant(vec![1.0, 2.0]),
    ];
    check(ops::solve(&a, &b), &[2], &[1.0 / 11.0, 7.0 / 11.0]);
    let twice = ops::expand_dims(&a, &[0]).unwrap();
    let twice = ops::concatenate(&[twice.clone(), twice], Some(0)).unwrap();
    let solution = [1.0 / 11.0, 7.0 / 11.0];
    check(
        ops::solve(&twice, &b),
        &[2, 2],
        &[solution, solution].concat(),
    );
    let matrix = ops::expand_dims(&b, &[1]).unwrap();
    check(ops::solve(&a, &matrix), &[2, 1], &[1.0 / 11.0, 7.0 / 11.0]);
    check(ops::det(&a), &[], &[11.0]);
    let [sign, log] = ops::slogdet(&a).unwrap();
    check(Ok(sign), &[], &[1.0]);
    check(Ok(log), &[], &[11f64.ln()]);
    check(
        ops::inv(&a),
        &[2, 2],
        &[3.0 / 11.0, -1.0 / 11.0, -1.0 / 11.0, 4.0 / 11.0],
    );
    check(ops::cholesky(&a), &[2, 2], &[2.0, 0.0, 0.5, 2.75f64.sqrt()]);
    let [values, vectors] = ops::eigh(&a).unwrap();
    let root = 5f64.sqrt() / 2.0;
    check(Ok(values.clone()), &[2], &[3.5 - root, 3.5 + root]);
    let scaled = (vectors.clone() * values).boxed();
    assert_close(
        &product(&a, &vectors).value().unwrap(),
        &scaled.value().unwrap(),
        1e-12,
        "eigh",
    );
    refused(ops::qr(&b), Error::LinAlg, "qr: expected a matrix");
    refused(ops::svd(&b), Error::LinAlg, "svd");
    refused(ops::eigh(&b), Error::LinAlg, "eigh");
}
