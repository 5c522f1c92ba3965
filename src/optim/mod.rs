//! Optimizers: how a gradient changes a parameter.
//!
//! An [`Optimizer`] is a rule with its settings and the state it has built up for each
//! table. State is laid out like the table and touched by rows, so that rows which never
//! get a gradient never change and cost nothing; threads share it as they share the
//! table. [`Optimizer::step`] applies collected gradients by hand; training applies them
//! straight from a program's memory, with the same code ([`apply`]).
//!
//! Every rule first clips each element of the gradient to `±clip`, then adds `l2` times
//! the parameter, both only on rows that have a gradient. Rows that occur several times in
//! a gradient are summed first.

pub(crate) mod apply;
mod distinct;
mod rule;
mod sgd;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use rule::Rule;

use crate::array::{Type, Typed, with_real};
use crate::error::{Error, Result};
use crate::table::{Gradient, Param, Table};
use apply::{Access, Plain, Scratch, Target};

/// Settings that every optimizer has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Learning rate: the size of a step.
    pub lr: f64,
    /// Weight of the penalty `l2/2 · |w|²`.
    pub l2: f64,
    /// Bound on each element of the gradient.
    pub clip: Option<f64>,
}

impl Settings {
    /// A learning rate alone.
    pub fn new(lr: f64) -> Self {
        Settings {
            lr,
            l2: 0.0,
            clip: None,
        }
    }
}

/// Checks that a setting lies in a range.
fn check(name: &str, value: f64, ok: bool, expected: &str) -> Result<()> {
    if ok && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Value(format!(
            "{name}: expected {expected}, got {value}"
        )))
    }
}

/// What a rule remembers about one table.
#[derive(Debug)]
pub(crate) struct State {
    pub slots: Vec<Table>,
}

/// A table, kept alive for its state.
type Owned = (Arc<Table>, Arc<State>);

/// A table, its state, and a gradient to apply.
type Work<'p> = (&'p Arc<Table>, Arc<State>, Gradient);

/// A rule, its settings and its state. See the [module documentation](self).
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
    settings: Settings,
    states: Mutex<HashMap<u64, Owned>>,
}

impl Optimizer {
    /// An optimizer without state.
    ///
    /// # Errors
    /// [`Error::Value`] naming the setting that is out of range.
    pub fn new(rule: Rule, settings: Settings) -> Result<Self> {
        let Settings { lr, l2, clip } = settings;
        check("lr", lr, lr > 0.0, "a positive number")?;
        check("l2", l2, l2 >= 0.0, "a number >= 0")?;
        if let Some(clip) = clip {
            check("clip", clip, clip > 0.0, "a positive number or None")?;
        }
        rule.check()?;
        Ok(Optimizer {
            rule,
            settings,
            states: Mutex::new(HashMap::new()),
        })
    }

    /// Stochastic gradient descent.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn sgd(lr: f64) -> Result<Self> {
        Self::new(Rule::Sgd { momentum: 0.0 }, Settings::new(lr))
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The settings.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The state for a table, made on first use.
    ///
    /// # Errors
    /// [`Error::Value`] if memory cannot be had.
    pub(crate) fn state(&self, table: &Arc<Table>) -> Result<Arc<State>> {
        // A map that a panicking thread left behind is whole.
        let mut states = self.states.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((_, state)) = states.get(&table.id()) {
            return Ok(Arc::clone(state));
        }
        let ty = table.ty();
        let mut slots = Vec::new();
        for _ in 0..self.rule.full_slots() {
            slots.push(Table::zeros(ty, None)?);
        }
        if self.rule.counts_steps() {
            slots.push(Table::zeros(&Type::new(ty.dtype, &[table.rows()]), None)?);
        }
        let state = Arc::new(State { slots });
        states.insert(table.id(), (Arc::clone(table), Arc::clone(&state)));
        Ok(state)
    }

    /// Applies the collected gradient of every parameter; those without one are left alone.
    /// The gradients are kept: clear them with [`Param::zero_grad`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a gradient holds NaN or infinity, [`Error::State`] if a
    /// parameter is being trained; no parameter is changed then.
    pub fn step(&self, params: &[&Param]) -> Result<()> {
        let work = self.prepare(params)?;
        // All locks before any change.
        let mut locks = Vec::new();
        for (table, ..) in &work {
            locks.push(table.exclusive()?);
        }
        for (table, state, gradient) in &work {
            // SAFETY: `locks` holds exclusive access to this table; its state is reached
            // through the same optimizer and table only.
            unsafe { self.apply(Access::Alone, table, state, gradient) };
        }
        Ok(())
    }

    /// As [`step`](Self::step), beside other workers of one training run.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a gradient holds NaN or infinity, [`Error::State`] if a
    /// parameter is not being trained; no parameter is changed then.
    pub(crate) fn step_shared(&self, params: &[&Param]) -> Result<()> {
        let work = self.prepare(params)?;
        let mut locks = Vec::new();
        for (table, ..) in &work {
            locks.push(table.beside()?);
        }
        for (table, state, gradient) in &work {
            // SAFETY: the table is being trained and `locks` excludes plain access to it, so
            // everybody moves rows; state is reached by the optimizer of that training only.
            unsafe { self.apply(Access::Shared, table, state, gradient) };
            table.touch();
        }
        Ok(())
    }

    /// What there is to apply, by table, checked.
    fn prepare<'p>(&self, params: &[&'p Param]) -> Result<Vec<Work<'p>>> {
        let mut work: Vec<Work<'p>> = Vec::new();
        for param in params {
            let Some(gradient) = param.gradient() else {
                continue;
            };
            if !gradient.is_finite() {
                return Err(Error::NotFinite(format!(
                    "{}: the gradient holds NaN or infinity",
                    param.table().label()
                )));
            }
            let table = param.table();
            work.push((table, self.state(table)?, gradient));
        }
        // In a fixed order, so that two callers cannot wait for each other.
        work.sort_by_key(|(t, ..)| t.id());
        if work.windows(2).any(|w| w[0].0.id() == w[1].0.id()) {
            return Err(Error::Value(
                "parameters: the same parameter was given twice".into(),
            ));
        }
        Ok(work)
    }

    /// Applies one gradient.
    ///
    /// # Safety
    /// The table and its state are reached by others as `access` says.
    unsafe fn apply(&self, access: Access, table: &Table, state: &State, gradient: &Gradient) {
        let target = Target {
            table,
            state,
            rule: self.rule,
            settings: self.settings,
        };
        with_real!(table.ty().dtype, T => {
            let mut scratch = Scratch::<T>::new(table.width(), 0);
            match gradient {
                Gradient::Dense(a) => {
                    let g = <T as Typed>::slice(a.view().data);
                    // SAFETY: handed on; a gradient has its table's type.
                    unsafe { apply::dense(access, &target, g, &mut scratch) };
                }
                Gradient::Rows(r) => {
                    let (indices, values) = r.concat();
                    let rows = <T as Typed>::slice(values.view().data);
                    let parts = Plain { indices: &indices, rows };
                    // SAFETY: handed on; `Rows` checked its indices against the table.
                    unsafe { apply::rows(access, &target, &parts, &mut scratch) };
                }
            }
        });
    }
}
