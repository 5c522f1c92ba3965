//! Factors: what gives every (user, item) pair its score.
//!
//! `score[u, i] = users[u] · items[i] + bias[i]`, in f32; `tiles.rs` computes them.

use ndarray::{ArrayView1, ArrayView2};

use super::csr::{Csr, room};
use crate::error::{Error, Result};

/// Borrowed factors of users and items, checked to fit together.
#[derive(Debug, Clone, Copy)]
pub struct Factors<'a> {
    users: ArrayView2<'a, f32>,
    items: ArrayView2<'a, f32>,
    bias: Option<ArrayView1<'a, f32>>,
}

impl<'a> Factors<'a> {
    /// `users` is (n, d), `items` is (m, d), `bias` has length m; any strides. A
    /// width d of 0 leaves the bias alone to rank.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use wyrmling::nn::Embedding;
    /// use wyrmling::rank::{Factors, top_k};
    ///
    /// let rng = &mut rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
    /// let (users, items) = (Embedding::new(3, 8, rng)?, Embedding::new(5, 8, rng)?);
    /// // ... and when these are trained:
    /// let users: ndarray::Array2<f32> = users.table.value()?.try_into()?;
    /// let items: ndarray::Array2<f32> = items.table.value()?.try_into()?;
    /// let factors = Factors::new(users.view(), items.view(), None)?;
    /// let never = std::sync::atomic::AtomicBool::new(false);
    /// assert_eq!(top_k(&factors, None, 2, &never)?.ids.len(), 3 * 2);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] when the shapes do not fit together, [`Error::Value`] for
    /// 2³² - 1 items or more: an item must have a 32-bit number below the one that
    /// stands for none.
    pub fn new(
        users: ArrayView2<'a, f32>,
        items: ArrayView2<'a, f32>,
        bias: Option<ArrayView1<'a, f32>>,
    ) -> Result<Factors<'a>> {
        if users.ncols() != items.ncols() {
            return Err(Error::Shape(format!(
                "users and items must have the same number of columns, found shapes {:?} and {:?}",
                users.dim(),
                items.dim()
            )));
        }
        if let Some(bias) = bias
            && bias.len() != items.nrows()
        {
            return Err(Error::Shape(format!(
                "bias must have one number an item, found {} for {} items",
                bias.len(),
                items.nrows()
            )));
        }
        if items.nrows() >= u32::MAX as usize {
            return Err(Error::Value(format!(
                "items has {} rows, expected less than {}",
                items.nrows(),
                u32::MAX
            )));
        }
        Ok(Factors { users, items, bias })
    }

    /// Number of users.
    pub fn n_users(&self) -> usize {
        self.users.nrows()
    }

    /// Number of items.
    pub fn n_items(&self) -> usize {
        self.items.nrows()
    }

    /// The factors of items.
    pub(super) fn items(&self) -> ArrayView2<'a, f32> {
        self.items
    }

    /// The biases of items.
    pub(super) fn bias(&self) -> Option<ArrayView1<'a, f32>> {
        self.bias
    }

    /// The vectors of so many users, one after the other.
    pub(super) fn vectors(&self, n: usize, users: impl Iterator<Item = usize>) -> Result<Vec<f32>> {
        let mut vectors = room(n.saturating_mul(self.users.ncols()), "vectors of users")?;
        for user in users {
            let vector = self.users.row(user);
            match vector.as_slice() {
                Some(numbers) => vectors.extend_from_slice(numbers),
                None => vectors.extend(vector),
            }
        }
        Ok(vectors)
    }

    /// Refuses a set of pairs that is not about the same users and items.
    pub(super) fn check_size(&self, name: &str, pairs: &Csr) -> Result<()> {
        if (pairs.n_users(), pairs.n_items()) == (self.n_users(), self.n_items()) {
            return Ok(());
        }
        Err(Error::Shape(format!(
            "{name} is about {} users and {} items, the factors about {} and {}",
            pairs.n_users(),
            pairs.n_items(),
            self.n_users(),
            self.n_items()
        )))
    }
}

/// The error for a score that cannot be ranked.
pub(super) fn not_a_number(user: usize, item: u32) -> Error {
    Error::NotFinite(format!(
        "the score of user {user} and item {item} is not a number: \
         the factors hold NaN or are so large that their product overflows"
    ))
}
