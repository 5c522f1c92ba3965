//! A parameter's table as the value of a node. Rows are looked up in the table itself; an operator that
//! needs all numbers gets a copy, which the next one finds again while the table does not change.

use std::cell::RefCell;
use std::sync::Arc;

use crate::array::{Array, Number, Summary, Type};
use crate::error::Result;
use crate::table::Table;

/// A table in a graph, with the copy that dense operators last used.
#[derive(Debug)]
pub struct TableValue {
    table: Arc<Table>,
    copy: RefCell<Option<(u64, Array)>>,
}

impl TableValue {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        TableValue {
            table,
            copy: RefCell::new(None),
        }
    }

    /// The table.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The table's type.
    #[inline]
    pub(super) fn ty(&self) -> &Type {
        self.table.ty()
    }

    /// What the table holds, without a copy of it.
    pub(in crate::graph) fn summary(&self) -> Option<Summary> {
        self.table.summary()
    }

    /// Calls `f` with the copy that was made last, if the table has not changed since.
    #[inline]
    fn with_copy<R>(&self, f: impl FnOnce(&Array) -> R) -> Option<R> {
        let version = self.table.version();
        let copy = self.copy.borrow();
        let (_, array) = copy.as_ref().filter(|(at, _)| *at == version)?;
        Some(f(array))
    }

    /// Whether there is a copy of what the table holds now.
    pub(super) fn has_copy(&self) -> bool {
        self.with_copy(|_| ()).is_some()
    }

    /// What the table holds, if that is a single number of type `T`.
    #[inline]
    pub(super) fn number<T: Number>(&self) -> Option<T> {
        match self.with_copy(|array| array.number()) {
            Some(number) => number,
            None => self.dense().ok()?.number(),
        }
    }

    /// What the table holds.
    ///
    /// # Errors
    /// As [`Table::try_read`].
    pub(super) fn dense(&self) -> Result<Array> {
        // Before it is read: the table may change meanwhile.
        let version = self.table.version();
        if let Some(array) = self.with_copy(Array::clone) {
            return Ok(array);
        }
        // Nothing is borrowed while this waits.
        let array = self.table.try_read()?;
        self.copy.replace(Some((version, array.clone())));
        Ok(array)
    }
}
