//! The samples of an epoch, in the order in which they are trained.
//!
//! To read a column that does not fit into the cache at random is to wait for memory at each sample.
//! So where a sample is small (a user, an item, a rating) its columns are packed into one record, and
//! the records themselves are shuffled, to be read in sequence. Larger samples stay in their columns,
//! and their numbers are shuffled.
//!
//! Columns that are [mapped](super::data::mapped) may be larger than memory. Then a window of the epoch is
//! there at a time: some buckets of the [order](super::shuffle), for which all columns are read in
//! sequence, once a window. The order is that of all at once.
//!
//! Where workers have [blocks](super::partition) of samples, the epoch is one window, whose records are divided,
//! stretch by stretch, each by a partition of its own.
//!
//! Limits: a record has up to four words of 32 bits; records take that much memory beside the columns, twice
//! where they are divided among workers ([`partition`](super::partition)).
//! A window has a quarter of the samples, or 256 MiB of records if that is less. Of larger samples the
//! numbers alone are in it, and each is read where it is in the column, which waits for the disk if that
//! is not in memory.

use std::ops::Range;

use rand::Rng;

use super::data::column::Words;
use super::data::feeds::{Feed, Feeds};
use super::data::input_buffer::InputBuffer;
use super::data::mapped::Mapped;
use super::partition::{Partition, Rounds};
use super::shuffle::{BUCKETS, RandomOrder};
use crate::array::filled;
use crate::error::Result;
use crate::reserve::grow;
use crate::split;

/// Bytes of a window, at least and at most.
const LEAST_WINDOW: usize = 1 << 20;
const MOST_WINDOW: usize = 256 << 20;

/// Samples, in some order.
enum Records {
    Numbers(Vec<u32>),
    One(Vec<[u32; 1]>),
    Two(Vec<[u32; 2]>),
    Three(Vec<[u32; 3]>),
    Four(Vec<[u32; 4]>),
}

/// Runs `$body` with the records of `$samples`, or `$otherwise` with their numbers.
macro_rules! with_records {
    ($samples:expr, $records:ident => $body:expr, $numbers:ident => $otherwise:expr) => {
        match $samples {
            Records::Numbers($numbers) => $otherwise,
            Records::One($records) => $body,
            Records::Two($records) => $body,
            Records::Three($records) => $body,
            Records::Four($records) => $body,
        }
    };
}

/// The samples of an epoch, a window of them at a time.
pub(super) struct Samples {
    records: Records,
    /// As many words as the records, where samples are divided among workers.
    space: Vec<u32>,
    /// How to divide each stretch of them, if they are.
    partitions: Vec<Partition>,
    /// How each stretch of those that are there was divided.
    rounds: Vec<Rounds>,
    order: RandomOrder,
    /// The first bucket that no window had yet.
    next: usize,
    /// The place in the epoch of the first sample of the window.
    start: usize,
    /// Samples of the window: a multiple of `unit`, but for the last one.
    ready: usize,
    /// With those behind them, which are of the next window.
    held: usize,
    unit: usize,
}

