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
use crate::simd::dot::{axpy, dot};
use crate::simd::four::{UNIT, axpy_four};
use crate::simd::multiversion;
use crate::simd::product::{Strided, add_product};
use crate::simd::{self, Machine};

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
    pub(super) fn solve(
        &mut self,
        system: &System<'_>,
        first: usize,
        x: &mut [f32],
        objectives: &mut [f64],
    ) {
        solve_each(self, system, first, x, objectives);
    }
}

multiversion! {
    /// See [`Direct::solve`].
    fn solve_each(
        machine: M,
        memory: &mut Direct,
        system: &System<'_>,
        first: usize,
        x: &mut [f32],
        objectives: &mut [f64],
    ) {
        let (width, stride) = (system.width, system.stride);
        let rows = x.chunks_exact_mut(stride).zip(objectives);
        for (row, (x, objective)) in rows.enumerate() {
            if system.matrix.row(first + row).0.is_empty() {
                continue;
            }
            form(memory, system, first + row, x);
            *objective = system.matrix.row(first + row).1.iter().map(|&v| 1.0 + f64::from(v)).sum();
            if !factor(machine, &mut memory.matrix, width, stride) {
                *objective = f64::NAN;
                continue;
            }
            let u = |i: usize| &memory.matrix[i * stride..(i + 1) * stride];
            // Uᵀz = b, by the columns of Uᵀ. The objective is Σ c - b·x = Σ c - z·z.
            for i in 0..width {
                x[i] /= u(i)[i];
                let z = x[i];
                axpy(machine, -z, &u(i)[i + 1..width], &mut x[i + 1..width]);
            }
            *objective -= f64::from(dot(machine, x, x));
            for i in (0..width).rev() {
                x[i] = (x[i] - dot(machine, &u(i)[i + 1..width], &x[i + 1..width])) / u(i)[i];
            }
        }
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

/// Writes U over the upper triangle of A. Whether A is positive definite.
#[inline(always)]
fn factor<M: Machine>(machine: M, matrix: &mut [f32], width: usize, stride: usize) -> bool {
    for i in 0..width {
        let start = i / UNIT * UNIT;
        let (above, row) = matrix.split_at_mut(i * stride);
        let row = &mut row[start..stride];
        let u = |j: usize| &above[j * stride..(j + 1) * stride];
        let whole = i / 4 * 4;
        for j in (0..whole).step_by(4) {
            let [a, b, c, d] = [u(j), u(j + 1), u(j + 2), u(j + 3)];
            let rows = [&a[start..], &b[start..], &c[start..], &d[start..]];
            axpy_four(machine, [-a[i], -b[i], -c[i], -d[i]], rows, row);
        }
        for j in whole..i {
            axpy(machine, -u(j)[i], &u(j)[start..], row);
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
