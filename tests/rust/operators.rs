//! Operators of a downstream crate: they work as built-in ones do, and cannot break anything
//! by saying what is not so.

use wyrmling::array::{Number, Real, SliceMut, View, ViewMut};
use wyrmling::graph::{Independent, Parameter};
use wyrmling::rules::{self, Ex, Kernel, Key, Map1, Map2, OpRef, Operator};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

use crate::common::operators::{Floor, apply, reals, results};
use crate::common::{Frozen, assert_close, dense, numbers};

/// Eager and frozen values and gradients of `y`, which must agree. Returns both.
fn check(y: &Variable, leaf: &Independent, inputs: &[Input]) -> Result<(Vec<f64>, Vec<f64>)> {
    let (value, grads) = Frozen::new(y)?.run(inputs)?;
    assert_close(&value, &y.value()?, 0.0, "the value");
    leaf.zero_grad();
    y.try_backward()?;
    let gradient = dense(leaf.grad(), &leaf.ty()?);
    assert_close(&grads[&leaf.id()], &gradient, 0.0, "the gradient");
    Ok((value.to_f64(), gradient.to_f64()))
}

/// `x³`, by a kernel.
#[derive(Debug, Clone)]
struct Cube;

impl Map1 for Cube {
    fn f<T: Real>(x: T) -> T {
        x * x * x
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
        Kernel::one::<Self>(out.data.dtype()).apply(&[args[0].data], out.data);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g * x[0].square() * 3.0)
    }
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        Some(Kernel::one::<Self>(dtype))
    }
}

/// `factor x`, without a kernel.
#[derive(Debug, Clone)]
struct Scale {
    factor: f64,
}

impl Operator for Scale {
    fn name(&self) -> &str {
        "scale"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        for (o, x) in results(&mut out).iter_mut().zip(reals(&args[0])) {
            *o = self.factor * x;
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with_new(self.clone(), &[]))
    }
}

#[test]
fn an_operator_from_outside_works_as_those_inside() -> Result<()> {
    let values = [1.0f64, -2.0, 0.5];
    let x = Independent::new(values.to_vec())?;
    let cube = apply(Cube, [&x.clone().boxed()])?;
    let scaled = |factor| apply(Scale { factor }, [&cube]);
    let y = (scaled(1.0)?.sin() + scaled(2.0)? + scaled(1.0)?).boxed();
    let (value, gradient) = check(&y, &x, &[])?;
    for (k, x) in values.into_iter().enumerate() {
        let cube = x * x * x;
        assert!((value[k] - (cube.sin() + 3.0 * cube)).abs() < 1e-12);
        let expected = 3.0 * x * x * (cube.cos() + 3.0);
        assert!((gradient[k] - expected).abs() < 1e-12);
    }
    let text = y.freeze()?.to_string();
    assert!(text.contains("cube(%0)") && text.contains("scale[factor: 2.0](%1)"));
    let number = Independent::new(2.0)?;
    let y = apply(Cube, [&number.clone().boxed()])?;
    assert_eq!(check(&y, &number, &[])?, (vec![8.0], vec![12.0]));
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
                    for (o, x) in results(&mut out).iter_mut().zip(reals(&args[0])) {
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
    let x = Independent::new(vec![1.0, 2.0])?;
    let boxed = x.clone().boxed();
    let y = (apply(up::Shift, [&boxed])? * apply(far_up::Shift, [&boxed])?).boxed();
    let (value, gradient) = check(&y, &x, &[])?;
    assert_eq!(value, [2.0 * 101.0, 3.0 * 102.0]);
    assert_eq!(gradient, [103.0, 105.0]);
    Ok(())
}

/// `factor x`; its field is not printed; two are the same only if its key says so.
#[derive(Clone)]
struct Unprinted<const KEY: bool> {
    factor: u32,
}

impl<const KEY: bool> std::fmt::Debug for Unprinted<KEY> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unprinted")
    }
}

impl<const KEY: bool> Operator for Unprinted<KEY> {
    fn name(&self) -> &str {
        "unprinted"
    }
    fn key(&self) -> Option<&dyn Key> {
        KEY.then_some(&self.factor)
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        for (o, x) in results(&mut out).iter_mut().zip(reals(&args[0])) {
            *o = f64::from(self.factor) * x;
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with_new(self.clone(), &[]))
    }
}

