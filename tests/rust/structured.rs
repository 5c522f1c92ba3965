//! Values of graphs that are not kept as arrays, diagonals above all: what operators make of them is
//! what they make of the arrays.

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Constant, Independent, ops};
use wyrmling::rules::{self, Ex, MatMul, Operator};
use wyrmling::{Array, DType, Error, Result, Type, Variable};

use crate::common::operators::{apply, reals, results};
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
        let number = |x: f64| Constant::new(Array::full(&Type::new(ty.dtype, &[]), x));
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

/// Half of the square; its rule multiplies the operand by the gradient, and not the gradient by it.
#[derive(Debug, Clone)]
struct HalfSquare;

impl Operator for HalfSquare {
    fn name(&self) -> &str {
        "half_square"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let halves = reals(&args[0]).iter().map(|x| x * x / 2.0);
        results(&mut out)
            .iter_mut()
            .zip(halves)
            .for_each(|(to, x)| *to = x);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0] * g)
    }
}

#[test]
fn a_product_with_a_gradient_on_the_right_is_that_of_arrays() -> Result<()> {
    for shape in [[3, 3], [2, 3]] {
        let x = Independent::new(numbers(DType::F64, &shape, 1))?;
        let y = apply(HalfSquare, [&x.clone().boxed()])?;
        check(&y, std::slice::from_ref(&x), "on the right")?;
        x.zero_grad();
        (y.sum() * 3.0).backward();
        let found = x.grad().expect("it matters").to_dense();
        let expected = (x.clone() * 3.0).value()?;
        assert_close(&found, &expected, rounding(DType::F64), "of a sum");
    }
    Ok(())
}

/// The gradient of a trace is a multiple of the identity, and so nothing but its product with a matrix
/// is a multiple of that.
#[test]
fn the_gradient_of_a_trace_meets_elementwise_operators() -> Result<()> {
    let [x, y] = [1, 2].map(|seed| Independent::new(numbers(DType::F64, &[3, 3], seed)));
    let (x, y) = (x?, y?);
    ((x.clone() * y.clone()).trace() * 2.0).backward();
    let values = y.value()?.to_f64();
    let expected = (0..9).map(|k| if k % 4 == 0 { 2.0 * values[k] } else { 0.0 });
    let found = x.grad().expect("it matters").to_dense().to_f64();
    assert_eq!(found, expected.collect::<Vec<_>>());
    Ok(())
}

/// Operands of two element types are refused, whichever way they would be computed.
#[test]
fn element_types_do_not_mix() {
    let arrays = |dtype| [[].as_slice(), &[3], &[2, 3]].map(|shape| numbers(dtype, shape, 1));
    for (a, b) in [(DType::F64, DType::F32), (DType::F32, DType::F64)] {
        for (a, b) in arrays(a)
            .iter()
            .flat_map(|a| arrays(b).map(|b| (a.clone(), b)))
        {
            let args = [a, b].map(|x| Constant::new(x).boxed());
            let sum = apply(rules::Add, args.each_ref());
            assert!(matches!(sum, Err(Error::Type(_))), "{sum:?}");
        }
    }
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
