//! Conversion to a floating-point type: of another one, or of indices.

use crate::array::{DType, Real, Slice, Type, Typed, View, ViewMut, with_real};
use crate::error::Result;

use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real};

/// Conversion to a floating-point type: of another one, or of indices, of which none has a gradient.
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
        let ty = Type::new(self.dtype, &x.shape);
        real("cast", &ty)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(self.dtype, T => {
            let out = T::slice_mut(&mut out.data);
            match args[0].data {
                Slice::F32(x) => convert(out, x, |x| T::of(x.to())),
                Slice::F64(x) => convert(out, x, T::of),
                Slice::U32(x) => convert(out, x, |x| T::of(f64::from(x))),
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let dtype = x[0].dtype();
        dtype.is_real().then(|| g.with_new(Cast { dtype }, &[]))
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0] == out
    }
}

fn convert<S: Copy, T>(out: &mut [T], x: &[S], one: impl Fn(S) -> T) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o = one(x);
    }
}

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "cast",
    formula: "x as a floating-point type",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let to = |dtype| OpRef::new(Cast { dtype });
        let real = || Argument::real(&[2, 3], &[(-2.0, 2.0)]);
        vec![
            Case::new(to(DType::F32), vec![real()]),
            Case::new(to(DType::F64), vec![real()]),
            Case::new(to(DType::F64), vec![Argument::index(&[4], 7)]),
        ]
    },
}];
