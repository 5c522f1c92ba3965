//! What `fit` needs of a loss that is a Python function of parameters and one sample.
//!
//! `python/wyrmling/source/training.py` reads the function; here its arguments are found in columns,
//! samplers and parameters, by name. The Python function itself is called only if what was read is left.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::argument::Given;
use super::convert::type_name;
use super::fit_columns::{batch_column, column};
use super::integers::to_int64;
use super::sampling::{PySampler, SampledLength, SampledUser};
use super::scored::{PyRank, PyScoredSampler};
use super::source::{PyIrFunction, datum};
use super::variable::PyVariable;
use crate::array::{Array, DType, Type};
use crate::error::Result;
use crate::exec::{Leaf, LossArgument, Program, SampleLoss, batched};
use crate::ir::{Datum, Function, ValueId};
use crate::table::Table;
use crate::train::{DrawnItems, DrawnLength, FunctionLoss, SampleValue, Source};

/// What maps arguments to something.
const BY_NAME: &str = "a dict whose keys are names of the function's arguments";

/// A dictionary by names, as it is given.
type ByName<'py> = Option<Given<Bound<'py, PyDict>>>;

/// The entries of a dictionary by names.
fn entries<'py>(what: &str, given: ByName<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let entries = given.named(what, BY_NAME)?.into_iter();
    let entries = entries.map(|(key, value)| match key.cast::<PyString>() {
        Ok(name) => Ok((name.to_str()?.to_owned(), value)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{what}: expected names of the function's arguments as keys, got {}",
            type_name(&key)
        ))),
    });
    entries.collect()
}

/// A part of a sample.
struct SamplePart {
    name: String,
    source: Source,
    /// The type of what it is filled from.
    ty: Type,
    value: SampleValue,
}

/// What the trainer is given.
#[derive(Clone)]
pub(super) enum TrainedLoss {
    /// Batches by plans.
    Program(Arc<Program>),
    /// A function that is run for each sample.
    Function(Arc<FunctionLoss>),
}

/// A loss that is a function, read and compiled.
pub(super) struct FittedFunction {
    pub(super) trained: TrainedLoss,
    pub(super) sources: Vec<(u64, Source)>,
    /// What Python knows of it.
    read: Py<PyAny>,
    /// The names of its parts of a sample, and of its parameters.
    feeds: Vec<String>,
    parameters: Vec<(String, Arc<Table>)>,
}

/// The number of a column that a sampler asks for as `what`.
fn column_at(name: &str, what: &str, wanted: &str, feeds: &[SamplePart]) -> PyResult<usize> {
    let found = feeds.iter().position(|feed| feed.name == wanted);
    found.ok_or_else(|| {
        PyValueError::new_err(format!("sample: '{name}': {what}: no column '{wanted}'"))
    })
}

/// As [`column_at`], of a column with one index a sample.
fn index_column(name: &str, what: &str, wanted: &str, feeds: &[SamplePart]) -> PyResult<usize> {
    let at = column_at(name, what, wanted, feeds)?;
    match feeds[at].value {
        SampleValue::Int => Ok(at),
        _ => Err(PyValueError::new_err(format!(
            "sample: '{name}': {what}: expected a column of one index a sample, '{wanted}' is another"
        ))),
    }
}

/// What a sampler that reads the model draws for each sample, or the rank of that.
fn scored(
    name: &str,
    sampler: &Bound<'_, PyAny>,
    columns: &[SamplePart],
    described: &Bound<'_, PyDict>,
) -> PyResult<Option<SamplePart>> {
    let shape = PyTuple::empty(described.py());
    let (source, value, dtype) = if let Ok(rank) = sampler.cast::<PyRank>() {
        described.set_item(name, (shape, PyTuple::empty(described.py()), "float"))?;
        let source = Source::Rank(Arc::clone(&rank.get().of));
        (source, SampleValue::Float, DType::F32)
    } else if let Ok(scored) = sampler.cast::<PyScoredSampler>() {
        let PyScoredSampler { inner, user, item } = scored.get();
        described.set_item(name, (shape, (user, item), "int"))?;
        let source = Source::Scored {
            sampler: Arc::clone(inner),
            user: index_column(name, "given", user, columns)? as u64,
            item: index_column(name, "item", item, columns)? as u64,
        };
        (source, SampleValue::Int, DType::U32)
    } else {
        return Ok(None);
    };
    Ok(Some(SamplePart {
        name: name.to_owned(),
        ty: Type::new(dtype, &[1]),
        source,
        value,
    }))
}

