//! Samples that share no row, which a worker runs at once where a batch is one sample.
//!
//! What such samples change none of the others reads, so one after the other gives what all at once give, to
//! the bit: the [program of single samples](crate::exec::Program::per_sample) computes each by itself. A run
//! costs little more for 16 samples than for two or three, since most of its time is not the arithmetic. So a
//! worker arranges the samples that it has staged: each comes into the first group that has room and is behind
//! the groups of all samples before it that look up one of its rows (list scheduling: R. L. Graham, *Bounds on
//! multiprocessing timing anomalies*, 1969). Each row is looked up, and changed, in the order of the samples.
//!
//! Each row has a place, where the number of the last group is that looks it up. Two rows may have the same
//! place: then a sample comes into a later group than it could. One that looks a row up twice is a group.
//!
//! Limits: samples that look up few rows; several workers that wait for each other take one sample each. Where a
//! sample fails, some behind it may have been applied, and some before it not.

use crate::exec::Lookups;
use crate::train::data::input_buffer::InputBuffer;
use crate::train::worker::STAGED;

/// So many samples are run at once; there is a plan for each.
const SIZES: [usize; 14] = [64, 48, 32, 24, 16, 12, 8, 7, 6, 5, 4, 3, 2, 1];

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

/// Arranges samples in groups. See the [module documentation](self).
#[derive(Clone)]
pub(in crate::train) struct SampleGroups {
    inputs: Vec<RowInput>,
    /// Rows that a sample looks up.
    rows: usize,
    sizes: &'static [usize],
    /// The places of the rows of each sample.
    places: Vec<u16>,
    /// For each place the number of the group behind the last one that looks up a row there.
    behind: Box<[u16; PLACES]>,
    /// How many samples each group has that were not run.
    left: Vec<u16>,
    /// How many more samples each group may have.
    free: Vec<u16>,
    /// Where the next sample of each group comes.
    ends: Vec<u16>,
    /// The group of each sample.
    group_of: Vec<u16>,
    /// For each sample, as they are arranged, its number before.
    numbers: Vec<u16>,
    /// A copy of what is staged for an input.
    copy: Vec<u32>,
    /// The first group that has samples which were not run.
    at_group: usize,
}

// Samples and groups are numbered by 16 bits.
const _: () = assert!(STAGED < u16::MAX as usize && PLACES <= 1 << 16);

impl SampleGroups {
    /// Groups by what samples look up; an input has so many elements a sample. `None` if they look up too
    /// much.
    pub(in crate::train) fn new(mut lookups: Lookups, elements: &[usize]) -> Option<Self> {
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
        inputs.retain(|input: &RowInput| input.count > 0);
        let counts = inputs.iter().map(|input| input.count);
        let rows = counts.fold(0, usize::saturating_add);
        (1..=MOST_ROWS).contains(&rows).then_some(SampleGroups {
            inputs,
            rows,
            sizes: &SIZES,
            places: Vec::new(),
            behind: Box::new([0; PLACES]),
            left: Vec::new(),
            free: Vec::new(),
            ends: Vec::new(),
            group_of: Vec::new(),
            numbers: Vec::new(),
            copy: Vec::new(),
            at_group: 0,
        })
    }

