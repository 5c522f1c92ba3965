//! Elements in order: positions of sorted, largest and smallest elements, and taking them.

use super::{apply, axis_of};
use crate::error::Result;
use crate::graph::Variable;
use crate::rules::{self};

/// The indices that sort `x` along an axis; equal elements keep their order, NaN comes last.
///
/// # Errors
/// See the [module documentation](super).
pub fn argsort(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("argsort", x, axis)?;
    apply(rules::ArgSort { axis }, &[x])
}

/// The index of the largest element along an axis, the first if there are several.
///
/// # Errors
/// See the [module documentation](super).
pub fn argmax(x: &Variable, axis: i64, keepdims: bool) -> Result<Variable> {
    let axis = axis_of("argmax", x, axis)?;
    apply(rules::ArgMax { axis, keepdims }, &[x])
}

/// The index of the smallest element along an axis, the first if there are several.
///
/// # Errors
/// See the [module documentation](super).
pub fn argmin(x: &Variable, axis: i64, keepdims: bool) -> Result<Variable> {
    let axis = axis_of("argmin", x, axis)?;
    apply(rules::ArgMin { axis, keepdims }, &[x])
}

/// For each element of `x`, how many elements of the vector `sorted`, which rise, come before it, and how many
/// are equal to it if `right`: NumPy's `searchsorted`. NaN comes last.
///
/// # Errors
/// See the [module documentation](super).
pub fn searchsorted(sorted: &Variable, x: &Variable, right: bool) -> Result<Variable> {
    apply(rules::SearchSorted { right }, &[sorted, x])
}

/// The elements of `x` along an axis that `index` names; it has the shape of `x` elsewhere.
///
/// # Errors
/// See the [module documentation](super).
pub fn take_along_axis(x: &Variable, index: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("take_along_axis", x, axis)?;
    apply(rules::TakeAlongAxis { axis }, &[x, index])
}
