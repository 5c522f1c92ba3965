//! Python's objects made of a function's results.
//!
//! What a call gives is described by a list of [`ResultStep`]s. Each makes one object, of a result of the
//! function or of objects of earlier steps; the last one is what the call gives. So no nesting is too deep,
//! and what is one object twice in the result is that in each call.

use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use super::conditions::CallSlots;
use super::constants::ComparedConstant;
use super::datum;
use super::leaves::LeafKind;
use crate::ir::{Datum, ValueKind};
use crate::python::Object;
use crate::python::interop::items::items;

/// One step: how an object is made.
pub(super) enum ResultStep {
    /// Of a result, by number.
    Result(usize, LeafKind),
    /// A tuple of objects that were made before.
    Tuple(Vec<usize>),
    /// A list of such.
    List(Vec<usize>),
    /// A dict with these keys.
    Dict(Vec<ComparedConstant>, Vec<usize>),
    /// Always the same object.
    Object(Py<PyAny>),
    /// What the call was given, or what was read of it, by slot.
    Slot(usize),
    /// What a callable gives for such objects.
    Call(Py<PyAny>, Vec<usize>),
}

/// What makes the object that a call gives.
pub(super) enum Boxing {
    /// A list of what is made.
    Makes(Vec<ResultStep>),
    /// A callable, which gets all results in a tuple.
    Build(Py<PyAny>),
}

impl ResultStep {
    fn new(
        make: &Bound<'_, PyTuple>,
        number: usize,
        results: &[&ValueKind],
        slots: usize,
    ) -> PyResult<Self> {
        let kind: String = make.get_item(0)?.extract()?;
        let wrong = |what: &str| PyValueError::new_err(format!("outputs: '{kind}': {what}"));
        let at = |at: usize| make.get_item(at).map_err(|_| wrong("there is more to it"));
        let below = |object: Object<'_>, limit: usize| -> PyResult<usize> {
            let found: usize = object.extract()?;
            match found < limit {
                true => Ok(found),
                false => Err(wrong(&format!(
                    "expected a number below {limit}, got {found}"
                ))),
            }
        };
        let parts = |object: Object<'_>| items("outputs", &object, None, |o| below(o, number));
        Ok(match kind.as_str() {
            "tuple" => ResultStep::Tuple(parts(at(1)?)?),
            "list" => ResultStep::List(parts(at(1)?)?),
            "dict" => {
                let keys = items("outputs", &at(1)?, None, |o| {
                    ComparedConstant::new("outputs", &o)
                })?;
                let parts = parts(at(2)?)?;
                if keys.len() != parts.len() {
                    return Err(wrong("expected as many values as keys"));
                }
                ResultStep::Dict(keys, parts)
            }
            "object" => ResultStep::Object(at(1)?.unbind()),
            "slot" => ResultStep::Slot(below(at(1)?, slots)?),
            "call" => ResultStep::Call(at(1)?.unbind(), parts(at(2)?)?),
            _ => {
                let result = below(at(1)?, results.len())?;
                let form = LeafKind::of_result(&kind, results[result]);
                let form = form.ok_or_else(|| {
                    wrong(&format!("result {result} is of kind {}", results[result]))
                })?;
                ResultStep::Result(result, form)
            }
        })
    }
}

impl Boxing {
    /// What `outputs` says, or a callable.
    ///
    /// # Errors
    /// ValueError or TypeError for what is no list of makes, of these results and slots.
    pub(super) fn new(
        outputs: Option<&Object<'_>>,
        build: Option<&Object<'_>>,
        results: &[&ValueKind],
        slots: usize,
    ) -> PyResult<Self> {
        let outputs = match (outputs, build) {
            (Some(outputs), None) => outputs,
            (None, Some(build)) => return Ok(Boxing::Build(build.clone().unbind())),
            _ => {
                return Err(PyValueError::new_err(
                    "outputs: expected these or build, and not both",
                ));
            }
        };
        let mut number = 0;
        let makes = items("outputs", outputs, None, |make| {
            number += 1;
            ResultStep::new(&make.extract()?, number - 1, results, slots)
        })?;
        match makes.is_empty() {
            true => Err(PyValueError::new_err("outputs: expected one at least")),
            false => Ok(Boxing::Makes(makes)),
        }
    }

    /// The object that a call gives.
    ///
    /// # Errors
    /// What a callable raises; MemoryError.
    #[inline]
    pub(super) fn make<'py>(
        &self,
        py: Python<'py>,
        results: &[Datum],
        slots: &CallSlots<'py>,
    ) -> PyResult<Object<'py>> {
        let makes = match self {
            Boxing::Makes(makes) => makes,
            Boxing::Build(build) => {
                let objects = results.iter().map(|r| datum::object(py, r.clone()));
                let objects = objects.collect::<PyResult<Vec<_>>>()?;
                return build.bind(py).call1((PyTuple::new(py, objects)?,));
            }
        };
        let mut made: SmallVec<[Object<'py>; 8]> = SmallVec::new();
        for making in makes {
            let of = |parts: &[usize]| -> Vec<Object<'py>> {
                parts.iter().map(|&part| made[part].clone()).collect()
            };
            let object = match making {
                ResultStep::Result(result, form) => form.make(py, &results[*result])?,
                ResultStep::Tuple(parts) => PyTuple::new(py, of(parts))?.into_any(),
                ResultStep::List(parts) => PyList::new(py, of(parts))?.into_any(),
                ResultStep::Dict(keys, parts) => {
                    let dict = PyDict::new(py);
                    for (key, &part) in keys.iter().zip(parts) {
                        dict.set_item(key.0.bind(py), &made[part])?;
                    }
                    dict.into_any()
                }
                ResultStep::Object(object) => object.bind(py).clone(),
                ResultStep::Slot(slot) => match &slots[*slot] {
                    Some(object) => object.clone(),
                    None => return Err(PyValueError::new_err("outputs: a slot is empty")),
                },
                ResultStep::Call(callable, parts) => {
                    callable.bind(py).call1(PyTuple::new(py, of(parts))?)?
                }
            };
            made.push(object);
        }
        made.pop()
            .ok_or_else(|| PyValueError::new_err("outputs: expected one at least"))
    }

    /// Shows the collector what is held.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Boxing::Build(build) => visit.call(build),
            Boxing::Makes(makes) => makes.iter().try_for_each(|making| match making {
                ResultStep::Object(object) | ResultStep::Call(object, _) => visit.call(object),
                _ => Ok(()),
            }),
        }
    }
}
