//! Products of matrices, by the crate `faer`.
//!
//! Those of up to 16 rows and columns run in kernels of their size, others pack their operands into
//! memory that a thread keeps. Measured against `ndarray`'s kernel (crate matrixmultiply) on a Zen 4
//! core with AVX-512 they take from 0.1 to 1 times its time, 0.8 at 512 rows and 0.5 at 64, with
//! either operand transposed.
//!
//! An element of the result is a sum in the order of the inner axis, whatever part of the result is
//! computed: the bits do not depend on the number of threads.

use faer::{Accum, MatMut, MatRef, Par};

pub(super) use super::dense::Field;
use super::dense::{matrix, prepare};
use crate::error::Result;
use crate::interrupt::Poller;
use crate::split;

/// Parts of a large result are multiples of this, so that registers are full.
pub(super) const UNIT: usize = 32;

/// Products of at most so many multiplications need no memory.
const SMALL: usize = 16 * 16 * 16;

/// Multiplications between two looks whether to end: some 50 ms.
const LARGE: usize = 1 << 30;

/// Writes one product, by this thread.
fn part<T: Field>(
    out: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    poller: &mut Poller,
) -> Result<()> {
    let (rows, columns) = (out.nrows(), out.ncols());
    let work = rows.saturating_mul(columns).saturating_mul(a.ncols());
    // A part of one row or column would be summed in another order.
    if work > LARGE && rows.max(columns) > UNIT + 1 {
        poller.large_step()?;
        // In halves of the longer side, so that what is packed twice is little.
        let half = (rows.max(columns) / 2).next_multiple_of(UNIT);
        if rows >= columns {
            let (first, second) = out.split_at_row_mut(half);
            part(first, a.subrows(0, half), b, poller)?;
            return part(second, a.subrows(half, rows - half), b, poller);
        }
        let (first, second) = out.split_at_col_mut(half);
        part(first, a, b.subcols(0, half), poller)?;
        return part(second, a, b.subcols(half, columns - half), poller);
    }
    if work > SMALL {
        prepare()?;
    }
    faer::linalg::matmul::matmul(out, Accum::Replace, a, b, T::of(1.0), Par::Seq);
    Ok(())
}

/// Writes the product of an `m` × `k` and a `k` × `n` matrix, by some threads. Either operand is given
/// transposed on request; all are in C order.
pub(super) fn multiply<T: Field>(
    [m, k, n]: [usize; 3],
    (a, transpose_a): (&[T], bool),
    (b, transpose_b): (&[T], bool),
    out: &mut [T],
    threads: usize,
) -> Result<()> {
    if m * n == 0 || k == 0 {
        out.fill(T::default());
        return Ok(());
    }
    let a = matrix(a, m, k, transpose_a);
    let b = matrix(b, k, n, transpose_b);
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    // Along the longer side. A part of one row or column would be a product with a vector, which sums
    // in another order.
    let (by_rows, length) = (m > n, m.max(n));
    let mut width = split::part(length, threads, UNIT);
    if length % width == 1 {
        width += UNIT;
    }
    if width >= length {
        return part(out, a, b, &mut Poller::default());
    }
    let mut rest = Some(out);
    let parts = (0..length).step_by(width).map_while(move |start| {
        let width = width.min(length - start);
        let (own, others) = match by_rows {
            true => rest.take()?.split_at_row_mut(width),
            false => rest.take()?.split_at_col_mut(width),
        };
        rest = Some(others);
        Some((start, own))
    });
    split::try_each(threads, parts, |(start, out)| {
        let (rows, columns) = (out.nrows(), out.ncols());
        let poller = &mut Poller::default();
        match by_rows {
            true => part(out, a.subrows(start, rows), b, poller),
            false => part(out, a, b.subcols(start, columns), poller),
        }
    })
}

/// [`multiply`] by this thread.
pub(super) fn product<T: Field>(
    sides: [usize; 3],
    a: (&[T], bool),
    b: (&[T], bool),
    out: &mut [T],
) -> Result<()> {
    multiply(sides, a, b, out, 1)
}
