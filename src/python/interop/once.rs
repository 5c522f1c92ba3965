//! Objects of Python that are made at first use and kept: interned names, classes, tables.
//!
//! pyo3's own cell, `PyOnceLock`, lets the interpreter's lock go after it has been marked as being
//! filled. If another thread forks at that moment the cell is marked in the child too, where the thread
//! that was to fill it does not exist, and whoever asks for it waits for ever. [`Once`] makes its value
//! before it touches the cell, and then stores it without letting the lock go; a fork by Python needs
//! that lock, so it finds the cell empty or full.
//!
//! Limits: threads that ask for an empty cell at once may each make a value; the first one stays.
//! The libraries' own cells are as they are: [`fill_libraries_cells`] fills those that we use at import.

use std::sync::OnceLock;

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyType};

/// A value that is made at first use.
pub(in crate::python) struct Once<T>(OnceLock<T>);

impl<T> Once<T> {
    pub(in crate::python) const fn new() -> Self {
        Once(OnceLock::new())
    }

    /// The value, if it has been made.
    #[inline]
    pub(in crate::python) fn get(&self, _py: Python<'_>) -> Option<&T> {
        self.0.get()
    }

    /// The value, which `make` makes if there is none; that may run code of Python.
    ///
    /// # Errors
    /// What `make` raises; the cell then stays empty.
    #[inline]
    pub(in crate::python) fn get_or_try_init(
        &self,
        _py: Python<'_>,
        make: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<&T> {
        match self.0.get() {
            Some(value) => Ok(value),
            None => self.make(make),
        }
    }

    #[cold]
    fn make(&self, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        let value = make()?;
        // The closure runs no code of Python, so the lock is held from here to the end.
        Ok(self.0.get_or_init(|| value))
    }
}

/// A name, interned at first use: see [`intern!`].
pub(in crate::python) struct Name {
    text: &'static str,
    object: Once<Py<PyString>>,
}

impl Name {
    pub(in crate::python) const fn new(text: &'static str) -> Self {
        Name {
            text,
            object: Once::new(),
        }
    }

    #[inline]
    pub(in crate::python) fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        let object = self.object.0.get().unwrap_or_else(|| self.make(py));
        object.bind(py)
    }

    #[cold]
    fn make(&self, py: Python<'_>) -> &Py<PyString> {
        let object = PyString::intern(py, self.text).unbind();
        self.object.0.get_or_init(|| object)
    }
}

/// An interned string of Python, as pyo3's macro of this name gives it, in a [`Once`].
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static NAME: $crate::python::interop::once::Name =
            $crate::python::interop::once::Name::new($text);
        NAME.get($py)
    }};
}
pub(in crate::python) use intern;

/// Fills the cells of pyo3 and numpy that our calls reach, while no other thread runs them.
pub(in crate::python) fn fill_libraries_cells(py: Python<'_>) -> PyResult<()> {
    // NumPy's tables of functions, its version, and the table of borrowed arrays.
    let array = PyArray1::<f64>::zeros(py, 1, false);
    numpy::dtype::<f64>(py).itemsize();
    drop(array.try_readonly()?);
    // The names of attributes of classes, and the hint of an iterator's length.
    let class = py.get_type::<PyType>();
    class.name()?;
    class.qualname()?;
    class.module()?;
    class.fully_qualified_name()?;
    PyList::empty(py).try_iter()?.size_hint();
    Ok(())
}
