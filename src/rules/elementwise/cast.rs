//! Conversion between floating-point types.

use crate::array::{DType, Real, Type, Typed, View, ViewMut, with_real};
use crate::error::Result;

use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real};

/// Conversion to another floating-point type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cast {
    /// The result's element type.
    pub dtype: DType,
}

impl Operator for Cast {
    fn name(&self) -> &str {
        "cast"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cast", args)?;
        real("cast", x)?;
        let ty = Type::new(self.dtype, &x.shape);
        real("cast", &ty)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let from = match args[0].data {
            crate::array::Slice::F32(_) => DType::F32,
            _ => DType::F64,
        };
        with_real!(from, S => with_real!(self.dtype, T => {
            let x = args[0].real::<S>();
            for (o, &x) in T::slice_mut(&mut out.data).iter_mut().zip(x) {
                *o = T::of(x.to());
            }
        }));
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with_new(
            Cast {
                dtype: x[0].dtype(),
            },
            &[],
        ))
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0] == out
    }
}

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "cast",
    formula: "x as another floating-point type",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        [DType::F32, DType::F64]
            .map(|dtype| {
                Case::new(
                    OpRef::new(Cast { dtype }),
                    vec![Argument::real(&[2, 3], &[(-2.0, 2.0)])],
                )
            })
            .into()
    },
}];
