//! Steps that surely lead to finite numbers, as most do: this is known before they are made, so that nothing is
//! copied to take them back, and nothing is looked at afterwards.
//!
//! With numbers, gradients and state up to [`ORDINARY`], up to [`PIECE`] numbers of a gradient, a learning rate
//! up to [`LARGEST_LR`] and a penalty up to 1 and up to 1 / lr, which shrinks a row and never turns it, the sum
//! of a row's gradients is below 1e15, with the penalty of each of its occurrences, and its square below 1e30.
//! So `lr` times it is below 1e19, what momentum and Adagrad add up is below 1e31, and Adagrad divides by the
//! root of what has the square in it: float32 has all of that.
//!
//! Limits: Adam divides by what may be tiny. Where several gradients need memory, the last may lack it when the
//! first are applied.

use super::grouped::PIECE;
use super::{Optimizer, Rule, Settings, Work};
use crate::array::{Array, Real, all_within, with_real};

/// Numbers up to here are looked for.
const ORDINARY: f64 = 1e8;

/// The largest learning rate.
const LARGEST_LR: f64 = 1e3;

fn is_within(array: &Array) -> bool {
    with_real!(array.dtype(), T => all_within(array.view().real::<T>(), T::of(ORDINARY)))
}

impl Optimizer {
    /// Whether all of this leaves finite numbers, and an error comes before anything is changed.
    ///
    /// # Safety
    /// Nobody else uses the tables and their states until this returns, and rows are those of their tables.
    pub(super) unsafe fn is_ordinary(&self, work: &[Work<'_>]) -> bool {
        if matches!(self.rule, Rule::Adam { .. }) {
            return false;
        }
        let groups = |item: &Work<'_>, rows: &[u32]| self.target(item).groups(rows.len());
        let needs_memory = |item: &Work<'_>| item.rows.is_some_and(|rows| groups(item, rows));
        if work.len() > 1 && work.iter().any(needs_memory) {
            return false;
        }
        work.iter().all(|item| {
            let Settings { lr, l2, .. } = item.settings;
            let few = item.values.size() < PIECE;
            let mut touched = item.all_touched();
            few && lr <= LARGEST_LR
                && l2 <= 1.0
                && lr * l2 <= 1.0
                && is_within(item.values)
                // SAFETY: by the conditions of this function, the rows are those of the table, which nobody else
                // uses.
                && touched.all(|touched| unsafe { touched.is_within(ORDINARY) })
        })
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::*;
    use crate::array::{DType, Dense, Type};
    use crate::optim::L2Per;
    use crate::optim::collected::{Collected, collect};
    use crate::table::{Gradient, Param, Rows};

    const ADAGRAD: Rule = Rule::Adagrad { eps: 1e-300 };
    const MOMENTUM: Rule = Rule::Sgd { momentum: 0.999 };

    fn settings(lr: f64, l2: f64) -> Settings {
        Settings {
            l2,
            l2_per: L2Per::Sample,
            ..Settings::new(lr)
        }
    }

    /// A parameter of rows of `width` numbers `w` in float32, with a gradient `g` of `count` times row 1.
    fn parameter(w: f64, g: f64, count: usize, width: usize) -> Param {
        let full = |rows: usize, x: f64| Array::full(&Type::new(DType::F32, &[rows, width]), x);
        let param = Param::new(&full(3, w), None).unwrap();
        let indices = Dense::new(&[count], vec![1_u32; count]).unwrap();
        let rows = Rows::new(param.table().ty().clone(), indices, full(count, g)).unwrap();
        param.accumulate(Gradient::Rows(rows)).unwrap();
        param
    }

    fn of<'p>(params: &'p [&Param]) -> Collected<'p> {
        let mut gradients = Collected::new();
        collect(params, Param::shared_gradient, &mut gradients).unwrap();
        gradients
    }

    fn is_ordinary(optimizer: &Optimizer, params: &[&Param]) -> bool {
        let (mut gradients, mut work) = (of(params), SmallVec::new());
        optimizer.prepare(&mut gradients, &mut work).unwrap();
        // SAFETY: this thread alone has the tables, and `prepare` has checked the rows.
        unsafe { optimizer.is_ordinary(&work) }
    }

