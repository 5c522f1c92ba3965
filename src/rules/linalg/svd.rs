//! Singular values and singular vectors.
//!
//! An operator has one result, so values and vectors are rows of one array. The rules are Townsend
//! 2016, "Differentiating the singular value decomposition"; [`super::spectral`] says what holds
//! where singular values coincide, or are zero.

use crate::array::{Real, Type, View, ViewMut, filled, with_real};
use crate::error::Result;

use super::aligned::{self, aligned};
use super::batch::{SHAPES, each, instead, sides};
use super::dense::transpose;
use super::determinant::not_finite;
use super::factor;
use super::gemm::product;
use super::spectral::{
    antisymmetric, diagonal_matrix, ratio, row, rows, runs, undifferentiated, zeros,
};
use crate::rules::{
    Argument, Case, Diagonal, Entry, Ex, OpRef, Operator, PackedRowsAdjoint, Pairs,
    SymmetricGradientCheck, arity, rows_and_columns, same_dtype, same_shape,
};

/// The k = min(m, n) singular values, descending, as a row; below it the left singular vectors
/// as m × k, below them the right ones as n × k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Svd;

/// The type of the result for matrices.
fn packed(name: &str, x: &Type) -> Result<Type> {
    let [m, n] = sides(name, x)?;
    let rows = m.saturating_add(n).saturating_add(1);
    instead(x, &[rows, m.min(n)])
}

/// Differences and sums of the values, and the values as factors of columns: what is zero to their
/// precision is zero in all of them.
fn divisors(s: Ex<'_>) -> [Ex<'_>; 3] {
    let [gaps, sums] = [false, true].map(|sum| s.with_new(Pairs { sum }, &[]));
    let s = sums.with_new(Diagonal { k: 0 }, &[]) * 0.5;
    [gaps, sums, s.expand_dims(&[s.ndim() - 1])]
}

impl Operator for Svd {
    fn name(&self) -> &str {
        "svd"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("svd", args)?;
        packed("svd", x)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [m, n] = rows_and_columns(args[0].shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            let found = factor::svd(x[0], m, n)?;
            let factor::Singular { values, left, right } = found.ok_or_else(|| not_finite("svd"))?;
            let (first, vectors) = out.split_at_mut(m.min(n));
            let (u, v) = vectors.split_at_mut(left.len());
            first.copy_from_slice(&values);
            transpose(&left, m, u);
            transpose(&right, n, v);
            Ok(())
        }))
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (s, by_s) = (row(y, 0), row(g, 0));
        let by_s = by_s.with_new(SymmetricGradientCheck { zero: true }, &[s]);
        let [u, v] = undifferentiated(rows(y, Some(1), None), s, true).halves(x[0]);
        let [by_u, by_v] = rows(g, Some(1), None).halves(x[0]);
        let (inside_u, inside_v) = (u.matmul(by_u, true, false), v.matmul(by_v, true, false));
        let (turn_u, turn_v) = (antisymmetric(inside_u), antisymmetric(inside_v));
        let [gaps, sums, lengths] = divisors(s);
        // (Aᵢⱼ sⱼ + sᵢ Bᵢⱼ) / (sⱼ² - sᵢ²), by partial fractions.
        let turns = ratio(turn_u + turn_v, gaps) + ratio(turn_u - turn_v, sums);
        let inner = turns * 0.5 + diagonal_matrix(by_s);
        let inside = u.matmul(inner, false, false).matmul(v, false, true);
        let divided = |x: Ex<'t>| ratio(x, lengths.broadcast_like(x));
        let outside_u = divided(by_u - u.matmul(inside_u, false, false));
        let outside_v = divided(by_v - v.matmul(inside_v, false, false));
        Some(inside + outside_u.matmul(v, false, true) + u.matmul(outside_v, false, true))
    }

    fn jvp<'t>(&self, _i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (s, vectors) = (row(y, 0), rows(y, Some(1), None));
        let [u, v] = vectors.halves(x[0]);
        let (t_v, t_u) = (t.matmul(v, false, false), t.matmul(u, true, false));
        let seen = u.matmul(t_v, true, false);
        let of_s = seen.with_new(Diagonal { k: 0 }, &[]);
        let [gaps, sums, lengths] = divisors(s);
        let even = (seen + seen.matrix_transpose()) * 0.5 - diagonal_matrix(of_s);
        let even = ratio(even, gaps);
        let odd = ratio(antisymmetric(seen) * 0.5, sums);
        let divided = |x: Ex<'t>| ratio(x, lengths.broadcast_like(x));
        let outside_u = divided(t_v - u.matmul(seen, false, false));
        let outside_v = divided(t_u - v.matmul(seen, false, true));
        let of_u = u.matmul(even + odd, false, false) + outside_u;
        let of_v = v.matmul(even - odd, false, false) + outside_v;
        let padded = |part: Ex<'t>, rest, whole: Ex<'t>, first: Ex<'t>| {
            part.with_new(PackedRowsAdjoint { rest }, &[whole, first])
        };
        let below = padded(of_u, false, vectors, x[0]) + padded(of_v, true, vectors, x[0]);
        let of_s = of_s.expand_dims(&[of_s.ndim() - 1]);
        Some(padded(of_s, false, y, of_s) + padded(below, true, y, of_s))
    }

    fn realigned<'t>(&self, _i: usize, t: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(y.with(&SvdAligned, &[t]))
    }
}

