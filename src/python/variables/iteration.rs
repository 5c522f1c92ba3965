//! `len()` of a variable, and iteration over its first axis.

use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;

use super::length;
use super::variable::PyVariable;
use crate::graph::ops;
use crate::interrupt::Poller;

#[pymethods]
impl PyVariable {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        length::len(slf)
    }
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<RowIterator> {
        let node = slf.get().node()?;
        let count = node.ty()?.shape.first().copied();
        let count =
            count.ok_or_else(|| PyTypeError::new_err("iteration over a variable without axes"))?;
        // Rows are counted: for a row more, what is made of them would be wrong.
        ops::ask_lengths(&node, &[0], "iteration")?;
        drop(node);
        Ok(RowIterator {
            of: slf.unbind(),
            next: 0,
            count,
            poller: Poller::default(),
        })
    }
}

/// The iterator over the first axis.
#[pyclass(name = "RowIterator", module = "wyrmling._core")]
struct RowIterator {
    of: Py<PyVariable>,
    next: usize,
    count: usize,
    poller: Poller,
}

/// About how many nanoseconds a row takes.
const ROW: usize = 1000;

#[pymethods]
impl RowIterator {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.of)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyVariable>> {
        if self.next >= self.count {
            return Ok(None);
        }
        // `list` and others do not look for signals themselves.
        self.poller.step(ROW)?;
        let key = self.next.into_pyobject(py)?;
        let row = self.of.get().__getitem__(&key)?;
        self.next += 1;
        Ok(Some(row))
    }
}
