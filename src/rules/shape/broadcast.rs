//! Elements repeated, as NumPy broadcasts them. The transpose is [`SumTo`](crate::rules::SumTo).

use crate::array::{
    Broadcast, Shape, Type, Typed, View, ViewMut, broadcast, element_count, show_shape, with_real,
};
use crate::error::{Error, Result};
use crate::rules::{Argument, Case, Entry, Form, OpRef, Operator, arity, linear, real};

/// Copies `x` into every place of the broadcast shape `out`.
fn broadcast_into(x: &View<'_>, out: &mut ViewMut<'_>) {
    let walk = Broadcast::new(out.shape, std::iter::once(x.shape));
    let run = walk.run();
    with_real!(out.data.dtype(), T => {
        let (x, out) = (x.real::<T>(), T::slice_mut(&mut out.data));
        walk.for_each(|offsets, number| {
            let out = &mut out[number * run..(number + 1) * run];
            if walk.is_splat(0) {
                out.fill(x[offsets[0]]);
            } else {
                out.copy_from_slice(&x[offsets[0]..offsets[0] + run]);
            }
        });
    });
}

/// Repeats to a given shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BroadcastTo {
    /// The result's shape.
    pub shape: Shape,
}

impl Operator for BroadcastTo {
    linear!("broadcast_to", |_, g, x| g.sum_to(x[0]));

    fn form(&self) -> Form {
        Form::Repeated
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("broadcast_to", args)?;
        real("broadcast_to", x)?;
        element_count(&self.shape)?;
        let joint = broadcast("broadcast_to", [&x.shape[..], &self.shape[..]].into_iter())?;
        if joint != self.shape {
            return Err(Error::Shape(format!(
                "broadcast_to: shape {} does not broadcast to {}",
                show_shape(&x.shape),
                show_shape(&self.shape)
            )));
        }
        Ok(Type::new(x.dtype, &self.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        broadcast_into(&args[0], &mut out);
        Ok(())
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0].size() == out.size()
    }
}

/// Repeats operand 0 to the common shape with operand 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BroadcastLike {
    /// How many trailing axes, those that a product sums over, are never repeated: their lengths
    /// agree, or it is an error.
    pub core: usize,
}

impl Operator for BroadcastLike {
    linear!("broadcast_like", |_, g, x| g.sum_to(x[0]), reads 1);

    fn form(&self) -> Form {
        Form::Repeated
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, like] = arity::<2>("broadcast_like", args)?;
        real("broadcast_like", x)?;
        let core = |ty: &Type| ty.ndim().checked_sub(self.core);
        let agree = match (core(x), core(like)) {
            (Some(a), Some(b)) => x.shape[a..] == like.shape[b..],
            _ => false,
        };
        if !agree {
            return Err(Error::Shape(format!(
                "shapes {} and {} do not fit: their last axes differ in length",
                show_shape(&x.shape),
                show_shape(&like.shape)
            )));
        }
        let shapes = [&x.shape[..], &like.shape[..]];
        Ok(Type {
            dtype: x.dtype,
            shape: broadcast("broadcast_like", shapes.into_iter())?,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        broadcast_into(&args[0], &mut out);
        Ok(())
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0].size() == out.size()
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Shapes, and shapes that broadcast to them.
pub(in crate::rules) const REPEATED: [(&[usize], &[usize]); 6] = [
    (&[2, 3], &[2, 3]),
    (&[2, 3], &[3]),
    (&[2, 3], &[2, 1]),
    (&[4, 2, 3], &[2, 1]),
    (&[4], &[]),
    (&[0, 3], &[3]),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "broadcast_to",
        formula: "x, repeated",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |to: &[usize], shape: &[usize]| {
                let op = BroadcastTo { shape: to.into() };
                Case::new(OpRef::new(op), vec![Argument::real(shape, ANY)])
            };
            vec![case(&[2, 3], &[3]), case(&[2, 3], &[2, 1]), case(&[4], &[])]
        },
    },
    Entry {
        name: "broadcast_like",
        formula: "x, repeated",
        source: "definition",
        reference: None,
        internal: Some("repeats a gradient over the axes that a reduction summed"),
        cases: || {
            let case = |(like, x): (&[usize], &[usize])| {
                let args = vec![Argument::real(x, ANY), Argument::shape_only(like)];
                Case::new(OpRef::Static(&BroadcastLike { core: 0 }), args)
            };
            let core = |like: &[usize], x: &[usize]| {
                let args = vec![Argument::real(x, ANY), Argument::shape_only(like)];
                Case::new(OpRef::Static(&BroadcastLike { core: 1 }), args)
            };
            let mut cases = Vec::from(REPEATED.map(case));
            cases.extend([core(&[4, 2, 3], &[3]), core(&[2, 1], &[1, 1])]);
            cases
        },
    },
];
