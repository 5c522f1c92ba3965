//! Long calls: the one way by which work that takes a while enters Rust, and waits.
//!
//! The work runs in a thread of its own, without the interpreter's lock, so that other
//! Python threads go on. The calling thread looks for Ctrl-C every [`POLL_INTERVAL`]; when there was
//! one it asks the work to stop, waits for that, and raises what the signal handler raised.
//! Python code that the work depends on (a callback) runs in the calling thread, where it
//! finds the caller's own graphs and thread-local state.
//!
//! The thread of the work is a part of what its caller does: it works for the same runs
//! ([`crate::table::lock`]), and ends when the caller's own work is asked to.
//!
//! [`attend_once`] is how everything else in the crate waits: for a table, or for another thread.
//!
//! Work that owns all that it needs ([`abandonable_long_call`]) is abandoned if it does not stop soon, as
//! one huge product within a step of training does not: it goes on to where it looks, and lets go of
//! what it has locked then. Who begins another such call waits for that ([`wait_for_abandoned`]).
//!
//! A call costs a new thread, some 30 µs. Python delivers signals to its main thread alone:
//! Ctrl-C does not stop a long call from another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;

use super::error::raised;
use crate::error::{Error, Result};
use crate::interrupt::{self, POLL_INTERVAL, WaitOnce};
use crate::process::{self, Mutex};
use crate::python::interop::once::intern;
use crate::table::lock::Membership;

/// Waits once without the interpreter's lock, and runs the handlers of signals. A thread of Python's
/// that does not hold the lock takes it for a moment. One of ours that runs no Python code leaves the lock
/// alone: the handlers run in the main thread, which asks the work to stop, and to become a thread of
/// Python's takes a lock of CPython that a fork at that moment leaves locked in the child (CPython
/// 3.11 resets it too late). See [`interrupt::wait`].
///
/// # Errors
/// What a signal handler raised.
pub(in crate::python) fn attend_once(slice: WaitOnce<'_>) -> Result<()> {
    // SAFETY: any thread may call it at any time; it reads a thread-local pointer, which is null in a
    // thread that Python does not know, and when there is no interpreter.
    let runs_python = !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
    let attend = |py: Python<'_>| {
        py.detach(|| slice(POLL_INTERVAL));
        py.check_signals().map_err(raised)
    };
    let seen = runs_python.then(|| Python::try_attach(attend)).flatten();
    // Python does not know this thread, or the interpreter shuts down.
    seen.unwrap_or_else(|| {
        slice(POLL_INTERVAL);
        Ok(())
    })
}

/// Python code that waits for the calling thread.
type PythonCall = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The thread that called, as the work sees it.
pub(in crate::python) struct Caller {
    stop: Arc<AtomicBool>,
    requests: Sender<PythonCall>,
}

impl Caller {
    /// Set when the work should end, with [`Error::Interrupted`].
    pub(in crate::python) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Runs `f` in the calling thread and waits for what it returns.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `f` raises. The work should end; its caller gets what `f`
    /// raised.
    pub(in crate::python) fn python<R: Send + 'static>(
        &self,
        f: impl FnOnce(Python<'_>) -> PyResult<R> + Send + 'static,
    ) -> Result<R> {
        let (reply, answer) = mpsc::sync_channel(1);
        let request: PythonCall = Box::new(move |py| {
            // The work waits for the answer, unless it has panicked.
            let _ = reply.send(f(py)?);
            Ok(())
        });
        // If `f` raises, its end of the channel is dropped without an answer.
        let asked = self.requests.send(request).is_ok();
        let answer = asked.then(|| answer.recv().ok()).flatten();
        answer.ok_or(Error::Interrupted)
    }
}

/// Runs `work` without the interpreter's lock. See the [module documentation](self).
///
/// # Errors
/// What a signal handler or a request of the work raised, else the error of the work.
pub(in crate::python) fn long_call<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Caller) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    attend(py, &mut |caller| {
        result = work.take().map(|work| work(caller));
    })?;
    Ok(result.unwrap_or_else(|| Err(panicked()))?)
}

/// What is reported of work that ended without a result.
fn panicked() -> Error {
    Error::State("this call met a bug of wyrmling; please report it".into())
}

/// Runs `work` in another thread, and attends to its requests and to signals until it has ended
/// or panicked. It is a `dyn`, for all of this to be compiled once.
///
/// # Errors
/// What a signal handler or a request raised.
fn attend(py: Python<'_>, work: &mut (dyn FnMut(&Caller) + Send)) -> PyResult<()> {
    let membership = &Membership::of_this_thread();
    py.detach(|| {
        thread::scope(|scope| {
            let (caller, listener) = connect();
            let worker = thread::Builder::new()
                .name("wyrmling".into())
                .spawn_scoped(scope, move || {
                    membership.join(|| interrupt::with_stop_flag(caller.stop(), || work(&caller)));
                })
                .map_err(interrupt::no_thread(1))?;
            let heard = listener.listen(None);
            // A panic is seen by what the work has left undone.
            let _ = worker.join();
            heard.map(|_| ())
        })
    })
}

/// From so many elements on work on each of them may take 20 ms.
const LONG_CONVERSION: usize = 1 << 20;

/// Runs `work` on so many elements: in a thread that Ctrl-C abandons, if they are many. It calls
/// no Python, and ends by itself.
///
/// # Errors
/// As [`interrupt::run_abandonable`], and those of the work.
pub(in crate::python) fn patiently<R: Send + 'static>(
    elements: usize,
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    match elements < LONG_CONVERSION {
        true => work(),
        false => interrupt::run_abandonable(work)?,
    }
}

/// How long work that was asked to stop may take to do so before it is abandoned.
const GRACE: Duration = Duration::from_millis(100);

