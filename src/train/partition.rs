//! Which samples workers train at the same time, and one after the other: blocks of samples that use other
//! rows of the tables.
//!
//! Workers may update the same rows at the same time (Hogwild). Where tables are small, most rows were written last by
//! another worker, whose core has their cache lines, and waiting for these takes longer than the arithmetic. So samples
//! are divided by two of their indices, a user and an item, say. Rows of both tables are dealt out, in as many parts as
//! there are workers. In a round the samples of each part of users and of one part of items are a block; in the next
//! round users have the next part of items. Workers train blocks of one round at a time, so no two share a row. That is
//! the stratified gradient descent of R. Gemulla, E. Nijkamp, P. J. Haas and Y. Sismanis, *Large-scale matrix
//! factorization with distributed stochastic gradient descent* (KDD 2011).
//!
//! What samplers draw for the same table, all items alike, is mostly drawn from the items of the block, too; draws of
//! items of a sample's own group are [exchanged](super::sampling::exchanged). Parts of items have as many samples, as
//! nearly as can be, so a part with items that many users had has few others, each of which would be drawn too often.
//! So a share of the draws is of all items, by which each comes as often as any other.
//!
//! In a round users of a part have items of one part alone, and compare them with each other. To compare all with all
//! an epoch is cut into [stretches](Partition::for_stretches), for each of which items are dealt anew, at random: with
//! one stretch NDCG@10 of two threads fell by .003 for WARP and SampledSoftmax (MovieLens 100K, 12 splits). There are
//! blocks only where all that is compared is drawn from the block, and only where a sample has one draw that does not
//! read the model, so that little is computed: others are as fast without.
//!
//! Rows that share a cache line, such as biases, are dealt together, as a group. Groups of items are a page:
//! processors fetch lines that follow those in use, but none of another page. Users are cut into ranges, which meet at
//! few rows, and stay where they are, as do the cache lines of their rows.
//!
//! Limits: samples that fill no whole batch of their block are trained at the end of the stretch, by all workers as
//! they come. Other tables are shared as before. Left alone are long epochs, large tables, samples that are not
//! shuffled as records ([`samples`](super::samples)), and those that are drawn from: from the batch
//! ([`in_batch`](super::sampling::in_batch)), or by a sampler of the caller's own that sees their items, which would
//! be those of the block alone. So are tables for which rows are drawn in another way than all alike, since of a group
//! of much weight too many draws would have to be exchanged, or by samplers of unlike numbers of rows, since a share
//! of draws from all is right for one number.

use std::ops::Range;

use rand::Rng;

use super::data::feeds::{Feed, Feeds};
use super::dealt_rows::{Among, DealtRows};
use super::sampling::Sampler;
use crate::array::filled;
use crate::error::Result;
use crate::order;
use crate::split;
use crate::table::Table;
use crate::table::moves::CACHE_LINE;

/// Bytes of a page.
const PAGE: usize = 1 << 12;
/// Groups of rows that a part has, at least: fewer can be too unequal.
const LEAST_GROUPS: usize = 8;
/// Batches that a block has, at least, on average, so that few samples are left for the end.
const LEAST_BATCHES: usize = 8;
/// Batches that a block has, about, in an epoch of several stretches.
const BATCHES: usize = 16;
/// Most parts: one is numbered by a byte.
const MOST_PARTS: usize = 1 << 8;
/// Most samples: there is a second list of them.
const MOST_SAMPLES: usize = 1 << 22;
/// Most stretches of an epoch, each of which is divided for itself.
const MOST_STRETCHES: usize = 16;
/// Bytes of both tables, at most.
const MOST_BYTES: usize = 32 << 20;

/// Rows of a table that a program looks up: the table and its number, and the number of the input that
/// has their indices.
pub(super) struct TableLookup<'a> {
    pub table: &'a Table,
    pub number: usize,
    pub input: usize,
}

