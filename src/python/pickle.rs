//! Pickling and copying (`pickle`, `copy.copy`, `copy.deepcopy`) of the classes of the module.
//!
//! An object is described by its class, the arguments that make it anew, and for parameters and
//! optimizers what they collected since. What other objects it refers to (an optimizer its
//! parameters, a sampler its input) stands in the description as that very object, so that what
//! is one object in a pickle is one object when it comes back.
//!
//! A copy, shallow too, has numbers of its own. Results of operators are refused: a graph is
//! built by running code, and a copy of a part of it would be tied to the old parameters, or to
//! none. So are programs, which are made from graphs.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::interop::convert;
use super::interop::error::takes_no_variable;
use super::interop::items::items;
use super::recommend::rank::PyCsr;
use super::recommend::solvers::PyCsrMatrix;
use super::training::fit::PyHistory;
use super::training::optim::PyOptimizer;
use super::training::program::PyProgram;
use super::training::sampling::{Draws, PySampler, shape_object};
use super::variables::leaf::{PyIndexInput, PyInput, PyParameter};
use super::variables::registry;
use super::variables::sparse::SparseGrad;
use super::variables::variable::PyVariable;
use crate::array::Array;
use crate::graph::Parameter;
use crate::optim::{Rule, Settings, Snapshot};
use crate::process::Mutex;
use crate::python::interop::once::intern;
use crate::table::Gradient;
use crate::train;

/// What makes an object, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);
/// The same, and what `__setstate__` gets.
type ReducedWithState<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyTuple>,
    Option<Bound<'py, PyAny>>,
);

#[pymethods]
impl PyVariable {
    /// Raises TypeError: a part of a graph is neither pickled nor copied.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        let text = "a graph cannot be copied or pickled: take the value (x.value), or x.copy() for \
                    another variable of this graph; of a model pickle the Parameters, Inputs and \
                    optimizer, and build its loss again";
        Err(takes_no_variable(py, text.to_owned(), true))
    }
}

/// A leaf by its class, value and name.
fn leaf<'py>(object: &Bound<'py, PyAny>) -> PyResult<Reduced<'py>> {
    let py = object.py();
    let value = object.getattr(intern!(py, "value"))?;
    let name = object.getattr(intern!(py, "name"))?;
    let class = object.get_type().into_any();
    Ok((class, PyTuple::new(py, [value, name])?))
}

#[pymethods]
impl PyParameter {
    /// The class, value and name, and the gradient collected so far.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<ReducedWithState<'py>> {
        let py = slf.py();
        let (class, arguments) = leaf(slf.as_any())?;
        let mut grad = slf.getattr(intern!(py, "grad"))?;
        // A gradient that is a graph comes back as its numbers.
        if grad.is_instance_of::<PyVariable>() {
            grad = grad.getattr(intern!(py, "value"))?;
        }
        Ok((class, arguments, Some(grad).filter(|grad| !grad.is_none())))
    }

    /// Sets the gradient.
    fn __setstate__(slf: &Bound<'_, Self>, grad: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(param) = slf.as_super().get().handle.param() else {
            return Ok(());
        };
        let ty = param.table().ty();
        let gradient = match grad.cast::<SparseGrad>() {
            Ok(sparse) => Gradient::Rows(sparse.get().rows().clone()),
            Err(_) => Gradient::Dense(convert::array_of("gradient", grad, ty.dtype)?),
        };
        if gradient.ty() != *ty {
            return Err(PyValueError::new_err(
                "gradient: it does not have the parameter's shape and type",
            ));
        }
        param.set_gradient(gradient);
        Ok(())
    }
}

#[pymethods]
impl PyInput {
    /// The class, value and name.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        leaf(slf.as_any())
    }
}

#[pymethods]
impl PyIndexInput {
    /// The class, indices and name.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        leaf(slf.as_any())
    }
}

#[pymethods]
impl SparseGrad {
    /// The class, indices, values and shape.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let arguments = ["indices", "values", "shape"].map(|name| slf.getattr(name));
        let arguments = arguments.into_iter().collect::<PyResult<Vec<_>>>()?;
        let class = slf.get_type().into_any();
        Ok((class, PyTuple::new(slf.py(), arguments)?))
    }
}

