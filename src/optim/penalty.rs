//! The penalty `l2/2 · |w|²`: how often it counts, and its weight for each parameter.
//!
//! A penalty on all of a sparse model would change every row with every batch. So it counts for the
//! rows that a batch uses: once each, however often a row occurs in the batch ([`L2Per::Step`]), or
//! each time that it occurs ([`L2Per::Sample`]), as if it was added to the loss of each sample. The
//! latter does not depend on the size of batches, and plain SGD gets by without grouping rows.
//!
//! [`L2Per::Step`]: super::L2Per::Step
//! [`L2Per::Sample`]: super::L2Per::Sample

use std::collections::{HashMap, HashSet};
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

/// Weights that some parameters have of their own.
#[derive(Debug, Default)]
pub(super) struct OwnL2 {
    in_order: Vec<(Penalized, f64)>,
    /// By the address of the table, which no other has while `in_order` refers to it.
    by_table: HashMap<usize, f64>,
    by_name: HashMap<String, f64>,
}

impl Optimizer {
    /// Sets the weight of the penalty on some parameters, in the place of one that was set before; `settings.l2` is
    /// that of all others.
    ///
    /// # Errors
    /// [`Error::Value`] if the weight is out of range.
    pub fn with_l2(mut self, parameters: Penalized, l2: f64) -> Result<Self> {
        check_l2(l2)?;
        let own = &mut self.own_l2;
        match &parameters {
            Penalized::Table(table) => own.by_table.insert(table.as_ptr().addr(), l2),
            Penalized::Named(name) => own.by_name.insert(name.clone(), l2),
        };
        own.in_order.push((parameters, l2));
        Ok(self)
    }

    /// The weights that some parameters have of their own.
    pub fn own_l2(&self) -> &[(Penalized, f64)] {
        &self.own_l2.in_order
    }

    /// The settings for one parameter: a weight that was set for its table, else for its name, else
    /// for all.
    pub fn settings_of(&self, table: &Table) -> Settings {
        let OwnL2 {
            by_table, by_name, ..
        } = &self.own_l2;
        let settings = self.settings();
        let own = by_table.get(&std::ptr::from_ref(table).addr());
        let own = own.or_else(|| by_name.get(table.name()?));
        Settings {
            l2: own.copied().unwrap_or(settings.l2),
            ..settings
        }
    }

    /// Refuses weights of what is none of the parameters of a run. A table that is gone has none.
    ///
    /// # Errors
    /// [`Error::Value`] with the name and those that there are.
    pub(crate) fn check_penalized(&self, tables: &[Arc<Table>]) -> Result<()> {
        if self.own_l2().is_empty() {
            return Ok(());
        }
        let names: HashSet<&str> = tables.iter().filter_map(|table| table.name()).collect();
        let known: HashSet<*const Table> = tables.iter().map(Arc::as_ptr).collect();
        for (penalized, _) in self.own_l2() {
            let other = match penalized {
                Penalized::Named(name) if !names.contains(name.as_str()) => {
                    format!("no parameter of the loss has the name '{name}'")
                }
                Penalized::Table(table) if !known.contains(&table.as_ptr()) => {
                    match table.upgrade() {
                        Some(table) => format!("the loss has no {}", table.label()),
                        None => continue,
                    }
                }
                _ => continue,
            };
            let there: Vec<&str> = tables.iter().filter_map(|table| table.name()).collect();
            return Err(Error::Value(format!("l2: {other}; it has {there:?}")));
        }
        Ok(())
    }
}

/// Refuses what is no weight of a penalty.
pub(super) fn check_l2(l2: f64) -> Result<()> {
    check("l2", l2, l2 >= 0.0, "a number >= 0")
}
