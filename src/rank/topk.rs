//! The k best items of many users.
//!
//! Users are taken in blocks and items in tiles, so that a tile of scores is still
//! in cache when it is searched. Each user keeps the items that may still be among
//! the best, up to twice k of them, and the score that the k-th best has reached;
//! most scores are dismissed by one vectorised comparison with it.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::csr::{Csr, room};
use super::factors::{Factors, not_a_number};
use super::tiles::{Tiles, USERS};
use crate::error::{Error, Result};
use crate::split;

/// In [`TopK::ids`], the place of an item that does not exist; its score is
/// negative infinity.
pub const NO_ITEM: u32 = u32::MAX;

/// Scores compared together before any is looked at singly.
const LANES: usize = 32;
/// Bound on the bytes of candidates in a block of users.
const CANDIDATES: usize = 1 << 24;

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
    let (n_users, n_items) = (factors.n_users(), factors.n_items());
    if let Some(seen) = seen {
        factors.check_size("seen", seen)?;
    }
    if k == 0 {
        return Err(Error::Value("k is 0, expected at least 1".into()));
    }
    let k = k.min(n_items);
    let mut best = TopK {
        k,
        ids: filled(n_users, k, NO_ITEM)?,
        scores: filled(n_users, k, f32::NEG_INFINITY)?,
    };
    if best.ids.is_empty() {
        return Ok(best);
    }

    let search = Search {
        tiles: Tiles::new(factors, n_users)?,
        factors,
        seen,
        k,
        stop,
    };
    let rows = (CANDIDATES / (2 * k * size_of::<Candidate>())).clamp(1, USERS);
    let parts = (best.ids.chunks_mut(rows * k)).zip(best.scores.chunks_mut(rows * k));
    split::try_all(parts.enumerate(), |(block, (ids, scores))| {
        search.block(block * rows, ids, scores)
    })?;
    Ok(best)
}

/// What the search for a block of users reads.
struct Search<'a, 'f> {
    tiles: Tiles<'a, 'f>,
    factors: &'a Factors<'f>,
    seen: Option<&'a Csr>,
    k: usize,
    stop: &'a AtomicBool,
}

impl Search<'_, '_> {
    /// Fills `ids` and `scores`, k cells a user, for the users from `first` on.
    fn block(&self, first: usize, ids: &mut [u32], scores: &mut [f32]) -> Result<()> {
        let rows = ids.len() / self.k;
        let users = self.factors.vectors(rows, first..first + rows)?;
        let leaders = (0..rows).map(|_| Leaders::new(self.k));
        let mut leaders: Vec<Leaders> = leaders.collect::<Result<_>>()?;
        let mut space = filled(rows, self.tiles.row(), 0.0)?;
        for tile in self.tiles.ranges() {
            if self.stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            let rows = self.tiles.score(&users, rows, &tile, &mut space);
            for (row, (leaders, scores)) in leaders.iter_mut().zip(rows).enumerate() {
                let seen = self.seen.map_or(&[][..], |seen| seen.row(first + row));
                if let Err(item) = leaders.offer(tile.start as u32, &scores[..tile.len()], seen) {
                    return Err(not_a_number(first + row, item));
                }
            }
        }
        for (row, leaders) in leaders.into_iter().enumerate() {
            let cells = row * self.k..;
            for ((id, score), best) in (ids[cells.clone()].iter_mut())
                .zip(&mut scores[cells])
                .zip(leaders.finish())
            {
                (*id, *score) = (best.item, best.score);
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
    /// A later item must score more than this. It is NaN while fewer than k items are
    /// known: no score is at most NaN.
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
    /// before. Returns the item of a NaN as the error.
    fn offer(&mut self, first: u32, scores: &[f32], seen: &[u32]) -> Result<(), u32> {
        for (chunk, scores) in scores.chunks(LANES).enumerate() {
            let bar = self.bar;
            // `!(score <= bar)` and not `score > bar`, so that a NaN passes, too. Without an
            // early exit LLVM vectorises the loop.
            #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must not be below")]
            let above = scores.iter().fold(false, |any, &s| any | !(s <= bar));
            if above {
                let first = first + (chunk * LANES) as u32;
                for (item, &score) in (first..).zip(scores) {
                    self.consider(Candidate { score, item }, seen)?;
                }
            }
        }
        Ok(())
    }

    fn consider(&mut self, candidate: Candidate, seen: &[u32]) -> Result<(), u32> {
        if candidate.score.is_nan() {
            return Err(candidate.item);
        }
        if candidate.score <= self.bar || seen.binary_search(&candidate.item).is_ok() {
            return Ok(());
        }
        self.candidates.push(candidate);
        // The first k candidates set the bar; later each k further ones raise it.
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

/// `rows * columns` copies of `value`, or an error where memory has no room.
fn filled<T: Clone>(rows: usize, columns: usize, value: T) -> Result<Vec<T>> {
    let mut cells = Vec::new();
    let reserved = rows
        .checked_mul(columns)
        .filter(|&len| cells.try_reserve_exact(len).is_ok());
    let Some(len) = reserved else {
        return Err(Error::Memory(format!(
            "no memory for {columns} items for each of {rows} users"
        )));
    };
    cells.resize(len, value);
    Ok(cells)
}
