//! Forks, as Python announces them: see [`crate::process`].

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::process;
use crate::python::interop::once::intern;
use crate::table::lock;

#[pyfunction]
fn before_fork() {
    process::before_fork();
    lock::before_fork();
}

#[pyfunction]
fn after_fork_in_parent() {
    process::after_fork(false);
    lock::after_fork(false);
}

#[pyfunction]
fn after_fork_in_child() {
    process::after_fork(true);
    lock::after_fork(true);
}

/// Has Python announce forks, where the system has them.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import(intern!(py, "os"))?;
    let name = intern!(py, "register_at_fork");
    if !os.hasattr(name)? {
        return Ok(());
    }
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item(
        "after_in_parent",
        wrap_pyfunction!(after_fork_in_parent, module)?,
    )?;
    hooks.set_item(
        "after_in_child",
        wrap_pyfunction!(after_fork_in_child, module)?,
    )?;
    os.call_method(name, (), Some(&hooks))?;
    Ok(())
}
