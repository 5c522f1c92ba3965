//! Rows as they were before a step, to take it back.
//!
//! A step by hand is all or nothing, also where only its result shows that it went wrong.
//! What it will touch is copied first: as many numbers as the gradient has, for the parameter
//! and for each slot of its state.

use super::grouped::PIECE;
use crate::array::{Array, Dense, Number, all_finite, with_real};
use crate::error::Result;
use crate::interrupt;
use crate::simd::Scalar;
use crate::table::{Table, moves};

/// The rows `rows`, or all, of a table.
#[derive(Clone, Copy)]
pub(crate) struct Touched<'a> {
    pub table: &'a Table,
    pub rows: Option<&'a [u32]>,
}

impl<'a> Touched<'a> {
    /// Where there are numbers, and how many: row by row, or all in pieces.
    fn places<T: Number>(self) -> impl Iterator<Item = (*mut T, usize)> + 'a {
        let (start, size) = (self.table.pointer::<T>(), self.table.ty().size());
        let (length, count) = match self.rows {
            Some(rows) => (self.table.width(), rows.len()),
            None => (PIECE, size.div_ceil(PIECE)),
        };
        let row = move |k: usize| self.rows.map_or(k, |rows| rows[k] as usize);
        (0..count).map(move |k| {
            let at = row(k) * length;
            (start.wrapping_add(at), length.min(size - at))
        })
    }

    /// A copy of the rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory,
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the caller asked to stop.
    ///
    /// # Safety
    /// The table has the rows, and others reach them by moves if at all.
    pub(super) unsafe fn copy(self) -> Result<Array> {
        let count = self.rows.map_or(self.table.rows(), <[u32]>::len);
        Ok(with_real!(self.table.ty().dtype, T => {
            let mut out = Dense::<T>::zeros(&[count, self.table.width()])?;
            let (mut rest, mut unseen) = (out.make_mut()?, 0);
            for (at, length) in self.places::<T>() {
                let (to, others) = rest.split_at_mut(length);
                // SAFETY: the place is `length` numbers of the table, which others reach by moves if at
                // all; `to` is as long.
                unsafe { moves::load_row(at, to) };
                rest = others;
                unseen += length;
                if unseen >= PIECE {
                    interrupt::check()?;
                    unseen = 0;
                }
            }
            out.into()
        }))
    }

    /// Writes a copy back.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), and `copy` is one of these rows.
    pub(super) unsafe fn restore(self, copy: &Array) {
        with_real!(self.table.ty().dtype, T => {
            let mut rest = copy.view().real::<T>();
            for (at, length) in self.places::<T>() {
                let (from, others) = rest.split_at(length);
                // SAFETY: the place is `length` numbers of the table, which others reach by moves if at
                // all; `from` is as long.
                unsafe { moves::store_row_on(Scalar, at, from) };
                rest = others;
            }
        });
    }

    /// Whether all numbers are finite.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    pub(crate) unsafe fn is_finite(self) -> bool {
        const SOME: usize = 64;
        with_real!(self.table.ty().dtype, T => {
            let mut copy = [T::default(); SOME];
            for (at, length) in self.places::<T>() {
                let mut seen = 0;
                while seen < length {
                    let copy = &mut copy[..SOME.min(length - seen)];
                    // SAFETY: the place is `length` numbers of the table, which others reach by moves if
                    // at all, and from `seen` on there are as many as `copy` has.
                    unsafe { moves::load_row(at.wrapping_add(seen), copy) };
                    if !all_finite(copy) {
                        return false;
                    }
                    seen += SOME;
                }
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, Type};

    #[test]
    fn a_copy_of_a_long_table_ends_where_it_does() {
        let ty = Type::new(DType::F32, &[PIECE + 5]);
        let table = Table::zeros(&ty, None).unwrap();
        let touched = Touched {
            table: &table,
            rows: None,
        };
        // SAFETY: all rows are the table's, which this thread alone has.
        unsafe {
            let copy = touched.copy().unwrap();
            assert_eq!(copy.size(), PIECE + 5);
            touched.restore(&copy);
            assert!(touched.is_finite());
        }
    }
}
