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

use ndarray::Axis;

use super::csr::{Csr, room};
use super::factors::{Factors, not_a_number};
use crate::error::{Error, Result};
use crate::simd::multiversion;
use crate::split;

/// Bound on the bytes of scores in a block of users.
const SCORES: usize = 1 << 25;
/// Users scored together where that bound allows: enough that packing the items for the product
/// costs little of it, and few enough that their scores are still in the cache when they are compared.
const USERS: usize = 64;

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

    // At least one, for something is held out.
    let n_items = factors.n_items();
    let rows = (SCORES / (n_items * size_of::<f32>())).clamp(1, USERS);
    let go_on = || match stop.load(Relaxed) {
        true => Err(Error::Interrupted),
        false => Ok(()),
    };
    let block = |(users, metrics): (&[usize], &mut [Metrics])| {
        let mut scores = room(users.len() * n_items, "scores")?;
        scores.resize(users.len() * n_items, 0.0);
        go_on()?;
        let rows = factors.users().select(Axis(0), users);
        factors.score(rows.view(), 0..n_items, &mut scores)?;
        let scores = scores.chunks_exact(n_items);
        for ((&user, scores), metrics) in users.iter().zip(scores).zip(metrics) {
            go_on()?;
            // Without an early exit the loop is vectorised.
            if scores.iter().fold(false, |any, score| any | score.is_nan())
                && let Some(item) = scores.iter().position(|score| score.is_nan())
            {
                return Err(not_a_number(user, item as u32));
            }
            let held_out: Vec<u32> = (test.row(user).iter().copied())
                .filter(|item| is_held_out(user, item))
                .collect();
            *metrics = measure(scores, train.row(user), &held_out, k);
        }
        Ok(())
    };
    let mut metrics = room(users.len(), "users")?;
    metrics.resize(users.len(), Metrics::default());
    split::try_all(users.chunks(rows).zip(metrics.chunks_mut(rows)), block)?;
    Ok(Evaluation { users, metrics })
}

/// The metrics of one user, of whose scores none is NaN. `held_out` is not empty
/// and shares nothing with `train`.
fn measure(scores: &[f32], train: &[u32], held_out: &[u32], k: usize) -> Metrics {
    let of = |items: &[u32]| -> Vec<f32> { items.iter().map(|&i| scores[i as usize]).collect() };
    let (known, held) = (of(train), of(held_out));

    let h = held_out.len() as f64;
    let others = (scores.len() - train.len() - held_out.len()) as f64;
    let discount = |rank: usize| 1.0 / (1.0 + rank as f64).log2();
    let mut sum = Metrics::default();
    let mut hits = 0;
    let mut in_order = 0.0;
    for &score in &held {
        let [all, known, held] = [scores, &known, &held].map(|scores| count(scores, score));
        let rank = all.at_least - known.at_least;
        sum.reciprocal_rank += 1.0 / rank as f64;
        if rank <= k {
            sum.ndcg += discount(rank);
            hits += 1;
        }
        let higher_or_tied = (rank - held.at_least) as f64;
        let tied = (all.equal - known.equal - held.equal) as f64;
        in_order += others - higher_or_tied + 0.5 * tied;
    }
    let ideal: f64 = (1..=k.min(held_out.len())).map(discount).sum();
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

/// How many of some scores are at least, and how many exactly, as high as one.
struct Count {
    at_least: usize,
    equal: usize,
}

multiversion! {
    /// Counts by comparing with every score, in vector instructions. Bisection of the held-out scores
    /// for each score takes fewer steps, but scalar ones: it is slower unless most items are held out.
    fn count(scores: &[f32], score: f32) -> Count {
        // 32 bits, as the scores have, so that a register holds as many. No count is larger, since
        // items are numbered by 32 bits.
        let (mut at_least, mut equal) = (0_u32, 0_u32);
        for &other in scores {
            at_least += u32::from(other >= score);
            equal += u32::from(other == score);
        }
        Count {
            at_least: at_least as usize,
            equal: equal as usize,
        }
    }
}
