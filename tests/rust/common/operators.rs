//! Operators of a downstream crate that several test files use, and how they are written.

use wyrmling::array::{Real, SliceMut, View, ViewMut};
use wyrmling::rules::{Ex, Kernel, Map1, OpRef, Operator};
use wyrmling::{DType, Result, Type, Variable};

/// The numbers of an operand of float64.
pub fn reals<'a>(view: &View<'a>) -> &'a [f64] {
    view.real()
}

/// The room for results of float64.
pub fn results<'s>(view: &'s mut ViewMut<'_>) -> &'s mut [f64] {
    match &mut view.data {
        SliceMut::F64(s) => s,
        _ => panic!("these operators give float64"),
    }
}

pub fn apply<const N: usize>(op: impl Operator, args: [&Variable; N]) -> Result<Variable> {
    Variable::apply(OpRef::new(op), &args.map(Clone::clone))
}

/// Numbers rounded down to indices.
#[derive(Debug, Clone)]
pub struct Floor;

impl Map1 for Floor {
    fn f<T: Real>(x: T) -> T {
        x
    }
}

impl Operator for Floor {
    fn name(&self) -> &str {
        "floor"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(DType::U32, &args[0].shape))
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::U32(out) = out.data {
            for (o, x) in out.iter_mut().zip(reals(&args[0])) {
                *o = *x as u32;
            }
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        // There is none for indices; asking for it would panic.
        Some(Kernel::one::<Self>(dtype))
    }
}
