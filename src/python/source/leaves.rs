//! What arguments hold: Python's and NumPy's numbers and arrays, as values of a function.

use numpy::{PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyType};

use crate::array::{Array, DType, Type};
use crate::ir::{Datum, ValueKind};
use crate::python::interop::convert;
use crate::python::interop::once::{Once, intern};
use crate::python::variables::integers::words;

/// What an argument or a result is: always of exactly one type of Python's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LeafKind {
    /// Python's float.
    Float,
    /// Python's int, of 64 bits.
    Int,
    /// Python's bool.
    Bool,
    /// A float64 or float32 of NumPy's.
    Scalar(DType),
    /// An int64 of NumPy's.
    Int64,
    /// An array with so many axes.
    Array(DType, usize),
    /// An array of int64 with so many axes, whose integers are [of 32 bits](crate::python::variables::integers).
    Integers(usize),
    /// An array of bool with so many axes, as integers.
    Truths(usize),
}

/// The element type of a name.
pub(super) fn dtype(name: &str) -> PyResult<DType> {
    let all = [DType::F64, DType::F32, DType::U32];
    let found = all.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| {
        PyValueError::new_err(format!(
            "dtype: expected 'float64', 'float32' or 'uint32', got '{name}'"
        ))
    })
}

/// NumPy's class of integers of 64 bits.
fn int64_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: Once<Py<PyType>> = Once::new();
    let class = CLASS.get_or_try_init(py, || {
        let class = py.import(intern!(py, "numpy"))?.getattr("int64")?;
        Ok(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py))
}

