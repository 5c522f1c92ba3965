//! Rows of a table, dealt out in parts.
//!
//! Rows that follow each other are dealt together, as a group, so that two workers do not use the same
//! cache line, or the same page ([`partition`](super::partition)). A part is what one block has.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::array::{filled, vec_for};
use crate::error::Result;

/// Rows are dealt until no part has more than this share too many samples, or so often.
const TOO_MANY: f64 = 0.005;
const DEALS: usize = 16;

/// Rows by groups, and which part each is in: one part until they are dealt.
#[derive(Clone)]
pub(super) struct DealtRows {
    /// The logarithm to base 2 of the number of rows in a group.
    shift: u32,
    /// Samples of each group of rows.
    weights: Vec<u32>,
    /// The part of each group; at most 256 parts.
    parts: Vec<u8>,
    /// The groups of each part.
    groups: Vec<Vec<u32>>,
    // What dealing needs, kept so that an epoch allocates nothing for it.
    /// All groups, in the order in which they were dealt last.
    order: Vec<usize>,
    /// What each part has, as it is dealt.
    loads: Vec<u64>,
    /// The part of each group, as it is dealt.
    dealt: Vec<u8>,
}

/// The items that may be drawn in a block.
#[derive(Clone, Copy)]
pub(super) struct Among<'a> {
    /// Inputs whose items are drawn for the table.
    pub drawn: &'a [usize],
    /// The input that has the samples' own items.
    pub own: usize,
    pub rows: &'a DealtRows,
    pub part: usize,
    /// How many places there are to draw, in units of 2⁻¹⁶: those of these items, and others that stand for a draw from
    /// all.
    places: u64,
}

/// The binary digits of a number of places that are a fraction.
const FRACTION: u32 = 16;

impl<'a> Among<'a> {
    /// Those of a part, of which this share of the draws is to be ([`DealtRows::drawn_inside`]).
    pub(super) fn new(
        (drawn, own): (&'a [usize], usize),
        rows: &'a DealtRows,
        part: usize,
        inside: f64,
    ) -> Self {
        let count = (rows.groups[part].len() as u64) << rows.shift;
        let places = match inside > 0.0 {
            true => (count as f64 / inside * f64::from(1_u32 << FRACTION)) as u64,
            false => u64::MAX,
        };
        Among {
            drawn,
            own,
            rows,
            part,
            places,
        }
    }

    /// Whether it is about what is drawn for this input.
    pub(super) fn is_about(&self, feed: usize) -> bool {
        self.drawn.contains(&feed)
    }

    /// Whether two items are of one group.
    #[inline(always)]
    pub(super) fn are_together(&self, a: u32, b: u32) -> bool {
        (a ^ b) >> self.rows.shift == 0
    }

    /// Whether an item that was drawn is of the group of the sample's own item, and one that would not have been drawn
    /// from all. A group is in one part in every epoch, so that its items are drawn for its samples as many times more
    /// often as there are parts.
    #[inline(always)]
    pub(super) fn is_too_many<R: Rng>(&self, own: u32, item: u32, rng: &mut R) -> bool {
        self.are_together(own, item) && rng.random_range(0..self.rows.groups.len()) > 0
    }

    /// The place of the next item among these; that of none, if it is to be drawn from all.
    #[inline(always)]
    pub(super) fn place<R: Rng>(&self, rng: &mut R) -> u64 {
        ((u128::from(rng.next_u64()) * u128::from(self.places)) >> (64 + FRACTION)) as u64
    }

    /// How many items there are, counting some behind the last that are none.
    #[inline(always)]
    pub(super) fn count(&self) -> u64 {
        (self.rows.groups[self.part].len() as u64) << self.rows.shift
    }

    /// An item, by its place among these.
    #[inline(always)]
    pub(super) fn item(&self, place: u64) -> u32 {
        let shift = self.rows.shift;
        let group = self.rows.groups[self.part][(place >> shift) as usize];
        (group << shift) + (place as u32 & ((1 << shift) - 1))
    }
}

#[cfg(test)]
impl<'a> Among<'a> {
    /// The items of a part, of which all draws are to be.
    pub(super) fn part_of(rows: &'a DealtRows, part: usize) -> Self {
        Among::new((&[], 0), rows, part, 1.0)
    }