/// The result of [`Svd`], operand 0, with the vectors of values that coincide turned so that the
/// tangent of the matrix, operand 1, seen in them, has a diagonal symmetric part; where the value is
/// zero left and right vectors are turned each by themselves, so that it is diagonal.
///
/// It does not depend on the tangent where values differ from each other and from zero; elsewhere it
/// is not differentiable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SvdAligned;

/// Vectors, as rows of `length` elements, that complete some to a basis.
fn complement<T: Real>(vectors: &[T], count: usize, length: usize) -> Result<Vec<T>> {
    // The projection on their space has the eigenvalues 0 and 1.
    let mut projection = filled(length * length, T::default())?;
    let sides = [length, count, length];
    product(sides, (vectors, true), (vectors, false), &mut projection)?;
    let found = factor::eigh(&projection, length)?;
    let (_, mut basis) = found.ok_or_else(|| not_finite("svd"))?;
    basis.truncate((length - count) * length);
    Ok(basis)
}

/// Turns the vectors of a run of equal values.
fn turn<T: Real>(t: &[T], u: &mut [T], v: &mut [T], k: usize, [m, n]: [usize; 2]) -> Result<()> {
    let mut half = filled(k * n, T::default())?;
    let mut seen = filled(k * k, T::default())?;
    product([k, m, n], (u, false), (t, false), &mut half)?;
    product([k, n, k], (&half, false), (v, true), &mut seen)?;
    for i in 0..k {
        for j in 0..=i {
            // Descending, as singular values are.
            seen[i * k + j] = -(seen[i * k + j] + seen[j * k + i]) / T::of(2.0);
        }
    }
    let (_, turn) = factor::eigh(&seen, k)?.ok_or_else(|| not_finite("svd"))?;
    for (vectors, length) in [(u, m), (v, n)] {
        let mut turned = filled(k * length, T::default())?;
        let sides = [k, k, length];
        product(sides, (&turn, false), (vectors, false), &mut turned)?;
        vectors.copy_from_slice(&turned);
    }
    Ok(())
}

/// Singular vectors of one matrix aligned, in place.
fn align<T: Real>(t: &[T], [m, n]: [usize; 2], packed: &mut [T]) -> Result<()> {
    let k = m.min(n);
    let (values, vectors) = packed.split_at_mut(k);
    let rank = k - zeros(values);
    let runs = runs(&values[..rank]);
    if runs.len() == k {
        return Ok(());
    }
    let (left, right) = vectors.split_at_mut(m * k);
    let (mut u, mut v) = (filled(m * k, T::default())?, filled(n * k, T::default())?);
    transpose(left, k, &mut u);
    transpose(right, k, &mut v);
    for run in runs.into_iter().filter(|run| run.len() > 1) {
        let (u, v) = (
            &mut u[run.start * m..run.end * m],
            &mut v[run.start * n..run.end * n],
        );
        turn(t, u, v, run.len(), [m, n])?;
    }
    if rank < k {
        let bases = [
            complement(&u[..rank * m], rank, m)?,
            complement(&v[..rank * n], rank, n)?,
        ];
        let [p, q] = [m - rank, n - rank];
        let mut half = filled(p * n, T::default())?;
        let mut seen = filled(p * q, T::default())?;
        product([p, m, n], (&bases[0], false), (t, false), &mut half)?;
        product([p, n, q], (&half, false), (&bases[1], true), &mut seen)?;
        let turns = factor::svd(&seen, p, q)?.ok_or_else(|| not_finite("svd"))?;
        let sides = [k - rank, p, m];
        product(
            sides,
            (&turns.left, false),
            (&bases[0], false),
            &mut u[rank * m..],
        )?;
        let sides = [k - rank, q, n];
        product(
            sides,
            (&turns.right, false),
            (&bases[1], false),
            &mut v[rank * n..],
        )?;
    }
    transpose(&u, m, left);
    transpose(&v, n, right);
    Ok(())
}

impl Operator for SvdAligned {
    aligned!("svd_aligned", values: 0, from_zero: true);

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, t] = arity::<2>("svd_aligned", args)?;
        same_dtype("svd_aligned", x, t)?;
        // Shapes may be guesses; the rule looks for rows, which the decomposition has to have.
        sides("svd_aligned", x)?;
        same_shape("svd_aligned", &packed("svd_aligned", t)?.shape, &x.shape)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let sides = rows_and_columns(args[1].shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            out.copy_from_slice(x[0]);
            align(x[1], sides, out)
        }))
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "svd",
        formula: "s, U and V, with x = U diag(s) Vᵀ",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |x| Case::new(OpRef::Static(&Svd), vec![Argument::dominant(x)]);
            SHAPES.map(case).into()
        },
    },
    Entry {
        name: "svd_aligned",
        formula: "s, U and V, with Uᵀ t V diagonal where values coincide",
        source: "definition",
        reference: None,
        internal: Some("singular vectors that have a derivative in a given direction"),
        cases: || {
            aligned::cases(
                &SvdAligned,
                &[
                    (&[6, 2], &[2, 3]),
                    (&[2, 4, 1], &[2, 2, 1]),
                    (&[1, 0], &[0, 0]),
                ],
            )
        },
    },
];
