//! Values of functions as Python's objects, and the reverse.
//!
//! What a value is has a short name in Python: ``float`` (one float64), ``float32``, ``index`` (one
//! uint32), ``array``, ``bool`` or ``int``.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::leaves;
use crate::array::{Array, DType, Type};
use crate::ir::{Datum, ValueKind};
use crate::python::interop::convert::{self, shown};
use crate::python::interop::once::intern;
use crate::python::variables::integers::words;

/// The short name.
pub(super) fn name(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::Bool => "bool",
        ValueKind::Int => "int",
        ValueKind::Array(_) => match kind.as_number() {
            Some(DType::F64) => "float",
            Some(DType::F32) => "float32",
            Some(DType::U32) => "index",
            None => "array",
        },
    }
}

/// The kind of a short name; of an array that of a sample.
///
/// # Errors
/// ValueError for another name, or an array without a sample; TypeError for a sample that is no array
/// of float64, float32 or uint32.
pub(super) fn kind(name: &str, like: Option<&Bound<'_, PyAny>>) -> PyResult<ValueKind> {
    Ok(match name {
        "bool" => ValueKind::Bool,
        "int" => ValueKind::Int,
        "float" => ValueKind::number(DType::F64),
        "float32" => ValueKind::number(DType::F32),
        "index" => ValueKind::number(DType::U32),
        "array" => match like {
            Some(like) => ValueKind::Array(array("like", like)?.ty()),
            None => return Err(PyValueError::new_err("like: an array needs a sample")),
        },
        _ => {
            return Err(PyValueError::new_err(format!(
                "kind: expected 'float', 'float32', 'int', 'bool', 'index' or 'array', got '{name}'"
            )));
        }
    })
}

/// Whether an object is of NumPy's, and its elements are int64 or bool.
fn is_whole(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let dtype = object.getattr_opt(intern!(object.py(), "dtype"))?;
    dtype.map_or(Ok(false), |dtype| {
        let py = object.py();
        Ok(dtype.eq(numpy::dtype::<i64>(py))? || dtype.eq(numpy::dtype::<bool>(py))?)
    })
}

/// An array or number of NumPy's, in its own type; int64 and bool as integers of 32 bits.
fn array(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Array> {
    let dtype = object.getattr(intern!(object.py(), "dtype"))?;
    let of = |t: DType| dtype.eq(convert::numpy_dtype(object.py(), t));
    match of(DType::U32)? {
        true => Ok(convert::indices(what, object, &|| None)?.into()),
        false if is_whole(object)? => Ok(words(what, object)?.into()),
        false if of(DType::F64)? || of(DType::F32)? => Ok(convert::array(what, object)?.0),
        false => Err(PyTypeError::new_err(format!(
            "{what}: expected float64, float32, int64, bool or uint32, got an array of dtype {dtype}"
        ))),
    }
}

/// An object as a constant: a bool, an integer of 64 bits, a float, or an array of float64, float32 or
/// uint32.
///
/// # Errors
/// TypeError for anything else, OverflowError for a larger integer.
pub(super) fn constant(object: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if let Ok(b) = object.cast::<PyBool>() {
        return Ok(b.is_true().into());
    }
    if object.cast::<PyInt>().is_ok() {
        return Ok(object.extract::<i64>()?.into());
    }
    if let Ok(x) = object.cast::<PyFloat>() {
        return Ok(x.value().into());
    }
    match object.hasattr(intern!(object.py(), "dtype"))? {
        true => Ok(array("value", object)?.into()),
        false => Err(PyTypeError::new_err(format!(
            "value: expected a bool, int, float, or an array of float64, float32 or uint32, got {}",
            shown(object)
        ))),
    }
}

/// An object as a value of this kind.
///
/// # Errors
/// TypeError or ValueError if it is another, OverflowError for an integer beyond 64 bits.
pub(in crate::python) fn of_kind(
    what: &str,
    object: &Bound<'_, PyAny>,
    kind: &ValueKind,
) -> PyResult<Datum> {
    let refused = || {
        PyTypeError::new_err(format!(
            "{what}: expected {}, got {}",
            self::name(kind),
            shown(object)
        ))
    };
    match kind {
        ValueKind::Bool => match object.cast::<PyBool>() {
            Ok(b) => Ok(b.is_true().into()),
            Err(_) => Err(refused()),
        },
        ValueKind::Int => {
            match object.cast::<PyBool>().is_err() && object.cast::<PyInt>().is_ok() {
                true => Ok(object.extract::<i64>()?.into()),
                false => Err(refused()),
            }
        }
        ValueKind::Array(ty) => Ok(of_type(what, object, ty)?.into()),
    }
}

/// An array of a function's that many runs share: to convert one of millions of elements copies them.
#[pyclass(name = "Captured", module = "wyrmling._core", frozen)]
pub(super) struct Captured(Array);

#[pymethods]
impl Captured {
    #[new]
    fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        self::array("captured", array).map(Captured)
    }
}

fn of_type(what: &str, object: &Bound<'_, PyAny>, ty: &Type) -> PyResult<Array> {
    let array = match ty.dtype {
        _ if let Ok(kept) = object.cast::<Captured>() => kept.get().0.clone(),
        DType::U32 if is_whole(object)? => words(what, object)?.into(),
        DType::U32 => convert::indices(what, object, &|| None)?.into(),
        real => convert::array_of(what, object, real)?,
    };
    match array.shape().len() == ty.ndim() {
        true => Ok(array),
        false => Err(PyValueError::new_err(format!(
            "{what}: expected an array with {} axes, got one with {}",
            ty.ndim(),
            array.shape().len()
        ))),
    }
}

/// A value as an object: numbers as Python's, but float32 as NumPy's, arrays as new arrays.
pub(in crate::python) fn object(py: Python<'_>, datum: Datum) -> PyResult<Bound<'_, PyAny>> {
    Ok(match datum {
        Datum::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Datum::Int(i) => PyInt::new(py, i).into_any(),
        Datum::Array(array) => match ValueKind::from(array.ty()).as_number() {
            Some(DType::F64) => PyFloat::new(py, array.item()?).into_any(),
            Some(DType::U32) => PyInt::new(py, array.item()? as u32).into_any(),
            Some(DType::F32) => leaves::scalar_class(py, DType::F32)?.call1((array.item()?,))?,
            None => convert::to_numpy(py, array)?,
        },
    })
}
