//! Random order: that of the samples of an epoch.
//!
//! Fisher and Yates' shuffle is one random access an element. Beyond the size of
//! the cache that is one wait for memory an element. So long permutations are made
//! by scattering the elements into 256 buckets at random, each of which fits into
//! the cache, and shuffling each bucket (C. R. Rao, *Generation of random
//! permutations of given number of elements using random sampling numbers*, 1961;
//! M. Sandelius, *A simple randomization procedure*, 1962). Every number picks its
//! bucket independently and every order within a bucket is as likely, hence so is
//! every permutation.
//!
//! The sizes of the buckets must be known before the elements are scattered: the
//! choices are made twice, by the same generator, rather than stored. The work is
//! cut into parts with a generator each, which the threads of the current rayon
//! pool share; the result does not depend on how many there are.
//!
//! So the buckets can also be filled a few at a time, in memory for these alone: each pass
//! makes all choices again, and takes what falls into the buckets at hand.
//!
//! Limits: buckets outgrow a cache of 1 MiB beyond 256 MiB of elements; the result is
//! as random, but slower. An order takes 100 KB of bookkeeping.

use std::ops::Range;
use std::slice::IterMut;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::split;
use crate::table::moves::prefetch;

/// A slice of at most so many bytes fits into the cache, and is shuffled plainly.
const SHORT: usize = 1 << 20;
/// Buckets are numbered by a byte.
pub const BUCKETS: usize = 256;
/// Parts that the numbers are scattered in: work for as many threads.
const PARTS: usize = 16;
/// How far ahead of a write its cache line is prefetched, in elements. Each bucket is
/// written in sequence, but the hardware cannot follow so many sequences.
const AHEAD: usize = 32;

/// An order of so many elements, determined by the state of a generator, each as likely as any
/// other. It is one bucket after the other; a short one is one bucket.
#[derive(Default)]
pub struct RandomOrder {
    parts: Vec<Stretch>,
    /// The size of each bucket, and the seed of its order.
    buckets: Vec<(usize, u64)>,
}

impl RandomOrder {
    /// An order of elements of `bytes` bytes each.
    ///
    /// # Panics
    ///
    /// If `length` is more than `u32::MAX`.
    pub fn new<R: Rng>(length: usize, bytes: usize, rng: &mut R) -> Self {
        let Ok(count) = u32::try_from(length) else {
            panic!("an order of more elements than u32 has");
        };
        let seed = rng.next_u64();
        match length * bytes <= SHORT {
            true => RandomOrder {
                parts: Vec::new(),
                buckets: vec![(length, seed)],
            },
            false => RandomOrder::scattered(count, seed),
        }
    }

    /// The order for many elements; it is correct for few, too.
    fn scattered(length: u32, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut parts: Vec<Stretch> = (0..PARTS as u64)
            .map(|i| Stretch {
                numbers: part_start(length, i)..part_start(length, i + 1),
                rng: Xoshiro256PlusPlus::seed_from_u64(rng.next_u64()),
                sizes: [0; BUCKETS],
            })
            .collect();
        split::all(parts.iter_mut(), Stretch::count);
        let size = |bucket: usize| parts.iter().map(|part| part.sizes[bucket]).sum();
        let buckets = (0..BUCKETS).map(|bucket| (size(bucket), rng.next_u64()));
        RandomOrder {
            buckets: buckets.collect(),
            parts,
        }
    }

    /// The size of each bucket.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.buckets.iter().map(|(size, _)| *size)
    }

    /// Fills `out` with the elements of some buckets, where `element(i)` is element number `i`.
    ///
    /// # Panics
    ///
    /// Unless `out` has the size of these buckets.
    pub fn fill<T: Copy + Send>(
        &self,
        buckets: Range<usize>,
        out: &mut [T],
        element: impl Fn(u32) -> T + Sync,
    ) {
        if self.parts.is_empty() {
            for (i, x) in (0..).zip(&mut *out) {
                *x = element(i);
            }
        } else {
            self.scatter(buckets.clone(), out, &element);
        }
        let mut rest = out;
        let filled: Vec<_> = self.buckets[buckets]
            .iter()
            .map(|&(size, seed)| {
                let (bucket, others) = std::mem::take(&mut rest).split_at_mut(size);
                rest = others;
                (bucket, seed)
            })
            .collect();
        split::all(filled.into_iter(), |(bucket, seed)| {
            fisher_yates(bucket, &mut Xoshiro256PlusPlus::seed_from_u64(seed))
        });
    }

    /// Writes the elements of some buckets to `out`, in the order of their numbers in each bucket.
    fn scatter<T: Copy + Send>(
        &self,
        buckets: Range<usize>,
        out: &mut [T],
        element: &(impl Fn(u32) -> T + Sync),
    ) {
        let mut pieces: Vec<Piece<'_, T>> = self
            .parts
            .iter()
            .map(|part| Piece {
                part,
                first: buckets.start,
                places: Vec::with_capacity(buckets.len()),
            })
            .collect();
        let mut rest = out;
        for bucket in buckets {
            for piece in &mut pieces {
                let (places, others) = rest.split_at_mut(piece.part.sizes[bucket]);
                piece.places.push(places.iter_mut());
                rest = others;
            }
        }
        split::all(pieces.into_iter(), |piece| piece.scatter(element));
    }
}

