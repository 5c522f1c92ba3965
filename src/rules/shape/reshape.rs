//! Operators that keep the elements in their order, under another shape or the same.

use crate::array::{
    Shape, SliceMut, Type, Typed, View, ViewMut, element_count, show_shape, with_real,
};
use crate::error::{Error, Result};

use crate::rules::reduction::lanes::has_axis;
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, one_further, real};

fn copy(x: &View<'_>, out: &mut ViewMut<'_>) {
    if let SliceMut::U32(out) = &mut out.data {
        return out.copy_from_slice(x.indices());
    }
    with_real!(out.data.dtype(), T => {
        T::slice_mut(&mut out.data).copy_from_slice(x.real::<T>());
    });
}

/// An operator that only renames the axes of operand 0, numbers or indices.
macro_rules! reshaping {
    ($op:ident, $name:literal, |$self:ident, $args:ident| $shape:expr $(, over_batch $over:expr)?) => {
        impl Operator for $op {
            fn name(&self) -> &str {
                $name
            }

            fn key(&self) -> Option<&dyn Key> {
                Some(self)
            }

            fn form(&self) -> crate::rules::Form {
                const { crate::rules::Form::of($name) }
            }

            fn infer(&$self, $args: &[&Type]) -> Result<Type> {
                let shape: Shape = $shape;
                Ok(Type { dtype: $args[0].dtype, shape })
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                copy(&args[0], &mut out);
                Ok(())
            }

            $(fn over_batch(&self) -> Option<OpRef> {
                let over: fn(&$op) -> $op = $over;
                Some(OpRef::new(over(self)))
            })?

            fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
                (i == 0).then(|| g.reshape_like(x[0]))
            }

            fn reads(&self, i: usize) -> bool {
                i == 0
            }

            fn aliases(&self, _args: &[&Type], _out: &Type) -> bool {
                true
            }
        }
    };
}

/// The same array, of either element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity;

/// The same array, through which no gradient passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StopGradient;

/// An operator that gives its operand back.
macro_rules! same {
    ($op:ident, $name:literal, |$g:ident| $rule:expr, |$out:ident| $aliases:expr) => {
        impl Operator for $op {
            fn name(&self) -> &str {
                $name
            }

            fn key(&self) -> Option<&dyn Key> {
                Some(self)
            }

            fn infer(&self, args: &[&Type]) -> Result<Type> {
                let [x] = arity::<1>($name, args)?;
                real($name, x)?;
                Ok(x.clone())
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                copy(&args[0], &mut out);
                Ok(())
            }

            fn vjp<'t>(&self, _i: usize, $g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
                $rule
            }

            fn jvp<'t>(&self, _i: usize, $g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
                $rule
            }

            fn aliases(&self, _args: &[&Type], $out: &Type) -> bool {
                $aliases
            }
        }
    };
}
same!(Identity, "identity", |g| Some(g), |_out| true);
// Where a number stands for its copy, the copy's derivative is the number's.
same!(StopGradient, "stop_gradient", |_g| None, |out| out.ndim()
    > 0);

/// The same elements in another shape; one length may be left open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reshape {
    /// Lengths of the new axes; `None` is inferred from the rest.
    pub shape: Vec<Option<usize>>,
}

impl Reshape {
    fn resolve(&self, x: &Type) -> Result<Shape> {
        let known: Shape = self.shape.iter().flatten().copied().collect();
        let open = self.shape.len() - known.len();
        let fixed = element_count(&known)?;
        let fail = || {
            let length = |n: &Option<usize>| n.map_or("-1".into(), |n| n.to_string());
            let parts: Vec<String> = self.shape.iter().map(length).collect();
            let comma = if parts.len() == 1 { "," } else { "" };
            Error::Shape(format!(
                "reshape: an array of shape {} does not fit shape ({}{comma})",
                show_shape(&x.shape),
                parts.join(", ")
            ))
        };
        let size = element_count(&x.shape)?;
        let rest = match open {
            0 if fixed == size => 0,
            1 if fixed != 0 && size % fixed == 0 => size / fixed,
            _ => return Err(fail()),
        };
        Ok(self.shape.iter().map(|n| n.unwrap_or(rest)).collect())
    }
}
reshaping!(Reshape, "reshape", |self, args| {
    let [x] = arity::<1>("reshape", args)?;
    self.resolve(x)?
});

/// Operand 0's elements in the shape of operand 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReshapeLike;
reshaping!(ReshapeLike, "reshape_like", |self, args| {
    let [x, like] = arity::<2>("reshape_like", args)?;
    if x.size() != like.size() {
        return Err(Error::Shape(format!(
            "reshape_like: shapes {} and {} differ in size",
            show_shape(&x.shape),
            show_shape(&like.shape)
        )));
    }
    like.shape.clone()
});

