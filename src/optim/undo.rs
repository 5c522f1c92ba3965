//! Rows as they were before a step, to take it back.
//!
//! A step by hand is all or nothing, also where only its result shows that it went wrong.
//! What it will touch is copied first: as many numbers as the gradient has, for the parameter
//! and for each slot of its state.

use super::grouped::PIECE;
use crate::array::{Array, Dense, Number, Real, with_real};
use crate::error::Result;
use crate::interrupt;
use crate::simd::Scalar;
use crate::table::{Table, moves};

/// Rows as they were: a few numbers in place, as `f64`, which holds those of both types exactly; more
/// in an array.
pub(super) enum RowsCopy {
    Few([f64; FEW]),
    Many(Array),
}

/// How many numbers are copied without memory of their own.
const FEW: usize = 8;

/// The rows `rows`, or all, of a table.
#[derive(Clone, Copy)]
pub(crate) struct Touched<'a> {
    pub table: &'a Table,
    pub rows: Option<&'a [u32]>,
}

impl<'a> Touched<'a> {
    /// Where there are numbers, and how many: row by row, or all in pieces.
    fn places<T: Number>(self) -> impl Iterator<Item = (*mut T, usize)> + 'a {
        let (start, size) = (self.table.pointer::<T>(), self.table.size());
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

    /// Prefetches the first of the rows.
    pub(super) fn prefetch(self) {
        const FEW: usize = 16;
        let bytes = self.table.width() * self.table.ty().dtype.size();
        for &row in self.rows.unwrap_or_default().iter().take(FEW) {
            let start = self.table.address().wrapping_add(row as usize * bytes);
            moves::prefetch(start, bytes);
        }
    }

    /// How many rows there are.
    fn count(self) -> usize {
        self.rows.map_or(self.table.rows(), <[u32]>::len)
    }

    /// A copy of the rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory,
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the caller asked to stop.
    ///
    /// # Safety
    /// The table has the rows, and others reach them by moves if at all.
    pub(super) unsafe fn copy(self) -> Result<RowsCopy> {
        let (count, width) = (self.count(), self.table.width());
        // There may be more numbers than fit `usize` if rows occur more than once.
        let size = count.saturating_mul(width);
        with_real!(self.table.ty().dtype, T => {
            if size <= FEW {
                let mut few = [T::default(); FEW];
                // SAFETY: the rows are the table's and others reach them by moves, by the conditions of
                // this function; they have `size` numbers.
                unsafe { self.load(&mut few[..size]) }?;
                return Ok(RowsCopy::Few(few.map(T::to)));
            }
            let mut out = Dense::<T>::zeros(&[count, width])?;
            // SAFETY: the rows are the table's and others reach them by moves, by the conditions of this
            // function; `out` has `count` rows of `width` numbers, as many as they have.
            unsafe { self.load(out.make_mut()?) }?;
            Ok(RowsCopy::Many(out.into()))
        })
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the caller asked to stop.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), and `T` is the type of the table's numbers.
    unsafe fn load<T: Number>(self, mut to: &mut [T]) -> Result<()> {
        let mut unseen = 0;
        for (at, length) in self.places::<T>() {
            let (row, others) = to.split_at_mut(length);
            // SAFETY: the place is `length` numbers of the table, which others reach by moves if at
            // all; `row` is as long.
            unsafe { moves::load_row(at, row) };
            to = others;
            unseen += length;
            if unseen >= PIECE {
                interrupt::check()?;
                unseen = 0;
            }
        }
        Ok(())
    }

