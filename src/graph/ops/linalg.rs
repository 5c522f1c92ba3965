//! Linear algebra on boxed variables: what an operator packs into one array taken apart, vectors
//! as columns, and wide matrices by way of their transposes. As in [`super`], float32 and
//! float64 meet in float64, and all errors name the operator and the shapes that do not fit.
//!
//! Which of several decompositions it is, signs above all, is said at [`eigh`], [`svd`] and [`qr`].

use super::shape::matrices;
use super::{apply, concatenate, expand_dims, matrix_transpose, promote, slice, squeeze, unary};
use crate::error::Result;
use crate::graph::Variable;
use crate::rules::{self, OpRef, SliceItem};

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
        Variable::apply(OpRef::new(rules::PackedRows { rest }), &args)
    };
    Ok([part(false)?, part(true)?])
}

/// The inverse of matrices.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
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
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
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
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn det(x: &Variable) -> Result<Variable> {
    unary(&rules::Det, x)
}

/// The sign of the determinant, and the logarithm of its absolute value.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn slogdet(x: &Variable) -> Result<[Variable; 2]> {
    Ok([unary(&rules::DetSign, x)?, unary(&rules::LogAbsDet, x)?])
}

/// The lower triangular L of `x = L Lᵀ`; the lower triangle of `x` is read.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn cholesky(x: &Variable) -> Result<Variable> {
    unary(&rules::Cholesky, x)
}

/// The reduced Q and R of matrices.
///
/// Signs are Householder's, as in LAPACK: an element of R's diagonal has the sign opposite to that
/// of the element which it takes the place of, unless nothing stood below that.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn qr(x: &Variable) -> Result<[Variable; 2]> {
    qr_by(OpRef::Static(&rules::Qr), x)
}

/// [`qr`] by an operator with the result of [`Qr`](rules::Qr).
pub(crate) fn qr_by(op: OpRef, x: &Variable) -> Result<[Variable; 2]> {
    let n = matrices("qr", x)?;
    let shape = x.ty()?.shape;
    if shape[n - 2] >= shape[n - 1] {
        return halves(&Variable::apply(op, std::slice::from_ref(x))?, x);
    }
    // Of a wide matrix that of its first columns, whose Q makes an R of the others too. All
    // as rows of the transpose, so that no length is written into the graph.
    let [first, others] = halves(&matrix_transpose(x)?, x)?;
    let first = matrix_transpose(&first)?;
    let [q, r] = halves(&Variable::apply(op, std::slice::from_ref(&first))?, &first)?;
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
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn eigh(x: &Variable) -> Result<[Variable; 2]> {
    eigh_by(OpRef::Static(&rules::Eigh), x)
}

/// [`eigh`] by an operator with the result of [`Eigh`](rules::Eigh).
pub(crate) fn eigh_by(op: OpRef, x: &Variable) -> Result<[Variable; 2]> {
    let packed = Variable::apply(op, std::slice::from_ref(x))?;
    let values = rows(&packed, SliceItem::At(-1))?;
    let vectors = rows(&packed, between(None, Some(-1)))?;
    let vectors = distinct(vectors, &values, false)?;
    Ok([values, vectors])
}

/// Vectors, as something that has a derivative only where their values differ.
fn distinct(vectors: Variable, values: &Variable, from_zero: bool) -> Result<Variable> {
    let op = rules::Distinct {
        from_zero,
        check: rules::Check::Derivatives,
    };
    apply(op, &[&vectors, values])
}

/// The reduced U, s and Vᵀ of `x = U diag(s) Vᵀ`, with the singular values s descending.
///
/// The component of largest magnitude of each left vector is positive, the first of those that are
/// as large to rounding.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn svd(x: &Variable) -> Result<[Variable; 3]> {
    svd_by(OpRef::Static(&rules::Svd), x)
}

/// [`svd`] by an operator with the result of [`Svd`](rules::Svd).
pub(crate) fn svd_by(op: OpRef, x: &Variable) -> Result<[Variable; 3]> {
    let packed = Variable::apply(op, std::slice::from_ref(x))?;
    let values = rows(&packed, SliceItem::At(0))?;
    let vectors = halves(&rows(&packed, between(Some(1), None))?, x)?;
    let [u, v] = vectors.map(|vectors| distinct(vectors, &values, true));
    Ok([u?, values, matrix_transpose(&v?)?])
}

/// The pseudo-inverse of matrices. Singular values that are not above `rcond` times the largest
/// count as zero.
///
/// # Errors
/// [`Error::LinAlg`](crate::Error::LinAlg) where a matrix has none, else see the [module documentation](super).
pub fn pinv(x: &Variable, rcond: f64) -> Result<Variable> {
    apply(rules::Pinv { rcond }, &[x])
}
