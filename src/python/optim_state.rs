//! The state of optimizers as arrays by name.
//!
//! What users call is `python/wyrmling/checkpoints.py`, which names parameters and checks what it is
//! given; here is what reaches the tables. Arrays are taken where they are, so that state of large
//! tables is copied once: out of a table, or into it.

use std::sync::Arc;

use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::argument::borrowed;
use super::convert::{to_numpy, type_name};
use super::items::items;
use super::optim::PyOptimizer;
use super::variable::PyVariable;
use crate::array::{DType, Slice, View};
use crate::optim::{Optimizer, Resumed};
use crate::python::once::intern;
use crate::table::Table;

/// Borrowed numbers of either element type.
enum Numbers<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
}

impl<'py> Numbers<'py> {
    /// The numbers of an array, which has to be of this element type.
    fn new(name: &str, object: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Self> {
        Ok(match dtype {
            DType::F32 => Numbers::F32(borrowed(name, object)?),
            _ => Numbers::F64(borrowed(name, object)?),
        })
    }

    fn view(&self) -> PyResult<View<'_>> {
        Ok(match self {
            Numbers::F32(array) => View::new(array.shape(), Slice::F32(array.as_slice()?)),
            Numbers::F64(array) => View::new(array.shape(), Slice::F64(array.as_slice()?)),
        })
    }
}

/// The table of a parameter.
fn table_of(object: &Bound<'_, PyAny>) -> PyResult<Arc<Table>> {
    let variable = object.cast::<PyVariable>().ok();
    match variable.and_then(|v| v.get().handle.param()) {
        Some(param) => Ok(Arc::clone(param.table())),
        None => Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "parameters: expected Parameters, got {}",
            type_name(object)
        ))),
    }
}

#[pymethods]
impl PyOptimizer {
    /// What it is made of and what it remembers, for ``load_state_dict``.
    ///
    /// ``parameters`` is a dict of Parameters by name, or a list of them, which have the names
    /// ``"0"``, ``"1"`` and so on. The result is a dict of three: ``optimizer``, the name of the
    /// class; ``settings``, a dict of the learning rate and all other settings but ``l2``; and
    /// ``state``, by the name of each parameter a dict of its ``l2`` and of copies of the arrays that
    /// the optimizer keeps beside it: ``momentum_buffer`` of SGD with momentum, ``sum`` of Adagrad,
    /// ``exp_avg`` and ``exp_avg_sq`` of Adam, all with the parameter's shape and dtype, and Adam's
    /// ``step``, how often each row was changed, with its dtype and shape (rows,). They are 0 before
    /// the first step.
    ///
    /// Raises TypeError for what are no Parameters, ValueError if one is given twice.
    ///
    /// >>> w = Parameter([0.5, 1.0], name="w")
    /// >>> optimizer = Adagrad(lr=0.1)
    /// >>> optimizer.state_dict({"w": w})["state"]
    /// {'w': {'l2': 0.0, 'sum': array([0., 0.])}}
    fn state_dict<'py>(
        slf: &Bound<'py, Self>,
        parameters: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let home = slf.py().import(intern!(slf.py(), "wyrmling.checkpoints"))?;
        home.call_method1("state_dict", (slf, parameters))
    }

    /// Goes on from what ``state_dict`` gave, bit for bit: takes its learning rate, and its state in
    /// the place of what there is for ``parameters``.
    ///
    /// ``parameters`` have the names of those whose state it is. Numbers of parameters do not change:
    /// ``wyrmling.load_checkpoint`` reads them as well.
    ///
    /// Raises ValueError that says what does not fit: another optimizer or other settings than this
    /// one's (but for the learning rate), a parameter without state or state without a parameter,
    /// another shape, NaN or infinity, a sum of squares or number of steps below 0; TypeError for
    /// another kind or dtype; RuntimeError if a parameter is being trained. Nothing is changed then.
    ///
    /// >>> w = Parameter([0.5, 1.0], name="w")
    /// >>> state = Adagrad(lr=0.1).state_dict({"w": w})
    /// >>> optimizer = Adagrad(lr=0.3)
    /// >>> optimizer.load_state_dict(state, {"w": w})
    /// >>> optimizer.lr
    /// 0.1
    fn load_state_dict(
        slf: &Bound<'_, Self>,
        state: &Bound<'_, PyAny>,
        parameters: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let home = slf.py().import(intern!(slf.py(), "wyrmling.checkpoints"))?;
        let loaded = home.call_method1("load_state_dict", (slf, state, parameters));
        loaded.map(drop)
    }
}

