//! Compressed sparse rows: which items each user has, sorted and without repeats.
//!
//! The set of interactions as ranking needs it: all items of one user are one
//! slice, and membership is a binary search. The layout is that of `scipy.sparse`
//! (`indptr`, `indices`) without values. Rows, columns and contents are checked
//! when it is built and cannot change afterwards.

use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::reserve;

/// A set of (user, item) pairs, grouped by user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    /// Row `u` is `indices[indptr[u]..indptr[u + 1]]`; starts with 0, never falls.
    indptr: Vec<usize>,
    /// Item numbers, rising strictly within a row.
    indices: Vec<u32>,
    n_items: usize,
}

impl Csr {
    /// Groups parallel columns of users and items. A pair that occurs more than
    /// once is kept once.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] when the columns differ in length, [`Error::Index`] when a
    /// number is not below `n_users` or `n_items`, [`Error::Memory`] when there is
    /// no memory for that many users or pairs.
    pub fn from_pairs(users: &[u32], items: &[u32], n_users: usize, n_items: usize) -> Result<Csr> {
        if users.len() != items.len() {
            return Err(Error::Shape(format!(
                "users and items must have the same length, found {} and {}",
                users.len(),
                items.len()
            )));
        }
        check_below("users", users, n_users)?;
        check_below("items", items, n_items)?;

        // A counting sort by user: ends[u] is where the next item of u goes.
        let mut indptr: Vec<usize> = zeros(n_users.saturating_add(1), "users")?;
        for &user in users {
            indptr[user as usize + 1] += 1;
        }
        for u in 0..n_users {
            indptr[u + 1] += indptr[u];
        }
        let mut next = room(indptr.len(), "users")?;
        next.extend_from_slice(&indptr);
        let mut indices: Vec<u32> = zeros(items.len(), "pairs")?;
        for (&user, &item) in users.iter().zip(items) {
            let place = &mut next[user as usize];
            indices[*place] = item;
            *place += 1;
        }

        // Sort each row and close the gaps that repeats leave.
        let mut kept = 0;
        let mut poller = Poller::default();
        for u in 0..n_users {
            let (start, end) = (indptr[u], indptr[u + 1]);
            poller.step((end - start) * 64)?;
            if !indices[start..end].is_sorted() {
                indices[start..end].sort_unstable();
            }
            indptr[u] = kept;
            let mut last = None;
            for at in start..end {
                let item = indices[at];
                if last != Some(item) {
                    indices[kept] = item;
                    kept += 1;
                    last = Some(item);
                }
            }
        }
        indptr[n_users] = kept;
        indices.truncate(kept);
        Ok(Csr {
            indptr,
            indices,
            n_items,
        })
    }

    /// Takes rows that are grouped already, as a file holds them.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] unless `indptr` starts with 0, never falls and ends with
    /// the length of `indices`, and each row rises strictly; [`Error::Index`] when
    /// an item is not below `n_items`.
    pub fn from_parts(indptr: Vec<usize>, indices: Vec<u32>, n_items: usize) -> Result<Csr> {
        check_offsets("indptr", &indptr, indices.len())?;
        check_below("indices", &indices, n_items)?;
        for (u, ends) in indptr.windows(2).enumerate() {
            let row = &indices[ends[0]..ends[1]];
            if let Some(pair) = row.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(Error::Value(format!(
                    "indices must rise within a row, found {} before {} in row {u}",
                    pair[0], pair[1]
                )));
            }
        }
        Ok(Csr {
            indptr,
            indices,
            n_items,
        })
    }

    /// The rows of `users`, in that order; a user may be asked for twice.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] when a user is not below [`n_users`](Csr::n_users),
    /// [`Error::Memory`] when there is no memory for so many rows or pairs.
    pub fn select(&self, users: &[u32]) -> Result<Csr> {
        check_below("users", users, self.n_users())?;
        let lengths = users.iter().map(|&user| self.row(user as usize).len());
        let pairs = lengths.fold(0, usize::saturating_add);
        let mut indptr = room(users.len() + 1, "users")?;
        let mut indices = room(pairs, "pairs")?;
        indptr.push(0);
        let mut poller = Poller::default();
        for &user in users {
            poller.step(self.row(user as usize).len() + 16)?;
            indices.extend_from_slice(self.row(user as usize));
            indptr.push(indices.len());
        }
        Ok(Csr {
            indptr,
            indices,
            n_items: self.n_items,
        })
    }

    /// The items of a user, rising; none for a user beyond the last.
    pub fn row(&self, user: usize) -> &[u32] {
        match self.indptr.get(user..=user.saturating_add(1)) {
            Some(&[start, end]) => &self.indices[start..end],
            _ => &[],
        }
    }

    /// Whether the pair is in the set.
    pub fn contains(&self, user: usize, item: u32) -> bool {
        self.row(user).binary_search(&item).is_ok()
    }

    /// Number of rows.
    pub fn n_users(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether no user has any item.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Where each row starts in [`indices`](Csr::indices), and where the last ends.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// The items of all rows, one row after the other.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }
}

/// The numbers of a rising row that are not in another one.
pub(super) fn difference<'a>(row: &'a [u32], mut other: &'a [u32]) -> impl Iterator<Item = u32> {
    row.iter().copied().filter(move |item| {
        while let Some((first, later)) = other.split_first()
            && first < item
        {
            other = later;
        }
        other.first() != Some(item)
    })
}

/// Refuses the first of `values` that is not below `limit`.
pub(crate) fn check_below(name: &str, values: &[u32], limit: usize) -> Result<()> {
    match values.iter().position(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(at) => Err(Error::Index(format!(
            "{name}[{at}] is {}, expected less than {limit}",
            values[at]
        ))),
    }
}

/// Refuses `offsets` that do not cut a sequence of length `len` into parts: they
/// must start with 0, never fall and end with `len`.
pub(crate) fn check_offsets(name: &str, offsets: &[usize], len: usize) -> Result<()> {
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(Error::Value(format!("{name} is empty, expected a first 0")));
    };
    if first != 0 || last != len {
        return Err(Error::Value(format!(
            "{name} must run from 0 to {len}, found {first} to {last}"
        )));
    }
    match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        None => Ok(()),
        Some(at) => Err(Error::Value(format!(
            "{name} must not fall, found {} before {} at {at}",
            offsets[at],
            offsets[at + 1]
        ))),
    }
}

/// An empty vector with room for `len` elements, or an error where memory has none.
pub(super) fn room<T>(len: usize, name: &str) -> Result<Vec<T>> {
    let mut empty = Vec::new();
    empty
        .try_reserve_exact(len)
        .map_err(|_| Error::Memory(format!("no memory for {len} {name}")))?;
    // The reserve is not for arrays.
    reserve::check()?;
    Ok(empty)
}

/// `len` zeros, or an error where memory has no room for them.
fn zeros<T: Clone + Default>(len: usize, name: &str) -> Result<Vec<T>> {
    let mut zeros = room(len, name)?;
    zeros.resize(len, T::default());
    Ok(zeros)
}