/// What a sampler draws for each sample, whose columns are `feeds`.
fn drawn_by(
    name: &str,
    sampler: &PySampler,
    feeds: &[SamplePart],
) -> PyResult<(Source, SampleValue)> {
    let refused = |what: String| PyValueError::new_err(format!("sample: '{name}': {what}"));
    let given = match &sampler.given {
        None => None,
        Some(SampledUser::Input(..)) => {
            return Err(refused(
                "given is an input of a graph; name the argument that holds the user".into(),
            ));
        }
        Some(SampledUser::Argument(user)) => Some(index_column(name, "given", user, feeds)?),
    };
    let lengths = sampler.shape.iter().map(|length| match length {
        SampledLength::Fixed(n) => Ok(DrawnLength::Fixed(*n)),
        SampledLength::Of(other) => {
            let at = column_at(name, "shape", other, feeds)?;
            match feeds[at].value {
                SampleValue::Entry(_) | SampleValue::Row => Ok(DrawnLength::Of(at)),
                _ => Err(refused(format!(
                    "shape: expected a column of arrays, '{other}' has one number a sample"
                ))),
            }
        }
    });
    let shape: Vec<DrawnLength> = lengths.collect::<PyResult<_>>()?;
    let inner = Arc::clone(&sampler.inner);
    if shape.is_empty() {
        let given = given.map(|at| at as u64);
        let sampler = inner;
        return Ok((Source::Sampled { sampler, given }, SampleValue::Int));
    }
    let n = inner.item_count();
    if i32::try_from(n).is_err() {
        return Err(refused(format!(
            "an array of items holds those below {}, the sampler has {n}",
            1u32 << 31
        )));
    }
    let items = DrawnItems::new(inner, given, shape);
    Ok((Source::Seeds, SampleValue::Drawn(items)))
}

