//! Reductions, orders and normalised exponentials along axes.

use wyrmling::graph::{Constant, ops};
use wyrmling::{DType, Error};

use super::{array, check, constant, count, refused};
use crate::common::numbers;

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
    refused(
        sum(Some(&[2]), false),
        Error::Axis,
        "sum: axis 2 is out of range",
    );
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
        (ops::Reduction::Norm, "norm"),
    ] {
        assert_eq!(kind.name(), name);
        refused(ops::reduce(kind, &x, Some(&[5]), false), Error::Axis, name);
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
        &picked.clone().collect::<Vec<_>>(),
    );
    let targets = ops::reshape(&targets, &[2, 3]).unwrap();
    check(
        ops::cross_entropy(&x, &targets),
        &[2, 3],
        &picked.collect::<Vec<_>>(),
    );
}
