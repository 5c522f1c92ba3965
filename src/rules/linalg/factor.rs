//! Decompositions of one dense matrix, by the crate `faer`, in double precision.
//!
//! Matrices of single precision are converted on the way in and out. A decomposition is then right to
//! the last bits of single precision, and one copy of the crate's code is linked, not two: a copy is
//! a fiftieth of the wheel. It takes 1.2 to 1.4 times as long as the crate does in single precision,
//! of singular values and eigenvalues twice as long.
//!
//! Cholesky, Householder QR, the singular value decomposition and the eigenvalues of symmetric
//! matrices; [`super::lu`] has LU. Matrices of arguments and results are slices in C order;
//! `faer` works on columns, so they are transposed on the way in and out, which is little beside
//! the decomposition.
//!
//! All of it runs on one thread, and gives the same bits wherever it runs on one machine. Memory is
//! asked for before the work begins, and a lack of it is an [`Error::Memory`]: `faer` would abort.
//! Matrices with NaN or infinite elements, on which an iteration need not end, never reach those
//! algorithms that iterate. Matrices whose largest element is far from 1 are scaled by a power of
//! two, as LAPACK does, so that squares neither overflow nor underflow.
//!
//! Signs, which a decomposition leaves open, follow one convention: of an eigenvector, and of a left
//! singular vector, the component of largest magnitude is positive, the first of those that are as
//! large to rounding. Those of QR are Householder's, as in LAPACK: an element of R's diagonal has the
//! sign opposite to that of the element which it takes the place of, unless nothing stood below that.

use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::{cholesky::llt, evd, householder, qr, svd};
use faer::{Conj, MatMut, MatRef, Par};

use super::dense::{converted, largest, run, scratch, transpose, transposed};
use crate::array::{Real, filled};
use crate::error::{Error, Result};
use crate::order;

/// The power of two by which a matrix is multiplied before it is decomposed, if its largest element
/// is so far from 1 that squares of elements overflow or vanish. `None` if an element is not finite.
fn scale(x: &[f64]) -> Option<f64> {
    let most = largest(x);
    if !most.is_finite() {
        return None;
    }
    // Exponents whose squares are safe, and those that a number can have.
    let (safe, own) = (400, 1000);
    let exponent = if most == 0.0 {
        0
    } else {
        most.log2().floor() as i32
    };
    let power = (-exponent).clamp(-own, own);
    Some(match exponent.abs() > safe {
        true => 2f64.powi(power),
        false => 1.0,
    })
}

/// Writes the lower triangular L of `a = L Lᵀ`, reading the lower triangle of `a`. Whether
/// there is one: if the matrix is not positive definite, the result is not to be used.
pub(super) fn cholesky<T: Real>(a: &[T], n: usize, l: &mut [T]) -> Result<bool> {
    let mut x = transposed(a, n)?;
    let (x, found) = run([n; 3], move || {
        let params = Default::default();
        let needed = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params);
        let mut memory = scratch(needed)?;
        let found = llt::factor::cholesky_in_place(
            MatMut::from_column_major_slice_mut(&mut x, n, n),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        );
        Ok((x, found.is_ok()))
    })?;
    transpose(&x, n, l);
    for (i, row) in l.chunks_exact_mut(n.max(1)).enumerate() {
        row[i + 1..].fill(T::zero());
    }
    Ok(found)
}

/// Writes Q and R of an `m` × `n` matrix, `m >= n`: `q` has its shape, `r` is `n` × `n`.
pub(super) fn qr<T: Real>(a: &[T], m: usize, n: usize, q: &mut [T], r: &mut [T]) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let mut columns = transposed(a, n)?;
    let (columns, x) = run([m, n, n], move || {
        let block = qr::no_pivoting::factor::recommended_block_size::<f64>(m, n);
        let params = Default::default();
        let mut memory = scratch(StackReq::any_of(&[
            qr::no_pivoting::factor::qr_in_place_scratch::<f64>(m, n, block, Par::Seq, params),
            householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
                m, block, n,
            ),
        ]))?;
        let mut coefficients = filled(block * n, 0.0)?;
        qr::no_pivoting::factor::qr_in_place(
            MatMut::from_column_major_slice_mut(&mut columns, m, n),
            MatMut::from_column_major_slice_mut(&mut coefficients, block, n),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        );
        let mut x = units(n, m)?;
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            MatRef::from_column_major_slice(&columns, m, n),
            MatRef::from_column_major_slice(&coefficients, block, n),
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut x, m, n),
            Par::Seq,
            MemStack::new(&mut memory),
        );
        Ok((columns, x))
    })?;
    for (i, row) in r.chunks_exact_mut(n).enumerate() {
        for (j, r) in row.iter_mut().enumerate() {
            *r = if i <= j {
                T::of(columns[j * m + i])
            } else {
                T::zero()
            };
        }
    }
    transpose(&x, m, q);
    Ok(())
}

