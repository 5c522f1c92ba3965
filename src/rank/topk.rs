//! The k best items of many users and, for evaluation, the ranks of held-out items.
//!
//! Users are taken in blocks and items in tiles, so that a tile of scores is still
//! in cache when it is searched. Each user keeps the items that may still be among
//! the best, up to twice k of them, and the score that the k-th best has reached;
//! most scores are dismissed by one vectorised comparison with it. Items in `seen` get
//! a score of negative infinity, so that nothing else has to look for them.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::csr::{Csr, difference, room};
use super::factors::{Factors, not_a_number};
use super::held_out::{HeldOutRank, HeldOutScores};
use super::tiles::{Tiles, USERS};
use crate::error::{Error, Result};
use crate::simd::four::UNIT;
use crate::simd::multiversion;
use crate::split;

/// In [`TopK::ids`], the place of an item that does not exist; its score is
/// negative infinity.
pub const NO_ITEM: u32 = u32::MAX;

/// Scores compared together before any is looked at singly.
const LANES: usize = 32;
/// Bound on the bytes of candidates in a block of users.
const CANDIDATES: usize = 1 << 24;
/// Groups of scores, at least, by whose highest ones the first bar is set.
const GROUPS: usize = 4 * UNIT;

/// The best items of each user, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct TopK {
    /// Items asked for, and no more than there are: the width of the rows below.
    pub k: usize,
    /// Item numbers, `k` for each user; [`NO_ITEM`] after a user's last.
    pub ids: Vec<u32>,
    /// Their scores; negative infinity after a user's last.
    pub scores: Vec<f32>,
}

/// Finds the `k` items with the highest scores for each user, leaving out those in
/// the user's row of `seen`. Equal scores rank by item number, the lower first.
///
/// `stop` may be set from another thread.
///
/// # Errors
///
/// [`Error::Shape`] when `seen` has another number of users or items;
/// [`Error::Value`] when `k` is 0; [`Error::Memory`] when the result does not fit into it;
/// [`Error::NotFinite`] when a score is not a number (an infinite score is ranked
/// as such); [`Error::Interrupted`] when stopped.
pub fn top_k(factors: &Factors, seen: Option<&Csr>, k: usize, stop: &AtomicBool) -> Result<TopK> {
    Ok(search(factors, seen, None, k, stop)?.best)
}

/// The best items of each user, and what was held out.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// The best items.
    pub(crate) best: TopK,
    /// Which of these were held out; empty where nothing is.
    pub(crate) hits: Vec<bool>,
    /// Where the held-out items of each user stand; empty where nothing is held out.
    pub(crate) ranks: Vec<HeldOutRank>,
}

/// Pairs that were held out, and whether their ranks are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldOut<'a> {
    /// The pairs; those in `seen` do not count.
    pub(crate) pairs: &'a Csr,
    /// Whether to find more of a [`HeldOutRank`] than how many they are.
    pub(crate) ranked: bool,
}

/// As [`top_k`]; also measures held-out pairs by the same scores. A user without a held-out pair is skipped
/// and gets an empty list.
///
/// # Errors
///
/// Those of [`top_k`], and [`Error::Shape`] when held-out pairs are about another number of users or items.
pub(crate) fn search(
    factors: &Factors,
    seen: Option<&Csr>,
    held_out: Option<HeldOut>,
    k: usize,
    stop: &AtomicBool,
) -> Result<Ranking> {
    let (n_users, n_items) = (factors.n_users(), factors.n_items());
    if let Some(seen) = seen {
        let name = if held_out.is_some() { "train" } else { "seen" };
        factors.check_size(name, seen)?;
    }
    if let Some(held_out) = held_out {
        factors.check_size("test", held_out.pairs)?;
    }
    if k == 0 {
        return Err(Error::Value("k is 0, expected at least 1".into()));
    }
    let k = k.min(n_items);
    let measured = if held_out.is_some() { n_users } else { 0 };
    let mut found = Ranking {
        best: TopK {
            k,
            ids: filled("items", n_users, k, NO_ITEM)?,
            scores: filled("items", n_users, k, f32::NEG_INFINITY)?,
        },
        hits: filled("items", measured, k, false)?,
        ranks: filled("rank", measured, 1, HeldOutRank::default())?,
    };
    if found.best.ids.is_empty() {
        return Ok(found);
    }

    let search = Search {
        // Packed even for few users, so that a score has the same bits however many are measured together.
        tiles: match held_out {
            Some(_) => Tiles::packed(factors)?,
            None => Tiles::new(factors, n_users)?,
        },
        factors,
        seen,
        held_out,
        k,
        stop,
    };
    let rows = (CANDIDATES / (2 * k * size_of::<Candidate>())).clamp(1, USERS);
    let (ids, scores) = (&mut found.best.ids, &mut found.best.scores);
    let lists = ids.chunks_mut(rows * k).zip(scores.chunks_mut(rows * k));
    let mut hits = found.hits.chunks_mut(rows * k);
    let mut ranks = found.ranks.chunks_mut(rows);
    let parts = lists
        .enumerate()
        .map(|(block, (ids, scores))| BlockResults {
            first: block * rows,
            ids,
            scores,
            hits: hits.next().unwrap_or_default(),
            ranks: ranks.next().unwrap_or_default(),
        });
    split::try_all(parts, |part| search.block(part))?;
    Ok(found)
}

