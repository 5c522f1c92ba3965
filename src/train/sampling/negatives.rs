//! What a worker of [`parallel`](crate::train::parallel()) draws by a sampler that reads the model.
//!
//! [`fit`](crate::train::fit()) draws by such a sampler for itself. A worker that builds its own graph asks for what a
//! step needs: for some users and their items, the negatives that are hard now, and at what rank they are.

use std::fmt;

use rand::Rng;

use super::adaptive::FactorOrders;
use super::scored::{ScoredDraws, ScoredSampler, ScoredSamples};
use crate::error::{Error, Result};
use crate::rules::check_indices;
use crate::train::spans::Spans;

/// Draws by a sampler that reads the model, for one worker. [`Member::negatives`](crate::train::Member::negatives)
/// makes it.
pub struct Negatives<'a> {
    sampler: &'a ScoredSampler,
    orders: FactorOrders,
}

impl fmt::Debug for Negatives<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sampler = self.sampler;
        f.debug_struct("Negatives")
            .field("sampler", sampler)
            .finish_non_exhaustive()
    }
}

impl<'a> Negatives<'a> {
    /// Draws by `sampler`.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    ///
    /// # Safety
    /// The tables that the sampler reads are being trained for as long as this lives.
    pub(in crate::train) unsafe fn new(sampler: &'a ScoredSampler) -> Result<Self> {
        Ok(Negatives {
            sampler,
            orders: sampler.orders()?,
        })
    }

    /// Draws into `drawn`, for each of `users` and `items` as many as `drawn` has of them, and into `ranks`, where
    /// they are wanted, the rank of each sample's negative ([`Source::Rank`](crate::train::Source::Rank)).
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many items and ranks as users, or not as many places for each
    /// user (for WARP, one); [`Error::Index`] if a user or an item is no row of its table; [`Error::Memory`]
    /// and [`Error::Interrupted`].
    pub fn draw<R: Rng>(
        &mut self,
        rng: &mut R,
        (users, items): (&[u32], &[u32]),
        drawn: &mut [u32],
        ranks: Option<&mut [f32]>,
    ) -> Result<()> {
        let count = users.len();
        let same = |name: &str, length: usize| match length == count {
            true => Ok(()),
            false => Err(Error::Shape(format!(
                "{name}: expected one for each of {count} users, got {length}"
            ))),
        };
        same("items", items.len())?;
        if let Some(ranks) = &ranks {
            same("ranks", ranks.len())?;
        }
        let each = match self.sampler.compares() {
            true => 1,
            false => drawn.len() / count.max(1),
        };
        if drawn.len() != each * count {
            return Err(Error::Shape(format!(
                "drawn: expected {} for each of {count} users, got places for {}",
                match self.sampler.compares() {
                    true => "one",
                    false => "as many",
                },
                drawn.len()
            )));
        }
        check_indices(|| "users".into(), users, self.sampler.user_count())?;
        let item_count = self.sampler.base().item_count();
        check_indices(|| "items".into(), items, item_count as usize)?;
        let samples = ScoredSamples {
            users,
            items: Some(items),
            spans: Spans::Rows(each),
        };
        let draws = ScoredDraws {
            items: drawn,
            ranks,
        };
        // SAFETY: users and items were just compared with the rows of the tables, of which the items are as
        // many as the sampler has (`ScoredSampler::new`). The tables are being trained for as long as this
        // lives, by the condition of `new`.
        unsafe { self.sampler.fill((rng, &mut self.orders), samples, draws) }
    }
}