    /// Whether an item is one of them.
    pub(super) fn has(&self, item: u32) -> bool {
        let group = (item >> self.rows.shift) as usize;
        (self.rows.parts.get(group)).is_some_and(|&part| usize::from(part) == self.part)
    }
}

impl DealtRows {
    /// For so many parts: groups of `1 << shift` rows, of which so many samples use one.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn new(weights: Vec<u32>, shift: u32, parts: usize) -> Result<Self> {
        let count = weights.len();
        let mut groups = Vec::with_capacity(parts);
        for _ in 0..parts {
            groups.push(vec_for(&[count])?);
        }
        let mut order: Vec<usize> = vec_for(&[count])?;
        order.extend(0..count);
        Ok(DealtRows {
            shift,
            weights,
            parts: filled(count, 0)?,
            groups,
            order,
            loads: filled(parts, 0)?,
            dealt: filled(count, 0)?,
        })
    }

    /// Groups that samples use.
    pub(super) fn used(&self) -> usize {
        self.weights.iter().filter(|weight| **weight > 0).count()
    }

    /// Whether no group has more than half of the samples that a part is to have. Batches of a part have its rows so
    /// much more often than others, and a step adds up what all samples of a row say.
    pub(super) fn are_even(&self) -> bool {
        let heaviest = self.weights.iter().copied().max().unwrap_or(0);
        let all: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        2 * self.groups.len() as u64 * u64::from(heaviest) <= all
    }

    /// The share of the draws for samples of each part of which the item is to be one of the part, where all others are
    /// drawn from the first `n` rows: so many that each of these comes as often as any other. Parts have samples `a`
    /// and rows `b`, of which a row gets `a / b` draws if all are of the part, and `least` in every part if only
    /// `least * b / a` of them are.
    pub(super) fn drawn_inside(&self, n: usize, inside: &mut Vec<f64>) {
        let before = |group: usize| (group << self.shift).min(n);
        let parts = self.groups.iter().map(|groups| {
            let groups = groups.iter().map(|&group| group as usize);
            let samples: u64 = groups
                .clone()
                .map(|group| u64::from(self.weights[group]))
                .sum();
            let rows: usize = groups.map(|group| before(group + 1) - before(group)).sum();
            samples as f64 / rows as f64
        });
        let least = parts.clone().fold(f64::INFINITY, f64::min);
        inside.clear();
        inside.extend(parts.map(|each| least / each));
    }

    /// Gives groups that follow each other to each part, with as many samples as nearly as can be.
    pub(super) fn cut(&mut self) {
        let parts = self.groups.len() as u64;
        let all: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut before = 0;
        for (weight, part) in self.weights.iter().zip(&mut self.parts) {
            let middle = before + u64::from(*weight) / 2;
            *part = (middle * parts / all.max(1)).min(parts - 1) as u8;
            before += u64::from(*weight);
        }
    }

    /// Gives each group, in random order, to the part that has the least so far; again, if the
    /// parts are too unequal. The result depends on the random numbers alone, not on what was dealt before.
    pub(super) fn deal<R: Rng>(&mut self, rng: &mut R) {
        // A group without samples counts, so that those are dealt out evenly, too.
        let weight = |group: usize| u64::from(self.weights[group].max(1));
        let all: u64 = (0..self.weights.len()).map(weight).sum();
        let enough = (all as f64 / self.groups.len() as f64 * (1.0 + TOO_MANY)) as u64;
        let mut least = u64::MAX;
        self.order.sort_unstable();
        for _ in 0..DEALS {
            self.order.shuffle(rng);
            self.loads.fill(0);
            for &group in &self.order {
                let loads = self.loads.iter_mut().enumerate();
                if let Some((part, load)) = loads.min_by_key(|(_, load)| **load) {
                    *load += weight(group);
                    self.dealt[group] = part as u8;
                }
            }
            let most = self.loads.iter().copied().max().unwrap_or(0);
            if most < least {
                least = most;
                self.parts.copy_from_slice(&self.dealt);
            }
            if least <= enough {
                break;
            }
        }
        self.groups.iter_mut().for_each(Vec::clear);
        for (group, &part) in (0..).zip(&self.parts) {
            self.groups[usize::from(part)].push(group);
        }
    }

    #[inline(always)]
    pub(super) fn part(&self, index: u32) -> usize {
        usize::from(self.parts[(index >> self.shift) as usize])
    }
}
