//! Diagonals and triangles, with the arguments of `np.diagonal`, `diag`, `tril` and `triu`.

use super::apply;
use super::shape::{broadcast_like, expand_dims};
use crate::array::{Shape, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self};

/// A vector as the square matrix whose rows are all that vector, of which NumPy takes its triangles; anything else
/// as it is.
fn as_rows(x: &Variable) -> Result<Variable> {
    match x.ty()?.ndim() {
        1 => broadcast_like(x, &expand_dims(x, &[1])?, 0),
        _ => Ok(x.clone()),
    }
}

/// The matrices of the last two axes without what is above diagonal `k`; a vector stands for the square matrix
/// whose rows are all that vector.
///
/// # Errors
/// See the [module documentation](super).
pub fn tril(x: &Variable, k: i64) -> Result<Variable> {
    apply(rules::Tril { k }, &[&as_rows(x)?])
}

/// The matrices of the last two axes without what is below diagonal `k`; a vector stands for the square matrix
/// whose rows are all that vector.
///
/// # Errors
/// See the [module documentation](super).
pub fn triu(x: &Variable, k: i64) -> Result<Variable> {
    apply(rules::Triu { k }, &[&as_rows(x)?])
}

/// Diagonal `k` of the matrices that two axes make, as the last axis.
///
/// # Errors
/// See the [module documentation](super).
pub fn diagonal(x: &Variable, k: i64, axis1: i64, axis2: i64) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let pair = [axis1, axis2].map(|a| normalize_axis("diagonal", a, ndim));
    let [row, column] = pair;
    let (row, column) = (row?, column?);
    if row == column {
        return Err(Error::Value(
            "diagonal: axis1 and axis2 are the same".into(),
        ));
    }
    let others = (0..ndim).filter(|&a| a != row && a != column);
    let axes: Shape = others.chain([row, column]).collect();
    if axes.is_sorted() {
        return apply(rules::Diagonal { k }, &[x]);
    }
    apply(
        rules::Diagonal { k },
        &[&apply(rules::Transpose { axes }, &[x])?],
    )
}

/// NumPy's `diag`: diagonal `k` of a matrix, or the matrix with a vector along it.
///
/// # Errors
/// See the [module documentation](super).
pub fn diag(x: &Variable, k: i64) -> Result<Variable> {
    match x.ty()?.ndim() {
        1 => apply(rules::DiagonalMatrix { k }, &[x]),
        2 => apply(rules::Diagonal { k }, &[x]),
        _ => Err(Error::Shape(format!(
            "diag: expected a vector or a matrix, got shape {}",
            show_shape(&x.ty()?.shape)
        ))),
    }
}
