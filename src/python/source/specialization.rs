//! A compiled function with the calls that it stands for.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use super::boxing::Boxing;
use super::compiled::PyCompiled;
use super::conditions::{CallSlots, Conditions};
use super::function::results;
use super::leaves::LeafKind;
use crate::error::Result;
use crate::exec::Outcome;
use crate::ir::Datum;
use crate::python::Object;
use crate::python::interop::items::items;

/// What runs, and how arguments and results are taken apart and put together.
struct BoundFunction {
    compiled: Py<PyCompiled>,
    /// The slots that hold the function's arguments, and what they are.
    inputs: Vec<(usize, LeafKind)>,
    boxing: Boxing,
}

/// A compiled function, the conditions under which it stands for a Python function, and how its
/// arguments and results are seen in Python.
///
/// ``positional`` and ``keywords`` say how it is called. Slot 0 is the function that is called; then come
/// the arguments, and one slot for each of ``steps``, which are ``(kind, base, key, test)``: what is
/// read of the slot ``base``, and what must be there.
///
/// Kinds: ``'self'``, ``'cell'``, ``'global'`` (of a function, else in its builtins),
/// ``'attribute'``, ``'item'``, ``'length'``, ``'type'``, ``'code'``, ``'defaults'``,
/// ``'kwdefaults'``, ``'called'`` (with a class), ``'registrations'`` (how often ``ABC.register``
/// was called). Tests: ``('any',)``, ``('absent',)``, ``('is', object)``, held weakly where
/// that can be, ``('equal', constant)`` of that type, ``('kind', 'float' | 'int' | 'bool' |
/// 'float64' | 'float32' | 'int64')`` and ``('array', dtype, ndim)``, exactly of these types,
/// ``('tuple' | 'list', length)``, ``('names', names)`` of a class's members, ``('dict', keys)``,
/// ``('instance', class)`` exactly, ``('same', slot)`` and ``('distinct', slots)``.
///
/// ``inputs`` are the slots whose numbers and arrays are the function's arguments, each tested by
/// ``'kind'`` or ``'array'``. ``outputs`` make the result: a list of ``(kind, result)`` with kind
/// ``'float'``, ``'int'``, ``'bool'``, ``'float64'``, ``'float32'``, ``'int64'`` or ``'array'``,
/// ``('tuple' | 'list', parts)``, ``('dict', keys, parts)``, ``('object', constant)``, ``('slot',
/// number)`` and ``('call', callable, parts)``, where parts are numbers of earlier ones; or
/// ``build`` is called with a tuple of all results. Without ``compiled`` such calls are known not
/// to be compiled.
///
/// Raises ValueError or TypeError for what does not fit together.
#[pyclass(name = "Specialization", module = "wyrmling._core", frozen, weakref)]
pub(super) struct PySpecialization {
    positional: usize,
    keywords: Vec<Py<PyString>>,
    conditions: Conditions,
    running: Option<BoundFunction>,
    /// How often the function was left.
    times_left: AtomicU32,
    /// When it was used last, by the clock of its table.
    pub(super) used: AtomicU64,
}

