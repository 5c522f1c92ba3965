//! More functions of boxed variables: elements selected, replaced, ordered and accumulated.
//!
//! As in [`build`], they compose operators and hold no rule. What is computed from
//! a length goes through [`fixed`], so that a graph or program whose input then gets another
//! length fails and does not compute something else.
//!
//! All of them fail with [`Error::Shape`], [`Error::Type`], [`Error::Value`] or
//! [`Error::Index`], naming the operator and the shapes or types that do not fit.

use super::{Constant, Kind, Variable, build};
use crate::array::{Array, DType, Dense, Shape, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::rules::{self, BroadcastLike, OpRef, Operator, ReshapeLike, SliceItem};

/// Applies an operator with attributes.
fn apply(op: impl Operator, args: &[&Variable]) -> Result<Variable> {
    let args: Vec<Variable> = args.iter().map(|&x| x.clone()).collect();
    Variable::apply(OpRef::new(op), &args)
}

fn axis_of(name: &str, x: &Variable, axis: i64) -> Result<usize> {
    normalize_axis(name, axis, x.ty()?.ndim())
}

/// Sums of the elements up to each, along an axis.
///
/// # Errors
/// See the [module documentation](self).
pub fn cumsum(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("cumsum", x, axis)?;
    let reverse = false;
    apply(rules::CumSum { axis, reverse }, &[x])
}

/// The indices that sort `x` along an axis; equal elements keep their order, NaN comes last.
///
/// # Errors
/// See the [module documentation](self).
pub fn argsort(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("argsort", x, axis)?;
    apply(rules::ArgSort { axis }, &[x])
}

/// The index of the largest element along an axis, the first if there are several.
///
/// # Errors
/// See the [module documentation](self).
pub fn argmax(x: &Variable, axis: i64, keepdims: bool) -> Result<Variable> {
    let axis = axis_of("argmax", x, axis)?;
    apply(rules::ArgMax { axis, keepdims }, &[x])
}

/// The index of the smallest element along an axis, the first if there are several.
///
/// # Errors
/// See the [module documentation](self).
pub fn argmin(x: &Variable, axis: i64, keepdims: bool) -> Result<Variable> {
    let axis = axis_of("argmin", x, axis)?;
    apply(rules::ArgMin { axis, keepdims }, &[x])
}

/// The elements of `x` along an axis that `index` names; it has the shape of `x` elsewhere.
///
/// # Errors
/// See the [module documentation](self).
pub fn take_along_axis(x: &Variable, index: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("take_along_axis", x, axis)?;
    apply(rules::TakeAlongAxis { axis }, &[x, index])
}

/// The elements of `x` at these places, counted in C order.
///
/// # Errors
/// See the [module documentation](self).
pub fn take_flat(x: &Variable, places: Dense<u32>) -> Result<Variable> {
    let shape = x.ty()?.shape;
    let places = Constant::new(places).boxed();
    apply(rules::TakeFlat { shape }, &[x, &places])
}

/// `x` with elements of another floating-point type.
///
/// # Errors
/// See the [module documentation](self).
pub fn cast(x: &Variable, dtype: DType) -> Result<Variable> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    apply(rules::Cast { dtype }, &[x])
}

/// `values` without leading axes of length 1 beyond `ndim`, as an assignment drops them, and of
/// the element type of `x`.
fn assigned(x: &Variable, values: &Variable, ndim: usize) -> Result<Variable> {
    let values = cast(values, x.dtype())?;
    let shape = values.ty()?.shape;
    let ones = shape.iter().take_while(|&&n| n == 1).count();
    match ones.min(shape.len().saturating_sub(ndim)) {
        0 => Ok(values),
        extra => {
            let axes: Shape = (0..extra).collect();
            apply(rules::Squeeze { axes }, &[&values])
        }
    }
}

/// `x` with the elements at these places replaced by `values`, which broadcast to the places'
/// shape. Where a place is there twice, the last counts.
///
/// # Errors
/// See the [module documentation](self).
pub fn replace(x: &Variable, places: &Dense<u32>, values: &Variable) -> Result<Variable> {
    let mut values = assigned(x, values, places.shape().len())?;
    if values.ty()?.shape[..] != *places.shape() {
        let shape = places.shape().into();
        values = apply(rules::BroadcastTo { shape }, &[&values])?;
    }
    let ty = x.ty()?;
    let mut sources = Dense::<u32>::zeros(&ty.shape)?;
    let room = sources.make_mut();
    rules::check_indices(|| "replace".into(), places.as_slice(), room.len())?;
    for (k, &place) in places.as_slice().iter().enumerate() {
        room[place as usize] = k as u32 + 1;
    }
    let sources = Constant::new(sources).boxed();
    Variable::apply(
        OpRef::Static(&rules::Replace),
        &[x.clone(), values, sources],
    )
}

