//! Functions that can be run.
//!
//! A run keeps the interpreter's lock if the run before was short: to let it go and take it again costs
//! more than most functions take. What runs long polls for signals, which also lets others have the
//! lock, and the next run then begins without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::datum;
use super::function::{PyIrFunction, primitive_of};
use crate::error::Result;
use crate::exec::{Compiled, Outcome, interpret};
use crate::ir::{Cfg, Datum, Function, ValueKind};
use crate::python::interop::items::items;
use crate::python::variables::collect::{Links, Root};
use crate::python::variables::holders::What;

/// A run that takes longer lets others have the interpreter's lock the next time.
const LONG: Duration = Duration::from_micros(100);

/// A function that is ready to run; ``IrFunction.compile`` makes one. Any threads may call it at once;
/// Ctrl-C ends a run.
#[pyclass(name = "Compiled", module = "wyrmling._core", frozen, weakref)]
pub(super) struct PyCompiled {
    pub(super) function: Py<PyIrFunction>,
    compiled: Compiled,
    /// Whether a run can take long: there is a loop, or an array.
    may_be_long: bool,
    /// Whether the last run took long.
    is_long: AtomicBool,
    /// What the collector sees of its operators.
    links: Links,
}

impl Root for PyCompiled {
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>)) {
        let mut held = Vec::new();
        self.compiled
            .operators(&mut |op| held.extend(primitive_of(op)));
        f(&self.links, held);
    }
}

impl PyCompiled {
    /// Runs the function.
    ///
    /// # Errors
    /// What an operator reports, and what ends long work.
    #[inline]
    pub(super) fn run(&self, py: Python<'_>, args: Vec<Datum>) -> Result<Outcome> {
        if !self.may_be_long {
            return self.compiled.run(&args);
        }
        let start = Instant::now();
        let outcome = match self.is_long.load(Relaxed) {
            true => py.detach(|| self.compiled.run(&args)),
            false => self.compiled.run(&args),
        };
        let is_long = start.elapsed() > LONG;
        if is_long != self.is_long.load(Relaxed) {
            self.is_long.store(is_long, Relaxed);
        }
        outcome
    }
}

/// Whether a run of a function can take long. (What is applied to single numbers takes microseconds; an
/// operator of the caller's own has the interpreter's lock while it runs anyway.)
fn may_be_long(function: &Function) -> bool {
    let array = |kind: &ValueKind| kind.array().is_some_and(|ty| ty.ndim() > 0);
    let graph = Cfg::new(function);
    function.kinds.iter().any(array) || graph.order().iter().any(|&block| graph.in_cycle(block))
}

/// Arguments of a function.
///
/// # Errors
/// TypeError for another number of them, and as [`datum::of_kind`].
pub(super) fn arguments(function: &Function, args: &Bound<'_, PyAny>) -> PyResult<Vec<Datum>> {
    let parameters = function.parameters();
    let mut place = 0;
    let found = items("args", args, Some(parameters.len()), |object| {
        let kind = function.kind(parameters[place]);
        place += 1;
        datum::of_kind(&format!("args[{}]", place - 1), &object, kind)
    })?;
    match found.len() == parameters.len() {
        true => Ok(found),
        false => Err(PyTypeError::new_err(format!(
            "{}: expected {} arguments, got {}",
            function.name,
            parameters.len(),
            found.len()
        ))),
    }
}

/// How a run ended, as an object: results in a list or tuple, or the number of an exit.
pub(super) fn outcome(py: Python<'_>, outcome: Outcome, list: bool) -> PyResult<Bound<'_, PyAny>> {
    match outcome {
        Outcome::Left(exit) => Ok(PyInt::new(py, exit).into_any()),
        Outcome::Returned(results) => {
            let objects = results.into_iter().map(|result| datum::object(py, result));
            let objects = objects.collect::<PyResult<Vec<_>>>()?;
            match list {
                true => Ok(PyList::new(py, objects)?.into_any()),
                false => Ok(PyTuple::new(py, objects)?.into_any()),
            }
        }
    }
}

#[pymethods]
impl PyIrFunction {
    /// Runs the function by the interpreter, one instruction after the other: a list of results, or the
    /// number of the exit by which it was left.
    fn interpret<'py>(&self, args: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = arguments(&self.inner, args)?;
        let function = &self.inner;
        let found = args
            .py()
            .detach(|| interpret(function, &values, usize::MAX))?;
        outcome(args.py(), found, true)
    }

    /// The function, simplified, as what runs it fast: machine code if ``native`` and where that is
    /// possible, else the interpreter. Compiling releases the interpreter's lock.
    #[pyo3(signature = (native=true))]
    fn compile(slf: &Bound<'_, Self>, native: bool) -> PyResult<PyCompiled> {
        let function = slf.get();
        let compiled = slf.py().detach(|| {
            let simple = match function.simple()? {
                // The collector is shown what has one holder: this one is to have a function of its own.
                shared if Arc::ptr_eq(&shared, &function.inner) => Arc::new((*shared).clone()),
                simple => simple,
            };
            match native {
                true => Compiled::new(simple),
                false => Compiled::interpreted(simple),
            }
        })?;
        Ok(PyCompiled {
            may_be_long: may_be_long(compiled.function()),
            function: slf.clone().unbind(),
            compiled,
            is_long: AtomicBool::new(false),
            links: Links::default(),
        })
    }
}

#[pymethods]
impl PyCompiled {
    /// The function that it runs.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyIrFunction> {
        self.function.clone_ref(py)
    }

    /// Whether it runs as machine code.
    #[getter]
    fn native(&self) -> bool {
        self.compiled.is_native()
    }

    /// The results for a tuple of arguments, one for each parameter; or the number of the exit by which
    /// the function was left. Raises TypeError or ValueError for arguments of other kinds, and what an
    /// operator raises.
    fn __call__<'py>(&self, args: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = arguments(&self.function.get().inner, args)?;
        let found = self.run(args.py(), values)?;
        outcome(args.py(), found, false)
    }

    fn __repr__(&self) -> String {
        format!("<Compiled '{}'>", self.function.get().inner.name)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.links.traverse(&visit)?;
        visit.call(&self.function)
    }

    fn __clear__(&self) {
        self.links.clear();
    }
}
