//! Long calls: the one way by which work that takes a while enters Rust, and waits.
//!
//! The work runs in a thread of its own, without the interpreter's lock, so that other
//! Python threads go on. The calling thread looks for Ctrl-C every [`LOOK`]; when there was
//! one it asks the work to stop, waits for that, and raises what the signal handler raised.
//! Python code that the work depends on (a callback) runs in the calling thread, where it
//! finds the caller's own graphs and thread-local state.
//!
//! The thread of the work is a part of what its caller does: it works for the same runs
//! ([`crate::table::lock`]), and ends when the caller's own work is asked to.
//!
//! [`attend_once`] is how everything else in the crate waits: for a table, or for another thread.
//!
//! A call costs a new thread, some 30 µs. Python delivers signals to its main thread alone:
//! Ctrl-C does not stop a long call from another one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use pyo3::prelude::*;

use super::error::raised;
use crate::error::{Error, Result};
use crate::interrupt::{self, LOOK, WaitOnce};
use crate::table::lock::Membership;

/// Waits once without the interpreter's lock, and runs the handlers of signals. A thread that
/// does not hold the lock takes it for a moment. See [`interrupt::wait`].
///
/// # Errors
/// What a signal handler raised.
pub(super) fn attend_once(slice: WaitOnce<'_>) -> Result<()> {
    let seen = Python::try_attach(|py| {
        py.detach(|| slice(LOOK));
        py.check_signals().map_err(raised)
    });
    // There is no interpreter, or it shuts down.
    seen.unwrap_or_else(|| {
        slice(LOOK);
        Ok(())
    })
}

/// Python code that waits for the calling thread.
type PythonCall = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The thread that called, as the work sees it.
pub(super) struct Caller<'a> {
    stop: &'a AtomicBool,
    requests: Sender<PythonCall>,
}

impl<'a> Caller<'a> {
    /// Set when the work should end, with [`Error::Interrupted`].
    pub(super) fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Runs `f` in the calling thread and waits for what it returns.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `f` raises. The work should end; its caller gets what `f`
    /// raised.
    pub(super) fn python<R: Send + 'static>(
        &self,
        f: impl FnOnce(Python<'_>) -> PyResult<R> + Send + 'static,
    ) -> Result<R> {
        let (reply, answer) = mpsc::sync_channel(1);
        let request: PythonCall = Box::new(move |py| {
            // Somebody waits for it, unless the work has panicked.
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
pub(super) fn long_call<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Caller<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    attend(py, &mut |caller| {
        result = work.take().map(|work| work(caller));
    })?;
    let panicked = || Error::State("this call met a bug of wyrmling; please report it".into());
    Ok(result.unwrap_or_else(|| Err(panicked()))?)
}

/// Runs `work` in another thread, and attends to its requests and to signals until it has ended
/// or panicked. It is a `dyn`, for all of this to be compiled once.
///
/// # Errors
/// What a signal handler or a request raised.
fn attend(py: Python<'_>, work: &mut (dyn FnMut(&Caller<'_>) + Send)) -> PyResult<()> {
    let stop = &AtomicBool::new(false);
    let membership = &Membership::of_this_thread();
    py.detach(|| {
        thread::scope(|scope| {
            let (requests, inbox) = mpsc::channel();
            let caller = Caller { stop, requests };
            let worker = thread::Builder::new()
                .name("wyrmling".into())
                .spawn_scoped(scope, move || {
                    membership.join(|| interrupt::until(stop, || work(&caller)));
                })
                .map_err(|e| Error::State(format!("cannot start a thread: {e}")))?;
            let mut raised = None;
            loop {
                // None when the interpreter is shutting down.
                let seen = match inbox.recv_timeout(LOOK) {
                    Ok(request) => Python::try_attach(|py| {
                        request(py)?;
                        // Requests may come so often that there is no other look.
                        py.check_signals()
                    }),
                    Err(RecvTimeoutError::Timeout) => Python::try_attach(|py| py.check_signals()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if !matches!(seen, Some(Ok(()))) || interrupt::is_asked() {
                    stop.store(true, Ordering::Relaxed);
                }
                if let Some(Err(error)) = seen {
                    raised.get_or_insert(error);
                }
            }
            // A panic is seen by what the work has left undone.
            let _ = worker.join();
            raised.map_or(Ok(()), Err)
        })
    })
}
