//! The state of optimizers as arrays by name.
//!
//! What users call is `python/wyrmling/checkpoints.py`, which names parameters; what a checkpoint holds, and
//! whether it fits, is [`Checkpoint`]'s to say. Here is what passes between them. Arrays are taken where they
//! are, so that state of large tables is copied once: out of a table, or into it.

use std::sync::Arc;

use numpy::{PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::optim::PyOptimizer;
use crate::array::{Slice, View};
use crate::python::interop::argument::borrowed;
use crate::python::interop::convert::{to_numpy, type_name};
use crate::python::interop::once::intern;
use crate::python::variables::variable::PyVariable;
use crate::table::Table;
use crate::train::{Checkpoint, GivenTensor, SavedSettings, Values};

/// Borrowed numbers of either element type, or what they are in place of these.
enum Numbers<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
    Other(String),
}

impl<'py> Numbers<'py> {
    /// What an object holds.
    fn new(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(array) = object.cast::<PyUntypedArray>() else {
            return Ok(Numbers::Other(type_name(object).to_string()));
        };
        let dtype = array.dtype();
        let is = |wanted| PyArrayDescrMethods::is_equiv_to(&dtype, &wanted);
        Ok(match () {
            () if is(numpy::dtype::<f32>(object.py())) => Numbers::F32(borrowed(name, object)?),
            () if is(numpy::dtype::<f64>(object.py())) => Numbers::F64(borrowed(name, object)?),
            () => Numbers::Other(format!("one of dtype {dtype}")),
        })
    }

    fn view(&self) -> PyResult<GivenTensor<'_>> {
        Ok(match self {
            Numbers::F32(array) => Ok(View::new(array.shape(), Slice::F32(array.as_slice()?))),
            Numbers::F64(array) => Ok(View::new(array.shape(), Slice::F64(array.as_slice()?))),
            Numbers::Other(other) => Err(other.clone()),
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

/// Parameters by name.
fn named_tables(named: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Arc<Table>)>> {
    let mut found = Vec::new();
    for (name, object) in named {
        found.push((name.extract()?, table_of(&object)?));
    }
    Ok(found)
}

/// Texts by name.
fn texts(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (name, text) in given {
        found.push((name.extract()?, text.extract()?));
    }
    Ok(found)
}

/// A dict of texts by name.
fn dict(py: Python<'_>, texts: Vec<(String, String)>) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    for (name, text) in texts {
        found.set_item(name, text)?;
    }
    Ok(found)
}

/// What a checkpoint has of a run: the name of the optimizer's class, its settings and the weights of
/// penalties as texts of JSON, the latter two by name; and arrays by the names of their tensors, without
/// those of the parameters ``named`` if ``values`` is false.
///
/// >>> w = Parameter([2.0])
/// >>> kind, settings, l2, arrays = checkpoint_parts(Adagrad(lr=0.1), {"w": w}, True)
/// >>> settings["lr"], l2, arrays
/// ('0.1', {'w': '0.0'}, {'parameter.w': array([2.]), 'state.w.sum': array([0.])})
#[pyfunction]
#[pyo3(signature = (optimizer, named, values, /))]
#[allow(clippy::type_complexity, reason = "a tuple of Python, read once")]
fn checkpoint_parts<'py>(
    py: Python<'py>,
    optimizer: &Bound<'py, PyOptimizer>,
    named: &Bound<'py, PyDict>,
    values: bool,
) -> PyResult<(
    String,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
)> {
    let checkpoint = Checkpoint::of(named_tables(named)?, &optimizer.get().inner)?;
    // It may wait for a thread that changes a parameter.
    let arrays = py.detach(|| checkpoint.arrays(values_of(values)))?;
    let found = PyDict::new(py);
    for (name, array) in arrays {
        found.set_item(name, to_numpy(py, array)?)?;
    }
    let saved = checkpoint.saved();
    let (settings, l2) = (dict(py, saved.settings)?, dict(py, saved.l2)?);
    Ok((saved.optimizer, settings, l2, found))
}

/// Puts back what ``checkpoint_parts`` gave, also numbers of parameters if ``values`` is true. All or
/// nothing is changed.
///
/// >>> w, optimizer = Parameter([2.0]), SGD(lr=0.1)
/// >>> kind, settings, l2, arrays = checkpoint_parts(optimizer, {"w": w}, True)
/// >>> restore_checkpoint(optimizer, {"w": w}, kind, settings | {"lr": "0.2"}, l2, arrays, True)
/// >>> optimizer.lr
/// 0.2
#[pyfunction]
#[pyo3(signature = (optimizer, named, kind, settings, l2, arrays, values, /))]
fn restore_checkpoint(
    optimizer: &Bound<'_, PyOptimizer>,
    named: &Bound<'_, PyDict>,
    kind: String,
    settings: &Bound<'_, PyDict>,
    l2: &Bound<'_, PyDict>,
    arrays: &Bound<'_, PyDict>,
    values: bool,
) -> PyResult<()> {
    let saved = SavedSettings {
        optimizer: kind,
        settings: texts(settings)?,
        l2: texts(l2)?,
    };
    let mut numbers = Vec::new();
    for (name, object) in arrays {
        let name: String = name.extract()?;
        let found = Numbers::new(&name, &object)?;
        numbers.push((name, found));
    }
    let mut given = Vec::new();
    for (name, numbers) in &numbers {
        given.push((name.clone(), numbers.view()?));
    }
    let checkpoint = Checkpoint::of(named_tables(named)?, &optimizer.get().inner)?;
    let restore = || checkpoint.restore(&saved, &given, values_of(values));
    Ok(optimizer.py().detach(restore)?)
}

/// Whether numbers of parameters belong to it.
fn values_of(values: bool) -> Values {
    match values {
        true => Values::Replaced,
        false => Values::Kept,
    }
}

/// Adds the functions to the module.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(checkpoint_parts, module)?)?;
    module.add_function(wrap_pyfunction!(restore_checkpoint, module)?)
}
