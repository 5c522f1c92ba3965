//! `len()` of a variable, and iteration over its first axis.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::graph::ops;
use crate::rules::SliceItem;

#[pymethods]
impl PyVariable {
    fn __len__(&self) -> PyResult<usize> {
        let ty = self.ty()?;
        let first = ty.shape.first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of a variable without axes"))
    }
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<RowIterator> {
        let count = slf.get().__len__()?;
        Ok(RowIterator {
            of: slf.unbind(),
            next: 0,
            count,
        })
    }
}

/// The iterator over the first axis.
#[pyclass(name = "RowIterator", module = "wyrmling._core")]
struct RowIterator {
    of: Py<PyVariable>,
    next: usize,
    count: usize,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> PyResult<Option<PyVariable>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let variable = self.of.get();
        let node = variable.node()?;
        // Rows were counted: for a row more, what is made of them would be wrong.
        let fixed = match node.input_below() {
            true => ops::fixed(&node, "iteration", &[0])?,
            false => node.clone().into_owned(),
        };
        let row = ops::slice(&fixed, vec![SliceItem::At(self.next as i64)])?;
        self.next += 1;
        // The elements of a vector are numbers in NumPy, rows are views.
        Ok(Some(match row.ty()?.ndim() {
            0 => PyVariable::new(row),
            _ => variable.view(&node, row),
        }))
    }
}
