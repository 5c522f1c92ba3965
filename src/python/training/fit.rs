//! `fit`: training without Python in the loop.
//!
//! Training is a [long call](crate::python::interop::long_call). Callbacks run in the thread that called, when
//! an epoch ends; one that raises ends the run.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::fit_function::{FittedFunction, TrainedLoss};
use super::optim::PyOptimizer;
use super::program::{BY_INPUT, PyProgram, bind, bind_mapped, input_id, place};
use super::sampling::PySampler;
use crate::array::Array;
use crate::error::Result;
use crate::exec::Program;
use crate::process::Mutex;
use crate::python::interop::argument::{Given, Integer};
use crate::python::interop::convert::type_name;
use crate::python::interop::long_call::{Caller, abandonable_long_call, wait_for_abandoned};
use crate::python::interop::once::intern;
use crate::python::variables::variable::PyVariable;
use crate::train::{self, Fit, Flow, Observer, Source};

/// A record that grows while a run goes on.
pub(in crate::python) type GrowingHistory = Arc<Mutex<train::History>>;

/// The record of a training run. ``loss`` and ``seconds`` are lists with an entry for each epoch,
/// ``samples`` is the number of samples in an epoch, and ``samples_per_second`` the speed of the whole
/// run.
#[pyclass(name = "History", module = "wyrmling", frozen)]
pub(in crate::python) struct PyHistory {
    /// One for all callbacks of a run: a copy for each epoch would cost the square of their
    /// number.
    pub(in crate::python) record: GrowingHistory,
    /// How many epochs had ended; later ones are not shown.
    pub(in crate::python) epochs: usize,
}

impl PyHistory {
    /// The record as it was when this was made.
    pub(in crate::python) fn read(&self) -> train::History {
        let record = self.record.lock();
        train::History {
            loss: record.loss[..self.epochs].to_vec(),
            seconds: record.seconds[..self.epochs].to_vec(),
            samples: record.samples,
        }
    }
}

#[pymethods]
impl PyHistory {
    /// The loss of each epoch: the sum over its batches, each taken just before its update.
    #[getter]
    fn loss<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.read().loss)
    }

    /// Wall-clock seconds of each epoch, shuffling and sampling included.
    #[getter]
    fn seconds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.read().seconds)
    }

    /// The loss and the seconds of the last epoch, or None: at once, where `loss` and `seconds` copy
    /// all of them.
    #[getter]
    fn last(&self) -> Option<(f64, f64)> {
        let (record, last) = (self.record.lock(), self.epochs.checked_sub(1)?);
        Some((record.loss[last], record.seconds[last]))
    }

    /// Samples in an epoch.
    #[getter]
    fn samples(&self) -> usize {
        self.record.lock().samples
    }

    /// Samples per second over the whole run.
    #[getter]
    fn samples_per_second(&self) -> f64 {
        self.read().samples_per_second()
    }

    fn __len__(&self) -> usize {
        self.epochs
    }

    fn __repr__(&self) -> String {
        let record = self.read();
        let loss = match record.loss.as_slice() {
            [] => String::new(),
            [only] => format!(", loss {only:.6}"),
            [first, .., last] => format!(", loss {first:.6} to {last:.6}"),
        };
        format!(
            "<History of {} epochs{loss}, {:.3e} samples/s>",
            self.epochs,
            record.samples_per_second()
        )
    }
}

/// Calls what watches a run, in the thread that called `fit`.
struct Watcher<'a> {
    caller: &'a Caller,
    callbacks: Arc<[Py<PyAny>]>,
    record: GrowingHistory,
}

impl Observer for Watcher<'_> {
    fn epoch(&mut self, epoch: usize, history: &train::History) -> Result<Flow> {
        if self.callbacks.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut record = self.record.lock();
        let known = record.loss.len();
        record.loss.extend_from_slice(&history.loss[known..]);
        record.seconds.extend_from_slice(&history.seconds[known..]);
        record.samples = history.samples;
        drop(record);
        let callbacks = Arc::clone(&self.callbacks);
        let history = PyHistory {
            record: Arc::clone(&self.record),
            epochs: history.loss.len(),
        };
        self.caller
            .python(move |py| call(py, &callbacks, epoch, history))
    }
}