/// Abandoned work: how many forks led to its process, and what it sets when it has ended.
type Abandoned = (u32, Arc<AtomicBool>);

static ABANDONED: Mutex<Vec<Abandoned>> = Mutex::new(Vec::new());

/// Waits until all abandoned work has ended.
///
/// # Errors
/// What a signal handler raised.
pub(in crate::python) fn wait_for_abandoned() -> Result<()> {
    let is_under_way = || {
        let mut abandoned = ABANDONED.lock();
        // A forked child does not have the threads of its parent.
        abandoned
            .retain(|(forks, ended)| *forks == process::forks() && !ended.load(Ordering::Acquire));
        !abandoned.is_empty()
    };
    while is_under_way() {
        interrupt::wait(&thread::sleep)?;
    }
    Ok(())
}

/// As [`long_call`], of work that owns what it needs. With `may_abandon` it is abandoned if it does
/// not stop soon when it is asked to; it must not call Python then but by the caller, for it may go on
/// when the interpreter is gone.
///
/// # Errors
/// As [`long_call`], and [`Error::State`] in a child that Python code forked meanwhile, where the
/// work is not.
pub(in crate::python) fn abandonable_long_call<T: Send + 'static>(
    py: Python<'_>,
    may_abandon: bool,
    work: impl FnOnce(&Caller) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    attend_or_abandon(
        py,
        may_abandon,
        Box::new(move |caller| {
            let found = work(caller);
            *place.lock() = Some(found);
        }),
    )?;
    let found = result.lock().take();
    Ok(found.unwrap_or_else(|| Err(panicked()))?)
}

/// As [`attend`], of work that owns what it needs, and may be abandoned.
///
/// # Errors
/// As [`abandonable_long_call`], but for those of the work.
fn attend_or_abandon(
    py: Python<'_>,
    may_abandon: bool,
    work: Box<dyn FnOnce(&Caller) + Send>,
) -> PyResult<()> {
    let membership = Membership::of_this_thread();
    let forks = process::forks();
    let ended = Arc::new(AtomicBool::new(false));
    let ended_too = Arc::clone(&ended);
    let (caller, listener) = connect();
    let worker = thread::Builder::new().name("wyrmling".into());
    let worker = worker.spawn(move || {
        struct Ended(Arc<AtomicBool>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let _ended = Ended(ended_too);
        membership.join(|| interrupt::with_stop_flag(caller.stop(), || work(&caller)));
    });
    let worker = worker.map_err(interrupt::no_thread(1))?;
    let heard = py.detach(move || listener.listen(may_abandon.then_some(GRACE)));
    if process::forks() != forks {
        return Err(heard.err().unwrap_or_else(|| forked().into()));
    }
    if let Ok(true) = heard {
        // A panic is seen by what the work has left undone.
        let _ = py.detach(move || worker.join());
        return Ok(());
    }
    ABANDONED.lock().push((forks, ended));
    Err(heard.err().unwrap_or_else(|| Error::Interrupted.into()))
}

/// What is reported in a child that was forked by a callback or a handler of signals.
fn forked() -> Error {
    Error::State(
        "the process was forked within this call, which goes on in the parent alone; end the child \
         with os._exit, or fork before the call"
            .into(),
    )
}

/// To be called when Python code has returned to a thread of this module's: in a child that the code
/// has forked there is nothing to return to, for the thread that called is not there. It ends, and
/// says so.
pub(in crate::python) fn end_in_child(py: Python<'_>, forks_before: u32) -> PyResult<()> {
    if process::forks() == forks_before || !interrupt::is_delegated() {
        return Ok(());
    }
    PyErr::from(forked()).display(py);
    let os = py.import(intern!(py, "os"))?;
    os.call_method1(intern!(py, "_exit"), (1,)).map(drop)
}

/// The two ends between work and the thread that called.
fn connect() -> (Caller, Listener) {
    let stop = Arc::new(AtomicBool::new(false));
    let (requests, inbox) = mpsc::channel();
    let caller = Caller {
        stop: Arc::clone(&stop),
        requests,
    };
    (caller, Listener { stop, inbox })
}

/// The work, as the thread that called sees it.
struct Listener {
    stop: Arc<AtomicBool>,
    inbox: Receiver<PythonCall>,
}

impl Listener {
    /// Attends to requests and signals until the work has ended, or for so long after it was asked to
    /// stop: whether it has ended.
    ///
    /// # Errors
    /// What a signal handler or a request raised.
    fn listen(&self, grace: Option<Duration>) -> PyResult<bool> {
        let mut raised = None;
        let mut asked: Option<Instant> = None;
        let forks = process::forks();
        let has_ended = loop {
            // None when the interpreter is shutting down.
            let seen = match self.inbox.recv_timeout(POLL_INTERVAL) {
                Ok(request) => Python::try_attach(|py| {
                    request(py)?;
                    // Requests may come so often that there is no other look.
                    py.check_signals()
                }),
                Err(RecvTimeoutError::Timeout) => Python::try_attach(|py| py.check_signals()),
                Err(RecvTimeoutError::Disconnected) => break true,
            };
            if !matches!(seen, Some(Ok(()))) || interrupt::stop_requested() {
                self.stop.store(true, Ordering::Relaxed);
                asked.get_or_insert_with(Instant::now);
            }
            if let Some(Err(error)) = seen {
                raised.get_or_insert(error);
            }
            if process::forks() != forks {
                break false;
            }
            let waited = asked.map(|since| since.elapsed());
            if waited
                .zip(grace)
                .is_some_and(|(waited, grace)| waited >= grace)
            {
                break false;
            }
        };
        raised.map_or(Ok(has_ended), Err)
    }
}
