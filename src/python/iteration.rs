//! `len()` of a variable, and iteration over its first axis.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::graph::{Kind, build};
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
        let node = slf.get().node()?;
        // The rows are counted now. If the input got more of them later, what was made of the
        // rows would lack some, so another length is refused.
        let of = match node.kind() {
            Kind::Operation(_) | Kind::Input(..) => {
                let fixed = build::fixed(&node, "iteration", &[0])?;
                Bound::new(slf.py(), Self::new(fixed))?
            }
            Kind::Parameter(_) | Kind::Variable(..) | Kind::Constant => slf.clone(),
        };
        Ok(RowIterator {
            of: of.unbind(),
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
        let at = SliceItem::At(self.next as i64);
        let row = build::slice(&*self.of.get().node()?, vec![at])?;
        self.next += 1;
        Ok(Some(PyVariable::new(row)))
    }
}
