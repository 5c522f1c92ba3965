//! Samplers that read the model: the negatives of a ranking loss that are hard now.
//!
//! [`adaptive`](super::adaptive) has the orders by which ranks become items, [`partition`](crate::train::partition) the
//! blocks of items that workers draw among.

use std::sync::Arc;

use rand::Rng;

use super::Sampler;
use super::adaptive::FactorOrders;
use crate::array::{Number, with_real};
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::simd::{self, multiversion};
use crate::table::Table;
use crate::table::moves::{self, Relaxed};
use crate::train::spans::Spans;

/// About how many nanoseconds it takes to draw an item and to compute its score.
const DRAW: usize = 32;

/// Which of the items that are drawn is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// The first whose score is above that of the sample's item less `margin`, of at most `most`; the
    /// last if there is none.
    Warp {
        /// How far below the item a negative is to be.
        margin: f64,
        /// How many are drawn at most.
        most: u32,
    },
    /// The one with the highest score of so many.
    Hardest(u32),
    /// The one at a rank that is drawn, whose chance falls by a factor of e every so many ranks.
    Adaptive(f64),
}

/// A sampler that reads a factor model: it draws the negatives of a ranking loss that are hard now.
///
/// A uniform negative of a trained model is mostly one that it ranks far below already, and teaches it
/// nothing. It draws from another sampler until a score says that there is something to learn:
///
/// - **WARP** takes the first item whose score comes within a margin of that of the sample's item, and
///   estimates from the number of draws at what rank that item is (J. Weston, S. Bengio and N. Usunier,
///   *WSABIE: Scaling up to large vocabulary image annotation*, 2011). It stops as soon as it has one, so
///   that drawing costs much only where the model is right;
/// - **dynamic sampling** takes the item with the highest score of several (W. Zhang, T. Chen, J. Wang and
///   Y. Yu, *Optimizing top-n collaborative filtering via dynamic negative item sampling*, 2013);
/// - **adaptive sampling** draws a rank, and computes no score.
///
/// A score is `users[u] · items[i] + bias[i]`, computed by the vectors as they are when a batch is staged:
/// a batch with such a sampler is staged by itself, so that its scores are as old as its gradients.
///
/// Limits: WARP draws one item a sample; the vectors of users and items have one element type.
#[derive(Debug)]
pub struct ScoredSampler {
    base: Sampler,
    users: Arc<Table>,
    items: Arc<Table>,
    bias: Option<Arc<Table>>,
    choice: Choice,
}

/// The samples for which items are drawn: as many as there are users.
#[derive(Clone, Copy)]
pub(in crate::train) struct ScoredSamples<'a> {
    pub users: &'a [u32],
    /// Their items, for a choice that [compares](ScoredSampler::compares).
    pub items: Option<&'a [u32]>,
    /// What is drawn for each.
    pub spans: Spans<'a>,
}

/// What is drawn.
#[derive(Debug)]
pub(in crate::train) struct ScoredDraws<'a> {
    pub items: &'a mut [u32],
    /// At what rank the item of each sample is, by the number of draws that it took: at least 1, and 1 if
    /// none was found.
    pub ranks: Option<&'a mut [f32]>,
}

impl ScoredSampler {
    /// Draws by `base`, whose items are rows of `items`, and chooses by score.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the vectors do not fit each other or the sampler,
    /// [`Error::Value`] if the choice is of no item or has no finite margin.
    pub fn new(
        base: Sampler,
        users: Arc<Table>,
        items: Arc<Table>,
        bias: Option<Arc<Table>>,
        choice: Choice,
    ) -> Result<Self> {
        let (u, i) = (users.ty(), items.ty());
        if u.ndim() != 2 || i.ndim() != 2 || u.shape[1] != i.shape[1] {
            return Err(Error::Shape(format!(
                "users and items: expected vectors of one length, shapes (n, d) and (m, d), got {u} and {i}"
            )));
        }
        if i.dtype != u.dtype || bias.as_ref().is_some_and(|b| b.ty().dtype != u.dtype) {
            return Err(Error::Type(
                "users, items and item_bias: expected one element type".into(),
            ));
        }
        if let Some(bias) = bias.as_ref().map(|bias| bias.ty())
            && *bias.shape != [i.shape[0]]
        {
            return Err(Error::Shape(format!(
                "item_bias: expected a number for each of {} items, got {bias}",
                i.shape[0]
            )));
        }
        if base.item_count() as usize != i.shape[0] {
            return Err(Error::Shape(format!(
                "items: the sampler draws from {} items, there are vectors of {}",
                base.item_count(),
                i.shape[0]
            )));
        }
        match choice {
            Choice::Warp { margin, .. } if !margin.is_finite() => Err(Error::Value(format!(
                "margin: expected a finite number, got {margin}"
            ))),
            Choice::Warp { most: 0, .. } | Choice::Hardest(0) => {
                Err(Error::Value("most: expected at least 1, got 0".into()))
            }
            Choice::Adaptive(scale) if !(scale.is_finite() && scale > 0.0) => Err(Error::Value(
                format!("rank_scale: expected a finite number above 0, got {scale}"),
            )),
            _ => Ok(ScoredSampler {
                base,
                users,
                items,
                bias,
                choice,
            }),
        }
    }

    /// What it draws from.
    pub fn base(&self) -> &Sampler {
        &self.base
    }

    /// The choice among what is drawn.
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// Whether it compares with the sample's item. It draws one item a sample then.
    pub fn compares(&self) -> bool {
        matches!(self.choice, Choice::Warp { .. })
    }

