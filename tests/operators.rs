//! Operators of a downstream crate: they work as built-in ones do, and cannot break anything
//! by saying what is not so.

mod common;

use wyrmling::array::{Slice, SliceMut, View, ViewMut};
use wyrmling::graph::{Leaf, Parameter};
use wyrmling::rules::{self, Block, Ex, OpRef, Operator};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

use common::{Frozen, assert_close, dense, numbers};

fn reals(slice: Slice<'_>) -> &[f64] {
    match slice {
        Slice::F64(s) => s,
        _ => panic!("these operators take float64"),
    }
}

fn results<'s>(slice: &'s mut SliceMut<'_>) -> &'s mut [f64] {
    match slice {
        SliceMut::F64(s) => s,
        _ => panic!("these operators give float64"),
    }
}

fn apply<const N: usize>(op: impl Operator, args: [&Variable; N]) -> Result<Variable> {
    Variable::apply(OpRef::new(op), &args.map(Clone::clone))
}

/// Eager and frozen values and gradients of `y`, which must agree. Returns both.
fn check(y: &Variable, leaf: &Leaf, inputs: &[Input]) -> Result<(Vec<f64>, Vec<f64>)> {
    let (value, grads) = Frozen::new(y)?.run(inputs)?;
    assert_close(&value, &y.value()?, 0.0, "the value");
    leaf.zero_grad();
    y.try_backward()?;
    let gradient = dense(leaf.grad(), &leaf.ty()?);
    assert_close(&grads[&leaf.id()], &gradient, 0.0, "the gradient");
    Ok((value.to_f64(), gradient.to_f64()))
}

/// `factor · x³`.
#[derive(Debug, Clone)]
struct Cube {
    factor: f64,
}

impl Block for Cube {
    fn run(&self, args: &[Slice<'_>], mut out: SliceMut<'_>) {
        for (o, x) in results(&mut out).iter_mut().zip(reals(args[0])) {
            *o = self.factor * x * x * x;
        }
    }
}

impl Operator for Cube {
    fn name(&self) -> &str {
        "cube"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        self.run(&[args[0].data], out.data);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g * x[0].square() * (3.0 * self.factor))
    }
    fn block(&self) -> Option<&(dyn Block + 'static)> {
        Some(self)
    }
}

#[test]
fn an_operator_from_outside_works_as_those_inside() -> Result<()> {
    let x = Leaf::new(vec![1.0, -2.0, 0.5])?;
    let boxed = x.clone().boxed();
    let (one, two) = (Cube { factor: 1.0 }, Cube { factor: 2.0 });
    let y = apply(one.clone(), [&boxed])?.sin() + apply(two, [&boxed])?;
    let y = (y + apply(one, [&boxed])?).boxed();
    let (value, gradient) = check(&y, &x, &[])?;
    for (k, x) in [1.0f64, -2.0, 0.5].into_iter().enumerate() {
        let cube = x * x * x;
        assert!((value[k] - (cube.sin() + 3.0 * cube)).abs() < 1e-12);
        let expected = 3.0 * x * x * (cube.cos() + 3.0);
        assert!((gradient[k] - expected).abs() < 1e-12);
    }
    assert!(y.freeze()?.to_string().contains("cube[factor: 2.0](%0)"));
    Ok(())
}

/// Operators that add a number, each in a module of its own under one name.
macro_rules! shift_by {
    ($module:ident, $by:literal) => {
        mod $module {
            use super::*;

            #[derive(Debug, Clone)]
            pub struct Shift;

            impl Operator for Shift {
                fn name(&self) -> &str {
                    "shift"
                }
                fn infer(&self, args: &[&Type]) -> Result<Type> {
                    Ok(args[0].clone())
                }
                fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                    for (o, x) in results(&mut out.data).iter_mut().zip(reals(args[0].data)) {
                        *o = x + $by;
                    }
                    Ok(())
                }
                fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
                    Some(g)
                }
            }
        }
    };
}
shift_by!(up, 1.0);
shift_by!(far_up, 100.0);

#[test]
fn operators_of_one_name_are_not_taken_for_each_other() -> Result<()> {
    let x = Leaf::new(vec![1.0, 2.0])?;
    let boxed = x.clone().boxed();
    let y = (apply(up::Shift, [&boxed])? * apply(far_up::Shift, [&boxed])?).boxed();
    let (value, gradient) = check(&y, &x, &[])?;
    assert_eq!(value, [2.0 * 101.0, 3.0 * 102.0]);
    assert_eq!(gradient, [103.0, 105.0]);
    Ok(())
}

/// Claims to be elementwise and to keep its operand's memory, and does neither: the result is
/// twice as long.
#[derive(Debug, Clone)]
struct Stretch;

