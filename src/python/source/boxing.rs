//! Python's objects made of a function's results.
//!
//! A straight list again: each entry makes one object, of a result or of objects that were made before,
//! and the last one is what the call gives. So no nesting is too deep, and what is one object twice in
//! the result is that in each call.

use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

use super::conditions::CallSlots;
use super::constants::ComparedConstant;
use super::datum;
use crate::array::DType;
use crate::ir::{Datum, ValueKind};
use crate::python::Object;
use crate::python::convert::{self, items};

/// How a result is seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultForm {
    Float,
    Scalar(DType),
    Int,
    Bool,
    Array,
}

pub(super) enum Making {
    Result(usize, ResultForm),
    Tuple(Vec<usize>),
    List(Vec<usize>),
    Dict(Vec<ComparedConstant>, Vec<usize>),
    Object(Py<PyAny>),
    Slot(usize),
    Call(Py<PyAny>, Vec<usize>),
}

/// What makes the object that a call gives.
pub(super) enum Boxing {
    /// A list of what is made.
    Makes(Vec<Making>),
    /// A callable, which gets all results in a tuple.
    Build(Py<PyAny>),
}

impl ResultForm {
    fn new(kind: &str, result: &ValueKind) -> Option<Self> {
        let number = result.as_number();
        Some(match kind {
            "float" if number.is_some_and(DType::is_real) => ResultForm::Float,
            "float64" if number == Some(DType::F64) => ResultForm::Scalar(DType::F64),
            "float32" if number == Some(DType::F32) => ResultForm::Scalar(DType::F32),
            "int" if *result == ValueKind::Int || number == Some(DType::U32) => ResultForm::Int,
            "bool" if *result == ValueKind::Bool => ResultForm::Bool,
            "array" if result.array().is_some() => ResultForm::Array,
            _ => return None,
        })
    }

    fn make<'py>(self, py: Python<'py>, result: &Datum) -> PyResult<Object<'py>> {
        match (self, result) {
            (ResultForm::Float, Datum::Array(a)) => Ok(PyFloat::new(py, a.item()?).into_any()),
            (ResultForm::Scalar(dtype), Datum::Array(a)) => {
                datum::numpy_scalar(py, dtype, a.item()?)
            }
            (ResultForm::Bool, Datum::Bool(b)) => Ok(PyBool::new(py, *b).to_owned().into_any()),
            (ResultForm::Int, Datum::Int(i)) => Ok(PyInt::new(py, *i).into_any()),
            (ResultForm::Int, Datum::Array(a)) => Ok(PyInt::new(py, a.item()? as u32).into_any()),
            (ResultForm::Array, Datum::Array(a)) => convert::to_numpy(py, a.clone()),
            (_, result) => Err(crate::Error::Type(format!(
                "a result is of kind {}, which is not that of the function",
                result.kind()
            ))
            .into()),
        }
    }
}

impl Making {
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
            "tuple" => Making::Tuple(parts(at(1)?)?),
            "list" => Making::List(parts(at(1)?)?),
            "dict" => {
                let keys = items("outputs", &at(1)?, None, |o| {
                    ComparedConstant::new("outputs", &o)
                })?;
                let parts = parts(at(2)?)?;
                if keys.len() != parts.len() {
                    return Err(wrong("expected as many values as keys"));
                }
                Making::Dict(keys, parts)
            }
            "object" => Making::Object(at(1)?.unbind()),
            "slot" => Making::Slot(below(at(1)?, slots)?),
            "call" => Making::Call(at(1)?.unbind(), parts(at(2)?)?),
            _ => {
                let result = below(at(1)?, results.len())?;
                let form = ResultForm::new(&kind, results[result]);
                let form = form.ok_or_else(|| {
                    wrong(&format!("result {result} is of kind {}", results[result]))
                })?;
                Making::Result(result, form)
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
            Making::new(&make.extract()?, number - 1, results, slots)
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
                Making::Result(result, form) => form.make(py, &results[*result])?,
                Making::Tuple(parts) => PyTuple::new(py, of(parts))?.into_any(),
                Making::List(parts) => PyList::new(py, of(parts))?.into_any(),
                Making::Dict(keys, parts) => {
                    let dict = PyDict::new(py);
                    for (key, &part) in keys.iter().zip(parts) {
                        dict.set_item(key.0.bind(py), &made[part])?;
                    }
                    dict.into_any()
                }
                Making::Object(object) => object.bind(py).clone(),
                Making::Slot(slot) => match &slots[*slot] {
                    Some(object) => object.clone(),
                    None => return Err(PyValueError::new_err("outputs: a slot is empty")),
                },
                Making::Call(callable, parts) => {
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
                Making::Object(object) | Making::Call(object, _) => visit.call(object),
                _ => Ok(()),
            }),
        }
    }
}
