//! Operators from outside that scatter: their gradients are rows, as those of lookups are, if the rows
//! that they claim fit; else they are arrays, or an error.

use wyrmling::array::{SliceMut, View, ViewMut};
use wyrmling::graph::ops;
use wyrmling::rules::{self, Ex, Key, OpRef, Operator, Scatter, ScatteredRows};
use wyrmling::{DType, Input, Result, Type, Variable};

use crate::common::{assert_close, dense};
use crate::rows::{rows_left, table};

/// The rows of operand 0 at the indices of operand 1, times a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Weighted(u32);

impl Operator for Weighted {
    fn name(&self) -> &str {
        "weighted"
    }
    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        rules::Gather.infer(args)
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let width = args[0].shape[1];
        let (from, at) = (args[0].real::<f64>(), args[1].indices());
        rules::check_indices(|| "weighted".into(), at, args[0].shape[0])?;
        if let SliceMut::F64(out) = &mut out.data {
            for (k, o) in out.iter_mut().enumerate() {
                *o = f64::from(self.0) * from[at[k / width] as usize * width + k % width];
            }
        }
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        // The operands in another order than those of the table have.
        let op = OpRef::new(AddRows);
        (i == 0).then(|| x[1].with_ref(op, &[x[0], g * f64::from(self.0)]))
    }
    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 1).then(|| args[0].shape[0])
    }
}

/// Zeros shaped as operand 1 with the rows of operand 2 added at the indices of operand 0.
#[derive(Debug, Clone)]
struct AddRows;

impl Operator for AddRows {
    fn name(&self) -> &str {
        "add_rows"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[1].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::F64(out) = &mut out.data {
            out.fill(0.0);
        }
        self.add(args, out)
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 2).then(|| g.gather(x[0]))
    }
    fn reads(&self, i: usize) -> bool {
        i != 1
    }
    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for AddRows {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (at, rows, width) = (args[0].indices(), args[2].real::<f64>(), out.shape[1]);
        rules::check_indices(|| "add_rows".into(), at, out.shape[0])?;
        if let SliceMut::F64(out) = &mut out.data {
            for (k, x) in rows.iter().enumerate() {
                out[at[k / width] as usize * width + k % width] += x;
            }
        }
        Ok(())
    }
    fn rows(&self) -> Option<ScatteredRows<'_>> {
        Some(ScatteredRows::index(2, 0))
    }
}

#[test]
fn an_operator_from_outside_that_scatters_leaves_rows_too() -> Result<()> {
    let w = table(DType::F64);
    let at = Input::indices(vec![7, 2, 7]);
    let args = [w.clone().boxed(), at.clone().boxed()];
    let weighted = |factor| Variable::apply(OpRef::new(Weighted(factor)), &args);
    let looked_up = ops::gather(&args[0], &args[1])?;
    let loss = (weighted(2)?.square() + weighted(3)? * looked_up)
        .sum()
        .boxed();
    assert_eq!(rows_left(&loss, &w, std::slice::from_ref(&at))?, [2, 7]);
    // d/dw of 4 w² + 3 w², twice for the row that is looked up twice.
    let (start, gradient) = (w.value()?.to_f64(), dense(w.grad(), &w.ty()?).to_f64());
    for (k, (x, g)) in start.iter().zip(&gradient).enumerate() {
        let times = [(2, 1.0), (7, 2.0)].iter().find(|(row, _)| *row == k / 6);
        let expected = times.map_or(0.0, |(_, times)| times * 14.0 * x);
        assert!((g - expected).abs() < 1e-12, "{g} is not {expected}");
    }
    // Out of range is an error that names the input, and so it is in training.
    let error = loss
        .freeze()?
        .value_and_grad(&[vec![12u32].into()])
        .unwrap_err();
    assert!(error.to_string().contains("input '#0'"), "{error}");
    Ok(())
}

/// Claims rows that do not fit: of another operand, or none there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Liar(usize, usize);

impl Operator for Liar {
    fn name(&self) -> &str {
        "liar"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        AddRows.infer(args)
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        AddRows.eval(args, out)
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        AddRows.vjp(i, g, y, x)
    }
    fn reads(&self, i: usize) -> bool {
        AddRows.reads(i)
    }
    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for Liar {
    fn add(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        AddRows.add(args, out)
    }
    fn rows(&self) -> Option<ScatteredRows<'_>> {
        Some(ScatteredRows::index(self.0, self.1))
    }
}

/// A lookup whose gradient is a [`Liar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lied(Liar);

impl Operator for Lied {
    fn name(&self) -> &str {
        "lied"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        rules::Gather.infer(args)
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        rules::Gather.eval(args, out)
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| x[1].with_ref(OpRef::new(self.0), &[x[0], g]))
    }
}

#[test]
fn rows_that_do_not_fit_are_not_believed() -> Result<()> {
    for liar in [Liar(0, 2), Liar(1, 0), Liar(9, 0), Liar(2, 9), Liar(2, 1)] {
        let w = table(DType::F64);
        let at = Input::indices(vec![7, 2, 7]);
        let args = [w.clone().boxed(), at.clone().boxed()];
        let loss = Variable::apply(OpRef::new(Lied(liar)), &args)?
            .square()
            .sum()
            .boxed();
        // It is the array, or an error.
        let expected = {
            let other = table(DType::F64);
            let rows = ops::gather(&other.clone().boxed(), &args[1])?;
            rows.square().sum().try_backward()?;
            dense(other.grad(), &other.ty()?)
        };
        if loss.try_backward().is_ok() {
            assert_close(&dense(w.grad(), &w.ty()?), &expected, 0.0, "eager");
        }
        if let Ok((_, gradients)) = loss.freeze()?.value_and_grad(&[at.value()?]) {
            assert_close(
                &dense(gradients[0].clone(), &w.ty()?),
                &expected,
                0.0,
                "frozen",
            );
        }
    }
    Ok(())
}
