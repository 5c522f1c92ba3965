//! The penalty `l2/2 · |w|²`: how often it counts, and its weight for each parameter.
//!
//! A penalty on all of a sparse model would change every row with every batch. So it counts for the
//! rows that a batch uses: once each, however often a row occurs in the batch ([`L2Per::Step`]), or
//! each time that it occurs ([`L2Per::Sample`]), as if it was added to the loss of each sample. The
//! latter does not depend on the size of batches, and plain SGD gets by without grouping rows.
//!
//! [`L2Per::Step`]: super::L2Per::Step
//! [`L2Per::Sample`]: super::L2Per::Sample

use std::sync::{Arc, Weak};

use super::settings::check;
use super::{Optimizer, Settings};
use crate::error::{Error, Result};
use crate::table::Table;

/// Which parameters a penalty is for.
#[derive(Debug, Clone)]
pub enum Penalized {
    /// That of this table, while it is there.
    Table(Weak<Table>),
    /// Those of this name.
    Named(String),
}

impl Optimizer {
    /// Sets the weight of the penalty on some parameters; `settings.l2` is that of all others.
    ///
    /// # Errors
    /// [`Error::Value`] if the weight is out of range.
    pub fn with_l2(mut self, parameters: Penalized, l2: f64) -> Result<Self> {
        check_l2(l2)?;
        self.own_l2.push((parameters, l2));
        Ok(self)
    }

    /// The weights that some parameters have of their own.
    pub fn own_l2(&self) -> &[(Penalized, f64)] {
        &self.own_l2
    }

    /// The settings for one parameter: a weight that was set for its table, else for its name, else
    /// for all.
    pub fn settings_of(&self, table: &Table) -> Settings {
        let by_table = self.own_l2.iter().find(|(penalized, _)| {
            matches!(penalized, Penalized::Table(other) if std::ptr::eq(other.as_ptr(), table))
        });
        let by_name = || {
            self.own_l2.iter().find(|(penalized, _)| {
                matches!(penalized, Penalized::Named(name) if table.name() == Some(name))
            })
        };
        let settings = self.settings();
        let l2 = by_table.or_else(by_name).map_or(settings.l2, |&(_, l2)| l2);
        Settings { l2, ..settings }
    }

    /// Refuses names that none of the parameters of a run has.
    ///
    /// # Errors
    /// [`Error::Value`] with the name and those that there are.
    pub(crate) fn check_names(&self, tables: &[Arc<Table>]) -> Result<()> {
        for (penalized, _) in &self.own_l2 {
            let Penalized::Named(name) = penalized else {
                continue;
            };
            if tables.iter().all(|table| table.name() != Some(name)) {
                let names: Vec<&str> = tables.iter().filter_map(|table| table.name()).collect();
                return Err(Error::Value(format!(
                    "l2: no parameter of the loss has the name '{name}'; it has {names:?}"
                )));
            }
        }
        Ok(())
    }
}

/// Refuses what is no weight of a penalty.
pub(super) fn check_l2(l2: f64) -> Result<()> {
    check("l2", l2, l2 >= 0.0, "a number >= 0")
}
