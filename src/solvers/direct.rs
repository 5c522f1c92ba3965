//! Cholesky's decomposition for the normal equations of [`super::least_squares()`].
//!
//! The matrix of each row is formed, `A = YᵀY + l2 I + Σ v y yᵀ`, and factored into `A = UᵀU`. Rows of the
//! other side are copied beside each other, 64 at a time, with the same multiplied by the values, so
//! that the sum is a product of matrices.
//!
//! A row of U is that of A less the rows above it, four of them at a time, over its root. Rows begin at a
//! multiple of 16, so that loops are of whole registers: what is left of the diagonal is no part of U, and
//! nobody reads it for anything else.

use super::system::System;
use crate::array::filled;
use crate::error::Result;
use crate::interrupt;
use crate::simd::four::{UNIT, axpy_four};
use crate::simd::product::{Strided, add_product};
use crate::simd::{self, multiversion};

/// Entries that are added to the matrix together.
const ENTRIES: usize = 64;

/// The memory for one system.
pub(super) struct Direct {
    /// A, and then U in its upper triangle.
    matrix: Vec<f32>,
    /// Rows of the other side, and the same times the values.
    rows: Vec<f32>,
    weighted: Vec<f32>,
}

impl Direct {
    /// Memory for vectors of `stride` numbers.
    pub(super) fn new(stride: usize) -> Result<Self> {
        Ok(Direct {
            matrix: filled(stride.saturating_mul(stride), 0.0)?,
            rows: filled(ENTRIES * stride, 0.0)?,
            weighted: filled(ENTRIES * stride, 0.0)?,
        })
    }

    /// Writes the solutions of rows from `first` on to `x`, which is 0, and what is made least for each:
    /// NaN where the matrix is not positive definite.
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
    ) -> Result<()> {
        let (width, stride) = (system.width, system.stride);
        let rows = x.chunks_exact_mut(stride).zip(objectives);
        for (row, (x, objective)) in rows.enumerate() {
            let (columns, values) = system.matrix.row(first + row);
            if columns.is_empty() {
                continue;
            }
            interrupt::check()?;
            form(self, system, first + row, x);
            *objective = values.iter().map(|&v| 1.0 + f64::from(v)).sum();
            if !factor(&mut self.matrix, width, stride) {
                *objective = f64::NAN;
                continue;
            }
            let u = |i: usize| &self.matrix[i * stride..(i + 1) * stride];
            // Uᵀz = b, by the columns of Uᵀ. The objective is Σ c - b·x = Σ c - z·z.
            for i in 0..width {
                x[i] /= u(i)[i];
                let z = x[i];
                simd::axpy(-z, &u(i)[i + 1..width], &mut x[i + 1..width]);
            }
            *objective -= f64::from(simd::dot(x, x));
            for i in (0..width).rev() {
                x[i] = (x[i] - simd::dot(&u(i)[i + 1..width], &x[i + 1..width])) / u(i)[i];
            }
        }
        Ok(())
    }
}

/// Writes the upper triangle of the matrix of a row, and to `x` its right-hand side.
fn form(memory: &mut Direct, system: &System<'_>, row: usize, x: &mut [f32]) {
    let stride = system.stride;
    let (columns, values) = system.matrix.row(row);
    memory.matrix.copy_from_slice(&system.gram);
    for i in 0..system.width {
        memory.matrix[i * stride + i] += system.l2[row];
    }
    for (columns, values) in columns.chunks(ENTRIES).zip(values.chunks(ENTRIES)) {
        let copies = memory.rows.chunks_exact_mut(stride);
        let copies = copies.zip(memory.weighted.chunks_exact_mut(stride));
        for ((copy, weighted), (&column, &v)) in copies.zip(columns.iter().zip(values)) {
            let y = system.fixed_row(column);
            copy.copy_from_slice(y);
            simd::scale_into(v, y, weighted);
            simd::axpy(1.0 + v, y, x);
        }
        for i in (0..stride).step_by(UNIT) {
            let turned = Strided {
                of: &memory.weighted[i..],
                row: 1,
                column: stride,
            };
            let sizes = [UNIT, columns.len(), stride - i];
            let out = &mut memory.matrix[i * stride + i..];
            add_product(sizes, turned, &memory.rows[i..], out, stride);
        }
    }
}

multiversion! {
    /// Writes U over the upper triangle of A. Whether A is positive definite.
    fn factor(machine: M, matrix: &mut [f32], width: usize, stride: usize) -> bool {
        for i in 0..width {
            let start = i / UNIT * UNIT;
            let (above, row) = matrix.split_at_mut(i * stride);
            let row = &mut row[start..stride];
            for j in (0..i).step_by(4) {
                // Of rows that are not above this one, nothing.
                let (mut factors, mut rows) = ([0.0; 4], [&above[j * stride + start..][..row.len()]; 4]);
                for k in 0..(i - j).min(4) {
                    let u = &above[(j + k) * stride..(j + k + 1) * stride];
                    factors[k] = -u[i];
                    rows[k] = &u[start..];
                }
                axpy_four(machine, factors, rows, row);
            }
            let pivot = row[i - start];
            if pivot <= 0.0 || pivot.is_nan() {
                return false;
            }
            let by = 1.0 / pivot.sqrt();
            row.iter_mut().for_each(|x| *x *= by);
        }
        true
    }
}
