//! The specializations of a Python function, or of several of one code object.
//!
//! The list changes by being replaced, so that a call goes through it without a lock. Only one thread
//! at a time makes a specialization for a table; others wait without the interpreter's lock, and look
//! again. A thread that makes one waits for nobody, so that no two can wait for each other.
//!
//! The mutexes of a table are locked with the interpreter's lock held, while no Python code runs: none is
//! locked by another thread when the process forks. That of [`Done`] is locked without it by those who
//! wait; a forked child finds by the number of forks that it has nothing to wait for, and leaves it alone.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;

use super::specialization::PySpecialization;
use crate::interrupt;
use crate::process;
use crate::python::variables::collect::locked;

/// What a table holds; a call has its own reference to it.
pub(super) type Entries = Arc<Vec<Py<PySpecialization>>>;

/// Set when a thread is done with making a specialization.
#[derive(Default)]
struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    fn set(&self) {
        *locked(&self.is_done) = true;
        self.changed.notify_all();
    }

    /// Waits for so long.
    fn wait(&self, slice: Duration) {
        let is_done = locked(&self.is_done);
        if !*is_done {
            let _ = self.changed.wait_timeout(is_done, slice);
        }
    }
}

/// Who makes a specialization.
struct Maker {
    thread: ThreadId,
    forks: u32,
    done: Arc<Done>,
}

/// Longest wait for another thread, which may itself wait for what this one holds.
const LONGEST: Duration = Duration::from_secs(10);

thread_local! {
    /// How many specializations this thread is making, one within the other.
    static MAKING: Cell<u32> = const { Cell::new(0) };
}

/// The specializations of a function, ``limit`` at most: then the one that was not used for longest
/// goes. Functions of one code object may share a table. Raises ValueError for a limit of 0.
#[pyclass(
    name = "SpecializationTable",
    module = "wyrmling._core",
    frozen,
    weakref
)]
pub(super) struct PySpecializationTable {
    limit: usize,
    entries: Mutex<Entries>,
    maker: Mutex<Option<Maker>>,
    /// Counts uses.
    clock: AtomicU64,
    /// Where the last call found its own.
    last: AtomicUsize,
    /// Whether nothing is to be added any more.
    closed: AtomicBool,
}

/// The right to make a specialization, until it is dropped.
pub(super) struct Turn<'t> {
    table: &'t PySpecializationTable,
    /// Whether others wait for it.
    is_maker: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        MAKING.set(MAKING.get() - 1);
        if !self.is_maker {
            return;
        }
        let maker = locked(&self.table.maker).take();
        // In a forked child nobody waits, and a thread that is not there may have the mutex.
        if let Some(maker) = maker.filter(|maker| maker.forks == process::forks()) {
            maker.done.set();
        }
    }
}

impl PySpecializationTable {
    /// What there is now, and where to look first.
    #[inline]
    pub(super) fn entries(&self) -> (Entries, usize) {
        (Arc::clone(&locked(&self.entries)), self.last.load(Relaxed))
    }

    /// Whether nothing is to be added any more.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Counts a use.
    #[inline]
    pub(super) fn use_at(&self, place: usize, entry: &PySpecialization) {
        self.last.store(place, Relaxed);
        let now = self.clock.load(Relaxed) + 1;
        self.clock.store(now, Relaxed);
        entry.used.store(now, Relaxed);
    }

    /// The right to make a specialization; `None` when another thread has made one meanwhile. Who has
    /// waited for [`LONGEST`] has the right too, so that a compilation may then be done twice.
    ///
    /// # Errors
    /// What a handler of signals raised.
    pub(super) fn turn(&self) -> PyResult<Option<Turn<'_>>> {
        let start = Instant::now();
        let (me, forks) = (thread::current().id(), process::forks());
        let mut maker = locked(&self.maker);
        let others = maker
            .as_ref()
            .filter(|m| m.thread != me && m.forks == forks);
        if let Some(other) = others
            && MAKING.get() == 0
        {
            let done = Arc::clone(&other.done);
            drop(maker);
            loop {
                interrupt::wait(&|slice| done.wait(slice))?;
                if *locked(&done.is_done) {
                    return Ok(None);
                }
                if start.elapsed() > LONGEST {
                    break;
                }
            }
            maker = locked(&self.maker);
        }
        let is_maker = maker.as_ref().is_none_or(|m| m.forks != forks);
        if is_maker {
            *maker = Some(Maker {
                thread: me,
                forks,
                done: Arc::default(),
            });
        }
        MAKING.set(MAKING.get() + 1);
        Ok(Some(Turn {
            table: self,
            is_maker,
        }))
    }

    /// Adds a specialization.
    pub(super) fn add(&self, new: &Bound<'_, PySpecialization>) {
        let py = new.py();
        let (old, _) = self.entries();
        let mut entries: Vec<Py<PySpecialization>> = old
            .iter()
            .filter(|entry| !entry.get().is_dead(py) && !entry.is(new))
            .map(|entry| entry.clone_ref(py))
            .collect();
        while entries.len() >= self.limit {
            let uses = entries.iter().enumerate();
            let oldest = uses.min_by_key(|(_, entry)| entry.get().used.load(Relaxed));
            let Some((place, _)) = oldest else { break };
            entries.remove(place);
        }
        entries.push(new.clone().unbind());
        self.use_at(entries.len() - 1, new.get());
        let replaced = std::mem::replace(&mut *locked(&self.entries), Arc::new(entries));
        // What goes may run code of the user's, so nothing is locked.
        drop((old, replaced));
    }
}

#[pymethods]
impl PySpecializationTable {
    #[new]
    #[pyo3(signature = (limit=16))]
    fn create(limit: usize) -> PyResult<Self> {
        match limit {
            0 => Err(PyValueError::new_err("limit: expected 1 or more, got 0")),
            _ => Ok(PySpecializationTable {
                limit,
                entries: Mutex::default(),
                maker: Mutex::new(None),
                clock: AtomicU64::new(0),
                last: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// The specializations, in the order in which they were made.
    #[getter(entries)]
    fn listed(&self, py: Python<'_>) -> Vec<Py<PySpecialization>> {
        let (entries, _) = self.entries();
        entries.iter().map(|entry| entry.clone_ref(py)).collect()
    }

    /// Forgets all of them.
    fn clear(&self) {
        let old = std::mem::take(&mut *locked(&self.entries));
        drop(old);
    }

    /// From now on dispatchers ask for no more.
    fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    fn __len__(&self) -> usize {
        locked(&self.entries).len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        locked(&self.entries)
            .iter()
            .try_for_each(|entry| visit.call(entry))
    }

    fn __clear__(&self) {
        self.clear();
    }
}
