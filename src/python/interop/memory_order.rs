//! The order in which a reshape reads elements and places them, as NumPy names it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::argument::Given;
use crate::graph::{Variable, ops};

/// In which order elements are read and placed.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::python) enum MemoryOrder {
    /// The last index moves first.
    C,
    /// The first.
    F,
}

impl FromPyObject<'_, '_> for MemoryOrder {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "C" => Ok(MemoryOrder::C),
            "F" => Ok(MemoryOrder::F),
            // NumPy's 'A' and 'K' follow memory, in which a variable's elements have no order.
            other => Err(PyValueError::new_err(format!(
                "reshape: order: expected 'C' or 'F', got '{other}'"
            ))),
        }
    }
}

/// Reshapes in an order.
pub(in crate::python) fn reshaped(
    x: &Variable,
    mut shape: Vec<i64>,
    order: Given<MemoryOrder>,
) -> PyResult<Variable> {
    if order.named("reshape: order", "'C' or 'F'")? == MemoryOrder::C {
        return Ok(ops::reshape(x, &shape)?);
    }
    shape.reverse();
    let turned = ops::reshape(&ops::transpose(x, None)?, &shape)?;
    Ok(ops::transpose(&turned, None)?)
}
