//! What draws the values of an input, and how many it draws for each sample.
//!
//! What is drawn is staged as columns are. An input with as many items for each sample has a row of them. Where
//! their number is that of entries of a [`Ragged`], the input has two words a sample instead, which tell where its
//! items begin: all of them lie behind these words, one sample after the other.

use std::sync::Arc;

use super::input_buffer::InputBuffer;
use super::ragged::Ragged;
use crate::array::{element_count, vec_for};
use crate::error::Result;
use crate::reserve::grow;
use crate::train::sampling::Sampler;
use crate::train::sampling::custom::CustomSampler;
use crate::train::sampling::scored::ScoredSampler;
use crate::train::spans::Spans;

/// What draws the values of an input.
#[derive(Debug)]
pub(in crate::train) enum Drawer {
    /// A sampler, given the value of another feed.
    Items {
        sampler: Arc<Sampler>,
        given: Option<usize>,
    },
    /// What another feed has in the samples of the batch, given the value of a third one.
    InBatch {
        sampler: Arc<Sampler>,
        column: usize,
        given: Option<usize>,
    },
    /// A sampler that reads the model, of the values of other feeds.
    Scored {
        sampler: Arc<ScoredSampler>,
        user: usize,
        item: Option<usize>,
    },
    /// A sampler of the caller's own, of values of other feeds.
    Custom {
        sampler: Arc<dyn CustomSampler>,
        /// What it said of itself when the run began.
        n: u32,
        columns: Vec<usize>,
    },
}

impl Drawer {
    /// The number of items; those drawn are below.
    pub(in crate::train) fn item_count(&self) -> u32 {
        match self {
            Drawer::Items { sampler, .. } | Drawer::InBatch { sampler, .. } => sampler.item_count(),
            Drawer::Scored { sampler, .. } => sampler.base().item_count(),
            Drawer::Custom { n, .. } => *n,
        }
    }
}

/// How many items are drawn for each sample.
#[derive(Debug)]
pub(in crate::train) enum DrawRows {
    /// The same number.
    Fixed(usize),
    /// `times` the product of the lengths of entries, whose numbers these feeds have.
    Entries {
        of: Vec<(usize, Arc<Ragged>)>,
        times: usize,
    },
}

impl DrawRows {
    /// Bytes in a sample, on average.
    pub(in crate::train) fn bytes(&self) -> usize {
        let mean = |ragged: &Ragged| ragged.values().shape()[0].div_ceil(ragged.len().max(1));
        let items = match self {
            DrawRows::Fixed(row) => *row,
            DrawRows::Entries { of, times } => of.iter().fold(*times, |product, (_, ragged)| {
                product.saturating_mul(mean(ragged))
            }),
        };
        items.saturating_mul(size_of::<u32>())
    }

    /// Has items drawn for `count` samples into the buffer of feed `k`; `draw` gets all other buffers.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Memory`](crate::Error::Memory) if there is no memory
    /// for so many, and those of `draw`.
    pub(in crate::train) fn stage(
        &self,
        k: usize,
        count: usize,
        buffers: &mut [InputBuffer],
        draw: impl FnOnce(&[InputBuffer], Spans<'_>, &mut [u32]) -> Result<()>,
    ) -> Result<()> {
        let nothing = InputBuffer::U32(Vec::new());
        let mut own = std::mem::replace(&mut buffers[k], nothing);
        let drawn = match (self, &mut own) {
            (DrawRows::Fixed(row), InputBuffer::U32(words)) => {
                draw(buffers, Spans::Rows(*row), &mut words[..count * row])
            }
            (DrawRows::Entries { of, times }, InputBuffer::U32(words)) => {
                starts(of, *times, count, buffers).and_then(|starts| {
                    let items = room_behind(words, count, &starts)?;
                    draw(buffers, Spans::Starts(&starts), items)
                })
            }
            _ => Ok(()),
        };
        buffers[k] = own;
        drawn
    }
}

/// Where the items of each sample begin, and at last where they end.
fn starts(
    of: &[(usize, Arc<Ragged>)],
    times: usize,
    count: usize,
    buffers: &[InputBuffer],
) -> Result<Vec<usize>> {
    let mut starts = vec_for(&[count + 1])?;
    let mut total = 0usize;
    starts.push(total);
    for sample in 0..count {
        let length = |(feed, ragged): &(usize, Arc<Ragged>)| {
            ragged
                .range(buffers[*feed].indices()[sample] as usize)
                .len()
        };
        let shape: smallvec::SmallVec<[usize; 4]> = of.iter().map(length).chain([times]).collect();
        total = total.saturating_add(element_count(&shape)?);
        starts.push(total);
    }
    Ok(starts)
}

/// Writes where the items of each sample begin, and gives the place of all.
fn room_behind<'a>(
    words: &'a mut Vec<u32>,
    count: usize,
    starts: &[usize],
) -> Result<&'a mut [u32]> {
    let behind = 2 * count;
    let end = starts[count].saturating_add(behind);
    if let Some(more) = end.checked_sub(words.len()) {
        grow(words, more)?;
        words.resize(end, 0);
    }
    let (places, items) = words.split_at_mut(behind);
    for (place, start) in places.as_chunks_mut().0.iter_mut().zip(starts) {
        let start = (start + behind) as u64;
        *place = [start as u32, (start >> 32) as u32];
    }
    Ok(&mut items[..starts[count]])
}
