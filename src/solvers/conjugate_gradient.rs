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
use crate::interrupt;
use crate::simd::four::{axpy_four, dot_four};
use crate::simd::product::{Strided, add_product};
use crate::simd::{self, multiversion};
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
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn solve(
        &mut self,
        system: &System<'_>,
        first: usize,
        x: &mut [f32],
        objectives: &mut [f64],
        steps: usize,
    ) -> Result<()> {
        let stride = system.stride;
        let ConjugateGradient {
            residual,
            direction,
            product,
        } = self;
        let mut lengths = [0.0_f32; ROWS];

        common_product(system, first, x, product);
        for (row, objective) in objectives.iter_mut().enumerate() {
            let own = row * stride..(row + 1) * stride;
            let (x, q) = (&x[own.clone()], &product[own.clone()]);
            let r = &mut residual[own.clone()];
            r.iter_mut().zip(q).for_each(|(r, &q)| *r = -q);
            *objective = f64::from(simd::dot(x, q));
            *objective += add_entries(system, first + row, true, x, r);
            direction[own].copy_from_slice(r);
            lengths[row] = simd::dot(r, r);
        }

        for _ in 0..steps {
            interrupt::check()?;
            let mut goes_on = false;
            common_product(system, first, direction, product);
            for (row, objective) in objectives.iter_mut().enumerate() {
                let own = row * stride..(row + 1) * stride;
                let (x, r) = (&mut x[own.clone()], &mut residual[own.clone()]);
                let (p, q) = (&mut direction[own.clone()], &mut product[own]);
                add_entries(system, first + row, false, p, q);
                let curvature = simd::dot(p, q);
                // What has no length is solved, and cannot be divided by. NaN goes on, to be found.
                if lengths[row] == 0.0 || curvature == 0.0 {
                    continue;
                }
                let alpha = lengths[row] / curvature;
                simd::axpy(alpha, p, x);
                simd::axpy(-alpha, q, r);
                *objective -= f64::from(alpha) * f64::from(lengths[row]);
                let length = simd::dot(r, r);
                let beta = length / lengths[row];
                p.iter_mut().zip(r).for_each(|(p, r)| *p = *r + beta * *p);
                lengths[row] = length;
                goes_on |= length > 0.0;
            }
            // Further steps would change nothing, however many are left.
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

multiversion! {
    /// The part that a row's own entries have, in a product with A: adds `Σ v s y`, where s is the score
    /// x·y. In a residual: adds `Σ (c - v s) y`, and returns `Σ (c (1 - s)² - s²)`.
    fn add_entries(
        machine: M,
        system: &System<'_>,
        row: usize,
        is_residual: bool,
        x: &[f32],
        out: &mut [f32],
    ) -> f64 {
        let (columns, values) = system.matrix.row(row);
        let mut objective = 0.0;
        for at in (0..columns.len()).step_by(4) {
            let (rows, values, there) = four(system, columns, values, at);
            let scores = dot_four(machine, rows, x);
            let mut factors = [0.0; 4];
            if is_residual {
                for k in 0..4 {
                    factors[k] = there[k] - values[k] * (scores[k] - 1.0);
                    let (s, v) = (f64::from(scores[k]), f64::from(values[k]));
                    objective += f64::from(there[k]) * ((1.0 + v) * (1.0 - s) * (1.0 - s) - s * s);
                }
            } else {
                for k in 0..4 {
                    factors[k] = values[k] * scores[k];
                }
            }
            axpy_four(machine, factors, rows, out);
        }
        objective
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

/// Four rows of the other side and the values of a row's entries there, from the entry `at` on, and 1 for
/// each: where there are none left, the row is that of `at`, and both are 0.
#[inline(always)]
fn four<'a>(
    system: &'a System<'_>,
    columns: &[u32],
    values: &[f32],
    at: usize,
) -> ([&'a [f32]; 4], [f32; 4], [f32; 4]) {
    for &column in columns.iter().skip(at + AHEAD).take(4) {
        let row = system.fixed_row(column);
        prefetch(row.as_ptr(), size_of_val(row));
    }
    let (columns, values) = (&columns[at..], &values[at..]);
    if let (Some(&[a, b, c, d]), Some(values)) = (columns.first_chunk(), values.first_chunk()) {
        let row = |column| system.fixed_row(column);
        return ([row(a), row(b), row(c), row(d)], *values, [1.0; 4]);
    }
    let mut rows = [system.fixed_row(columns[0]); 4];
    let (mut own, mut there) = ([0.0; 4], [0.0; 4]);
    for (k, (&column, &value)) in columns.iter().zip(values).enumerate() {
        (rows[k], own[k], there[k]) = (system.fixed_row(column), value, 1.0);
    }
    (rows, own, there)
}
