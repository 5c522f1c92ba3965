//! Interactions that look like those of the data set MovieLens 100K.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Who interacted with what, each pair once.
pub struct Interactions {
    /// Number of users; ids are below.
    pub users: usize,
    /// Number of items; ids are below.
    pub items: usize,
    /// User and item.
    pub pairs: Vec<(u32, u32)>,
}

impl Interactions {
    /// As many users, items and interactions as the data set MovieLens 100K, with a
    /// few items and users in a large share of them.
    pub fn like_movielens_100k(seed: u64) -> Self {
        let (users, items) = (943, 1682);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut seen = vec![false; users * items];
        let mut pairs = Vec::with_capacity(100_000);
        while pairs.len() < pairs.capacity() {
            let mut skewed = |n: usize, power: f64| {
                let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                (n as f64 * uniform.powf(power)) as usize
            };
            let (user, item) = (skewed(users, 1.6), skewed(items, 2.2));
            if !std::mem::replace(&mut seen[user * items + item], true) {
                pairs.push((user as u32, item as u32));
            }
        }
        Interactions {
            users,
            items,
            pairs,
        }
    }
}
