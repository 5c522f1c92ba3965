//! Which occurrences in a gradient belong to the same row.
//!
//! A small open-addressed table maps a row to the chain of its occurrences, in order of
//! arrival. It is as large as a batch, never as a parameter, and is used again for every
//! batch, so that grouping costs a few nanoseconds an occurrence and allocates nothing.
//!
//! Whether a row occurred before is random, so a branch on it would often be mispredicted, which
//! costs more than everything else here. Therefore nothing branches on it, and rows are looked up in
//! one pass and linked in another, so that loads do not wait for each other.

use crate::array::filled;
use crate::error::Result;

/// No further occurrence.
const NONE: u32 = u32::MAX;

/// Occurrences grouped by row. See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct DistinctRows {
    /// The rows in order of arrival, `len` of them.
    rows: Vec<u32>,
    len: usize,
    /// First and last occurrences of each row.
    first: Vec<u32>,
    last: Vec<u32>,
    /// For each occurrence whether it is the first of its row.
    is_first: Vec<bool>,
    /// For each occurrence the place of its row in `rows`.
    places: Vec<u32>,
    /// For each occurrence the next one of the same row. One entry more takes the links that
    /// first occurrences do not need.
    next: Vec<u32>,
    /// A row and its place in `rows`, by hash of the row. The length is a power of two and at
    /// least four times the number of occurrences, so searches are short, and end.
    table: Vec<u64>,
    /// Added to places in `table`: an entry with less is of a batch before and counts as empty,
    /// so that nothing needs to be cleared.
    base: u32,
}

