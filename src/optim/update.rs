//! The update of one row: the clipped gradient and `l2`, then the rule's formula.

use super::gradient::StepTarget;
use super::pass::{Pass, each};
use super::powers::Powers;
use super::rule::{Adagrad, Adam, Formula, Momentum, Sgd};
use super::{Rule, Settings};
use crate::array::Number;
use crate::simd::Machine;
use crate::simd::vector::Vector;
use crate::table::moves;

/// A gradient of a row: a factor and numbers.
pub(super) type ScaledRow<T> = (T, *const T);

/// A row of a table and of its state, or copies of both.
pub(super) type Pointers<T> = (*mut T, [*mut T; 2]);

/// What a row goes through, with all that is the same for every row.
pub(super) struct Update<'a, T> {
    rule: Rule,
    lr: f64,
    l2: T,
    clip: T,
    /// Whether `l2` counts each time that a row occurs.
    pub counts_occurrences: bool,
    /// The table, and as many slots as the rule has.
    pub tables: Pointers<T>,
    pub slots: usize,
    /// Numbers in a row.
    pub width: usize,
    /// How often each row was changed, and the powers that go with it, if the rule asks.
    pub counts: *mut T,
    pub powers: Option<&'a [Powers; 2]>,
}

impl<'a, T: Number> Update<'a, T> {
    pub(super) fn new(target: &StepTarget<'a>) -> Self {
        let Settings { lr, l2, clip, .. } = target.settings;
        // What a rule lacks is never touched.
        let table = |k: usize| match target.state.slots.get(k) {
            Some(table) => table.pointer::<T>(),
            None => std::ptr::NonNull::dangling().as_ptr(),
        };
        let slots = target.rule.full_slots();
        Update {
            rule: target.rule,
            lr,
            l2: T::of(l2),
            clip: T::of(clip.unwrap_or(f64::INFINITY)),
            counts_occurrences: target.counts_occurrences(),
            tables: (target.table.pointer::<T>(), [table(0), table(1)]),
            slots,
            width: target.table.width(),
            counts: table(slots),
            powers: target.state.powers.as_deref(),
        }
    }

    /// The same on other numbers, counted by `counts`.
    pub(super) fn on(&self, tables: Pointers<T>, counts: *mut T) -> Self {
        Update {
            tables,
            counts,
            ..*self
        }
    }

    /// The same, with a penalty that counts so many times.
    pub(super) fn with_penalties(self, count: f64) -> Self {
        Update {
            l2: self.l2 * T::of(count),
            ..self
        }
    }

    /// Adds the penalty, and clips before, where numbers `w` have the gradients `sum` and occur at
    /// `places`; what is left to do is the rule's formula.
    pub(super) fn penalized(&self, sum: &mut [T], w: &[T], places: &[u32]) -> Self {
        for g in &mut *sum {
            // A comparison is false for NaN, which stays.
            if g.abs() > self.clip {
                *g = self.clip.copysign(*g);
            }
        }
        for &place in places {
            sum[place as usize] += self.l2 * w[place as usize];
        }
        Update {
            l2: T::zero(),
            clip: T::infinity(),
            ..*self
        }
    }

    /// The parameter and its state from number `at` on.
    #[inline(always)]
    pub(super) fn pointers_at(&self, at: usize) -> Pointers<T> {
        let (start, slots) = self.tables;
        (
            start.wrapping_add(at),
            slots.map(|slot| slot.wrapping_add(at)),
        )
    }