    /// Writes a copy back.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), and `copy` is one of these rows.
    pub(super) unsafe fn restore(self, copy: &RowsCopy) {
        with_real!(self.table.ty().dtype, T => {
            let few;
            let numbers: &[T] = match copy {
                RowsCopy::Few(numbers) => {
                    few = numbers.map(T::of);
                    &few
                }
                RowsCopy::Many(array) => array.view().real::<T>(),
            };
            let mut rest = numbers;
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
        // SAFETY: by the conditions of this function, which are the same.
        unsafe { self.is_within(f64::INFINITY) }
    }

    /// Whether all numbers are finite, and between -`limit` and `limit`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    pub(super) unsafe fn is_within(self, limit: f64) -> bool {
        // So many at a time: LLVM keeps them in registers.
        const SOME: usize = 16;
        with_real!(self.table.ty().dtype, T => {
            let limit = T::of(limit).min(T::MAX);
            let is_within = |all, x: &T| all & (x.abs() <= limit);
            self.places::<T>().all(|(at, length)| {
                let mut all = true;
                let rest = length % SOME;
                for seen in (0..length - rest).step_by(SOME) {
                    let mut copy = [T::default(); SOME];
                    // SAFETY: the place is `length` numbers of the table, which others reach by moves if
                    // at all, and from `seen` on there are `SOME` of them or more.
                    unsafe { moves::load_row(at.wrapping_add(seen), &mut copy) };
                    all = copy.iter().fold(all, is_within);
                }
                for k in length - rest..length {
                    // SAFETY: `k` is less than `length`; the rest is as above.
                    let x: T = unsafe { moves::load(at.wrapping_add(k)) };
                    all = is_within(all, &x);
                }
                all
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, Type};

    #[test]
    fn a_copy_has_the_bits_of_special_numbers() {
        fn check<T: Number>(numbers: &[T])
        where
            Array: From<Dense<T>>,
        {
            // As many as are copied in place, and more.
            for repeats in [1, 5] {
                let numbers = numbers.repeat(repeats);
                let value = Array::from(Dense::new(&[numbers.len()], numbers).unwrap());
                let table = Table::new(&value, None).unwrap();
                let touched = Touched {
                    table: &table,
                    rows: None,
                };
                // SAFETY: all rows are the table's, which this thread alone has.
                unsafe {
                    let copy = touched.copy().unwrap();
                    table.write(&Array::full(&value.ty(), 1.0)).unwrap();
                    touched.restore(&copy);
                }
                let bits = |array: &Array| -> Vec<u64> {
                    array.to_f64().into_iter().map(f64::to_bits).collect()
                };
                assert_eq!(bits(&table.read()), bits(&value));
            }
        }
        check(&[0.0, -0.0, 1e-45, f32::MIN_POSITIVE, f32::MAX, f32::MIN, 0.1]);
        check(&[
            0.0,
            -0.0,
            5e-324,
            f64::MIN_POSITIVE,
            f64::MAX,
            f64::MIN,
            0.1,
        ]);
    }

    #[test]
    fn one_number_beyond_the_limit_is_seen_wherever_it_is() {
        fn check<T: Number>(inside: &[T], outside: &[T]) {
            for width in [1, 2, 15, 16, 17, 31, 32, 33, 48] {
                let ty = Type::new(T::DTYPE, &[3, width]);
                for at in 0..3 * width {
                    for (&x, is_outside) in inside
                        .iter()
                        .map(|x| (x, false))
                        .chain(outside.iter().map(|x| (x, true)))
                    {
                        // What is written to a table is finite.
                        let table = Table::zeros(&ty, None).unwrap();
                        // SAFETY: the table has the number, and this thread alone has the table.
                        unsafe { moves::store(table.pointer::<T>().wrapping_add(at), x) };
                        let row = (at / width) as u32;
                        let others = [(row + 1) % 3, (row + 2) % 3];
                        let all = [None, Some(&[row][..]), Some(&others[..])];
                        for rows in all {
                            let touched = Touched {
                                table: &table,
                                rows,
                            };
                            let seen = is_outside && rows != Some(&others[..]);
                            // SAFETY: all rows are the table's, which this thread alone has.
                            let (within, finite) =
                                unsafe { (touched.is_within(2.0), touched.is_finite()) };
                            assert_eq!(within, !seen, "{x:?} at {at} of {width}, {rows:?}");
                            assert_eq!(finite, x.is_finite() || !seen, "{x:?} at {at}");
                        }
                    }
                }
            }
        }
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let above = 2.0_f64.next_up();
        check(
            &[2.0, -2.0, -0.0, 5e-324],
            &[above, -above, f64::MAX, nan, inf, -inf],
        );
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let above = 2.0_f32.next_up();
        check(
            &[2.0, -2.0, -0.0, 1e-45],
            &[above, -above, f32::MAX, nan, inf, -inf],
        );
    }

    #[test]
    fn a_copy_ends_where_the_table_does_and_is_put_back() {
        for (shape, rows) in [
            (&[PIECE + 5][..], None),
            (&[3], None),
            (&[4, 2], None),
            (&[9, 3], Some(&[7_u32, 0, 7][..])),
            (&[9, 2], Some(&[8, 1, 8][..])),
            (&[5, 0], Some(&[4][..])),
            (&[5, 2], Some(&[][..])),
        ] {
            for dtype in [DType::F32, DType::F64] {
                let count = shape.iter().product::<usize>();
                let numbers: Vec<f64> = (0..count).map(|n| 0.1 + n as f64).collect();
                let value = Array::from(Dense::new(shape, numbers).unwrap()).to_dtype(dtype);
                let table = Table::new(&value, None).unwrap();
                let touched = Touched {
                    table: &table,
                    rows,
                };
                let before = table.read();
                // SAFETY: all rows are the table's, which this thread alone has.
                unsafe {
                    let copy = touched.copy().unwrap();
                    let small = touched.count() * table.width() <= FEW;
                    assert_eq!(small, matches!(copy, RowsCopy::Few(_)), "{shape:?}");
                    table.write(&Array::full(&value.ty(), 0.0)).unwrap();
                    touched.restore(&copy);
                    assert!(touched.is_finite());
                }
                let (before, after) = (before.to_f64(), table.read().to_f64());
                let width = table.width();
                for (at, number) in after.iter().enumerate() {
                    let is_touched = rows.is_none_or(|rows| rows.contains(&((at / width) as u32)));
                    let expected = if is_touched { before[at] } else { 0.0 };
                    assert_eq!(*number, expected, "{shape:?} {dtype} {at}");
                }
            }
        }
    }
}
