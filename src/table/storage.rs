//! A table: the memory of one parameter, shared by every thread that uses it.
//!
//! A graph lives in one thread; its parameters do not. A [`Table`] is a block of
//! numbers behind an `Arc`, read and written by graphs, optimizers and training
//! workers of any thread.
//!
//! Rationale. Nobody ever holds a `&[T]` into a table that others may write:
//!
//! - [`Table::try_read`] and [`Table::read_rows`] copy out, by moves that may race with
//!   other moves ([`super::moves`]).
//! - [`Table::exclusive`] waits for everybody else and hands out plain access.
//! - training lets many workers read and write rows at once (Hogwild),
//!   still only by those moves.
//!
//! Who waits for whom is the business of [`super::lock`]; here its refusals become errors.

use std::sync::atomic::{AtomicU64, Ordering};

use super::changes::{changes, record};
use super::lock::{Brief, Lock, Mode, Refused};
use super::memory::Zeroed;
use super::moves;
use crate::array::{
    Array, DType, Dense, Element, Shape, Slice, Summary, Type, Typed, size, with_real,
};
use crate::error::{Error, Result};
use crate::rules::check_indices;

/// A number that no other leaf or table of this process has.
pub(crate) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A parameter's numbers.
///
/// A graph lives in one thread; its parameters do not. A table is a block of numbers behind an [`Arc`], read
/// and written by graphs, optimizers and training workers of any thread. Nobody has a slice of numbers that
/// others may write: [`try_read`](Self::try_read) and [`read_rows`](Self::read_rows) copy out,
/// [`exclusive`](Self::exclusive) waits for everybody else, and workers that train move numbers one by one.
///
/// [`Arc`]: std::sync::Arc
#[derive(Debug)]
pub struct Table {
    id: u64,
    name: Option<String>,
    ty: Type,
    /// Numbers in all.
    size: usize,
    memory: Zeroed,
    version: AtomicU64,
    lock: Lock,
}

impl Table {
    /// A table holding a copy of `value`.
    ///
    /// # Errors
    /// [`Error::Type`] if `value` holds indices, [`Error::NotFinite`] if it holds NaN
    /// or infinity, [`Error::Memory`] if memory cannot be had.
    pub fn new(value: &Array, name: Option<String>) -> Result<Self> {
        let table = Self::zeros(&value.ty(), name)?;
        table.write(value)?;
        Ok(table)
    }

