//! Functions that are read from Python's source: what writes them, what they are, and what calls them.
//!
//! `python/wyrmling/source` reads text and decides what it means; here is what that needs of Rust. A
//! [`builder`] writes a [`function`] of the ir, which has derivatives and is compiled
//! ([`compiled`]). A [`dispatcher`] stands for a Python function: it finds, among the
//! [`specialization`]s that there are, one whose [`conditions`] hold for a call, runs it on what the
//! arguments hold ([`leaves`]) and makes Python's objects of the results ([`boxing`]).

mod boxing;
mod builder;
mod compiled;
mod conditions;
mod constants;
pub(super) mod datum;
mod dispatcher;
mod function;
mod leaves;
mod operators;
mod specialization;
mod splice;
mod table;

use pyo3::prelude::*;

pub(super) use self::function::PyIrFunction;
use super::collect::Root;

/// The object as one that may hold operators of the caller's own.
pub(super) fn root<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a dyn Root> {
    if let Ok(function) = object.cast::<function::PyIrFunction>() {
        return Some(function.get());
    }
    let compiled = object.cast::<compiled::PyCompiled>().ok()?;
    Some(compiled.get())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<datum::Captured>()?;
    module.add_class::<builder::PyIrBuilder>()?;
    module.add_class::<function::PyIrFunction>()?;
    module.add_class::<compiled::PyCompiled>()?;
    module.add_class::<specialization::PySpecialization>()?;
    module.add_class::<table::PySpecializationTable>()?;
    module.add_class::<dispatcher::PyDispatcher>()
}
