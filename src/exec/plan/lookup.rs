//! Lookups of rows in tables, as steps of a plan.
//!
//! Rows are copied, because an update must see them as they were when its batch began, and
//! because other workers may change the table meanwhile. Where the first to read them is a
//! dot product, it is computed in passing, while the row is still in registers; where nobody else needs a copy, the
//! product reads them where they are ([`rows_in_place`](super::rows_in_place)).
//!
//! Limits: the caller promises that every index is a row of its table, and that the table is
//! reached by moves alone meanwhile: see [`Executor::run`](crate::exec::Executor::run). Indices that are a
//! leaf or a constant were compared with the number of rows of their table, as
//! [`Plan::check`](crate::exec::Plan) finds; others are compared by the executor, just before.

use std::cell::Cell;

use crate::array::Number;
use crate::simd::dot::Plain;
use crate::simd::{self, Machine, by_width, multiversion};
use crate::table::Table;
use crate::table::moves::{self, Relaxed};

/// Copies a whole table. `kept` is the version of the copy that is there already, if it is kept from run
/// to run: while the table has that version there is nothing to do.
pub(in crate::exec) fn load<T: Number>(table: &Table, out: &mut [T], kept: Option<&Cell<u64>>) {
    // Before the numbers are read: they may change meanwhile.
    let version = table.version();
    if kept.is_some_and(|kept| kept.get() == version) {
        return;
    }
    // SAFETY: `Plan::check` found `out` to be of the table's type, so the table holds as many numbers;
    // racing workers use the same moves.
    unsafe { moves::load_row(table.pointer(), out) };
    if let Some(kept) = kept {
        kept.set(table.settled(version));
    }
}

/// Copies row `i` of a table that starts at `start`.
#[inline(always)]
fn copy<M: Machine, T: Number>(m: M, start: *const T, i: u32, row: &mut [T]) {
    // SAFETY: indices are below the number of this table's rows, which are as long as `row`: the
    // caller of `run` promises that those of leaves are below the plan's bounds, which `Plan::check`
    // found to be no more, as it found of constants, and the executor has just compared others.
    // Racing workers use the same moves.
    unsafe { moves::load_row_on(m, start.wrapping_add(i as usize * row.len()), row) };
}

/// Copies row `i` and returns its product with `other`. A function of its own, so that the
/// compiler knows the two apart.
#[inline(always)]
fn copy_and_dot<M: Machine, T: Number>(
    m: M,
    start: *const T,
    i: u32,
    row: &mut [T],
    other: &[T],
) -> T {
    copy(m, start, i, row);
    simd::dot::dot(m, other, row)
}

multiversion! {
    /// Copies the rows `indices`.
    pub(in crate::exec) fn gather<T: Number>(m: M, table: &Table, indices: &[u32], out: &mut [T]) {
        if table.width() == 0 {
            return;
        }
        let start = table.pointer::<T>();
        if table.width() == 1 {
            for (o, &i) in out.iter_mut().zip(indices) {
                // SAFETY: as in `copy`; rows have one number each.
                *o = unsafe { moves::load(start.wrapping_add(i as usize)) };
            }
            return;
        }
        by_width!(M, T, table.width(), [32, 64, 128], W => {
            // A plain loop: LLVM knows the width of a row then, whatever it inlines.
            for (k, &i) in indices.iter().enumerate() {
                copy(m, start, i, &mut out[k * W..k * W + W]);
            }
        });
    }
}

multiversion! {
    /// Copies the rows `indices` to `rows`, and their products with those of `others`, row by
    /// row, to `out`.
    pub(in crate::exec) fn gather_dot<T: Number>(
        m: M, table: &Table, indices: &[u32], rows: &mut [T], others: &[T], out: &mut [T],
    ) {
        if table.width() == 0 {
            return out.fill(T::zero());
        }
        let start = table.pointer::<T>();
        by_width!(M, T, table.width(), [32, 64, 128], W => {
            for (k, &i) in indices.iter().enumerate() {
                let here = k * W..k * W + W;
                out[k] = copy_and_dot(m, start, i, &mut rows[here.clone()], &others[here]);
            }
        });
    }
}

multiversion! {
    /// The products of the rows `indices` with those of `others`, row by row, to `out`. No row is copied: each has no
    /// more than [`LONG`](simd::dot::LONG) numbers, of which the sum is that of [`gather_dot`], bit by bit.
    pub(in crate::exec) fn dot_in_place<T: Number>(
        m: M, table: &Table, indices: &[u32], others: &[T], out: &mut [T],
    ) {
        if table.width() == 0 {
            return out.fill(T::zero());
        }
        let start = table.pointer::<T>();
        by_width!(M, T, table.width(), [32, 64, 128], W => {
            for (k, &i) in indices.iter().enumerate() {
                let other = &others[k * W..k * W + W];
                let row = start.wrapping_add(i as usize * W);
                // SAFETY: as in `copy`, of the row; the other is borrowed. Both have `W` elements.
                out[k] = unsafe {
                    simd::dot::dot_at::<Plain, Relaxed, M, T>(m, other.as_ptr(), row, W)
                };
            }
        });
    }
}

multiversion! {
    /// As [`gather_dot`], where the other rows are looked up too.
    #[allow(clippy::too_many_arguments, reason = "two lookups of three each")]
    pub(in crate::exec) fn gather_both_dot<T: Number>(
        m: M,
        table: &Table, indices: &[u32], rows: &mut [T],
        other_table: &Table, other_indices: &[u32], others: &mut [T],
        out: &mut [T],
    ) {
        if table.width() == 0 {
            return out.fill(T::zero());
        }
        let (start, other_start) = (table.pointer::<T>(), other_table.pointer::<T>());
        by_width!(M, T, table.width(), [32, 64, 128], W => {
            for (k, &i) in indices.iter().enumerate() {
                let here = k * W..k * W + W;
                let other = &mut others[here.clone()];
                copy(m, other_start, other_indices[k], other);
                out[k] = copy_and_dot(m, start, i, &mut rows[here], other);
            }
        });
    }
}
