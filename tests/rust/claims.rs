//! What an operator from outside says of itself is compared with what it does: where a claim does not
//! fit, or none is made, the value is that of `eval`, in graphs and in programs.

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Independent, Parameter, ops};
use wyrmling::rules::{self, Ex, Key, OpRef, Operator, Scatter, ScatteredRows, SliceItem};
use wyrmling::{Array, DType, Error, Gradient, Input, Result, Type, Variable};

use crate::common::operators::{apply, reals, results};
use crate::common::{assert_close, numbers, rounding};

/// Row 1 of a matrix, of which it says that it is this slice; with a type that is not the slice's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SecondRow {
    items: Vec<SliceItem>,
    dtype: DType,
    shape: Vec<usize>,
}

impl Operator for SecondRow {
    fn name(&self) -> &str {
        "second_row"
    }
    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }
    fn infer(&self, _: &[&Type]) -> Result<Type> {
        Ok(Type::new(self.dtype, &self.shape))
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let width = args[0].shape[1];
        let row = &reals(&args[0])[width..2 * width];
        match &mut out.data {
            wyrmling::array::SliceMut::F32(out) => {
                out.iter_mut().zip(row).for_each(|(o, &x)| *o = x as f32);
            }
            wyrmling::array::SliceMut::F64(out) => out.copy_from_slice(row),
            wyrmling::array::SliceMut::U32(_) => {}
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
    fn slice(&self) -> Option<&[SliceItem]> {
        Some(&self.items)
    }
}

#[test]
fn a_slice_of_another_type_is_no_slice() -> Result<()> {
    let table = numbers(DType::F64, &[5, 3], 1);
    let row = table.to_f64()[3..6].to_vec();
    for (dtype, shape) in [
        (DType::F64, vec![3]),
        (DType::F64, vec![1, 3]),
        (DType::F32, vec![3]),
        (DType::F32, vec![1, 3]),
    ] {
        let items = vec![SliceItem::At(1)];
        let op = SecondRow {
            items,
            dtype,
            shape: shape.clone(),
        };
        let w = Parameter::new(table.clone()).boxed();
        let found = apply(op, [&w])?;
        for value in [found.value()?, found.freeze()?.run(&[])?] {
            assert_eq!(value.ty(), Type::new(dtype, &shape));
            let close = |(a, b): (f64, &f64)| (a - b).abs() < 1e-6;
            assert!(value.to_f64().into_iter().zip(&row).all(close));
        }
    }
    Ok(())
}

/// The sum of the elements of operand 0, of which it says that it adds them, as rows at the indices of
/// operand 1, to a single number.
#[derive(Debug, Clone)]
struct Total;

impl Operator for Total {
    fn name(&self) -> &str {
        "total"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(args[0].dtype, &[]))
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out)[0] = 0.0;
        self.add(args, out)
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for Total {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out)[0] += reals(&args[0]).iter().sum::<f64>();
        Ok(())
    }
    fn rows(&self) -> Option<ScatteredRows<'_>> {
        Some(ScatteredRows::index(0, 1))
    }
}

#[test]
fn what_is_scattered_to_a_single_number_is_a_number() -> Result<()> {
    let x = Input::new(vec![1.0, 2.0, 4.0]).boxed();
    let at = Input::indices(vec![0, 0, 0]).boxed();
    let total = apply(Total, [&x, &at])?;
    assert_eq!(total.item()?, 7.0);
    let inputs = [vec![1.0, 2.0, 5.0].into(), vec![0u32; 3].into()];
    assert_eq!(total.freeze()?.run(&inputs)?.item()?, 8.0);
    Ok(())
}

/// An operator of two operands like a dot product of rows, which is none: the products are of squares.
#[derive(Debug, Clone)]
struct SquaresDot;

impl Operator for SquaresDot {
    fn name(&self) -> &str {
        "squares_dot"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        rules::VecDot.infer(args)
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let width = args[0].shape[1];
        let rows = |k: usize| reals(&args[k]).chunks_exact(width);
        for ((out, a), b) in results(&mut out).iter_mut().zip(rows(0)).zip(rows(1)) {
            *out = a.iter().zip(b).map(|(a, b)| a * a * b * b).sum();
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

#[test]
fn what_has_the_types_of_a_dot_product_need_not_be_one() -> Result<()> {
    let tables = [1, 2].map(|seed| Parameter::new(numbers(DType::F64, &[6, 4], seed)).boxed());
    let at = [vec![3, 1, 3], vec![0, 5, 2]].map(|at| Input::indices(at).boxed());
    let rows = [0, 1].map(|k| ops::gather(&tables[k], &at[k]));
    let [a, b] = rows;
    let dot = apply(SquaresDot, [&a?, &b?])?;
    let inputs = [at[0].value()?, at[1].value()?];
    let frozen = dot.freeze()?.run(&inputs)?;
    assert_close(&frozen, &dot.value()?, rounding(DType::F64), "frozen");
    Ok(())
}

/// Zero, with the sum of the two other operands as the gradient of the first.
#[derive(Debug, Clone)]
struct SumBehind;

impl Operator for SumBehind {
    fn name(&self) -> &str {
        "sum_behind"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(args[0].dtype, &[]))
    }
    fn eval(&self, _: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out)[0] = 0.0;
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| x[1] + x[2])
    }
}

