//! Conjugate gradients for the normal equations of [`super::least_squares()`].
//!
//! `A = YᵀY + l2 I + Σ v y yᵀ` is never formed: a product with it is that of `YᵀY`, for all rows of a
//! block at once, and one pass over the row's entries, four of them at a time. The residual's first pass
//! finds the objective too, and a step lowers that by `alpha·r·r`, so that it costs nothing.
//!
//! Few steps are enough, for the rows hardly change from epoch to epoch. In exact arithmetic d steps
//! solve a row.

use super::system::{ROWS, System};
use crate::array::filled;
use crate::error::Result;
use crate::simd::dot::{axpby, axpy, dot};
use crate::simd::four::{axpy_four, dot_four};
use crate::simd::multiversion;
use crate::simd::product::{Strided, add_product};
use crate::table::moves::prefetch;

/// How many entries ahead rows are prefetched.
const AHEAD: usize = 8;

/// The memory for a block of rows: residuals, directions, and products of A with these.
pub(super) struct ConjugateGradient {
    residual: Vec<f32>,
    direction: Vec<f32>,
    product: Vec<f32>,
}

impl ConjugateGradient {
    /// Memory for `count` rows of `stride` numbers.
    pub(super) fn new(count: usize, stride: usize) -> Result<Self> {
        Ok(ConjugateGradient {
            residual: filled(count * stride, 0.0)?,
            direction: filled(count * stride, 0.0)?,
            product: filled(count * stride, 0.0)?,
        })
    }

    /// Improves the rows `x`, from `first` on, by so many steps; writes what is made least for each.
    pub(super) fn solve(
        &mut self,
        system: &System<'_>,
        first: usize,
        x: &mut [f32],
        objectives: &mut [f64],
        steps: usize,
    ) {
        improve(self, system, first, x, objectives, steps);
    }
}

multiversion! {
    /// See [`ConjugateGradient::solve`].
    fn improve(
        machine: M,
        memory: &mut ConjugateGradient,
        system: &System<'_>,
        first: usize,
        x: &mut [f32],
        objectives: &mut [f64],
        steps: usize,
    ) {
        let stride = system.stride;
        let count = objectives.len();
        let ConjugateGradient { residual, direction, product } = memory;
        let mut lengths = [0.0_f32; ROWS];

        common_product(system, first, x, product);
        for row in 0..count {
            let own = row * stride..(row + 1) * stride;
            let (x, q, r) = (&x[own.clone()], &product[own.clone()], &mut residual[own.clone()]);
            r.iter_mut().zip(q).for_each(|(r, &q)| *r = -q);
            let mut objective = f64::from(dot(machine, x, q));
            let (columns, values) = system.matrix.row(first + row);
            for at in (0..columns.len()).step_by(4) {
                let (rows, values, some) = four(system, columns, values, at);
                let scores = dot_four(machine, rows, x);
                // c - v·s, or 0 where there is no entry.
                let mut factors = [0.0; 4];
                for k in 0..some {
                    let (s, v) = (f64::from(scores[k]), f64::from(values[k]));
                    objective += (1.0 + v) * (1.0 - s) * (1.0 - s) - s * s;
                    factors[k] = 1.0 + values[k] * (1.0 - scores[k]);
                }
                axpy_four(machine, factors, rows, r);
            }
            direction[own].copy_from_slice(r);
            lengths[row] = dot(machine, r, r);
            objectives[row] = objective;
        }

        for _ in 0..steps {
            common_product(system, first, direction, product);
            for row in 0..count {
                let own = row * stride..(row + 1) * stride;
                let (x, r) = (&mut x[own.clone()], &mut residual[own.clone()]);
                let (p, q) = (&mut direction[own.clone()], &mut product[own]);
                let (columns, values) = system.matrix.row(first + row);
                for at in (0..columns.len()).step_by(4) {
                    let (rows, values, _) = four(system, columns, values, at);
                    let mut factors = dot_four(machine, rows, p);
                    for k in 0..4 {
                        factors[k] *= values[k];
                    }
                    axpy_four(machine, factors, rows, q);
                }
                let curvature = dot(machine, p, q);
                // What has no length is solved, and cannot be divided by. NaN goes on, to be found.
                if lengths[row] == 0.0 || curvature == 0.0 {
                    continue;
                }
                let alpha = lengths[row] / curvature;
                axpy(machine, alpha, p, x);
                axpy(machine, -alpha, q, r);
                objectives[row] -= f64::from(alpha) * f64::from(lengths[row]);
                let length = dot(machine, r, r);
                axpby(machine, 1.0, r, length / lengths[row], p);
                lengths[row] = length;
            }
        }
    }
}

/// Writes `(YᵀY + l2 I) x` for the rows of a block.
fn common_product(system: &System<'_>, first: usize, x: &[f32], out: &mut [f32]) {
    let stride = system.stride;
    let rows = x.chunks_exact(stride).zip(out.chunks_exact_mut(stride));
    for ((x, out), &l2) in rows.zip(&system.l2[first..]) {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = l2 * x);
    }
    let sizes = [x.len() / stride, stride, stride];
    let x = Strided {
        of: x,
        row: stride,
        column: 1,
    };
    add_product(sizes, x, &system.gram, out, stride);
}

/// Four rows of the other side and the values of a row's entries there, from the entry `at` on, and how
/// many entries they are: where there are none left, the row is that of `at` and the value 0.
#[inline(always)]
fn four<'a>(
    system: &'a System<'_>,
    columns: &[u32],
    values: &[f32],
    at: usize,
) -> ([&'a [f32]; 4], [f32; 4], usize) {
    for &column in columns.iter().skip(at + AHEAD).take(4) {
        let row = system.fixed_row(column);
        prefetch(row.as_ptr(), size_of_val(row));
    }
    let (columns, values) = (&columns[at..], &values[at..]);
    let mut rows = [system.fixed_row(columns[0]); 4];
    let mut four = [0.0; 4];
    let some = columns.len().min(4);
    for k in 0..some {
        rows[k] = system.fixed_row(columns[k]);
        four[k] = values[k];
    }
    (rows, four, some)
}
