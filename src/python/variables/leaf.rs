//! `Parameter`, `Input` and `IndexInput`: variables that add nothing but their constructors.

use std::sync::Arc;

use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::graph::{Input, Parameter};
use crate::python::interop::convert;
use crate::python::interop::long_call::patiently;
use crate::table::Param;

/// A number or array that is trained.
///
/// ``Parameter(value, name=None)``. Unlike a graph it works in every thread. Raises
/// FloatingPointError if the value holds NaN or infinity.
///
/// >>> w = Parameter([1.0, -1.0], name="w")
/// >>> (w * w).sum().backward()
/// >>> SGD(lr=0.25).step([w])
/// >>> w.value
/// array([ 0.5, -0.5])
#[pyclass(name = "Parameter", module = "wyrmling", extends = PyVariable, frozen)]
pub(in crate::python) struct PyParameter;

#[pymethods]
impl PyParameter {
    #[new]
    #[pyo3(signature = (value, name=None))]
    fn create(
        value: &Bound<'_, PyAny>,
        name: Option<String>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (array, _) = convert::array("value", value)?;
        let count = array.view().data.len();
        let param = patiently(count, move || Param::new(&array, name))?;
        let base = PyVariable::new(Parameter::from_param(Arc::new(param)).boxed());
        Ok(PyClassInitializer::from(base).add_subclass(PyParameter))
    }
}

/// Data: a number or array that records no gradient and is bound anew when a program runs.
///
/// ``Input(value, name=None)``; the name appears in messages. The first axis may change its
/// length: what is built by operators and functions follows it, and ``x.shape[0]`` in arithmetic with
/// variables. A graph that was built with an integer made of a length (``len(x)``, a loop over rows,
/// ``np.ones(x.shape)``) raises ValueError for any other length. The element type stays that of
/// ``value``: float64 for ``Input([0.0])``, float32 for ``Input(np.zeros(1, np.float32))``. Either
/// takes numbers, lists, integers and booleans, rounded to it; float64 also takes float32, and
/// float32 refuses float64; no leaf takes float16.
///
/// ``x.shape`` of what follows an input holds integers of a class of their own, ``numbers.Integral`` but
/// no ``int``: ``int(x.shape[0])`` or ``x.value.shape`` is what ``json`` and ``isinstance(n, int)`` want.
///
/// >>> x = Input([1.0, 2.0], name="x")
/// >>> y = (x * x).sum()
/// >>> x.value = [1.0, 2.0, 3.0]
/// >>> y.item()
/// 14.0
#[pyclass(name = "Input", module = "wyrmling", extends = PyVariable, frozen)]
pub(in crate::python) struct PyInput;

#[pymethods]
impl PyInput {
    #[new]
    #[pyo3(signature = (value, name=None))]
    fn create(
        value: &Bound<'_, PyAny>,
        name: Option<String>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (array, _) = convert::array("value", value)?;
        let base = PyVariable::new(Input::named(array, name).boxed());
        Ok(PyClassInitializer::from(base).add_subclass(PyInput))
    }
}

/// Data: row indices, for looking up rows with ``x[index]``.
///
/// One that is itself only looked up in (``features`` in ``w[features[i]]``) is a table: it has the
/// value that it was made with, or was assigned, unless it is given, in ``.value`` of what is built,
/// ``freeze`` and ``fit`` alike, and no batch takes rows of it.
///
/// ``IndexInput(indices, name=None)``. Raises TypeError if the indices are not integers,
/// IndexError if one is negative or needs more than 32 bits.
#[pyclass(name = "IndexInput", module = "wyrmling", extends = PyVariable, frozen)]
pub(in crate::python) struct PyIndexInput;

#[pymethods]
impl PyIndexInput {
    #[new]
    #[pyo3(signature = (indices, name=None))]
    fn create(
        indices: &Bound<'_, PyAny>,
        name: Option<String>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let what = match &name {
            Some(name) => format!("input '{name}'"),
            None => "indices".to_owned(),
        };
        let array = convert::indices(&what, indices, &|| None)?;
        let base = PyVariable::new(Input::named(array, name).boxed());
        Ok(PyClassInitializer::from(base).add_subclass(PyIndexInput))
    }
}
