//! How well scores rank the items that were held out.
//!
//! For each user with held-out items, all items but the user's training items
//! compete. The rank of a held-out item is the number of competitors that score
//! at least as high, itself included: ties count against the model (the
//! pessimistic rank), so that a model that scores all items alike gains nothing.
//! Every metric but the area under the curve is a function of these ranks, of k
//! and of h, the number of the user's held-out items:
//!
//! | metric | definition |
//! |---|---|
//! | reciprocal rank | mean of 1/rank over the held-out items |
//! | ndcg | Σ 1/log₂(1 + rank) over ranks up to k, divided by the same sum over ranks 1 to min(h, k) (Järvelin and Kekäläinen 2002, binary gains) |
//! | recall | held-out items of rank up to k, divided by h |
//! | precision | held-out items of rank up to k, divided by k |
//! | hit | 1 when an item has rank up to k, else 0 |
//! | auc | share of pairs of a held-out and another competing item that are in order, a tie counting half (the Mann-Whitney statistic); ½ when there is no such pair |
//!
//! A pair that is both in `train` and held out does not count as held out.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::csr::{Csr, room};
use super::factors::{Factors, not_a_number};
use super::tiles::{Tiles, USERS};
use crate::error::{Error, Result};
use crate::simd::multiversion;
use crate::split;

/// The metrics of one user, or their means; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Metrics {
    /// Mean of 1/rank over the held-out items.
    pub reciprocal_rank: f64,
    /// Normalised discounted cumulative gain of the first k.
    pub ndcg: f64,
    /// Share of the held-out items that are among the first k.
    pub recall: f64,
    /// Share of the first k that were held out.
    pub precision: f64,
    /// Whether any held-out item is among the first k.
    pub hit: f64,
    /// Area under the receiver operating characteristic.
    pub auc: f64,
}

/// The metrics of every user with a held-out item.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// User numbers, rising.
    pub users: Vec<usize>,
    /// The metrics of each, in the same order.
    pub metrics: Vec<Metrics>,
}

impl Evaluation {
    /// The mean of each metric, every user counting the same.
    pub fn mean(&self) -> Metrics {
        let n = self.metrics.len() as f64;
        let mean = |of: fn(&Metrics) -> f64| self.metrics.iter().map(of).sum::<f64>() / n;
        Metrics {
            reciprocal_rank: mean(|m| m.reciprocal_rank),
            ndcg: mean(|m| m.ndcg),
            recall: mean(|m| m.recall),
            precision: mean(|m| m.precision),
            hit: mean(|m| m.hit),
            auc: mean(|m| m.auc),
        }
    }
}

/// Measures how well `factors` rank the pairs of `test` among all items that are
/// not in the user's row of `train`, with `k` where a metric looks at the first k.
///
/// `stop` may be set from another thread.
///
/// # Errors
///
/// [`Error::Shape`] when `train` or `test` has another number of users or items;
/// [`Error::Value`] when `k` is 0 or nothing is held out; [`Error::Memory`] when there
/// is no memory for the scores of a block of users or for the result;
/// [`Error::NotFinite`] when a score is not a number; [`Error::Interrupted`] when stopped.
pub fn evaluate(
    factors: &Factors,
    train: &Csr,
    test: &Csr,
    k: usize,
    stop: &AtomicBool,
) -> Result<Evaluation> {
    factors.check_size("train", train)?;
    factors.check_size("test", test)?;
    if k == 0 {
        return Err(Error::Value("k is 0, expected at least 1".into()));
    }
    let is_held_out = |user: usize, item: &u32| !train.contains(user, *item);
    let is_measured = |user: &usize| test.row(*user).iter().any(|item| is_held_out(*user, item));
    let mut users = room(test.n_users(), "users")?;
    users.extend((0..test.n_users()).filter(is_measured));
    if users.is_empty() {
        return Err(Error::Value(
            "test holds no pair that is not in train, expected at least one".into(),
        ));
    }

    let tiles = Tiles::packed(factors)?;
    let block = |(users, metrics): (&[usize], &mut [Metrics])| {
        let vectors = factors.vectors(users.len(), users.iter().copied())?;
        let mut ranked = room(users.len(), "users")?;
        let (width, mut space) = (factors.items().ncols(), Vec::new());
        for (row, &user) in users.iter().enumerate() {
            let held_out: Vec<u32> = (test.row(user).iter().copied())
                .filter(|item| is_held_out(user, item))
                .collect();
            let mut held = room(held_out.len(), "held-out scores")?;
            let vector = &vectors[row * width..(row + 1) * width];
            tiles.score_items(vector, &held_out, &mut space, &mut held);
            ranked.push(Ranked {
                all: vec![Count::default(); held.len()],
                known: room(train.row(user).len(), "known scores")?,
                held,
            });
        }
        let cells = users.len() * tiles.row();
        let mut scores = room(cells, "scores")?;
        scores.resize(cells, 0.0);
        for tile in tiles.ranges() {
            if stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            let rows = tiles.score(&vectors, users.len(), &tile, &mut scores);
            for ((&user, ranked), scores) in users.iter().zip(&mut ranked).zip(rows) {
                let scores = &scores[..tile.len()];
                // Without an early exit the loop is vectorised.
                if scores.iter().fold(false, |any, score| any | score.is_nan())
                    && let Some(item) = scores.iter().position(|score| score.is_nan())
                {
                    return Err(not_a_number(user, (tile.start + item) as u32));
                }
                count(scores, &ranked.held, &mut ranked.all);
                let known = &train.row(user)[ranked.known.len()..];
                let known = known.iter().map(|&item| item as usize);
                let known = known.take_while(|&item| item < tile.end);
                ranked
                    .known
                    .extend(known.map(|item| scores[item - tile.start]));
            }
        }
        for (metrics, ranked) in metrics.iter_mut().zip(ranked) {
            *metrics = ranked.measure(factors.n_items(), k);
        }
        Ok(())
    };
    let mut metrics = room(users.len(), "users")?;
    metrics.resize(users.len(), Metrics::default());
    split::try_all(users.chunks(USERS).zip(metrics.chunks_mut(USERS)), block)?;
    Ok(Evaluation { users, metrics })
}

