//! Optimizers by the names of their rules, with the settings that are usual.

use super::{Optimizer, Rule, Settings, check_clip, penalty};
use crate::error::Result;

impl Optimizer {
    /// Stochastic gradient descent.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn sgd(lr: f64) -> Result<Self> {
        Self::new(Rule::Sgd { momentum: 0.0 }, Settings::new(lr))
    }

    /// Stochastic gradient descent in which `momentum` of the last step is taken again (Polyak 1964).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn momentum(lr: f64, momentum: f64) -> Result<Self> {
        Self::new(Rule::Sgd { momentum }, Settings::new(lr))
    }

    /// Adagrad (Duchi, Hazan and Singer 2011), with 1e-10 in the denominator.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn adagrad(lr: f64) -> Result<Self> {
        Self::new(Rule::Adagrad { eps: 1e-10 }, Settings::new(lr))
    }

    /// Adam (Kingma and Ba 2015), with its authors' decays of .9 and .999 and 1e-8 in the denominator.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn adam(lr: f64) -> Result<Self> {
        let rule = Rule::Adam {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
        };
        Self::new(rule, Settings::new(lr))
    }

    /// The same with a penalty `l2/2 · |w|²` on rows that have a gradient, once a step if the settings do not say
    /// otherwise.
    ///
    /// ```
    /// use wyrmling::optim::Optimizer;
    ///
    /// let adam = Optimizer::adam(0.01)?.l2(1e-4)?.clip(5.0)?;
    /// assert_eq!((adam.settings().l2, adam.settings().clip), (1e-4, Some(5.0)));
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if it is negative or not finite.
    pub fn l2(mut self, l2: f64) -> Result<Self> {
        penalty::check_l2(l2)?;
        self.settings.l2 = l2;
        Ok(self)
    }

    /// The same, with each element of a gradient clipped to `±bound`.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if the bound is not positive and finite.
    pub fn clip(mut self, bound: f64) -> Result<Self> {
        check_clip(bound)?;
        self.settings.clip = Some(bound);
        Ok(self)
    }
}