/// A column of indices, and the rows that it looks up.
#[derive(Clone)]
struct IndexColumn {
    /// The input that has the indices.
    input: usize,
    /// The word of a record that has the index.
    word: usize,
    /// Inputs whose items are drawn for the same table.
    drawn: Vec<usize>,
    rows: DealtRows,
}

/// How samples are divided among workers. See the [module documentation](self).
#[derive(Clone)]
pub(super) struct Partition {
    /// Parts of each table, one for each worker.
    parts: usize,
    batch: usize,
    columns: [IndexColumn; 2],
    /// How many items samplers draw from that draw among those of a block.
    item_count: usize,
    /// For each part of items, the share of the draws that are of the part ([`DealtRows::drawn_inside`]).
    inside: Vec<f64>,
    /// For the parts of both rows of a sample, where its block is among all: by round, and by worker in
    /// a round.
    blocks: Vec<usize>,
}

/// Where the samples of a stretch are, after they were divided.
#[derive(Clone, Default)]
pub(super) struct Rounds {
    /// Those of each part of users in each round, those of a round one after the other.
    blocks: Vec<Range<usize>>,
    /// Those that are left.
    pub rest: Range<usize>,
}

impl Partition {
    /// How to divide the samples of these feeds among workers that take so many a batch, if that pays.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn new(
        feeds: &Feeds,
        lookups: &[TableLookup<'_>],
        workers: usize,
        batch: usize,
    ) -> Result<Option<Self>> {
        let Some(columns) = columns(feeds, lookups) else {
            return Ok(None);
        };
        let looked_up = lookups.iter().filter(|l| columns.contains(&l.input));
        let mut tables: Vec<_> = looked_up.map(|l| (l.number, l.table)).collect();
        order::sort_by_key(&mut tables, |(number, _)| *number);
        tables.dedup_by_key(|(number, _)| *number);
        let size = |table: &Table| table.ty().size() * table.ty().dtype.size();
        let bytes: usize = tables.iter().map(|(_, table)| size(table)).sum();
        let draws_from_others = feeds.draw_from_others(columns[1]);
        let draws_much = feeds.read_tables() || feeds.draw_several();
        let is_mapped = feeds.mapped().next().is_some();
        if bytes > MOST_BYTES || is_mapped || draws_from_others || draws_much {
            return Ok(None);
        }
        let [users, items] = columns;
        let parts = workers;
        let least = LEAST_BATCHES * parts * parts * batch;
        if !(2..=MOST_PARTS).contains(&parts) || !(least..=MOST_SAMPLES).contains(&feeds.count) {
            return Ok(None);
        }
        let mut users = IndexColumn::new(feeds, lookups, users, CACHE_LINE, parts)?;
        let items = IndexColumn::new(feeds, lookups, items, PAGE, parts)?;
        let enough = |column: &IndexColumn| column.rows.used() >= LEAST_GROUPS * parts;
        if !(enough(&users) && enough(&items)) {
            return Ok(None);
        }
        if !(users.rows.are_even() && items.rows.are_even()) {
            return Ok(None);
        }
        users.rows.cut();
        let sampler = items
            .drawn
            .first()
            .and_then(|&at| feeds.feeds[at].sampler());
        let item_count = sampler.map_or(0, Sampler::item_count) as usize;
        let pairs = (0..parts).flat_map(|first| (0..parts).map(move |second| (first, second)));
        let block = |(first, second)| (second + parts - first) % parts * parts + first;
        Ok(Some(Partition {
            parts,
            batch,
            columns: [users, items],
            item_count,
            inside: Vec::with_capacity(parts),
            blocks: pairs.map(block).collect(),
        }))
    }

    /// One for each stretch of an epoch of so many samples.
    pub(super) fn for_stretches(self, samples: usize) -> Vec<Self> {
        let each = BATCHES * self.batch * self.blocks.len();
        vec![self; (samples / each).clamp(1, MOST_STRETCHES)]
    }

