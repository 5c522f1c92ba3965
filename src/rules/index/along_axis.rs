//! Operators that act along one axis, lane by lane: running sums, and elements by index.
//!
//! A lane is what an array holds along the axis, everything else fixed. Lanes are interleaved
//! unless the axis is the last, so kernels walk an array as blocks of `length` rows of `inner`
//! elements. No length is part of an operator: each takes whatever length comes.

use crate::array::{Type, Typed, View, ViewMut, show_shape, size, with_real};
use crate::error::{Error, Result};

use super::lookup::{check_indices, index};
use crate::rules::{Argument, Case, Entry, Ex, OpRef, Operator, arity, real, same_dtype};

/// How the lanes of an array lie.
pub(in crate::rules) struct Lanes {
    /// Blocks of lanes.
    pub outer: usize,
    /// Elements of a lane.
    pub length: usize,
    /// Lanes of a block, and the distance of a lane's elements.
    pub inner: usize,
}

impl Lanes {
    pub(in crate::rules) fn new(shape: &[usize], axis: usize) -> Self {
        Lanes {
            outer: size(&shape[..axis]),
            length: shape[axis],
            inner: size(&shape[axis + 1..]),
        }
    }
}

/// Checks that an array has an axis.
pub(in crate::rules) fn has_axis(name: &str, x: &Type, axis: usize) -> Result<()> {
    if axis < x.ndim() {
        return Ok(());
    }
    Err(Error::Shape(format!(
        "{name}: axis {axis} is out of range for shape {}",
        show_shape(&x.shape)
    )))
}

/// Sums of the elements up to each, along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CumSum {
    /// The axis.
    pub axis: usize,
    /// From each element to the end instead of from the start to each.
    pub reverse: bool,
}

impl Operator for CumSum {
    fn name(&self) -> &str {
        "cumsum"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cumsum", args)?;
        real("cumsum", x)?;
        has_axis("cumsum", x, self.axis)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let Lanes { length, inner, .. } = Lanes::new(out.shape, self.axis);
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            out.copy_from_slice(args[0].real::<T>());
            let add = |to: &mut [T], from: &[T]| {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to += from;
                }
            };
            for block in out.chunks_exact_mut((length * inner).max(1)) {
                for k in 1..length {
                    if self.reverse {
                        let (to, from) = block.split_at_mut((length - k) * inner);
                        let start = to.len() - inner;
                        add(&mut to[start..], &from[..inner]);
                    } else {
                        let (from, to) = block.split_at_mut(k * inner);
                        add(&mut to[..inner], &from[(k - 1) * inner..]);
                    }
                }
            }
        });
        Ok(())
    }

    // Each summand counts in all sums from its own on.
    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let op = CumSum {
            axis: self.axis,
            reverse: !self.reverse,
        };
        Some(g.with_new(op, &[]))
    }
}

/// Checks an array and an index of its elements along an axis: their shapes agree elsewhere.
fn along(name: &str, x: &Type, at: &Type, axis: usize) -> Result<()> {
    real(name, x)?;
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
    let block = at.shape[axis] * inner;
    for (place, &k) in indices.iter().enumerate() {
        f(
            (place / block * length + k as usize) * inner + place % inner,
            place,
        );
    }
    Ok(())
}

/// The elements of operand 0 along an axis that operand 1 names, of the same shape elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TakeAlongAxis {
    /// The axis.
    pub axis: usize,
}

impl Operator for TakeAlongAxis {
    fn name(&self) -> &str {
        "take_along_axis"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, at] = arity::<2>("take_along_axis", args)?;
        along("take_along_axis", x, at, self.axis)?;
        Ok(Type::new(x.dtype, &at.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            visit("take_along_axis", args[0].shape, &args[1], self.axis, |from, to| {
                out[to] = x[from];
            })
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let op = AddAlongAxis { axis: self.axis };
        (i == 0).then(|| g.with_new(op, &[x[1], x[0]]))
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
    fn name(&self) -> &str {
        "add_along_axis"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, at, like] = arity::<3>("add_along_axis", args)?;
        same_dtype("add_along_axis", g, like)?;
        along("add_along_axis", like, at, self.axis)?;
        if g.shape != at.shape {
            return Err(Error::Shape(format!(
                "add_along_axis: indices of shape {} do not fit elements of shape {}",
                show_shape(&at.shape),
                show_shape(&g.shape)
            )));
        }
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = out.shape;
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            out.fill(T::default());
            visit("add_along_axis", shape, &args[1], self.axis, |to, from| out[to] += g[from])
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let op = TakeAlongAxis { axis: self.axis };
        (i == 0).then(|| g.with_new(op, &[x[1]]))
    }

    fn reads(&self, i: usize) -> bool {
        i < 2
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
        name: "cumsum",
        formula: "x₁ + … + xₖ for each k",
        source: "definition",
        reference: None,
        cases: || {
            let shapes: [(&[usize], usize); 5] = [
                (&[5], 0),
                (&[3, 4], 0),
                (&[3, 4], 1),
                (&[2, 3, 2], 1),
                (&[0, 3], 1),
            ];
            let case = |&(shape, axis): &(&[usize], usize), reverse| {
                let x = Argument::real(shape, ANY);
                Case::new(OpRef::new(CumSum { axis, reverse }), vec![x])
            };
            let both = [false, true].into_iter();
            both.flat_map(|reverse| shapes.iter().map(move |s| case(s, reverse)))
                .collect()
        },
    },
    Entry {
        name: "take_along_axis",
        formula: "x[…, index, …]",
        source: "definition",
        reference: None,
        cases: || {
            let case = |&(x, at, axis): &(&[usize], &[usize], usize)| {
                let args = vec![Argument::real(x, ANY), Argument::index(at, x[axis])];
                Case::new(OpRef::new(TakeAlongAxis { axis }), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
    Entry {
        name: "add_along_axis",
        formula: "zeros with g added at […, index, …]",
        source: "definition",
        reference: None,
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
