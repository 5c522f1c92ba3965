//! Draws that samples of a block exchange.
//!
//! Where workers have blocks of samples ([`partition`](crate::train::partition)), items of a sample's own group would
//! be drawn too often ([`Among::is_too_many`]), and items with close numbers may be alike. Most of these draws are
//! exchanged with others of the block, so that each item comes as often as before.

use rand::Rng;

use super::{Sampler, below};
use crate::train::dealt_rows::Among;

/// How many others are tried for an exchange.
const TRIES: usize = 4;

/// The samples of a block, for each of which an item was drawn.
pub(in crate::train) struct BlockDraws<'a> {
    /// The item that each has.
    pub own: &'a [u32],
    pub users: Option<&'a [u32]>,
}

impl BlockDraws<'_> {
    /// Exchanges items of a sample's own group, but for a share that it has anyhow, with what others drew, where
    /// neither user knows what they get.
    pub(in crate::train) fn exchange<R: Rng>(
        &self,
        sampler: &Sampler,
        among: &Among<'_>,
        rng: &mut R,
        items: &mut [u32],
    ) {
        let fits = |sample: usize, item: u32| {
            let user = self.users.map(|users| users[sample]);
            !among.are_together(self.own[sample], item) && !sampler.known_to(user).contains(item)
        };
        for (sample, &own) in self.own.iter().enumerate() {
            if !among.is_too_many(own, items[sample], rng) {
                continue;
            }
            for _ in 0..TRIES {
                let other = below(rng, items.len() as u64) as usize;
                if fits(other, items[sample]) && fits(sample, items[other]) {
                    items.swap(sample, other);
                    break;
                }
            }
        }
    }
}
