//! Positives: the items that each user had, which a sampler must not draw as negatives for them.
//!
//! The rows of a [`Csr`]. Users may have any numbers of 32 bits: where the largest is far beyond
//! how many there are, a row stands for one of those that occur, found by bisection.
//!
//! Whether a user knows an item is asked for each draw, so each row has a filter beside it: a power
//! of two of bits, of which those with the numbers of its items, modulo that power, are set. An item
//! whose bit is not set is unknown, which one load tells. As many bits as there are items tell
//! everything; a row that is sparser has fewer, a [`SPARE`]th of them set at most, and is searched
//! if the bit is set. That is a Bloom filter with one hash function (B. H. Bloom, 1970), and a bitmap
//! where the row is dense.
//!
//! Limits: 2 to 4 bytes of filter a pair, at most `items / 4` bytes and at least 8 a user.

use crate::array::{filled, vec_for};
use crate::error::Result;
use crate::rank::Csr;

/// Bits of a filter for each item of its row, at least.
const SPARE: usize = 16;

/// The positives of each user, sorted and distinct.
#[derive(Debug, Clone)]
pub(in crate::train) struct Positives {
    /// Which user each row is of, rising; `None` if every user up to the last has a row.
    users: Option<Vec<u32>>,
    rows: Csr,
    /// The filters of all rows. That of row `r` is `filters[starts[r]..starts[r + 1]]`: a power of two
    /// of words, or none for a row without items.
    filters: Vec<u64>,
    starts: Vec<usize>,
}

/// What a user knows.
#[derive(Debug, Clone, Copy)]
pub(in crate::train) struct KnownItems<'a> {
    /// Where the items are, and the number of their row: most draws read the filter alone.
    row: Option<(&'a Csr, usize)>,
    filter: &'a [u64],
    /// Whether the filter has a bit for each item.
    is_bitmap: bool,
}

impl<'a> KnownItems<'a> {
    /// Knows nothing.
    pub(in crate::train) const NOTHING: KnownItems<'static> = KnownItems {
        row: None,
        filter: &[],
        is_bitmap: true,
    };

    /// The items, rising.
    pub(in crate::train) fn row(&self) -> &'a [u32] {
        self.row.map_or(&[], |(rows, number)| rows.row(number))
    }

    /// The pairs of all users, and the number of the row; `None` if nothing is known.
    pub(in crate::train) fn place(&self) -> Option<(&'a Csr, usize)> {
        self.row
    }

    /// Whether this item is known.
    #[inline(always)]
    pub(in crate::train) fn contains(&self, item: u32) -> bool {
        let words = self.filter.len();
        let at = (item / 64) as usize & words.wrapping_sub(1);
        // Of no words there is none at any place.
        let Some(word) = self.filter.get(at) else {
            return false;
        };
        word >> (item % 64) & 1 == 1 && (self.is_bitmap || self.row().binary_search(&item).is_ok())
    }
}

impl Positives {
    /// Groups pairs, user `users[k]` had item `items[k]`, by user.
    ///
    /// # Errors
    /// As [`Csr::from_pairs`].
    pub(in crate::train) fn new(users: &[u32], items: &[u32], n_items: u32) -> Result<Positives> {
        let n_users = users
            .iter()
            .max()
            .map_or(0, |&last| (last as usize).saturating_add(1));
        if n_users <= 16 * users.len() + 1024 {
            let rows = Csr::from_pairs(users, items, n_users, n_items as usize)?;
            return Positives::of(None, rows);
        }
        let mut distinct = vec_for(&[users.len()])?;
        distinct.extend_from_slice(users);
        distinct.sort_unstable();
        distinct.dedup();
        let row = |user| distinct.partition_point(|other| other < user) as u32;
        let mut places: Vec<u32> = vec_for(&[users.len()])?;
        places.extend(users.iter().map(row));
        let rows = Csr::from_pairs(&places, items, distinct.len(), n_items as usize)?;
        Positives::of(Some(distinct), rows)
    }

    /// Adds filters to rows.
    fn of(users: Option<Vec<u32>>, rows: Csr) -> Result<Positives> {
        let words = |row: &[u32]| match row.len() {
            0 => 0,
            n => (SPARE * n)
                .min(rows.n_items())
                .div_ceil(64)
                .next_power_of_two(),
        };
        let mut starts = vec_for(&[rows.n_users() + 1])?;
        starts.push(0);
        for row in 0..rows.n_users() {
            starts.push(starts[row] + words(rows.row(row)));
        }
        let mut filters = filled(starts[rows.n_users()], 0)?;
        for row in 0..rows.n_users() {
            let filter = &mut filters[starts[row]..starts[row + 1]];
            for &item in rows.row(row) {
                filter[(item / 64) as usize & (filter.len() - 1)] |= 1 << (item % 64);
            }
        }
        Ok(Positives {
            users,
            rows,
            filters,
            starts,
        })
    }

    /// What a user knows.
    #[inline(always)]
    pub(in crate::train) fn of_user(&self, user: u32) -> KnownItems<'_> {
        let row = match &self.users {
            None => user as usize,
            Some(users) => match users.binary_search(&user) {
                Ok(row) => row,
                Err(_) => return KnownItems::NOTHING,
            },
        };
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&start), Some(&end)) => KnownItems {
                row: Some((&self.rows, row)),
                filter: &self.filters[start..end],
                is_bitmap: 64 * (end - start) >= self.rows.n_items(),
            },
            _ => KnownItems::NOTHING,
        }
    }

    /// The pairs of all users.
    pub(in crate::train) fn pairs(&self) -> &Csr {
        &self.rows
    }

    /// Every user that has a row, and the row.
    pub(in crate::train) fn rows(&self) -> impl Iterator<Item = (u32, &[u32])> {
        (0..self.rows.n_users()).map(|row| {
            let user = self.users.as_ref().map_or(row as u32, |users| users[row]);
            (user, self.rows.row(row))
        })
    }
}
