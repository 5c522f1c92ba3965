//! What is called in the place of a Python function: runs what was compiled for such a call.
//!
//! A call goes through the specializations of the table. Where none fits, one is made, and where that
//! cannot be, or a run is left, a Python function goes on, which runs or traces the original.

use std::sync::OnceLock;

use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};

use super::conditions::CallSlots;
use super::specialization::PySpecialization;
use super::table::PySpecializationTable;
use crate::error::Error;
use crate::exec::Outcome;
use crate::ir::Datum;
use crate::python::Object;
use crate::python::interop::convert::type_name;
use crate::python::interop::once::{Once, intern};
use crate::python::variables::variable::PyVariable;

/// A function that runs what was compiled for its arguments.
///
/// ``callbacks`` is asked at the first call for ``table()``. A call runs the first of the table's
/// specializations that it fits. Where there is none, ``callbacks.specialize(args, kwargs)`` gives
/// one, or None; one thread at a time does that for a table. Where that does not fit either, or a
/// run was left ``most_leaves`` times (never, if that is None), or is left now,
/// ``callbacks.fallback(specialization, exit, args, kwargs)`` gives the result: ``specialization``
/// is None if there is none, ``exit`` the number of the exit, or the exception of an operator that
/// could not do what was asked, or None where nothing ran. With ``watches`` it is called at once
/// while ``sys.settrace`` or ``sys.monitoring`` watches.
///
/// ``traced``, if it is given, is called instead with Variables among the arguments, and where it is known
/// that such calls are not compiled.
///
/// Any threads may call it at once.
#[pyclass(
    name = "Dispatcher",
    module = "wyrmling._core",
    frozen,
    weakref,
    subclass
)]
pub(super) struct PyDispatcher {
    function: Py<PyAny>,
    callbacks: Py<PyAny>,
    traced: Option<Py<PyAny>>,
    table: OnceLock<Py<PySpecializationTable>>,
    most_leaves: u32,
    watches: bool,
}

/// The functions of Python that say whether a debugger or coverage watches.
struct Watching {
    gettrace: Py<PyAny>,
    /// `sys.monitoring.get_tool`, which Python 3.11 has not, and what it is called with.
    get_tool: Option<(Py<PyAny>, Vec<Py<PyTuple>>)>,
}

impl Watching {
    fn new(py: Python<'_>) -> PyResult<Self> {
        /// `sys.monitoring` knows tools 0 to 5.
        const TOOLS: i32 = 6;
        let sys = py.import(intern!(py, "sys"))?;
        let get_tool = match sys.getattr(intern!(py, "monitoring")) {
            Ok(monitoring) => {
                let numbers = (0..TOOLS).map(|n| Ok(PyTuple::new(py, [n])?.unbind()));
                let numbers = numbers.collect::<PyResult<_>>()?;
                Some((monitoring.getattr("get_tool")?.unbind(), numbers))
            }
            Err(_) => None,
        };
        Ok(Watching {
            gettrace: sys.getattr("gettrace")?.unbind(),
            get_tool,
        })
    }
}