/// The results of users that follow each other.
struct BlockResults<'a> {
    first: usize,
    ids: &'a mut [u32],
    scores: &'a mut [f32],
    hits: &'a mut [bool],
    ranks: &'a mut [HeldOutRank],
}

/// What the search for a block of users reads.
struct Search<'a, 'f> {
    tiles: Tiles<'a, 'f>,
    factors: &'a Factors<'f>,
    seen: Option<&'a Csr>,
    held_out: Option<HeldOut<'a>>,
    k: usize,
    stop: &'a AtomicBool,
}

/// A user of a block.
struct RankedUser<'a> {
    user: usize,
    leaders: Leaders,
    /// Seen items that are in no tile so far.
    seen: &'a [u32],
    /// Items held out.
    held_out: Vec<u32>,
    held_out_scores: Option<HeldOutScores>,
}

impl Search<'_, '_> {
    fn block(&self, part: BlockResults) -> Result<()> {
        let mut rows = Vec::with_capacity(part.ids.len() / self.k);
        for user in part.first..part.first + part.ids.len() / self.k {
            let seen = self.seen.map_or(&[][..], |seen| seen.row(user));
            let mut held_out = Vec::new();
            if let Some(HeldOut { pairs, .. }) = self.held_out {
                held_out = room(pairs.row(user).len(), "held-out items")?;
                held_out.extend(difference(pairs.row(user), seen));
                if held_out.is_empty() {
                    continue;
                }
            }
            rows.push(RankedUser {
                user,
                leaders: Leaders::new(self.k)?,
                seen,
                held_out,
                held_out_scores: None,
            });
        }
        if rows.is_empty() {
            return Ok(());
        }
        let users = rows.iter().map(|row| row.user);
        let vectors = self.factors.vectors(rows.len(), users)?;
        if let Some(HeldOut { ranked: true, .. }) = self.held_out {
            let width = vectors.len() / rows.len();
            for (at, row) in rows.iter_mut().enumerate() {
                let mut scores = room(row.held_out.len(), "held-out scores")?;
                let vector = &vectors[at * width..(at + 1) * width];
                self.tiles.score_items(vector, &row.held_out, &mut scores);
                row.held_out_scores = Some(HeldOutScores::new(scores)?);
            }
        }
        let mut space = filled("scores", rows.len(), self.tiles.row(), 0.0)?;
        for tile in self.tiles.ranges() {
            if self.stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            let scores = self.tiles.score(&vectors, rows.len(), &tile, &mut space);
            for (row, scores) in rows.iter_mut().zip(scores) {
                let scores = &mut scores[..tile.len()];
                let is_here = |item: &&u32| (**item as usize) < tile.end;
                let count = row.seen.iter().take_while(is_here).count();
                let (here, later) = row.seen.split_at(count);
                row.seen = later;
                for &item in here {
                    let score = &mut scores[item as usize - tile.start];
                    if !score.is_nan() {
                        *score = f32::NEG_INFINITY;
                    }
                }
                if let Err(item) = row.leaders.offer(tile.start as u32, scores, here) {
                    return Err(not_a_number(row.user, item));
                }
                if let Some(held) = &mut row.held_out_scores {
                    held.compare(scores);
                }
            }
        }
        for row in rows {
            let at = row.user - part.first;
            let cells = at * self.k..;
            for ((id, score), best) in (part.ids[cells.clone()].iter_mut())
                .zip(&mut part.scores[cells.clone()])
                .zip(row.leaders.finish())
            {
                (*id, *score) = (best.item, best.score);
            }
            if let Some(rank) = part.ranks.get_mut(at) {
                let ids = &part.ids[cells.clone()][..self.k];
                for (hit, id) in part.hits[cells].iter_mut().zip(ids) {
                    *hit = row.held_out.binary_search(id).is_ok();
                }
                let known = self.seen.map_or(0, |seen| seen.row(row.user).len());
                let others = self.factors.n_items() - known - row.held_out.len();
                *rank = match row.held_out_scores {
                    Some(held) => held.rank(known, others),
                    None => HeldOutRank::of(row.held_out.len()),
                };
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Candidate {
    score: f32,
    item: u32,
}

impl Candidate {
    /// Less is better: the higher score, then the lower item. Zeros of both signs
    /// are equal; there is no NaN among candidates.
    fn order(&self, other: &Candidate) -> Ordering {
        let scores = other.score.partial_cmp(&self.score);
        scores
            .unwrap_or(Ordering::Equal)
            .then(self.item.cmp(&other.item))
    }
}

/// One user's best items among those offered so far.
struct Leaders {
    k: usize,
    /// Contains the k best of what was offered, and fewer than k others.
    candidates: Vec<Candidate>,
    /// A later item must score more than this. It is NaN while no k items are known to score as high: no
    /// score is at most NaN.
    bar: f32,
}

impl Leaders {
    fn new(k: usize) -> Result<Leaders> {
        Ok(Leaders {
            k,
            candidates: room(2 * k, "candidates")?,
            bar: f32::NAN,
        })
    }

    /// Considers the scores of the items from `first` on, which are later than any
    /// before; those of `seen` do not count. Returns the item of a NaN as the error.
    fn offer(&mut self, first: u32, scores: &[f32], seen: &[u32]) -> Result<(), u32> {
        if self.bar.is_nan() {
            self.set_bar(scores);
        }
        let mut at = 0;
        loop {
            let (passed, mut above) = next_above(&scores[at..], self.bar);
            at += passed;
            if above == 0 {
                return Ok(());
            }
            while above != 0 {
                let place = at + above.trailing_zeros() as usize;
                let (score, item) = (scores[place], first + place as u32);
                self.consider(Candidate { score, item }, seen)?;
                above &= above - 1;
            }
            at = scores.len().min(at + LANES);
        }
    }

    /// Raises the bar below the k-th highest of the highest scores of some groups: at least k items score
    /// as high as that.
    fn set_bar(&mut self, scores: &[f32]) {
        let groups = GROUPS
            .max(4 * self.k.next_multiple_of(UNIT))
            .min(scores.len());
        if self.k > groups {
            return;
        }
        let mut highest = scores[..groups].to_vec();
        raise(&mut highest, scores);
        let (_, kth, _) = highest.select_nth_unstable_by(groups - self.k, f32::total_cmp);
        // With negative infinity any item may be among the best; and a NaN will be found.
        if *kth > f32::NEG_INFINITY {
            self.bar = kth.next_down();
        }
    }

    fn consider(&mut self, candidate: Candidate, seen: &[u32]) -> Result<(), u32> {
        let Candidate { score, item } = candidate;
        if score.is_nan() {
            return Err(item);
        }
        let may_be_seen = score == f32::NEG_INFINITY;
        if score <= self.bar || (may_be_seen && seen.binary_search(&item).is_ok()) {
            return Ok(());
        }
        self.candidates.push(candidate);
        // Where there is no bar the first k candidates set it; later each k further ones raise it.
        let full = if self.bar.is_nan() {
            self.k
        } else {
            2 * self.k
        };
        if self.candidates.len() == full {
            let order = Candidate::order;
            let (_, last, _) = self.candidates.select_nth_unstable_by(self.k - 1, order);
            self.bar = last.score;
            self.candidates.truncate(self.k);
        }
        Ok(())
    }

    /// The best, in order: k, or as many as there were.
    fn finish(mut self) -> impl Iterator<Item = Candidate> {
        self.candidates.sort_unstable_by(Candidate::order);
        self.candidates.truncate(self.k);
        self.candidates.into_iter()
    }
}

multiversion! {
    /// How many scores come before the first block of [`LANES`] of which one is above the bar or is NaN, and
    /// which of these are, as bits: 0 if there is no such block.
    fn next_above(scores: &[f32], bar: f32) -> (usize, u32) {
        // `!(score <= bar)` and not `score > bar`, so that a NaN passes, too.
        #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must not be below")]
        let is_above = |score: f32| !(score <= bar);
        let mut at = 0;
        for block in scores.chunks(LANES) {
            // Without an early exit LLVM vectorises the loop.
            if block.iter().fold(false, |any, &score| any | is_above(score)) {
                let bits = block.iter().enumerate();
                let bits = bits.fold(0, |bits, (at, &s)| bits | (u32::from(is_above(s)) << at));
                return (at, bits);
            }
            at += block.len();
        }
        (at, 0)
    }
}

multiversion! {
    /// Raises each number to the highest score of its group: of those that are as many places apart as
    /// there are numbers.
    fn raise(highest: &mut [f32], scores: &[f32]) {
        for scores in scores.chunks(highest.len().max(1)) {
            for (highest, &score) in highest.iter_mut().zip(scores) {
                *highest = if score > *highest { score } else { *highest };
            }
        }
    }
}

/// `rows * columns` copies of `value`, or an error where memory has no room for so many `what`.
fn filled<T: Clone>(what: &str, rows: usize, columns: usize, value: T) -> Result<Vec<T>> {
    let mut cells = Vec::new();
    let reserved = rows
        .checked_mul(columns)
        .filter(|&len| cells.try_reserve_exact(len).is_ok());
    let Some(len) = reserved else {
        return Err(Error::Memory(format!(
            "no memory for {columns} {what} for each of {rows} users"
        )));
    };
    cells.resize(len, value);
    Ok(cells)
}
