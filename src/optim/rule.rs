//! The update rules.
//!
//! - **SGD** with momentum: `v ← μ v + g; w ← w − lr v` (Polyak 1964, in the form of
//!   Sutskever et al. 2013 without dampening).
//! - **Adagrad**: `s ← s + g²; w ← w − lr g / (√s + ε)` (Duchi, Hazan & Singer 2011).
//! - **Adam**: `m ← β₁ m + (1−β₁) g; v ← β₂ v + (1−β₂) g²;
//!   w ← w − lr m̂ / (√v̂ + ε)` with both averages corrected for their start at zero
//!   (Kingma & Ba 2015). The correction counts the updates of the row itself, so that a row
//!   seen for the first time late in training is treated as on its first step.
//!
//! A formula is written once, over a register of any width ([`Formula`]).
//!
//! Limits: where a sum of squares grows beyond the numbers of its type, `lr g / √∞` would be
//! 0 and the parameter would stand still from there on, silently. Such a step makes the
//! parameter NaN instead, which is found and reported when it is applied.

use smallvec::{SmallVec, smallvec};

use super::check;
use crate::array::Real;
use crate::error::Result;
use crate::simd::vector::Vector;

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

    /// What the rule is called, and its own settings by name.
    pub fn settings(self) -> (&'static str, SmallVec<[(&'static str, f64); 3]>) {
        match self {
            Rule::Sgd { momentum } => ("SGD", smallvec![("momentum", momentum)]),
            Rule::Adagrad { eps } => ("Adagrad", smallvec![("eps", eps)]),
            Rule::Adam { beta1, beta2, eps } => {
                let settings = smallvec![("beta1", beta1), ("beta2", beta2), ("eps", eps)];
                ("Adam", settings)
            }
        }
    }

    /// What the arrays are called that are kept beside a parameter, in the order of
    /// [`Snapshot::slots`](super::Snapshot::slots): PyTorch's names.
    pub fn slot_names(self) -> &'static [&'static str] {
        match self {
            Rule::Sgd { momentum: 0.0 } => &[],
            Rule::Sgd { .. } => &["momentum_buffer"],
            Rule::Adagrad { .. } => &["sum"],
            Rule::Adam { .. } => &["exp_avg", "exp_avg_sq", "step"],
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
}

/// How elements of a parameter change by those of a gradient.
pub(super) trait Formula<T>: Copy {
    /// Elements of state beside each element of the parameter, at most 2.
    const SLOTS: usize;

    /// What `w` becomes by the gradient `g`; changes the state.
    ///
    /// # Safety
    /// The instruction set of `V` is available.
    unsafe fn apply<V: Vector<T>>(self, w: V, g: V, state: &mut [V; 2]) -> V;
}

/// Plain stochastic gradient descent.
#[derive(Clone, Copy)]
pub(super) struct Sgd<T> {
    pub lr: T,
}

impl<T: Real> Formula<T> for Sgd<T> {
    const SLOTS: usize = 0;
    #[inline(always)]
    unsafe fn apply<V: Vector<T>>(self, w: V, g: V, _: &mut [V; 2]) -> V {
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe { V::splat(-self.lr).mul_add(g, w) }
    }
}

/// Stochastic gradient descent with momentum.
#[derive(Clone, Copy)]
pub(super) struct Momentum<T> {
    pub lr: T,
    pub momentum: T,
}

impl<T: Real> Formula<T> for Momentum<T> {
    const SLOTS: usize = 1;
    #[inline(always)]
    unsafe fn apply<V: Vector<T>>(self, w: V, g: V, [v, _]: &mut [V; 2]) -> V {
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe {
            *v = V::splat(self.momentum).mul_add(*v, g);
            V::splat(-self.lr).mul_add(*v, w)
        }
    }
}

/// `√x + eps`, or NaN if `x` is infinite.
///
/// # Safety
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn root<T: Real, V: Vector<T>>(x: V, eps: T) -> V {
    // SAFETY: the instruction set of `V` is available, by the condition of this function.
    unsafe { x.sqrt().add(x.mul_add(V::splat(T::zero()), V::splat(eps))) }
}

/// Adagrad.
#[derive(Clone, Copy)]
pub(super) struct Adagrad<T> {
    pub lr: T,
    pub eps: T,
}

impl<T: Real> Formula<T> for Adagrad<T> {
    const SLOTS: usize = 1;
    #[inline(always)]
    unsafe fn apply<V: Vector<T>>(self, w: V, g: V, [s, _]: &mut [V; 2]) -> V {
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe {
            *s = g.mul_add(g, *s);
            w.add(V::splat(-self.lr).mul(g).div(root(*s, self.eps)))
        }
    }
}

/// Adam, for one count of steps.
#[derive(Clone, Copy)]
pub(super) struct Adam<T> {
    /// The learning rate over `1 − β₁ᵗ`.
    pub lr: T,
    /// `1 / (1 − β₂ᵗ)`.
    pub correct: T,
    /// `β₁` and `1 − β₁`.
    pub first: (T, T),
    /// `β₂` and `1 − β₂`.
    pub second: (T, T),
    pub eps: T,
}

impl<T: Real> Formula<T> for Adam<T> {
    const SLOTS: usize = 2;
    #[inline(always)]
    unsafe fn apply<V: Vector<T>>(self, w: V, g: V, [m, v]: &mut [V; 2]) -> V {
        let ((b1, c1), (b2, c2)) = (self.first, self.second);
        // SAFETY: the instruction set of `V` is available, by the condition of this function.
        unsafe {
            *m = V::splat(b1).mul_add(*m, V::splat(c1).mul(g));
            *v = V::splat(b2).mul_add(*v, V::splat(c2).mul(g).mul(g));
            let root = root(v.mul(V::splat(self.correct)), self.eps);
            w.add(V::splat(-self.lr).mul(*m).div(root))
        }
    }
}