/// Whether a debugger or coverage watches what Python runs.
fn is_watched(py: Python<'_>) -> PyResult<bool> {
    static WATCHING: Once<Watching> = Once::new();
    let watching = WATCHING.get_or_try_init(py, || Watching::new(py))?;
    if !watching.gettrace.bind(py).call0()?.is_none() {
        return Ok(true);
    }
    if let Some((get_tool, numbers)) = &watching.get_tool {
        for number in numbers {
            if !get_tool.bind(py).call1(number.bind(py))?.is_none() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether some argument is a variable.
fn has_variables(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> bool {
    let is = |value: &Object<'_>| value.is_instance_of::<PyVariable>();
    args.iter_borrowed().any(|arg| is(&arg))
        || kwargs.is_some_and(|kwargs| kwargs.iter().any(|(_, value)| is(&value)))
}

impl PyDispatcher {
    #[inline]
    fn known(&self, py: Python<'_>) -> PyResult<&PySpecializationTable> {
        Ok(match self.table.get() {
            Some(table) => table.get(),
            None => self.known_first(py)?.get(),
        })
    }

    #[cold]
    fn known_first(&self, py: Python<'_>) -> PyResult<&Py<PySpecializationTable>> {
        let found = self.callbacks.bind(py).call_method0(intern!(py, "table"))?;
        let found = found.cast_into::<PySpecializationTable>()?.unbind();
        // Another thread may have asked while Python ran: then what it found stays.
        Ok(self.table.get_or_init(|| found))
    }

    fn fall_back<'py>(
        &self,
        py: Python<'py>,
        specialization: Option<&Py<PySpecialization>>,
        exit: Option<Object<'py>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let kwargs = kwargs.map_or_else(|| PyDict::new(py), Bound::clone);
        let given = (specialization, exit, args, kwargs);
        self.callbacks
            .bind(py)
            .call_method1(intern!(py, "fallback"), given)
    }

    /// The result of a call by a specialization that there is; `None` if none fits.
    fn found<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Object<'py>>> {
        let table = self.known(py)?;
        let (entries, last) = table.entries();
        let function = self.function.bind(py);
        let places = (last < entries.len()).then_some(last);
        let places = places.into_iter().chain(0..entries.len());
        for (number, place) in places.enumerate() {
            if number > 0 && place == last {
                continue;
            }
            let entry = &entries[place];
            if let Some((slots, values)) = entry.get().fits(function, args, kwargs)? {
                table.use_at(place, entry.get());
                return self.run(py, entry, (slots, values), args, kwargs).map(Some);
            }
        }
        Ok(None)
    }

    /// Runs a specialization that fits.
    #[inline]
    fn run<'py>(
        &self,
        py: Python<'py>,
        entry: &Py<PySpecialization>,
        (slots, values): (CallSlots<'py>, Vec<Datum>),
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let specialization = entry.get();
        if specialization.times_left() >= self.most_leaves {
            return self.fall_back(py, Some(entry), None, args, kwargs);
        }
        let exit = match specialization.run(py, values) {
            None => {
                return match &self.traced {
                    Some(traced) => traced.bind(py).call(args, kwargs),
                    None => self.fall_back(py, Some(entry), None, args, kwargs),
                };
            }
            Some(Ok(Outcome::Returned(results))) => {
                return specialization.boxed(py, &results, &slots);
            }
            Some(Ok(Outcome::Left(exit))) => PyInt::new(py, exit).into_any(),
            Some(Err(error)) => match error {
                Error::Memory(_)
                | Error::Interrupted
                | Error::Raised(_)
                | Error::State(_)
                | Error::File(..) => return Err(error.into()),
                // Python's own function raises its own exception.
                _ => PyErr::from(error).into_value(py).into_bound(py).into_any(),
            },
        };
        specialization.left();
        self.fall_back(py, Some(entry), Some(exit), args, kwargs)
    }

    /// Makes a specialization for a call, if another thread has not: whether it did, or none may be made.
    fn specialize<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<bool> {
        let table = self.known(py)?;
        if table.is_closed() {
            return Ok(true);
        }
        let Some(turn) = table.turn()? else {
            return Ok(false);
        };
        let kwargs = kwargs.map_or_else(|| PyDict::new(py), Bound::clone);
        let callbacks = self.callbacks.bind(py);
        let made = callbacks.call_method1(intern!(py, "specialize"), (args, kwargs))?;
        if !made.is_none() {
            let made = made.cast::<PySpecialization>().map_err(|_| {
                PyTypeError::new_err(format!(
                    "specialize: expected a Specialization or None, got {}",
                    type_name(&made)
                ))
            })?;
            table.add(made);
        }
        drop(turn);
        Ok(true)
    }
}

#[pymethods]
impl PyDispatcher {
    #[new]
    #[pyo3(
        signature = (function, callbacks, traced=None, *, most_leaves=Some(3), watches=false),
        text_signature = "(function, callbacks, traced=None, *, most_leaves=3, watches=False)"
    )]
    fn create(
        function: &Bound<'_, PyAny>,
        callbacks: &Bound<'_, PyAny>,
        traced: Option<&Bound<'_, PyAny>>,
        most_leaves: Option<u32>,
        watches: bool,
    ) -> Self {
        PyDispatcher {
            function: function.clone().unbind(),
            callbacks: callbacks.clone().unbind(),
            traced: traced.map(|traced| traced.clone().unbind()),
            table: OnceLock::new(),
            most_leaves: most_leaves.unwrap_or(u32::MAX),
            watches,
        }
    }

    /// The function that is called.
    #[getter]
    fn function<'py>(&self, py: Python<'py>) -> Object<'py> {
        self.function.bind(py).clone()
    }

    /// What was compiled.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Option<Py<PySpecializationTable>>> {
        self.known(py)?;
        Ok(self.table.get().map(|table| table.clone_ref(py)))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let py = args.py();
        if let Some(traced) = &self.traced
            && has_variables(args, kwargs)
        {
            return traced.bind(py).call(args, kwargs);
        }
        if self.watches && is_watched(py)? {
            return self.fall_back(py, None, None, args, kwargs);
        }
        loop {
            if let Some(result) = self.found(py, args, kwargs)? {
                return Ok(result);
            }
            if self.specialize(py, args, kwargs)? {
                let found = self.found(py, args, kwargs)?;
                return found.map_or_else(|| self.fall_back(py, None, None, args, kwargs), Ok);
            }
        }
    }

    /// As a function does, it becomes a method when it is found in a class.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: Option<&Bound<'py, PyAny>>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let Some(instance) = instance.filter(|i| !i.is_none()) else {
            return Ok(slf.clone().into_any());
        };
        let types = py.import(intern!(py, "types"))?;
        types.call_method1(intern!(py, "MethodType"), (slf, instance))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.callbacks)?;
        visit.call(&self.traced)?;
        if let Some(table) = self.table.get() {
            visit.call(table)?;
        }
        Ok(())
    }
}
