//! The functions that build graphs of boxed variables: axes, shapes, types that meet, and lengths
//! that change, on values that can be computed in the head.

use wyrmling::array::Dense;
use wyrmling::graph::{Constant, ops};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Error, Input, Result, Variable};

use crate::common::{Frozen, assert_close, numbers};

fn array(shape: &[usize], values: &[f64]) -> Array {
    Dense::new(shape, values.to_vec()).expect("as many").into()
}

/// 0, 1, 2, ... in a shape.
fn count(shape: &[usize]) -> Array {
    let n = shape.iter().product::<usize>();
    array(shape, &(0..n).map(|k| k as f64).collect::<Vec<_>>())
}

/// A value that may get another length.
fn input(value: impl Into<Array>) -> Variable {
    Input::new(value).boxed()
}

fn constant(value: impl Into<Array>) -> Variable {
    Constant::new(value).boxed()
}

/// Asserts a shape and elements.
#[track_caller]
fn check(found: Result<Variable>, shape: &[usize], values: &[f64]) {
    let found = found.and_then(|y| y.value()).expect("a value");
    assert_eq!(found.shape(), shape);
    for (a, b) in found.to_f64().iter().zip(values) {
        assert!((a - b).abs() < 1e-9, "{:?}, not {values:?}", found.to_f64());
    }
    assert_eq!(found.to_f64().len(), values.len());
}

#[track_caller]
fn refused<T>(found: Result<T>, kind: fn(String) -> Error, text: &str) {
    let error = found.err().expect("an error");
    let same = std::mem::discriminant(&error) == std::mem::discriminant(&kind(String::new()));
    assert!(same && error.to_string().contains(text), "{error:?}");
}

fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> SliceItem {
    SliceItem::Range { start, stop, step }
}

#[test]
fn element_types_meet() {
    let single = constant(Array::from(vec![1.5f32, -2.0]));
    let double = constant(vec![4.0, 0.5]);
    for (x, y) in [(&single, &double), (&double, &single)] {
        let product = ops::binary(&wyrmling::rules::Mul, x, y).unwrap();
        assert_eq!(product.dtype(), DType::F64);
        check(Ok(product), &[2], &[6.0, -1.0]);
    }
    let product = ops::binary(&wyrmling::rules::Mul, &single, &single).unwrap();
    assert_eq!(product.dtype(), DType::F32);
    check(ops::not_equal(&single, &constant(1.5)), &[2], &[0.0, 1.0]);
    let cast = ops::cast(&single, DType::F64).unwrap();
    assert_eq!(cast.dtype(), DType::F64);
    check(Ok(cast), &[2], &[1.5, -2.0]);
    check(ops::power(&double, 2.0), &[2], &[16.0, 0.25]);
    check(ops::power(&double, 0.5), &[2], &[2.0, 0.5f64.sqrt()]);
    check(ops::power(&double, -1.0), &[2], &[0.25, 2.0]);
    let text = |y: f64| {
        ops::power(&double, y)
            .unwrap()
            .boxed()
            .freeze()
            .unwrap()
            .to_string()
    };
    assert!(text(2.0).contains("square") && text(0.5).contains("sqrt"));
    // The type of a mask does not matter; a number too small for float32 is not zero.
    let tiny = constant(vec![0.0, 1e-300]);
    let other = constant(Array::from(vec![7.0f32, 8.0]));
    let chosen = ops::select(&tiny, &single, &other).unwrap();
    assert_eq!(chosen.dtype(), DType::F32);
    check(Ok(chosen), &[2], &[7.0, -2.0]);
    let ones = constant(Array::from(vec![0.0f32, 1.0]));
    for mask in [&tiny, &ones] {
        for (x, y) in [(&single, &double), (&double, &single), (&double, &double)] {
            let chosen = ops::select(mask, x, y).unwrap();
            assert_eq!(chosen.dtype(), DType::F64);
            let expected = [
                y.value().unwrap().to_f64()[0],
                x.value().unwrap().to_f64()[1],
            ];
            check(Ok(chosen), &[2], &expected);
        }
    }
}

