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
//! A table is as large as the caller asks and starts as zeroed pages that take no
//! memory until they are written.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use super::moves;
use crate::array::{
    Array, DType, Dense, Element, Number, Shape, Slice, Summary, Type, Typed, show_shape, size,
    with_real,
};
use crate::error::{Error, Result};
use crate::rules::check_indices;

/// Alignment of a table's memory: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// Counts every change of any leaf or table, so that "has anything changed?" is one
/// comparison.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// The current value of the change counter.
#[inline]
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// Records a change and returns its number.
pub(crate) fn record_change() -> u64 {
    CHANGES.fetch_add(1, Ordering::AcqRel) + 1
}

/// A number that no other leaf or table of this process has.
pub(crate) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Zeroed, aligned memory.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: `Memory` owns its block and hands out nothing but a raw pointer; every use
// of that pointer states how it is synchronised.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn zeroed(bytes: usize) -> Result<Self> {
        let refuse = || Error::Memory(format!("a table of {bytes} bytes cannot be allocated"));
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| refuse())?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(refuse)?;
        Ok(Memory { start, layout })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// A parameter's numbers. See the [module documentation](self).
#[derive(Debug)]
pub struct Table {
    id: u64,
    name: Option<String>,
    ty: Type,
    memory: Memory,
    version: AtomicU64,
    /// Read guard: rows may be moved. Write guard: plain access.
    lock: RwLock<()>,
    training: AtomicBool,
    /// Whether one worker trains it for an epoch, without sharing.
    alone: AtomicBool,
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
        let count = crate::array::element_count(&ty.shape)?;
        Ok(Table {
            id: new_id(),
            name,
            ty: ty.clone(),
            memory: Memory::zeroed(count * ty.dtype.size())?,
            version: AtomicU64::new(changes()),
            lock: RwLock::new(()),
            training: AtomicBool::new(false),
            alone: AtomicBool::new(false),
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

    /// Records that the numbers changed.
    pub(crate) fn touch(&self) {
        self.version.store(record_change(), Ordering::Release);
    }

    /// Number of rows: the length of the first axis, 1 for a single number.
    pub fn rows(&self) -> usize {
        self.ty.shape.first().copied().unwrap_or(1)
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        size(self.ty.shape.get(1..).unwrap_or_default())
    }

    /// The first number. Reading and writing through it follows the rules of
    /// [`super::moves`] unless the caller holds [`Table::exclusive`].
    pub(crate) fn pointer<T: Element>(&self) -> *mut T {
        assert_eq!(T::DTYPE, self.ty.dtype, "a table has one element type");
        self.memory.start.as_ptr().cast()
    }

    /// Where the memory starts, for prefetching.
    pub(crate) fn address(&self) -> *const u8 {
        self.memory.start.as_ptr()
    }

    /// Waits until nobody has plain access and keeps it that way: rows may be moved out.
    pub(crate) fn read_lock(&self) -> RwLockReadGuard<'_, ()> {
        // The guarded value is (), which a panic elsewhere cannot have broken.
        self.lock.read().unwrap_or_else(|e| e.into_inner())
    }

    /// As [`Table::read_lock`], but waits for brief access only.
    ///
    /// # Errors
    /// [`Error::State`] while one worker trains the table, which lasts for an epoch.
    fn brief_lock(&self) -> Result<RwLockReadGuard<'_, ()>> {
        loop {
            match self.lock.try_read() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(e)) => return Ok(e.into_inner()),
                Err(TryLockError::WouldBlock) if self.alone.load(Ordering::Acquire) => {
                    return Err(Error::State(format!(
                        "{} is being trained by one worker, and graphs cannot read it until the \
                         epoch ends; its value can be read after that wait, and with more workers \
                         nobody waits",
                        self.label()
                    )));
                }
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().unwrap_or_else(|e| e.into_inner())
    }

    /// A copy of all numbers. Waits while another thread trains exclusively.
    ///
    /// # Panics
    /// If there is not the memory; see [`Table::try_read`].
    pub fn read(&self) -> Array {
        self.try_read().unwrap_or_else(|e| panic!("{e}"))
    }

