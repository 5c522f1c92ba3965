//! How much weight lies before and between the items that users know.
//!
//! Items have weights and lie side by side, each as long as its weight. Of what a user knows an item is told that is
//! unknown, by its place among the unknown ones. The weights of all pairs are added up once, and each [`EVERY`]th
//! sum is kept: bisection among these leads to a few items of the user's, which a walk goes over. So the time grows
//! with the logarithm of how many items the user knows.

use crate::array::vec_for;
use crate::error::Result;
use crate::rank::Csr;

/// Of so many pairs one sum is kept.
const EVERY: usize = 64;

/// The weight of all pairs before each [`EVERY`]th, counted from 0; sums wrap around, their differences do not.
#[derive(Debug, Clone)]
pub(in crate::train) struct KnownMass(Vec<u64>);

impl KnownMass {
    /// Adds up the weights of pairs; the weight of all items before item `i` is `before[i]`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is no memory for the sums.
    pub(in crate::train) fn new(before: &[u64], pairs: &Csr) -> Result<KnownMass> {
        let mut sums = vec_for(&[pairs.len() / EVERY + 1])?;
        let mut sum = 0;
        sums.push(sum);
        for block in pairs.indices().chunks_exact(EVERY) {
            sum = block
                .iter()
                .map(|&item| weight(before, item))
                .fold(sum, u64::wrapping_add);
            sums.push(sum);
        }
        Ok(KnownMass(sums))
    }

    /// The weight of all pairs before a place.
    fn up_to(&self, before: &[u64], pairs: &Csr, place: usize) -> u64 {
        let block = place / EVERY;
        let rest = &pairs.indices()[block * EVERY..place];
        rest.iter()
            .map(|&item| weight(before, item))
            .fold(self.0[block], u64::wrapping_add)
    }

    /// The weight of what a user knows, whose row has this number.
    pub(in crate::train) fn of_row(&self, before: &[u64], pairs: &Csr, row: usize) -> u64 {
        let (start, end) = (pairs.indptr()[row], pairs.indptr()[row + 1]);
        let first = self.up_to(before, pairs, start);
        self.up_to(before, pairs, end).wrapping_sub(first)
    }

    /// The item that the user does not know on which `rank` falls, if unknown items lie side by side.
    pub(in crate::train) fn unknown_at(
        &self,
        before: &[u64],
        pairs: &Csr,
        row: usize,
        rank: u64,
    ) -> u32 {
        let (mut start, end) = (pairs.indptr()[row], pairs.indptr()[row + 1]);
        let first = self.up_to(before, pairs, start);
        let mut known = 0;
        // Blocks that begin within the row, behind its first item. Before such a block lies the weight of all items
        // less that of the known ones: if it is no more than the rank, what is sought lies behind.
        let mut blocks = start / EVERY + 1..end.div_ceil(EVERY).max(start / EVERY + 1);
        while !blocks.is_empty() {
            let middle = blocks.start + blocks.len() / 2;
            let passed = self.0[middle].wrapping_sub(first);
            let item = pairs.indices()[middle * EVERY];
            match before[item as usize] - passed <= rank {
                true => (start, known, blocks.start) = (middle * EVERY, passed, middle + 1),
                false => blocks.end = middle,
            }
        }
        let mut rank = rank + known;
        for &item in &pairs.indices()[start..end] {
            if rank < before[item as usize] {
                break;
            }
            rank += weight(before, item);
        }
        before.partition_point(|&weight| weight <= rank) as u32 - 1
    }
}

/// The weight of an item.
fn weight(before: &[u64], item: u32) -> u64 {
    before[item as usize + 1] - before[item as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each weight of what is unknown leads to its item, and none to what is known; rows before, which begin at any
    /// place of a block, count for nothing.
    #[test]
    fn a_rank_leads_to_its_item() {
        for (n, others) in [(6u32, 0u32), (6, 5), (200, 0), (200, 17), (200, 130)] {
            let weights = (0..n).map(|item| u64::from(item * 7 % 4));
            let mut before = vec![0];
            before.extend(weights.scan(0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            }));
            for seed in 0..40u32 {
                let knows = |item: &u32| {
                    (item.wrapping_mul(2_654_435_761) ^ (seed * 40_503)) >> 7 & 7 < seed % 9
                };
                let row: Vec<u32> = (0..n).filter(knows).collect();
                let users = [vec![0; others as usize], vec![1; row.len()]].concat();
                let items: Vec<u32> = (0..others).chain(row.iter().copied()).collect();
                let pairs = Csr::from_pairs(&users, &items, 2, n as usize).unwrap();
                let mass = KnownMass::new(&before, &pairs).unwrap();
                let known: u64 = row.iter().map(|&item| weight(&before, item)).sum();
                assert_eq!(mass.of_row(&before, &pairs, 1), known);
                let unknown = (0..n).filter(|item| !row.contains(item));
                let ranks = unknown
                    .flat_map(|item| std::iter::repeat_n(item, weight(&before, item) as usize));
                for (rank, item) in ranks.enumerate() {
                    assert_eq!(mass.unknown_at(&before, &pairs, 1, rank as u64), item);
                }
            }
        }
    }
}
