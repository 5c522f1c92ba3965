//! Values of graphs that are not kept as arrays, diagonals above all: what operators make of them is
//! what they make of the arrays.

use wyrmling::graph::{Constant, Independent, ops};
use wyrmling::rules::MatMul;
use wyrmling::{Array, DType, Result, Variable};

use crate::common::operators::apply;
use crate::common::{assert_close, numbers, rounding};

/// The gradients of a graph at some leaves, from the trace, whose gradient is a diagonal, and from
/// the sum of the products with an array of ones on the diagonal.
#[track_caller]
fn check(y: &Variable, leaves: &[Independent], what: &str) -> Result<()> {
    let ty = y.ty()?;
    let (n, m) = (ty.shape[0], ty.shape[1]);
    let eye = ndarray::Array2::from_shape_fn((n, m), |(i, j)| f64::from(u8::from(i == j)));
    let eye: Array = match ty.dtype {
        DType::F32 => eye.mapv(|x| x as f32).into(),
        _ => eye.into(),
    };
    for scale in [1.0, -2.5] {
        let number = |x: f64| Constant::new(Array::full(&wyrmling::Type::new(ty.dtype, &[]), x));
        let trace = y.clone().trace() * number(scale);
        let sum = (y.clone() * Constant::new(eye.clone())).sum() * number(scale);
        let found = |loss: &Variable| -> Result<Vec<Array>> {
            leaves.iter().for_each(Independent::zero_grad);
            loss.try_backward()?;
            let grads = leaves.iter().map(|x| x.grad().expect("it matters"));
            Ok(grads.map(|g| g.to_dense()).collect())
        };
        let (found, expected) = (found(&trace.boxed())?, found(&sum.boxed())?);
        for (found, expected) in found.iter().zip(&expected) {
            let what = format!("{what}, times {scale}");
            assert_close(found, expected, rounding(ty.dtype), &what);
        }
    }
    Ok(())
}

#[test]
fn diagonals_in_products_are_those_of_arrays() -> Result<()> {
    for dtype in [DType::F32, DType::F64] {
        for [m, k, n] in [[3, 3, 3], [3, 2, 3], [2, 3, 3], [3, 2, 4]] {
            for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                let a = if ta { [k, m] } else { [m, k] };
                let b = if tb { [n, k] } else { [k, n] };
                let [a, b] = [(a, 1), (b, 2)].map(|(shape, seed)| numbers(dtype, &shape, seed));
                let leaves = [Independent::new(a)?, Independent::new(b)?];
                let [a, b] = leaves.each_ref().map(|x| x.clone().boxed());
                let op = MatMul {
                    transpose_a: ta,
                    transpose_b: tb,
                };
                let y = apply(op, [&a, &b])?;
                check(&y, &leaves, &format!("{m} {k} {n} {ta} {tb}"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn diagonals_in_other_operators_are_those_of_arrays() -> Result<()> {
    for dtype in [DType::F32, DType::F64] {
        for shape in [[3, 3], [2, 3], [3, 2]] {
            let leaves = [1, 2].map(|seed| Independent::new(numbers(dtype, &shape, seed)));
            let [x, y] = leaves;
            let leaves = [x?, y?];
            let [x, y] = leaves.each_ref().map(|x| x.clone().boxed());
            let both = |y: Variable| (y.tanh() + x.clone()).boxed();
            check(&both((x.clone() * y.clone()).boxed()), &leaves, "product")?;
            let tall = ops::transpose(&(x.clone() - y.clone()).boxed(), None)?;
            let twice = ops::transpose(&(tall.clone() * tall).boxed(), None)?;
            check(&twice, &leaves, "transposed")?;
            let quotient = (x.clone() / (y.clone().square() + 2.0)).boxed();
            check(&both(quotient), &leaves, "quotient")?;
        }
    }
    Ok(())
}
