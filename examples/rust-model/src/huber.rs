//! Huber's loss (1964), as an operator of our own: `x²/2` near 0, and a line where `|x|` is above 1, so
//! that a rating that is far off pulls no harder than one that is a little off.

use wyrmling::array::{Real, View, ViewMut};
use wyrmling::rules::{Ex, Kernel, Map1, Operator};
use wyrmling::{DType, Error, Result, Type};

/// Huber's loss of each element.
#[derive(Debug, Clone)]
pub struct Huber;

impl Map1 for Huber {
    fn f<T: Real>(x: T) -> T {
        let (size, half) = (x.abs(), T::of(0.5));
        match size <= T::of(1.0) {
            true => half * x * x,
            false => size - half,
        }
    }
}

impl Operator for Huber {
    fn name(&self) -> &str {
        "huber"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        match args[0].dtype.is_real() {
            true => Ok(args[0].clone()),
            false => Err(Error::Type("huber: expected numbers, got indices".into())),
        }
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        Kernel::one::<Self>(out.data.dtype()).apply(&[args[0].data], out.data);
        Ok(())
    }
    // The derivative is x between -1 and 1, and the nearer of those beyond.
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (low, high) = (x[0].constant(-1.0), x[0].constant(1.0));
        Some(g * x[0].maximum(low).minimum(high))
    }
    // It acts on each element alone, so that programs fuse it with its neighbours.
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        Some(Kernel::one::<Self>(dtype))
    }
}
