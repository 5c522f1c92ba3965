//! The rank of a user's best held-out item among all items that compete, and the area under the curve.
//!
//! Both are counted while scores are searched for the best items. The area under the curve asks, of each
//! score, how many held-out ones are below it and how many are not above. A few are compared with every
//! score; where they are more, each score is searched for among them, 63 at a time ([`Tree`]), and from [`MANY`]
//! on by bisection.
//!
//! Limit: without AVX-512 each of up to [`MANY`] held-out scores is compared with every score.

use super::csr::room;
use crate::error::Result;
use crate::simd::multiversion;
use crate::simd::search::{MOST, Tree};

/// The held-out items of a user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeldOutRank {
    /// How many there are.
    pub(crate) held_out: u32,
    /// How many competitors score at least as high as the best of them, itself included; 0 if that was
    /// not counted.
    pub(crate) best_rank: u32,
    /// The area under the receiver operating characteristic; NaN if it was not computed.
    pub(crate) auc: f64,
}

impl Default for HeldOutRank {
    fn default() -> Self {
        HeldOutRank::of(0)
    }
}

impl HeldOutRank {
    /// That of so many items of which nothing else is asked.
    pub(super) fn of(held_out: usize) -> Self {
        HeldOutRank {
            held_out: held_out as u32,
            best_rank: 0,
            auc: f64::NAN,
        }
    }
}

/// Up to so many held-out scores are compared with every score; more are searched as trees.
const FEW: usize = 4;

/// From so many held-out scores on, each score is searched for by bisection.
const MANY: usize = 1 << 13;

/// The scores of a user's held-out items, at least one, and the counts so far.
pub(super) struct HeldOutScores {
    /// Rising.
    scores: Vec<f32>,
    /// The same in trees of up to [`MOST`]; empty for at most [`FEW`], for [`MANY`], or without AVX-512.
    trees: Vec<Tree>,
    /// How many scores are at least as high as the last.
    at_least: u64,
    /// The sum, over all scores, of the held-out ones below it and of those that are not above.
    passed: u64,
}

impl HeldOutScores {
    /// # Errors
    ///
    /// [`Error::Memory`](crate::error::Error::Memory) when there is no memory for the trees.
    pub(super) fn new(mut scores: Vec<f32>) -> Result<Self> {
        scores.sort_unstable_by(f32::total_cmp);
        let several = FEW < scores.len() && scores.len() < MANY;
        let many = if several { &scores[..] } else { &[] };
        let mut trees = room(many.len().div_ceil(MOST), "held-out scores")?;
        trees.extend(many.chunks(MOST).filter_map(Tree::new));
        Ok(HeldOutScores {
            scores,
            trees,
            at_least: 0,
            passed: 0,
        })
    }

    /// Considers some scores, of which none is NaN.
    pub(super) fn compare(&mut self, scores: &[f32]) {
        let compared = |&held| compare(scores, held).map(u64::from);
        self.at_least += self.scores.last().map_or(0, |best| compared(best)[0]);
        self.passed += match self.trees.is_empty() {
            true if self.scores.len() >= MANY => {
                let passed = |score| {
                    let below = self.scores.partition_point(|&held| held < score);
                    let equal = self.scores[below..].partition_point(|&held| held <= score);
                    (2 * below + equal) as u64
                };
                scores.iter().map(|&score| passed(score)).sum()
            }
            true => (self.scores.iter().map(compared))
                .map(|both| both[0] + both[1])
                .sum::<u64>(),
            false => self.trees.iter().map(|tree| tree.passed(scores)).sum(),
        };
    }

    /// What follows when all items have been considered, those known with a score of negative infinity,
    /// and so many others compete.
    pub(super) fn rank(self, known: usize, others: usize) -> HeldOutRank {
        let (held, known, others) = (self.scores.len() as u64, known as u64, others as u64);
        // What those count for that do not compete.
        let lowest = self
            .scores
            .iter()
            .take_while(|&&score| score == f32::NEG_INFINITY);
        let lowest = lowest.count() as u64;
        let best_rank = self
            .at_least
            .saturating_sub(if lowest == held { known } else { 0 });
        // Of two held-out items one is not above the other, or each is not above: held * held in all.
        let passed = self.passed.saturating_sub(known * lowest + held * held);
        let pairs = held as f64 * others as f64;
        HeldOutRank {
            held_out: held as u32,
            // Not 0, even if somebody has written to the factors meanwhile.
            best_rank: best_rank.max(1) as u32,
            auc: if others > 0 {
                (pairs - 0.5 * passed as f64) / pairs
            } else {
                0.5
            },
        }
    }
}

multiversion! {
    /// How many scores are at least as high as one, and how many are higher.
    fn compare(scores: &[f32], held: f32) -> [u32; 2] {
        // 32 bits, as the scores have, so that a register holds as many.
        let (mut at_least, mut higher) = (0_u32, 0_u32);
        for &score in scores {
            at_least += u32::from(score >= held);
            higher += u32::from(score > held);
        }
        [at_least, higher]
    }
}
