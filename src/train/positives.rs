//! Positives: the items that each user had, which a sampler must not draw as negatives for them.
//!
//! The rows of a [`Csr`]. Users may have any numbers of 32 bits: where the largest is far beyond
//! how many there are, a row stands for one of those that occur, found by bisection.

use crate::array::vec_for;
use crate::error::Result;
use crate::rank::Csr;

/// The positives of each user, sorted and distinct.
#[derive(Debug, Clone)]
pub(super) struct Positives {
    /// Which user each row is of, rising; `None` if every user up to the last has a row.
    users: Option<Vec<u32>>,
    rows: Csr,
}

impl Positives {
    /// Groups pairs, user `users[k]` had item `items[k]`, by user.
    ///
    /// # Errors
    /// As [`Csr::from_pairs`].
    pub(super) fn new(users: &[u32], items: &[u32], n_items: u32) -> Result<Positives> {
        let n_users = users
            .iter()
            .max()
            .map_or(0, |&last| (last as usize).saturating_add(1));
        if n_users <= 16 * users.len() + 1024 {
            let rows = Csr::from_pairs(users, items, n_users, n_items as usize)?;
            return Ok(Positives { users: None, rows });
        }
        let mut distinct = vec_for(&[users.len()])?;
        distinct.extend_from_slice(users);
        distinct.sort_unstable();
        distinct.dedup();
        let row = |user| distinct.partition_point(|other| other < user) as u32;
        let mut places: Vec<u32> = vec_for(&[users.len()])?;
        places.extend(users.iter().map(row));
        let rows = Csr::from_pairs(&places, items, distinct.len(), n_items as usize)?;
        Ok(Positives {
            users: Some(distinct),
            rows,
        })
    }

    /// What a user knows.
    #[inline]
    pub(super) fn row(&self, user: u32) -> &[u32] {
        match &self.users {
            None => self.rows.row(user as usize),
            Some(users) => match users.binary_search(&user) {
                Ok(row) => self.rows.row(row),
                Err(_) => &[],
            },
        }
    }

    /// Every user that has a row, and the row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, &[u32])> {
        (0..self.rows.n_users()).map(|row| {
            let user = self.users.as_ref().map_or(row as u32, |users| users[row]);
            (user, self.rows.row(row))
        })
    }
}