    /// The base sampler, if it chooses among what that draws, not by ranks of all items.
    pub(in crate::train) fn draws_from(&self) -> Option<&Sampler> {
        (!matches!(self.choice, Choice::Adaptive(_))).then_some(&self.base)
    }

    /// What a worker keeps while it draws.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(in crate::train) fn orders(&self) -> Result<FactorOrders> {
        match self.choice {
            Choice::Adaptive(scale) => FactorOrders::new(
                self.base.item_count(),
                self.items.width() + usize::from(self.bias.is_some()),
                scale,
            ),
            _ => FactorOrders::new(0, 0, 1.0),
        }
    }

    /// The number of users.
    pub(in crate::train) fn user_count(&self) -> usize {
        self.users.rows()
    }

    /// What it reads.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        [&self.users, &self.items].into_iter().chain(&self.bias)
    }

    /// Draws items for some samples.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory for the orders of factors, and [`Error::Interrupted`].
    ///
    /// # Safety
    /// The users and items of the samples are rows of the tables, and the locks of the tables are held.
    pub(in crate::train) unsafe fn fill<R: Rng>(
        &self,
        state: (&mut R, &mut FactorOrders),
        samples: ScoredSamples<'_>,
        draws: ScoredDraws<'_>,
    ) -> Result<()> {
        with_real!(self.items.ty().dtype, T => {
            // SAFETY: by this function's conditions.
            unsafe { self.fill_by::<T, R>(state, samples, draws) }
        })
    }

    /// As [`fill`](Self::fill), of vectors of type `T`.
    ///
    /// # Errors
    /// As for `fill`.
    ///
    /// # Safety
    /// As for `fill`; the tables hold numbers of type `T`.
    unsafe fn fill_by<T: Number, R: Rng>(
        &self,
        (rng, orders): (&mut R, &mut FactorOrders),
        samples: ScoredSamples<'_>,
        mut draws: ScoredDraws<'_>,
    ) -> Result<()> {
        let width = self.items.width();
        let n_items = self.base.item_count();
        let factors = self.items.pointer::<T>();
        let bias = self.bias.as_ref().map(|bias| bias.pointer::<T>());
        if matches!(self.choice, Choice::Adaptive(_)) {
            orders.renew_if_due(draws.items.len(), |factor, item| {
                let at = match bias {
                    Some(bias) if factor == width => bias.wrapping_add(item),
                    _ => factors.wrapping_add(item * width + factor),
                };
                // SAFETY: the orders are of as many items as the base sampler has, which are the rows of
                // the tables (`new`), and of as many factors as a row is long, or one more if there is a
                // bias (`orders`). The locks are held, by the conditions of this function.
                unsafe { moves::load(at) }.to()
            })?;
        }
        let mut poller = Poller::default();
        for (k, &user) in samples.users.iter().enumerate() {
            let vector = self
                .users
                .pointer::<T>()
                .wrapping_add(user as usize * width);
            let score = |item: u32| {
                let product = product(vector, factors.wrapping_add(item as usize * width), width);
                // SAFETY: `item` is that of the sample, which is a row by the conditions of this function,
                // or drawn by `base`, which has as many items as the table has rows (`new`); so has
                // `bias`. The locks are held.
                bias.map_or(product, |bias| unsafe {
                    product + moves::load(bias.wrapping_add(item as usize))
                })
            };
            let draw = |rng: &mut R| self.base.draw(rng, Some(user));
            let items = &mut draws.items[samples.spans.of(k)];
            match self.choice {
                Choice::Warp { margin, most } => {
                    let (Some(own), [item]) = (samples.items, items) else {
                        continue;
                    };
                    let bound = score(own[k]) - T::of(margin);
                    let mut rank = 1.0;
                    for failed in 0..most {
                        poller.step(DRAW)?;
                        *item = draw(rng);
                        if score(*item) > bound {
                            rank = (n_items.saturating_sub(1) / (failed + 1)).max(1) as f32;
                            break;
                        }
                    }
                    if let Some(ranks) = &mut draws.ranks {
                        ranks[k] = rank;
                    }
                }
                Choice::Hardest(of) => {
                    for item in items {
                        *item = draw(rng);
                        let mut highest = score(*item);
                        for _ in 1..of {
                            poller.step(DRAW)?;
                            let other = draw(rng);
                            let found = score(other);
                            if found > highest {
                                (*item, highest) = (other, found);
                            }
                        }
                    }
                }
                Choice::Adaptive(_) => {
                    let known = self.base.known_to(Some(user));
                    // SAFETY: `user` is a row of the table, of `width` numbers, and the locks are held, by the
                    // conditions of this function.
                    let factor = |at| unsafe { moves::load(vector.wrapping_add(at)) };
                    orders.weigh((0..width).map(|at| factor(at).to()));
                    for item in items {
                        *item = match orders.draw(rng, known) {
                            Some(item) => item,
                            None => self.base.draw(rng, Some(user)),
                        };
                    }
                }
            }
            if let (Some(ranks), false) = (&mut draws.ranks, self.compares()) {
                ranks[k] = 1.0;
            }
        }
        Ok(())
    }
}

multiversion! {
    /// The product of two rows of `width` numbers, which [`ScoredSampler::fill_by`] alone asks for.
    fn product<T: Number>(m: M, user: *const T, item: *const T, width: usize) -> T {
        // SAFETY: only `fill_by` calls this, with rows of its tables, of `width` numbers, whose locks are
        // held, so that others write them by moves.
        unsafe { simd::dot::dot_at::<Relaxed, Relaxed, M, T>(m, user, item, width) }
    }
}

#[cfg(test)]
mod tests;
