//! The items that are most similar to each item, by the users they have in common.
//!
//! For each item the users who had it are gone through, and for each of these the items that they had:
//! what two items have in common is added up in one row of numbers, of which only those that were
//! touched are looked at. So a matrix of all pairs of items is never held, and time is the sum over users
//! of the square of how many items they had.
//!
//! Sums are in double precision, in the order of users, by one thread for each item.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::csr_matrix::CsrMatrix;
use crate::array::{filled, vec_for};
use crate::error::{Error, Result};
use crate::{interrupt, split};

/// Items whose neighbours are found by one thread before another is asked for, at least.
const ITEMS: usize = 8;

/// How many times at most that is asked. Each part has memory for sums with all items, so that parts of a
/// fixed size would take the square of their number.
const PARTS: usize = 256;

/// How similar two items are, by the products p of their columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Similarity {
    /// `p(i,j) / (√p(i,i) √p(j,j) + shrink)`.
    Cosine,
    /// `p(i,j) / (p(i,i) + p(j,j) - p(i,j) + shrink)`: for values of 1 the share of users in common, and
    /// Tanimoto's coefficient for others.
    Jaccard,
    /// `p(i,j)`.
    Product,
}

/// A neighbour's similarity and number as one number, the greater the better: of equal similarities the
/// lower number. Similarities are positive, so that their bits are in their order.
fn key(similarity: f32, item: u32) -> u64 {
    u64::from(similarity.to_bits()) << 32 | u64::from(!item)
}

/// The `k` items that are most similar to each item, itself left out, and how similar they are: a matrix
/// of items by items. Only similarities above 0 count; of equal ones the item of the lower number.
///
/// # Errors
///
/// [`Error::Shape`] if `by_user` is not the transpose's size of `by_item`, [`Error::NotFinite`] if a
/// similarity is not a number, [`Error::Value`] if `shrink` is negative, [`Error::Memory`],
/// [`Error::Interrupted`].
pub fn nearest_items(
    by_item: &CsrMatrix,
    by_user: &CsrMatrix,
    similarity: Similarity,
    k: usize,
    shrink: f64,
    threads: usize,
) -> Result<CsrMatrix> {
    let (n_items, n_users) = (by_item.n_rows(), by_item.n_columns());
    if (by_user.n_columns(), by_user.n_rows()) != (n_items, n_users) {
        return Err(Error::Shape(format!(
            "by_item has shape ({n_items}, {n_users}), and by_user ({}, {}), expected its transpose",
            by_user.n_rows(),
            by_user.n_columns()
        )));
    }
    if shrink < 0.0 || !shrink.is_finite() {
        return Err(Error::Value(format!(
            "shrink is {shrink}, expected a finite number that is not negative"
        )));
    }
    let mut squares = vec_for(&[n_items])?;
    squares.extend((0..n_items).map(|item| {
        let values = by_item.row(item).1.iter();
        values.map(|&v| f64::from(v) * f64::from(v)).sum::<f64>()
    }));
    let search = NeighbourSearch {
        by_item,
        by_user,
        similarity,
        squares,
        k,
        shrink,
    };
    let mut found: Vec<Vec<(u32, f32)>> = filled(n_items, Vec::new())?;
    let size = ITEMS.max(n_items.div_ceil(PARTS));
    let parts = found.chunks_mut(size).enumerate();
    let threads = split::at_most(threads, parts.len());
    split::try_each(threads, parts, |(part, found)| {
        search.part(part * size, found)
    })?;

    let mut indptr = filled(n_items + 1, 0)?;
    for (item, row) in found.iter().enumerate() {
        indptr[item + 1] = indptr[item] + row.len();
    }
    let count = indptr[n_items];
    let (mut indices, mut values) = (vec_for(&[count])?, vec_for(&[count])?);
    for (item, value) in found.into_iter().flatten() {
        indices.push(item);
        values.push(value);
    }
    Ok(CsrMatrix::from_rows(indptr, indices, values, n_items))
}

/// What the search reads.
struct NeighbourSearch<'a> {
    by_item: &'a CsrMatrix,
    by_user: &'a CsrMatrix,
    similarity: Similarity,
    /// The product of each item with itself.
    squares: Vec<f64>,
    k: usize,
    shrink: f64,
}

impl NeighbourSearch<'_> {
    /// Finds the neighbours of some items, from `first` on.
    fn part(&self, first: usize, found: &mut [Vec<(u32, f32)>]) -> Result<()> {
        let mut common = filled(self.by_item.n_rows(), 0.0_f64)?;
        let mut touched: Vec<u32> = Vec::new();
        let mut best: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        for (item, found) in (first..).zip(found) {
            interrupt::check()?;
            let (users, values) = self.by_item.row(item);
            for (&user, &value) in users.iter().zip(values) {
                let (others, weights) = self.by_user.row(user as usize);
                for (&other, &weight) in others.iter().zip(weights) {
                    let sum = &mut common[other as usize];
                    if *sum == 0.0 {
                        touched.push(other);
                    }
                    *sum += f64::from(value) * f64::from(weight);
                }
            }
            for other in touched.drain(..) {
                let product = std::mem::take(&mut common[other as usize]);
                if product == 0.0 || other as usize == item {
                    continue;
                }
                let similarity = self.similarity_of(item, other as usize, product) as f32;
                if similarity.is_nan() || similarity == f32::INFINITY {
                    return Err(Error::NotFinite(format!(
                        "the similarity of items {item} and {other} is {similarity}"
                    )));
                }
                let key = key(similarity, other);
                if similarity > 0.0 && best.len() < self.k {
                    best.push(Reverse(key));
                } else if let Some(mut least) = best.peek_mut()
                    && similarity > 0.0
                    && least.0 < key
                {
                    *least = Reverse(key);
                }
            }
            let mut items = vec_for(&[best.len()])?;
            let mut row = vec_for(&[best.len()])?;
            // In the order of items, which their similarities are looked up by.
            items.extend(best.iter().map(|key| !(key.0 as u32)));
            items.sort_unstable();
            row.extend(items.into_iter().map(|item| (item, 0.0)));
            for key in best.drain() {
                let (item, similarity) = (!(key.0 as u32), f32::from_bits((key.0 >> 32) as u32));
                if let Ok(at) = row.binary_search_by_key(&item, |&(item, _)| item) {
                    row[at].1 = similarity;
                }
            }
            *found = row;
        }
        Ok(())
    }

    /// How similar two items are whose product is `product`.
    fn similarity_of(&self, item: usize, other: usize, product: f64) -> f64 {
        let (own, others) = (self.squares[item], self.squares[other]);
        let most = match self.similarity {
            Similarity::Cosine => own.sqrt() * others.sqrt(),
            Similarity::Jaccard => own + others - product,
            Similarity::Product => return product,
        };
        product / (most + self.shrink)
    }
}
