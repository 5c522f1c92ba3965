//! Hooks that Python registers on the gradient of a variable.

use std::any::Any;
use std::rc::Rc;

use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;

use super::collect::{Held, Links, Root};
use super::handle::Handle;
use super::holders::What;
use super::sparse::{SparseGrad, gradient};
use super::variable::PyVariable;
use crate::array::DType;
use crate::error::Result;
use crate::graph::{Constant, Hook, Variable};
use crate::python::interop::convert::{self, type_name};
use crate::python::interop::depth::deeper;
use crate::python::interop::error::raised;
use crate::table::Gradient;

/// A Python function as a hook.
struct PyHook(Held);

/// Calls `f` with what the hooks of a node hold.
pub(in crate::python) fn holdings(node: &Variable, f: &mut dyn FnMut(&Held)) {
    for hook in node.hooks() {
        if let Some(hook) = (&*hook as &dyn Any).downcast_ref::<PyHook>() {
            f(&hook.0);
        }
    }
}

/// What a hook gave back: nothing, rows, or numbers of the gradient's type.
fn changed(answer: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Gradient>> {
    if answer.is_none() {
        return Ok(None);
    }
    if let Ok(sparse) = answer.cast::<SparseGrad>() {
        return Ok(Some(Gradient::Rows(sparse.get().rows().clone())));
    }
    let array = convert::array_of("the gradient that a hook returned", answer, dtype)?;
    Ok(Some(Gradient::Dense(array)))
}

impl Hook for PyHook {
    fn gradient(&self, g: Gradient) -> Result<Option<Gradient>> {
        let dtype = g.ty().dtype;
        let call = |py: Python<'_>| -> PyResult<_> {
            let g = gradient(py, g)?;
            let answer = deeper("hook", || self.0.get(py)?.call1((g,)))?;
            changed(&answer, dtype)
        };
        Python::attach(call).map_err(raised)
    }

    fn node(&self, g: Variable) -> Result<Option<Variable>> {
        let dtype = g.dtype();
        let call = |py: Python<'_>| -> PyResult<_> {
            let g = PyVariable::new(g);
            let answer = deeper("hook", || self.0.get(py)?.call1((g,)))?;
            if let Ok(variable) = answer.cast::<PyVariable>() {
                return Ok(Some(variable.get().node()?.into_owned()));
            }
            let Some(gradient) = changed(&answer, dtype)? else {
                return Ok(None);
            };
            Ok(Some(Constant::new(gradient.try_to_dense()?).boxed()))
        };
        Python::attach(call).map_err(raised)
    }
}

/// A hook that was registered: ``remove`` takes it away.
#[pyclass(module = "wyrmling._core", frozen, weakref)]
pub(in crate::python) struct HookHandle {
    handle: Handle,
    id: u64,
}

#[pymethods]
impl HookHandle {
    /// Takes the hook away; does nothing the second time. Raises RuntimeError in another thread
    /// than the graph's.
    fn remove(&self) -> PyResult<()> {
        self.handle.node()?.remove_hook(self.id);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.handle.links().traverse(&visit)
    }

    fn __clear__(&self) {
        self.handle.links().clear();
    }
}

impl Root for HookHandle {
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>)) {
        f(self.handle.links(), self.handle.held());
    }
}

/// Registers a hook on a node: what removes it.
pub(in crate::python) fn register<'py>(
    py: Python<'py>,
    node: Variable,
    hook: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if !hook.is_callable() {
        return Err(PyTypeError::new_err(format!(
            "hook: expected a function of the gradient, got {}",
            type_name(&hook)
        )));
    }
    let id = node.register_hook(Rc::new(PyHook(Held::new(hook.unbind()))))?;
    let handle = Handle::new(node);
    Ok(Bound::new(py, HookHandle { handle, id })?.into_any())
}
