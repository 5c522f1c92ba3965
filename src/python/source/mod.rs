//! Functions that are read from Python's source: what writes them, what they are, and what calls them.
//!
//! `python/wyrmling/source` reads text and decides what it means; here is what that needs of Rust. A
//! [`builder`] writes a [`function`] of the ir, which has derivatives and is compiled
//! ([`compiled`]).

mod builder;
mod compiled;
mod datum;
mod function;
mod operators;
mod splice;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<builder::PyIrBuilder>()?;
    module.add_class::<function::PyIrFunction>()?;
    module.add_class::<compiled::PyCompiled>()
}