    /// A table of zeros.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn zeros(ty: &Type, name: Option<String>) -> Result<Self> {
        if ty.dtype == DType::U32 {
            return Err(Error::Type(
                "a parameter holds floating-point numbers, not indices".into(),
            ));
        }
        let size = crate::array::element_count(&ty.shape)?;
        let id = new_id();
        Ok(Table {
            id,
            name,
            ty: ty.clone(),
            size,
            memory: Zeroed::new(size * ty.dtype.size())?,
            version: AtomicU64::new(changes()),
            lock: Lock::new(id),
        })
    }

    /// A number that no other table of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The name given at creation.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name, or a description for messages.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("parameter '{name}'"),
            None => format!("parameter {}", self.ty),
        }
    }

    /// Element type and shape.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// When the numbers last changed.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A version that no table has.
    pub(crate) const NO_VERSION: u64 = 0;

    /// The version of numbers that were read after the table had `version`, by which it is known later
    /// whether they are still those of the table. None while workers train it, who change it all the time:
    /// [`NO_VERSION`](Self::NO_VERSION).
    #[inline]
    pub(crate) fn settled(&self, version: u64) -> u64 {
        match self.lock.is_trained() {
            true => Self::NO_VERSION,
            false => version,
        }
    }

    /// Records that the numbers of tables changed, which nobody else changes meanwhile.
    pub(crate) fn touch_all<'a>(tables: impl Iterator<Item = &'a Table> + Clone) {
        let store = |change| {
            let store = |table: &Table| table.version.store(change, Ordering::Release);
            tables.clone().for_each(store);
        };
        record(store, tables.clone().map(|table| table.id));
    }

    /// As [`touch_all`](Self::touch_all), beside other workers.
    pub(crate) fn touch_beside<'a>(tables: impl Iterator<Item = &'a Table> + Clone) {
        let store = |change| {
            // Two workers may store out of order; the version must not go back.
            tables.clone().for_each(|table| {
                table.version.fetch_max(change, Ordering::AcqRel);
            });
        };
        record(store, tables.clone().map(|table| table.id));
    }

    /// Numbers in all.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Number of rows: the length of the first axis, 1 for a single number.
    pub fn rows(&self) -> usize {
        self.ty.shape.first().copied().unwrap_or(1)
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        size(self.ty.shape.get(1..).unwrap_or_default())
    }

    pub(super) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// The first number. Reading and writing through it follows the rules of
    /// [`super::moves`] unless the caller holds [`Table::exclusive`].
    pub(crate) fn pointer<T: Element>(&self) -> *mut T {
        assert_eq!(T::DTYPE, self.ty.dtype, "a table has one element type");
        self.memory.start().cast()
    }

    /// Where the memory starts, for prefetching.
    pub(crate) fn address(&self) -> *const u8 {
        self.memory.start()
    }

    /// Waits until nobody has plain access and keeps it that way: rows may be moved out. The
    /// caller does nothing else meanwhile.
    ///
    /// # Errors
    /// [`Error::State`] if this thread, or a call that it is part of, has plain access; whatever
    /// ended the wait.
    fn brief(&self) -> Result<Brief<'_>> {
        let refused = |refused| refusal(&[self], refused, Mode::Shared);
        self.lock.brief()?.map_err(refused)
    }

    /// A copy of all numbers. Waits while another thread has the table for itself, as one worker
    /// has for an epoch.
    ///
    /// # Panics
    /// As [`Table::try_read`] fails.
    pub fn read(&self) -> Array {
        self.try_read().unwrap_or_else(|e| panic!("{e}"))
    }

    /// A copy of all numbers. Waits as [`Table::read`].
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory; [`Error::State`] if this very thread has the
    /// table for itself, by [`Table::exclusive`], or works for a training run that has.
    pub fn try_read(&self) -> Result<Array> {
        Ok(with_real!(self.ty.dtype, T => {
            let mut out = Dense::<T>::zeros(&self.ty.shape)?;
            let to = out.make_mut()?;
            let _guard = self.brief()?;
            // SAFETY: the table holds as many numbers of type `T` as its shape says, and the
            // guard excludes plain writers.
            unsafe { moves::load_row(self.pointer::<T>(), to) };
            out.into()
        }))
    }

    /// Whether `f` holds for all numbers, which it gets piece by piece and in order.
    ///
    /// # Errors
    /// As [`Table::try_read`].
    fn all(&self, f: impl FnMut(Slice<'_>) -> bool) -> Result<bool> {
        Ok(self.all_with(&self.brief()?, f))
    }

    /// As [`Table::all`], with the guard of a brief reader of this table.
    fn all_with(&self, _guard: &Brief<'_>, mut f: impl FnMut(Slice<'_>) -> bool) -> bool {
        const PIECE: usize = 4096;
        with_real!(self.ty.dtype, T => {
            let mut piece = [T::default(); PIECE];
            let n = self.ty.size();
            (0..n).step_by(PIECE).all(|at| {
                let piece = &mut piece[..PIECE.min(n - at)];
                // SAFETY: `at` and as many numbers as `piece` has are in bounds, and the guard
                // excludes plain writers.
                unsafe { moves::load_row(self.pointer::<T>().add(at), piece) };
                f(T::tag(piece))
            })
        })
    }

    /// Whether every number is finite.
    ///
    /// # Errors
    /// As [`Table::try_read`].
    pub(crate) fn is_finite(&self) -> Result<bool> {
        self.all(
            |piece| with_real!(self.ty.dtype, T => T::slice(piece).iter().all(|x| x.is_finite())),
        )
    }

    /// The first numbers and the range of all. It does not wait: `None` while somebody has the
    /// table for itself, as one worker has for an epoch.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let guard = self.lock.brief_at_once()?;
        let mut summary = Summary::default();
        self.all_with(&guard, |piece| {
            summary.add(piece);
            true
        });
        Some(summary)
    }

    /// A copy of some rows, one after the other, shaped `index.shape + row shape`. Waits as
    /// [`Table::read`].
    ///
    /// # Errors
    /// [`Error::Index`] if an index is out of range, and as [`Table::try_read`].
    pub fn read_rows(&self, index: &Dense<u32>) -> Result<Array> {
        if self.ty.ndim() == 0 {
            return Err(Error::Shape(format!(
                "gather: {} is a single number and has no rows",
                self.label()
            )));
        }
        check_indices(|| self.label(), index.as_slice(), self.rows())?;
        let mut shape = Shape::from_slice(index.shape());
        shape.extend_from_slice(&self.ty.shape[1..]);
        let width = self.width();
        Ok(with_real!(self.ty.dtype, T => {
            let mut out = Dense::<T>::zeros(&shape)?;
            let start = self.pointer::<T>();
            let rows = out.make_mut()?.chunks_exact_mut(width.max(1));
            let _guard = self.brief()?;
            for (row, &i) in rows.zip(index.as_slice()) {
                // SAFETY: `i` is below the number of rows, `row` is as long as a row,
                // and the guard excludes plain writers.
                unsafe { moves::load_row(start.add(i as usize * width), row) };
            }
            out.into()
        }))
    }
}