/// Where part `i` begins.
fn part_start(length: u32, i: u64) -> u32 {
    (u64::from(length) * i / PARTS as u64) as u32
}

/// A range of elements to be scattered, the generator that chooses their buckets, and how many
/// go to each bucket.
struct Stretch {
    numbers: Range<u32>,
    rng: Xoshiro256PlusPlus,
    sizes: [usize; BUCKETS],
}

/// Where the elements of a part go in some buckets, from the first on.
struct Piece<'a, T> {
    part: &'a Stretch,
    first: usize,
    places: Vec<IterMut<'a, T>>,
}

impl Stretch {
    fn count(&mut self) {
        let sizes = &mut self.sizes;
        for_each_bucket(self.numbers.clone(), self.rng.clone(), |_, bucket| {
            sizes[bucket] += 1
        });
    }
}

impl<T> Piece<'_, T> {
    fn scatter(self, element: &impl Fn(u32) -> T) {
        let Piece {
            part,
            first,
            mut places,
        } = self;
        for_each_bucket(part.numbers.clone(), part.rng.clone(), |i, bucket| {
            let Some(places) = places.get_mut(bucket.wrapping_sub(first)) else {
                return;
            };
            prefetch(
                places.as_slice().as_ptr().wrapping_add(AHEAD),
                size_of::<T>(),
            );
            if let Some(place) = places.next() {
                *place = element(i);
            }
        });
    }
}

/// Chooses a bucket for each number, eight by one random word.
#[inline(always)]
fn for_each_bucket(
    numbers: Range<u32>,
    mut rng: Xoshiro256PlusPlus,
    mut visit: impl FnMut(u32, usize),
) {
    let mut numbers = numbers;
    while numbers.len() >= 8 {
        let first = numbers.start;
        for (i, byte) in (0..).zip(rng.next_u64().to_le_bytes()) {
            visit(first + i, usize::from(byte));
        }
        numbers.start += 8;
    }
    for (i, byte) in numbers.zip(rng.next_u64().to_le_bytes()) {
        visit(i, usize::from(byte));
    }
}

/// Exchanges each element, from the last on, with one at or before it. Two places
/// are drawn from one random word.
fn fisher_yates<T>(x: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    let mut left = x.len();
    while left > 1 {
        let (a, b) = draw_two(left as u64, left as u64 - 1, rng);
        x.swap(left - 1, a as usize);
        x.swap(left - 2, b as usize);
        left -= 2;
    }
}

/// Two independent uniform numbers, below `m` and below `n`, where `m·n < 2^64`.
///
/// The word is read as a fraction: times `m` its integer part is the first number,
/// what is left times `n` has the second. It is exact, because the words that
/// would make some pairs likelier are rejected: N. Brackett-Rozinsky, D. Lemire,
/// *Batched ranged random integer generation*, 2024.
#[inline(always)]
fn draw_two(m: u64, n: u64, rng: &mut Xoshiro256PlusPlus) -> (u64, u64) {
    let pairs = m * n;
    loop {
        let (a, left) = widening_mul(rng.next_u64(), m);
        let (b, left) = widening_mul(left, n);
        if is_fair(left, pairs) {
            return (a, b);
        }
    }
}

/// Whether a word with this remainder counts: 2^64 modulo `pairs` remainders are one word too many.
#[inline(always)]
fn is_fair(left: u64, pairs: u64) -> bool {
    // The second comparison is a division, and seldom needed.
    left >= pairs || left >= pairs.wrapping_neg() % pairs
}

