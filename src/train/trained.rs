//! A table that is trained, as a worker's step holds it: how its gradient is applied, and the memory that
//! this needs.

use std::sync::Arc;

use crate::array::DType;
use crate::error::{Error, Result};
use crate::optim::gradient::{Scratch, StepTarget};
use crate::optim::{Optimizer, State};
use crate::table::Table;

/// Scratch of either element type.
pub(super) enum AnyScratch {
    F32(Scratch<f32>),
    F64(Scratch<f64>),
}

impl AnyScratch {
    /// Scratch for gradients of up to `rows` rows of a table.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    fn new(table: &Table, rows: usize) -> Result<Self> {
        Ok(match table.ty().dtype {
            DType::F32 => AnyScratch::F32(Scratch::new(table.width(), rows)?),
            _ => AnyScratch::F64(Scratch::new(table.width(), rows)?),
        })
    }
}

/// Scratch for gradients of a table, which grows with them.
pub(super) struct TableScratch {
    pub(super) numbers: AnyScratch,
    /// Rows that there is scratch for.
    room: usize,
}

impl TableScratch {
    /// Scratch for gradients of so many rows.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(super) fn new(table: &Table, rows: usize) -> Result<Self> {
        Ok(TableScratch {
            numbers: AnyScratch::new(table, rows)?,
            room: rows,
        })
    }

    /// Sees to it that there is scratch for so many rows of the table.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn make_room(&mut self, table: &Table, rows: usize) -> Result<()> {
        if rows > self.room {
            let room = rows.next_power_of_two();
            self.numbers = AnyScratch::new(table, room)?;
            self.room = room;
        }
        Ok(())
    }
}

/// A table that is trained. See the [module documentation](self).
pub(super) struct TrainedTable<'a> {
    pub(super) target: StepTarget<'a>,
    pub(super) scratch: TableScratch,
}

impl<'a> TrainedTable<'a> {
    /// A table with its optimizer's state, and scratch for gradients of so many rows.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(super) fn new(
        table: &'a Table,
        state: &'a Arc<State>,
        optimizer: &Optimizer,
        rows: usize,
    ) -> Result<Self> {
        Ok(TrainedTable {
            target: StepTarget {
                table,
                state,
                rule: optimizer.rule(),
                settings: optimizer.settings_of(table),
            },
            scratch: TableScratch::new(table, rows)?,
        })
    }

    /// Sees to it that there is scratch for so many rows.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn make_room(&mut self, rows: usize) -> Result<()> {
        self.scratch.make_room(self.target.table, rows)
    }
}

/// Refuses a table that is not among those of a run, which are in the order of their numbers: a step of many
/// parameters looks for each of them.
///
/// # Errors
/// [`Error::State`].
pub(super) fn check_trained<'t>(
    mut tables: impl Iterator<Item = &'t Arc<Table>>,
    of_run: &[Arc<Table>],
) -> Result<()> {
    let number = |table: &Arc<Table>| table.id();
    let is_foreign =
        |table: &&Arc<Table>| of_run.binary_search_by_key(&table.id(), number).is_err();
    match tables.find(is_foreign) {
        None => Ok(()),
        Some(table) => Err(Error::State(format!(
            "{} is not being trained by this run",
            table.label()
        ))),
    }
}