    /// A copy of all numbers. Waits while another thread trains exclusively.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub fn try_read(&self) -> Result<Array> {
        self.copy(&self.read_lock())
    }

    /// A copy of all numbers, for a graph.
    ///
    /// # Errors
    /// [`Error::State`] while one worker trains the table, [`Error::Memory`] if there is not the
    /// memory.
    pub(crate) fn read_briefly(&self) -> Result<Array> {
        self.copy(&self.brief_lock()?)
    }

    fn copy(&self, _guard: &RwLockReadGuard<'_, ()>) -> Result<Array> {
        Ok(with_real!(self.ty.dtype, T => {
            let mut out = Dense::<T>::zeros(&self.ty.shape)?;
            // SAFETY: the table holds as many numbers of type `T` as its shape says, and the
            // read guard, which every caller has of this table, excludes plain writers.
            unsafe { moves::load_row(self.pointer::<T>(), out.make_mut()?) };
            out.into()
        }))
    }

    /// Whether `f` holds for all numbers, which it gets piece by piece and in order.
    fn all(&self, _guard: &RwLockReadGuard<'_, ()>, mut f: impl FnMut(Slice<'_>) -> bool) -> bool {
        const PIECE: usize = 4096;
        with_real!(self.ty.dtype, T => {
            let mut piece = [T::default(); PIECE];
            let n = self.ty.size();
            (0..n).step_by(PIECE).all(|at| {
                let piece = &mut piece[..PIECE.min(n - at)];
                // SAFETY: `at` and as many numbers as `piece` has are in bounds, and the read
                // guard, which every caller has of this table, excludes plain writers.
                unsafe { moves::load_row(self.pointer::<T>().add(at), piece) };
                f(T::tag(piece))
            })
        })
    }

    /// Whether every number is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.all(
            &self.read_lock(),
            |piece| with_real!(self.ty.dtype, T => T::slice(piece).iter().all(|x| x.is_finite())),
        )
    }

    /// The first numbers and the range of all.
    ///
    /// # Errors
    /// [`Error::State`] while one worker trains the table.
    pub(crate) fn summary(&self) -> Result<Summary> {
        let mut summary = Summary::default();
        self.all(&self.brief_lock()?, |piece| {
            summary.add(piece);
            true
        });
        Ok(summary)
    }

    /// A copy of some rows, one after the other, shaped `index.shape + row shape`.
    ///
    /// # Errors
    /// [`Error::Index`] if an index is out of range, [`Error::State`] while one worker trains the
    /// table, [`Error::Memory`] if there is not the memory.
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
        let _guard = self.brief_lock()?;
        Ok(with_real!(self.ty.dtype, T => {
            let mut out = Dense::<T>::zeros(&shape)?;
            let start = self.pointer::<T>();
            let rows = out.make_mut()?.chunks_exact_mut(width.max(1));
            for (row, &i) in rows.zip(index.as_slice()) {
                // SAFETY: `i` is below the number of rows, `row` is as long as a row,
                // and the read guard excludes plain writers.
                unsafe { moves::load_row(start.add(i as usize * width), row) };
            }
            out.into()
        }))
    }

    /// Replaces all numbers.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Type`] or [`Error::NotFinite`] if `value` does not fit,
    /// [`Error::State`] if the table is being trained. Nothing is changed then.
    pub fn write(&self, value: &Array) -> Result<()> {
        if value.shape() != &self.ty.shape[..] {
            return Err(Error::Shape(format!(
                "{}: expected shape {}, got {}",
                self.label(),
                show_shape(&self.ty.shape),
                show_shape(value.shape())
            )));
        }
        if value.dtype() != self.ty.dtype {
            return Err(Error::Type(format!(
                "{}: expected {}, got {}",
                self.label(),
                self.ty.dtype,
                value.dtype()
            )));
        }
        if !value.is_finite() {
            return Err(Error::NotFinite(format!(
                "{}: the value holds NaN or infinity",
                self.label()
            )));
        }
        let mut access = self.exclusive()?;
        with_real!(self.ty.dtype, T => {
            access.slice::<T>().copy_from_slice(value.view().real::<T>());
        });
        Ok(())
    }

    /// Waits until nobody else uses the table and gives plain access to it. The change
    /// is recorded when the access ends.
    ///
    /// # Errors
    /// [`Error::State`] if the table is being trained.
    pub fn exclusive(&self) -> Result<Exclusive<'_>> {
        let check = || match self.training.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::State(format!(
                "{} is being trained and cannot be changed until that ends",
                self.label()
            ))),
        };
        // First without the lock: nobody is to wait for an epoch, or to make readers wait
        // behind them, only to be refused.
        check()?;
        let guard = self.write_lock();
        check()?;
        Ok(Exclusive {
            table: self,
            _guard: guard,
        })
    }

    /// Waits until nobody has plain access and gives access by moves, beside others.
    ///
    /// # Errors
    /// [`Error::State`] if the table is not being trained.
    pub(crate) fn beside(&self) -> Result<RwLockReadGuard<'_, ()>> {
        let guard = self.read_lock();
        if self.training.load(Ordering::Acquire) {
            return Ok(guard);
        }
        Err(Error::State(format!(
            "{} is not being trained",
            self.label()
        )))
    }

    /// Marks the table as being trained, so that nobody else changes it.
    ///
    /// # Errors
    /// [`Error::State`] if it is being trained already.
    pub(crate) fn begin_training(&self) -> Result<Training<'_>> {
        if self.training.swap(true, Ordering::AcqRel) {
            return Err(Error::State(format!(
                "{} is already being trained",
                self.label()
            )));
        }
        let training = Training { table: self };
        // Whoever got plain access before ends it first.
        drop(self.write_lock());
        Ok(training)
    }
}

