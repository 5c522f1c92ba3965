//! Interruption: stop flags for long work, and waits that let signals be handled.
//!
//! Work may have a stop flag, which its caller sets when it wants its thread back:
//! [`with_stop_flag`] installs the flag for the current thread, and [`check`] reads it. Loops that may
//! take long read it now and then and end with [`Error::Interrupted`]. Work that cannot read it, such as
//! one call into a library, runs in a helper thread that can be abandoned ([`run_abandonable`]). Work
//! that must stay in its caller's thread, such as a walk over a graph, polls for signals ([`Poller`]).
//!
//! Code that blocks waits in slices of [`POLL_INTERVAL`], through [`wait`]. Between slices the thread's
//! stop flag is read. The binding to Python registers a hook by `set_wait_hook`, which releases the
//! interpreter's lock during each slice and runs the signal handlers after it. So no thread that
//! holds that lock blocks others, and Ctrl-C ends every wait of the main thread.
//!
//! Work is abandoned in three ways. An operator ([`run_abandonable`]) owns its operands and holds no
//! lock, so nobody needs to wait for it. A step of training (`python::long_call`) holds the locks of its
//! tables: it has 100 ms to stop, and later calls wait for it. The thread that reads a pipe (`io::pipe`)
//! holds only the file.
//!
//! Limit: code stops only where it reads the flag. A call into another library runs to its end, in the
//! helper thread if it was given one.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::{process, reserve};

/// Time between two looks at the stop flag and at signals.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits once, for up to [`POLL_INTERVAL`] or until something has changed.
pub(crate) type WaitOnce<'a> = &'a (dyn Fn(Duration) + Sync);

