//! Streams of random numbers: one for each worker and epoch of a run, from one seed.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most workers: more than any machine has cores.
pub const MOST_WORKERS: usize = 1024;
/// The stream that shuffles; no worker has this number.
pub(super) const SHUFFLER: usize = MOST_WORKERS;

/// The random numbers of one worker in one epoch.
///
/// The three numbers are mixed to 64 bits by Steele, Lea and Flood's SplitMix64
/// (2014), from which the generator's 256 bits are drawn, as its authors advise
/// (Blackman and Vigna, 2019). For one seed, different workers and epochs (each
/// below 2³²) never start alike, and of the 2²⁵⁶ numbers in the generator's cycle
/// two streams will not meet.
pub fn stream(seed: u64, worker: usize, epoch: usize) -> Xoshiro256PlusPlus {
    let place = ((worker as u64) << 32) ^ epoch as u64;
    Xoshiro256PlusPlus::seed_from_u64(mix(mix(seed) ^ place))
}

/// The output function of SplitMix64, a bijection.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::Rng;

    /// The first outputs of SplitMix64 from the state 0, as its authors' program prints them.
    #[test]
    fn words_are_mixed_as_splitmix64_mixes_them() {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let expected = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
            0xf88b_b8a8_724c_81ec,
        ];
        assert_eq!([0, 1, 2, 3].map(|n| mix(STEP.wrapping_mul(n))), expected);
    }

    proptest! {
        #[test]
        fn streams_differ(seed in any::<u64>(), worker in 0usize..100, epoch in 0usize..100) {
            let start = |seed, worker, epoch| stream(seed, worker, epoch).next_u64();
            let ours = start(seed, worker, epoch);
            prop_assert_eq!(ours, start(seed, worker, epoch));
            prop_assert_ne!(ours, start(seed, worker + 1, epoch));
            prop_assert_ne!(ours, start(seed, worker, epoch + 1));
            prop_assert_ne!(ours, start(seed.wrapping_add(1), worker, epoch));
            prop_assert!(worker == epoch || ours != start(seed, epoch, worker));
        }
    }
}
