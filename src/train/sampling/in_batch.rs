//! Negatives out of the batch: what a column has in the other samples of the same batch.
//!
//! A sample's negatives are the items of other samples, so that items come as often as they are popular, and
//! their rows are read anyhow (B. Hidasi, A. Karatzoglou, L. Baltrunas and D. Tikk, *Session-based
//! recommendations with recurrent neural networks*, 2016). Each is drawn by itself: all other samples
//! are as likely, and two draws may be of the same one.
//!
//! What a user knows is drawn again, up to 16 times; then one of the other samples whose items are unknown is
//! found for sure, each as likely; of more than [`NEXT`] others, among so many side by side. Where there is none,
//! as in a last batch of one sample, a sampler of all items draws.

use rand::Rng;

use super::positives::KnownItems;
use super::{NEXT, Sampler, TRIES, below};
use crate::train::spans::Spans;

/// Items, and for whom they are drawn.
#[derive(Debug, Clone, Copy)]
pub(in crate::train) struct BatchItems<'a> {
    /// The item of each sample.
    pub items: &'a [u32],
    pub users: Option<&'a [u32]>,
    /// Samples in a batch; the last may have fewer.
    pub batch: usize,
}

/// Draws for samples; `sampler` says what users know.
pub(in crate::train) fn fill<R: Rng>(
    sampler: &Sampler,
    rng: &mut R,
    samples: BatchItems<'_>,
    spans: Spans<'_>,
    out: &mut [u32],
) {
    let batches = samples.items.chunks(samples.batch);
    for (start, batch) in (0..).step_by(samples.batch).zip(batches) {
        for own in 0..batch.len() {
            let user = samples.users.map(|users| users[start + own]);
            let known = sampler.known_to(user);
            for item in &mut out[spans.of(start + own)] {
                *item = other(rng, batch, own, known).unwrap_or_else(|| sampler.draw(rng, user));
            }
        }
    }
}

/// The item of a sample other than `own` that is not known, if one was found.
#[inline]
fn other<R: Rng>(rng: &mut R, batch: &[u32], own: usize, known: KnownItems<'_>) -> Option<u32> {
    let others = batch.len() as u64 - 1;
    if others == 0 {
        return None;
    }
    for _ in 0..TRIES {
        let at = below(rng, others) as usize;
        let item = batch[at + usize::from(at >= own)];
        if !known.contains(item) {
            return Some(item);
        }
    }
    other_unknown(rng, batch, own, known)
}

/// As [`other`], found without rejecting any.
#[cold]
fn other_unknown<R: Rng>(
    rng: &mut R,
    batch: &[u32],
    own: usize,
    known: KnownItems<'_>,
) -> Option<u32> {
    let others = batch.len() - 1;
    let first = match others > NEXT {
        true => below(rng, others as u64) as usize,
        false => 0,
    };
    let places = (first..first + others.min(NEXT)).map(|place| place % others);
    let items = places.map(|at| batch[at + usize::from(at >= own)]);
    let mut unknown = items.filter(|&item| !known.contains(item));
    match unknown.clone().count() as u64 {
        0 => None,
        n => unknown.nth(below(rng, n) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::sampling::stream;

    fn drawn(sampler: &Sampler, items: &[u32], users: Option<&[u32]>, batch: usize) -> Vec<u32> {
        let mut out = vec![99; 100 * items.len()];
        let samples = BatchItems {
            items,
            users,
            batch,
        };
        let spans = Spans::Rows(100);
        fill(sampler, &mut stream(5, 0, 0), samples, spans, &mut out);
        out
    }

    #[test]
    fn only_other_samples_of_the_same_batch_are_drawn() {
        let sampler = Sampler::uniform(8).unwrap();
        let items = [0, 1, 2, 3, 4, 5, 6, 7];
        for (own, drawn) in (0u32..).zip(drawn(&sampler, &items, None, 4).chunks(100)) {
            let of_batch = own / 4 * 4..own / 4 * 4 + 4;
            for item in 0..8 {
                let count = drawn.iter().filter(|&&other| other == item).count();
                // A third each, with a standard deviation of 4.7.
                let is_other = of_batch.contains(&item) && item != own;
                let expected = if is_other { 12..56 } else { 0..1 };
                assert!(expected.contains(&count), "{own} {item}: {count}");
            }
        }
    }

    /// User 0 knows what half the samples have, user 1 all but item 3 of one sample, user 2 all of these.
    #[test]
    fn what_is_known_is_not_drawn_however_much_it_is() {
        let mut items = [0; 64];
        items[..32].fill(1);
        items[40] = 3;
        let users: Vec<u32> = (0..64).map(|k| k % 3).collect();
        let known = ([0, 1, 1, 2, 2, 2], [1, 0, 1, 0, 1, 3]);
        let sampler = Sampler::uniform(5).unwrap();
        let sampler = sampler.reject(&known.0, &known.1).unwrap();
        let drawn = drawn(&sampler, &items, Some(&users), 64);
        for (k, drawn) in drawn.chunks(100).enumerate() {
            match k % 3 {
                0 => assert!(drawn.iter().all(|&item| item == 0 || item == 3)),
                1 if k == 40 => assert!(drawn.iter().all(|&item| (2..5).contains(&item))),
                1 => assert_eq!(drawn, [3; 100]),
                _ => {
                    let twos = drawn.iter().filter(|&&item| item == 2).count();
                    assert!((25..75).contains(&twos), "{twos}");
                    assert!(drawn.iter().all(|&item| item == 2 || item == 4));
                }
            }
        }
    }

    /// The user does not know the item of 1,000 samples side by side, nor one that no sample has, which is drawn
    /// where those looked at have none.
    #[test]
    fn of_many_others_some_side_by_side_are_looked_at() {
        let mut items = [0; 5000];
        items[2000..3000].fill(1);
        items[..1000].fill(2);
        let users = [0; 5000];
        let known = ([0, 0, 0], [0, 2, 3]);
        let sampler = Sampler::uniform(5).unwrap();
        let sampler = sampler.reject(&known.0, &known.1).unwrap();
        let drawn = drawn(&sampler, &items, Some(&users), 5000);
        assert!(drawn.iter().all(|&item| item == 1 || item == 4));
        assert!(drawn.contains(&4));
        // At the first tries 1 - 0.8^16 of the draws, and some of the others.
        let ones = drawn.iter().filter(|&&item| item == 1).count() as f64;
        assert!(ones / drawn.len() as f64 > 0.98, "{ones}");
    }

    #[test]
    fn a_batch_of_one_draws_from_all_items() {
        let sampler = Sampler::uniform(3).unwrap().reject(&[7], &[1]).unwrap();
        let drawn = drawn(&sampler, &[0, 0, 0], Some(&[7, 7, 7]), 2);
        assert_eq!(drawn[..200], [0; 200]);
        let twos = drawn[200..].iter().filter(|&&item| item == 2).count();
        assert!((25..75).contains(&twos), "{twos}");
        assert!(drawn[200..].iter().all(|&item| item == 0 || item == 2));
    }
}
