//! Elements by index along one axis, lane by lane, and their transpose.
//!
//! No length is part of an operator: each takes whatever length comes.

use crate::array::{SliceMut, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::rules::reduction::lanes::{Lanes, has_axis};
use crate::rules::{
    Argument, Case, Entry, OpRef, Operator, Scatter, arity, linear, real, same_dtype, same_shape,
};

use super::accumulate::zero;
use super::lookup::{check_indices, index};

/// Checks an array and an index of its elements along an axis: their shapes agree elsewhere.
fn along(name: &str, x: &Type, at: &Type, axis: usize) -> Result<()> {
    index(name, at)?;
    has_axis(name, x, axis)?;
    let differs = |k: usize| k != axis && x.shape[k] != at.shape[k];
    if x.ndim() != at.ndim() || (0..x.ndim()).any(differs) {
        return Err(Error::Shape(format!(
            "{name}: indices of shape {} do not fit an array of shape {} along axis {axis}",
            show_shape(&at.shape),
            show_shape(&x.shape)
        )));
    }
    Ok(())
}

/// For each index, the places of the element that it names and of its own, as
/// `f(element, place)`.
///
/// # Errors
/// [`Error::Index`] if an index is out of range.
fn visit(
    name: &str,
    shape: &[usize],
    at: &View<'_>,
    axis: usize,
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    let Lanes { length, inner, .. } = Lanes::new(shape, axis);
    let indices = at.indices();
    check_indices(|| name.into(), indices, length)?;
    let rows = at.shape[axis];
    for (row, indices) in indices.chunks_exact(inner.max(1)).enumerate() {
        let block = row / rows * length;
        for (lane, &k) in indices.iter().enumerate() {
            f((block + k as usize) * inner + lane, row * inner + lane);
        }
    }
    Ok(())
}

/// Copies the elements that indices along an axis name.
fn take<T: Copy>(
    x: &[T],
    out: &mut [T],
    shape: &[usize],
    at: &View<'_>,
    axis: usize,
) -> Result<()> {
    visit("take_along_axis", shape, at, axis, |from, to| {
        out[to] = x[from]
    })
}

/// The elements of operand 0 along an axis that operand 1 names, of the same shape elsewhere. They may be
/// indices themselves: then so is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TakeAlongAxis {
    /// The axis.
    pub axis: usize,
}

impl Operator for TakeAlongAxis {
    linear!("take_along_axis", |op, g, x| g
        .with_new(AddAlongAxis { axis: op.axis }, &[x[1], x[0]]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, at] = arity::<2>("take_along_axis", args)?;
        along("take_along_axis", x, at, self.axis)?;
        Ok(Type::new(x.dtype, &at.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (shape, at) = (args[0].shape, &args[1]);
        if let SliceMut::U32(out) = &mut out.data {
            return take(args[0].indices(), out, shape, at, self.axis);
        }
        with_real!(out.data.dtype(), T => {
            take(args[0].real::<T>(), T::slice_mut(&mut out.data), shape, at, self.axis)
        })
    }
}

/// Zeros shaped as operand 2 with the elements of operand 0 added at the places along an axis
/// that operand 1 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddAlongAxis {
    /// The axis.
    pub axis: usize,
}

impl Operator for AddAlongAxis {
    linear!(
        "add_along_axis",
        |op, g, x| g.with_new(TakeAlongAxis { axis: op.axis }, &[x[1]]),
        reads 2
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, at, like] = arity::<3>("add_along_axis", args)?;
        real("add_along_axis", like)?;
        same_dtype("add_along_axis", g, like)?;
        along("add_along_axis", like, at, self.axis)?;
        same_shape("add_along_axis", &at.shape, &g.shape)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for AddAlongAxis {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = out.shape;
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            visit("add_along_axis", shape, &args[1], self.axis, |to, from| out[to] += g[from])
        })
    }

    fn like(&self) -> Option<usize> {
        Some(2)
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// The shapes of an array and of an index, and the axis.
const SHAPES: &[(&[usize], &[usize], usize)] = &[
    (&[4], &[6], 0),
    (&[2, 4], &[2, 3], 1),
    (&[4, 2], &[3, 2], 0),
    (&[2, 3, 2], &[2, 4, 2], 1),
    (&[3, 2], &[0, 2], 0),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "take_along_axis",
        formula: "x[…, index, …]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |&(x, at, axis): &(&[usize], &[usize], usize)| {
                let args = vec![Argument::real(x, ANY), Argument::index(at, x[axis])];
                Case::new(OpRef::new(TakeAlongAxis { axis }), args)
            };
            let mut cases: Vec<Case> = SHAPES.iter().map(case).collect();
            // An array of indices.
            let args = vec![Argument::index(&[2, 4], 7), Argument::index(&[2, 3], 4)];
            cases.push(Case::new(OpRef::new(TakeAlongAxis { axis: 1 }), args));
            cases
        },
    },
    Entry {
        name: "add_along_axis",
        formula: "zeros with g added at […, index, …]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of take_along_axis"),
        cases: || {
            let case = |&(x, at, axis): &(&[usize], &[usize], usize)| {
                let args = vec![
                    Argument::real(at, ANY),
                    Argument::index(at, x[axis]),
                    Argument::shape_only(x),
                ];
                Case::new(OpRef::new(AddAlongAxis { axis }), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
];