/// Singular values, descending, and the singular vectors one after the other.
pub(super) struct Singular<T> {
    /// The singular values, k = min(m, n).
    pub(super) values: Vec<T>,
    /// The left vectors, k × m.
    pub(super) left: Vec<T>,
    /// The right vectors, k × n.
    pub(super) right: Vec<T>,
}

/// Turns vectors, and others along with them, so that of each the largest component, or the first
/// of those as large to rounding, is positive.
fn sign(vectors: &mut [f64], length: usize, along: &mut [f64], other: usize) {
    let near = 1.0 - 16.0 * length as f64 * f64::EPSILON;
    for (k, vector) in vectors.chunks_exact_mut(length.max(1)).enumerate() {
        let most = vector
            .iter()
            .fold(0.0, |m: f64, &x| if x.abs() > m { x.abs() } else { m });
        let first = vector.iter().find(|x| x.abs() >= most * near);
        if first.is_some_and(|&x| x < 0.0) {
            vector.iter_mut().for_each(|x| *x = -*x);
            let along = along.get_mut(k * other..(k + 1) * other);
            along.into_iter().flatten().for_each(|x| *x = -*x);
        }
    }
}

/// Puts values in order, and their vectors, given with their length, along with them: what `faer`
/// finds may be out of order by rounding.
fn arrange(
    values: &mut Vec<f64>,
    descending: bool,
    vectors: &mut [(&mut Vec<f64>, usize)],
) -> Result<()> {
    let key = |x: f64| {
        let ascending = order::of_number(x);
        if descending { !ascending } else { ascending }
    };
    if values.is_sorted_by_key(|&x| key(x)) {
        return Ok(());
    }
    let mut places: Vec<usize> = filled(values.len(), 0)?;
    places.iter_mut().enumerate().for_each(|(k, o)| *o = k);
    order::sort_by_key(&mut places, |&k| key(values[k]) as usize);
    let mut moved = filled(values.len(), 0.0)?;
    moved
        .iter_mut()
        .zip(&places)
        .for_each(|(to, &k)| *to = values[k]);
    *values = moved;
    for (vectors, length) in vectors {
        let mut moved = filled(vectors.len(), 0.0)?;
        for (to, &k) in moved.chunks_exact_mut(*length).zip(&places) {
            to.copy_from_slice(&vectors[k * *length..(k + 1) * *length]);
        }
        **vectors = moved;
    }
    Ok(())
}

/// The first unit vectors, one after the other.
fn units(count: usize, length: usize) -> Result<Vec<f64>> {
    let mut out = filled(count * length, 0.0)?;
    out.iter_mut().step_by(length + 1).for_each(|x| *x = 1.0);
    Ok(out)
}

/// The error for an iteration that did not converge.
fn no_convergence(name: &str) -> Error {
    Error::LinAlg(format!("{name}: the iteration did not converge"))
}

/// The reduced singular value decomposition; `None` if an element is not finite.
pub(super) fn svd<T: Real>(a: &[T], m: usize, n: usize) -> Result<Option<Singular<T>>> {
    let Some(found) = svd_in_double(converted(a)?, m, n)? else {
        return Ok(None);
    };
    Ok(Some(Singular {
        values: converted(&found.values)?,
        left: converted(&found.left)?,
        right: converted(&found.right)?,
    }))
}