    /// Deals the rows of the second table out anew.
    pub(super) fn deal<R: Rng>(&mut self, rng: &mut R) {
        let rows = &mut self.columns[1].rows;
        rows.deal(rng);
        rows.drawn_inside(self.item_count, &mut self.inside);
    }

    /// The blocks of a worker, one after the other: their samples, and the items of each.
    pub(super) fn blocks(
        &self,
        rounds: &Rounds,
        worker: usize,
    ) -> impl Iterator<Item = (Range<usize>, Among<'_>)> {
        (0..self.parts).map(move |round| {
            let samples = rounds.blocks[round * self.parts + worker].clone();
            (samples, self.among((worker + round) % self.parts))
        })
    }

    /// The items of a part.
    fn among(&self, part: usize) -> Among<'_> {
        let items = &self.columns[1];
        let inputs = (&items.drawn[..], items.input);
        Among::new(inputs, &items.rows, part, self.inside[part])
    }

    /// Divides records of `width` words, the first of which is sample `start`, by way of `space`, which is as long:
    /// each block in the order in which its samples were, and last what fills no batch.
    pub(super) fn divide(
        &self,
        start: usize,
        records: &mut [u32],
        width: usize,
        space: &mut [u32],
    ) -> Rounds {
        let length = (records.len() / width).div_ceil(self.parts).max(1) * width;
        let mut counts = vec![vec![0; self.blocks.len()]; records.len().div_ceil(length)];
        split::all(
            records.chunks(length).zip(&mut counts),
            |(records, counts)| {
                for record in records.chunks_exact(width) {
                    counts[self.block(record)] += 1;
                }
            },
        );
        let mut rest = &mut *space;
        let mut places: Vec<Vec<&mut [u32]>> = Vec::new();
        places.resize_with(counts.len(), || Vec::with_capacity(self.blocks.len()));
        for at in 0..self.blocks.len() {
            for (counts, places) in counts.iter().zip(&mut places) {
                let (here, others) = std::mem::take(&mut rest).split_at_mut(counts[at] * width);
                places.push(here);
                rest = others;
            }
        }
        split::all(
            records.chunks(length).zip(places),
            |(records, places)| match width {
                2 => self.scatter::<2>(records, places),
                3 => self.scatter::<3>(records, places),
                _ => self.scatter::<4>(records, places),
            },
        );
        let sizes = (0..self.blocks.len()).map(|at| counts.iter().map(|counts| counts[at]).sum());
        self.whole_batches(start, space, width, sizes, records)
    }

    /// The number of a record's block.
    #[inline(always)]
    fn block(&self, record: &[u32]) -> usize {
        let [first, second] = &self.columns;
        let first = first.rows.part(record[first.word]);
        self.blocks[first * self.parts + second.rows.part(record[second.word])]
    }

    /// Copies records of `N` words to the places of their blocks, one after the other.
    fn scatter<const N: usize>(&self, records: &[u32], mut places: Vec<&mut [u32]>) {
        for record in records.as_chunks::<N>().0 {
            let places = &mut places[self.block(record)];
            if let Some((place, others)) = std::mem::take(places).split_first_chunk_mut::<N>() {
                *place = *record;
                *places = others;
            }
        }
    }

    /// Copies blocks of these sizes, and behind all of them what fills no whole batch of its block.
    fn whole_batches(
        &self,
        start: usize,
        blocks: &[u32],
        width: usize,
        sizes: impl Iterator<Item = usize> + Clone,
        records: &mut [u32],
    ) -> Rounds {
        let whole = |size: usize| size - size % self.batch;
        let (mut from, mut to) = (0, 0);
        let mut left: usize = sizes.clone().map(whole).sum();
        let mut ranges = Vec::with_capacity(self.blocks.len());
        let rest = start + left..start + records.len() / width;
        for size in sizes {
            let (middle, end) = (from + whole(size), from + size);
            for (range, to) in [(from..middle, to), (middle..end, left)] {
                let (range, to) = (range.start * width..range.end * width, to * width);
                records[to..to + range.len()].copy_from_slice(&blocks[range]);
            }
            ranges.push(start + to..start + to + whole(size));
            to += whole(size);
            left += size - whole(size);
            from = end;
        }
        Rounds {
            blocks: ranges,
            rest,
        }
    }
}

