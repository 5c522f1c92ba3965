//! Drawing items that were not seen: the negatives of a ranking loss.
//!
//! A [`Sampler`] never changes, so all workers share one; each draws by a
//! generator of its own, from [`stream`].
//!
//! Every distribution is exact, with the user's positives or without. An item that the user knows, which a filter
//! tells, is drawn again, up to 16 times. Then one of the unknown items is found for sure, in bounded time for a user
//! who knows nearly everything. If all items are equally likely, a number `r` is drawn, and bisection in the sorted
//! list of positive items finds the `r`-th item that the user does not know. Items with weights, which are drawn by
//! the alias method (A. J. Walker, 1977; crate `rand_distr`), are found by sums of the weights of positive ones
//! (`known_mass`). Weights are integers, so that no rounding error gives an item of weight 0 a chance.
//!
//! Limits: positives take 6 to 8 bytes each, and 16 a user up to the largest id.

pub(super) mod adaptive;
pub(super) mod custom;
pub(super) mod exchanged;
pub(super) mod in_batch;
mod known_mass;
pub(super) mod negatives;
mod positives;
pub(super) mod scored;

use rand::Rng;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::dealt_rows::Among;
pub use super::stream::stream;
use crate::array::vec_for;
use crate::error::{Error, Result};
use known_mass::KnownMass;
use positives::{KnownItems, Positives};

/// A distribution of items, which may exclude what a user knows.
///
/// ```
/// use wyrmling::train::sampling::{Sampler, stream};
///
/// let sampler = Sampler::uniform(3)?.reject(&[0, 0, 7], &[2, 1, 0])?;
/// let mut rng = stream(1, 0, 0);
/// assert_eq!(sampler.draw(&mut rng, Some(0)), 0);
/// assert_ne!(sampler.draw(&mut rng, Some(7)), 0);
/// assert!(sampler.draw(&mut rng, Some(1000)) < 3);
/// # Ok::<(), wyrmling::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sampler {
    items: Items,
    positives: Option<Positives>,
}

/// What is drawn from.
#[derive(Debug, Clone)]
enum Items {
    /// Items `0..n`, all alike.
    Uniform { n: u32 },
    /// Items by weight. `before[i]` is the weight of all items before `i`, and `known` tells that of the positives.
    Weighted {
        alias: WeightedAliasIndex<u64>,
        before: Vec<u64>,
        known: Option<KnownMass>,
    },
}

/// How many drawn items may be positives before one of the others is found for sure.
pub(super) const TRIES: usize = 16;
/// How many in a row are looked at then, where others than a [`Sampler`] say what is drawn from, before that
/// draws instead.
pub(super) const NEXT: usize = 1024;

impl Sampler {
    /// Items `0..n`, all equally likely (but for 2⁻³² of their probability: a random
    /// word of 64 bits times `n`, shifted; D. Lemire, *Fast random integer generation
    /// in an interval*, 2019).
    ///
    /// # Errors
    ///
    /// [`Error::Value`] if `n` is 0 or does not fit in 32 bits.
    pub fn uniform(n: usize) -> Result<Sampler> {
        let n = item_count("n", n)?;
        Ok(Sampler {
            items: Items::Uniform { n },
            positives: None,
        })
    }

    /// Item `i` with probability proportional to `counts[i]^power`. A power of 0.75
    /// is word2vec's (Mikolov et al., 2013). `0^0` is 1.
    ///
    /// Weights are rounded down to multiples of the largest, divided by 2⁶¹ over the
    /// number of items (2⁴⁷ for 20,000 items), but not to 0 unless they are 0.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] if `counts` is empty or longer than 32 bits can count, holds a
    /// negative number, NaN or infinity, if `power` is not finite, or if the weights
    /// are all 0 or one of them is infinite; [`Error::Memory`] if there is not the memory.
    pub fn popularity(counts: &[f64], power: f64) -> Result<Sampler> {
        let n = item_count("the length of counts", counts.len())?;
        if !power.is_finite() {
            return Err(Error::Value(format!("power is {power}; it must be finite")));
        }
        let mut weights = vec_for(&[counts.len()])?;
        for (i, &count) in counts.iter().enumerate() {
            let weight = count.powf(power);
            if !(count.is_finite() && count >= 0.0 && weight.is_finite()) {
                return Err(Error::Value(format!(
                    "counts[{i}] is {count}; counts must be finite and at least 0, and so must \
                     counts^power (power is {power})"
                )));
            }
            weights.push(weight);
        }
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return Err(Error::Value(
                "counts^power is 0 for every item; one must be positive".into(),
            ));
        }