/// The columns, as parts of a sample; `described` gets what each is to the function.
fn columns_of(
    training: &Bound<'_, PyModule>,
    given: Given<Bound<'_, PyDict>>,
    described: &Bound<'_, PyDict>,
) -> PyResult<Vec<SamplePart>> {
    let mut parts = Vec::new();
    for (name, values) in entries("columns", Some(given))? {
        let found = training.call_method1(intern!(training.py(), "column"), (&name, values))?;
        let (kind, data): (String, Bound<'_, PyAny>) = found.extract()?;
        let (source, ty, value) = column(&name, &kind, &data)?;
        described.set_item(&name, found)?;
        parts.push(SamplePart {
            name,
            source,
            ty,
            value,
        });
    }
    Ok(parts)
}

/// What samplers draw beside `columns`, as parts of a sample; `described` gets the shape of each, and the
/// columns that it uses.
fn draws_of(
    given: ByName<'_>,
    columns: &[SamplePart],
    described: &Bound<'_, PyDict>,
) -> PyResult<Vec<SamplePart>> {
    let mut parts = Vec::new();
    for (name, sampler) in entries("sample", given)? {
        if let Some(part) = scored(&name, &sampler, columns, described)? {
            parts.push(part);
            continue;
        }
        let Ok(sampler) = sampler.cast::<PySampler>() else {
            return Err(PyTypeError::new_err(format!(
                "sample: '{name}': expected a sampler such as wyrmling.sampling.Uniform, got {}",
                type_name(&sampler)
            )));
        };
        let sampler = sampler.get();
        let shape = sampler.shape.iter().map(|length| match length {
            SampledLength::Fixed(n) => Some(*n),
            SampledLength::Of(_) => None,
        });
        let shape: Vec<Option<usize>> = shape.collect();
        described.set_item(&name, (shape, sampler.used_columns(), "int"))?;
        let (source, value) = drawn_by(&name, sampler, columns)?;
        let words: &[usize] = match source {
            Source::Seeds => &[1, 2],
            _ => &[1],
        };
        parts.push(SamplePart {
            ty: Type::new(DType::U32, words),
            source,
            value,
            name,
        });
    }
    Ok(parts)
}

/// The table of each parameter, by its name; `described` gets their shapes and types.
fn parameters_of(
    given: ByName<'_>,
    described: &Bound<'_, PyDict>,
) -> PyResult<Vec<(String, Arc<Table>)>> {
    let trained = entries("parameters", given)?;
    let mut parameters = Vec::with_capacity(trained.len());
    for (name, object) in trained {
        let variable = object.cast::<PyVariable>().ok();
        let Some(param) = variable.and_then(|v| v.get().handle.param()) else {
            return Err(PyTypeError::new_err(format!(
                "parameters: '{name}': expected a Parameter, got {}",
                type_name(&object)
            )));
        };
        let table = param.table();
        let Type { shape, dtype } = table.ty();
        let shape = PyTuple::new(described.py(), shape.iter().copied())?;
        described.set_item(&name, (shape, dtype.to_string()))?;
        parameters.push((name, Arc::clone(table)));
    }
    Ok(parameters)
}

/// What each parameter of the function is, by the bindings that reading it gave.
fn arguments_of(
    function: &Function,
    bindings: &[(String, Bound<'_, PyAny>)],
    parts: &[SamplePart],
    parameters: &[(String, Arc<Table>)],
    tables: &[Arc<Table>],
) -> PyResult<Vec<LossArgument>> {
    let no = |name: &str| PyValueError::new_err(format!("loss: nothing is given for '{name}'"));
    let argument = |((what, object), &id): (&(String, Bound<'_, PyAny>), &ValueId)| {
        Ok(match what.as_str() {
            "constant" => {
                LossArgument::Constant(datum::of_kind("captured", object, function.kind(id))?)
            }
            "parameters" => {
                let name: String = object.extract()?;
                let of = parameters.iter().find(|(other, _)| *other == name);
                let at = of.and_then(|(_, t)| tables.iter().position(|u| Arc::ptr_eq(t, u)));
                LossArgument::Parameter(at.ok_or_else(|| no(&name))?)
            }
            _ => {
                let name: String = object.extract()?;
                let at = parts.iter().position(|part| part.name == name);
                LossArgument::Feed(at.ok_or_else(|| no(&name))?)
            }
        })
    };
    let pairs = bindings.iter().zip(function.parameters());
    pairs.map(argument).collect()
}

impl FittedFunction {
    /// Reads a function and compiles it.
    ///
    /// # Errors
    /// TypeError or ValueError for data that do not fit, SourceError if it cannot be read.
    pub(super) fn new<'py>(
        loss: &Bound<'py, PyAny>,
        columns: Given<Bound<'py, PyDict>>,
        sample: ByName<'py>,
        parameters: ByName<'py>,
    ) -> PyResult<Self> {
        let py = loss.py();
        let training = py.import(intern!(py, "wyrmling.source.training"))?;
        let (described, drawn, shapes) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        let mut feeds = columns_of(&training, columns, &described)?;
        feeds.extend(draws_of(sample, &feeds, &drawn)?);
        let parameters = parameters_of(parameters, &shapes)?;
        let mut trained: Vec<(String, Arc<Table>)> = Vec::new();
        for (name, table) in &parameters {
            if !trained.iter().any(|(_, other)| Arc::ptr_eq(other, table)) {
                trained.push((name.clone(), Arc::clone(table)));
            }
        }
        let tables: Vec<Arc<Table>> = trained.iter().map(|(_, t)| Arc::clone(t)).collect();
        let prepare = intern!(py, "prepare");
        let read = training.call_method1(prepare, (loss, described, drawn, shapes))?;
        let function = read.getattr(intern!(py, "function"))?;
        let inner = &function.cast::<PyIrFunction>()?.get().inner;
        let bindings: Vec<(String, Bound<'_, PyAny>)> =
            read.getattr(intern!(py, "bindings"))?.extract()?;
        let arguments = arguments_of(inner, &bindings, &feeds, &parameters, &tables)?;
        // The inputs of plans are what the function uses; samples are whole.
        let is_used = |at| {
            let is =
                |argument: &LossArgument| matches!(argument, LossArgument::Feed(k) if *k == at);
            arguments.iter().any(is)
        };
        let all_are_used = (0..feeds.len()).all(is_used);
        let (mut sources, mut names, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut columns, mut batch_sources) = (Vec::new(), Vec::new());
        for (id, feed) in (0..).zip(feeds) {
            names.push(feed.name.clone());
            let leaf = Leaf::Input {
                id,
                ty: feed.ty,
                name: feed.name,
            };
            let (column, source) = batch_column(&leaf, &feed.source, &feed.value).unzip();
            columns.push(column);
            batch_sources.extend(source.map(|source| (id, source)));
            sources.push((id, feed.source));
            inputs.push((leaf, feed.value));
        }
        let by = py.detach(|| -> Result<TrainedLoss> {
            if all_are_used && let Some(program) = batched(inner, &arguments, &tables, &columns)? {
                return Ok(TrainedLoss::Program(Arc::new(program)));
            }
            let single = SampleLoss::new(inner, arguments, trained)?;
            Ok(TrainedLoss::Function(Arc::new(FunctionLoss::new(
                single, inputs,
            ))))
        })?;
        if matches!(by, TrainedLoss::Program(_)) {
            sources = batch_sources; // all columns are there, or the batch would have no program
        }
        Ok(FittedFunction {
            trained: by,
            sources,
            read: read.unbind(),
            feeds: names,
            parameters,
        })
    }

    /// What is raised for a run that ended with an error: where the function was left, what the Python
    /// function raises for the sample.
    pub(super) fn raised(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let TrainedLoss::Function(loss) = &self.trained else {
            return error;
        };
        let Some(departure) = loss.departure() else {
            return error;
        };
        let explain = || -> PyResult<()> {
            let named = PyDict::new(py);
            for (name, value) in self.feeds.iter().zip(departure.values) {
                match value {
                    Datum::Array(Array::U32(words)) => {
                        named.set_item(name, to_int64(py, &words)?)?;
                    }
                    value => named.set_item(name, datum::object(py, value)?)?,
                }
            }
            for (name, table) in &self.parameters {
                let value = py.detach(|| table.try_read())?;
                named.set_item(name, datum::object(py, value.into())?)?;
            }
            let exit = departure.exit.and_then(|exit| loss.loss().exit(exit));
            let (text, line) = exit.map_or(
                ("an index or a length of an array does not fit", 0),
                |exit| (exit.text.as_str(), exit.line),
            );
            let args = (named, text, line, departure.number, departure.epoch);
            self.read.bind(py).call_method1(intern!(py, "left"), args)?;
            Ok(())
        };
        explain().err().unwrap_or(error)
    }
}
