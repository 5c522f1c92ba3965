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
//! | reciprocal rank | 1/rank of the best held-out item |
//! | ndcg | Σ 1/log₂(1 + rank) over ranks up to k, divided by the same sum over ranks 1 to min(h, k) (Järvelin and Kekäläinen 2002, binary gains) |
//! | recall | held-out items of rank up to k, divided by h |
//! | precision | held-out items of rank up to k, divided by k |
//! | hit | 1 when an item has rank up to k, else 0 |
//! | auc | share of pairs of a held-out and another competing item that are in order, a tie counting half (the Mann-Whitney statistic); ½ when there is no such pair |
//!
//! A pair that is both in `train` and held out does not count as held out.

use std::sync::atomic::AtomicBool;

use super::csr::Csr;
use super::factors::Factors;
use super::held_out::HeldOutRank;
use super::topk::{HeldOut, NO_ITEM, search};
use crate::error::{Error, Result};

/// The metrics of one user, or their means; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Metrics {
    /// 1/rank of the best held-out item.
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
    let held_out = HeldOut {
        pairs: test,
        ranked: true,
    };
    if k == 0 {
        return Err(Error::Value("k is 0, expected at least 1".into()));
    }
    // One item more says whether the score of the last is that of others, too.
    let found = search(
        factors,
        Some(train),
        Some(held_out),
        k.saturating_add(1),
        stop,
    )?;
    let width = found.best.k.max(1);
    let lists = (found.best.ids.chunks(width))
        .zip(found.best.scores.chunks(width))
        .zip(found.hits.chunks(width));
    let (users, metrics): (Vec<usize>, Vec<Metrics>) = (found.ranks.iter().zip(lists))
        .enumerate()
        .filter(|(_, (found, _))| found.held_out > 0)
        .map(|(user, (found, ((ids, scores), hits)))| {
            let length = ids.iter().take_while(|&&id| id != NO_ITEM).count();
            (user, measure(found, &scores[..length], hits, k))
        })
        .unzip();
    if users.is_empty() {
        return Err(Error::Value(
            "test holds no pair that is not in train, expected at least one".into(),
        ));
    }
    Ok(Evaluation { users, metrics })
}

/// The metrics of a user whose best items have these scores.
fn measure(found: &HeldOutRank, scores: &[f32], hits: &[bool], k: usize) -> Metrics {
    let discount = |rank: usize| 1.0 / (1.0 + rank as f64).log2();
    let (mut gain, mut count, mut rank) = (0.0, 0, scores.len());
    for place in (0..scores.len()).rev() {
        // A rank is the place of the last of those with the same score.
        if place + 1 < scores.len() && scores[place] != scores[place + 1] {
            rank = place + 1;
        }
        if hits[place] && rank <= k {
            gain += discount(rank);
            count += 1;
        }
    }
    let held_out = found.held_out as usize;
    let ideal: f64 = (1..=k.min(held_out)).map(discount).sum();
    Metrics {
        reciprocal_rank: 1.0 / f64::from(found.best_rank),
        // The same terms in another order could exceed 1 by rounding.
        ndcg: (gain / ideal).min(1.0),
        recall: f64::from(count) / held_out as f64,
        precision: f64::from(count) / k as f64,
        hit: if count > 0 { 1.0 } else { 0.0 },
        auc: found.auc,
    }
}