impl Samples {
    /// Room for a window, or all samples of the feeds if none is mapped. Workers take them `unit` at a
    /// time, and are given parts of all of them if there is a partition.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn new(feeds: &Feeds, unit: usize, partition: Option<Partition>) -> Result<Self> {
        let bytes = size_of::<u32>() * words_of(feeds).unwrap_or(1);
        let window = (feeds.count * bytes / 4).clamp(LEAST_WINDOW, MOST_WINDOW) / bytes;
        let window = match feeds.mapped().next() {
            None => feeds.count,
            Some(_) => window,
        };
        let samples = Self::with_window(feeds, window, unit)?;
        Ok(Samples {
            partitions: partition.map_or(Vec::new(), |one| one.for_stretches(feeds.count)),
            ..samples
        })
    }

    /// Room for about so many samples, and at least a bucket.
    fn with_window(feeds: &Feeds, window: usize, unit: usize) -> Result<Self> {
        let n = feeds.count;
        let room = n.min(window.max(n / BUCKETS * 2).saturating_add(unit));
        Ok(Samples {
            records: match words_of(feeds) {
                Some(1) => Records::One(filled(room, [0; 1])?),
                Some(2) => Records::Two(filled(room, [0; 2])?),
                Some(3) => Records::Three(filled(room, [0; 3])?),
                Some(4) => Records::Four(filled(room, [0; 4])?),
                _ => Records::Numbers(filled(room, 0)?),
            },
            space: Vec::new(),
            partitions: Vec::new(),
            rounds: Vec::new(),
            order: RandomOrder::default(),
            next: 0,
            start: 0,
            ready: 0,
            held: 0,
            unit,
        })
    }

    /// Number of samples in the window.
    pub(super) fn len(&self) -> usize {
        self.ready
    }

    /// The place in the epoch of the first sample of the window.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Begins an epoch over all samples in random order; each order is as likely as any other.
    pub(super) fn begin<R: Rng>(&mut self, feeds: &Feeds, rng: &mut R) {
        let bytes = with_records!(&self.records, r => size_of_val(&r[0]), _n => size_of::<u32>());
        self.order = RandomOrder::new(feeds.count, bytes, rng);
        (self.next, self.start, self.ready, self.held) = (0, 0, 0, 0);
        for partition in &mut self.partitions {
            partition.deal(rng);
        }
    }

    /// Whether the samples that are there were divided among workers.
    pub(super) fn are_divided(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// How each stretch of the samples that are there was divided.
    pub(super) fn divided(&self) -> impl Iterator<Item = (&Partition, &Rounds)> {
        self.partitions.iter().zip(&self.rounds)
    }

    /// Divides the samples that are there among workers. Samples that are no records stay as they are.
    fn divide(&mut self) -> Result<()> {
        let stretches = self.partitions.len();
        if stretches == 0 {
            return Ok(());
        }
        let (width, records) = match &mut self.records {
            // Two indices are two words.
            Records::Numbers(_) | Records::One(_) => return Ok(()),
            Records::Two(records) => (2, records.as_flattened_mut()),
            Records::Three(records) => (3, records.as_flattened_mut()),
            Records::Four(records) => (4, records.as_flattened_mut()),
        };
        if self.space.is_empty() {
            self.space = filled(records.len(), 0)?;
        }
        // Whole batches, but for the last.
        let length = (records.len() / width).div_ceil(stretches);
        let length = length.next_multiple_of(self.unit);
        let parts = records
            .chunks_mut(length * width)
            .zip(self.space.chunks_mut(length * width))
            .zip(&self.partitions);
        self.rounds.clear();
        self.rounds.resize_with(parts.len(), Rounds::default);
        split::all(
            parts.zip(&mut self.rounds).enumerate(),
            |(number, (((records, space), partition), rounds))| {
                *rounds = partition.divide(number * length, records, width, space);
            },
        );
        Ok(())
    }

    /// Goes on to the next window; `false` if there is none. It may be empty.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory for a bucket that is far larger
    /// than the others.
    pub(super) fn advance(&mut self, feeds: &Feeds) -> Result<bool> {
        let kept = self.ready..self.held;
        let (from, first) = (kept.len(), self.next);
        let all = self.order.sizes().len();
        let most = with_records!(&self.records, r => r.len(), numbers => numbers.len());
        let mut end = from;
        for size in self.order.sizes().skip(first) {
            if end > from && end + size > most {
                break;
            }
            end += size;
            self.next += 1;
        }
        self.start += self.ready;
        self.held = end;
        self.ready = match self.next == all {
            true => end,
            false => end - end % self.unit,
        };
        let (order, buckets) = (&self.order, first..self.next);
        with_records!(
            &mut self.records,
            records => {
                let place = window(records, kept, end)?;
                let columns = columns(feeds);
                order.fill(buckets, place, |i| record(&columns, i as usize));
            },
            numbers => order.fill(buckets, window(numbers, kept, end)?, |i| i)
        );
        if end > 0 {
            self.divide()?;
        }
        Ok(end > 0)
    }

    /// The number of the sample at some position of the window, whose samples were not divided; `None`
    /// without the memory to find it.
    pub(super) fn number_at(&self, position: usize) -> Option<u32> {
        let mut place = self.start + position;
        for (bucket, size) in self.order.sizes().enumerate() {
            if place < size {
                let mut numbers = filled(size, 0).ok()?;
                self.order.fill(bucket..bucket + 1, &mut numbers, |i| i);
                return Some(numbers[place]);
            }
            place -= size;
        }
        None
    }

    /// Fills `buffers` with the columns of the samples at `range`.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index) if others have changed a column, so that it has indices that
    /// were not checked.
    pub(super) fn fill(
        &self,
        range: Range<usize>,
        feeds: &Feeds,
        buffers: &mut [InputBuffer],
    ) -> Result<()> {
        with_records!(
            &self.records,
            records => unpack(&records[range], feeds, buffers),
            numbers => feeds.copy(&numbers[range], buffers)
        );
        feeds.mapped().try_for_each(Mapped::check_unchanged)
    }
}