/// The high and the low half of a product.
#[inline(always)]
fn widening_mul(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_that_would_make_pairs_likelier_are_rejected() {
        for pairs in [1, 2, 3, 10, 1 << 40, (1 << 63) + 1, u64::MAX] {
            let rejected = (u128::from(u64::MAX) + 1) % u128::from(pairs);
            let rejected = rejected as u64;
            assert!(
                is_fair(rejected, pairs) && is_fair(u64::MAX, pairs),
                "{pairs}"
            );
            assert!(rejected == 0 || !is_fair(0, pairs) && !is_fair(rejected - 1, pairs));
        }
    }

    /// All numbers below `length`, in an order, and in that for many elements.
    fn shuffled(order: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
        let found = RandomOrder::new(order.len(), size_of::<u32>(), rng);
        found.fill(0..found.sizes().len(), order, |i| i);
    }

    fn scattered(order: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
        let found = RandomOrder::scattered(order.len() as u32, rng.next_u64());
        found.fill(0..BUCKETS, order, |i| i);
    }

    fn is_permutation(order: &[u32]) -> bool {
        let mut seen = vec![false; order.len()];
        order
            .iter()
            .all(|&i| !std::mem::replace(&mut seen[i as usize], true))
    }

    proptest! {
        #[test]
        fn every_length_gives_a_permutation(length in 0usize..3000, seed in any::<u64>()) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut order = vec![0; length];
            shuffled(&mut order, &mut rng);
            prop_assert!(is_permutation(&order));
            scattered(&mut order, &mut rng);
            prop_assert!(is_permutation(&order));
        }

        #[test]
        fn buckets_are_the_same_whichever_are_filled_with_them(
            length in 0u32..3000, seed in any::<u64>(), cuts in prop::array::uniform3(0..=BUCKETS),
        ) {
            let found = RandomOrder::scattered(length, seed);
            let mut whole = vec![0; length as usize];
            found.fill(0..BUCKETS, &mut whole, |i| i);
            let mut ends = [cuts[0], cuts[1], cuts[2], BUCKETS];
            ends.sort_unstable();
            let (mut start, mut joined) = (0, Vec::new());
            for end in ends {
                let mut part = vec![0; found.sizes().skip(start).take(end - start).sum()];
                found.fill(start..end, &mut part, |i| i);
                joined.extend(part);
                start = end;
            }
            prop_assert_eq!(joined, whole);
        }
    }

    #[test]
    fn long_ones_are_permutations_whatever_the_threads() {
        let length = SHORT / size_of::<u32>() + 12_345;
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut order = vec![0; length];
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            pool.install(|| shuffled(&mut order, &mut rng));
            order
        };
        let order = run(1);
        assert!(is_permutation(&order));
        assert_eq!(order, run(3));
        // Runs up and down are equally likely.
        let rises = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(
            (0.49..0.51).contains(&(rises as f64 / length as f64)),
            "{rises}"
        );
    }

    /// All orders of `N` numbers are equally likely, both ways: the statistic of so many degrees of
    /// freedom is below `most`.
    fn check_orders<const N: usize>(orders: usize, rounds: usize, most: f64) {
        type Way = fn(&mut [u32], &mut Xoshiro256PlusPlus);
        for way in [shuffled as Way, scattered] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut counts = std::collections::HashMap::new();
            for _ in 0..rounds {
                let mut order = [0; N];
                way(&mut order, &mut rng);
                *counts.entry(order).or_insert(0) += 1;
            }
            let expected = rounds as f64 / orders as f64;
            let statistic: f64 = counts
                .values()
                .map(|&count| (f64::from(count) - expected).powi(2) / expected)
                .sum();
            assert_eq!(counts.len(), orders);
            assert!(statistic < most, "{N} numbers: {statistic}");
        }
    }

    /// With 23 and 119 degrees of freedom the statistics exceed these bounds once in 30,000 seeds;
    /// ours is fixed.
    #[test]
    fn every_order_is_as_likely() {
        check_orders::<4>(24, 4800, 60.0);
        check_orders::<5>(120, 4800, 190.0);
    }

    /// Two thirds of all words are as many as there are pairs; the others would make some likelier.
    #[test]
    fn words_that_would_make_some_pairs_likelier_are_rejected() {
        let words = |m: u64, n: u64| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut word_by_word = rng.clone();
            for _ in 0..1000 {
                let (a, b) = draw_two(m, n, &mut rng);
                assert!(a < m && b < n);
            }
            let mut words = 0;
            while word_by_word != rng {
                word_by_word.next_u64();
                words += 1;
            }
            words
        };
        assert_eq!(words(10, 9), 1000);
        let found = words(1 << 32, (1u64 << 33) / 3);
        assert!((1400..1600).contains(&found), "{found}");
    }

    #[test]
    fn each_call_gives_another_order() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut a, mut b) = ([0; 100], [0; 100]);
        shuffled(&mut a, &mut rng);
        shuffled(&mut b, &mut rng);
        assert_ne!(a, b);
    }
}
