//! Scores of some users, one tile of items after another.
//!
//! Before the first, the items are copied once, transposed, a tile after the other: so
//! [`add_product`] reads them in sequence, for every block of users and on every thread. The copy
//! pays only if several users share it: for [`FEW`] users each score is a dot product of its own, at
//! the speed at which items are read.
//!
//! Limits: the copy is as large as the items. The two ways add in different orders, so that scores of
//! a user asked for alone and among many may differ in the last bits; among more than `FEW` a score does
//! not depend on the other users.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::{ArrayView2, Axis, s};

use super::csr::room;
use super::factors::Factors;
use crate::error::Result;
use crate::simd::four::UNIT;
use crate::simd::product::{Strided, add_product};
use crate::simd::{by_width, dot, mul_add, multiversion, rows};
use crate::table::moves::prefetch;

/// Users for whom copying the items would not pay.
const FEW: usize = 8;
/// Numbers between an item that is scored and what is fetched into the cache meanwhile.
const AHEAD: usize = 1 << 11;
/// Users scored together: their scores of a tile, and the tile, are half a megabyte.
pub(super) const USERS: usize = 64;
/// Items of a tile: an odd number of times [`UNIT`], lest rows of a tile fall on the same lines of a cache.
const ITEMS: usize = 65 * UNIT;

multiversion! {
    /// Adds to each score the product of the user's vector and an item's, the items being rows of as many
    /// numbers.
    fn add_products(m: M, user: &[f32], items: &[f32], scores: &mut [f32]) {
        by_width!(M, f32, user.len(), [32, 64, 128], W => {
            let user = &user[..W];
            for (score, item) in scores.iter_mut().zip(rows(items, W)) {
                for line in item.chunks(UNIT) {
                    prefetch(line.as_ptr().wrapping_add(AHEAD), 1);
                }
                *score += dot::dot(m, user, item);
            }
        });
    }
}

multiversion! {
    /// Adds to each score the product of the user's vector and an item's, in the order of [`add_product`].
    fn add_in_order(user: &[f32], items: [&[f32]; UNIT], scores: &mut [f32; UNIT]) {
        let width = user.len();
        // Four sums at a time are in registers, and none waits for the one before.
        for (items, scores) in items.as_chunks::<4>().0.iter().zip(scores.as_chunks_mut::<4>().0) {
            let [a, b, c, d] = [&items[0][..width], &items[1][..width], &items[2][..width], &items[3][..width]];
            let [mut p, mut q, mut r, mut s] = *scores;
            let mut at = 0;
            while at < width {
                let x = user[at];
                p = mul_add::<M, f32>(x, a[at], p);
                q = mul_add::<M, f32>(x, b[at], q);
                r = mul_add::<M, f32>(x, c[at], r);
                s = mul_add::<M, f32>(x, d[at], s);
                at += 1;
            }
            *scores = [p, q, r, s];
        }
    }
}

/// Factors in the order in which they are multiplied.
pub(super) struct Tiles<'a, 'f> {
    factors: &'a Factors<'f>,
    /// The items of each tile, transposed: rows are [`stride`] apart. None for few users.
    packed: Option<Vec<f32>>,
    /// Zeros after the last item's, up to the stride of its tile.
    bias: Option<Vec<f32>>,
}

/// From a row of a tile to the next, for so many items.
fn stride(items: usize) -> usize {
    (items.div_ceil(UNIT) | 1) * UNIT
}

impl<'a, 'f> Tiles<'a, 'f> {
    /// For the scores of so many users.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::error::Error::Memory) when there is no memory for the copy.
    pub(super) fn new(factors: &'a Factors<'f>, n_users: usize) -> Result<Self> {
        let width = factors.items().ncols();
        let few = n_users <= FEW && width > 0 && factors.items().is_standard_layout();
        if few {
            let (packed, bias) = (None, None);
            return Ok(Tiles {
                factors,
                packed,
                bias,
            });
        }
        Tiles::packed(factors)
    }

