//! Interruption: work that can be asked to end, and waits during which the caller is heard.
//!
//! A flag says that the caller wants to have its thread back ([`until`] names the flag for the
//! work of a thread, [`check`] looks at it). Loops that may take long look at it now and then
//! and end with [`Error::Interrupted`]. Work that cannot look, such as one call into a library,
//! runs in a thread that is left behind ([`leave`]). What must stay in the thread of its caller, as
//! a walk over a graph must, looks for itself whether there was a signal ([`Pace`]).
//!
//! Code that blocks waits in slices of [`LOOK`], through [`wait`]. Between slices the thread's
//! flag is read, and the binding to Python, which registers itself by `attend_by`, lets the
//! interpreter go during each slice and runs the handlers of signals after it. So no thread that
//! holds the interpreter's lock blocks others, and Ctrl-C ends every wait of the main thread.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::process;

/// How long a wait lasts before it looks whether it should end.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Waits once, for up to [`LOOK`] or until something has changed.
pub(crate) type WaitOnce<'a> = &'a (dyn Fn(Duration) + Sync);

/// What lets other threads of a host language go on during a slice, and reports its signals.
type Attend = fn(WaitOnce<'_>) -> Result<()>;

static ATTEND: OnceLock<Attend> = OnceLock::new();

thread_local! {
    /// The flag of the work that this thread does, or null.
    static STOP: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Says by what function threads wait from now on. Only the first call counts.
#[cfg(feature = "python")]
pub(crate) fn attend_by(attend: Attend) {
    let _ = ATTEND.set(attend);
}

/// Does `work`, which is to end when `stop` is set.
pub(crate) fn until<R>(stop: &AtomicBool, work: impl FnOnce() -> R) -> R {
    struct Restore(*const AtomicBool);
    impl Drop for Restore {
        fn drop(&mut self) {
            STOP.set(self.0);
        }
    }
    let _restore = Restore(STOP.replace(stop));
    work()
}

/// Whether the work of this thread should end.
#[inline]
pub(crate) fn is_asked() -> bool {
    let stop = STOP.get();
    // SAFETY: a pointer that is not null was put there by `until`, which borrows the flag until
    // it has put back what was there before, also when its work panics.
    !stop.is_null() && unsafe { &*stop }.load(Ordering::Relaxed)
}

/// Whether this thread does the work of another one.
#[cfg(feature = "python")]
pub(crate) fn is_delegated() -> bool {
    !STOP.get().is_null()
}

/// Fails if the work of this thread should end.
///
/// # Errors
/// [`Error::Interrupted`].
#[inline]
pub(crate) fn check() -> Result<()> {
    match is_asked() {
        false => Ok(()),
        true => Err(Error::Interrupted),
    }
}

/// Waits once; see the [module documentation](self).
///
/// # Errors
/// [`Error::Interrupted`] if the work of this thread should end, and what a signal handler raised.
pub(crate) fn wait(slice: WaitOnce<'_>) -> Result<()> {
    check()?;
    match ATTEND.get() {
        Some(attend) => attend(slice)?,
        None => slice(LOOK),
    }
    check()
}

/// Work of about so many nanoseconds lies between two looks of a [`Pace`] at the clock.
const STRIDE: usize = 1 << 22;

/// Long work in the thread of its caller, a loop over the nodes of a graph say: every [`LOOK`] it
/// looks whether it should end. A binding lets other threads of its language go on then, and runs
/// the handlers of signals, which may do anything: nothing may be half changed at that moment.
/// Short work does not even look at the clock.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    work: usize,
    /// When it looked last, or began to look at the clock.
    last: Option<Instant>,
}

impl Pace {
    /// Counts work of about `cost` nanoseconds.
    ///
    /// # Errors
    /// As [`look`].
    #[inline]
    pub(crate) fn step(&mut self, cost: usize) -> Result<()> {
        self.work = self.work.saturating_add(cost);
        match self.work < STRIDE {
            true => Ok(()),
            false => self.long(),
        }
    }

    /// Counts work that may have taken long.
    ///
    /// # Errors
    /// As [`look`].
    #[inline]
    pub(crate) fn large_step(&mut self) -> Result<()> {
        self.step(STRIDE)
    }

    /// Counts a step of a program, of which several may pass without a look at the clock.
    ///
    /// # Errors
    /// As [`look`].
    #[inline]
    pub(crate) fn program_step(&mut self) -> Result<()> {
        self.step(STRIDE / 4)
    }

    #[cold]
    fn long(&mut self) -> Result<()> {
        self.work = 0;
        if !STOP.get().is_null() {
            return check();
        }
        let now = Instant::now();
        let last = *self.last.get_or_insert(now);
        if now - last < LOOK {
            return Ok(());
        }
        self.last = Some(now);
        look()
    }
}

/// Looks once whether the work of this thread should end.
///
/// # Errors
/// [`Error::Interrupted`] if the caller asked for it, and what a signal handler raised.
fn look() -> Result<()> {
    // Work with a flag is another thread's, which looks for signals, and so is that of a pool.
    if !STOP.get().is_null() || rayon::current_thread_index().is_some() {
        return check();
    }
    match ATTEND.get() {
        Some(attend) => attend(&|_| ()),
        None => Ok(()),
    }
}

/// Does `work`, which may not look for long whether it should end, in a thread of its own and waits for
/// it. If the caller wants its thread back, the work is left to end by itself, which it does
/// sooner if it looks at its flag now and then; it owns its operands for that reason. A thread
/// costs some 30 µs.
///
/// # Errors
/// [`Error::Interrupted`] and what a signal handler raised, as soon as that is known;
/// [`Error::State`] if there can be no thread, or if the work panicked.
pub(crate) fn leave<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    let (give, get) = mpsc::sync_channel(1);
    let stop = Arc::new(AtomicBool::new(false));
    let left = Arc::clone(&stop);
    thread::Builder::new()
        .name("wyrmling".into())
        .spawn(move || {
            // Nobody is there any more if the caller has left.
            let _ = give.send(until(&left, work));
        })
        .map_err(|e| Error::State(format!("cannot start a thread: {e}")))?;
    let forks = process::forks();
    let get = std::sync::Mutex::new(get);
    let result = std::sync::Mutex::new(None);
    loop {
        let waited = wait(&|slice| {
            let get = get.lock().unwrap_or_else(|e| e.into_inner());
            let got = match get.recv_timeout(slice) {
                Ok(value) => Some(Ok(value)),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Err(Error::State(
                    "the thread of a long operation ended without a result".into(),
                ))),
            };
            *result.lock().unwrap_or_else(|e| e.into_inner()) = got;
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
        let mut result = result.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(result) = result.take() {
            return result;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sees_the_flag_of_its_own_thread_only() {
        let (outer, inner) = (AtomicBool::new(false), AtomicBool::new(true));
        until(&outer, || {
            assert_eq!(check(), Ok(()));
            assert_eq!(until(&inner, check), Err(Error::Interrupted));
            thread::scope(|s| {
                let other = s.spawn(|| until(&inner, check));
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
        assert_eq!(leave(|| 7), Ok(7));
        let stop = AtomicBool::new(true);
        // The work ends when the test does.
        let (_end, work) = mpsc::channel::<()>();
        let left = until(&stop, || leave(move || work.recv().is_err()));
        assert_eq!(left, Err(Error::Interrupted));
        assert!(matches!(
            leave(|| panic!("on purpose")),
            Err::<(), _>(Error::State(_))
        ));
    }
}
