//! The element type that users see, which is not always the one that is computed with.
//!
//! The engine computes integers and booleans as floating-point numbers and marks the nodes that hold
//! them (`graph::ops::integer`), or as indices of 32 bits (`argmax`, lookups in tables of indices). In
//! Python they have NumPy's types, int64 and bool: their `dtype`, their value, their repr, and the
//! results of programs. (Of uint32 `-1` would be 4294967295.) The conversion is made where a value
//! goes out, so that no operator pays for it.

use numpy::PyArrayDescr;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat};

use super::convert;
use crate::array::{Array, DType};
use crate::graph::{Kind, Variable};
use crate::python::Object;
use crate::python::interop::once::intern;

/// An element type of NumPy that variables have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum ElementType {
    /// What is computed with: numbers, and indices as they were given.
    Stored(DType),
    /// int64.
    Integer,
    /// bool.
    Boolean,
}

impl ElementType {
    /// That of a node.
    #[inline]
    pub(in crate::python) fn of(node: &Variable) -> Self {
        let leaf = || !matches!(node.kind(), Kind::Operation(_));
        match node.dtype() {
            dtype if !node.is_discrete() || (!dtype.is_real() && leaf()) => {
                ElementType::Stored(dtype)
            }
            _ if node.is_boolean() => ElementType::Boolean,
            _ => ElementType::Integer,
        }
    }

    /// NumPy's name of it.
    pub(in crate::python) fn name(self) -> &'static str {
        match self {
            ElementType::Stored(dtype) => dtype.name(),
            ElementType::Integer => "int64",
            ElementType::Boolean => "bool",
        }
    }

    /// NumPy's object for it.
    pub(in crate::python) fn descriptor(self, py: Python<'_>) -> Bound<'_, PyArrayDescr> {
        match self {
            ElementType::Stored(dtype) => convert::numpy_dtype(py, dtype),
            ElementType::Integer => numpy::dtype::<i64>(py),
            ElementType::Boolean => numpy::dtype::<bool>(py),
        }
    }

    /// The value of a node as a new NumPy array of this type.
    #[inline]
    pub(in crate::python) fn array(self, py: Python<'_>, value: Array) -> PyResult<Object<'_>> {
        let array = convert::to_numpy(py, value)?;
        match self {
            ElementType::Stored(_) => Ok(array),
            _ => array.call_method1(intern!(py, "astype"), (self.descriptor(py),)),
        }
    }

    /// The value of a node with one element as a number of Python.
    #[inline]
    pub(in crate::python) fn item(self, py: Python<'_>, value: f64) -> PyResult<Object<'_>> {
        match self {
            ElementType::Stored(DType::F32 | DType::F64) => Ok(PyFloat::new(py, value).into_any()),
            ElementType::Boolean => Ok(PyBool::new(py, value != 0.0).to_owned().into_any()),
            ElementType::Integer | ElementType::Stored(DType::U32) => {
                PyFloat::new(py, value).call_method0(intern!(py, "__trunc__"))
            }
        }
    }
}
