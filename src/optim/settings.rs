//! The settings that every optimizer has, and what is refused of them.

use crate::error::{Error, Result};

/// How often the penalty of a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum L2Per {
    /// Once for each row that a step uses; once for a parameter that is used whole.
    #[default]
    Step,
    /// Each time that a row is looked up; once a sample for a parameter that is used whole. In a
    /// step by hand or of a trainer, where samples are not known, this is once. Several lookups in a
    /// table by one index are one in a program, so that a trainer and `fit` count them once; a step by
    /// hand counts each. Plain SGD without a bound on gradients goes on from lookup to lookup: a row that
    /// occurs `k` times shrinks `k` times by the factor `1 - lr l2`.
    Sample,
}

/// Settings that every optimizer has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Learning rate: the size of a step; at 0, where a schedule may end, parameters stay as they are.
    pub lr: f64,
    /// Weight of the penalty `l2/2 · |w|²`.
    pub l2: f64,
    /// How often the penalty counts.
    pub l2_per: L2Per,
    /// Bound on each element of the gradient.
    pub clip: Option<f64>,
}

impl Settings {
    /// A learning rate alone.
    pub fn new(lr: f64) -> Self {
        Settings {
            lr,
            l2: 0.0,
            l2_per: L2Per::Step,
            clip: None,
        }
    }
}

/// Checks that a setting lies in a range.
pub(super) fn check(name: &str, value: f64, ok: bool, expected: &str) -> Result<()> {
    if ok && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Value(format!(
            "{name}: expected {expected}, got {value}"
        )))
    }
}

/// Refuses what is no learning rate.
pub(super) fn check_lr(lr: f64) -> Result<()> {
    check("lr", lr, lr >= 0.0, "a finite number of at least 0")
}

/// Refuses what is no bound on a gradient.
pub(super) fn check_clip(clip: f64) -> Result<()> {
    check("clip", clip, clip > 0.0, "a positive number or None")
}