        // The largest weight becomes a power of two, n of which stay below 2^62. With
        // floating-point weights the alias method's rounding errors can leave an item
        // of weight 0 a chance.
        let scale = 2f64.powi(62 - (n.ilog2() as i32 + 1));
        let round = |weight: f64| match weight {
            0.0 => 0,
            weight => ((weight / largest * scale) as u64).max(1),
        };
        let mut rounded: Vec<u64> = vec_for(&[weights.len()])?;
        rounded.extend(weights.into_iter().map(round));
        let weights = rounded;
        let mut before = vec_for(&[weights.len() + 1])?;
        before.push(0);
        for weight in &weights {
            before.push(before[before.len() - 1] + weight);
        }
        // The alias method keeps a number and a weight an item, and two lists of numbers while it is
        // set up. It asks for them without a way back, so they are asked for here first.
        drop(vec_for::<[u64; 4]>(&[weights.len()])?);
        let alias = WeightedAliasIndex::new(weights)
            .map_err(|e| Error::Value(format!("counts cannot be drawn from: {e}")))?;
        Ok(Sampler {
            items: Items::Weighted {
                alias,
                before,
                known: None,
            },
            positives: None,
        })
    }

    /// The same, but never an item that the user knows: user `users[k]` knows item
    /// `items[k]`. Pairs may be in any order and may repeat. A user who is not among
    /// them has no positives. Replaces those given before.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the slices differ in length, [`Error::Index`] if an item is not
    /// one of the sampler's, [`Error::Value`] if a user knows every item that can be drawn,
    /// [`Error::Memory`] if there is no memory for so many users.
    pub fn reject(self, users: &[u32], items: &[u32]) -> Result<Sampler> {
        let positives = Positives::new(users, items, self.item_count())?;
        let mut items = self.items;
        if let Items::Weighted { before, known, .. } = &mut items {
            *known = Some(KnownMass::new(before, positives.pairs())?);
        }
        for (user, _) in positives.rows() {
            if items.mass_without(positives.of_user(user)) == 0 {
                return Err(Error::Value(format!(
                    "user {user} knows every item that can be drawn; nothing is left to sample"
                )));
            }
        }
        Ok(Sampler {
            items,
            positives: Some(positives),
        })
    }

    /// What users know, as [`reject`](Sampler::reject) takes it: users and items, a pair an
    /// entry, each pair once.
    pub fn positives(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        let rows = self.positives.as_ref()?.rows();
        Some(
            rows.flat_map(|(user, row)| row.iter().map(move |&item| (user, item)))
                .unzip(),
        )
    }

    /// The weights of the items, unless all are alike. [`popularity`](Sampler::popularity) of
    /// these with the power 1 is the same distribution: they are not rounded again.
    pub fn weights(&self) -> Option<Vec<f64>> {
        match &self.items {
            Items::Uniform { .. } => None,
            Items::Weighted { before, .. } => {
                let weights = before.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
                Some(weights.collect())
            }
        }
    }

    /// The number of items; those drawn are below.
    pub fn item_count(&self) -> u32 {
        match &self.items {
            Items::Uniform { n } => *n,
            Items::Weighted { before, .. } => before.len() as u32 - 1,
        }
    }

    /// Whether items have weights.
    pub(super) fn is_weighted(&self) -> bool {
        matches!(self.items, Items::Weighted { .. })
    }

    /// What the user `given` knows.
    #[inline]
    pub(super) fn known_to(&self, given: Option<u32>) -> KnownItems<'_> {
        match (&self.positives, given) {
            (Some(positives), Some(user)) => positives.of_user(user),
            _ => KnownItems::NOTHING,
        }
    }

    /// One item, for user `given` if one is given.
    #[inline]
    pub fn draw<R: Rng>(&self, rng: &mut R, given: Option<u32>) -> u32 {
        self.items.draw(rng, self.known_to(given))
    }

    /// As [`draw`](Self::draw), mostly among some items, where all are alike; after many tries among all, for a user
    /// who may know all of these.
    pub(super) fn draw_among<R: Rng>(
        &self,
        rng: &mut R,
        given: Option<u32>,
        among: &Among<'_>,
    ) -> u32 {
        let known = self.known_to(given);
        if let Items::Uniform { n } = self.items {
            let mut place = among.place(rng);
            for _ in 0..TRIES {
                if place >= among.count() {
                    break;
                }
                let item = among.item(place);
                if item < n && !known.contains(item) {
                    return item;
                }
                place = below(rng, among.count());
            }
        }
        self.items.draw(rng, known)
    }

    /// An item for each element of `out`, for the user `given[k]` if any are given.
    ///
    /// # Panics
    ///
    /// If `given` and `out` differ in length.
    pub fn fill<R: Rng>(&self, rng: &mut R, given: Option<&[u32]>, out: &mut [u32]) {
        if let Some(users) = given {
            assert!(
                users.len() == out.len(),
                "fill: one user for each item to draw"
            );
        }
        match (&self.positives, given, &self.items) {
            (Some(positives), Some(users), _) => {
                for (out, &user) in out.iter_mut().zip(users) {
                    *out = self.items.draw(rng, positives.of_user(user));
                }
            }
            (_, _, &Items::Uniform { n }) => {
                for out in out {
                    *out = below(rng, u64::from(n)) as u32;
                }
            }
            _ => out
                .iter_mut()
                .for_each(|out| *out = self.items.draw(rng, KnownItems::NOTHING)),
        }
    }
}