impl PySpecialization {
    /// What a call has, if it is one that this stands for.
    ///
    /// # Errors
    /// What reading an attribute raises; MemoryError.
    #[inline]
    pub(super) fn fits<'py>(
        &self,
        function: &Object<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<(CallSlots<'py>, Vec<Datum>)>> {
        if args.len() != self.positional
            || kwargs.map_or(0, |kwargs| kwargs.len()) != self.keywords.len()
        {
            return Ok(None);
        }
        let py = args.py();
        let mut slots: CallSlots<'py> = SmallVec::new();
        slots.push(Some(function.clone()));
        for arg in args.iter_borrowed() {
            slots.push(Some(arg.to_owned()));
        }
        if let Some(kwargs) = kwargs {
            for ((name, value), keyword) in kwargs.iter().zip(&self.keywords) {
                if !name.is(keyword) && !name.eq(keyword.bind(py))? {
                    return Ok(None);
                }
                slots.push(Some(value));
            }
        }
        // A dict may have changed while it was read.
        let first = 1 + self.positional + self.keywords.len();
        if slots.len() != first || !self.conditions.hold(py, &mut slots)? {
            return Ok(None);
        }
        let inputs = self.running.as_ref().map_or(&[][..], |r| &r.inputs);
        let mut values = Vec::with_capacity(inputs.len());
        for &(slot, kind) in inputs {
            let value = match &slots[slot] {
                Some(object) => kind.read(object)?,
                None => None,
            };
            match value {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some((slots, values)))
    }

    /// Runs the function, if there is one: its outcome.
    ///
    /// # Errors
    /// What an operator reports, and what ends long work.
    #[inline]
    pub(super) fn run(&self, py: Python<'_>, values: Vec<Datum>) -> Option<Result<Outcome>> {
        let running = self.running.as_ref()?;
        Some(running.compiled.get().run(py, values))
    }

    /// The object that a call gives.
    ///
    /// # Errors
    /// As [`Boxing::make`].
    #[inline]
    pub(super) fn boxed<'py>(
        &self,
        py: Python<'py>,
        results: &[Datum],
        slots: &CallSlots<'py>,
    ) -> PyResult<Object<'py>> {
        match &self.running {
            Some(running) => running.boxing.make(py, results, slots),
            None => Err(PyValueError::new_err("specialization: nothing is compiled")),
        }
    }

    /// Counts that the function was left.
    pub(super) fn left(&self) {
        let count = self.times_left.load(Relaxed);
        self.times_left.store(count.saturating_add(1), Relaxed);
    }

    /// Whether it can fit no call any more.
    pub(super) fn is_dead(&self, py: Python<'_>) -> bool {
        self.conditions.are_dead(py)
    }
}

#[pymethods]
impl PySpecialization {
    #[new]
    #[pyo3(signature = (positional, keywords, steps, inputs, compiled, outputs=None, build=None))]
    fn create(
        positional: u16,
        keywords: &Bound<'_, PyAny>,
        steps: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        compiled: Option<&Bound<'_, PyCompiled>>,
        outputs: Option<&Bound<'_, PyAny>>,
        build: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = keywords.py();
        let positional = usize::from(positional);
        let keywords = items("keywords", keywords, None, |name| {
            let name: String = name.extract()?;
            Ok(PyString::intern(py, &name).unbind())
        })?;
        let conditions = Conditions::new(1 + positional + keywords.len(), steps)?;
        let inputs = items("inputs", inputs, None, |slot| {
            let slot: usize = slot.extract()?;
            let kind = conditions.leaf(slot);
            let kind = kind.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "inputs: no step tests that slot {slot} is a number or array"
                ))
            })?;
            Ok((slot, kind))
        })?;
        let running = match compiled {
            None => None,
            Some(compiled) => {
                let function = &compiled.get().function.get().inner;
                let parameters = function.parameters();
                if parameters.len() != inputs.len() {
                    return Err(PyValueError::new_err(format!(
                        "inputs: expected {}, as the function has parameters, got {}",
                        parameters.len(),
                        inputs.len()
                    )));
                }
                for (number, (&id, (slot, kind))) in parameters.iter().zip(&inputs).enumerate() {
                    let (expected, found) = (function.kind(id), kind.value_kind());
                    if !expected.accepts(&found) {
                        return Err(PyValueError::new_err(format!(
                            "inputs: parameter {number} is {expected}, and slot {slot} is {found}"
                        )));
                    }
                }
                Some(BoundFunction {
                    compiled: compiled.clone().unbind(),
                    boxing: Boxing::new(outputs, build, &results(function), conditions.slots())?,
                    inputs,
                })
            }
        };
        Ok(PySpecialization {
            positional,
            keywords,
            conditions,
            running,
            times_left: AtomicU32::new(0),
            used: AtomicU64::new(0),
        })
    }

    /// What runs, or None.
    #[getter]
    fn compiled(&self, py: Python<'_>) -> Option<Py<PyCompiled>> {
        let running = self.running.as_ref()?;
        Some(running.compiled.clone_ref(py))
    }

    /// How often a run was left by a guard, or could not do what was asked.
    #[getter]
    #[inline]
    pub(super) fn times_left(&self) -> u32 {
        self.times_left.load(Relaxed)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.conditions.traverse(&visit)?;
        match &self.running {
            Some(running) => {
                visit.call(&running.compiled)?;
                running.boxing.traverse(&visit)
            }
            None => Ok(()),
        }
    }
}
