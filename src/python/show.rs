//! How a variable shows itself, and how it is iterated over.

use pyo3::intern;
use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::array::{DType, show_shape};
use crate::graph::build;
use crate::rules::SliceItem;

/// Most elements that are shown.
const SHOWN: usize = 100;

/// `repr()`: the class with its value, or with shape and type where that is long.
pub(super) fn repr(slf: &Bound<'_, PyVariable>) -> PyResult<String> {
    let class = slf.get_type().name()?;
    let variable = slf.get();
    let name = variable.handle.name();
    let name = name.map_or_else(String::new, |n| format!(", name={n:?}"));
    if variable.handle.param().is_none() && !variable.handle.is_here() {
        return Ok(format!("<{class} of another thread>"));
    }
    let ty = match variable.node()?.ty() {
        Ok(ty) => ty,
        Err(e) => return Ok(format!("<{class} that cannot be computed: {e}>")),
    };
    if ty.size() > SHOWN {
        return Ok(format!(
            "{class}(shape={}, dtype={}{name})",
            show_shape(&ty.shape),
            ty.dtype
        ));
    }
    let value = variable.array(slf.py())?;
    if ty.ndim() > 0 {
        return Ok(format!("{class}({}{name})", value.repr()?));
    }
    let dtype = match ty.dtype {
        DType::F64 => String::new(),
        other => format!(", dtype={other}"),
    };
    let item = value.call_method0(intern!(slf.py(), "item"))?;
    Ok(format!("{class}({}{dtype}{name})", item.repr()?))
}

/// Iterates over the first axis.
#[pyclass(name = "Rows", module = "wyrmling._core")]
pub(super) struct Rows {
    pub(super) of: Py<PyVariable>,
    pub(super) next: usize,
    pub(super) count: usize,
}

#[pymethods]
impl Rows {
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
