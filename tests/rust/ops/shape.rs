//! Elements moved, joined and taken from diagonals.

use wyrmling::graph::ops;
use wyrmling::{Array, DType, Error, Variable};

use super::{array, check, constant, count, input, refused};

#[test]
fn elements_move_as_in_numpy() {
    let x = constant(count(&[2, 3]));
    let flat = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let turned = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    check(ops::transpose(&x, None), &[3, 2], &turned);
    check(ops::transpose(&x, Some(&[-1, 0])), &[3, 2], &turned);
    check(ops::transpose(&x, Some(&[0, -1])), &[2, 3], &flat);
    check(ops::matrix_transpose(&x), &[3, 2], &turned);
    let two = constant(count(&[2, 1, 2]));
    check(
        ops::matrix_transpose(&two),
        &[2, 2, 1],
        &[0.0, 1.0, 2.0, 3.0],
    );
    refused(
        ops::matrix_transpose(&constant(vec![1.0])),
        Error::LinAlg,
        "matrix_transpose",
    );
    assert!(ops::matrix_transpose(&constant(count(&[1, 1]))).is_ok());
    check(ops::reshape(&x, &[3, -1]), &[3, 2], &flat);
    refused(
        ops::reshape(&x, &[-2, 3]),
        Error::Value,
        "a length cannot be -2",
    );
    check(ops::reshape_like(&x, &constant(count(&[6]))), &[6], &flat);
    check(
        ops::broadcast_to(&constant(vec![1.0, 2.0]), &[2, 2]),
        &[2, 2],
        &[1.0, 2.0, 1.0, 2.0],
    );
    check(
        ops::broadcast_like(&constant(7.0), &constant(vec![1.0, 2.0]), 0),
        &[2],
        &[7.0, 7.0],
    );
    check(
        ops::merge_axes(&constant(count(&[1, 2, 3])), 0, 2),
        &[2, 3],
        &flat,
    );
    check(ops::split_axis(&x, -1, &[3, -1]), &[2, 3, 1], &flat);
    refused(
        ops::split_axis(&x, 0, &[-5]),
        Error::Value,
        "a length cannot be -5",
    );
    check(ops::expand_dims(&x, &[-1, 0]), &[1, 2, 3, 1], &flat);
    check(ops::expand_dims(&x, &[]), &[2, 3], &flat);
    let text = "expand_dims: axis 3 is out of range";
    refused(ops::expand_dims(&x, &[3]), Error::Axis, text);
    for x in [constant(count(&[1, 2, 1])), input(count(&[1, 2, 1]))] {
        check(ops::squeeze(&x, None), &[2], &[0.0, 1.0]);
        check(ops::squeeze(&x, Some(&[0])), &[2, 1], &[0.0, 1.0]);
        check(ops::squeeze(&x, Some(&[-1, 0])), &[2], &[0.0, 1.0]);
        refused(ops::squeeze(&x, Some(&[1])), Error::Shape, "squeeze");
    }
    check(ops::squeeze(&input(count(&[1, 1])), None), &[], &[0.0]);
    check(ops::fixed(&x, "test", &[0]), &[2, 3], &flat);
    let joined = ops::concatenate(
        &[x.clone(), constant(array(&[1, 3], &[7.0, 8.0, 9.0]))],
        Some(-2),
    );
    check(
        joined,
        &[3, 3],
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 9.0],
    );
    let single = constant(Array::from(vec![1.0f32]));
    let joined = ops::concatenate(&[single.clone(), x.clone()], None).unwrap();
    assert_eq!(joined.dtype(), DType::F64);
    check(Ok(joined), &[7], &[1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    refused(ops::concatenate(&[], Some(0)), Error::Value, "at least one");
    refused(ops::stack(&[], 0), Error::Value, "at least one");
    let y = constant(vec![5.0, 6.0]);
    let z = constant(vec![7.0, 8.0]);
    check(
        ops::stack(&[y.clone(), z.clone()], 0),
        &[2, 2],
        &[5.0, 6.0, 7.0, 8.0],
    );
    check(
        ops::stack(&[y.clone(), z.clone()], -1),
        &[2, 2],
        &[5.0, 7.0, 6.0, 8.0],
    );
    check(
        ops::stack(&[y.clone(), z], 1),
        &[2, 2],
        &[5.0, 7.0, 6.0, 8.0],
    );
    refused(
        ops::stack(&[y.clone(), single], 0),
        Error::Shape,
        "stack: shapes (2,) and (1,)",
    );
    refused(
        ops::stack(&[y], 2),
        Error::Axis,
        "stack: axis 2 is out of range",
    );
    // More than are joined at once, and just as many.
    for n in [32, 33, 64, 65, 1100] {
        let parts: Vec<Variable> = (0..n).map(|k| constant(vec![f64::from(k)])).collect();
        let expected: Vec<f64> = (0..n).map(f64::from).collect();
        check(ops::concatenate(&parts, Some(0)), &[n as usize], &expected);
    }
}

#[test]
fn diagonals_are_taken_and_made() {
    let x = constant(count(&[3, 3]));
    let lower = [0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0];
    check(ops::tril(&x, 0), &[3, 3], &lower);
    check(
        ops::triu(&x, 1),
        &[3, 3],
        &[0.0, 1.0, 2.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0],
    );
    check(ops::diagonal(&x, 0, 0, 1), &[3], &[0.0, 4.0, 8.0]);
    check(ops::diagonal(&x, 1, -2, -1), &[2], &[1.0, 5.0]);
    check(ops::diagonal(&x, 1, 1, 0), &[2], &[3.0, 7.0]);
    refused(
        ops::diagonal(&x, 0, 1, -1),
        Error::Value,
        "axis1 and axis2 are the same",
    );
    let cube = constant(count(&[2, 2, 2]));
    // Element (i, j, i) stands at the place (j, i).
    check(
        ops::diagonal(&cube, 0, 0, 2),
        &[2, 2],
        &[0.0, 5.0, 2.0, 7.0],
    );
    check(
        ops::diagonal(&cube, 0, 1, 2),
        &[2, 2],
        &[0.0, 3.0, 4.0, 7.0],
    );
    check(
        ops::diagonal(&cube, 0, 0, 1),
        &[2, 2],
        &[0.0, 6.0, 1.0, 7.0],
    );
    check(ops::diag(&x, -1), &[2], &[3.0, 7.0]);
    let made = [0.0, 5.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0];
    check(ops::diag(&constant(vec![5.0, 6.0]), 1), &[3, 3], &made);
    refused(
        ops::diag(&constant(1.0), 0),
        Error::Shape,
        "diag: expected a vector or a matrix",
    );
    refused(
        ops::diag(&cube, 0),
        Error::Shape,
        "diag: expected a vector or a matrix",
    );
}
