//! `repr()` of a variable.

use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::array::{DType, show_shape};
use crate::python::interop::element_type::ElementType;
use crate::python::interop::once::intern;

/// Most elements that are shown.
const SHOWN: usize = 100;

#[pymethods]
impl PyVariable {
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf)
    }
}

/// The class with its value, or with shape and type where that is long.
fn repr(slf: &Bound<'_, PyVariable>) -> PyResult<String> {
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
            ElementType::of(&*variable.node()?).name()
        ));
    }
    let value = variable.array(slf.py())?;
    if ty.ndim() > 0 {
        return Ok(format!("{class}({}{name})", value.repr()?));
    }
    let dtype = match ty.dtype {
        DType::F32 => ", dtype=float32",
        DType::F64 | DType::U32 => "",
    };
    let item = value.call_method0(intern!(slf.py(), "item"))?;
    Ok(format!("{class}({}{dtype}{name})", item.repr()?))
}
