//! Errors of the crate as Python exceptions, one kind to one exception, built in but for NumPy's own.

use pyo3::exceptions::{
    PyFloatingPointError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOSError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::error::Error;

pyo3::import_exception!(numpy.linalg, LinAlgError);

impl From<Error> for PyErr {
    #[cold]
    fn from(error: Error) -> PyErr {
        let text = error.to_string();
        match error {
            Error::Shape(_) | Error::Value(_) => PyValueError::new_err(text),
            Error::Type(_) => PyTypeError::new_err(text),
            Error::Index(_) => PyIndexError::new_err(text),
            Error::Memory(_) => PyMemoryError::new_err(text),
            Error::State(_) => PyRuntimeError::new_err(text),
            Error::NotFinite(_) => PyFloatingPointError::new_err(text),
            Error::LinAlg(_) => LinAlgError::new_err(text),
            Error::File(_) => PyOSError::new_err(text),
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        }
    }
}
