//! Access to tables that lasts: guards over their locks, and what is reported where a lock is refused.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::lock::{self, Alone, HeldLocks, Mode, Refused, Trained};
use super::storage::{Table, refusal};
use crate::array::{Array, Number, View, show_shape, with_real};
use crate::error::{Error, Result};
use crate::order;

impl Table {
    /// Replaces all numbers.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Type`] or [`Error::NotFinite`] if `value` does not fit,
    /// [`Error::State`] as [`Table::exclusive`]. Nothing is changed then.
    pub fn write(&self, value: &Array) -> Result<()> {
        let value = value.view();
        // Otherwise `write_all` checks it, and large ones are looked through once.
        if value.data.len() <= BRIEF {
            self.check(value)?;
            if let Some(mut alone) = Self::alone(std::iter::once(self)) {
                alone.fill(self, value);
                return Ok(());
            }
        }
        Self::write_all(&[(self, Some(value))]).map(drop)
    }

    /// Replaces all numbers of those tables that have a value here, and keeps plain access to all.
    ///
    /// # Errors
    /// As [`Table::write`]. No table is changed then.
    pub(crate) fn write_all<'a>(
        values: &[(&'a Table, Option<View<'_>>)],
    ) -> Result<ExclusiveAll<'a>> {
        let given = || {
            values
                .iter()
                .filter_map(|&(table, value)| Some((table, value?)))
        };
        given().try_for_each(|(table, value)| table.check(value))?;
        let mut access = Self::exclusive_all(values.iter().map(|&(table, _)| table))?;
        for (table, value) in given() {
            access.fill(table, value);
        }
        Ok(access)
    }

    /// Refuses what cannot be the table's numbers.
    fn check(&self, value: View<'_>) -> Result<()> {
        value.check_length(|| self.label())?;
        if *value.shape != self.ty().shape[..] {
            return Err(Error::Shape(format!(
                "{}: expected shape {}, got {}",
                self.label(),
                show_shape(&self.ty().shape),
                show_shape(value.shape)
            )));
        }
        let dtype = value.data.dtype();
        if dtype != self.ty().dtype {
            return Err(Error::Type(format!(
                "{}: expected {}, got {}",
                self.label(),
                self.ty().dtype,
                dtype
            )));
        }
        if !value.data.is_finite() {
            return Err(Error::NotFinite(format!(
                "{}: the value holds NaN or infinity",
                self.label()
            )));
        }
        Ok(())
    }

    /// Waits until nobody else uses the table and gives plain access to it. The change
    /// is recorded when the access ends.
    ///
    /// # Errors
    /// [`Error::State`] if the table is being trained, or if this very thread uses it, as an
    /// operator of the caller's does in a program that reads it.
    pub fn exclusive(&self) -> Result<Exclusive<'_>> {
        Ok(Exclusive {
            table: self,
            all: Self::exclusive_all(std::iter::once(self))?,
        })
    }

    /// As [`Table::exclusive`] for several tables, all or none.
    ///
    /// # Errors
    /// As [`Table::exclusive`].
    pub(crate) fn exclusive_all<'a>(
        tables: impl Iterator<Item = &'a Table>,
    ) -> Result<ExclusiveAll<'a>> {
        let tables = sorted(tables);
        let _held = held(&tables, Mode::Plain)?;
        Ok(ExclusiveAll { tables, _held })
    }

    /// Plain access to tables, each named once, for work on few numbers ([`BRIEF`]) that waits for nothing and runs
    /// no code of the caller's; `None` if somebody uses one. The change is recorded when the access ends.
    pub(crate) fn alone<'a>(
        tables: impl Iterator<Item = &'a Table>,
    ) -> Option<ExclusiveAll<'a, Alone<'a>>> {
        let tables: Tables<'a> = tables.collect();
        let _held = lock::alone(tables.iter().map(|table| table.lock()))?;
        Some(ExclusiveAll { tables, _held })
    }

    /// Waits until nobody has plain access to any of the tables, and keeps it that way for a run
    /// in which code of the caller's may do anything.
    ///
    /// # Errors
    /// [`Error::State`] if this thread, or a call that it is part of, has plain access; whatever
    /// ended the wait.
    pub(crate) fn reading<'a>(
        tables: impl Iterator<Item = &'a Table> + Clone,
    ) -> Result<Reading<'a>> {
        let held = lock::hold(tables.clone().map(Table::lock), Mode::Shared)?;
        let _held = held.map_err(|refused| refusal(&sorted(tables), refused, Mode::Shared))?;
        Ok(Reading { _held })
    }

    /// As [`Table::reading`], for a worker of a run that trains the tables.
    ///
    /// # Errors
    /// [`Error::State`] if one of the tables is not being trained.
    pub(crate) fn beside<'a>(tables: impl Iterator<Item = &'a Table>) -> Result<Reading<'a>> {
        let tables = sorted(tables);
        let _held = held(&tables, Mode::Shared)?;
        match tables.iter().find(|table| !table.lock().is_trained()) {
            None => Ok(Reading { _held }),
            Some(table) => Err(Error::State(format!(
                "{} is not being trained",
                table.label()
            ))),
        }
    }

    /// Marks tables as being trained, so that nobody else changes them.
    ///
    /// # Errors
    /// [`Error::State`] if one is being trained already.
    pub(crate) fn begin_training<'a>(
        tables: impl Iterator<Item = &'a Table>,
    ) -> Result<Training<'a>> {
        let tables = sorted(tables);
        let locks = tables.iter().map(|table| table.lock());
        let trained = match lock::train(locks)? {
            Ok(trained) => trained,
            Err(Refused::Trained(k)) => {
                return Err(Error::State(format!(
                    "{} is already being trained",
                    tables[k].label()
                )));
            }
            Err(refused) => return Err(refusal(&tables, refused, Mode::Plain)),
        };
        // Copies that were made before are not taken for what the workers make of the tables.
        Table::touch_all(tables.iter().copied());
        Ok(Training { tables, trained })
    }
}

