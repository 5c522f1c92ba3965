//! The samples of an epoch, in the order in which they are trained.
//!
//! To read a column that does not fit into the cache at random is to wait for memory at each sample.
//! So where a sample is small (a user, an item, a rating) its columns are packed into one record, and
//! the records themselves are shuffled, to be read in sequence. Larger samples stay in their columns,
//! and their numbers are shuffled.
//!
//! Limits: a record has up to four words of 32 bits; records take that much memory beside
//! the columns.

use std::ops::Range;

use rand::Rng;

use super::data::{Feed, Feeds, InputBuffer};
use super::shuffle::shuffle;
use crate::array::{Slice, filled};
use crate::error::Result;

/// All samples, in some order.
pub(super) enum Samples {
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
            Samples::Numbers($numbers) => $otherwise,
            Samples::One($records) => $body,
            Samples::Two($records) => $body,
            Samples::Three($records) => $body,
            Samples::Four($records) => $body,
        }
    };
}

impl Samples {
    /// Room for all samples of the feeds.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn new(feeds: &Feeds) -> Result<Self> {
        let n = feeds.count;
        Ok(match words_of(feeds) {
            Some(1) => Samples::One(filled(n, [0; 1])?),
            Some(2) => Samples::Two(filled(n, [0; 2])?),
            Some(3) => Samples::Three(filled(n, [0; 3])?),
            Some(4) => Samples::Four(filled(n, [0; 4])?),
            _ => Samples::Numbers(filled(n, 0)?),
        })
    }

    /// Number of samples.
    pub(super) fn len(&self) -> usize {
        with_records!(self, records => records.len(), numbers => numbers.len())
    }

    /// Takes all samples in random order; each order is as likely as any other.
    pub(super) fn shuffle<R: Rng>(&mut self, feeds: &Feeds, rng: &mut R) {
        with_records!(
            self,
            records => {
                let columns = columns(feeds);
                shuffle(records, |i| record(&columns, i as usize), rng);
            },
            numbers => shuffle(numbers, |i| i, rng)
        );
    }

    /// The number of the sample at some position, after a shuffle by a generator like this one.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn number_at<R: Rng>(&self, position: usize, rng: &mut R) -> Result<u32> {
        fn shuffled<const N: usize, R: Rng>(
            records: &[[u32; N]],
            position: usize,
            rng: &mut R,
        ) -> Result<u32> {
            // How it is shuffled depends on the size of a record.
            let mut numbers = filled(records.len(), [0; N])?;
            shuffle(&mut numbers, |i| [i; N], rng);
            Ok(numbers[position][0])
        }
        with_records!(
            self,
            records => shuffled(records, position, rng),
            numbers => Ok(numbers[position])
        )
    }

    /// Fills `buffers` with the samples at `range`.
    pub(super) fn fill<R: Rng>(
        &self,
        range: Range<usize>,
        feeds: &Feeds,
        rng: &mut R,
        buffers: &mut [InputBuffer],
    ) {
        let count = range.len();
        with_records!(
            self,
            records => unpack(&records[range], feeds, buffers),
            numbers => feeds.copy(&numbers[range], buffers)
        );
        feeds.draw(count, rng, buffers);
    }
}

/// Words in a record of a sample of all columns, if it can be one.
fn words_of(feeds: &Feeds) -> Option<usize> {
    let mut words = 0;
    for feed in &feeds.feeds {
        if let Feed::Column { data, row } = feed {
            if *row != 1 {
                return None;
            }
            words += data.dtype().size() / size_of::<u32>();
        }
    }
    (1..=4).contains(&words).then_some(words)
}

/// One word of every sample: the memory of a column, and where in each element it is.
#[derive(Clone, Copy)]
struct Words<'a> {
    memory: &'a [u32],
    step: usize,
    at: usize,
}

/// The words of a record, in order.
fn columns(feeds: &Feeds) -> Vec<Words<'_>> {
    let mut words = Vec::new();
    for feed in &feeds.feeds {
        if let Feed::Column { data, .. } = feed {
            let step = data.dtype().size() / size_of::<u32>();
            let memory = as_words(data.view().data);
            words.extend((0..step).map(|at| Words { memory, step, at }));
        }
    }
    words
}

#[inline(always)]
fn record<const N: usize>(columns: &[Words<'_>], i: usize) -> [u32; N] {
    std::array::from_fn(|k| {
        let Words { memory, step, at } = columns[k];
        memory[i * step + at]
    })
}

/// Copies records back to buffers, column by column.
fn unpack<const N: usize>(records: &[[u32; N]], feeds: &Feeds, buffers: &mut [InputBuffer]) {
    let mut word = 0;
    for (feed, buffer) in feeds.feeds.iter().zip(buffers) {
        if let Feed::Column { data, .. } = feed {
            let step = data.dtype().size() / size_of::<u32>();
            let out = as_words_mut(buffer);
            for at in 0..step {
                for (out, record) in out.chunks_exact_mut(step).zip(records) {
                    out[at] = record[word];
                }
                word += 1;
            }
        }
    }
}

/// Any elements as words.
fn as_words(data: Slice<'_>) -> &[u32] {
    let count = data.len() * (data.dtype().size() / size_of::<u32>());
    // SAFETY: the memory is that of the slice, borrowed as long; all element types are whole
    // words without padding, aligned at least as words, and any bits are a word.
    unsafe { std::slice::from_raw_parts(data.address().cast(), count) }
}

/// A buffer's elements as words.
fn as_words_mut(buffer: &mut InputBuffer) -> &mut [u32] {
    let (start, count) = match buffer {
        InputBuffer::F32(v) => (v.as_mut_ptr().cast(), v.len()),
        InputBuffer::F64(v) => (v.as_mut_ptr().cast(), 2 * v.len()),
        InputBuffer::U32(v) => (v.as_mut_ptr(), v.len()),
    };
    // SAFETY: the memory is that of the buffer's list, with two words an element of 8 bytes and one
    // of 4, borrowed mutably as long. All element types are whole words without padding, aligned at
    // least as words; any bits are a word, and any words are an element.
    unsafe { std::slice::from_raw_parts_mut(start, count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, DType, Type};
    use crate::exec::Leaf;
    use crate::train::Source;

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
    fn columns_are_as_many_words_as_they_have_memory() {
        assert_eq!(as_words(Slice::U32(&[7, 8, 9])), [7, 8, 9]);
        assert_eq!(as_words(Slice::F32(&[1.0; 3])), [1f32.to_bits(); 3]);
        assert_eq!(as_words(Slice::F64(&[0.0; 3])), [0; 6]);
        for (dtype, count) in [(DType::U32, 3), (DType::F32, 3), (DType::F64, 6)] {
            let mut buffers = feeds(&[(dtype, &[])]).buffers(3).unwrap();
            assert_eq!(as_words_mut(&mut buffers[0]).len(), count, "{dtype}");
        }
    }
}