/// `x` with a basic slice replaced by `values`, which broadcast to the slice's shape.
///
/// # Errors
/// See the [module documentation](self).
pub fn slice_replace(x: &Variable, items: Vec<SliceItem>, values: &Variable) -> Result<Variable> {
    let take = rules::Take { items };
    let ty = take.infer(&[&x.ty()?])?;
    let mut values = assigned(x, values, ty.ndim())?;
    if values.ty()?.shape != ty.shape {
        // Like the slice, whatever length it has one day.
        let slice = apply(take.clone(), &[x])?;
        let args = [values, slice];
        values = Variable::apply(OpRef::Static(&BroadcastLike), &args)?;
    }
    let items = take.items;
    apply(rules::SliceReplace { items }, &[x, &values])
}

/// `x`, which may not get other lengths along these axes later; `by` says in messages what
/// needs them.
///
/// # Errors
/// See the [module documentation](self).
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

/// `count` neighbouring axes as one.
///
/// # Errors
/// See the [module documentation](self).
pub fn merge_axes(x: &Variable, start: usize, count: usize) -> Result<Variable> {
    apply(rules::MergeAxes { start, count }, &[x])
}

/// One axis as several; one length may be -1, to be inferred.
///
/// # Errors
/// See the [module documentation](self).
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

/// The elements of `x` in the shape of `like`, whatever that will be.
///
/// # Errors
/// See the [module documentation](self).
pub fn reshape_like(x: &Variable, like: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&ReshapeLike), &[x.clone(), like.clone()])
}

/// `x` repeated along the axes in which `like` is longer, whatever lengths they will have.
///
/// # Errors
/// See the [module documentation](self).
pub fn broadcast_like(x: &Variable, like: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&BroadcastLike), &[x.clone(), like.clone()])
}

/// The number of elements along axes, whatever it will be.
///
/// # Errors
/// See the [module documentation](self).
pub fn count(x: &Variable, axes: &[i64]) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let axes = axes.iter().map(|&a| normalize_axis("count", a, ndim));
    let axes = axes.collect::<Result<_>>()?;
    apply(rules::CountLike { axes }, &[x])
}

/// Whether the value of a node can change: something that it depends on can be assigned.
pub fn settable(x: &Variable) -> bool {
    let assigned = |node: &Variable| {
        matches!(
            node.kind(),
            Kind::Input(..) | Kind::Parameter(_) | Kind::Variable(..)
        )
    };
    x.topological().iter().any(assigned)
}

/// Operators whose results are zeros and ones that stand for false and true.
const LOGICAL: &[&str] = &[
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
];

/// Whether a node is the result of a comparison or of a logical operator.
pub fn is_mask(x: &Variable) -> bool {
    match x.kind() {
        Kind::Operation(op) if op.name() == "sub" => {
            // `not_equal` is one minus `equal`.
            let parents = x.parents();
            matches!(parents[0].kind(), Kind::Constant)
                && parents[0].item().is_ok_and(|one| one == 1.0)
                && matches!(parents[1].kind(), Kind::Operation(op) if op.name() == "equal")
        }
        Kind::Operation(op) => LOGICAL.contains(&op.name()),
        _ => false,
    }
}

/// `x` with one number in the place of the elements where a mask holds; the mask may lack the
/// last axes.
///
/// # Errors
/// See the [module documentation](self).
pub fn replace_where(x: &Variable, mask: &Variable, number: &Variable) -> Result<Variable> {
    let (ty, shape) = (x.ty()?, mask.ty()?.shape);
    if !ty.shape.starts_with(&shape) {
        return Err(Error::Index(format!(
            "a mask of shape {} does not fit an array of shape {}",
            show_shape(&shape),
            show_shape(&ty.shape)
        )));
    }
    let axes: Vec<i64> = (shape.len()..ty.ndim()).map(|axis| axis as i64).collect();
    let mask = build::expand_dims(mask, &axes)?;
    build::select(&mask, &assigned(x, number, 0)?, x)
}

/// The value of a mask by which elements are selected, as many as it has ones.
///
/// # Errors
/// [`Error::Type`] if the node is no mask, or one whose value can change.
pub fn constant_mask(mask: &Variable) -> Result<Array> {
    if !is_mask(mask) {
        return Err(Error::Type(format!(
            "an index is integers, or a mask: the result of a comparison; got numbers of type {}",
            mask.dtype()
        )));
    }
    if settable(mask) {
        return Err(Error::Type(
            "x[mask] has as many elements as the mask has ones, which changes when what it was \
             computed from is assigned; use where(mask, x, 0.0), which has the shape of x, or a \
             mask of plain values: x[mask.value != 0]"
                .into(),
        ));
    }
    mask.value()
}
