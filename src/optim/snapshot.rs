//! The state of an optimizer taken out and put back, so that training can go on in another
//! process.

use std::sync::Arc;

use super::{Optimizer, State};
use crate::array::{Array, show_shape, with_real};
use crate::error::{Error, Result};
use crate::table::Table;

/// What an optimizer remembers about one parameter.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The parameter's table.
    pub table: Arc<Table>,
    /// What the rule keeps: arrays of the parameter's type and shape (SGD with momentum: the
    /// velocity; Adagrad: sums of squares; Adam: first and second moments), then for Adam how
    /// often each row was changed.
    pub slots: Vec<Array>,
}

impl Optimizer {
    /// A copy of the state, a part for each parameter that still is and has some, in the order
    /// in which they were made. Waits for whoever changes a parameter just now.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory; [`Error::State`] within a call that changes
    /// one of the parameters.
    pub fn snapshot(&self) -> Result<Vec<Snapshot>> {
        // A map that a panicking thread left behind is whole.
        let states = self.states.lock();
        let mut found: Vec<_> = states
            .by_table
            .values()
            .filter(|(_, state)| !state.slots.is_empty())
            .filter_map(|(table, state)| Some((table.upgrade()?, Arc::clone(state))))
            .collect();
        drop(states);
        found.sort_unstable_by_key(|(table, _)| table.id());
        let copy = |(table, state): (Arc<Table>, Arc<State>)| {
            // Whoever changes the state on plain slices holds the parameter's lock exclusively
            // meanwhile.
            let guard = Table::reading(std::iter::once(&*table))?;
            let slots = state.slots.iter().map(Table::try_read);
            let slots = slots.collect::<Result<_>>()?;
            drop(guard);
            Ok(Snapshot { table, slots })
        };
        found.into_iter().map(copy).collect()
    }

    /// Puts state that [`snapshot`](Self::snapshot) gave, of this optimizer or one with the same
    /// rule, in the place of what there is for its table.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the arrays are not those that the rule keeps of
    /// such a table, [`Error::Memory`] if there is not the memory; nothing is changed then.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<()> {
        let Snapshot { table, slots } = snapshot;
        let state = self.new_state(table)?;
        if slots.len() != state.slots.len() {
            return Err(Error::Shape(format!(
                "state of {}: expected {} arrays, got {}",
                table.label(),
                state.slots.len(),
                slots.len()
            )));
        }
        for (slot, array) in state.slots.iter().zip(slots) {
            let (found, wanted) = (array.ty(), slot.ty());
            if found.dtype != wanted.dtype {
                return Err(Error::Type(format!(
                    "state of {}: expected {}, got {}",
                    table.label(),
                    wanted.dtype,
                    found.dtype
                )));
            }
            if found.shape != wanted.shape {
                return Err(Error::Shape(format!(
                    "state of {}: expected shape {}, got {}",
                    table.label(),
                    show_shape(&wanted.shape),
                    show_shape(&found.shape)
                )));
            }
            // Not by `write`, which refuses infinity: sums of squares may have overflowed.
            let mut access = slot.exclusive()?;
            with_real!(wanted.dtype, T => {
                access.slice::<T>().copy_from_slice(array.view().real::<T>());
            });
        }
        let mut states = self.states.lock();
        let old = states.insert(table, Arc::new(state));
        drop(states);
        drop(old);
        Ok(())
    }
}
