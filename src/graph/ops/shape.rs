//! The same elements in another shape or order, or repeated.
//!
//! Lengths are NumPy's: one of `-1` is computed, axes count from the end. A shape that is computed
//! from lengths at hand is kept by [`fixed`].

use super::{apply, axes, axis_of, numbers};
use crate::array::{Shape, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self, BroadcastLike, OpRef, ReshapeLike, ShapedLike};

/// Permutes the axes; reverses them if no order is given.
///
/// # Errors
/// See the [module documentation](super).
pub fn transpose(x: &Variable, order: Option<&[i64]>) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let axes: Shape = match order {
        None => (0..ndim).rev().collect(),
        Some(order) => order
            .iter()
            .map(|&a| normalize_axis("transpose", a, ndim))
            .collect::<Result<_>>()?,
    };
    apply(rules::Transpose { axes }, &[x])
}

/// The same elements in another shape; one length may be -1, to be inferred.
///
/// # Errors
/// See the [module documentation](super).
pub fn reshape(x: &Variable, shape: &[i64]) -> Result<Variable> {
    let shape = new_lengths(shape)?;
    apply(rules::Reshape { shape }, &[x])
}

/// The lengths of a new shape; `None` for -1, which is inferred.
pub(in crate::graph) fn new_lengths(shape: &[i64]) -> Result<Vec<Option<usize>>> {
    let length = |&n: &i64| match n {
        -1 => Ok(None),
        n => usize::try_from(n)
            .map(Some)
            .map_err(|_| Error::Value(format!("reshape: a length cannot be {n}"))),
    };
    shape.iter().map(length).collect()
}

/// The elements of `x` in the shape of `like`, whatever that will be.
///
/// # Errors
/// See the [module documentation](super).
pub fn reshape_like(x: &Variable, like: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&ReshapeLike), &[x.clone(), like.clone()])
}

/// `x`, which has to have the shape of `like`, whatever that will be.
///
/// # Errors
/// See the [module documentation](super).
pub fn shaped_like(x: &Variable, like: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&ShapedLike), &[x.clone(), like.clone()])
}

/// Repeats to a given shape.
///
/// # Errors
/// See the [module documentation](super).
pub fn broadcast_to(x: &Variable, shape: &[usize]) -> Result<Variable> {
    let shape = shape.into();
    apply(rules::BroadcastTo { shape }, &[&numbers(x)?])
}

/// `x` repeated along the axes in which `like` is longer, whatever lengths they will have; not along
/// the last `core` axes, of which the lengths must agree.
///
/// # Errors
/// See the [module documentation](super).
pub fn broadcast_like(x: &Variable, like: &Variable, core: usize) -> Result<Variable> {
    apply(BroadcastLike { core }, &[&numbers(x)?, like])
}

/// Removes axes of length 1, all of them if none are given.
///
/// # Errors
/// See the [module documentation](super).
pub fn squeeze(x: &Variable, over: Option<&[i64]>) -> Result<Variable> {
    let ty = x.ty()?;
    if over.is_some() {
        let axes = axes("squeeze", over, ty.ndim())?;
        return apply(rules::Squeeze { axes }, &[x]);
    }
    let (axes, others): (Shape, Shape) = (0..ty.ndim()).partition(|&a| ty.shape[a] == 1);
    if !x.input_below() || others.is_empty() {
        return apply(rules::Squeeze { axes }, &[x]);
    }
    let long = rules::LongAxes { axes: others };
    apply(rules::Squeeze { axes }, &[&apply(long, &[x])?])
}

/// Inserts axes of length 1, at these places of the result.
///
/// # Errors
/// See the [module documentation](super).
pub fn expand_dims(x: &Variable, at: &[i64]) -> Result<Variable> {
    let axes = axes("expand_dims", Some(at), x.ty()?.ndim() + at.len())?;
    apply(rules::ExpandDims { axes }, &[x])
}

/// `count` neighbouring axes as one.
///
/// # Errors
/// See the [module documentation](super).
pub fn merge_axes(x: &Variable, start: usize, count: usize) -> Result<Variable> {
    apply(rules::MergeAxes { start, count }, &[x])
}

/// One axis as several; one length may be -1, to be inferred.
///
/// # Errors
/// See the [module documentation](super).
pub fn split_axis(x: &Variable, axis: i64, lengths: &[i64]) -> Result<Variable> {
    let axis = axis_of("split_axis", x, axis)?;
    let length = |&n: &i64| match n {
        -1 => Ok(None),
        n => usize::try_from(n)
            .map(Some)
            .map_err(|_| Error::Value(format!("split_axis: a length cannot be {n}"))),
    };
    let lengths = lengths.iter().map(length).collect::<Result<_>>()?;
    apply(rules::SplitAxis { axis, lengths }, &[x])
}

/// `x`, which may not get other lengths along these axes later; `by` says in messages what
/// needs them.
///
/// # Errors
/// See the [module documentation](super).
pub fn fixed(x: &Variable, by: &str, axes: &[i64]) -> Result<Variable> {
    let shape = x.ty()?.shape;
    let mut lengths = vec![None; shape.len()];
    for &axis in axes {
        let axis = normalize_axis(by, axis, shape.len())?;
        lengths[axis] = Some(shape[axis]);
    }
    let by = by.to_owned();
    apply(rules::FixedLengths { by, lengths }, &[x])
}

/// Number of axes, at least two.
pub(super) fn matrices(name: &str, x: &Variable) -> Result<usize> {
    let ty = x.ty()?;
    if ty.ndim() < 2 {
        return Err(Error::LinAlg(format!(
            "{name}: expected a matrix, or several, got shape {}",
            show_shape(&ty.shape)
        )));
    }
    Ok(ty.ndim())
}

/// The transposes of matrices.
///
/// # Errors
/// See the [module documentation](super).
pub fn matrix_transpose(x: &Variable) -> Result<Variable> {
    let n = matrices("matrix_transpose", x)?;
    let mut axes: Shape = (0..n).collect();
    axes.swap(n - 2, n - 1);
    apply(rules::Transpose { axes }, &[x])
}