#[pymethods]
impl PyOptimizer {
    /// The class and settings, and each parameter that has state with that.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<ReducedWithState<'py>> {
        let py = slf.py();
        let optimizer = &slf.get().inner;
        let Settings { lr, clip, .. } = optimizer.settings();
        let (l2, per) = (slf.get().l2(py)?, slf.get().l2_per());
        let arguments = match optimizer.rule() {
            Rule::Sgd { momentum } => (lr, momentum, l2, clip, per).into_pyobject(py)?,
            Rule::Adagrad { eps } => (lr, l2, clip, eps, per).into_pyobject(py)?,
            Rule::Adam { beta1, beta2, eps } => {
                (lr, beta1, beta2, eps, l2, clip, per).into_pyobject(py)?
            }
        };
        // It may wait for a thread that changes a parameter.
        let snapshots = py.detach(|| optimizer.snapshot())?;
        let state = PyList::empty(py);
        for Snapshot { table, slots } in snapshots {
            let Some(object) = registry::object(py, &Parameter::shared(table).boxed())? else {
                continue;
            };
            let slots = slots.into_iter().map(|slot| convert::to_numpy(py, slot));
            let slots = PyList::new(py, slots.collect::<PyResult<Vec<_>>>()?)?;
            state.append((object, slots))?;
        }
        let state = Some(state.into_any()).filter(|state| state.len().is_ok_and(|n| n > 0));
        Ok((slf.get_type().into_any(), arguments, state))
    }

    /// Puts the state of each parameter in the place of what there is.
    fn __setstate__(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        for part in state.try_iter()? {
            let part = part?;
            let (object, arrays) = (part.get_item(0)?, part.get_item(1)?);
            let variable = object.cast::<PyVariable>().map_err(PyErr::from)?;
            let Some(param) = variable.get().handle.param() else {
                return Err(PyTypeError::new_err("state: expected Parameters"));
            };
            let mut slots: Vec<Array> = Vec::new();
            for array in arrays.try_iter()? {
                slots.push(convert::array("state", &array?)?.0);
            }
            let table = Arc::clone(param.table());
            let snapshot = Snapshot { table, slots };
            py.detach(|| self.inner.restore(&snapshot))?;
        }
        Ok(())
    }
}

#[pymethods]
impl PySampler {
    /// The class with its arguments, some of which have names.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let PySampler {
            inner,
            draws,
            given,
            shape,
        } = slf.get();
        let n = inner.item_count();
        let named = PyDict::new(py);
        let arguments = match (draws, inner.weights()) {
            (Draws::InBatch(column), _) => (column.object(py), n).into_pyobject(py)?,
            (Draws::Custom(sampler, columns), _) => {
                let columns = columns.iter().map(|column| column.object(py));
                named.set_item(intern!(py, "columns"), PyTuple::new(py, columns)?)?;
                (sampler.function(py), n).into_pyobject(py)?
            }
            (Draws::Items, None) => PyTuple::new(py, [n])?,
            (Draws::Items, Some(weights)) => (weights.into_pyarray(py), 1.0).into_pyobject(py)?,
        };
        if let (Some(given), Some((users, items))) = (given, inner.positives()) {
            let pairs = (users.into_pyarray(py), items.into_pyarray(py));
            named.set_item(intern!(py, "positives"), pairs)?;
            named.set_item(intern!(py, "given"), given.object(py))?;
        }
        if !shape.is_empty() {
            named.set_item(intern!(py, "shape"), shape_object(py, shape)?)?;
        }
        let make = py.import("copyreg")?.getattr("__newobj_ex__")?;
        Ok((make, (slf.get_type(), arguments, named).into_pyobject(py)?))
    }
}

#[pymethods]
impl PyCsr {
    /// The class, the pairs, and the numbers of users and items.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let pairs = &slf.get().0;
        let ends = pairs.indptr().windows(2).enumerate();
        let users = ends.flat_map(|(user, ends)| (ends[0]..ends[1]).map(move |_| user as u32));
        let users = PyArray1::from_iter(py, users);
        let items = PyArray1::from_slice(py, pairs.indices());
        let arguments = (users, items, pairs.n_users(), pairs.n_items());
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?))
    }
}

#[pymethods]
impl PyCsrMatrix {
    /// The class, the entries, and the numbers of rows and columns.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let matrix = &slf.get().0;
        let ends = matrix.indptr().windows(2).enumerate();
        let rows = ends.flat_map(|(row, ends)| (ends[0]..ends[1]).map(move |_| row as u32));
        let rows = PyArray1::from_iter(py, rows);
        let columns = PyArray1::from_slice(py, matrix.indices());
        let values = PyArray1::from_slice(py, matrix.values());
        let arguments = (rows, columns, values, matrix.n_rows(), matrix.n_columns());
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?))
    }
}

#[pymethods]
impl PyHistory {
    /// What makes it of its columns.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let record = slf.get().read();
        let arguments = (record.loss, record.seconds, record.samples).into_pyobject(py)?;
        let make = py.import("wyrmling._core")?.getattr("restored_history")?;
        Ok((make, arguments))
    }
}

/// The record of a training run that has ended; raises ValueError if its columns differ in length.
///
/// >>> len(restored_history([3.0, 2.5], [0.1, 0.1], 100))
/// 2
#[pyfunction]
#[pyo3(signature = (loss, seconds, samples, /))]
fn restored_history(
    loss: &Bound<'_, PyAny>,
    seconds: &Bound<'_, PyAny>,
    samples: usize,
) -> PyResult<PyHistory> {
    let column = |name, object| items(name, object, None, |number| number.extract::<f64>());
    let (loss, seconds) = (column("loss", loss)?, column("seconds", seconds)?);
    let epochs = loss.len();
    if seconds.len() != epochs {
        return Err(PyValueError::new_err(format!(
            "seconds: expected {epochs} numbers, one for each loss, got {}",
            seconds.len()
        )));
    }
    let record = train::History {
        loss,
        seconds,
        samples,
    };
    let record = Arc::new(Mutex::new(record));
    Ok(PyHistory { record, epochs })
}

#[pymethods]
impl PyProgram {
    /// Raises TypeError: a program is neither pickled nor copied.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Program cannot be copied or pickled: pickle the Parameters and Inputs, build the \
             loss again and freeze that; threads may share one Program",
        ))
    }
}

/// Adds the function to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(restored_history, module)?)
}