/// The first two columns of one index a sample that are looked up, in different tables; last that for whose table rows
/// are drawn, too. `None` if rows of both tables are drawn, or others than a block has.
fn columns(feeds: &Feeds, lookups: &[TableLookup<'_>]) -> Option<[usize; 2]> {
    let is_column = |at: &usize| match &feeds.feeds[*at] {
        Feed::Column { data, .. } => {
            data.is_of_indices() && lookups.iter().any(|lookup| lookup.input == *at)
        }
        _ => false,
    };
    let mut columns = (0..feeds.feeds.len()).filter(is_column);
    let first = columns.next()?;
    let second = columns.find(|&other| !share(lookups, first, other))?;
    let is_drawn = |input| drawn(feeds, lookups, input).next().is_some();
    let [first, second] = match is_drawn(first) {
        true => [second, first],
        false => [first, second],
    };
    // How many rows are drawn from, all alike.
    let count = |at: usize| {
        let sampler = feeds.feeds[at].sampler();
        let uniform = sampler.filter(|sampler| !sampler.is_weighted());
        uniform.map(Sampler::item_count)
    };
    let mut counts = drawn(feeds, lookups, second).map(count);
    let are_alike = match counts.next() {
        Some(one) => one.is_some() && counts.all(|other| other == one),
        None => true,
    };
    (are_alike && !is_drawn(first)).then_some([first, second])
}

/// Inputs that are drawn, for a table in which an input is looked up.
fn drawn<'a>(
    feeds: &'a Feeds,
    lookups: &'a [TableLookup<'_>],
    input: usize,
) -> impl Iterator<Item = usize> + 'a {
    let is_drawn = |at: &usize| matches!(feeds.feeds[*at], Feed::Drawn { .. });
    let drawn = (0..feeds.feeds.len()).filter(is_drawn);
    drawn.filter(move |&at| share(lookups, input, at))
}

/// Whether two inputs are looked up in the same table.
fn share(lookups: &[TableLookup<'_>], a: usize, b: usize) -> bool {
    let tables = |input: usize| lookups.iter().filter(move |lookup| lookup.input == input);
    tables(a).any(|lookup| tables(b).any(|other| other.number == lookup.number))
}

impl IndexColumn {
    /// That of an input. Rows that follow each other are dealt together: of the widest table so many bytes,
    /// of others at least those of a cache line.
    fn new(
        feeds: &Feeds,
        lookups: &[TableLookup<'_>],
        input: usize,
        bytes: usize,
        parts: usize,
    ) -> Result<Self> {
        let tables = || (lookups.iter().filter(|l| l.input == input)).map(|l| l.table);
        let rows = tables().map(|table| table.ty().shape[0]).max().unwrap_or(0);
        let width = |table: &Table| (table.width() * table.ty().dtype.size()).max(1);
        let least = tables().map(|table| bytes.div_ceil(width(table))).min();
        let most = tables()
            .map(|table| CACHE_LINE.div_ceil(width(table)))
            .max();
        let shift = least.max(most).unwrap_or(1).next_power_of_two().ilog2();
        let words = feeds.feeds[..input].iter().map(|feed| match feed {
            Feed::Column { data, .. } => data.width(),
            _ => 0,
        });
        let mut samples = filled(rows.div_ceil(1 << shift), 0)?;
        if let Feed::Column { data, .. } = &feeds.feeds[input] {
            let indices = data.words(0);
            (0..feeds.count).for_each(|k| samples[(indices.word(k) >> shift) as usize] += 1);
        }
        Ok(IndexColumn {
            input,
            word: words.sum(),
            drawn: drawn(feeds, lookups, input).collect(),
            rows: DealtRows::new(samples, shift, parts)?,
        })
    }
}

#[cfg(test)]
mod tests;
