//! The Python extension module, `wyrmling._core`.
//!
//! Only this folder knows pyo3. Each file converts the arguments and results of one concept and
//! registers it with the module; the rest of the crate computes.
//!
//! The module asks for the interpreter's lock (`gil_used`): graphs are shared by `Rc` and rely
//! on it, see [`variables::handle`]. Whatever takes long, or may wait for somebody who trains, lets the
//! lock go.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "docstrings are Python's, where brackets are lists"
)]

mod interop;
mod operations;
mod pickle;
mod recommend;
mod source;
mod training;
mod variables;

use pyo3::prelude::*;

use interop::{export, fork, long_call, once};
use operations::{
    arrays, bags, elementwise, functions, linalg, primitive, protocols, reductions, transform,
};
use recommend::{io, rank, solvers};
use training::{fit, optim, optim_state, program, sampling, scored};
use variables::{collect, drawing, hook, leaf, length, plain, sparse, variable};

/// Small requests find memory until the caller has been told that there is none.
#[global_allocator]
static ALLOCATOR: crate::reserve::Reserving = crate::reserve::Reserving;

/// Any object of Python.
type Object<'py> = Bound<'py, PyAny>;

/// What the functions that are not elementwise are to users: names, signatures, and for whom they
/// are: ``numpy``, ``package`` or ``inner``.
#[pyfunction]
fn exported() -> Vec<export::Export> {
    [
        functions::EXPORTS,
        reductions::EXPORTS,
        arrays::EXPORTS,
        bags::EXPORTS,
        linalg::EXPORTS,
    ]
    .into_iter()
    .flat_map(export::lines)
    .collect()
}

#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    crate::interrupt::set_wait_hook(long_call::attend_once);
    crate::reserve::check()?;
    fork::register(module)?;
    once::fill_libraries_cells(module.py())?;
    collect::register(
        module,
        collect::Finder {
            root: |object| {
                if let Ok(variable) = object.cast::<variable::PyVariable>() {
                    return Some(variable.get());
                }
                if let Ok(program) = object.cast::<program::PyProgram>() {
                    return Some(program.get());
                }
                if let Ok(handle) = object.cast::<hook::HookHandle>() {
                    return Some(handle.get());
                }
                source::root(object)
            },
            hooks: hook::holdings,
            definition: primitive::definition,
            is_primitive: primitive::is_primitive,
        },
    )?;
    module.add_class::<variable::PyVariable>()?;
    module.add_class::<hook::HookHandle>()?;
    module.add_class::<leaf::PyParameter>()?;
    module.add_class::<leaf::PyInput>()?;
    module.add_class::<leaf::PyIndexInput>()?;
    length::register(module)?;
    module.add_class::<sparse::SparseGrad>()?;
    module.add_class::<optim::PyOptimizer>()?;
    module.add_class::<optim::PySgd>()?;
    module.add_class::<optim::PyAdagrad>()?;
    module.add_class::<optim::PyAdam>()?;
    module.add_class::<program::PyProgram>()?;
    module.add_class::<sampling::PySampler>()?;
    module.add_class::<sampling::PyUniform>()?;
    module.add_class::<sampling::PyPopularity>()?;
    module.add_class::<sampling::PyInBatch>()?;
    module.add_class::<sampling::PyCustom>()?;
    module.add_class::<scored::PyScoredSampler>()?;
    module.add_class::<scored::PyWarp>()?;
    module.add_class::<scored::PyDynamic>()?;
    module.add_class::<scored::PyAdaptive>()?;
    module.add_class::<scored::PyRank>()?;
    module.add("MOST_WORKERS", crate::train::MOST_WORKERS)?;
    module.add_class::<fit::PyHistory>()?;
    module.add_function(wrap_pyfunction!(program::freeze, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    transform::register(module)?;
    primitive::register(module)?;
    module.add_function(wrap_pyfunction!(drawing::outline, module)?)?;
    rank::register(module)?;
    solvers::register(module)?;
    io::register(module)?;
    source::register(module)?;
    protocols::register(module)?;
    elementwise::register(module)?;
    arrays::register(module)?;
    bags::register(module)?;
    module.add_function(wrap_pyfunction!(exported, module)?)?;
    linalg::register(module)?;
    optim_state::register(module)?;
    pickle::register(module)?;
    plain::register(module)?;
    reductions::register(module)?;
    functions::register(module)
}