/// Plain access to a table.
pub struct Exclusive<'a> {
    table: &'a Table,
    _guard: RwLockWriteGuard<'a, ()>,
}

impl Exclusive<'_> {
    /// All numbers, in C order.
    ///
    /// # Panics
    /// If `T` is not the table's element type.
    pub fn slice<T: Number>(&mut self) -> &mut [T] {
        let n = self.table.ty.size();
        // SAFETY: the table holds `n` initialised numbers of type `T` (`pointer` checks
        // the type). The write guard excludes every other reader and writer for as long
        // as `self` lives, and `&mut self` excludes a second slice from here.
        unsafe { std::slice::from_raw_parts_mut(self.table.pointer::<T>(), n) }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.table.touch();
    }
}

/// The right to train a table, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Training<'a> {
    table: &'a Table,
}

/// A lock held while workers run.
pub(crate) struct Running<'a> {
    table: &'a Table,
    _guard: Guard<'a>,
}

enum Guard<'a> {
    /// One worker, plain access.
    One { _guard: RwLockWriteGuard<'a, ()> },
    /// Many workers, racing moves.
    Many { _guard: RwLockReadGuard<'a, ()> },
}

impl<'a> Training<'a> {
    /// Locks the table for one stretch of work: alone, or beside other workers and
    /// readers.
    pub(crate) fn run(&self, alone: bool) -> Running<'a> {
        let table = self.table;
        let guard = if alone {
            // Before the lock, so that nobody begins to wait for it.
            table.alone.store(true, Ordering::Release);
            Guard::One {
                _guard: table.write_lock(),
            }
        } else {
            Guard::Many {
                _guard: table.read_lock(),
            }
        };
        Running {
            table,
            _guard: guard,
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.table.alone.store(false, Ordering::Release);
    }
}

impl Drop for Training<'_> {
    fn drop(&mut self) {
        self.table.touch();
        self.table.training.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_change_a_table_is_told_without_waiting() {
        let table = Table::zeros(&Type::new(DType::F32, &[2, 3]), None).unwrap();
        let training = table.begin_training().unwrap();
        for alone in [false, true] {
            // The lock of the epoch is held by this very thread, so to wait would be for ever.
            let _epoch = training.run(alone);
            assert!(matches!(table.exclusive(), Err(Error::State(_))));
            assert!(matches!(table.begin_training(), Err(Error::State(_))));
        }
        drop(training);
        table.exclusive().unwrap().slice::<f32>()[0] = 1.0;
        assert!(table.begin_training().is_ok());
    }
}