/// Waits for one slice without the lock of a host language, and reports that language's signals.
type WaitHook = fn(WaitOnce<'_>) -> Result<()>;

static WAIT_HOOK: OnceLock<WaitHook> = OnceLock::new();

thread_local! {
    /// The stop flag of the work that this thread does, or null.
    static STOP: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Sets the function by which threads wait from now on. Only the first call has an effect.
#[cfg(feature = "python")]
pub(crate) fn set_wait_hook(hook: WaitHook) {
    let _ = WAIT_HOOK.set(hook);
}

/// Runs `work` with `stop` as this thread's stop flag.
pub(crate) fn with_stop_flag<R>(stop: &AtomicBool, work: impl FnOnce() -> R) -> R {
    struct Restore(*const AtomicBool);
    impl Drop for Restore {
        fn drop(&mut self) {
            STOP.set(self.0);
        }
    }
    let _restore = Restore(STOP.replace(stop));
    work()
}

/// Whether this thread's stop flag is set.
#[inline]
pub(crate) fn stop_requested() -> bool {
    let stop = STOP.get();
    // SAFETY: a pointer that is not null was put there by `with_stop_flag`, which borrows the flag until
    // it has put back what was there before, also when its work panics.
    !stop.is_null() && unsafe { &*stop }.load(Ordering::Relaxed)
}

/// Whether this thread works for another one: whether it has a stop flag.
#[cfg(feature = "python")]
pub(crate) fn is_delegated() -> bool {
    !STOP.get().is_null()
}

/// Fails if this thread's stop flag is set.
///
/// # Errors
/// [`Error::Interrupted`].
#[inline]
pub(crate) fn check() -> Result<()> {
    match stop_requested() {
        false => Ok(()),
        true => Err(Error::Interrupted),
    }
}

/// Waits for one slice; see the [module documentation](self).
///
/// # Errors
/// [`Error::Interrupted`] if this thread's stop flag is set, and what a signal handler raised.
pub(crate) fn wait(slice: WaitOnce<'_>) -> Result<()> {
    check()?;
    match WAIT_HOOK.get() {
        Some(hook) => hook(slice)?,
        None => slice(POLL_INTERVAL),
    }
    check()
}

/// Work, in estimated nanoseconds, between two looks of a [`Poller`] at the clock.
const STRIDE: usize = 1 << 22;

/// Polls for signals and the stop flag in a loop that stays in its caller's thread, such as one over
/// the nodes of a graph: every [`POLL_INTERVAL`], and not at all in short work, which does not even read
/// the clock. The binding to Python releases the interpreter's lock then and runs signal handlers, which
/// may do anything: no data may be half changed where a method is called.
#[derive(Debug, Default)]
pub(crate) struct Poller {
    work: usize,
    /// When signals were polled last; before that, when the clock was first read.
    last: Option<Instant>,
}

impl Poller {
    /// Counts work of about `cost` nanoseconds.
    ///
    /// # Errors
    /// [`Error::Memory`] while there is no [`reserve`], and as [`poll`].
    #[inline]
    pub(crate) fn step(&mut self, cost: usize) -> Result<()> {
        self.work = self.work.saturating_add(cost);
        match self.work < STRIDE {
            true => Ok(()),
            false => self.poll_if_due(),
        }
    }

    /// Counts work that may have taken long.
    ///
    /// # Errors
    /// [`Error::Memory`] while there is no [`reserve`], and as [`poll`].
    #[inline]
    pub(crate) fn large_step(&mut self) -> Result<()> {
        self.step(STRIDE)
    }

    /// Counts one step of a program: four of them take a look at the clock.
    ///
    /// # Errors
    /// [`Error::Memory`] while there is no [`reserve`], and as [`poll`].
    #[inline]
    pub(crate) fn program_step(&mut self) -> Result<()> {
        self.step(STRIDE / 4)
    }

    #[cold]
    fn poll_if_due(&mut self) -> Result<()> {
        self.work = 0;
        reserve::check()?;
        if !STOP.get().is_null() {
            return check();
        }
        let now = Instant::now();
        let last = *self.last.get_or_insert(now);
        if now - last < POLL_INTERVAL {
            return Ok(());
        }
        self.last = Some(now);
        poll()
    }
}

/// Reads the stop flag, or handles signals.
///
/// # Errors
/// [`Error::Interrupted`] if the stop flag is set, and what a signal handler raised.
fn poll() -> Result<()> {
    // A thread with a stop flag, or of a pool, works for another thread, which handles the signals.
    if !STOP.get().is_null() || rayon::current_thread_index().is_some() {
        return check();
    }
    match WAIT_HOOK.get() {
        Some(hook) => hook(&|_| ()),
        None => Ok(()),
    }
}

/// The error for threads that could not be started: [`Error::Memory`] if the system has no memory for
/// their stacks, else [`Error::State`].
pub(crate) fn no_thread<E: std::fmt::Display>(wanted: usize) -> impl Fn(E) -> Error {
    move |error| match reserve::ahead(1, reserve::WHOLE) {
        Ok(()) => Error::State(format!("threads: cannot start {wanted}: {error}")),
        Err(none_left) => none_left,
    }
}

/// Runs `work`, which may not read its stop flag for long, in a helper thread and waits for it. If a
/// signal handler raises, or this thread's own flag is set, the helper's flag is set and the helper is
/// abandoned: it ends by itself. `work` owns its operands for that reason. A thread costs some 30 µs.
///
/// # Errors
/// [`Error::Interrupted`] and what a signal handler raised, as soon as that is known;
/// [`Error::State`] if there can be no thread, or if the work panicked; [`Error::Memory`] if there is
/// none for a thread.
pub(crate) fn run_abandonable<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    run_boxed(Box::new(move || {
        let found = work();
        *place.lock().unwrap_or_else(|e| e.into_inner()) = Some(found);
    }))?;
    let found = result.lock().unwrap_or_else(|e| e.into_inner()).take();
    found.ok_or_else(|| Error::State("the thread of a long operation left no result".into()))
}

/// As [`run_abandonable`], compiled once for all kinds of results.
fn run_boxed(work: Box<dyn FnOnce() + Send>) -> Result<()> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::Builder::new()
        .name("wyrmling".into())
        .spawn(move || {
            with_stop_flag(&flag, work);
            // Sending fails if the caller has abandoned this thread.
            let _ = sender.send(());
        })
        .map_err(no_thread(1))?;
    let forks = process::forks();
    let receiver = Mutex::new(receiver);
    let ended = Mutex::new(None);
    loop {
        let waited = wait(&|slice| {
            let receiver = receiver.lock().unwrap_or_else(|e| e.into_inner());
            let got = match receiver.recv_timeout(slice) {
                Ok(()) => Some(Ok(())),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Err(Error::State(
                    "the thread of a long operation ended without a result".into(),
                ))),
            };
            *ended.lock().unwrap_or_else(|e| e.into_inner()) = got;
        });
        if waited.is_err() {
            stop.store(true, Ordering::Relaxed);
            waited?;
        }
        if process::forks() != forks {
            return Err(Error::State(
                "a handler of signals forked the process: the operation goes on in the parent alone"
                    .into(),
            ));
        }
        let ended = ended.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(ended) = ended {
            return ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sees_the_flag_of_its_own_thread_only() {
        let (outer, inner) = (AtomicBool::new(false), AtomicBool::new(true));
        with_stop_flag(&outer, || {
            assert_eq!(check(), Ok(()));
            assert_eq!(with_stop_flag(&inner, check), Err(Error::Interrupted));
            thread::scope(|s| {
                let other = s.spawn(|| with_stop_flag(&inner, check));
                assert_eq!(other.join().unwrap(), Err(Error::Interrupted));
            });
            assert_eq!(check(), Ok(()));
            outer.store(true, Ordering::Relaxed);
            assert_eq!(check(), Err(Error::Interrupted));
        });
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn a_caller_gets_its_thread_back_from_work_that_goes_on() {
        assert_eq!(run_abandonable(|| 7), Ok(7));
        let stop = AtomicBool::new(true);
        // The work ends when the test does.
        let (_end, work) = mpsc::channel::<()>();
        let abandoned = with_stop_flag(&stop, || run_abandonable(move || work.recv().is_err()));
        assert_eq!(abandoned, Err(Error::Interrupted));
        assert!(matches!(
            run_abandonable(|| panic!("on purpose")),
            Err::<(), _>(Error::State(_))
        ));
    }
}