/// A sum of rows is taken apart into its summands only where these are rows, too.
#[test]
fn the_gradient_of_rows_may_be_a_sum_of_what_is_repeated() -> Result<()> {
    let at = Input::indices(vec![4, 1, 4]);
    for shapes in [
        [[3, 2], [3, 2]],
        [[3, 1], [1, 2]],
        [[3, 2], [1, 2]],
        [[3, 1], [3, 2]],
    ] {
        let w = Parameter::new(numbers(DType::F64, &[6, 2], 1));
        let inputs = shapes.map(|shape| Input::new(numbers(DType::F64, &shape, 2)));
        let [a, b] = inputs.each_ref().map(|x| x.clone().boxed());
        let rows = ops::gather(&w.clone().boxed(), &at.clone().boxed())?;
        let loss = apply(SumBehind, [&rows, &a, &b])?;
        loss.try_backward()?;
        let expected = w.grad().map(|g| g.to_dense()).expect("it matters");
        let values = [at.value()?, a.value()?, b.value()?];
        let (_, gradients) = loss.freeze()?.value_and_grad(&values)?;
        let found = gradients[0].as_ref().map(Gradient::to_dense);
        let found = found.expect("it matters");
        assert_close(&found, &expected, rounding(DType::F64), "frozen");
    }
    Ok(())
}

/// The elements as they are, with a gradient that went through it, too.
#[derive(Debug, Clone)]
struct Passing;

impl Operator for Passing {
    fn name(&self) -> &str {
        "passing"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out).copy_from_slice(reals(&args[0]));
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with_ref(OpRef::Static(&Passing), &[]))
    }
    fn aliases(&self, _: &[&Type], _: &Type) -> bool {
        true
    }
}

/// The gradient of a lookup is rows, also where an operator that does nothing stands behind it.
#[test]
fn rows_pass_what_does_nothing() -> Result<()> {
    let w = Parameter::new(numbers(DType::F64, &[6, 2], 1));
    let at = Input::indices(vec![4, 1, 4]);
    let table = apply(Passing, [&w.clone().boxed()])?;
    let loss = ops::gather(&table, &at.clone().boxed())?
        .square()
        .sum()
        .boxed();
    loss.try_backward()?;
    let expected = w.grad().map(|g| g.to_dense()).expect("it matters");
    let (_, gradients) = loss.freeze()?.value_and_grad(&[at.value()?])?;
    let Some(Gradient::Rows(rows)) = &gradients[0] else {
        panic!("expected rows, got {:?}", gradients[0]);
    };
    assert_close(&rows.to_dense(), &expected, rounding(DType::F64), "frozen");
    Ok(())
}

/// A number, with a gradient made by repeating operand 0 to the shape of operand 1.
#[derive(Debug, Clone)]
struct Repeating;

impl Operator for Repeating {
    fn name(&self) -> &str {
        "repeating"
    }
    fn infer(&self, _: &[&Type]) -> Result<Type> {
        Ok(Type::new(DType::F64, &[]))
    }
    fn eval(&self, _: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out)[0] = 1.0;
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 1).then(|| match x {
            [index, like, table] => table.gather(index.broadcast_like(*like)),
            _ => x[0].broadcast_like(x[1]),
        })
    }
}

#[test]
fn a_number_is_repeated_only_where_it_fits() -> Result<()> {
    let like = Independent::new(vec![1.0, 2.0, 3.0])?;
    let gradient = |x: Variable| {
        like.zero_grad();
        apply(Repeating, [&x, &like.clone().boxed()])?.try_backward()?;
        Ok(like.grad().map(|g| g.to_dense().to_f64()))
    };
    let number = |shape: &[usize]| Input::new(Array::full(&Type::new(DType::F64, shape), 7.0));
    for shape in [&[][..], &[1]] {
        assert_eq!(gradient(number(shape).boxed())?, Some(vec![7.0; 3]));
    }
    for shape in [&[1, 1][..], &[2], &[1, 3]] {
        let found: Result<_> = gradient(number(shape).boxed());
        assert!(
            matches!(found, Err(Error::Shape(_))),
            "{shape:?}: {found:?}"
        );
    }
    // Indices are not repeated.
    let table = Input::new(vec![5.0, 6.0]).boxed();
    let index = Input::indices(vec![1]).boxed();
    let found = apply(Repeating, [&index, &like.clone().boxed(), &table])?.try_backward();
    assert!(matches!(found, Err(Error::Type(_))), "{found:?}");
    Ok(())
}

/// A matrix out of nothing, of which it says that it has operand 0 along the diagonal.
#[derive(Debug, Clone)]
struct OfNothing;

impl Operator for OfNothing {
    fn name(&self) -> &str {
        "of_nothing"
    }
    fn infer(&self, _: &[&Type]) -> Result<Type> {
        Ok(Type::new(DType::F64, &[2, 2]))
    }
    fn eval(&self, _: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out).fill(3.0);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
    fn form(&self) -> rules::Form {
        rules::Form::Diagonal
    }
}

#[test]
fn a_diagonal_of_nothing_is_none() -> Result<()> {
    let found = apply(OfNothing, [])?;
    for value in [found.value()?, found.freeze()?.run(&[])?] {
        assert_eq!(value.to_f64(), [3.0; 4]);
    }
    Ok(())
}
