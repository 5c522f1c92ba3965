//! Access to tables that lasts: guards over their locks, and what is reported where a lock is refused.

use smallvec::SmallVec;

use super::Table;
use super::lock::{self, Held, Mode, Refused, Trained};
use crate::array::Number;
use crate::error::{Error, Result};

pub(super) type Tables<'a> = SmallVec<[&'a Table; 4]>;

/// Tables as [`lock`] numbers them.
pub(super) fn sorted<'a>(tables: impl Iterator<Item = &'a Table>) -> Tables<'a> {
    let mut sorted: Tables<'a> = tables.collect();
    sorted.sort_unstable_by_key(|table| table.id());
    sorted.dedup_by_key(|table| table.id());
    sorted
}

/// Takes the locks of tables for a new run.
pub(super) fn held<'a>(tables: &Tables<'a>, mode: Mode) -> Result<Held<'a>> {
    let locks = tables.iter().map(|table| table.lock());
    lock::hold(locks, mode)?.map_err(|refused| refusal(tables, refused, mode))
}

/// What to report when a lock is refused that was asked for in some mode.
#[cold]
pub(super) fn refusal(tables: &[&Table], refused: Refused, mode: Mode) -> Error {
    let (Refused::Own(k) | Refused::Circle(k) | Refused::Trained(k)) = refused;
    let label = tables[k].label();
    Error::State(match (refused, mode) {
        (Refused::Trained(_), _) => {
            format!("{label} is being trained and cannot be changed until that ends")
        }
        (Refused::Own(_), Mode::Shared) => format!(
            "{label} is being changed by the very call that this code runs in, which would wait \
             for itself: use what the function is given, read the parameter before the call, or \
             train with two or more threads"
        ),
        (Refused::Own(_), Mode::Plain) => format!(
            "{label} is being read by the very call that this code runs in, which would wait for \
             itself: change the parameter when that call has ended"
        ),
        (Refused::Circle(_), _) => format!(
            "{label} is in use by a thread that waits for what this call holds, so that neither \
             could go on: read and change parameters outside of programs' own functions, or in \
             one thread at a time"
        ),
    })
}

/// Plain access to a table.
pub struct Exclusive<'a> {
    pub(super) table: &'a Table,
    pub(super) _all: ExclusiveAll<'a>,
}

impl Exclusive<'_> {
    /// All numbers, in C order.
    ///
    /// # Panics
    /// If `T` is not the table's element type.
    pub fn slice<T: Number>(&mut self) -> &mut [T] {
        let n = self.table.ty().size();
        // SAFETY: the table holds `n` initialised numbers of type `T` (`pointer` checks
        // the type). The lock that `_all` holds excludes every other reader and writer for as
        // long as `self` lives, and `&mut self` excludes a second slice from here.
        unsafe { std::slice::from_raw_parts_mut(self.table.pointer::<T>(), n) }
    }
}

/// Plain access to several tables.
pub(crate) struct ExclusiveAll<'a> {
    pub(super) tables: Tables<'a>,
    pub(super) _held: Held<'a>,
}

impl Drop for ExclusiveAll<'_> {
    fn drop(&mut self) {
        // Before the locks are given back.
        self.tables.iter().for_each(|table| table.touch());
    }
}

/// Nobody has plain access while this lives.
pub(crate) struct Reading<'a> {
    pub(super) _held: Held<'a>,
}

/// The right to train tables, which ends when this is dropped.
pub(crate) struct Training<'a> {
    pub(super) tables: Tables<'a>,
    pub(super) trained: Trained<'a>,
}

/// Locks held while workers run.
pub(crate) struct Running<'a> {
    pub(super) _held: Held<'a>,
}

impl Training<'_> {
    /// Locks the tables for one stretch of work: alone, or beside other workers and
    /// readers.
    ///
    /// # Errors
    /// [`Error::State`] if the work is part of a call that uses one of them; whatever ended the
    /// wait.
    pub(crate) fn run(&self, alone: bool) -> Result<Running<'_>> {
        let mode = if alone { Mode::Plain } else { Mode::Shared };
        let held = self.trained.hold(mode)?;
        Ok(Running {
            _held: held.map_err(|refused| refusal(&self.tables, refused, mode))?,
        })
    }
}

impl Drop for Training<'_> {
    fn drop(&mut self) {
        self.tables.iter().for_each(|table| table.touch());
    }
}