impl DistinctRows {
    /// Room for `count` occurrences.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn new(count: usize) -> Result<Self> {
        let size = count.saturating_mul(4).checked_next_power_of_two();
        Ok(DistinctRows {
            rows: filled(count, 0)?,
            len: 0,
            first: filled(count, 0)?,
            last: filled(count, 0)?,
            is_first: filled(count, false)?,
            places: filled(count, 0)?,
            next: filled(count.saturating_add(1), NONE)?,
            table: filled(size.unwrap_or(usize::MAX), 0)?,
            base: 1,
        })
    }

    /// The same memory, if it has room for `count` occurrences; else new memory.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn with_room(self, count: usize) -> Result<Self> {
        match self.room() < count || self.table.is_empty() {
            true => Self::new(count),
            false => Ok(self),
        }
    }

    /// How many occurrences there is room for.
    pub(super) fn room(&self) -> usize {
        self.rows.len()
    }

    /// Makes room for `count` occurrences in all.
    fn reserve(&mut self, count: usize) {
        if self.room() < count || self.table.is_empty() {
            for list in [
                &mut self.rows,
                &mut self.first,
                &mut self.last,
                &mut self.places,
            ] {
                list.resize(count, 0);
            }
            self.is_first.resize(count, false);
            self.next.resize(count + 1, NONE);
            self.table = vec![0; (4 * count).next_power_of_two()];
            self.base = 1;
        }
    }

    /// Groups rows that come in parts. Allocates only if there is no room.
    pub(super) fn group(&mut self, parts: &[&[u32]]) {
        let count = parts.iter().map(|rows| rows.len()).sum();
        self.reserve(count);
        if self.base as usize + count > u32::MAX as usize {
            self.table.fill(0);
            self.base = 1;
        }
        let base = self.base;
        let bits = (4 * count).next_power_of_two().trailing_zeros();
        let table = &mut self.table[..1 << bits];
        let mask = table.len() - 1;
        let (places, is_first) = (&mut self.places[..count], &mut self.is_first[..count]);
        let (distinct, first) = (&mut self.rows[..count], &mut self.first[..count]);
        let (mut len, mut start) = (0, 0);
        for &rows in parts {
            let here = places[start..].iter_mut().zip(&mut is_first[start..]);
            for (number, (&row, (to, is_first))) in (start as u32..).zip(rows.iter().zip(here)) {
                // Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
                let mut at = u64::from(row.wrapping_mul(0x9E37_79B9)) << bits >> 32;
                // SAFETY: `at` is less than 2^`bits`, the length of `table`: it is a number of 32 bits
                // times 2^`bits`, of which the lowest 32 bits are dropped.
                let mut entry = unsafe { *table.get_unchecked(at as usize) };
                // Zero if the entry is empty or the row's: either ends the search.
                while ((entry >> 32) as u32 ^ row).min((entry as u32).saturating_sub(base - 1)) != 0
                {
                    at = (at + 1) & mask as u64;
                    // SAFETY: `mask` is one less than the length of `table`, a power of two, so `at` is
                    // less than that.
                    entry = unsafe { *table.get_unchecked(at as usize) };
                }
                let new = (entry as u32) < base;
                let place = if new { base + len as u32 } else { entry as u32 };
                // SAFETY: `at` is less than the length of `table`, whichever of the two lines above
                // computed it. `len` is at most the number of occurrences before this one, and so
                // less than `count`, the length of `distinct` and of `first`.
                unsafe {
                    // Written over by the next new row if this one is not new.
                    *distinct.get_unchecked_mut(len) = row;
                    *first.get_unchecked_mut(len) = number;
                    *table.get_unchecked_mut(at as usize) = u64::from(row) << 32 | u64::from(place);
                }
                *to = place - base;
                *is_first = new;
                len += usize::from(new);
            }
            start += rows.len();
        }
        self.len = len;
        self.base += len as u32;
    }

    /// Links the occurrences of each row.
    pub(super) fn link(&mut self, parts: &[&[u32]]) {
        let count: usize = parts.iter().map(|rows| rows.len()).sum();
        let next = &mut self.next[..=count];
        let last = &mut self.last[..self.len];
        last.fill(count as u32);
        for (number, &place) in self.places[..count].iter().enumerate() {
            let last = &mut last[place as usize];
            next[*last as usize] = number as u32;
            *last = number as u32;
            next[number] = NONE;
        }
    }

    /// The distinct rows.
    #[inline(always)]
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows[..self.len]
    }

    /// For each occurrence whether it is the first of its row.
    pub(super) fn is_first(&self) -> &[bool] {
        &self.is_first
    }

    /// The place of each occurrence's row among the distinct ones.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The first occurrence of distinct row `k`, by number over all parts.
    #[inline(always)]
    pub(super) fn first(&self, k: usize) -> usize {
        self.first[k] as usize
    }

    /// The next occurrence of the same row, once they are [linked](Self::link).
    #[inline(always)]
    pub(super) fn next(&self, occurrence: usize) -> Option<usize> {
        match self.next[occurrence] {
            NONE => None,
            next => Some(next as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The numbers by which entries of a batch are told from those of others run out.
    #[test]
    fn numbers_run_out_also_where_a_batch_is_one_row() {
        let mut distinct = DistinctRows::new(4).unwrap();
        distinct.base = u32::MAX - 1;
        for row in [7, 3, 7, 7] {
            distinct.group(&[&[row]]);
            assert_eq!(distinct.rows(), [row]);
        }
    }

    proptest! {
        #[test]
        fn occurrences_are_grouped_in_order(batches in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(0u32..40, 0..60), 0..3), 1..4,
        ), offset in prop::sample::select(vec![0, 1 << 20, u32::MAX - 39]), room in prop_oneof![0usize..9, 150usize..152]) {
            let mut distinct = DistinctRows::new(room).unwrap();
            // Entries of a batch before are found, and the numbers that tell run out.
            if room % 2 == 1 {
                distinct.base = u32::MAX - 100;
            }
            for mut parts in batches {
                parts.iter_mut().flatten().for_each(|row| *row += offset);
                let slices: Vec<&[u32]> = parts.iter().map(|rows| &rows[..]).collect();
                distinct.group(&slices);
                distinct.link(&slices);
                let rows = parts.concat();
                let mut expected: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
                for (number, &row) in rows.iter().enumerate() {
                    expected.entry(row).or_default().push(number);
                    prop_assert_eq!(distinct.rows()[distinct.places()[number] as usize], row);
                    prop_assert_eq!(distinct.is_first()[number], !rows[..number].contains(&row));
                }
                prop_assert_eq!(distinct.rows().len(), expected.len());
                for (k, row) in distinct.rows().iter().enumerate() {
                    let mut chain = vec![distinct.first(k)];
                    while let Some(next) = distinct.next(*chain.last().expect("not empty")) {
                        chain.push(next);
                    }
                    prop_assert_eq!(&chain, &expected[row]);
                    prop_assert!(k == 0 || distinct.first(k - 1) < chain[0]);
                }
            }
        }
    }
}