/// Operand 0, which has to have the shape of operand 1: what an operator in place gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShapedLike;
reshaping!(ShapedLike, "shaped_like", |self, args| {
    let [x, like] = arity::<2>("shaped_like", args)?;
    if x.shape != like.shape {
        return Err(Error::Shape(format!(
            "an array of shape {} cannot hold a result of shape {}",
            show_shape(&like.shape),
            show_shape(&x.shape)
        )));
    }
    like.shape.clone()
});

/// Inserts axes of length 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExpandDims {
    /// Where they stand in the result, ascending.
    pub axes: Shape,
}
reshaping!(
    ExpandDims,
    "expand_dims",
    |self, args| {
        let [x] = arity::<1>("expand_dims", args)?;
        let ndim = x.ndim() + self.axes.len();
        let mut rest = x.shape.iter();
        let pick = |i| {
            if self.axes.contains(&i) {
                Some(1)
            } else {
                rest.next().copied()
            }
        };
        let shape: Option<Shape> = (0..ndim).map(pick).collect();
        shape.ok_or_else(|| {
            Error::Shape(format!(
                "expand_dims: axes {} do not fit shape {}",
                show_shape(&self.axes),
                show_shape(&x.shape)
            ))
        })?
    },
    over_batch
        | op
        | ExpandDims {
            axes: one_further(&op.axes)
        }
);

/// Removes axes of length 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Squeeze {
    /// Which ones, ascending.
    pub axes: Shape,
}
reshaping!(
    Squeeze,
    "squeeze",
    |self, args| {
        let [x] = arity::<1>("squeeze", args)?;
        if let Some(axis) = self.axes.iter().find(|&&a| x.shape.get(a) != Some(&1)) {
            return Err(Error::Shape(format!(
                "squeeze: axis {axis} of shape {} does not have length 1",
                show_shape(&x.shape)
            )));
        }
        let left = x.shape.iter().enumerate();
        left.filter(|(i, _)| !self.axes.contains(i))
            .map(|(_, &n)| n)
            .collect()
    },
    over_batch
        | op
        | Squeeze {
            axes: one_further(&op.axes)
        }
);

/// Several neighbouring axes as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MergeAxes {
    /// The first of them.
    pub start: usize,
    /// How many; where there are none, an axis of length 1 comes in.
    pub count: usize,
}
reshaping!(MergeAxes, "merge_axes", |self, args| {
    let [x] = arity::<1>("merge_axes", args)?;
    let stop = self.start.saturating_add(self.count);
    let Some(merged) = x.shape.get(self.start..stop) else {
        return Err(Error::Shape(format!(
            "merge_axes: shape {} has no axes {} to {stop}",
            show_shape(&x.shape),
            self.start
        )));
    };
    let mut shape = Shape::from_slice(&x.shape[..self.start]);
    shape.push(element_count(merged)?);
    shape.extend_from_slice(&x.shape[stop..]);
    element_count(&shape)?;
    shape
});

/// One axis as several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SplitAxis {
    /// The axis.
    pub axis: usize,
    /// Their lengths; one may be left open.
    pub lengths: Vec<Option<usize>>,
}
reshaping!(SplitAxis, "split_axis", |self, args| {
    let [x] = arity::<1>("split_axis", args)?;
    has_axis("split_axis", x, self.axis)?;
    let split = Reshape {
        shape: self.lengths.clone(),
    };
    let lengths = split.resolve(&Type::new(x.dtype, &x.shape[self.axis..=self.axis]))?;
    let mut shape = Shape::from_slice(&x.shape[..self.axis]);
    shape.extend(lengths);
    shape.extend_from_slice(&x.shape[self.axis + 1..]);
    element_count(&shape)?;
    shape
});

/// Operand 0 as it is, refused if its axes have other lengths: for what is computed from
/// lengths, in a graph or program that is then given a longer input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FixedLengths {
    /// What needs them, for messages.
    pub by: String,
    /// The length of each axis; `None` where any will do.
    pub lengths: Vec<Option<usize>>,
}
reshaping!(FixedLengths, "fixed_lengths", |self, args| {
    let [x] = arity::<1>("fixed_lengths", args)?;
    let fits = |(n, &found): (&Option<usize>, &usize)| n.is_none_or(|n| n == found);
    if x.ndim() != self.lengths.len() || !self.lengths.iter().zip(&x.shape).all(fits) {
        let length = |n: &Option<usize>| n.map_or("any".into(), |n| n.to_string());
        let lengths: Vec<String> = self.lengths.iter().map(length).collect();
        return Err(Error::Shape(format!(
            "{}: built for an array with axes of lengths ({}), it does not take shape {}",
            self.by,
            lengths.join(", "),
            show_shape(&x.shape)
        )));
    }
    x.shape.clone()
});