/// Two factors of each kind applied to one variable: the sum, and how often the program computes
/// the operator.
fn steps_of_unprinted<const KEY: bool>() -> Result<usize> {
    let x = Independent::new(vec![1.0, 2.0])?;
    let scaled = |factor| apply(Unprinted::<KEY> { factor }, [&x.clone().boxed()]);
    let y = (scaled(2)? * scaled(3)? + scaled(2)?).boxed();
    let (value, gradient) = check(&y, &x, &[])?;
    assert_eq!(value, [6.0 + 2.0, 24.0 + 4.0]);
    assert_eq!(gradient, [12.0 + 2.0, 24.0 + 2.0]);
    let program = y.freeze()?.unfused();
    program.run(&[])?;
    program.steps(&[])
}

#[test]
fn operators_are_told_apart_by_their_key_and_not_by_what_they_print() -> Result<()> {
    // Without a key each is computed; with one, the two of one factor are computed once.
    assert_eq!(steps_of_unprinted::<false>()?, 5);
    assert_eq!(steps_of_unprinted::<true>()?, 4);
    Ok(())
}

#[test]
fn operators_of_the_table_have_keys() {
    for entry in rules::table() {
        let mut others: Vec<OpRef> = Vec::new();
        for case in (entry.cases)() {
            let op: &dyn Operator = &*case.op;
            // It is itself, also where it is another object, and no other.
            let known = size_of_val(op) == 0 || op.key().is_some();
            assert!(known, "{} has fields and no key", entry.name);
            let printed = |op: &OpRef| format!("{op:?}");
            for other in &others {
                let same = printed(&case.op) == printed(other);
                assert_eq!(*other == case.op, same, "{:?} and {other:?}", case.op);
            }
            others.push(case.op);
        }
    }
}

/// Claims to be elementwise and to keep its operand's memory, and does neither: the result is
/// twice as long.
#[derive(Debug, Clone)]
struct Stretch;

impl Operator for Stretch {
    fn name(&self) -> &str {
        "stretch"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(args[0].dtype, &[2 * args[0].size()]))
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let pairs = results(&mut out).as_chunks_mut().0;
        for (o, x) in pairs.iter_mut().zip(reals(&args[0])) {
            *o = [*x, *x];
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0].constant(2.0).broadcast_like(x[0]))
    }
    fn aliases(&self, _: &[&Type], _: &Type) -> bool {
        true
    }
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        Some(Kernel::one::<Cube>(dtype))
    }
}

#[test]
fn claims_that_do_not_fit_the_types_are_not_believed() -> Result<()> {
    let x = Independent::new(numbers(DType::F64, &[1000], 1))?;
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

/// The sum of any number of operands of one shape, with a kernel for two of float64 that it
/// offers in any case.
#[derive(Debug, Clone)]
struct SumOf;

impl Map2 for SumOf {
    fn f<T: Real>(x: T, y: T) -> T {
        x + y
    }
}

impl Operator for SumOf {
    fn name(&self) -> &str {
        "sum_of"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let first = args.first().map(|&ty| ty.clone());
        Ok(first.unwrap_or_else(|| Type::scalar(DType::F64)))
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        fn sum<T: Number>(args: &[View<'_>], out: &mut [T]) {
            for (k, o) in out.iter_mut().enumerate() {
                *o = args.iter().map(|a| a.real::<T>()[k]).sum();
            }
        }
        match out.data {
            SliceMut::F32(out) => sum(args, out),
            SliceMut::F64(out) => sum(args, out),
            SliceMut::U32(_) => {}
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
    fn kernel(&self, _: DType) -> Option<Kernel> {
        Some(Kernel::two::<Self>(DType::F64))
    }
}

#[test]
fn operators_take_any_number_of_operands() -> Result<()> {
    for count in [1, 2, 3, 4, 9] {
        for dtype in [DType::F64, DType::F32] {
            let x = Independent::new(numbers(dtype, &[700], 1))?;
            let args = vec![x.clone().boxed(); count];
            let y = Variable::apply(OpRef::new(SumOf), &args)?.sin().boxed();
            let (value, gradient) = check(&y, &x, &[])?;
            for (k, x) in x.value()?.to_f64().into_iter().enumerate() {
                let total = count as f64 * x;
                assert!((value[k] - total.sin()).abs() < 1e-4);
                assert!((gradient[k] - count as f64 * total.cos()).abs() < 1e-4);
            }
        }
    }
    let x = Independent::new(2.0)?;
    let nothing = Variable::apply(OpRef::new(SumOf), &[])?;
    assert_eq!(
        check(&(nothing + x.clone()).boxed(), &x, &[])?,
        (vec![2.0], vec![1.0])
    );
    Ok(())
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