    /// Limits groups to what a cache holds, where a run of one sample is on so many bytes. Returns the numbers
    /// of samples that are run at once, the largest first.
    pub(in crate::train) fn limit(&mut self, bytes: usize) -> &'static [usize] {
        let fits = |&size: &usize| size == 1 || size.saturating_mul(bytes) <= MOST_BYTES;
        let from = SIZES.iter().position(fits).unwrap_or_default();
        self.sizes = &SIZES[from..];
        self.sizes
    }

    /// Brings the first `count` staged samples into the order of their groups; the buffers are for `room` samples.
    pub(in crate::train) fn arrange(
        &mut self,
        staged: &mut [InputBuffer],
        count: usize,
        room: usize,
    ) {
        self.find_places(staged, count);
        self.find_groups();
        self.ends.clear();
        let starts = self.left.iter().scan(0, |end, &size| {
            let start = *end;
            *end += size;
            Some(start)
        });
        self.ends.extend(starts);
        self.numbers.resize(count, 0);
        for (number, &group) in (0..).zip(&self.group_of) {
            let at = &mut self.ends[usize::from(group)];
            self.numbers[usize::from(*at)] = number;
            *at += 1;
        }
        for buffer in staged {
            let words = buffer.words_mut();
            let width = words.len() / room;
            let words = &mut words[..count * width];
            self.copy.clear();
            self.copy.extend_from_slice(words);
            let numbers = self.numbers.iter().map(|&number| usize::from(number));
            if width == 1 {
                for (word, number) in words.iter_mut().zip(numbers) {
                    *word = self.copy[number];
                }
            } else if width > 1 {
                for (words, number) in words.chunks_exact_mut(width).zip(numbers) {
                    words.copy_from_slice(&self.copy[number * width..][..width]);
                }
            }
        }
        self.at_group = 0;
    }

    /// Finds the places of the rows of the first `count` staged samples.
    fn find_places(&mut self, staged: &[InputBuffer], count: usize) {
        self.places.resize(count * self.rows, 0);
        let mut column = 0;
        for of in &self.inputs {
            let indices = staged[of.input].indices();
            for k in 0..of.count {
                let rows = indices.iter().skip(k).step_by(of.count);
                let places = self.places.iter_mut().skip(column).step_by(self.rows);
                for (place, &row) in places.zip(rows) {
                    *place = ((row as usize + of.first) % PLACES) as u16;
                }
                column += 1;
            }
        }
    }

    /// Finds the groups of the samples with these places.
    fn find_groups(&mut self) {
        let most = self.sizes[0] as u16;
        let (behind, left, free) = (&mut *self.behind, &mut self.left, &mut self.free);
        behind.fill(0);
        left.clear();
        free.clear();
        self.group_of.clear();
        // The first group that has room.
        let mut open = 0;
        for places in self.places.chunks_exact(self.rows) {
            let last = places
                .iter()
                .map(|&place| behind[usize::from(place) % PLACES]);
            let mut group = last.fold(open, u16::max);
            while free.get(usize::from(group)) == Some(&0) {
                group += 1;
            }
            let mut is_twice = false;
            for &place in places {
                let behind = &mut behind[usize::from(place) % PLACES];
                is_twice |= *behind == group + 1;
                *behind = group + 1;
            }
            if is_twice {
                group = left.len() as u16;
                left.push(1);
                free.push(0);
                for &place in places {
                    behind[usize::from(place) % PLACES] = group + 1;
                }
            } else if usize::from(group) == left.len() {
                left.push(1);
                free.push(most - 1);
            } else {
                left[usize::from(group)] += 1;
                free[usize::from(group)] -= 1;
            }
            self.group_of.push(group);
            while free.get(usize::from(open)) == Some(&0) {
                open += 1;
            }
        }
    }

    /// How many of the samples that were arranged are run at once next.
    #[inline]
    pub(in crate::train) fn next(&mut self) -> usize {
        while self.left.get(self.at_group) == Some(&0) {
            self.at_group += 1;
        }
        let Some(left) = self.left.get_mut(self.at_group) else {
            return 1;
        };
        let size = self.sizes.iter().find(|&&size| size <= usize::from(*left));
        let size = size.copied().unwrap_or(1);
        *left -= size as u16;
        size
    }

    /// The number of a sample, before they were arranged.
    pub(in crate::train) fn number(&self, sample: usize) -> usize {
        usize::from(self.numbers[sample])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs of indices.
    fn staged(columns: &[&[u32]]) -> Vec<InputBuffer> {
        let column = |rows: &&[u32]| InputBuffer::U32(rows.to_vec());
        columns.iter().map(column).collect()
    }

    fn groups(lookups: &[(usize, usize)], elements: &[usize]) -> Option<SampleGroups> {
        SampleGroups::new(lookups.to_vec(), elements)
    }

    /// The numbers of the samples of each run, in order.
    fn arranged(
        groups: &mut SampleGroups,
        staged: &[InputBuffer],
        count: usize,
    ) -> Vec<Vec<usize>> {
        let mut copies: Vec<InputBuffer> = staged.iter().map(InputBuffer::copy).collect();
        groups.arrange(&mut copies, count, count);
        let (mut found, mut at) = (Vec::new(), 0);
        while at < count {
            let end = at + groups.next();
            found.push((at..end).map(|sample| groups.number(sample)).collect());
            at = end;
        }
        for (before, after) in staged.iter().zip(&mut copies) {
            let width = after.words_mut().len() / count;
            let before = before.indices();
            for (at, words) in after.words_mut().chunks(width).enumerate() {
                let number = groups.number(at);
                assert_eq!(words, &before[number * width..][..width]);
            }
        }
        found
    }

    #[test]
    fn a_sample_is_behind_those_that_look_up_its_rows() {
        let [users, items] = [[1, 2, 3, 1, 4, 5], [1, 2, 3, 4, 1, 6]];
        let staged = staged(&[&users, &items]);
        let found = |lookups: &[(usize, usize)]| {
            arranged(&mut groups(lookups, &[1, 1]).unwrap(), &staged, 6)
        };
        // Numbers of two tables are other rows, those of one table the same.
        assert_eq!(found(&[(0, 0)]), [vec![0, 1, 2, 4, 5], vec![3]]);
        assert_eq!(found(&[(0, 0), (1, 1)]), [vec![0, 1, 2, 5], vec![3, 4]]);
        assert_eq!(
            found(&[(0, 0), (1, 1), (2, 1)]),
            [vec![0, 1, 2, 5], vec![3, 4]]
        );
        // The first three look their row up twice.
        let twice = found(&[(0, 0), (0, 1)]);
        assert_eq!(twice, [vec![0], vec![1], vec![2], vec![3, 5], vec![4]]);
    }

    #[test]
    fn groups_are_full_or_of_single_samples() {
        let sizes = |column: &[u32], width: usize| {
            let mut found = groups(&[(0, 0)], &[width]).unwrap();
            let runs = arranged(&mut found, &staged(&[column]), column.len() / width);
            runs.iter().map(Vec::len).collect::<Vec<_>>()
        };
        let distinct: Vec<u32> = (0..STAGED as u32).collect();
        for (count, expected) in [
            (1, vec![1]),
            (63, vec![48, 12, 3]),
            (64, vec![64]),
            (65, vec![64, 1]),
            (STAGED, vec![64; STAGED / 64]),
        ] {
            assert_eq!(sizes(&distinct[..count], 1), expected);
        }
        assert_eq!(sizes(&[7; STAGED], 1), [1; STAGED]);
        // Rows of one place, in two samples and in one.
        let far = PLACES as u32;
        assert_eq!(sizes(&[3, 3 + far, 4], 1), [2, 1]);
        assert_eq!(sizes(&[0, far, 1, 2], 2), [1, 1]);
        assert_eq!(sizes(&[u32::MAX, 0, 5, 6], 2), [2]);
    }

    #[test]
    fn each_row_is_looked_up_in_the_order_of_the_samples() {
        const COUNT: usize = 1000;
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Small numbers are frequent.
            let x = (state >> 33) % below;
            (x * x / below) as u32
        };
        for (users, items) in [(5, 9), (90, 400), (3000, 30_000)] {
            let first: Vec<u32> = (0..COUNT).map(|_| draw(users)).collect();
            let pairs: Vec<u32> = (0..2 * COUNT).map(|_| draw(items)).collect();
            let staged = staged(&[&first, &pairs]);
            let mut found = groups(&[(0, 0), (1, 1)], &[1, 2]).unwrap();
            let most = found.limit(MOST_BYTES / 48)[0];
            let runs = arranged(&mut found, &staged, COUNT);
            let mut all = runs.concat();
            assert!(runs.iter().all(|run| run.len() <= most));
            // For each row, the samples that look it up, by runs.
            let mut looked_up = std::collections::HashMap::new();
            for (number, run) in runs.iter().enumerate() {
                for &sample in run {
                    let items = &pairs[2 * sample..][..2];
                    let rows = [(0, first[sample]), (1, items[0]), (1, items[1])];
                    for row in rows
                        .into_iter()
                        .take(if items[0] == items[1] { 2 } else { 3 })
                    {
                        let before = looked_up.insert(row, (number, sample));
                        let is_later = |(run, other)| run < number && other < sample;
                        assert!(before.is_none_or(is_later), "{row:?}");
                    }
                    assert!(items[0] != items[1] || run.len() == 1);
                }
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..COUNT));
            assert!(users < 3000 || runs.len() < COUNT / 8, "{}", runs.len());
        }
    }

    #[test]
    fn wide_samples_have_small_groups_and_those_of_many_rows_none() {
        let mut some = groups(&[(0, 0)], &[1]).unwrap();
        assert_eq!(some.limit(100)[0], SIZES[0]);
        assert_eq!(some.limit(MOST_BYTES / 5), [5, 4, 3, 2, 1]);
        assert_eq!(some.limit(MOST_BYTES), [1]);
        assert_eq!(some.limit(usize::MAX), [1]);
        assert!(groups(&[(0, 0)], &[MOST_ROWS]).is_some());
        assert!(groups(&[(0, 0)], &[MOST_ROWS + 1]).is_none());
        assert!(groups(&[(0, 0), (0, 1)], &[MOST_ROWS, 1]).is_none());
        assert!(groups(&[(0, 0)], &[0]).is_none());
        assert!(groups(&[(0, 0), (0, 1)], &[0, 1]).is_some());
    }
}