fn svd_in_double(mut a: Vec<f64>, m: usize, n: usize) -> Result<Option<Singular<f64>>> {
    let k = m.min(n);
    let Some(by) = scale(&a) else {
        return Ok(None);
    };
    let mut found = Singular {
        values: filled(k, 0.0)?,
        left: units(k, m)?,
        right: units(k, n)?,
    };
    if largest(&a) == 0.0 {
        return Ok(Some(found));
    }
    a.iter_mut().for_each(|x| *x *= by);
    run([m, n, k], move || {
        let mut params: faer::Spec<svd::SvdParams, f64> = Default::default();
        // Divide and conquer pays from here on; by default from 128 values.
        params.recursion_threshold = 32;
        let thin = svd::ComputeSvdVectors::Thin;
        let mut memory = scratch(svd::svd_scratch::<f64>(m, n, thin, thin, Par::Seq, params))?;
        svd::svd(
            MatRef::from_row_major_slice(&a, m, n),
            faer::diag::DiagMut::from_slice_mut(&mut found.values),
            Some(MatMut::from_column_major_slice_mut(&mut found.left, m, k)),
            Some(MatMut::from_column_major_slice_mut(&mut found.right, n, k)),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        )
        .map_err(|_| no_convergence("svd"))?;
        for (s, v) in found.values.iter_mut().zip(found.right.chunks_exact_mut(n)) {
            *s /= by;
            if *s < 0.0 {
                *s = -*s;
                v.iter_mut().for_each(|v| *v = -*v);
            }
        }
        let vectors = &mut [(&mut found.left, m), (&mut found.right, n)];
        arrange(&mut found.values, true, vectors)?;
        sign(&mut found.left, m, &mut found.right, n);
        Ok(Some(found))
    })
}

/// Eigenvalues, ascending, and unit eigenvectors one after the other, of the symmetric matrix that
/// has the lower triangle of `a`; `None` if an element of that is not finite.
pub(super) fn eigh<T: Real>(a: &[T], n: usize) -> Result<Option<(Vec<T>, Vec<T>)>> {
    Ok(match eigh_in_double(converted(a)?, n)? {
        Some((values, vectors)) => Some((converted(&values)?, converted(&vectors)?)),
        None => None,
    })
}

/// Eigenvalues and eigenvectors.
type Eigen = (Vec<f64>, Vec<f64>);

fn eigh_in_double(mut lower: Vec<f64>, n: usize) -> Result<Option<Eigen>> {
    let mut values = filled(n, 0.0)?;
    for (i, row) in lower.chunks_exact_mut(n.max(1)).enumerate() {
        row[i + 1..].fill(0.0);
    }
    let Some(by) = scale(&lower) else {
        return Ok(None);
    };
    let mut vectors = units(n, n)?;
    if largest(&lower) == 0.0 {
        return Ok(Some((values, vectors)));
    }
    lower.iter_mut().for_each(|x| *x *= by);
    run([n; 3], move || {
        let params = Default::default();
        let with = evd::ComputeEigenvectors::Yes;
        let needed = evd::self_adjoint_evd_scratch::<f64>(n, with, Par::Seq, params);
        let mut memory = scratch(needed)?;
        evd::self_adjoint_evd(
            MatRef::from_row_major_slice(&lower, n, n),
            faer::diag::DiagMut::from_slice_mut(&mut values),
            Some(MatMut::from_column_major_slice_mut(&mut vectors, n, n)),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        )
        .map_err(|_| no_convergence("eigh"))?;
        values.iter_mut().for_each(|w| *w /= by);
        arrange(&mut values, false, &mut [(&mut vectors, n)])?;
        sign(&mut vectors, n, &mut [], 0);
        Ok(Some((values, vectors)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_the_order_of_total_cmp_with_their_vectors() -> Result<()> {
        let special = [
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            -5e-324,
            f64::MAX,
            f64::MIN,
            1.0,
            -1.0,
        ];
        for descending in [false, true] {
            let mut values = special.to_vec();
            let mut vectors: Vec<f64> = special.iter().flat_map(|&x| [x, x]).collect();
            arrange(&mut values, descending, &mut [(&mut vectors, 2)])?;
            let mut expected = special.to_vec();
            expected.sort_by(f64::total_cmp);
            if descending {
                expected.reverse();
            }
            let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&values), bits(&expected));
            let doubled: Vec<f64> = expected.iter().flat_map(|&x| [x, x]).collect();
            assert_eq!(bits(&vectors), bits(&doubled));
        }
        Ok(())
    }
}
