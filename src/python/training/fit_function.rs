//! What `fit` needs of a loss that is a Python function of parameters and one sample.
//!
//! `python/wyrmling/source/training.py` reads the function; here its arguments are found in columns,
//! samplers and parameters, by name. The Python function itself is called only if what was read is left.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::fit_columns::{batch_column, column};
use super::sampling::{PySampler, SampledLength, UsedColumn};
use super::scored::{PyRank, PyScoredSampler};
use crate::array::{Array, DType, Type, element_count};
use crate::error::Result;
use crate::exec::{Leaf, LossArgument, Program, SampleLoss, batched};
use crate::ir::{Datum, Function, ValueId};
use crate::python::interop::argument::Given;
use crate::python::interop::convert::type_name;
use crate::python::interop::once::intern;
use crate::python::source::{PyIrFunction, datum};
use crate::python::variables::integers::to_int64;
use crate::python::variables::variable::PyVariable;
use crate::table::Table;
use crate::train::{DrawnLength, FunctionLoss, SampleValue, Source};

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
pub(in crate::python) enum TrainedLoss {
    /// Batches by plans.
    Program(Arc<Program>),
    /// A function that is run for each sample.
    Function(Arc<FunctionLoss>),
}

/// A loss that is a function, read and compiled.
pub(in crate::python) struct FittedFunction {
    pub(in crate::python) trained: TrainedLoss,
    pub(in crate::python) sources: Vec<(u64, Source)>,
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

/// A sampler, as an argument of a function is filled by it.
struct Drawn<'a> {
    source: Source,
    shape: &'a [SampledLength],
    used: Vec<&'a str>,
}

impl<'a> Drawn<'a> {
    /// What the sampler for the argument `name` draws, beside `columns`.
    ///
    /// # Errors
    /// TypeError for what is no sampler, ValueError for one whose columns do not fit.
    fn new(
        name: &str,
        sampler: &'a Bound<'_, PyAny>,
        columns: &[SamplePart],
    ) -> PyResult<Drawn<'a>> {
        if let Ok(scored) = sampler.cast::<PyScoredSampler>() {
            let scored = scored.get();
            let item = scored.item.as_deref();
            let item = item.map(|item| index_column(name, "item", item, columns));
            return Ok(Drawn {
                source: Source::Scored {
                    sampler: Arc::clone(&scored.inner),
                    user: index_column(name, "given", &scored.user, columns)? as u64,
                    item: item.transpose()?.map(|at| at as u64),
                },
                shape: &scored.shape,
                used: scored.used_columns(),
            });
        }
        let Ok(sampler) = sampler.cast::<PySampler>() else {
            return Err(PyTypeError::new_err(format!(
                "sample: '{name}': expected a sampler such as wyrmling.sampling.Uniform, got {}",
                type_name(sampler)
            )));
        };
        let sampler = sampler.get();
        let place = |what: &str, column: &UsedColumn| match column {
            UsedColumn::Input(..) => Err(PyValueError::new_err(format!(
                "sample: '{name}': {what} is an input of a graph; name the argument that holds it"
            ))),
            UsedColumn::Argument(column) if what == "columns" => {
                Ok(seen_column(name, column, columns)? as u64)
            }
            UsedColumn::Argument(column) => Ok(index_column(name, what, column, columns)? as u64),
        };
        Ok(Drawn {
            source: sampler.source(place)?,
            shape: &sampler.shape,
            used: sampler.used_columns(),
        })
    }

    /// The part of a sample that is the argument `name`.
    fn part(self, name: &str, columns: &[SamplePart]) -> PyResult<SamplePart> {
        let refused = |what: String| PyValueError::new_err(format!("sample: '{name}': {what}"));
        let (mut of, mut times) = (Vec::new(), 1);
        let lengths = self.shape.iter().map(|length| match length {
            SampledLength::Fixed(n) => Ok(DrawnLength::Fixed(*n)),
            SampledLength::Of(other) => {
                let at = column_at(name, "shape", other, columns)?;
                match &columns[at].value {
                    SampleValue::Entry(ragged) => {
                        of.push((at as u64, Arc::clone(ragged)));
                        Ok(DrawnLength::Of(at))
                    }
                    SampleValue::Row => Ok(DrawnLength::Fixed(columns[at].ty.shape[1])),
                    _ => Err(refused(format!(
                        "shape: expected a column of arrays, '{other}' has one number a sample"
                    ))),
                }
            }
        });
        let lengths: Vec<DrawnLength> = lengths.collect::<PyResult<_>>()?;
        let n = self.source.item_count().unwrap_or(0);
        if !lengths.is_empty() && i32::try_from(n).is_err() {
            return Err(refused(format!(
                "an array of items holds those below {}, the sampler has {n}",
                1u32 << 31
            )));
        }
        let mut fixed = vec![1];
        for length in &lengths {
            if let DrawnLength::Fixed(n) = length {
                fixed.push(*n);
            }
        }
        if !of.is_empty() {
            times = element_count(&fixed)?;
            fixed = vec![1, 2];
        }
        let (source, value) = match (lengths.is_empty(), of.is_empty()) {
            (true, _) => (self.source, SampleValue::Int),
            (false, true) => (self.source, SampleValue::Row),
            (false, false) => {
                let source = Box::new(self.source);
                let source = Source::PerEntry { source, of, times };
                (source, SampleValue::Drawn(lengths))
            }
        };
        Ok(SamplePart {
            name: name.to_owned(),
            ty: Type::new(DType::U32, &fixed),
            source,
            value,
        })
    }
}

/// As [`column_at`], of a column that a sampler of the caller's own may see.
fn seen_column(name: &str, wanted: &str, feeds: &[SamplePart]) -> PyResult<usize> {
    let at = column_at(name, "columns", wanted, feeds)?;
    match feeds[at].value {
        SampleValue::WideInt | SampleValue::Entry(_) | SampleValue::Drawn(_) => {
            Err(PyValueError::new_err(format!(
                "sample: '{name}': columns: expected a column of numbers or of arrays of one length, '{wanted}' \
                 is another"
            )))
        }
        _ => Ok(at),
    }
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
    let py = described.py();
    let mut parts = Vec::new();
    for (name, sampler) in entries("sample", given)? {
        if let Ok(rank) = sampler.cast::<PyRank>() {
            described.set_item(&name, (PyTuple::empty(py), PyTuple::empty(py), "float"))?;
            parts.push(SamplePart {
                ty: Type::new(DType::F32, &[1]),
                source: Source::Rank(Arc::clone(&rank.get().of)),
                value: SampleValue::Float,
                name,
            });
            continue;
        }
        let drawn = Drawn::new(&name, &sampler, columns)?;
        let shape = drawn.shape.iter().map(|length| match length {
            SampledLength::Fixed(n) => Some(*n),
            SampledLength::Of(_) => None,
        });
        let shape: Vec<Option<usize>> = shape.collect();
        described.set_item(&name, (shape, &drawn.used, "int"))?;
        parts.push(drawn.part(&name, columns)?);
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
    pub(in crate::python) fn new<'py>(
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
    pub(in crate::python) fn raised(&self, py: Python<'_>, error: PyErr) -> PyErr {
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