/// An optimizer's kind, its settings but for ``l2``, the names of the arrays that it keeps, and the
/// ``l2`` of each of some parameters.
///
/// >>> optimizer_settings(SGD(lr=0.1), [])
/// ('SGD', {'lr': 0.1, 'momentum': 0.0, 'clip': None, 'l2_per': 'step'}, [], [])
#[pyfunction]
#[pyo3(signature = (optimizer, parameters, /))]
#[allow(clippy::type_complexity, reason = "a tuple of Python, read once")]
fn optimizer_settings<'py>(
    py: Python<'py>,
    optimizer: &Bound<'py, PyOptimizer>,
    parameters: &Bound<'py, PyAny>,
) -> PyResult<(
    &'static str,
    Bound<'py, PyDict>,
    &'static [&'static str],
    Vec<f64>,
)> {
    let inner = &optimizer.get().inner;
    let (rule, all) = (inner.rule(), inner.settings());
    let (kind, own) = rule.settings();
    let settings = PyDict::new(py);
    settings.set_item("lr", all.lr)?;
    for (name, value) in own {
        settings.set_item(name, value)?;
    }
    settings.set_item("clip", all.clip)?;
    settings.set_item("l2_per", optimizer.get().l2_per())?;
    let l2 = items("parameters", parameters, None, |object| {
        Ok(inner.settings_of(&*table_of(&object)?).l2)
    })?;
    Ok((kind, settings, rule.slot_names(), l2))
}

/// Copies of the arrays that an optimizer keeps beside a parameter.
///
/// >>> optimizer_slots(Adagrad(lr=0.1), Parameter(2.0))
/// [array(0.)]
#[pyfunction]
#[pyo3(signature = (optimizer, parameter, /))]
fn optimizer_slots<'py>(
    optimizer: &Bound<'py, PyOptimizer>,
    parameter: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let py = optimizer.py();
    let (inner, table) = (&optimizer.get().inner, table_of(parameter)?);
    // It may wait for whoever changes the parameter.
    let slots = py.detach(|| inner.slots_of(&table))?;
    let slots = slots.into_iter().map(|slot| to_numpy(py, slot));
    PyList::new(py, slots.collect::<PyResult<Vec<_>>>()?)
}

/// Puts back the learning rate of an optimizer and, of each of some parameters, the arrays that
/// ``optimizer_slots`` gave and the numbers (None if they stay). All or nothing is changed.
///
/// >>> w, optimizer = Parameter([2.0]), Adagrad(lr=0.1)
/// >>> resume_optimizer(optimizer, 0.2, [(w, optimizer_slots(optimizer, w), None)])
#[pyfunction]
#[pyo3(signature = (optimizer, lr, parameters, /))]
fn resume_optimizer(
    optimizer: &Bound<'_, PyOptimizer>,
    lr: f64,
    parameters: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let inner: &Optimizer = &optimizer.get().inner;
    let given = items("parameters", parameters, None, |part| {
        let (object, slots, value): (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
            part.extract()?;
        let table = table_of(&object)?;
        let (name, dtype) = (table.label(), table.ty().dtype);
        let slots = items("slots", &slots, None, |slot| {
            Numbers::new(&name, &slot, dtype)
        })?;
        let value = match value.is_none() {
            true => None,
            false => Some(Numbers::new(&name, &value, dtype)?),
        };
        Ok((table, slots, value))
    })?;
    let mut resumed = Vec::with_capacity(given.len());
    for (table, slots, value) in &given {
        resumed.push(Resumed {
            table,
            slots: slots.iter().map(Numbers::view).collect::<PyResult<_>>()?,
            value: value.as_ref().map(Numbers::view).transpose()?,
        });
    }
    Ok(optimizer.py().detach(|| inner.resume(lr, &resumed))?)
}

/// Adds the functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(optimizer_settings, module)?)?;
    module.add_function(wrap_pyfunction!(optimizer_slots, module)?)?;
    module.add_function(wrap_pyfunction!(resume_optimizer, module)?)
}