    #[test]
    fn what_may_overflow_is_not_ordinary() {
        let new = |rule, lr, l2| Optimizer::new(rule, settings(lr, l2)).unwrap();
        let adam = Rule::Adam {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-300,
        };
        let (fine, large) = (parameter(0.5, -2.0, 3, 2), parameter(0.5, 1e9, 3, 2));
        for rule in [Rule::Sgd { momentum: 0.0 }, MOMENTUM, ADAGRAD] {
            assert!(is_ordinary(&new(rule, 0.1, 0.01), &[&fine]), "{rule:?}");
            assert!(!is_ordinary(&new(rule, 1e4, 0.01), &[&fine]), "{rule:?}");
            assert!(!is_ordinary(&new(rule, 0.1, 1.5), &[&fine]), "{rule:?}");
            assert!(!is_ordinary(&new(rule, 100.0, 0.5), &[&fine]), "{rule:?}");
            assert!(!is_ordinary(&new(rule, 0.1, 0.0), &[&large]), "{rule:?}");
            let high = parameter(-1e9, 1.0, 1, 1);
            assert!(!is_ordinary(&new(rule, 0.1, 0.0), &[&high]), "{rule:?}");
            let many = parameter(0.5, 1.0, PIECE / 2, 2);
            assert!(!is_ordinary(&new(rule, 0.1, 0.0), &[&many]), "{rule:?}");
        }
        assert!(!is_ordinary(&new(adam, 0.1, 0.0), &[&fine]));
        let other = parameter(0.5, 1.0, 1, 2);
        assert!(!is_ordinary(&new(ADAGRAD, 0.1, 0.0), &[&fine, &other]));
        let adagrad = new(ADAGRAD, 0.1, 0.0);
        adagrad.step(&[&large]).unwrap();
        large.zero_grad();
        large.accumulate(fine.gradient().unwrap()).unwrap();
        assert!(
            !is_ordinary(&adagrad, &[&large]),
            "the sum of squares is 1e18"
        );
    }

    #[test]
    fn a_learning_rate_that_is_set_during_a_step_counts_from_the_next() {
        let optimizer = Optimizer::new(MOMENTUM, settings(0.5, 0.0)).unwrap();
        let param = parameter(0.5, -2.0, 3, 2);
        let params = [&param];
        let (mut gradients, mut work) = (of(&params), SmallVec::new());
        optimizer.prepare(&mut gradients, &mut work).unwrap();
        optimizer.set_lr(1e308).unwrap();
        // SAFETY: this thread alone has the table, and `prepare` has checked the rows.
        assert!(unsafe { optimizer.is_ordinary(&work) });
        assert_eq!(optimizer.target(&work[0]).settings.lr, 0.5);
        assert!(!is_ordinary(&optimizer, &[&param]));
    }

    #[test]
    fn the_largest_ordinary_steps_stay_finite() {
        for rule in [Rule::Sgd { momentum: 0.0 }, MOMENTUM, ADAGRAD] {
            let numbers = [(1e8, -1e8), (-1e8, -1e8), (1e8, 1e-38)];
            let settings =
                [(LARGEST_LR, 1.0 / LARGEST_LR), (1.0, 1.0)].map(|(lr, l2)| settings(lr, l2));
            for ((w, g), settings) in numbers.into_iter().flat_map(|n| settings.map(|s| (n, s))) {
                let optimizer = Optimizer::new(rule, settings).unwrap();
                let param = parameter(w, g, PIECE - 1, 1);
                assert!(is_ordinary(&optimizer, &[&param]), "{rule:?}");
                optimizer.step(&[&param]).unwrap();
                assert!(param.table().is_finite().unwrap(), "{rule:?} {w} {g}");
                let state = optimizer.state(param.table()).unwrap();
                let mut slots = state.slots.iter();
                assert!(
                    slots.all(|slot| slot.is_finite().unwrap()),
                    "{rule:?} {w} {g}"
                );
            }
        }
    }
}
