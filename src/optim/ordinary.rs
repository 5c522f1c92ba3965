//! Steps that surely lead to finite numbers, as most do: this is known before they are made, so that nothing is
//! copied to take them back, and nothing is looked at afterwards.
//!
//! With numbers, gradients and state up to [`ORDINARY`], up to [`PIECE`] numbers of a gradient, a learning rate
//! up to [`LARGEST_LR`] and a penalty up to 1, the sum of a row's gradients is below 1e15, with the penalty of each
//! of its occurrences, and its square below 1e30. So `lr` times it is below 1e19, what momentum and Adagrad add up
//! is below 1e31, and Adagrad divides by the root of what has the square in it: float32 has all of that.
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
    /// Whether all of this can be applied without an error, and leaves finite numbers.
    ///
    /// # Safety
    /// Nobody else uses the tables and their states until this returns, and rows are those of their tables.
    pub(super) unsafe fn is_ordinary(&self, work: &[Work<'_>]) -> bool {
        if matches!(self.rule, Rule::Adam { .. }) {
            return false;
        }
        let needs_memory = |item: &&Work<'_>| item.rows.is_some() && self.target(item).groups();
        if work.len() > 1 && work.iter().any(|item| needs_memory(&item)) {
            return false;
        }
        work.iter().all(|item| {
            let Settings { lr, l2, .. } = self.settings_of(item.table);
            let few = item.values.size() < PIECE;
            // SAFETY: by the conditions of this function.
            let mut touched = item.all_touched();
            few && lr <= LARGEST_LR
                && l2 <= 1.0
                && is_within(&item.values)
                // SAFETY: by the conditions of this function, the rows are those of the table, which nobody else
                // uses.
                && touched.all(|touched| unsafe { touched.is_within(ORDINARY) })
        })
    }
}
