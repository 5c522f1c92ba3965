//! `len()` of a variable, iteration over its first axis, and `in`.

use pyo3::PyVisit;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;

use super::length;
use super::variable::PyVariable;
use crate::graph::ops;
use crate::interrupt::Poller;

/// Refuses what has no axes.
fn no_axes(what: &str) -> PyErr {
    PyTypeError::new_err(format!("{what} a variable without axes"))
}

#[pymethods]
impl PyVariable {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        length::len(slf)
    }
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<RowIterator> {
        let node = slf.get().node()?;
        let count = node.ty()?.shape.first().copied();
        let count = count.ok_or_else(|| no_axes("iteration over"))?;
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

    /// Whether an element is equal, as for an array of NumPy's.
    fn __contains__(slf: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        if slf.get().node()?.ty()?.ndim() == 0 {
            return Err(no_axes("'in' of"));
        }
        let same = slf.rich_compare(item, CompareOp::Eq)?;
        let Ok(same) = same.cast::<Self>() else {
            // What cannot be compared is one False.
            return match same.hasattr("any")? {
                true => same.call_method0("any")?.is_truthy(),
                false => same.is_truthy(),
            };
        };
        same.get().is_fixed("'in'", "np.any(x == item)")?;
        let same = same.get().read(slf.py())?;
        Ok((0..same.size()).any(|k| same.element(k) != 0.0))
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