/// What has been found out about a user, of whose scores none is NaN.
struct Ranked {
    /// Scores of the items held out, of which there is one.
    held: Vec<f32>,
    /// How many of all scores are as high as each of those.
    all: Vec<Count>,
    /// Scores of items that do not compete, none of which is held out.
    known: Vec<f32>,
}

impl Ranked {
    fn measure(&self, n_items: usize, k: usize) -> Metrics {
        let among = |scores: &[f32]| {
            let mut counts = vec![Count::default(); self.held.len()];
            count(scores, &self.held, &mut counts);
            counts
        };
        let (known, held) = (among(&self.known), among(&self.held));

        let h = self.held.len() as f64;
        let others = (n_items - self.known.len() - self.held.len()) as f64;
        let discount = |rank: usize| 1.0 / (1.0 + rank as f64).log2();
        let mut sum = Metrics::default();
        let mut hits = 0;
        let mut in_order = 0.0;
        for ((all, known), held) in self.all.iter().zip(&known).zip(&held) {
            let rank = (all.at_least - known.at_least) as usize;
            sum.reciprocal_rank += 1.0 / rank as f64;
            if rank <= k {
                sum.ndcg += discount(rank);
                hits += 1;
            }
            let higher_or_tied = (rank - held.at_least as usize) as f64;
            let tied = f64::from(all.equal - known.equal - held.equal);
            in_order += others - higher_or_tied + 0.5 * tied;
        }
        let ideal: f64 = (1..=k.min(self.held.len())).map(discount).sum();
        Metrics {
            reciprocal_rank: sum.reciprocal_rank / h,
            // The same terms in another order could exceed 1 by rounding.
            ndcg: (sum.ndcg / ideal).min(1.0),
            recall: hits as f64 / h,
            precision: hits as f64 / k as f64,
            hit: if hits > 0 { 1.0 } else { 0.0 },
            auc: if others > 0.0 {
                in_order / (h * others)
            } else {
                0.5
            },
        }
    }
}

/// How many scores are at least, and how many exactly, as high as one. 32 bits, as the scores have, so
/// that a register holds as many: no count is larger, since items are numbered by 32 bits.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    at_least: u32,
    equal: u32,
}

multiversion! {
    /// Adds to the counts those of some scores that are as high as each of `held`.
    ///
    /// Every score is compared, in vector instructions. Bisection of `held` for each score takes fewer
    /// steps, but scalar ones: it is slower unless most items are held out.
    fn count(scores: &[f32], held: &[f32], counts: &mut [Count]) {
        for (&held, count) in held.iter().zip(counts) {
            let (mut at_least, mut equal) = (0_u32, 0_u32);
            for &score in scores {
                at_least += u32::from(score >= held);
                equal += u32::from(score == held);
            }
            count.at_least += at_least;
            count.equal += equal;
        }
    }
}
