//! Factors: what gives every (user, item) pair its score.
//!
//! `score[u, i] = users[u] · items[i] + bias[i]`, in f32. Rows are scored a block
//! at a time by one matrix product, which is what makes ranking all items for all
//! users affordable. A product copies the items into the order in which it reads them, which
//! pays only if several users share the copy: for [`FEW`] users each score is a dot product of
//! its own, at the speed at which items are read.
//!
//! Limits: the two ways add in different orders, so that scores of a user asked for alone and
//! among many may differ in the last bits.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, s};

use super::csr::Csr;
use crate::error::{Error, Result};
use crate::simd::{by_width, dot, multiversion};

/// Users for whom copying the items would not pay.
const FEW: usize = 4;

multiversion! {
    /// Adds to each score the product of the user's vector and an item's, the items being rows of as many
    /// numbers.
    fn add_products(m: M, user: &[f32], items: &[f32], scores: &mut [f32]) {
        by_width!(M, f32, user.len(), W => {
            let user = &user[..W];
            for (score, item) in scores.iter_mut().zip(items.chunks_exact(W)) {
                *score += dot::dot(m, user, item);
            }
        });
    }
}

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

    /// The factors of users.
    pub(super) fn users(&self) -> ArrayView2<'a, f32> {
        self.users
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

    /// Scores a range of items for some rows of users. `scores` holds one row of
    /// items after the other.
    pub(super) fn score(
        &self,
        users: ArrayView2<f32>,
        items: Range<usize>,
        scores: &mut [f32],
    ) -> Result<()> {
        let shape = (users.nrows(), items.len());
        let mut scores = ArrayViewMut2::from_shape(shape, scores)
            .map_err(|error| Error::Shape(format!("scores must have shape {shape:?}: {error}")))?;
        match self.bias {
            Some(bias) => scores.assign(&bias.slice(s![items.clone()])),
            None => scores.fill(0.0),
        }
        let items = self.items.slice(s![items, ..]);
        let width = users.ncols();
        if users.nrows() <= FEW
            && width > 0
            && let (Some(users), Some(items)) = (users.to_slice(), items.to_slice())
        {
            let rows = scores.as_slice_mut().unwrap_or_default();
            for (user, scores) in users
                .chunks_exact(width)
                .zip(rows.chunks_exact_mut(shape.1))
            {
                add_products(user, items, scores);
            }
            return Ok(());
        }
        general_mat_mul(1.0, &users, &items.t(), 1.0, &mut scores);
        Ok(())
    }
}

/// The error for a score that cannot be ranked.
pub(super) fn not_a_number(user: usize, item: u32) -> Error {
    Error::NotFinite(format!(
        "the score of user {user} and item {item} is not a number: \
         the factors hold NaN or are so large that their product overflows"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2};

    /// Numbers between -1/2 and 1/2 that look random.
    fn numbers(rows: usize, columns: usize, seed: usize) -> Array2<f32> {
        Array2::from_shape_fn((rows, columns), |(r, c)| {
            let x = (r * 7919 + c * 104_729 + seed * 31) % 9973;
            x as f32 / 9973.0 - 0.5
        })
    }

    #[test]
    fn few_users_are_scored_as_many_are() {
        for width in [1, 15, 16, 31, 32, 33, 64, 65, 200] {
            let (users, items) = (numbers(6, width, 1), numbers(70, width, 2));
            let bias: Array1<f32> = numbers(1, 70, 3).row(0).to_owned();
            let exact = users.mapv(f64::from).dot(&items.mapv(f64::from).t());
            let factors = Factors::new(users.view(), items.view(), Some(bias.view())).unwrap();
            for count in 1..=6 {
                let mut scores = vec![9.0; count * 60];
                let some = users.slice(s![..count, ..]);
                factors.score(some, 7..67, &mut scores).unwrap();
                for (k, score) in scores.into_iter().enumerate() {
                    let (user, item) = (k / 60, 7 + k % 60);
                    let expected = exact[[user, item]] + f64::from(bias[item]);
                    assert!(
                        (f64::from(score) - expected).abs() < 1e-5,
                        "{width} {count}"
                    );
                }
            }
        }
    }
}