/// Checks a number of items.
fn item_count(name: &str, n: usize) -> Result<u32> {
    match u32::try_from(n) {
        Ok(0) | Err(_) => Err(Error::Value(format!(
            "{name} is {n}; it must be from 1 to {}",
            u32::MAX
        ))),
        Ok(n) => Ok(n),
    }
}

/// A number below `bound`, with a bias of at most `bound / 2^64`.
#[inline(always)]
pub(super) fn below<R: Rng>(rng: &mut R, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

impl Items {
    /// An item that is not known, of which there is one to draw.
    #[inline(always)]
    fn draw<R: Rng>(&self, rng: &mut R, known: KnownItems<'_>) -> u32 {
        for _ in 0..TRIES {
            let item = match self {
                Items::Uniform { n } => below(rng, u64::from(*n)) as u32,
                Items::Weighted { alias, .. } => alias.sample(rng) as u32,
            };
            if !known.contains(item) {
                return item;
            }
        }
        self.draw_unknown(rng, known)
    }

    /// An item that is not known, found without rejecting any.
    #[cold]
    fn draw_unknown<R: Rng>(&self, rng: &mut R, known: KnownItems<'_>) -> u32 {
        let rank = below(rng, self.mass_without(known));
        match self {
            Items::Uniform { .. } => {
                // `rank` unknown items lie before the item that is sought, and `row[k] - k`
                // before `row[k]`. So `row[k]` lies before it if the latter are no more.
                let row = known.row();
                let mut before = 0..row.len();
                while !before.is_empty() {
                    let middle = before.start + before.len() / 2;
                    match u64::from(row[middle]) - middle as u64 <= rank {
                        true => before.start = middle + 1,
                        false => before.end = middle,
                    }
                }
                rank as u32 + before.start as u32
            }
            Items::Weighted {
                before,
                known: mass,
                ..
            } => match (mass, known.place()) {
                (Some(mass), Some((pairs, row))) => mass.unknown_at(before, pairs, row, rank),
                _ => before.partition_point(|&weight| weight <= rank) as u32 - 1,
            },
        }
    }

    /// The weight of all items that are not known.
    fn mass_without(&self, known: KnownItems<'_>) -> u64 {
        match self {
            Items::Uniform { n } => u64::from(*n) - known.row().len() as u64,
            Items::Weighted {
                before,
                known: mass,
                ..
            } => {
                let all = before[before.len() - 1];
                match (mass, known.place()) {
                    (Some(mass), Some((pairs, row))) => all - mass.of_row(before, pairs, row),
                    _ => all,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
