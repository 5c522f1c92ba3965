//! The update rules.
//!
//! - **SGD** with momentum: `v ← μ v + g; w ← w − lr v` (Polyak 1964, in the form of
//!   Sutskever et al. 2013 without dampening).
//! - **Adagrad**: `s ← s + g²; w ← w − lr g / (√s + ε)` (Duchi, Hazan & Singer 2011).
//! - **Adam**: `m ← β₁ m + (1−β₁) g; v ← β₂ v + (1−β₂) g²;
//!   w ← w − lr m̂ / (√v̂ + ε)` with both averages corrected for their start at zero
//!   (Kingma & Ba 2015). The correction counts the updates of the row itself, so that a row
//!   seen for the first time late in training is treated as on its first step.

use super::check;
use crate::array::Real;
use crate::error::Result;
use crate::simd::{self, Machine};

/// Which rule, with the settings it has of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Stochastic gradient descent.
    Sgd {
        /// Share of the last step that is taken again, in `[0, 1)`.
        momentum: f64,
    },
    /// Steps that shrink with the sum of squared gradients.
    Adagrad {
        /// Added to the denominator.
        eps: f64,
    },
    /// Steps scaled by running averages of the gradient and its square.
    Adam {
        /// Decay of the average gradient, in `[0, 1)`.
        beta1: f64,
        /// Decay of the average squared gradient, in `[0, 1)`.
        beta2: f64,
        /// Added to the denominator.
        eps: f64,
    },
}

/// Bytes of state beside a row: whole rows first, then one number that counts steps.
pub(super) type Slots<'a, T> = [&'a mut [T]; 3];

impl Rule {
    pub(super) fn check(self) -> Result<()> {
        let share = |name, x: f64| check(name, x, (0.0..1.0).contains(&x), "a number in [0, 1)");
        let positive = |name, x: f64| check(name, x, x > 0.0, "a positive number");
        match self {
            Rule::Sgd { momentum } => share("momentum", momentum),
            Rule::Adagrad { eps } => positive("eps", eps),
            Rule::Adam { beta1, beta2, eps } => {
                share("beta1", beta1)?;
                share("beta2", beta2)?;
                positive("eps", eps)
            }
        }
    }

    /// Rows of state beside each row of the table.
    pub(crate) fn full_slots(self) -> usize {
        match self {
            Rule::Sgd { momentum } => usize::from(momentum != 0.0),
            Rule::Adagrad { .. } => 1,
            Rule::Adam { .. } => 2,
        }
    }

    /// Whether a count of steps stands beside each row.
    pub(crate) fn counts_steps(self) -> bool {
        matches!(self, Rule::Adam { .. })
    }

    /// Changes a row `w` by its gradient `g`.
    #[inline(always)]
    pub(super) fn update<M: Machine, T: Real>(
        self,
        m: M,
        lr: T,
        w: &mut [T],
        g: &[T],
        slots: Slots<'_, T>,
    ) {
        let [first, second, third] = slots;
        match self {
            Rule::Sgd { momentum: 0.0 } => simd::dot::axpy(m, -lr, g, w),
            Rule::Sgd { momentum } => {
                let momentum = T::of(momentum);
                for ((w, &g), v) in w.iter_mut().zip(g).zip(first) {
                    *v = momentum * *v + g;
                    *w -= lr * *v;
                }
            }
            Rule::Adagrad { eps } => {
                let eps = T::of(eps);
                for ((w, &g), s) in w.iter_mut().zip(g).zip(first) {
                    *s += g * g;
                    *w -= lr * g / (s.sqrt() + eps);
                }
            }
            Rule::Adam { beta1, beta2, eps } => {
                let Some(count) = third.first_mut() else {
                    return;
                };
                *count += T::of(1.0);
                let steps = count.to();
                let lr = T::of(lr.to() / (1.0 - beta1.powf(steps)));
                let correct = T::of(1.0 / (1.0 - beta2.powf(steps)));
                let (b1, b2, eps) = (T::of(beta1), T::of(beta2), T::of(eps));
                let (c1, c2) = (T::of(1.0 - beta1), T::of(1.0 - beta2));
                for (((w, &g), m), v) in w.iter_mut().zip(g).zip(first).zip(second) {
                    *m = b1 * *m + c1 * g;
                    *v = b2 * *v + c2 * g * g;
                    *w -= lr * *m / ((*v * correct).sqrt() + eps);
                }
            }
        }
    }
}