    /// For many users, however many there are.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub(super) fn packed(factors: &'a Factors<'f>) -> Result<Self> {
        let (n_items, width) = factors.items().dim();
        let last = n_items - n_items % ITEMS;
        let padded = last + stride(n_items % ITEMS);
        let mut packed = room(padded.saturating_mul(width), "packed factors of items")?;
        let mut bias = None;
        if let Some(given) = factors.bias() {
            let copied = bias.insert(room(padded, "biases")?);
            copied.extend(given);
            copied.resize(padded, 0.0);
        }
        packed.resize(padded * width, 0.0);
        if width > 0 {
            for (tile, packed) in packed.chunks_mut(ITEMS * width).enumerate() {
                let start = tile * ITEMS;
                let items = factors.items();
                let items = items.slice(s![start..n_items.min(start + ITEMS), ..]);
                transpose(items, packed, packed.len() / width);
            }
        }
        Ok(Tiles {
            factors,
            packed: Some(packed),
            bias,
        })
    }

    /// The tiles, as ranges of items.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let n_items = self.factors.n_items();
        (0..n_items)
            .step_by(ITEMS)
            .map(move |start| start..n_items.min(start + ITEMS))
    }

    /// Most numbers that the scores of a user for a tile take.
    pub(super) fn row(&self) -> usize {
        stride(self.factors.n_items().min(ITEMS))
    }

    /// Scores a tile for each of some users, whose vectors lie one after the other. `scores` has room for
    /// [`row`](Self::row) numbers a user. What is returned are its rows, which begin with the scores.
    pub(super) fn score<'s>(
        &self,
        users: &[f32],
        n_users: usize,
        tile: &Range<usize>,
        scores: &'s mut [f32],
    ) -> std::slice::ChunksExactMut<'s, f32> {
        let width = self.factors.items().ncols();
        let row = stride(tile.len());
        let scores = &mut scores[..n_users * row];
        let Some(packed) = &self.packed else {
            let items = self.factors.items();
            let items = items.slice_move(s![tile.clone(), ..]);
            let items = items.to_slice().unwrap_or_default();
            for (user, scores) in users.chunks_exact(width).zip(scores.chunks_exact_mut(row)) {
                let scores = &mut scores[..tile.len()];
                let bias = self.factors.bias();
                let bias = bias.map(|bias| bias.slice_move(s![tile.clone()]));
                match bias.map(|bias| (bias.to_slice(), bias)) {
                    Some((Some(bias), _)) => scores.copy_from_slice(bias),
                    Some((None, bias)) => {
                        let both = scores.iter_mut().zip(bias);
                        both.for_each(|(score, bias)| *score = *bias);
                    }
                    None => scores.fill(0.0),
                }
                add_products(user, items, scores);
            }
            return scores.chunks_exact_mut(row);
        };
        match &self.bias {
            Some(bias) => {
                let bias = &bias[tile.start..tile.start + row];
                let rows = scores.chunks_exact_mut(row);
                rows.for_each(|scores| scores.copy_from_slice(bias));
            }
            None => scores.fill(0.0),
        }
        let items = &packed[tile.start * width..(tile.start + row) * width];
        let users = Strided {
            of: users,
            row: width,
            column: 1,
        };
        add_product([n_users, width, row], users, items, scores, row);
        scores.chunks_exact_mut(row)
    }

    /// The scores of a user for some items, with the bits that [`score`](Self::score) gives them, of
    /// factors that are [`packed`](Self::packed).
    pub(super) fn score_items(&self, user: &[f32], items: &[u32], scores: &mut Vec<f32>) {
        for items in items.chunks(UNIT) {
            // What is left over scores the last item again.
            let number = |at: usize| items[at.min(items.len() - 1)] as usize;
            let bias = |item: usize| self.bias.as_ref().map_or(0.0, |bias| bias[item]);
            let mut sums = std::array::from_fn(|at| bias(number(at)));
            let rows: [Cow<[f32]>; UNIT] = std::array::from_fn(|at| {
                let row = self.factors.items().index_axis_move(Axis(0), number(at));
                (row.to_slice()).map_or_else(|| row.to_vec().into(), Cow::from)
            });
            add_in_order(user, rows.each_ref().map(|row| &**row), &mut sums);
            scores.extend(&sums[..items.len()]);
        }
    }
}

/// Writes the items as columns, rows being `stride` apart.
fn transpose(items: ArrayView2<f32>, to: &mut [f32], stride: usize) {
    for (column, item) in items.outer_iter().enumerate() {
        for (cell, &x) in to[column..].iter_mut().step_by(stride).zip(item) {
            *cell = x;
        }
    }
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
    fn few_users_are_scored_as_many_are_and_as_single_items_are() {
        for (width, n_items) in [0, 1, 15, 16, 32, 33, 65, 200]
            .into_iter()
            .flat_map(|width| [1, 15, 70, 1040, 1041, 2100].map(|n| (width, n)))
        {
            let (users, items) = (numbers(10, width, 1), numbers(n_items, width, 2));
            let bias: Array1<f32> = numbers(1, n_items, 3).row(0).to_owned();
            let exact = users.mapv(f64::from).dot(&items.mapv(f64::from).t());
            let factors = Factors::new(users.view(), items.view(), Some(bias.view())).unwrap();
            for count in [1, 2, 8, 9, 10] {
                let vectors = users.as_slice().unwrap();
                let vectors = &vectors[..count * width];
                let tiles = Tiles::new(&factors, count).unwrap();
                let mut space = vec![9.0; count * tiles.row()];
                for tile in tiles.ranges() {
                    let rows = tiles.score(vectors, count, &tile, &mut space);
                    for (user, row) in rows.enumerate() {
                        for (item, &score) in tile.clone().zip(&*row) {
                            let expected = exact[[user, item]] + f64::from(bias[item]);
                            // Roundings add up in a sum of so many products, each below 1/4.
                            let bound = 1e-6 * (1 + width) as f64;
                            assert!((f64::from(score) - expected).abs() < bound, "{width}");
                        }
                        if count > FEW {
                            let mut single = Vec::new();
                            let all: Vec<u32> = tile.clone().map(|item| item as u32).collect();
                            let user = &vectors[user * width..(user + 1) * width];
                            tiles.score_items(user, &all, &mut single);
                            assert_eq!(single, row[..tile.len()]);
                        }
                    }
                }
            }
        }
    }
}
