//! Errors of the crate as Python exceptions, one kind to one exception, built in but for NumPy's own.

use std::cell::Cell;
use std::io::ErrorKind;

use pyo3::exceptions::{
    PyFileNotFoundError, PyFloatingPointError, PyIndexError, PyIsADirectoryError,
    PyKeyboardInterrupt, PyMemoryError, PyNotADirectoryError, PyOSError, PyPermissionError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::error::{Error, Raised};
use crate::python::interop::once::intern;

pyo3::import_exception!(numpy.linalg, LinAlgError);
pyo3::import_exception!(numpy.exceptions, AxisError);

impl From<Error> for PyErr {
    #[cold]
    fn from(error: Error) -> PyErr {
        if let Error::Raised(raised) = &error
            && let Some(error) = raised.get().downcast_ref::<PyErr>()
        {
            return Python::attach(|py| error.clone_ref(py));
        }
        let text = error.to_string();
        match error {
            Error::Shape(_) | Error::Value(_) => PyValueError::new_err(text),
            Error::Axis(_) => AxisError::new_err(text),
            Error::Type(_) => PyTypeError::new_err(text),
            Error::Index(_) => PyIndexError::new_err(text),
            Error::Memory(_) => PyMemoryError::new_err(text),
            Error::State(_) | Error::Raised(_) => PyRuntimeError::new_err(text),
            Error::NotFinite(_) => PyFloatingPointError::new_err(text),
            Error::LinAlg(_) => LinAlgError::new_err(text),
            Error::File(_, kind) => match kind {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
                ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
                ErrorKind::IsADirectory => PyIsADirectoryError::new_err(text),
                ErrorKind::NotADirectory => PyNotADirectoryError::new_err(text),
                _ => PyOSError::new_err(text),
            },
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// The error of something that takes no variable, since a gradient would be lost: what raises it cannot
/// be traced. `python/wyrmling/source/choose.py` knows it by its attribute. [`refusals`] counts it if
/// what raises it takes the variable's value where that is plain.
#[cold]
pub(in crate::python) fn takes_no_variable(
    py: Python<'_>,
    text: String,
    takes_value: bool,
) -> PyErr {
    REFUSALS.set(REFUSALS.get().wrapping_add(u64::from(takes_value)));
    let error = PyTypeError::new_err(text);
    let noted = error
        .value(py)
        .setattr(intern!(py, "takes_no_variable"), true);
    noted.err().unwrap_or(error)
}

thread_local! {
    static REFUSALS: Cell<u64> = const { Cell::new(0) };
}

/// How often something in this thread has refused a variable whose value it takes where that is plain. If the
/// number has grown while a function was traced that raised nothing, the function has handled such an error, and
/// went another way than it goes with plain numbers.
#[pyfunction]
pub(in crate::python) fn refusals() -> u64 {
    REFUSALS.get()
}

/// What Python raised within a call of the crate's, which gives it back as it was.
pub(in crate::python) fn raised(error: PyErr) -> Error {
    Error::Raised(Raised::new(error))
}
