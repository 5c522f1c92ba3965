//! Adaptive sampling: negatives that the model ranks high for the sample's user, without a score.
//!
//! A score is a sum over factors, `Σ_f users[u, f] · items[i, f]`. So an item that is high in the order of one
//! factor, or low if the user's number is negative, is likely to have a high score, and that order serves
//! all users. A draw takes a rank `r` with a probability proportional to `exp(-r / scale)`, a factor with one
//! proportional to `|users[u, f]| · σ_f`, where `σ_f` is the standard deviation of the factor among
//! items, and the item at that rank in the order of that factor (S. Rendle and C. Freudenthaler, *Improving
//! pairwise learning for item recommendation from implicit feedback*, 2014). A bias of items is one factor
//! more, for which all users have 1.
//!
//! Each worker has orders of its own. They are made anew when an epoch begins and every `n ln n` items that the
//! worker has drawn since, of `n`, as the authors advise: so that sorting costs as much a draw as a step
//! does, of the order of the number of factors. When that is depends on the place in the epoch alone, and
//! what runs are resumed at is the beginning of an epoch.
//!
//! An item that the user knows is drawn again, up to 16 times; then the next one after it in the order that
//! they do not know is taken, if it is among the next [`NEXT`]. Where it is not, since the user knows nearly all
//! of many items, the base sampler draws, whose time does not grow with the number of items; so it does for a
//! user for whom all factors are 0, or not finite.
//!
//! Limits: orders take 4 bytes an item and factor for each worker; numbers are compared in single precision.

use rand::Rng;

use super::positives::KnownItems;
use super::{NEXT, TRIES};
use crate::array::{filled, size};
use crate::error::Result;
use crate::interrupt;

/// The orders of items by each factor. See the [module documentation](self).
#[derive(Debug)]
pub(in crate::train) struct FactorOrders {
    n: usize,
    /// For each factor all items, that with the highest number first.
    orders: Vec<u32>,
    /// The standard deviation of each factor.
    spreads: Vec<f64>,
    /// The items of one factor with their numbers, as they are sorted.
    keys: Vec<u64>,
    /// The user's numbers, 1 for the bias, and the sums of the weights of factors up to each.
    user: Vec<f64>,
    weights: Vec<f64>,
    scale: f64,
    /// The probability of a rank below `n` if there were no end.
    within: f64,
    /// Items to be drawn until the orders are made anew.
    left: usize,
}

impl FactorOrders {
    /// Room for the orders of `n` items by so many factors. They are outdated.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(in crate::train) fn new(n: u32, factors: usize, scale: f64) -> Result<Self> {
        let n = n as usize;
        Ok(FactorOrders {
            n,
            orders: filled(size(&[n, factors]), 0)?,
            spreads: filled(factors, 0.0)?,
            keys: filled(n, 0)?,
            user: filled(factors, 1.0)?,
            weights: filled(factors, 0.0)?,
            scale,
            within: -(-(n as f64) / scale).exp_m1(),
            left: 0,
        })
    }

    /// Has the orders made anew before the next draw.
    pub(in crate::train) fn outdate(&mut self) {
        self.left = 0;
    }

    /// Makes the orders anew if they are outdated, before `count` items are drawn; `number` gives that of a
    /// factor and an item.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub(in crate::train) fn renew_if_due(
        &mut self,
        count: usize,
        number: impl Fn(usize, usize) -> f64,
    ) -> Result<()> {
        if self.left == 0 {
            let n = self.n as f64;
            self.left = (n * n.ln()) as usize;
            self.renew(number)?;
        }
        self.left = self.left.saturating_sub(count);
        Ok(())
    }

    fn renew(&mut self, number: impl Fn(usize, usize) -> f64) -> Result<()> {
        let n = self.n as f64;
        let orders = self.orders.chunks_exact_mut(self.n);
        for (factor, (order, spread)) in orders.zip(&mut self.spreads).enumerate() {
            interrupt::check()?;
            let (mut sum, mut squares) = (0.0, 0.0);
            for (item, key) in self.keys.iter_mut().enumerate() {
                let number = number(factor, item);
                sum += number;
                squares += number * number;
                *key = descending(number as f32) << 32 | item as u64;
            }
            *spread = (squares / n - sum / n * (sum / n)).max(0.0).sqrt();
            self.keys.sort_unstable();
            for (item, key) in order.iter_mut().zip(&self.keys) {
                *item = *key as u32;
            }
        }
        Ok(())
    }

    /// Turns to a user with these numbers.
    #[inline(always)]
    pub(in crate::train) fn weigh(&mut self, vector: impl Iterator<Item = f64>) {
        self.user.iter_mut().zip(vector).for_each(|(to, x)| *to = x);
        let mut sum = 0.0;
        let pairs = self.user.iter().zip(&self.spreads);
        for (weight, (x, spread)) in self.weights.iter_mut().zip(pairs) {
            sum += x.abs() * spread;
            *weight = sum;
        }
    }

    /// An item for the user who was turned to, of whom this is known; `None` if no factor has a weight, or none
    /// was found that is unknown.
    #[inline]
    pub(in crate::train) fn draw<R: Rng>(&self, rng: &mut R, known: KnownItems<'_>) -> Option<u32> {
        let total = self
            .weights
            .last()
            .copied()
            .filter(|x| x.is_finite() && *x > 0.0)?;
        let (mut order, mut place, mut backwards) = (&[][..], 0, false);
        for _ in 0..TRIES {
            let part = unit(rng) * total;
            let factor = self.weights.partition_point(|&weight| weight <= part);
            let factor = factor.min(self.weights.len() - 1);
            let rank = -self.scale * (-unit(rng) * self.within).ln_1p();
            order = &self.orders[factor * self.n..][..self.n];
            place = (rank as usize).min(self.n - 1);
            backwards = self.user[factor] < 0.0;
            let item = order[if backwards { self.n - 1 - place } else { place }];
            if !known.contains(item) {
                return Some(item);
            }
        }
        let next = |k: usize| {
            let place = (place + k) % self.n;
            order[if backwards { self.n - 1 - place } else { place }]
        };
        (1..self.n.min(NEXT + 1))
            .map(next)
            .find(|&item| !known.contains(item))
    }
}

/// A number between 0 and 1, less than 1.
#[inline(always)]
fn unit<R: Rng>(rng: &mut R) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Bits that are less the higher a number is.
fn descending(number: f32) -> u64 {
    let bits = number.to_bits();
    // Of negative numbers the bits fall as they rise.
    let rising = match bits >> 31 {
        1 => !bits,
        _ => bits | 1 << 31,
    };
    u64::from(!rising)
}