/// What to report when a lock is refused that was asked for in some mode.
#[cold]
pub(super) fn refusal(tables: &[&Table], refused: Refused, mode: Mode) -> Error {
    let (Refused::Own(k) | Refused::Deadlock(k) | Refused::Trained(k)) = refused;
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
            "{label} is in use by this thread or the very call that this code runs in, which would \
             wait for itself: change the parameter when that has ended"
        ),
        (Refused::Deadlock(_), _) => format!(
            "{label} is in use by a thread that waits for what this call holds, so that neither \
             could go on: read and change parameters outside of programs' own functions, or in \
             one thread at a time"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::zeros(&Type::new(DType::F32, &[2, 3]), None).unwrap()
    }

    fn is_state<T>(result: Result<T>) -> bool {
        matches!(result, Err(Error::State(_)))
    }

    #[test]
    fn who_may_not_change_a_table_is_told_without_waiting() {
        let table = table();
        let training = Table::begin_training(std::iter::once(&table)).unwrap();
        for alone in [false, true] {
            // The lock of the epoch is held by this very thread, so to wait would be for ever.
            let _epoch = training.run(alone).unwrap();
            assert!(is_state(table.exclusive()));
            assert!(is_state(Table::begin_training(std::iter::once(&table))));
        }
        drop(training);
        table.exclusive().unwrap().slice::<f32>()[0] = 1.0;
        assert!(Table::begin_training(std::iter::once(&table)).is_ok());
    }

    #[test]
    fn no_thread_waits_for_itself() {
        let (table, other) = (table(), table());
        let both = || [&table, &other].into_iter();
        let index = Dense::from(vec![1u32]);
        {
            let _plain = table.exclusive().unwrap();
            assert!(is_state(table.try_read()));
            assert!(is_state(table.read_rows(&index)));
            assert!(is_state(table.is_finite()));
            assert!(table.summary().is_none());
            assert!(is_state(table.exclusive()));
            assert!(is_state(Table::exclusive_all(both())));
            assert!(is_state(Table::reading(both())));
            assert!(is_state(Table::begin_training(std::iter::once(&table))));
            assert!(other.try_read().is_ok());
            assert!(other.exclusive().is_ok());
        }
        {
            let _shared = Table::reading(both()).unwrap();
            assert!(table.try_read().is_ok());
            assert!(Table::reading(both()).is_ok());
            assert!(is_state(table.exclusive()));
            assert!(is_state(Table::exclusive_all(both())));
            let training = Table::begin_training(both()).unwrap();
            assert!(training.run(false).is_ok());
            assert!(is_state(training.run(true)));
        }
        assert!(table.exclusive().is_ok());
        assert!(Table::exclusive_all(both()).is_ok());
    }

    #[test]
    fn threads_that_work_for_a_run_do_not_wait_for_it() {
        let table = table();
        let _plain = table.exclusive().unwrap();
        let membership = crate::table::lock::Membership::of_this_thread();
        std::thread::scope(|scope| {
            let part = scope.spawn(|| membership.join(|| is_state(table.try_read())));
            assert!(part.join().unwrap());
        });
    }
}
