//! Eigenvalues and eigenvectors of symmetric matrices.
//!
//! An operator has one result, so values and vectors are rows of one array. The rules are Giles
//! 2008, "Collected matrix derivative results", section 3.1; [`super::spectral`] says what holds
//! where eigenvalues coincide. As NumPy's function it reads the lower triangle, which has the gradient
//! (see [`super::Cholesky`]).

use crate::array::{Real, Type, View, ViewMut, filled, with_real};
use crate::error::Result;

use super::aligned::{self, aligned};
use super::batch::{each, instead, sides, square};
use super::cholesky::lower_triangle;
use super::dense::transpose;
use super::determinant::not_finite;
use super::factor;
use super::gemm::product;
use super::spectral::{antisymmetric, diagonal_matrix, ratio, row, rows, runs, undifferentiated};
use crate::rules::{
    Argument, Case, Diagonal, Entry, Ex, OpRef, Operator, PackedRowsAdjoint, Pairs,
    SymmetricGradientCheck, Tril, arity, rows_and_columns, same_dtype, same_shape,
};

/// Eigenvectors as columns, and the eigenvalues, ascending, as a last row: (n + 1) × n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Eigh;

/// The symmetric matrices that have these lower triangles.
fn symmetric(x: Ex<'_>) -> Ex<'_> {
    x.with_new(Tril { k: 0 }, &[]) + x.with_new(Tril { k: -1 }, &[]).matrix_transpose()
}

impl Operator for Eigh {
    fn name(&self) -> &str {
        "eigh"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("eigh", args)?;
        let n = square("eigh", x)?;
        instead(x, &[n.saturating_add(1), n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [_, n] = rows_and_columns(out.shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            let found = factor::eigh(x[0], n)?;
            let (values, vectors) = found.ok_or_else(|| not_finite("eigh"))?;
            let (to, last) = out.split_at_mut(n * n);
            transpose(&vectors, n, to);
            last.copy_from_slice(&values);
            Ok(())
        }))
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let w = row(y, -1);
        let v = undifferentiated(rows(y, None, Some(-1)), w, false);
        let (by_v, by_w) = (rows(g, None, Some(-1)), row(g, -1));
        let by_w = by_w.with_new(SymmetricGradientCheck { zero: false }, &[w]);
        let turn = antisymmetric(v.matmul(by_v, true, false)) * 0.5;
        let gaps = w.with_new(Pairs { sum: false }, &[]);
        let inner = ratio(turn, gaps) + diagonal_matrix(by_w);
        let full = v.matmul(inner, false, false).matmul(v, false, true);
        Some(lower_triangle(full))
    }

    fn jvp<'t>(&self, _i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (v, w) = (rows(y, None, Some(-1)), row(y, -1));
        let seen = v.matmul(symmetric(t), true, false).matmul(v, false, false);
        let of_w = seen.with_new(Diagonal { k: 0 }, &[]);
        let gaps = w.with_new(Pairs { sum: false }, &[]);
        let turn = ratio(seen - diagonal_matrix(of_w), gaps);
        let of_v = v.matmul(turn, false, false);
        let of_w = of_w.expand_dims(&[of_w.ndim() - 1]);
        let padded = |part: Ex<'t>, rest| part.with_new(PackedRowsAdjoint { rest }, &[y, x[0]]);
        Some(padded(of_v, false) + padded(of_w, true))
    }

    fn realigned<'t>(&self, _i: usize, t: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(y.with(&EighAligned, &[t]))
    }
}

/// The result of [`Eigh`], operand 0, with the vectors of values that coincide turned so that the
/// tangent of the matrix, operand 1, of which the lower triangle is read, is diagonal in them.
///
/// It does not depend on the tangent where no values coincide; where some do it is not differentiable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EighAligned;

/// Eigenvectors of one matrix aligned, in place.
fn align<T: Real>(t: &[T], n: usize, packed: &mut [T]) -> Result<()> {
    let runs = runs(&packed[n * n..]);
    if runs.len() == n {
        return Ok(());
    }
    let mut full = filled(n * n, T::default())?;
    for i in 0..n {
        for j in 0..=i {
            full[i * n + j] = t[i * n + j];
            full[j * n + i] = t[i * n + j];
        }
    }
    let mut vectors = filled(n * n, T::default())?;
    transpose(&packed[..n * n], n, &mut vectors);
    for run in runs.into_iter().filter(|run| run.len() > 1) {
        let k = run.len();
        let own = &mut vectors[run.start * n..run.end * n];
        let (mut half, mut seen) = (filled(k * n, T::default())?, filled(k * k, T::default())?);
        product([k, n, n], (own, false), (&full, false), &mut half)?;
        product([k, n, k], (&half, false), (own, true), &mut seen)?;
        let (_, turn) = factor::eigh(&seen, k)?.ok_or_else(|| not_finite("eigh"))?;
        product([k, k, n], (&turn, false), (own, false), &mut half)?;
        own.copy_from_slice(&half);
    }
    transpose(&vectors, n, &mut packed[..n * n]);
    Ok(())
}

impl Operator for EighAligned {
    aligned!("eigh_aligned", values: -1, from_zero: false);

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [packed, t] = arity::<2>("eigh_aligned", args)?;
        same_dtype("eigh_aligned", packed, t)?;
        let n = square("eigh_aligned", t)?;
        sides("eigh_aligned", packed)?;
        let expected = instead(t, &[n.saturating_add(1), n])?;
        same_shape("eigh_aligned", &expected.shape, &packed.shape)?;
        Ok(packed.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [_, n] = rows_and_columns(out.shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            out.copy_from_slice(x[0]);
            align(x[1], n, out)
        }))
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "eigh",
        formula: "V and w, with x = V diag(w) Vᵀ",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [&[usize]; 5] = [&[3, 3], &[2, 2, 2], &[1, 1], &[0, 0], &[0, 2, 2]];
            let case = |x| Case::new(OpRef::Static(&Eigh), vec![Argument::dominant(x)]);
            shapes.map(case).into()
        },
    },
    Entry {
        name: "eigh_aligned",
        formula: "V and w, with Vᵀ t V diagonal where values coincide",
        source: "definition",
        reference: None,
        internal: Some("eigenvectors that have a derivative in a given direction"),
        cases: || {
            aligned::cases(
                &EighAligned,
                &[
                    (&[4, 3], &[3, 3]),
                    (&[2, 3, 2], &[2, 2, 2]),
                    (&[1, 0], &[0, 0]),
                ],
            )
        },
    },
];