/// Calls what watches a run. `None` and false go on, true ends the run.
fn call(
    py: Python<'_>,
    callbacks: &[Py<PyAny>],
    epoch: usize,
    history: PyHistory,
) -> PyResult<Flow> {
    let history = Bound::new(py, history)?;
    let mut flow = Flow::Continue;
    for callback in callbacks {
        let answer = callback.bind(py).call1((epoch, &history))?;
        if answer.is_none() {
            continue;
        }
        let Ok(stop) = answer.extract::<bool>() else {
            return Err(PyTypeError::new_err(format!(
                "callback: expected it to return None or a bool (True stops), got {}",
                type_name(&answer)
            )));
        };
        if stop {
            flow = Flow::Stop;
        }
    }
    Ok(flow)
}

/// How many of something, `least` or more.
fn size(name: &str, n: &Integer, least: i128) -> PyResult<usize> {
    Ok(n.within(name, least..=usize::MAX as i128)? as usize)
}

/// Where the values of each input come from, by the input's identity.
type InputSources = Vec<(u64, Source)>;

/// Where each input's values come from. Those of `tables` are read at once.
fn sources(
    program: &Program,
    tables: &[(u64, Array)],
    columns: Given<Bound<'_, PyDict>>,
    sample: Option<Given<Bound<'_, PyDict>>>,
) -> PyResult<InputSources> {
    let mut sources = Vec::new();
    for (key, value) in columns.named("columns", BY_INPUT)? {
        let at = place(program, "columns", &key)?;
        let id = input_id("columns", &key)?;
        let is_table = tables.iter().any(|(table, _)| *table == id);
        let mapped = match is_table {
            true => None,
            false => bind_mapped(program, at, &value)?,
        };
        let source = match mapped {
            Some(mapped) => Source::Mapped(mapped),
            None => Source::Column(bind(program, at, &value)?),
        };
        sources.push((id, source));
    }
    let sample = sample.map(|given| given.named("sample", BY_INPUT));
    for (key, value) in sample.transpose()?.into_iter().flatten() {
        place(program, "sample", &key)?;
        let id = input_id("sample", &key)?;
        let Ok(sampler) = value.cast::<PySampler>() else {
            return Err(PyTypeError::new_err(format!(
                "sample: expected a sampler such as wyrmling.sampling.Uniform, got {}",
                type_name(&value)
            )));
        };
        sources.push((id, sampler.get().for_input()?));
    }
    Ok(sources)
}

/// The program with its tables of indices, which are the same for every batch: as they were, or as they
/// are given. What a sampler draws is no table.
fn with_tables(
    program: Arc<Program>,
    tables: &mut Vec<(u64, Array)>,
    sources: &mut InputSources,
) -> Result<Arc<Program>> {
    let drawn = |id: u64, sources: &[(u64, Source)]| {
        let mut samplers = sources.iter();
        samplers.any(|(other, source)| *other == id && source.item_count().is_some())
    };
    tables.retain(|(id, _)| !drawn(*id, sources));
    for (id, value) in &mut *tables {
        if let Some(at) = sources.iter().position(|(other, _)| other == id)
            && let (_, Source::Column(given)) = sources.remove(at)
        {
            *value = given;
        }
    }
    match tables.is_empty() {
        true => Ok(program),
        false => program.holding(tables).map(Arc::new),
    }
}

/// What is trained: a loss, where its values come from, and, of a function, what Python knows of it.
///
/// # Errors
/// TypeError if there is no loss, and whatever does not fit.
fn trained_loss<'py>(
    loss: &Bound<'py, PyAny>,
    columns: Given<Bound<'py, PyDict>>,
    sample: Option<Given<Bound<'py, PyDict>>>,
    parameters: Option<Given<Bound<'py, PyDict>>>,
) -> PyResult<(TrainedLoss, InputSources, Option<FittedFunction>)> {
    let mut tables;
    let program = if let Ok(program) = loss.cast::<PyProgram>() {
        tables = program.get().tables.clone();
        Arc::clone(&program.get().inner)
    } else if let Ok(variable) = loss.cast::<PyVariable>() {
        let node = variable.get().handle.node()?;
        tables = node.looked_up()?;
        Arc::new(node.freeze()?)
    } else if loss.is_callable() {
        let mut function = FittedFunction::new(loss, columns, sample, parameters)?;
        let sources = std::mem::take(&mut function.sources);
        return Ok((function.trained.clone(), sources, Some(function)));
    } else {
        return Err(PyTypeError::new_err(format!(
            "loss: expected a Variable, a Program or a function, got {}",
            type_name(loss)
        )));
    };
    if parameters.is_some() {
        return Err(PyTypeError::new_err(
            "parameters: they are for a loss that is a function; a graph has its own",
        ));
    }
    let mut sources = sources(&program, &tables, columns, sample)?;
    let program = with_tables(program, &mut tables, &mut sources)?;
    Ok((TrainedLoss::Program(program), sources, None))
}

