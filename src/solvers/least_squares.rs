//! Least squares of implicit feedback: one side of a factorisation, the other side fixed.
//!
//! The normal equations of what [`least_squares`] finds,
//!
//! ```text
//! (YᵀY + l2_u I + Σ v_ui y_i y_iᵀ) x = Σ (1 + v_ui) y_i
//! ```
//!
//! have YᵀY in common, so that a row costs what its own entries cost, and d². [`super::direct`] forms and
//! factors each matrix, [`super::conjugate_gradient`] only multiplies by it.
//!
//! Rows of the other side are copied to rows of a multiple of 16 numbers, so that loops have no odd end.
//! Sixteen rows are solved at a time: what all have in common is a product of matrices then. Each row has
//! the bits that it has alone.

use super::conjugate_gradient::ConjugateGradient;
use super::csr_matrix::CsrMatrix;
use super::direct::Direct;
use super::system::{ROWS, System};
use crate::array::filled;
use crate::error::{Error, Result};
use crate::simd::four::UNIT;
use crate::simd::product::{Strided, add_product};
use crate::split;

/// Rows whose products are summed in single precision.
const BATCH: usize = 256;

/// How the systems are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// So many steps of conjugate gradients, from where the row was (Takács, Pilászy and Tikk,
    /// "Applications of the conjugate gradient solver for implicit feedback collaborative filtering",
    /// RecSys 2011).
    ConjugateGradient(usize),
    /// Cholesky's decomposition of each matrix.
    Cholesky,
}

/// What [`least_squares`] is given.
#[derive(Debug, Clone, Copy)]
pub struct LeastSquares<'a> {
    /// The values, at least 0; rows are what is solved for, columns the other side's rows.
    pub matrix: &'a CsrMatrix,
    /// The other side, of shape (columns, width).
    pub fixed: &'a [f32],
    /// What rows are now, of shape (rows, width).
    pub start: &'a [f32],
    /// Numbers of a vector.
    pub width: usize,
    /// The penalty of each row.
    pub l2: &'a [f32],
    /// How the systems are solved.
    pub solver: Solver,
    /// At most so many threads; 0 for all there are.
    pub threads: usize,
}

/// What [`least_squares`] has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// The rows, of shape (rows, width). A row without entries is 0.
    pub rows: Vec<f32>,
    /// The sum of what was made least, over all rows.
    pub objective: f64,
}

/// Solves all rows of one side of a factorisation of implicit feedback, the other side fixed.
///
/// Row u of the one side is the x that makes
///
/// ```text
/// Σ_i c_ui (p_ui - x·y_i)² + l2_u |x|²
/// ```
///
/// least, where the sum is over all rows y of the other side. Places that the matrix has, with the
/// values v, have p = 1 and the confidence c = 1 + v; all others have p = 0 and c = 1 (Hu, Koren and
/// Volinsky, "Collaborative filtering for implicit feedback datasets", ICDM 2008).
///
/// Limits: everything is computed in single precision but the objective, and YᵀY, which is summed in
/// single precision over 256 rows at a time. A system that is singular to this precision is an error.
///
/// # Errors
///
/// [`Error::Shape`] when sizes do not fit together; [`Error::Value`] when a value or penalty is negative, as no sum
/// need then be the least; [`Error::NotFinite`] when the solution of a row is not finite, or its system
/// singular to single precision; [`Error::Memory`]; [`Error::Interrupted`].
pub fn least_squares(problem: LeastSquares<'_>) -> Result<Solved> {
    let LeastSquares { matrix, width, .. } = problem;
    let (n_rows, n_columns) = (matrix.n_rows(), matrix.n_columns());
    let sizes = [problem.fixed.len(), problem.start.len(), problem.l2.len()];
    let size = |rows: usize| rows.checked_mul(width);
    if [Some(sizes[0]), Some(sizes[1]), Some(sizes[2])]
        != [size(n_columns), size(n_rows), Some(n_rows)]
    {
        return Err(Error::Shape(format!(
            "a matrix of shape ({n_rows}, {n_columns}) and a width of {width} do not fit factors of \
             {} and {} numbers and {} penalties",
            sizes[0], sizes[1], sizes[2]
        )));
    }
    for (name, numbers) in [("matrix", matrix.values()), ("l2", problem.l2)] {
        if let Some(number) = numbers.iter().find(|&&number| number < 0.0) {
            return Err(Error::Value(format!(
                "{name} has the number {number}, expected numbers of at least 0"
            )));
        }
    }
    let mut solved = Solved {
        rows: filled(sizes[1], 0.0)?,
        objective: 0.0,
    };
    if width == 0 || n_rows == 0 {
        return Ok(solved);
    }
    let stride = width.next_multiple_of(UNIT);
    let fixed = padded(problem.fixed, width, stride)?;
    let gram = gram(&fixed, stride, problem.threads)?;
    let system = System {
        matrix,
        fixed,
        gram,
        width,
        stride,
        l2: problem.l2,
    };
    let mut objectives = filled(n_rows, 0.0)?;
    let parts = (solved.rows.chunks_mut(ROWS * width)).zip(objectives.chunks_mut(ROWS));
    let threads = split::at_most(problem.threads, parts.len());
    split::try_each(threads, parts.enumerate(), |(part, (out, objectives))| {
        let first = part * ROWS;
        let count = objectives.len();
        let mut x = match problem.solver {
            Solver::ConjugateGradient(_) => padded(
                &problem.start[first * width..(first + count) * width],
                width,
                stride,
            )?,
            Solver::Cholesky => filled(count * stride, 0.0)?,
        };
        for (row, x) in x.chunks_exact_mut(stride).enumerate() {
            if matrix.row(first + row).0.is_empty() {
                x.fill(0.0);
            }
        }
        match problem.solver {
            Solver::ConjugateGradient(steps) => {
                let mut memory = ConjugateGradient::new(count, stride)?;
                memory.solve(&system, first, &mut x, objectives, steps)?;
            }
            Solver::Cholesky => {
                Direct::new(stride)?.solve(&system, first, &mut x, objectives)?;
            }
        }
        for (row, (out, x)) in out
            .chunks_exact_mut(width)
            .zip(x.chunks_exact(stride))
            .enumerate()
        {
            out.copy_from_slice(&x[..width]);
            if !(objectives[row].is_finite() && out.iter().all(|x| x.is_finite())) {
                return Err(Error::NotFinite(format!(
                    "the least squares of row {} have no finite solution in single precision: its \
                     values are too large, or the penalty too small",
                    first + row
                )));
            }
        }
        Ok(())
    })?;
    solved.objective = objectives.iter().sum();
    Ok(solved)
}

