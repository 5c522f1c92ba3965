//! Parameters' memory, shared by threads, and gradients that touch a few rows of it.

pub(crate) mod moves;
mod parameter;
mod rows;
mod storage;

pub use parameter::Param;
pub(crate) use rows::add_into;
pub use rows::{Gradient, Rows};
pub use storage::{Exclusive, Table};
pub(crate) use storage::{changes, new_id, record_change};

use std::sync::Arc;

/// The tables in a fixed order, in which to lock them: so nobody can wait for each other.
pub(crate) fn in_order(tables: &[Arc<Table>]) -> Vec<&Arc<Table>> {
    let mut sorted: Vec<&Arc<Table>> = Vec::with_capacity(tables.len());
    for table in tables {
        // They are few: a place for each is less code than to sort.
        let at = sorted.partition_point(|other| other.id() <= table.id());
        sorted.insert(at, table);
    }
    sorted
}
