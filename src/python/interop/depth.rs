//! How deep the caller's code may be called within itself.
//!
//! An operator written in Python can run the program that it is part of, or differentiate itself.
//! Each such call takes some kilobytes of the native stack on top of Python's own frames, so that
//! the stack would end before Python's limit of recursion is reached.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// Most calls within one another. They fit in the smallest stack that our threads have, 2 MiB.
const MOST: usize = 100;

/// Calls `f`, which runs the caller's code, if that is not nested too deep in this thread.
///
/// # Errors
/// RecursionError if it is, and what `f` raises.
pub(in crate::python) fn deeper<R>(what: &str, f: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let depth = DEPTH.get();
    if depth >= MOST {
        return Err(PyRecursionError::new_err(format!(
            "{what}: {MOST} calls of primitives and hooks within one another, the most there may \
             be; does one run the program or the function that it is part of?"
        )));
    }
    let _restore = Restore(depth);
    DEPTH.set(depth + 1);
    f()
}
