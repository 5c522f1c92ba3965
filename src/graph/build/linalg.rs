//! Linear algebra on boxed variables: what an operator packs into one array taken apart, vectors
//! as columns, and wide matrices by way of their transposes. As in [`super`], float32 and
//! float64 meet in float64, and all errors name the operator and the shapes that do not fit;
//! where a matrix has no such decomposition, or there is none, they are [`Error::LinAlg`].

use super::{apply, concatenate, expand_dims, promote, slice, squeeze, unary};
use crate::array::{Shape, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self, OpRef, SliceItem};

/// Number of axes, at least two.
fn matrices(name: &str, x: &Variable) -> Result<usize> {
    let ty = x.ty()?;
    if ty.ndim() < 2 {
        return Err(Error::LinAlg(format!(
            "{name}: expected a matrix, or several, got shape {}",
            show_shape(&ty.shape)
        )));
    }
    Ok(ty.ndim())
}

/// Row `at` of matrices, or the rows from `start` to `stop`.
fn rows(x: &Variable, item: SliceItem) -> Result<Variable> {
    let all = SliceItem::Range {
        start: None,
        stop: None,
        step: 1,
    };
    let mut items = vec![all; x.ty()?.ndim() - 2];
    items.push(item);
    slice(x, items)
}

fn between(start: Option<i64>, stop: Option<i64>) -> SliceItem {
    SliceItem::Range {
        start,
        stop,
        step: 1,
    }
}

/// As many rows as `like` has, and the others.
fn halves(x: &Variable, like: &Variable) -> Result<[Variable; 2]> {
    let part = |rest| {
        let args = [x.clone(), like.clone()];
        Variable::apply(OpRef::new(rules::Rows { rest }), &args)
    };
    Ok([part(false)?, part(true)?])
}

/// The transposes of matrices.
///
/// # Errors
/// See the [module documentation](self).
pub fn matrix_transpose(x: &Variable) -> Result<Variable> {
    let n = matrices("matrix_transpose", x)?;
    let mut axes: Shape = (0..n).collect();
    axes.swap(n - 2, n - 1);
    apply(rules::Transpose { axes }, &[x])
}

/// The inverse of matrices.
///
/// # Errors
/// See the [module documentation](self).
pub fn inv(x: &Variable) -> Result<Variable> {
    apply(
        rules::Inverse {
            purpose: rules::Purpose::Itself,
        },
        &[x],
    )
}

/// The solution of `a x = b`; `b` is one vector if it has one axis, else matrices.
///
/// # Errors
/// See the [module documentation](self).
pub fn solve(a: &Variable, b: &Variable) -> Result<Variable> {
    let mut args = promote(&[a, b])?;
    let op = OpRef::new(rules::Solve { transpose: false });
    if b.ty()?.ndim() != 1 {
        return Variable::apply(op, &args);
    }
    args[1] = expand_dims(&args[1], &[1])?;
    squeeze(&Variable::apply(op, &args)?, Some(&[-1]))
}

/// The determinant of matrices.
///
/// # Errors
/// See the [module documentation](self).
pub fn det(x: &Variable) -> Result<Variable> {
    unary(&rules::Det, x)
}

/// The sign of the determinant, and the logarithm of its absolute value.
///
/// # Errors
/// See the [module documentation](self).
pub fn slogdet(x: &Variable) -> Result<[Variable; 2]> {
    Ok([unary(&rules::DetSign, x)?, unary(&rules::LogAbsDet, x)?])
}

/// The lower triangular L of `x = L Lᵀ`; the lower triangle of `x` is read.
///
/// # Errors
/// See the [module documentation](self).
pub fn cholesky(x: &Variable) -> Result<Variable> {
    unary(&rules::Cholesky, x)
}

/// The reduced Q and R of matrices.
///
/// # Errors
/// See the [module documentation](self).
pub fn qr(x: &Variable) -> Result<[Variable; 2]> {
    let n = matrices("qr", x)?;
    let shape = x.ty()?.shape;
    if shape[n - 2] >= shape[n - 1] {
        return halves(&unary(&rules::Qr, x)?, x);
    }
    // Of a wide matrix that of its first columns, whose Q makes an R of the others too. All
    // as rows of the transpose, so that no length is written into the graph.
    let [first, others] = halves(&matrix_transpose(x)?, x)?;
    let first = matrix_transpose(&first)?;
    let [q, r] = halves(&unary(&rules::Qr, &first)?, &first)?;
    let product = rules::MatMul {
        transpose_a: true,
        transpose_b: true,
    };
    let right = Variable::apply(OpRef::new(product), &[q.clone(), others])?;
    Ok([q, concatenate(&[r, right], Some(-1))?])
}

/// The eigenvalues, ascending, and as columns the eigenvectors of symmetric matrices; the lower
/// triangle of `x` is read.
///
/// # Errors
/// See the [module documentation](self).
pub fn eigh(x: &Variable) -> Result<[Variable; 2]> {
    let packed = unary(&rules::Eigh, x)?;
    let values = rows(&packed, SliceItem::At(-1))?;
    Ok([values, rows(&packed, between(None, Some(-1)))?])
}

/// The reduced U, s and Vᵀ of `x = U diag(s) Vᵀ`, with the singular values s descending.
///
/// # Errors
/// See the [module documentation](self).
pub fn svd(x: &Variable) -> Result<[Variable; 3]> {
    let packed = unary(&rules::Svd, x)?;
    let values = rows(&packed, SliceItem::At(0))?;
    let [u, v] = halves(&rows(&packed, between(Some(1), None))?, x)?;
    Ok([u, values, matrix_transpose(&v)?])
}

/// The pseudo-inverse of matrices. Singular values that are not above `rcond` times the largest
/// count as zero.
///
/// # Errors
/// See the [module documentation](self).
pub fn pinv(x: &Variable, rcond: f64) -> Result<Variable> {
    apply(rules::Pinv { rcond }, &[x])
}