#[test]
fn axes_count_from_the_end_and_are_there_once() {
    let x = constant(count(&[2, 3]));
    let sum = |over: Option<&[i64]>, keepdims| ops::reduce(ops::Reduction::Sum, &x, over, keepdims);
    check(sum(None, false), &[], &[15.0]);
    check(sum(Some(&[-1]), false), &[2], &[3.0, 12.0]);
    check(sum(Some(&[0]), true), &[1, 3], &[3.0, 5.0, 7.0]);
    check(sum(Some(&[-1, 0]), true), &[1, 1], &[15.0]);
    check(
        sum(Some(&[]), false),
        &[2, 3],
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
    refused(
        sum(Some(&[1, -1]), false),
        Error::Value,
        "sum: an axis is given twice",
    );
    refused(sum(Some(&[2]), false), Error::Shape, "sum");
    let of = |kind, over: &[i64]| ops::reduce(kind, &x, Some(over), false);
    check(of(ops::Reduction::Mean, &[1]), &[2], &[1.0, 4.0]);
    check(of(ops::Reduction::Max, &[0]), &[3], &[3.0, 4.0, 5.0]);
    check(of(ops::Reduction::Min, &[1]), &[2], &[0.0, 3.0]);
    check(
        ops::cumsum(&x, -1),
        &[2, 3],
        &[0.0, 1.0, 3.0, 3.0, 7.0, 12.0],
    );
    check(ops::cumsum(&x, 0), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 5.0, 7.0]);
    check(ops::count(&x, &[-2]), &[], &[2.0]);
    for (kind, name) in [
        (ops::Reduction::Sum, "sum"),
        (ops::Reduction::Mean, "mean"),
        (ops::Reduction::Max, "max"),
        (ops::Reduction::Min, "min"),
        (ops::Reduction::LogSumExp, "logsumexp"),
    ] {
        assert_eq!(kind.name(), name);
        refused(ops::reduce(kind, &x, Some(&[5]), false), Error::Shape, name);
    }
    let y = constant(array(&[2, 3], &[5.0, 1.0, 3.0, 0.0, 9.0, 4.0]));
    let order = ops::argsort(&y, -1).unwrap();
    check(Ok(order.clone()), &[2, 3], &[1.0, 2.0, 0.0, 0.0, 2.0, 1.0]);
    check(
        ops::take_along_axis(&y, &order, 1),
        &[2, 3],
        &[1.0, 3.0, 5.0, 0.0, 4.0, 9.0],
    );
    check(
        ops::argsort(&y, 0),
        &[2, 3],
        &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0],
    );
    check(ops::argmax(&y, -1, false), &[2], &[0.0, 1.0]);
    check(ops::argmax(&y, 0, true), &[1, 3], &[0.0, 1.0, 1.0]);
    check(ops::argmin(&y, 1, false), &[2], &[1.0, 0.0]);
}