/// Minimises a loss over data by stochastic gradient steps, at native speed.
///
/// ``loss`` is a variable, a Program or a function (see below); the sum of its elements over each
/// batch is what is minimised. ``columns`` maps inputs to arrays with a row for each sample,
/// ``sample`` maps index inputs to samplers that draw anew for every sample. Samples are shuffled
/// every epoch and all are used, in batches of ``batch_size``; the last batch may be shorter. An
/// ``IndexInput`` that is only looked up in (``features`` in ``w[features[i]]``) is no column
/// but a table, the same for every batch. ``columns`` may give it; else it is as it is now, or as
/// it was when the program was frozen.
///
/// ``threads`` workers (0: one for each core) update the parameters without locks (Hogwild;
/// Recht et al., 2011). Where samples have indices of two tables that have at most 32 MiB, several
/// workers train blocks of samples without a common row at a time (Gemulla et al., 2011). So does one
/// worker, where they have more than 2 MiB, since a block fits a core's cache. What ``Uniform``,
/// ``Dynamic`` and ``WARP`` draw for one of these tables is mostly of the rows of the block, others in
/// each epoch. Equal seeds give equal bits with ``threads=1``, and for any fixed number with
/// ``deterministic=True``, where workers take turns and there are no blocks.
///
/// ``callback(epoch, history)`` is called after every epoch (numbered from 0), may read
/// parameters, ends the run by returning True, and passes on what it raises. ``progress``
/// shows a bar if tqdm is installed, else a line for each epoch. Ctrl-C ends the run in time;
/// parameters keep what they have learned.
///
/// To go on with a run, give ``first_epoch`` the number of epochs that were trained before:
/// ``fit`` then trains ``epochs - first_epoch`` more, none if both are equal. What is drawn in an
/// epoch, and the order of its samples, depends on the seed and on the number of the epoch alone.
/// So with the parameters and the optimizer as they were after epoch k - 1 (``load_checkpoint``),
/// the same arguments and ``first_epoch=k`` give the bits of the run that was not interrupted,
/// wherever equal seeds do.
///
/// Columns are copied when ``fit`` begins, but for those that are a ``numpy.memmap``, as of
/// ``np.load(path, mmap_mode="r")``: these are read from the file as they are needed, and may be
/// larger than memory (docs/training.md). Such a column is in C order and has the input's type,
/// float32 or float64 (for a function either of them), or uint32, int32 or int64 for indices; other
/// arrays are copied. If the file is changed during the run so that an index is out of the range
/// that it had at the start, the run ends with IndexError.
///
/// While it runs with ``threads=1``, other threads that read its parameters wait until the epoch
/// ends. Operators of your own that the loss calls cannot read them then, and can never change
/// them: either is a RuntimeError, since it would wait for itself.
///
/// ``loss`` may also be a plain Python function of parameters and one sample, that returns a
/// number. The sum over a batch is what is minimised. ``columns``, ``sample`` and ``parameters``
/// are dicts by the names of its arguments; ``parameters`` has a Parameter for each that is
/// trained. The function is read once and compiled, with loops and branches, and no Python runs in
/// training. An integer of a column is an int to it, a number of a float column a float (of 64
/// bits), a row of a column with more axes an array of the column's type, in which integers are
/// int64, and so is an entry of a ``Ragged``, or of a list of arrays; a sampler gives an int, or an
/// array of its ``shape``. A parameter is an array of its type, which may not be changed, or a
/// number if it has no axes; of one that is only looked up in, by ``P[i]``, rows are read and rows
/// are updated, as in graphs. What it finds outside of its arguments is read when ``fit`` is called.
/// SourceError says what cannot be read, before anything changes. Where the function raises, the run
/// ends with its exception, which names the sample; the sample's batch is not applied.
///
/// Everything is checked before the first step. Raises ValueError, TypeError or IndexError if
/// settings or data do not fit, RuntimeError if a parameter is being trained elsewhere,
/// FloatingPointError if the loss becomes NaN or infinite.
///
/// >>> w, x, y = Parameter(0.0), Input([0.0]), Input([0.0])
/// >>> loss = (w * x - y).square().sum()
/// >>> history = fit(loss, {x: [1.0, 2.0], y: [3.0, 6.0]}, optimizer=SGD(lr=0.1),
/// ...               epochs=50, batch_size=2)
/// >>> round(w.item(), 6), len(history.loss)
/// (3.0, 50)
/// >>> def squared(w, x, y):
/// ...     return (w * x - y) ** 2
/// >>> history = fit(squared, {"x": [1.0, 2.0], "y": [4.0, 8.0]}, parameters={"w": w},
/// ...               optimizer=SGD(lr=0.1), epochs=50, batch_size=2)
/// >>> round(w.item(), 6)
/// 4.0
#[pyfunction]
#[pyo3(signature = (
    loss,
    columns,
    *,
    optimizer,
    parameters=None,
    sample=None,
    epochs=Integer::default(1),
    batch_size=Integer::default(64),
    threads=Integer::default(1),
    seed=Integer::default(0),
    deterministic=Given::default(false),
    callback=None,
    progress=Given::default(false),
    first_epoch=Integer::default(0),
), text_signature = "(loss, columns, *, optimizer, parameters=None, sample=None, epochs=1, \
    batch_size=64, threads=1, seed=0, deterministic=False, callback=None, progress=False, \
    first_epoch=0)")]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of the Python function"
)]
pub(in crate::python) fn fit(
    py: Python<'_>,
    loss: &Bound<'_, PyAny>,
    columns: Given<Bound<'_, PyDict>>,
    optimizer: &Bound<'_, PyAny>,
    parameters: Option<Given<Bound<'_, PyDict>>>,
    sample: Option<Given<Bound<'_, PyDict>>>,
    epochs: Integer,
    batch_size: Integer,
    threads: Integer,
    seed: Integer,
    deterministic: Given<bool>,
    callback: Option<Bound<'_, PyAny>>,
    progress: Given<bool>,
    first_epoch: Integer,
) -> PyResult<PyHistory> {
    if let Some(callback) = callback.as_ref().filter(|c| !c.is_callable()) {
        return Err(PyTypeError::new_err(format!(
            "callback: expected a function, got {}",
            type_name(callback)
        )));
    }
    let Ok(optimizer) = optimizer.cast::<PyOptimizer>() else {
        return Err(PyTypeError::new_err(format!(
            "optimizer: expected one such as wyrmling.SGD(lr=0.1), got {}",
            optimizer.repr()?
        )));
    };
    let optimizer = Arc::clone(&optimizer.get().inner);
    let (trained, sources, function) = trained_loss(loss, columns, sample, parameters)?;
    let epochs = size("epochs", &epochs, 1)?;
    let first_epoch = first_epoch.within("first_epoch", 0..=epochs as i128)? as usize;
    let settings = Fit {
        sources,
        epochs: first_epoch..epochs,
        batch_size: size("batch_size", &batch_size, 1)?,
        threads: size("threads", &threads, 0)?,
        seed: seed.within("seed", 0..=u64::MAX.into())? as u64,
        deterministic: deterministic.named("deterministic", "True or False")?,
    };
    let progress = progress.named("progress", "True or False")?;
    wait_for_abandoned()?;
    let mut callbacks: Vec<Py<PyAny>> = callback.into_iter().map(Bound::unbind).collect();
    let bar = if progress {
        let bar = py.import("wyrmling.progress")?.getattr("Progress")?;
        Some(bar.call1((epochs, first_epoch))?)
    } else {
        None
    };
    callbacks.extend(bar.clone().map(Bound::unbind));
    let callbacks = Arc::from(callbacks);
    let mut sources = settings.sources.iter();
    let stays_in_thread = sources.any(|(_, source)| source.stays_in_thread())
        || match &trained {
            TrainedLoss::Program(program) => program.stays_in_thread(),
            TrainedLoss::Function(_) => false,
        };
    let work = move |caller: &Caller| {
        let record = GrowingHistory::default();
        let mut watcher = Watcher {
            caller,
            callbacks,
            record,
        };
        let (stop, watcher) = (caller.stop(), &mut watcher);
        match &trained {
            TrainedLoss::Program(program) => {
                train::fit(program, &settings, &optimizer, stop, watcher)
            }
            TrainedLoss::Function(function) => {
                train::fit_function(function, &settings, &optimizer, stop, watcher)
            }
        }
    };
    // Operators and samplers of the caller's own are Python code, which must not be abandoned.
    let result = abandonable_long_call(py, !stays_in_thread, work);
    if let Some(bar) = bar {
        bar.call_method0(intern!(py, "close"))?;
    }
    let history = result.map_err(|error| match &function {
        None => error,
        Some(function) => function.raised(py, error),
    })?;
    Ok(PyHistory {
        epochs: history.loss.len(),
        record: Arc::new(Mutex::new(history)),
    })
}
