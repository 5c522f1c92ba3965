//! Embedding bags that an index chooses: sums of rows of tables, and gradients that are rows of them.
//!
//! How many rows the bags of a batch have depends on its index, and a plan's values have lengths of
//! their own. So the sums are computed straight from the table, and the gradient stays one row for each
//! bag until the run is over. Then it is written out, a row at each place, to memory that grows as
//! batches need it.
//!
//! Limits: numbers of bags and rows are compared here, each time, not before a run, so nothing is
//! promised of them; the table is reached by moves alone meanwhile, which the caller of
//! [`Executor::run`](crate::exec::Executor::run) promises.

use super::table_rows::RowRecords;
use crate::array::Number;
use crate::error::Result;
use crate::optim::gradient::Term;
use crate::rules::BagIndex;
use crate::simd::{self, by_width, multiversion};
use crate::table::{Table, moves};

/// Numbers of a row that are copied at a time.
const MOVED: usize = 64;

multiversion! {
    @avx2
    /// Sums the rows of bags, which are of a table with so many rows.
    ///
    /// # Errors
    /// As [`BagIndex::each`].
    pub(in crate::exec) fn sum<T: Number>(
        m: M, table: &Table, bags: BagIndex<'_>, weights: Option<&[T]>, out: &mut [T],
    ) -> Result<()> {
        assert!(bags.rows() == table.rows(), "bags are of this table's rows");
        out.fill(T::zero());
        let start = table.pointer::<T>();
        by_width!(M, T, table.width(), [32, 64], W => bags.each(|b, place, row| {
            let weight = weights.map_or(T::one(), |w| w[place]);
            let mut from = start.wrapping_add(row * W);
            let mut copy = [T::zero(); MOVED];
            for out in out[b * W..(b + 1) * W].chunks_mut(MOVED) {
                let copy = &mut copy[..out.len()];
                // SAFETY: `row` is below the number of rows that the bags were made for, which was found
                // to be the table's, and the parts of a row are as long as the row, together; racing
                // workers use the same moves.
                unsafe { moves::load_row_on(m, from, copy) };
                simd::dot::axpy(m, weight, copy, out);
                from = from.wrapping_add(out.len());
            }
        }))
    }
}

multiversion! {
    @avx2
    /// Writes the sum of the terms of each bag, times the weight, for each of its places.
    ///
    /// # Errors
    /// As [`BagIndex::each`].
    fn write_rows<T: Number>(
        m: M, bags: BagIndex<'_>, weights: Option<&[T]>, terms: &[Term<&[T]>], width: usize, out: &mut [T],
    ) -> Result<()> {
        let mut at = 0;
        by_width!(M, T, width, [32, 64], W => bags.each(|b, place, _| {
            let weight = weights.map_or(T::one(), |w| w[place]);
            let out = &mut out[at..at + W];
            at += W;
            for (number, term) in terms.iter().enumerate() {
                let factor = term.scale.map_or(weight, |s| weight * s[b]);
                let row = &term.rows[b * W..(b + 1) * W];
                match number {
                    0 => simd::dot::scale_into(m, factor, row, out),
                    _ => simd::dot::axpy(m, factor, row, out),
                }
            }
        }))
    }
}

/// Writes a gradient out as rows, a row for each place of each bag: `terms` add up to a row of `width`
/// numbers for each bag.
///
/// # Errors
/// As [`BagIndex::each`], and [`Memory`](crate::Error::Memory) if there is not the memory.
pub(in crate::exec) fn write_out<T: Number>(
    bags: BagIndex<'_>,
    weights: Option<&[T]>,
    terms: &[Term<&[T]>],
    width: usize,
    out: &mut RowRecords,
) -> Result<()> {
    out.resize(bags.count()?, width)?;
    let (indices, mut rows) = out.parts_mut();
    let mut indices = indices.iter_mut();
    bags.each(|_, _, row| {
        if let Some(index) = indices.next() {
            *index = row as u32;
        }
    })?;
    write_rows(bags, weights, terms, width, T::slice_mut(&mut rows))
}
