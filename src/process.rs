//! Forks of the process.
//!
//! A forked child has the memory of its parent and one thread, the one that forked. A lock that
//! another thread held at that moment would stay locked in the child for ever, and so would any
//! record of who holds what. Hence
//!
//! - [`Mutex`] is a mutex that nobody holds while the process forks: `before_fork` waits until
//!   all critical sections have ended and lets none begin. They must be short, must not nest and
//!   must not run code of the caller's;
//! - [`QuickMutex`] can be taken over in a child if a thread of the parent held it at the fork; its
//!   value is then reset to the default, since that thread may have left it half changed. Use it
//!   for data that may be lost, where the two locks of a [`Mutex`] cost too much;
//! - [`forks`] counts the forks that led to this process, so that a record can be told to be of
//!   threads that are gone. [`crate::table::lock`] uses it.
//!
//! Limits: forks are announced by the binding to Python (`os.fork`, and `multiprocessing`, which
//! uses it). A child forked in another way must not use the tables of other threads.

#[cfg(feature = "python")]
use std::cell::RefCell;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
#[cfg(feature = "python")]
use std::sync::RwLockWriteGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{self, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

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

/// A mutex of one atomic operation. See the [module documentation](self). Critical sections are as
/// short as those of a [`Mutex`], so that who waits does not sleep in the system's queues.
#[derive(Debug, Default)]
pub(crate) struct QuickMutex<T> {
    /// [`FREE`], or one more than the number of forks that led to the process of the thread which
    /// holds it.
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

const FREE: u32 = 0;

// SAFETY: `value` is reached through a guard alone, by `&mut self` or when it is dropped, and at
// most one guard is there at a time: it exists from the moment that its thread has changed
// `holder` by compare-and-exchange, from `FREE` or from a number that no thread of this process
// has, to the moment that it sets `FREE`. So threads have the value in turn, with an acquiring
// operation after a releasing one, as if it were sent, which `T: Send` allows.
unsafe impl<T: Send> Sync for QuickMutex<T> {}

/// What a [`QuickMutex`] guards, while it is locked. It stays in its thread, so that `T: Send` is all
/// that it needs.
pub(crate) struct QuickGuard<'a, T> {
    mutex: &'a QuickMutex<T>,
    _in_this_thread: PhantomData<*const T>,
}

impl<T: Default> QuickMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        QuickMutex {
            holder: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for whoever has it, in this process. What a thread left behind that panicked is taken
    /// as it is.
    #[inline]
    pub(crate) fn lock(&self) -> QuickGuard<'_, T> {
        self.lock_in(forks())
    }

    #[inline]
    fn lock_in(&self, forks: u32) -> QuickGuard<'_, T> {
        if !self.takes(FREE, forks) {
            self.wait(forks);
        }
        QuickGuard {
            mutex: self,
            _in_this_thread: PhantomData,
        }
    }

    /// Makes this thread the holder, if that is still `from`.
    #[inline]
    fn takes(&self, from: u32, forks: u32) -> bool {
        self.holder
            .compare_exchange(from, forks + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// As [`lock_in`](Self::lock_in), of one that somebody has.
    #[cold]
    fn wait(&self, forks: u32) {
        /// After so many looks the holder is not running: the processor is left to it.
        const LOOKS: u32 = 100;
        for look in 0_u32.. {
            let holder = self.holder.load(Ordering::Relaxed);
            if holder == FREE && self.takes(FREE, forks) {
                return;
            }
            if holder != FREE && holder != forks + 1 && self.takes(holder, forks) {
                // SAFETY: this thread is the holder now, so nobody else reaches the value. The old
                // one is not dropped: the thread that had it, which is not there, may have left it
                // half changed.
                unsafe { self.value.get().write(T::default()) };
                return;
            }
            match look < LOOKS {
                true => thread::yield_now(),
                false => thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

impl<T> Deref for QuickGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: while this guard lives no other does, as is said where `QuickMutex` is `Sync`.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for QuickGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: while this guard lives no other does, as is said where `QuickMutex` is `Sync`, and
        // this one is borrowed mutably, so nobody has a reference by `deref`.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for QuickGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.holder.store(FREE, Ordering::Release);
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

/// Whether this thread is between `before_fork` and `after_fork`.
#[cfg(feature = "python")]
pub(crate) fn is_forking() -> bool {
    HELD.with_borrow(Option::is_some)
}

/// Lets critical sections begin again, in parent and child; the child counts the fork.
#[cfg(feature = "python")]
pub(crate) fn after_fork(is_child: bool) {
    if is_child {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    HELD.take();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_what_a_quick_mutex_guards() {
        let counts = QuickMutex::new((0_u64, 0_u64));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut counts = counts.lock();
                        assert_eq!(counts.0, counts.1);
                        counts.0 += 1;
                        counts.1 += 1;
                    }
                });
            }
        });
        assert_eq!(*counts.lock(), (80_000, 80_000));
    }

    #[test]
    fn a_panic_leaves_a_quick_mutex_free() {
        let text = QuickMutex::new(String::new());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            text.lock().push('a');
            let _held = text.lock();
            panic!("on purpose");
        }));
        assert!(outcome.is_err());
        assert_eq!(*text.lock(), "a");
    }

    #[test]
    fn a_child_takes_over_what_a_thread_of_its_parent_held() {
        let number = QuickMutex::new(Some(1));
        let parent = forks();
        // The thread that held it is not there to give it back.
        std::mem::forget(number.lock_in(parent));
        assert_eq!(number.lock_in(parent + 1).replace(2), None);
        assert_eq!(*number.lock_in(parent + 1), Some(2));
        // What was free at the fork is as it was.
        assert_eq!(*number.lock_in(parent + 2), Some(2));
    }
}