#[test]
fn exponentials_are_normalised_along_axes() {
    let x = numbers(DType::F64, &[2, 3, 4], 1);
    let exp: Vec<f64> = x.to_f64().iter().map(|x| x.exp()).collect();
    let at = |i: usize, j: usize, k: usize| exp[(i * 3 + j) * 4 + k];
    let x = constant(x);
    let lse =
        |over: Option<&[i64]>, keepdims| ops::reduce(ops::Reduction::LogSumExp, &x, over, keepdims);
    check(lse(None, false), &[], &[exp.iter().sum::<f64>().ln()]);
    let each: Vec<f64> = exp.iter().map(|x| x.ln()).collect();
    check(lse(Some(&[]), false), &[2, 3, 4], &each);
    let over_last: Vec<f64> = exp
        .chunks(4)
        .map(|row| row.iter().sum::<f64>().ln())
        .collect();
    check(lse(Some(&[-1]), false), &[2, 3], &over_last);
    check(lse(Some(&[-1]), true), &[2, 3, 1], &over_last);
    let outer = (0..3).map(|j| {
        (0..2)
            .flat_map(|i| (0..4).map(move |k| (i, k)))
            .map(|(i, k)| at(i, j, k))
            .sum::<f64>()
            .ln()
    });
    let outer: Vec<f64> = outer.collect();
    check(lse(Some(&[0, 2]), false), &[3], &outer);
    check(lse(Some(&[2, 0]), true), &[1, 3, 1], &outer);
    let softmax: Vec<f64> = exp
        .chunks(4)
        .flat_map(|row| row.iter().map(|x| x / row.iter().sum::<f64>()))
        .collect();
    check(ops::softmax(&x, -1), &[2, 3, 4], &softmax);
    let logs: Vec<f64> = softmax.iter().map(|x| x.ln()).collect();
    check(ops::log_softmax(&x, 2), &[2, 3, 4], &logs);
    let logits = ops::reshape(&x, &[-1, 4]).unwrap();
    let targets = [3u32, 0, 1, 1, 2, 0];
    let picked = targets
        .iter()
        .enumerate()
        .map(|(row, &k)| -logs[4 * row + k as usize]);
    let targets = Constant::new(targets.to_vec()).boxed();
    check(
        ops::cross_entropy(&logits, &targets),
        &[6],
        &picked.collect::<Vec<_>>(),
    );
}

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
    check(
        ops::reshape_like(&x, &two.clone().reshape_of(&[6])),
        &[6],
        &flat,
    );
    check(
        ops::broadcast_to(&constant(vec![1.0, 2.0]), &[2, 2]),
        &[2, 2],
        &[1.0, 2.0, 1.0, 2.0],
    );
    check(
        ops::broadcast_like(&constant(7.0), &constant(vec![1.0, 2.0])),
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
    refused(ops::expand_dims(&x, &[3]), Error::Shape, "expand_dims");
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
    refused(ops::stack(&[y], 2), Error::Shape, "stack");
    // More than are joined at once, and just as many.
    for n in [32, 33, 64, 65, 1100] {
        let parts: Vec<Variable> = (0..n).map(|k| constant(vec![f64::from(k)])).collect();
        let expected: Vec<f64> = (0..n).map(f64::from).collect();
        check(ops::concatenate(&parts, Some(0)), &[n as usize], &expected);
    }
}

/// A method for the test above.
trait ReshapeOf {
    fn reshape_of(self, shape: &[i64]) -> Variable;
}

