//! Parameters' memory, shared by threads, and gradients that touch a few rows of it.

mod access;
mod changes;
pub(crate) mod lock;
mod memory;
pub(crate) mod moves;
mod parameter;
mod record;
mod rows;
mod storage;
#[cfg(test)]
mod tests;

pub use access::Exclusive;
pub(crate) use access::{BRIEF, OwnTraining};
pub(crate) use changes::{MARKS, changed_since, changes, mark, own_changes, record_leaf_change};
pub use parameter::Param;
pub(crate) use rows::add_into;
pub use rows::{Gradient, Rows};
pub use storage::Table;
pub(crate) use storage::new_id;

/// What [`lock`] is made of: a test puts in their place those of a scheduler that tries the
/// orders in which threads may run.
mod sync {
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::thread::yield_now;
    pub(super) use std::thread_local;
}