/// Moves what is kept to the front; the place behind it, as far as `end`.
fn window<T: Copy + Default>(
    records: &mut Vec<T>,
    kept: Range<usize>,
    end: usize,
) -> Result<&mut [T]> {
    let from = kept.len();
    records.copy_within(kept, 0);
    if let Some(more) = end.checked_sub(records.len()) {
        grow(records, more)?;
        records.resize(end, T::default());
    }
    Ok(&mut records[from..end])
}

/// Words in a record of a sample of all columns, if it can be one.
fn words_of(feeds: &Feeds) -> Option<usize> {
    let mut words = 0;
    for feed in &feeds.feeds {
        if let Feed::Column { data, row } = feed {
            if *row != 1 {
                return None;
            }
            words += data.width();
        }
    }
    (1..=4).contains(&words).then_some(words)
}

/// The words of a record, in order.
fn columns(feeds: &Feeds) -> Vec<Words<'_>> {
    let mut words = Vec::new();
    for feed in &feeds.feeds {
        if let Feed::Column { data, .. } = feed {
            words.extend((0..data.width()).map(|at| data.words(at)));
        }
    }
    words
}

#[inline(always)]
fn record<const N: usize>(columns: &[Words<'_>], i: usize) -> [u32; N] {
    std::array::from_fn(|k| columns[k].word(i))
}

/// Copies records back to buffers, column by column.
fn unpack<const N: usize>(records: &[[u32; N]], feeds: &Feeds, buffers: &mut [InputBuffer]) {
    let mut word = 0;
    for (feed, buffer) in feeds.feeds.iter().zip(buffers) {
        if let Feed::Column { data, .. } = feed {
            let width = data.width();
            let out = buffer.words_mut();
            for at in 0..width {
                for (out, record) in out.chunks_exact_mut(width).zip(records) {
                    out[at] = record[word];
                }
                word += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, DType, Type};
    use crate::exec::Leaf;
    use crate::train::Source;
    use crate::train::shuffle::BUCKETS;
    use crate::train::stream::{SHUFFLER, stream};

    /// Feeds of three samples, of columns of these types but for the first axis.
    fn feeds(columns: &[(DType, &[usize])]) -> Feeds {
        let columns = columns.iter().zip(0..).map(|(&(dtype, shape), id)| {
            let ty = Type::new(dtype, &[&[3], shape].concat());
            let column = match dtype {
                DType::U32 => Array::from(vec![0u32; 3]),
                _ => Array::full(&ty, 1.0),
            };
            let name = String::new();
            (Leaf::Input { id, ty, name }, (id, Source::Column(column)))
        });
        let (leaves, sources): (Vec<_>, Vec<_>) = columns.unzip();
        Feeds::new(leaves.iter(), &sources).unwrap()
    }

    #[test]
    fn small_samples_become_records() {
        let words = |columns: &[(DType, &[usize])]| words_of(&feeds(columns));
        let (double, index): ((_, &[usize]), (_, &[usize])) =
            ((DType::F64, &[]), (DType::U32, &[]));
        assert_eq!(words(&[(DType::F32, &[])]), Some(1));
        assert_eq!(words(&[(DType::F64, &[])]), Some(2));
        assert_eq!(words(&[(DType::U32, &[]), (DType::F32, &[])]), Some(2));
        assert_eq!(words(&[(DType::U32, &[]), (DType::F64, &[])]), Some(3));
        assert_eq!(words(&[(DType::F32, &[1]), (DType::F64, &[])]), Some(3));
        assert_eq!(words(&[double; 2]), Some(4));
        assert_eq!(words(&[index; 5]), None);
        assert_eq!(words(&[(DType::F64, &[2])]), None);
        assert_eq!(words(&[(DType::U32, &[]), (DType::F32, &[2])]), None);
        assert_eq!(words(&[(DType::F64, &[0])]), None);
    }

    #[test]
    fn buffers_are_as_many_words_as_they_have_memory() {
        for (dtype, count) in [(DType::U32, 3), (DType::F32, 3), (DType::F64, 6)] {
            let mut buffers = feeds(&[(dtype, &[])]).buffers(3).unwrap();
            assert_eq!(buffers[0].words_mut().len(), count, "{dtype}");
        }
    }

    /// Feeds of the numbers below `count`, as two columns.
    fn numbered(count: u32) -> Feeds {
        let columns = (0..2).map(|id| {
            let ty = Type::new(DType::U32, &[1]);
            let name = String::new();
            let column = Array::from((0..count).collect::<Vec<_>>());
            (Leaf::Input { id, ty, name }, (id, Source::Column(column)))
        });
        let (leaves, sources): (Vec<_>, Vec<_>) = columns.unzip();
        Feeds::new(leaves.iter(), &sources).unwrap()
    }

    /// The numbers of all samples of two epochs, and how many windows they came in.
    fn trained(count: u32, window: usize, unit: usize) -> (Vec<u32>, usize) {
        let feeds = numbered(count);
        let mut samples = Samples::with_window(&feeds, window, unit).unwrap();
        let (mut found, mut windows) = (Vec::new(), 0);
        for epoch in 0..2 {
            let start = found.len();
            samples.begin(&feeds, &mut stream(3, SHUFFLER, epoch));
            while samples.advance(&feeds).unwrap() {
                assert!(samples.len().is_multiple_of(unit) || samples.next == BUCKETS);
                assert_eq!(found.len() - start, samples.start());
                let Records::Two(records) = &samples.records else {
                    unreachable!();
                };
                let records = &records[..samples.len()];
                assert!(records.iter().all(|[a, b]| a == b));
                found.extend(records.iter().map(|[a, _]| a));
                for at in [0, samples.len() - 1] {
                    let number = samples.number_at(at);
                    assert_eq!(number, Some(found[start + samples.start() + at]));
                }
                windows += 1;
            }
        }
        (found, windows)
    }

    #[test]
    fn windows_have_the_samples_of_all_at_once_in_their_order() {
        const COUNT: u32 = 150_000;
        let (all, windows) = trained(COUNT, COUNT as usize, 1);
        assert_eq!(windows, 2);
        let mut first = all[..COUNT as usize].to_vec();
        assert_ne!(first, all[COUNT as usize..]);
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..COUNT));
        for (window, unit, least) in [(40_000, 64, 6), (1, 1, 300), (1000, 7, 200), (1, 5000, 30)] {
            let (found, windows) = trained(COUNT, window, unit);
            assert!(found == all, "{window} {unit}");
            assert!(windows >= least, "{windows} of {window} {unit}");
        }
    }
}