impl ReshapeOf for Variable {
    fn reshape_of(self, shape: &[i64]) -> Variable {
        let all: i64 = shape.iter().product();
        ops::broadcast_to(&constant(0.0), &[all as usize]).expect("a vector")
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
        refused(ops::matmul(x, y), Error::Shape, "matmul");
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

#[test]
fn elements_are_chosen_and_replaced() {
    let x = constant(count(&[4, 2]));
    let at = |indices: Vec<u32>| Dense::from(indices);
    check(
        ops::gather(&x, &constant(vec![3u32, 0])),
        &[2, 2],
        &[6.0, 7.0, 0.0, 1.0],
    );
    for x in [x.clone(), input(count(&[4, 2]))] {
        check(
            ops::rows(&x, at(vec![3, 0]), &[]),
            &[2, 2],
            &[6.0, 7.0, 0.0, 1.0],
        );
        check(
            ops::rows(&x, at(vec![3, 0]), &[0]),
            &[2, 2],
            &[6.0, 7.0, 0.0, 1.0],
        );
        check(
            ops::rows(&x, at(vec![3, 2]), &[0, 1]),
            &[2, 2],
            &[6.0, 7.0, 4.0, 5.0],
        );
    }
    let sliced = |items: &[SliceItem]| ops::slice(&x, items.to_vec());
    check(sliced(&[SliceItem::At(-1)]), &[2], &[6.0, 7.0]);
    check(
        sliced(&[range(None, None, -2), SliceItem::At(1)]),
        &[2],
        &[7.0, 3.0],
    );
    check(
        ops::take_flat(&x, at(vec![7, 0, 7])),
        &[3],
        &[7.0, 0.0, 7.0],
    );
    // Values broadcast, axes of length 1 in front are dropped, and of equal places the last counts.
    let of_two = Dense::new(&[1, 2], vec![0u32, 5]).unwrap();
    let replaced = |places: &Dense<u32>, values: Variable| ops::replace(&x, places, &values);
    let expected = |a: f64, b: f64| [a, 1.0, 2.0, 3.0, 4.0, b, 6.0, 7.0];
    check(
        replaced(&of_two, constant(9.0)),
        &[4, 2],
        &expected(9.0, 9.0),
    );
    check(
        replaced(&of_two, constant(vec![8.0, 9.0])),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    let deep = array(&[1, 1, 1, 2], &[8.0, 9.0]);
    check(
        replaced(&of_two, constant(deep)),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    check(
        replaced(&at(vec![0, 5, 5]), input(vec![8.0, 7.0, 9.0])),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    let single = constant(Array::from(vec![8.0f32, 9.0]));
    check(
        replaced(&at(vec![0, 5]), single),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    refused(
        replaced(&at(vec![8]), constant(1.0)),
        Error::Index,
        "replace",
    );
    refused(
        replaced(&at(vec![0, 1]), constant(count(&[2, 2]))),
        Error::Shape,
        "",
    );
    let items = || vec![range(Some(1), Some(3), 1), SliceItem::At(0)];
    let expected = [0.0, 1.0, 8.0, 3.0, 9.0, 5.0, 6.0, 7.0];
    for (x, values) in [
        (x.clone(), constant(vec![8.0, 9.0])),
        (x.clone(), input(vec![8.0, 9.0])),
        (input(count(&[4, 2])), constant(array(&[1, 2], &[8.0, 9.0]))),
    ] {
        check(ops::slice_replace(&x, items(), &values), &[4, 2], &expected);
    }
    let with_ones = [0.0, 1.0, 1.0, 3.0, 1.0, 5.0, 6.0, 7.0];
    check(
        ops::slice_replace(&x, items(), &constant(1.0)),
        &[4, 2],
        &with_ones,
    );
}

#[test]
fn masks_are_known_from_numbers() {
    let x = input(vec![1.0, 5.0, 3.0]);
    let plain = constant(vec![1.0, 5.0, 3.0]);
    let two = constant(2.0);
    let greater = |x: &Variable| ops::binary(&wyrmling::rules::Greater, x, &two).unwrap();
    let not_equal = ops::not_equal(&x, &two).unwrap();
    let one_minus = |x: &Variable| (constant(1.0) - x.clone()).boxed();
    for mask in [greater(&x), not_equal.clone()] {
        assert!(ops::is_mask(&mask), "{mask:?}");
    }
    let equal = ops::binary(&wyrmling::rules::Equal, &x, &two).unwrap();
    assert!(ops::is_mask(&equal) && ops::is_mask(&one_minus(&equal)));
    let less = greater(&x);
    for number in [
        x.clone(),
        one_minus(&x),
        one_minus(&less),
        (two.clone() - equal.clone()).boxed(),
        (x.clone() - equal.clone()).boxed(),
        ops::unary(&wyrmling::rules::Exp, &x).unwrap(),
    ] {
        assert!(!ops::is_mask(&number), "{number:?}");
    }
    assert!(ops::is_logical("isnan") && !ops::is_logical("add"));
    assert_eq!(
        ops::constant_mask(&greater(&plain)).unwrap().to_f64(),
        [0.0, 1.0, 1.0]
    );
    refused(
        ops::constant_mask(&plain),
        Error::Type,
        "an index is integers, or a mask",
    );
    refused(
        ops::constant_mask(&greater(&x)),
        Error::Type,
        "has as many elements as the mask has ones",
    );
    check(
        ops::replace_where(&x, &greater(&x), &constant(0.0)),
        &[3],
        &[1.0, 0.0, 0.0],
    );
    let table = constant(count(&[3, 2]));
    let number = constant(array(&[1, 1], &[9.0]));
    let replaced = ops::replace_where(&table, &greater(&x), &number);
    check(replaced, &[3, 2], &[0.0, 1.0, 9.0, 9.0, 9.0, 9.0]);
    let text = "a mask of shape (3,) does not fit an array of shape (2, 3)";
    let wide = constant(count(&[2, 3]));
    refused(
        ops::replace_where(&wide, &greater(&x), &two),
        Error::Index,
        text,
    );
}

#[test]
fn integers_stay_integers_where_they_can() {
    let index = constant(vec![3u32, 0]);
    let x = constant(vec![2.5, -1.5]);
    assert!(index.is_integer() && !x.is_integer());
    let numbers = ops::numbers(&index).unwrap();
    assert_eq!(numbers.dtype(), DType::F64);
    check(Ok(numbers), &[2], &[3.0, 0.0]);
    let whole = ops::whole(&x).unwrap();
    assert!(whole.is_integer());
    check(Ok(whole.clone()), &[2], &[2.0, -1.0]);
    // From the end of an axis of length 4.
    let like = constant(count(&[2, 4]));
    let at = ops::to_index(&whole, &like, 1).unwrap();
    assert_eq!(at.value().unwrap().dtype(), DType::U32);
    check(Ok(at), &[2], &[2.0, 3.0]);
    refused(
        ops::to_index(&x, &like, 1),
        Error::Type,
        "an index is integers, got numbers of type",
    );
    let both = [index.clone(), whole.clone()];
    let sum = ops::of_integers(&wyrmling::rules::Add, &both, true).unwrap();
    assert!(sum.is_integer());
    check(Ok(sum), &[2], &[5.0, -1.0]);
    let some = [index.clone(), x.clone()];
    let sum = ops::of_integers(&wyrmling::rules::Add, &some, false).unwrap();
    assert!(!sum.is_integer());
    check(Ok(sum), &[2], &[5.5, -1.5]);
    let ratio = ops::of_integers(&wyrmling::rules::Div, &[whole.clone(), whole.clone()], true);
    assert!(!ratio.as_ref().unwrap().is_integer());
    check(ratio, &[2], &[1.0, 1.0]);
    let negative =
        ops::of_integers(&wyrmling::rules::Neg, std::slice::from_ref(&index), true).unwrap();
    assert!(negative.is_integer());
    check(Ok(negative), &[2], &[-3.0, 0.0]);
    let mask = constant(vec![1.0, 0.0]);
    let chosen = ops::of_integers(
        &wyrmling::rules::Where,
        &[mask, whole.clone(), index],
        false,
    );
    check(chosen, &[2], &[2.0, 0.0]);
    // What has the elements of integers in another order holds integers.
    let kept = [
        ops::reshape(&whole, &[1, 2]),
        ops::slice(&whole, vec![range(None, None, -1)]),
        ops::concatenate(&[whole.clone(), whole.clone()], None),
        ops::replace(&whole, &Dense::from(vec![0u32]), &whole.clone().first()),
        ops::slice_replace(&whole, vec![SliceItem::At(0)], &whole.clone().first()),
    ];
    for (k, kept) in kept.into_iter().enumerate() {
        assert!(kept.unwrap().is_integer(), "{k}");
    }
    let mixed = [
        ops::concatenate(&[whole.clone(), x.clone()], None),
        ops::replace(&whole, &Dense::from(vec![0u32]), &constant(0.5)),
        ops::replace(&x, &Dense::from(vec![0u32]), &whole.clone().first()),
        ops::slice_replace(&whole, vec![SliceItem::At(0)], &constant(0.5)),
        ops::unary(&wyrmling::rules::Exp, &whole),
    ];
    for (k, mixed) in mixed.into_iter().enumerate() {
        assert!(!mixed.unwrap().is_integer(), "{k}");
    }
    let mask = constant(vec![1.0, 0.0]);
    assert!(ops::select(&mask, &whole, &whole).unwrap().is_integer());
    assert!(!ops::select(&mask, &whole, &x).unwrap().is_integer());
    assert!(!ops::select(&whole, &x, &x).unwrap().is_integer());
}

/// The first element.
trait First {
    fn first(self) -> Variable;
}

impl First for Variable {
    fn first(self) -> Variable {
        ops::slice(&self, vec![SliceItem::At(0)]).expect("a vector")
    }
}

/// A program that was built with one length runs with another; the numbers are those of a graph
/// that is built with it.
#[test]
fn programs_take_other_lengths_than_they_were_built_with() {
    type Build = fn(&Variable, &Variable) -> Result<Variable>;
    fn last(x: &Variable) -> Result<u32> {
        Ok(x.ty()?.shape[0] as u32 - 1)
    }
    let builds: [(&str, Build); 12] = [
        ("vecdot", |x, _| {
            ops::vecdot(x, &constant(array(&[1, 2], &[2.0, 3.0])))
        }),
        ("outer", |x, y| {
            ops::outer(y, &ops::slice(x, vec![SliceItem::At(0)])?)
        }),
        ("rows", |x, _| {
            ops::rows(x, Dense::from(vec![last(x)?, 0]), &[0])
        }),
        ("all rows", |x, _| {
            ops::rows(x, Dense::from(vec![last(x)?]), &[0])
        }),
        ("replaced", |x, _| {
            ops::slice_replace(x, vec![range(None, None, 1)], &constant(1.0))
        }),
        ("assigned", |x, y| {
            ops::slice_replace(
                &constant(count(&[1, 2])),
                vec![SliceItem::At(0)],
                &ops::matmul(y, x)?,
            )
        }),
        ("logsumexp", |x, _| {
            ops::reduce(ops::Reduction::LogSumExp, x, None, false)
        }),
        ("matmul", |x, y| ops::matmul(y, x)),
        ("dot", |x, y| ops::dot(y, x)),
        ("mean", |x, _| {
            ops::reduce(ops::Reduction::Mean, x, Some(&[0]), true)
        }),
        ("concatenate", |x, _| {
            ops::concatenate(&[x.clone(), x.clone()], Some(0))
        }),
        ("where", |x, y| {
            ops::replace_where(
                x,
                &ops::binary(&wyrmling::rules::Greater, y, &constant(0.0))?,
                &constant(5.0),
            )
        }),
    ];
    for (name, build) in builds {
        let make = |n: usize| {
            let x = Input::new(numbers(DType::F64, &[n, 2], 1));
            let y = Input::new(numbers(DType::F64, &[n], 2));
            let out = build(&x.clone().boxed(), &y.clone().boxed()).unwrap();
            (x, y, out)
        };
        let (x, y, built) = make(1);
        let frozen = Frozen::new(&built).unwrap();
        for n in [1, 4] {
            let (other_x, other_y, expected) = make(n);
            x.set_value(other_x.value().unwrap()).unwrap();
            y.set_value(other_y.value().unwrap()).unwrap();
            let (value, _) = frozen.run(&[x.clone(), y.clone()]).unwrap();
            assert_close(&value, &expected.value().unwrap(), 1e-12, name);
        }
    }
    // What was squeezed while it was one is not where it is more, and what is fixed stays.
    let fixed: [(&str, Build); 2] = [
        ("squeeze", |x, _| {
            ops::squeeze(&ops::expand_dims(x, &[0])?, None)
        }),
        ("fixed", |x, _| ops::fixed(x, "test", &[0])),
    ];
    for (name, build) in fixed {
        let x = Input::new(numbers(DType::F64, &[2, 2], 1));
        let out = build(&x.clone().boxed(), &constant(0.0)).unwrap();
        let program = out.freeze().unwrap();
        assert!(
            program.run(&[numbers(DType::F64, &[2, 2], 1)]).is_ok(),
            "{name}"
        );
        assert!(
            program.run(&[numbers(DType::F64, &[1, 2], 1)]).is_err(),
            "{name}"
        );
    }
}

#[cfg(feature = "linalg")]
#[test]
fn decompositions_come_apart() {
    let product = |x: &Variable, y: &Variable| ops::matmul(x, y).unwrap();
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