impl Block for Stretch {
    fn run(&self, _: &[Slice<'_>], mut out: SliceMut<'_>) {
        results(&mut out).fill(f64::NAN);
    }
}

impl Operator for Stretch {
    fn name(&self) -> &str {
        "stretch"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(args[0].dtype, &[2 * args[0].size()]))
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        for (o, x) in results(&mut out.data)
            .chunks_exact_mut(2)
            .zip(reals(args[0].data))
        {
            o.fill(*x);
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0].constant(2.0).broadcast_like(x[0]))
    }
    fn aliases(&self, _: &[&Type], _: &Type) -> bool {
        true
    }
    fn block(&self) -> Option<&(dyn Block + 'static)> {
        Some(self)
    }
}

#[test]
fn claims_that_do_not_fit_the_types_are_not_believed() -> Result<()> {
    let x = Leaf::new(numbers(DType::F64, &[1000], 1))?;
    let y = apply(Stretch, [&(x.clone() * 3.0).boxed()])?;
    let (value, gradient) = check(&(y + 1.0).boxed(), &x, &[])?;
    let twice = x
        .value()?
        .to_f64()
        .into_iter()
        .flat_map(|x| [x * 3.0 + 1.0; 2]);
    assert!(value.into_iter().eq(twice));
    assert_eq!(gradient, [6.0; 1000]);
    Ok(())
}

/// The sum of any number of operands, of one shape.
#[derive(Debug, Clone)]
struct SumOf;

impl Block for SumOf {
    fn run(&self, args: &[Slice<'_>], mut out: SliceMut<'_>) {
        for (k, o) in results(&mut out).iter_mut().enumerate() {
            let at = |a: &Slice<'_>| reals(*a).get(k).or(reals(*a).first()).copied();
            *o = args.iter().filter_map(at).sum();
        }
    }
}

impl Operator for SumOf {
    fn name(&self) -> &str {
        "sum_of"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args
            .first()
            .map_or(Type::scalar(DType::F64), |&t| t.clone()))
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let args: Vec<Slice<'_>> = args.iter().map(|a| a.data).collect();
        self.run(&args, out.data);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
    fn block(&self) -> Option<&(dyn Block + 'static)> {
        Some(self)
    }
}

#[test]
fn operators_take_any_number_of_operands() -> Result<()> {
    for count in [1, 2, 3, 4, 5, 9] {
        let x = Leaf::new(vec![0.5, 1.0])?;
        let args = vec![x.clone().boxed(); count];
        let y = Variable::apply(OpRef::new(SumOf), &args)?.sin().boxed();
        let (value, gradient) = check(&y, &x, &[])?;
        let count = count as f64;
        assert_eq!(value, [(count * 0.5).sin(), count.sin()]);
        assert!((gradient[1] - count * count.cos()).abs() < 1e-12);
    }
    let x = Leaf::new(2.0)?;
    let nothing = Variable::apply(OpRef::new(SumOf), &[])?;
    let (value, gradient) = check(&(nothing + x.clone()).boxed(), &x, &[])?;
    assert_eq!((value[0], gradient[0]), (2.0, 1.0));
    Ok(())
}

/// Numbers rounded down to indices.
#[derive(Debug, Clone)]
struct Floor;

impl Operator for Floor {
    fn name(&self) -> &str {
        "floor"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(DType::U32, &args[0].shape))
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::U32(out) = out.data {
            for (o, x) in out.iter_mut().zip(reals(args[0].data)) {
                *o = *x as u32;
            }
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

#[test]
fn computed_indices_are_checked_as_given_ones_are() -> Result<()> {
    let table = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let table = Parameter::new(table);
    let x = Input::new(vec![0.5, 2.5, 2.0]);
    let at = apply(Floor, [&x.clone().boxed()])?;
    let rows = apply(rules::Gather, [&table.clone().boxed(), &at])?;
    let loss = rows.square().sum().boxed();
    let frozen = Frozen::new(&loss)?;
    let (value, grads) = frozen.run(std::slice::from_ref(&x))?;
    assert_eq!(value.item()?, 5.0 + 61.0 + 61.0);
    let gradient = grads[&table.param().table().id()].to_f64();
    assert_eq!(gradient, [2.0, 4.0, 0.0, 0.0, 20.0, 24.0]);
    loss.try_backward()?;
    assert_eq!(dense(table.grad(), &table.ty()?).to_f64(), gradient);
    for wrong in [3.0, 1e9, f64::INFINITY] {
        x.set_value(vec![0.0, wrong, 1.0])?;
        let (eager, frozen) = (loss.value(), frozen.run(std::slice::from_ref(&x)));
        assert!(matches!(eager, Err(Error::Index(_))));
        assert!(matches!(frozen, Err(Error::Index(_))));
    }
    x.set_value(vec![1.0])?;
    let (value, _) = frozen.run(std::slice::from_ref(&x))?;
    assert_close(&value, &Array::from(25.0), 0.0, "after an error");
    Ok(())
}
