//! What an optimizer remembers about tables: made when a table is first stepped, dropped some time after
//! the table.
//!
//! A rule that remembers nothing, as plain SGD, has one state for all tables, and looks none up.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::powers::Powers;
use super::{Optimizer, Rule};
use crate::array::Type;
use crate::error::Result;
use crate::table::Table;

/// What a rule remembers about one table.
#[derive(Debug)]
pub(crate) struct State {
    /// Tables like the parameter, then, if the rule counts steps, one number a row.
    pub slots: Vec<Table>,
    /// Powers of the decays of a rule that counts steps, which all its states share.
    pub powers: Option<Arc<[Powers; 2]>>,
}

/// A table, if it still is, and its state.
pub(super) type Owned = (Weak<Table>, Arc<State>);

/// States by the numbers of their tables.
#[derive(Debug, Default)]
pub(super) struct States {
    pub(super) by_table: HashMap<u64, Owned>,
    /// How many there may be before those of dropped tables are looked for.
    enough: usize,
}

impl States {
    /// Few states are looked through each time that there is a new one: they may be large.
    const FEW: usize = 32;

    /// Adds a state and gives the one that was in its place. Those of dropped tables are looked for
    /// when there are few, or twice as many as were left the last time, so that a state costs the same
    /// however many there are.
    pub(super) fn insert(&mut self, table: &Arc<Table>, state: Arc<State>) -> Option<Owned> {
        if self.by_table.len() >= self.enough {
            self.by_table
                .retain(|_, (table, _)| table.strong_count() > 0);
            self.enough = match self.by_table.len() {
                few if few < Self::FEW => 0,
                many => 2 * many,
            };
        }
        let owned = (Arc::downgrade(table), state);
        self.by_table.insert(table.id(), owned)
    }
}

impl State {
    /// Powers of the decays of a rule that counts steps: as much memory as some thousand numbers of state.
    pub(super) fn powers(rule: Rule) -> Option<Arc<[Powers; 2]>> {
        match rule {
            Rule::Adam { beta1, beta2, .. } => Some(Arc::new([beta1, beta2].map(Powers::new))),
            _ => None,
        }
    }

    /// The state of a rule that remembers nothing, which serves all tables; `None` for any other rule.
    pub(super) fn nothing(rule: Rule) -> Option<Arc<State>> {
        let remembers = rule.full_slots() > 0 || rule.counts_steps();
        let nothing = || State {
            slots: Vec::new(),
            powers: None,
        };
        (!remembers).then(|| Arc::new(nothing()))
    }
}

/// The state for a table, as long as an optimizer is borrowed. One that serves all tables is borrowed with it, which
/// saves counting another pointer to it.
pub(super) enum BorrowedState<'o> {
    Common(&'o State),
    Own(Arc<State>),
}

impl Deref for BorrowedState<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        match self {
            BorrowedState::Common(state) => state,
            BorrowedState::Own(state) => state,
        }
    }
}

impl Optimizer {
    /// As [`state`](Self::state), borrowed.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    #[inline]
    pub(super) fn borrowed_state(&self, table: &Arc<Table>) -> Result<BorrowedState<'_>> {
        match &self.common_state {
            Some(state) => Ok(BorrowedState::Common(state)),
            None => self.state(table).map(BorrowedState::Own),
        }
    }

    /// The state for a table, made on first use and dropped some time after the table.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(crate) fn state(&self, table: &Arc<Table>) -> Result<Arc<State>> {
        if let Some(state) = &self.common_state {
            return Ok(Arc::clone(state));
        }
        // A map that a panicking thread left behind is whole.
        let mut states = self.states.lock();
        if let Some((_, state)) = states.by_table.get(&table.id()) {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(self.new_state(table)?);
        states.insert(table, Arc::clone(&state));
        Ok(state)
    }

    /// What the rule remembers about a table that it has not seen.
    pub(super) fn new_state(&self, table: &Table) -> Result<State> {
        let ty = table.ty();
        let mut slots = Vec::new();
        for _ in 0..self.rule.full_slots() {
            slots.push(Table::zeros(ty, None)?);
        }
        if self.rule.counts_steps() {
            slots.push(Table::zeros(&Type::new(ty.dtype, &[table.rows()]), None)?);
        }
        Ok(State {
            slots,
            powers: self.powers.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::array::DType;

    #[test]
    fn the_state_of_tables_that_are_gone_is_dropped() {
        let optimizer = Optimizer::new(Rule::Adagrad { eps: 1e-10 }, Settings::new(0.5)).unwrap();
        let ty = Type::new(DType::F32, &[3]);
        for _ in 0..10 {
            let table = Arc::new(Table::zeros(&ty, None).unwrap());
            optimizer.state(&table).unwrap();
        }
        assert_eq!(optimizer.states.lock().by_table.len(), 1);
    }

    #[test]
    fn parameters_share_the_powers_of_the_decays() {
        let optimizer = Optimizer::adam(0.1).unwrap();
        let state = || {
            let table = Table::zeros(&Type::new(DType::F32, &[1]), None).unwrap();
            optimizer.state(&Arc::new(table)).unwrap()
        };
        let [one, other] = [state(), state()].map(|state| state.powers.clone().unwrap());
        assert!(Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn states_of_dropped_tables_are_looked_for_seldom() {
        let rule = Rule::Sgd { momentum: 0.5 };
        let optimizer = Optimizer::new(rule, Settings::new(0.5)).unwrap();
        let table = || Arc::new(Table::zeros(&Type::new(DType::F32, &[1]), None).unwrap());
        let kept: Vec<_> = (0..5000).map(|_| table()).collect();
        let (mut searches, mut enough) = (0, 0);
        for table in &kept {
            optimizer.state(table).unwrap();
            let now = optimizer.states.lock().enough;
            searches += usize::from(now != enough);
            enough = now;
        }
        assert!(searches < 10, "{searches} searches of all states");
        for _ in 0..50_000 {
            optimizer.state(&table()).unwrap();
            assert!(optimizer.states.lock().by_table.len() <= 4 * kept.len());
        }
        drop(kept);
        for k in 0..50_000 {
            optimizer.state(&table()).unwrap();
            let left = optimizer.states.lock().by_table.len();
            assert!(k < 25_000 || left <= 2 * States::FEW, "{left} after {k}");
        }
    }
}