/// NumPy's class of scalars.
pub(super) fn scalar_class(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyType>> {
    static CLASSES: [Once<Py<PyType>>; 3] = [const { Once::new() }; 3];
    let place = match dtype {
        DType::F64 => 0,
        DType::F32 => 1,
        DType::U32 => 2,
    };
    let class = CLASSES[place].get_or_try_init(py, || {
        let class = py.import(intern!(py, "numpy"))?.getattr(dtype.name())?;
        Ok(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py))
}

/// Whether an object is exactly of a class.
fn is_exactly(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> bool {
    object.get_type_ptr() == class.as_type_ptr()
}

impl LeafKind {
    /// The kind that a test names.
    ///
    /// # Errors
    /// ValueError for another name.
    pub(super) fn named(name: &str) -> PyResult<Self> {
        Ok(match name {
            "float" => LeafKind::Float,
            "int" => LeafKind::Int,
            "bool" => LeafKind::Bool,
            "float64" | "float32" => LeafKind::Scalar(dtype(name)?),
            "int64" => LeafKind::Int64,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "kind: expected 'float', 'int', 'bool', 'float64', 'float32' or 'int64', got \
                     '{name}'"
                )));
            }
        })
    }

    /// The kind of a result that is given as what a name says; `None` if it cannot be.
    pub(super) fn of_result(name: &str, result: &ValueKind) -> Option<Self> {
        let number = result.as_number();
        if name == "array" {
            let ty = result.array()?;
            return Some(LeafKind::Array(ty.dtype, ty.ndim()));
        }
        let kind = Self::named(name).ok()?;
        let fits = match kind {
            // An index is an int too, and either floating-point number a float.
            LeafKind::Int => *result == ValueKind::Int || number == Some(DType::U32),
            LeafKind::Float => number.is_some_and(DType::is_real),
            other => other.value_kind().accepts(result),
        };
        fits.then_some(kind)
    }

    /// What it is in a function.
    pub(super) fn value_kind(self) -> ValueKind {
        match self {
            LeafKind::Float => ValueKind::number(DType::F64),
            LeafKind::Int | LeafKind::Int64 => ValueKind::Int,
            LeafKind::Bool => ValueKind::Bool,
            LeafKind::Scalar(dtype) => ValueKind::number(dtype),
            LeafKind::Array(dtype, ndim) => Type::new(dtype, &vec![0; ndim]).into(),
            LeafKind::Integers(ndim) | LeafKind::Truths(ndim) => {
                Type::new(DType::U32, &vec![0; ndim]).into()
            }
        }
    }

    /// Whether an object is of this kind, as far as its type tells.
    ///
    /// # Errors
    /// ImportError without NumPy.
    #[inline]
    pub(super) fn is_of(self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(match self {
            LeafKind::Float => object.is_exact_instance_of::<PyFloat>(),
            LeafKind::Int => object.is_exact_instance_of::<PyInt>(),
            LeafKind::Bool => object.is_exact_instance_of::<PyBool>(),
            LeafKind::Scalar(dtype) => is_exactly(object, scalar_class(object.py(), dtype)?),
            LeafKind::Int64 => is_exactly(object, int64_class(object.py())?),
            LeafKind::Integers(ndim) => {
                object.is_exact_instance_of::<PyUntypedArray>() && has_axes::<i64>(object, ndim)
            }
            LeafKind::Truths(ndim) => {
                object.is_exact_instance_of::<PyUntypedArray>() && has_axes::<bool>(object, ndim)
            }
            LeafKind::Array(dtype, ndim) => {
                object.is_exact_instance_of::<PyUntypedArray>()
                    && match dtype {
                        DType::F64 => has_axes::<f64>(object, ndim),
                        DType::F32 => has_axes::<f32>(object, ndim),
                        DType::U32 => has_axes::<u32>(object, ndim),
                    }
            }
        })
    }

    /// The value of an object of this kind; `None` if it does not fit: an integer beyond 64 bits, or
    /// one of an array beyond 32.
    ///
    /// # Errors
    /// MemoryError.
    #[inline]
    pub(super) fn read(self, object: &Bound<'_, PyAny>) -> PyResult<Option<Datum>> {
        Ok(Some(match self {
            LeafKind::Float => object.extract::<f64>()?.into(),
            LeafKind::Scalar(dtype) => Array::scalar(dtype, object.extract::<f64>()?).into(),
            LeafKind::Bool => object.extract::<bool>()?.into(),
            LeafKind::Int | LeafKind::Int64 => match object.extract::<i64>() {
                Ok(i) => i.into(),
                Err(_) => return Ok(None),
            },
            LeafKind::Array(DType::U32, _) => {
                Array::from(convert::indices("argument", object, &|| None)?).into()
            }
            LeafKind::Array(..) => convert::array("argument", object)?.0.into(),
            LeafKind::Integers(_) | LeafKind::Truths(_) => match words("argument", object) {
                Ok(array) => Array::from(array).into(),
                Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
        }))
    }
}

impl LeafKind {
    /// A result as an object of this kind; arrays are new.
    ///
    /// # Errors
    /// MemoryError; TypeError for a result of a kind that the function did not promise.
    pub(super) fn make<'py>(self, py: Python<'py>, result: &Datum) -> PyResult<Bound<'py, PyAny>> {
        match (self, result) {
            (LeafKind::Float, Datum::Array(a)) => Ok(PyFloat::new(py, a.item()?).into_any()),
            (LeafKind::Scalar(dtype), Datum::Array(a)) => {
                scalar_class(py, dtype)?.call1((a.item()?,))
            }
            (LeafKind::Bool, Datum::Bool(b)) => Ok(PyBool::new(py, *b).to_owned().into_any()),
            (LeafKind::Int64, Datum::Int(i)) => int64_class(py)?.call1((*i,)),
            (LeafKind::Int, Datum::Int(i)) => Ok(PyInt::new(py, *i).into_any()),
            (LeafKind::Int, Datum::Array(a)) => Ok(PyInt::new(py, a.item()? as u32).into_any()),
            (LeafKind::Array(..), Datum::Array(a)) => convert::to_numpy(py, a.clone()),
            (_, result) => Err(result.is_no("a result of the kind of the function").into()),
        }
    }
}

fn has_axes<T: numpy::Element>(object: &Bound<'_, PyAny>, ndim: usize) -> bool {
    let typed = object.cast::<PyArrayDyn<T>>();
    typed.is_ok_and(|array| array.ndim() == ndim)
}