/// Operand 0 as it is, refused if one of these axes has length 1: for `squeeze` without axes, in
/// a graph or program whose input then gets that length, which would take an axis from the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LongAxes {
    /// Which ones.
    pub axes: Shape,
}
reshaping!(LongAxes, "long_axes", |self, args| {
    let [x] = arity::<1>("long_axes", args)?;
    if let Some(axis) = self.axes.iter().find(|&&a| x.shape.get(a) == Some(&1)) {
        return Err(Error::Shape(format!(
            "squeeze: built for an array whose axis {axis} stays, it does not take shape {}; say \
             which axes go: squeeze(x, axis)",
            show_shape(&x.shape)
        )));
    }
    x.shape.clone()
});

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

fn one(op: impl Operator, shape: &[usize]) -> Case {
    Case::new(OpRef::new(op), vec![Argument::real(shape, ANY)])
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "identity",
        formula: "x",
        source: "definition",
        reference: None,
        internal: Some("stands for an argument by which a function is differentiated"),
        cases: || vec![one(Identity, &[2, 3]), one(Identity, &[])],
    },
    Entry {
        name: "stop_gradient",
        formula: "x, of which no gradient is taken",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            // Numbers that the tests do not move: a difference would not be the gradient.
            let held = Argument::real(&[2, 3], &[(0.5, 0.5), (-1.5, -1.5)]);
            vec![Case::new(OpRef::Static(&StopGradient), vec![held])]
        },
    },
    Entry {
        name: "reshape",
        formula: "x in another shape",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let to = |shape: &[Option<usize>]| Reshape {
                shape: shape.into(),
            };
            vec![
                one(to(&[Some(6)]), &[2, 3]),
                one(to(&[Some(3), None]), &[2, 3]),
                one(to(&[]), &[1, 1]),
                one(to(&[Some(0), Some(5)]), &[3, 0]),
            ]
        },
    },
    Entry {
        name: "reshape_like",
        formula: "x in the shape of another",
        source: "definition",
        reference: None,
        internal: Some("gives a gradient the shape of the operand"),
        cases: || {
            let args = vec![Argument::real(&[2, 3], ANY), Argument::shape_only(&[3, 2])];
            vec![Case::new(OpRef::Static(&ReshapeLike), args)]
        },
    },
    Entry {
        name: "shaped_like",
        formula: "x, if it has the shape of another",
        source: "definition",
        reference: None,
        internal: Some("compares the shapes where an array is written to"),
        cases: || {
            let args = vec![Argument::real(&[2, 3], ANY), Argument::shape_only(&[2, 3])];
            vec![Case::new(OpRef::Static(&ShapedLike), args)]
        },
    },
    Entry {
        name: "expand_dims",
        formula: "x with axes of length 1",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let at = |axes: &[usize]| ExpandDims { axes: axes.into() };
            vec![one(at(&[0, 2]), &[3]), one(at(&[0]), &[])]
        },
    },
    Entry {
        name: "squeeze",
        formula: "x without axes of length 1",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let at = |axes: &[usize]| Squeeze { axes: axes.into() };
            vec![one(at(&[0, 2]), &[1, 3, 1]), one(at(&[0]), &[1])]
        },
    },
    Entry {
        name: "merge_axes",
        formula: "x, several axes as one",
        source: "definition",
        reference: None,
        internal: Some("several axes as one, for what computes on one"),
        cases: || {
            let at = |start, count| MergeAxes { start, count };
            vec![
                one(at(1, 2), &[2, 3, 2]),
                one(at(0, 3), &[2, 1, 2]),
                one(at(1, 0), &[2, 3]),
                one(at(0, 2), &[3, 0]),
            ]
        },
    },
    Entry {
        name: "split_axis",
        formula: "x, one axis as several",
        source: "definition",
        reference: None,
        internal: Some("the axes that merge_axes merged"),
        cases: || {
            let at = |axis, lengths: &[Option<usize>]| SplitAxis {
                axis,
                lengths: lengths.into(),
            };
            vec![
                one(at(1, &[Some(3), None]), &[2, 6]),
                one(at(0, &[Some(2), Some(2)]), &[4, 3]),
                one(at(1, &[]), &[2, 1]),
            ]
        },
    },
    Entry {
        name: "fixed_lengths",
        formula: "x, of this shape",
        source: "definition",
        reference: None,
        internal: Some("refuses other lengths where something was computed from lengths"),
        cases: || {
            let to = |lengths: &[Option<usize>]| FixedLengths {
                by: "roll".into(),
                lengths: lengths.into(),
            };
            vec![one(to(&[Some(2), None]), &[2, 3]), one(to(&[]), &[])]
        },
    },
    Entry {
        name: "long_axes",
        formula: "x, of lengths other than 1",
        source: "definition",
        reference: None,
        internal: Some("refuses length 1 where squeeze would take an axis more"),
        cases: || {
            let op = LongAxes {
                axes: Shape::from_slice(&[0, 2]),
            };
            vec![one(op, &[2, 1, 3])]
        },
    },
];
