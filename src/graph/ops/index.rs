//! Elements chosen and replaced: lookups of rows, slices, places and masks.
//!
//! Places are flat indices (positions in C order), made from any key of NumPy's by whoever calls; a mask
//! stays a mask where one number is assigned, so that it may come from values that change.

use super::shape::{broadcast_like, expand_dims, reshape_like};
use super::{apply, cast, select, truth, unary, whole};
use crate::array::{Array, Dense, Shape, show_shape};
use crate::error::{Error, Result};
use crate::graph::{Constant, Variable};
use crate::rules::{self, BroadcastLike, OpRef, Operator, SliceItem};

/// Rows of `x` at `index`.
///
/// # Errors
/// See the [module documentation](super).
pub fn gather(x: &Variable, index: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&rules::Gather), &[x.clone(), index.clone()])
}

/// The sums of the rows of `x` in bags: bag `b` has the rows `ids[offsets[b]..offsets[b + 1]]`, times
/// their `weights` if there are. With an `index` the bags are those that it names.
///
/// # Errors
/// See the [module documentation](super), and [`Error::Value`] for offsets that do not cut `ids` into
/// bags, of which an index has only those compared that it names.
pub fn bag(
    x: &Variable,
    ids: &Variable,
    offsets: &Variable,
    weights: Option<&Variable>,
    index: Option<&Variable>,
) -> Result<Variable> {
    let (chosen, weighted) = (index.is_some(), weights.is_some());
    let operator = rules::Bag { chosen, weighted };
    let rows;
    let mut operands = Vec::with_capacity(5);
    match index {
        Some(index) => operands.extend([x, index, ids]),
        None => {
            rows = gather(x, ids)?;
            operands.push(&rows);
        }
    }
    operands.push(offsets);
    operands.extend(weights);
    apply(operator, &operands)
}

/// Rows of `x` at the indices `at`. Those at the places `from_end` count from the end of `x`,
/// also when that gets another length: an input below may.
///
/// # Errors
/// See the [module documentation](super), and [`Error::Index`] for a place that `at` does not have.
pub fn rows(x: &Variable, at: Dense<u32>, from_end: &[usize]) -> Result<Variable> {
    let count = at.as_slice().len();
    if let Some(place) = from_end.iter().find(|&&place| place >= count) {
        return Err(Error::Index(format!(
            "rows: from_end has the place {place}, expected less than {count}, the number of indices"
        )));
    }
    if from_end.is_empty() || !x.input_below() {
        return gather(x, &Constant::new(at).boxed());
    }
    // From the end is from the start of the rows in reverse.
    let ty = x.ty()?;
    let n = ty.shape.first().copied().unwrap_or(0);
    let (mut of_start, mut reversed_at) = (at.clone(), Dense::zeros(at.shape())?);
    let mut mask = Dense::<f64>::zeros(at.shape())?;
    for &k in from_end {
        let place = at.as_slice()[k];
        of_start.make_mut()?[k] = 0;
        reversed_at.make_mut()?[k] = (n as u32).wrapping_sub(1).wrapping_sub(place);
        mask.make_mut()?[k] = 1.0;
    }
    let reverse = SliceItem::Range {
        start: None,
        stop: None,
        step: -1,
    };
    let reversed = slice(x, vec![reverse])?;
    let of_end = gather(&reversed, &Constant::new(reversed_at).boxed())?;
    if mask.as_slice().iter().all(|&of_end| of_end == 1.0) {
        return Ok(of_end);
    }
    let of_start = gather(x, &Constant::new(of_start).boxed())?;
    let mask = Array::from(mask).try_to_dtype(ty.dtype)?;
    let inner: Vec<i64> = (at.shape().len()..of_start.ty()?.ndim())
        .map(|axis| axis as i64)
        .collect();
    let mask = expand_dims(&Constant::new(mask).boxed(), &inner)?;
    select(&mask, &of_end, &of_start)
}

/// A basic slice.
///
/// # Errors
/// See the [module documentation](super).
pub fn slice(x: &Variable, items: Vec<SliceItem>) -> Result<Variable> {
    apply(rules::BasicSlice { items }, &[x])
}

/// The elements of `x` at these places, counted in C order.
///
/// # Errors
/// See the [module documentation](super).
pub fn take_flat(x: &Variable, places: Dense<u32>) -> Result<Variable> {
    let shape = x.ty()?.shape;
    let places = Constant::new(places).boxed();
    apply(rules::TakeFlat { shape }, &[x, &places])
}