    /// Changes `length` numbers at `place` by the gradient of row `row`, whose penalty counts `times`
    /// times.
    ///
    /// # Safety
    /// The table has the row; the gradient and the place have `length` numbers, which is
    /// `WIDTH` if that is not 0; nobody else uses the place.
    #[inline(always)]
    pub(super) unsafe fn apply<const WIDTH: usize, M: Machine>(
        &self,
        m: M,
        row: usize,
        gradient: ScaledRow<T>,
        times: T,
        place: Pointers<T>,
        length: usize,
    ) {
        let lr = T::of(self.lr);
        let gradient = (gradient, self.l2 * times);
        // SAFETY: the gradient and the place have `length` numbers, which is `WIDTH` if that is not 0,
        // and nobody else uses the place, by the conditions of this function: `by` gets all of these.
        // `row` is one of the table's, and there is a count for each row: a single number, which one
        // worker and many alike reach by moves.
        unsafe {
            match self.rule {
                Rule::Sgd { momentum: 0.0 } => {
                    self.by::<WIDTH, M, _>(m, Sgd { lr }, gradient, place, length);
                }
                Rule::Sgd { momentum } => {
                    let momentum = T::of(momentum);
                    let rule = Momentum { lr, momentum };
                    self.by::<WIDTH, M, _>(m, rule, gradient, place, length);
                }
                Rule::Adagrad { eps } => {
                    let eps = at_least_some(eps);
                    self.by::<WIDTH, M, _>(m, Adagrad { lr, eps }, gradient, place, length);
                }
                Rule::Adam { beta1, beta2, eps } => {
                    let Some([first, second]) = self.powers else {
                        return;
                    };
                    let count = self.counts.wrapping_add(row);
                    let steps = moves::load(count) + T::one();
                    moves::store(count, steps);
                    let steps = steps.to();
                    let rule = Adam {
                        lr: T::of(self.lr / (1.0 - first.of(steps))),
                        correct: T::of(1.0 / (1.0 - second.of(steps))),
                        first: (T::of(beta1), T::of(1.0 - beta1)),
                        second: (T::of(beta2), T::of(1.0 - beta2)),
                        eps: at_least_some(eps),
                    };
                    self.by::<WIDTH, M, _>(m, rule, gradient, place, length);
                }
            }
        }
    }

    /// Changes numbers by a formula.
    ///
    /// # Safety
    /// The gradient and the place have `length` numbers, which is `WIDTH` if that is not 0; nobody
    /// else uses the place.
    #[inline(always)]
    unsafe fn by<const WIDTH: usize, M: Machine, F: Formula<T>>(
        &self,
        m: M,
        formula: F,
        ((factor, x), l2): (ScaledRow<T>, T),
        place: Pointers<T>,
        length: usize,
    ) {
        let step = RowStep {
            formula,
            factor,
            clip: self.clip,
            l2,
            x,
            place,
        };
        // SAFETY: the step reads and writes `length` numbers, which the gradient and the place have by
        // the conditions of this function; `length` is `WIDTH` if that is not 0.
        unsafe { each::<WIDTH, M, T>(m, length, &step) }
    }
}

/// A positive number as a positive number of type `T`.
#[inline(always)]
fn at_least_some<T: Number>(x: f64) -> T {
    T::of(x).max(T::min_positive_value())
}

/// A step of a rule.
struct RowStep<T, F> {
    formula: F,
    factor: T,
    clip: T,
    l2: T,
    x: *const T,
    place: Pointers<T>,
}

impl<T: Number, F: Formula<T>> Pass<T> for RowStep<T, F> {
    #[inline(always)]
    unsafe fn at<V: Vector<T>>(&self, at: usize) {
        let (w, slots) = self.place;
        let slots = slots.map(|slot| slot.wrapping_add(at));
        // SAFETY: `Pass::at` is called where the instruction set of `V` is available and the step has
        // `V::LANES` numbers from `at` on: of the gradient to read, of the parameter and of each slot
        // to read and write, which nobody else uses meanwhile (`Update::apply`). Only the formula's
        // `SLOTS` slots are touched, and the rule's state has so many.
        unsafe {
            let w = w.add(at);
            let old = V::load(w);
            let g = V::splat(self.factor).mul(V::load(self.x.add(at)));
            // In this order NaN stays NaN.
            let g = V::splat(self.clip).min(V::splat(-self.clip).max(g));
            let g = V::splat(self.l2).mul_add(old, g);
            let mut state = [g; 2];
            for (state, &slot) in state.iter_mut().zip(&slots).take(F::SLOTS) {
                *state = V::load(slot);
            }
            self.formula.apply(old, g, &mut state).store(w);
            for (state, &slot) in state.iter().zip(&slots).take(F::SLOTS) {
                state.store(slot);
            }
        }
    }
}
