//! Rows as they were before a step, to take it back.
//!
//! A step by hand is all or nothing, also where only its result shows that it went wrong.
//! What it will touch is copied first: as many numbers as the gradient has, for the parameter
//! and for each slot of its state.

use crate::array::{Array, Dense, Number, with_real};
use crate::error::Result;
use crate::table::{Table, moves};

/// The rows `rows`, or all, of a table.
#[derive(Clone, Copy)]
pub(super) struct Touched<'a> {
    pub table: &'a Table,
    pub rows: Option<&'a [u32]>,
}

impl<'a> Touched<'a> {
    /// Numbers at a time, and how often.
    fn shape(self) -> (usize, usize) {
        match self.rows {
            Some(rows) => (self.table.width(), rows.len()),
            None => (self.table.ty().size(), 1),
        }
    }

    /// Where the numbers of each row start.
    fn starts<T: Number>(self) -> impl Iterator<Item = *mut T> + 'a {
        let (width, count) = self.shape();
        let start = self.table.pointer::<T>();
        let row = move |k: usize| self.rows.map_or(k, |rows| rows[k] as usize);
        (0..count).map(move |k| start.wrapping_add(row(k) * width))
    }

    /// A copy of the rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    ///
    /// # Safety
    /// The table has the rows, and others reach them by moves if at all.
    pub(super) unsafe fn copy(self) -> Result<Array> {
        let (width, count) = self.shape();
        Ok(with_real!(self.table.ty().dtype, T => {
            let mut out = Dense::<T>::zeros(&[count, width])?;
            for (to, at) in out.make_mut()?.chunks_exact_mut(width.max(1)).zip(self.starts::<T>()) {
                // SAFETY: the caller's promise; `to` is as long as a row.
                unsafe { moves::load_row(at, to) };
            }
            out.into()
        }))
    }

    /// Writes a copy back.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), and `copy` is one of these rows.
    pub(super) unsafe fn restore(self, copy: &Array) {
        let (width, _) = self.shape();
        with_real!(self.table.ty().dtype, T => {
            let numbers = copy.view().real::<T>();
            for (from, at) in numbers.chunks_exact(width.max(1)).zip(self.starts::<T>()) {
                for (k, &x) in from.iter().enumerate() {
                    // SAFETY: the caller's promise; `from` is as long as a row.
                    unsafe { moves::store(at.wrapping_add(k), x) };
                }
            }
        });
    }

    /// Whether all numbers are finite.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    pub(super) unsafe fn is_finite(self) -> bool {
        let (width, _) = self.shape();
        with_real!(self.table.ty().dtype, T => {
            self.starts::<T>().all(|at| {
                // SAFETY: the caller's promise.
                (0..width).all(|k| unsafe { moves::load(at.wrapping_add(k)) }.is_finite())
            })
        })
    }
}