/// `values` without leading axes of length 1 beyond `ndim`, as an assignment drops them, and of
/// the element type of `x`.
///
/// # Errors
/// See the [module documentation](super).
pub fn assigned(x: &Variable, values: &Variable, ndim: usize) -> Result<Variable> {
    let marked = |values: &Variable| match () {
        () if x.is_boolean() && !values.is_boolean() => truth(values),
        () if x.is_integer() && x.dtype().is_real() => whole(values),
        () => Ok(values.clone()),
    };
    let values = marked(values)?;
    let values = match values.dtype() == x.dtype() {
        true => values,
        // What is cast are numbers, also of booleans of another width and of indices.
        false => marked(&cast(&values, x.dtype())?)?,
    };
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
/// See the [module documentation](super).
pub fn replace(x: &Variable, places: &Dense<u32>, values: &Variable) -> Result<Variable> {
    let mut values = assigned(x, values, places.shape().len())?;
    if places.as_slice().is_empty() && values.ty()?.shape[..] == *places.shape() {
        // What no values are made of may have an infinite derivative, and gets no gradient.
        if !x.input_below() && !values.input_below() {
            return copied(x, x);
        }
        // A program that is run on values with elements refuses them.
        values = without_value(&values)?;
    }
    if values.input_below() || values.ty()?.shape[..] != *places.shape() {
        let shape = places.shape().into();
        values = apply(rules::BroadcastTo { shape }, &[&values])?;
    }
    let ty = x.ty()?;
    let mut sources = Dense::<u32>::zeros(&ty.shape)?;
    let room = sources.make_mut()?;
    rules::check_indices(|| "replace".into(), places.as_slice(), room.len())?;
    for (k, &place) in places.as_slice().iter().enumerate() {
        room[place as usize] = k as u32 + 1;
    }
    let base = match sources.as_slice().contains(&0) {
        true => x.clone(),
        false => without_value(x)?,
    };
    let sources = Constant::new(sources).boxed();
    Variable::apply(OpRef::Static(&rules::Replace), &[base, values, sources])
}

/// A node of its own for `values`, which may be a leaf, where `x` was; `positive` makes no integers of
/// numbers.
fn copied(values: &Variable, x: &Variable) -> Result<Variable> {
    match x.is_discrete() {
        true => unary(&rules::Identity, values),
        false => unary(&rules::Positive, values),
    }
}

/// Zeros like `x`, for what is overwritten as a whole: no gradient goes to the old value, whose
/// derivative may be infinite. Integers and booleans have no gradient, and stay what they are.
fn without_value(x: &Variable) -> Result<Variable> {
    if x.is_discrete() {
        return Ok(x.clone());
    }
    let zero = Constant::new(Array::scalar(x.dtype(), 0.0)).boxed();
    broadcast_like(&zero, x, 0)
}

/// `x` with a basic slice replaced by `values`, which broadcast to the slice's shape.
///
/// # Errors
/// See the [module documentation](super).
pub fn slice_replace(x: &Variable, items: Vec<SliceItem>, values: &Variable) -> Result<Variable> {
    let all = SliceItem::Range {
        start: None,
        stop: None,
        step: 1,
    };
    let is_whole = items.iter().all(|item| *item == all);
    let take = rules::BasicSlice { items };
    let ty = take.infer(&[&x.ty()?])?;
    let mut values = assigned(x, values, ty.ndim())?;
    let follows = x.input_below() || values.input_below() || values.ty()?.shape != ty.shape;
    if follows {
        // Like the slice, whatever length it has one day.
        let slice = apply(take.clone(), &[x])?;
        let args = [values, slice];
        values = Variable::apply(OpRef::Static(&BroadcastLike { core: 0 }), &args)?;
    }
    if is_whole {
        if follows {
            // Values that are longer than `x`, maybe one day, do not fit.
            values = reshape_like(&values, x)?;
        }
        return copied(&values, x);
    }
    let base = match !x.input_below() && ty.size() == x.ty()?.size() {
        true => without_value(x)?,
        false => x.clone(),
    };
    let items = take.items;
    apply(rules::SliceReplace { items }, &[&base, &values])
}

/// `x` with one number in the place of the elements where a mask holds; the mask may lack the
/// last axes.
///
/// # Errors
/// See the [module documentation](super).
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
    let mask = expand_dims(mask, &axes)?;
    select(&mask, &assigned(x, number, 0)?, x)
}

/// The value of a mask by which elements are selected, as many as it has ones.
///
/// # Errors
/// [`Error::Type`] if the node is no mask, or one whose value can change.
pub fn constant_mask(mask: &Variable) -> Result<Array> {
    if !mask.is_boolean() {
        return Err(Error::Type(format!(
            "an index is integers, or a mask: the result of a comparison; got numbers of type {}",
            mask.dtype()
        )));
    }
    if mask.settable() {
        return Err(Error::Type(
            "x[mask] has as many elements as the mask has ones, which changes when what it was \
             computed from is assigned; use where(mask, x, 0.0), which has the shape of x, or a \
             mask of plain values: x[mask.value != 0]"
                .into(),
        ));
    }
    mask.value()
}