pub(super) type Tables<'a> = SmallVec<[&'a Table; 4]>;

/// Tables as [`lock`] numbers them.
pub(super) fn sorted<'a>(tables: impl Iterator<Item = &'a Table>) -> Tables<'a> {
    let mut sorted: Tables<'a> = tables.collect();
    order::sort_few_by_key(&mut sorted, |table| table.id() as usize);
    sorted.dedup_by_key(|table| table.id());
    sorted
}

/// Takes the locks of tables for a new run.
pub(super) fn held<'a>(tables: &Tables<'a>, mode: Mode) -> Result<HeldLocks<'a>> {
    let locks = tables.iter().map(|table| table.lock());
    lock::hold(locks, mode)?.map_err(|refused| refusal(tables, refused, mode))
}

/// Plain access to a table.
pub struct Exclusive<'a> {
    pub(super) table: &'a Table,
    pub(super) all: ExclusiveAll<'a>,
}

impl fmt::Debug for Exclusive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exclusive")
            .field("table", &self.table.label())
            .finish_non_exhaustive()
    }
}

impl Exclusive<'_> {
    /// All numbers, in C order.
    ///
    /// # Panics
    /// If `T` is not the table's element type.
    pub fn slice<T: Number>(&mut self) -> &mut [T] {
        self.all.slice(self.table)
    }
}

/// Plain access to several tables, whose locks a guard holds: those of a run, or for a short time [`Alone`].
pub(crate) struct ExclusiveAll<'a, G = HeldLocks<'a>> {
    pub(super) tables: Tables<'a>,
    pub(super) _held: G,
}

impl<G> ExclusiveAll<'_, G> {
    /// Replaces all numbers of one of the tables by those of a value that was [checked](Table::check).
    ///
    /// # Panics
    /// If the value does not fit, or the table is none of these.
    fn fill(&mut self, table: &Table, value: View<'_>) {
        with_real!(table.ty().dtype, T => {
            self.slice::<T>(table).copy_from_slice(value.real::<T>());
        });
    }

    /// All numbers of one of the tables, in C order.
    ///
    /// # Panics
    /// If `T` is not the table's element type, or the table is none of these.
    fn slice<T: Number>(&mut self, table: &Table) -> &mut [T] {
        assert!(self.tables.iter().any(|held| std::ptr::eq(*held, table)));
        let n = table.size();
        // SAFETY: the table holds `n` initialised numbers of type `T` (`pointer` checks
        // the type). Its lock is among those that `_held` holds, as was just made sure of (`exclusive_all` and
        // `alone`, which make this, take the locks of `tables` for plain access), and excludes
        // every other reader and writer for as long as `self` lives; `&mut self` excludes a second
        // slice from here.
        unsafe { std::slice::from_raw_parts_mut(table.pointer::<T>(), n) }
    }
}

impl<G> Drop for ExclusiveAll<'_, G> {
    fn drop(&mut self) {
        // Before the locks are given back.
        Table::touch_all(self.tables.iter().copied());
    }
}

/// Numbers of a table on which work is brief: others who want the table look again and again meanwhile.
pub(crate) const BRIEF: usize = 1 << 12;

/// Nobody has plain access while this lives.
pub(crate) struct Reading<'a> {
    pub(super) _held: HeldLocks<'a>,
}

/// The right to train tables, which ends when this is dropped.
pub(crate) struct Training<'a> {
    pub(super) tables: Tables<'a>,
    pub(super) trained: Trained<'a>,
}

/// Locks held while workers run.
pub(crate) struct Running<'a> {
    pub(super) _held: HeldLocks<'a>,
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
        Table::touch_all(self.tables.iter().copied());
    }
}

/// As [`Training`], with a share of the tables, so that it can be kept beside them.
pub(crate) struct OwnTraining {
    /// Before the tables, for fields are dropped in order.
    _training: Training<'static>,
    _tables: Vec<Arc<Table>>,
}

impl OwnTraining {
    /// As [`Table::begin_training`].
    ///
    /// # Errors
    /// As [`Table::begin_training`].
    pub(crate) fn begin(tables: &[Arc<Table>]) -> Result<Self> {
        let tables = tables.to_vec();
        let held = tables.iter().map(|table| {
            // SAFETY: `_tables` holds the table by `Arc`, at an address that does not change, until
            // `_training`, the only one to have the reference, has been dropped: it is the field before,
            // it is private, and nothing moves it out.
            unsafe { &*Arc::as_ptr(table) }
        });
        Ok(OwnTraining {
            _training: Table::begin_training(held)?,
            _tables: tables,
        })
    }
}
