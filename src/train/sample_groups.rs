//! Consecutive samples that share no row, which a worker runs at once where a batch is one sample.
//!
//! What such samples change none of the others reads, so one after the other gives what all at once give, to
//! the bit: the [program of single samples](crate::exec::Program::per_sample) computes each by itself. A run
//! costs little more for 16 samples than for two or three, since most of its time is not the arithmetic.
//!
//! Each row has a place, where the number of the last group is that looked it up. Two rows may have the same
//! place, and a sample may look a row up twice: then a group ends earlier than it could.
//!
//! Limits: samples that look up few rows; several workers that wait for each other take one sample each.

use std::ops::Range;

use smallvec::SmallVec;

use super::input_buffer::InputBuffer;
use crate::exec::Lookups;

/// Groups have one of these numbers of samples; there is a plan for each.
const SIZES: [usize; 22] = [
    64, 56, 48, 40, 32, 28, 24, 22, 20, 18, 16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1,
];

/// Bytes that a run is on, at most: they stay in the second-level cache.
const MOST_BYTES: usize = 1 << 18;

/// Most rows that a sample looks up.
const MOST_ROWS: usize = 16;

/// Places of rows: they stay in the first-level cache.
const PLACES: usize = 1 << 13;

/// How far apart the places of row 0 of two tables are: those of small tables do not meet.
const APART: usize = PLACES / 3;

/// An input that names rows.
#[derive(Clone)]
struct RowInput {
    input: usize,
    /// How many rows a sample has in it.
    count: usize,
    /// The place of row 0.
    first: usize,
}

/// Finds groups. See the [module documentation](self).
#[derive(Clone)]
pub(super) struct SampleGroups {
    inputs: Vec<RowInput>,
    sizes: &'static [usize],
    last_group: [u8; PLACES],
    /// The number of the group at hand, from 1 on: it begins anew when it no longer fits.
    group: u8,
}

impl SampleGroups {
    /// Groups by what samples look up; an input has so many elements a sample. `None` if they look up too
    /// much.
    pub(super) fn new(mut lookups: Lookups, elements: &[usize]) -> Option<Self> {
        // Sorted by table and input.
        lookups.sort_unstable();
        lookups.dedup();
        let mut tables: Vec<Vec<usize>> = Vec::new();
        for of_table in lookups.chunk_by(|(a, _), (b, _)| a == b) {
            let table = of_table.iter().map(|&(_, input)| input).collect();
            // Tables that the same inputs name rows of, as those of factors and biases, are shared alike.
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        let mut inputs = Vec::new();
        for (number, table) in tables.into_iter().enumerate() {
            inputs.extend(table.into_iter().map(|input| RowInput {
                input,
                count: elements[input],
                first: number * APART,
            }));
        }
        let count = inputs.iter().map(|input| input.count);
        let is_few = count.fold(0, usize::saturating_add) <= MOST_ROWS;
        is_few.then_some(SampleGroups {
            inputs,
            sizes: &SIZES,
            last_group: [0; PLACES],
            group: 0,
        })
    }

    /// Limits groups to what a cache holds, where a run of one sample is on so many bytes. Returns the numbers
    /// of samples that groups have, the largest first.
    pub(super) fn limit(&mut self, bytes: usize) -> &'static [usize] {
        let fits = |&size: &usize| size == 1 || size.saturating_mul(bytes) <= MOST_BYTES;
        let from = SIZES.iter().position(fits).unwrap_or_default();
        self.sizes = &SIZES[from..];
        self.sizes
    }

    /// How many samples, from the first of `samples` on, can run at once.
    #[inline]
    pub(super) fn first(&mut self, staged: &[InputBuffer], samples: Range<usize>) -> usize {
        self.group = self.group.wrapping_add(1);
        if self.group == 0 {
            self.last_group.fill(0);
            self.group = 1;
        }
        let columns: SmallVec<[(&[u32], usize, usize); 4]> = self
            .inputs
            .iter()
            .map(|of| {
                (
                    &staged[of.input].indices()[samples.start * of.count..],
                    of.count,
                    of.first,
                )
            })
            .collect();
        let most = samples.len().min(self.sizes[0]);
        let mut count = 0;
        while count < most {
            let mut is_shared = false;
            for &(rows, width, first) in &columns {
                for &row in &rows[count * width..(count + 1) * width] {
                    let place = &mut self.last_group[(row as usize + first) % PLACES];
                    is_shared |= *place == self.group;
                    *place = self.group;
                }
            }
            if is_shared {
                break;
            }
            count += 1;
        }
        let size = self.sizes.iter().find(|&&size| size <= count);
        size.copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs of one row a sample, one each.
    fn staged(columns: &[&[u32]]) -> Vec<InputBuffer> {
        let column = |rows: &&[u32]| InputBuffer::U32(rows.to_vec());
        columns.iter().map(column).collect()
    }

    #[test]
    fn a_group_ends_where_a_row_occurs_again() {
        let [users, items] = [[1, 2, 3, 4, 5, 6, 1], [1, 2, 3, 4, 5, 3, 1]];
        let staged = staged(&[&users, &items]);
        let first = |lookups: &[(usize, usize)], samples| {
            SampleGroups::new(lookups.to_vec(), &[1, 1])
                .unwrap()
                .first(&staged, samples)
        };
        // Numbers of two tables are other rows, those of one table the same.
        assert_eq!(first(&[(0, 0)], 0..7), 6);
        assert_eq!(first(&[(0, 0), (1, 1)], 0..7), 5);
        assert_eq!(first(&[(0, 0), (1, 1)], 2..7), 3);
        assert_eq!(first(&[(0, 0), (0, 1)], 4..7), 1);
        assert_eq!(first(&[(0, 0), (1, 1), (2, 1)], 0..3), 3);
    }

    #[test]
    fn numbers_of_groups_begin_anew() {
        let rows: Vec<u32> = (0..600).map(|k| k / 2 % 5).collect();
        let staged = staged(&[&rows]);
        let mut groups = SampleGroups::new(vec![(0, 0)], &[1]).unwrap();
        for at in (0..590).step_by(2) {
            assert_eq!(groups.first(&staged, at..600), 1);
            assert_eq!(groups.first(&staged, at + 1..600), 2);
        }
    }

    #[test]
    fn wide_samples_have_small_groups_and_those_of_many_rows_none() {
        let mut groups = SampleGroups::new(vec![(0, 0)], &[1]).unwrap();
        assert_eq!(groups.limit(100)[0], SIZES[0]);
        assert_eq!(groups.limit(MOST_BYTES / 5), [5, 4, 3, 2, 1]);
        assert_eq!(groups.limit(MOST_BYTES), [1]);
        assert_eq!(groups.limit(usize::MAX), [1]);
        assert!(SampleGroups::new(vec![(0, 0)], &[MOST_ROWS]).is_some());
        assert!(SampleGroups::new(vec![(0, 0)], &[MOST_ROWS + 1]).is_none());
        assert!(SampleGroups::new(vec![(0, 0), (0, 1)], &[MOST_ROWS, 1]).is_none());
    }
}
