//! Which occurrences in a gradient belong to the same row.
//!
//! A small open-addressed table maps a row to the chain of its occurrences, in order of
//! arrival. It is as large as a batch, never as a parameter, and is used again for every
//! batch, so that grouping costs a few nanoseconds an occurrence and allocates nothing.

/// No occurrence.
const NONE: u32 = u32::MAX;

/// One occurrence of a row: the part of the gradient and the position in it.
#[derive(Debug, Clone, Copy)]
struct Occurrence {
    row: u32,
    part: u32,
    position: u32,
    /// The next occurrence of the same row.
    next: u32,
}

/// Occurrences grouped by row. See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Distinct {
    occurrences: Vec<Occurrence>,
    /// First occurrences, in order of arrival.
    first: Vec<u32>,
    /// Last occurrence of the row at each place of `first`.
    last: Vec<u32>,
    /// Places in `first`, by hash of the row; a power of two at least twice as long.
    table: Vec<u32>,
}

impl Distinct {
    /// Room for `count` occurrences; more can be added and allocate.
    pub(super) fn new(count: usize) -> Self {
        Distinct {
            occurrences: Vec::with_capacity(count),
            first: Vec::with_capacity(count),
            last: Vec::with_capacity(count),
            table: vec![NONE; (2 * count).next_power_of_two()],
        }
    }

    /// Forgets everything and makes room for `count` occurrences.
    pub(super) fn clear(&mut self, count: usize) {
        self.occurrences.clear();
        self.first.clear();
        self.last.clear();
        let wanted = (2 * count).next_power_of_two();
        if self.table.len() < wanted {
            self.table = vec![NONE; wanted];
        } else {
            self.table.fill(NONE);
        }
    }

    /// Adds an occurrence, of which there is room for after [`clear`](Self::clear).
    #[inline]
    pub(super) fn add(&mut self, row: u32, part: usize, position: usize) {
        let number = self.occurrences.len() as u32;
        self.occurrences.push(Occurrence {
            row,
            part: part as u32,
            position: position as u32,
            next: NONE,
        });
        let mask = self.table.len() - 1;
        // Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
        let mut at = (row.wrapping_mul(0x9E37_79B9) >> 7) as usize & mask;
        loop {
            let place = self.table[at];
            if place == NONE {
                self.table[at] = self.first.len() as u32;
                self.first.push(number);
                self.last.push(number);
                return;
            }
            let place = place as usize;
            if self.occurrences[self.first[place] as usize].row == row {
                self.occurrences[self.last[place] as usize].next = number;
                self.last[place] = number;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Number of distinct rows.
    pub(super) fn len(&self) -> usize {
        self.first.len()
    }

    /// Distinct row number `k`, and its occurrences as (part, position).
    #[inline]
    pub(super) fn row(&self, k: usize) -> (u32, impl Iterator<Item = (usize, usize)> + '_) {
        let mut at = self.first[k];
        let row = self.occurrences[at as usize].row;
        let chain = std::iter::from_fn(move || {
            let o = self.occurrences.get(at as usize)?;
            at = o.next;
            Some((o.part as usize, o.position as usize))
        });
        (row, chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn occurrences_are_grouped_in_order(batches in prop::collection::vec(
            prop::collection::vec(0u32..40, 0..60), 1..4,
        )) {
            let mut distinct = Distinct::new(8);
            for rows in batches {
                distinct.clear(rows.len());
                let mut expected: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
                for (k, &row) in rows.iter().enumerate() {
                    distinct.add(row, k % 3, k);
                    expected.entry(row).or_default().push((k % 3, k));
                }
                prop_assert_eq!(distinct.len(), expected.len());
                for k in 0..distinct.len() {
                    let (row, chain) = distinct.row(k);
                    prop_assert_eq!(&chain.collect::<Vec<_>>(), &expected[&row]);
                }
            }
        }
    }
}
