//! Forks of the process.
//!
//! A forked child has the memory of its parent and one thread, the one that forked. A lock that
//! another thread held at that moment would stay locked in the child for ever, and so would any
//! record of who holds what. Hence
//!
//! - [`Mutex`] is a mutex that nobody holds while the process forks: `before_fork` waits until
//!   all critical sections have ended and lets none begin. They must be short, must not nest and
//!   must not run code of the caller's;
//! - [`forks`] counts the forks that led to this process, so that a record can be told to be of
//!   threads that are gone. [`crate::table::lock`] uses it.
//!
//! Limits: forks are announced by the binding to Python (`os.fork`, and `multiprocessing`, which
//! uses it). A child forked in another way must not use the tables of other threads.

#[cfg(feature = "python")]
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
#[cfg(feature = "python")]
use std::sync::RwLockWriteGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{self, PoisonError, RwLock, RwLockReadGuard};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// How many forks led to this process.
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Read by every critical section, written by a fork.
static GATE: RwLock<()> = RwLock::new(());

/// A mutex that is free when the process forks. See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// What a [`Mutex`] guards, while it is locked.
pub(crate) struct Guard<'a, T> {
    inner: sync::MutexGuard<'a, T>,
    _gate: RwLockReadGuard<'static, ()>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits for whoever has it. What a thread left behind that panicked is taken as it is:
    /// critical sections keep their data whole at all times.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let gate = GATE.read().unwrap_or_else(PoisonError::into_inner);
        Guard {
            inner: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            _gate: gate,
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

#[cfg(feature = "python")]
thread_local! {
    /// Kept from `before_fork` to `after_fork` by the thread that forks.
    static HELD: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Waits until no critical section is under way, and lets none begin until `after_fork`.
#[cfg(feature = "python")]
pub(crate) fn before_fork() {
    let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    HELD.set(Some(gate));
}

/// Lets critical sections begin again, in parent and child; the child counts the fork.
#[cfg(feature = "python")]
pub(crate) fn after_fork(is_child: bool) {
    if is_child {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    HELD.take();
}
