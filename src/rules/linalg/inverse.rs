//! The inverse of one large symmetric positive definite matrix, by all threads, in place.
//!
//! `A = L Lᵀ` by blocks of columns: what stands left of a block is subtracted from it, in parts of rows;
//! its square on the diagonal is factored; the rest is divided by that. The inverse P has the columns
//! that solve `L Lᵀ P = I`. Those from j on have no rows above j in `L⁻¹`, and of P the rows from j on are
//! all that is wanted, since it is symmetric; so each block of columns is solved with the part of L
//! that is below and right of it, by itself. Together that is 2/3 n³ multiplications after n³/6, as for the
//! product of inverted factors.
//!
//! Products and triangular solutions are the crate `faer`'s, on one thread each. Blocks are of one size,
//! whatever the number of threads, so the bits do not depend on it. It polls between blocks.

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::prelude::IntoConst;
use faer::{Accum, MatMut, MatRef, Par};

use super::dense::{prepare, scratch};
use crate::array::filled;
use crate::error::{Error, Result};
use crate::split;

/// Columns of a block.
const COLUMNS: usize = 128;
/// Rows of a part.
const ROWS: usize = 256;

/// A symmetric matrix that is to be inverted: the upper triangle counts, in C order.
pub(crate) struct PositiveDefinite {
    // In the order of columns it is the lower triangle, which faer reads.
    elements: Vec<f64>,
    n: usize,
}

impl PositiveDefinite {
    /// The matrix with the upper triangle of `elements`, of shape (n, n).
    pub(crate) fn new(elements: Vec<f64>, n: usize) -> Self {
        PositiveDefinite { elements, n }
    }

    /// Writes the upper triangle of the inverse to `out`, of shape (n, n), by at most so many threads (0
    /// for all there are). What is below the diagonal is left as it is.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if the matrix is not positive definite; [`Error::Memory`];
    /// [`Error::Interrupted`].
    pub(crate) fn invert(mut self, out: &mut [f32], threads: usize) -> Result<()> {
        let n = self.n;
        let a = MatMut::from_column_major_slice_mut(&mut self.elements, n, n);
        factor(a, threads)?;
        let l = MatRef::from_column_major_slice(&self.elements, n, n);
        let parts = out.chunks_mut(COLUMNS * n.max(1));
        let threads = split::at_most(threads, parts.len());
        split::try_each(threads, parts.enumerate(), |(part, out)| {
            prepare()?;
            let (first, width) = (part * COLUMNS, out.len() / n);
            let rows = n - first;
            let l = l.submatrix(first, first, rows, rows);
            let mut columns = filled(rows * width, 0.0)?;
            columns.iter_mut().step_by(rows + 1).for_each(|x| *x = 1.0);
            let mut x = MatMut::from_column_major_slice_mut(&mut columns, rows, width);
            solve_lower_triangular_in_place(l, x.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(l.transpose(), x, Par::Seq);
            for (k, (out, column)) in out
                .chunks_exact_mut(n)
                .zip(columns.chunks_exact(rows))
                .enumerate()
            {
                for (out, &x) in out[first + k..].iter_mut().zip(&column[k..]) {
                    *out = x as f32;
                }
            }
            Ok(())
        })
    }
}

/// The parts of a matrix by rows.
fn parts(matrix: MatMut<'_, f64>) -> impl Iterator<Item = (usize, MatMut<'_, f64>)> + Send {
    let (length, mut rest) = (matrix.nrows(), Some(matrix));
    (0..length).step_by(ROWS).map_while(move |start| {
        let (part, others) = rest.take()?.split_at_row_mut(ROWS.min(length - start));
        rest = Some(others);
        Some((start, part))
    })
}

/// Writes L over the lower triangle of A.
fn factor(mut a: MatMut<'_, f64>, threads: usize) -> Result<()> {
    let n = a.nrows();
    for first in (0..n).step_by(COLUMNS) {
        let width = COLUMNS.min(n - first);
        let rows = n - first;
        let (left, right) = a.as_mut().split_at_col_mut(first);
        let left = left.into_const().subrows(first, rows);
        let mut block = right.submatrix_mut(first, 0, rows, width);
        let threads = split::at_most(threads, rows.div_ceil(ROWS));
        if first > 0 {
            let turned = left.subrows(0, width).transpose();
            split::try_each(threads, parts(block.as_mut()), |(start, part)| {
                prepare()?;
                let rows = left.subrows(start, part.nrows());
                faer::linalg::matmul::matmul(part, Accum::Add, rows, turned, -1.0, Par::Seq);
                Ok(())
            })?;
        }
        let (mut square, below) = block.split_at_row_mut(width);
        let params = Default::default();
        let needed = llt::factor::cholesky_in_place_scratch::<f64>(width, Par::Seq, params);
        let mut memory = scratch(needed)?;
        llt::factor::cholesky_in_place(
            square.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        )
        .map_err(|_| {
            Error::NotFinite(
                "the matrix to invert is not positive definite in double precision".into(),
            )
        })?;
        let square = square.into_const();
        split::try_each(threads, parts(below), |(_, part)| {
            prepare()?;
            solve_lower_triangular_in_place(square, part.transpose_mut(), Par::Seq);
            Ok(())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_times_the_matrix_is_one() {
        for n in [1, 2, 5, 127, 128, 129, 300] {
            let mut a: Vec<f64> = (0..n * n)
                .map(|k| ((k / n) as f64 - (k % n) as f64).abs())
                .map(|distance| 1.0 / (1.0 + distance * distance))
                .collect();
            a.iter_mut().step_by(n + 1).for_each(|x| *x += 2.0);
            let mut found = vec![0.0; n * n];
            PositiveDefinite::new(a.clone(), n)
                .invert(&mut found, 1)
                .unwrap();
            let mut again = vec![0.0; n * n];
            PositiveDefinite::new(a.clone(), n)
                .invert(&mut again, 0)
                .unwrap();
            assert_eq!(found, again);
            let p = |i: usize, j: usize| f64::from(found[i.min(j) * n + i.max(j)]);
            for (i, j) in [(0, 0), (0, n - 1), (n / 2, n / 2), (n - 1, n / 3)] {
                let sum: f64 = (0..n).map(|k| a[i * n + k] * p(k, j)).sum();
                let expected = f64::from(u8::from(i == j));
                assert!((sum - expected).abs() < 1e-6, "{n}: {sum} at {i}, {j}");
            }
        }
        let refused = PositiveDefinite::new(vec![0.0, 1.0, 1.0, 0.0], 2).invert(&mut [0.0; 4], 1);
        assert!(matches!(refused, Err(Error::NotFinite(_))));
    }
}