/// Rows of `width` numbers as rows of `stride` numbers, of which the last are 0.
fn padded(rows: &[f32], width: usize, stride: usize) -> Result<Vec<f32>> {
    let count = rows.len() / width;
    let size = count.saturating_mul(stride);
    let mut out = filled(size, 0.0)?;
    for (out, row) in out.chunks_exact_mut(stride).zip(rows.chunks_exact(width)) {
        out[..width].copy_from_slice(row);
    }
    Ok(out)
}

/// `XᵀX` of rows of `stride` numbers.
fn gram(rows: &[f32], stride: usize, threads: usize) -> Result<Vec<f32>> {
    let size = stride.saturating_mul(stride);
    let mut out = filled(size, 0.0)?;
    // Strips of the result, so that each number is summed by one thread.
    let parts = out.chunks_mut(UNIT * stride);
    let threads = split::at_most(threads, parts.len());
    split::try_each(threads, parts.enumerate(), |(part, out)| {
        let mut sums = filled(out.len(), 0.0_f64)?;
        for rows in rows.chunks(BATCH * stride) {
            out.fill(0.0);
            let turned = Strided {
                of: &rows[part * UNIT..],
                row: 1,
                column: stride,
            };
            add_product(
                [UNIT, rows.len() / stride, stride],
                turned,
                rows,
                out,
                stride,
            );
            sums.iter_mut()
                .zip(&*out)
                .for_each(|(sum, &x)| *sum += f64::from(x));
        }
        out.iter_mut()
            .zip(&sums)
            .for_each(|(x, &sum)| *x = sum as f32);
        Ok(())
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row of one number.
    fn solve(value: f32, l2: f32, solver: Solver) -> Result<Solved> {
        least_squares(LeastSquares {
            matrix: &CsrMatrix::from_entries(&[0], &[0], &[value], 1, 1)?,
            fixed: &[1.0],
            start: &[0.25],
            width: 1,
            l2: &[l2],
            solver,
            threads: 1,
        })
    }

    #[test]
    fn what_need_not_have_a_least_sum_is_refused() {
        for solver in [Solver::Cholesky, Solver::ConjugateGradient(3)] {
            for (value, l2) in [(1.0, -5.0), (-2.0, 0.0)] {
                let refused = solve(value, l2, solver);
                assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
            }
        }
    }

    #[test]
    fn steps_end_when_there_is_nothing_to_change() -> Result<()> {
        let few = solve(1.0, 2.0, Solver::ConjugateGradient(100))?;
        assert_eq!(few.rows, [0.5]);
        assert_eq!(solve(1.0, 2.0, Solver::ConjugateGradient(usize::MAX))?, few);
        let refused = solve(1.0, f32::NAN, Solver::ConjugateGradient(usize::MAX));
        assert!(matches!(refused, Err(Error::NotFinite(_))), "{refused:?}");
        Ok(())
    }
}
