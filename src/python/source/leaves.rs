//! What arguments hold: Python's and NumPy's numbers and arrays, as values of a function.

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyType};

use crate::array::{Array, DType, Dense, Element, Type};
use crate::ir::{Datum, ValueKind};
use crate::python::convert;

/// What a leaf is: always of exactly one type of Python's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LeafKind {
    /// A float.
    Float,
    /// An int of 64 bits.
    Int,
    Bool,
    /// A float64 or float32 of NumPy's.
    Scalar(DType),
    /// An array with so many axes.
    Array(DType, usize),
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

/// NumPy's class of scalars.
pub(super) fn scalar_class(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyType>> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 3] = [const { PyOnceLock::new() }; 3];
    let place = match dtype {
        DType::F64 => 0,
        DType::F32 => 1,
        DType::U32 => 2,
    };
    let class = CLASSES[place].get_or_try_init(py, || {
        let class = py.import(intern!(py, "numpy"))?.getattr(dtype.name())?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
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
            _ => {
                return Err(PyValueError::new_err(format!(
                    "kind: expected 'float', 'int', 'bool', 'float64' or 'float32', got '{name}'"
                )));
            }
        })
    }

    /// What it is in a function.
    pub(super) fn value_kind(self) -> ValueKind {
        match self {
            LeafKind::Float => ValueKind::number(DType::F64),
            LeafKind::Int => ValueKind::Int,
            LeafKind::Bool => ValueKind::Bool,
            LeafKind::Scalar(dtype) => ValueKind::number(dtype),
            LeafKind::Array(dtype, ndim) => Type::new(dtype, &vec![0; ndim]).into(),
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

    /// The value of an object of this kind; `None` if it does not fit: an integer beyond 64 bits.
    ///
    /// # Errors
    /// MemoryError.
    #[inline]
    pub(super) fn read(self, object: &Bound<'_, PyAny>) -> PyResult<Option<Datum>> {
        Ok(Some(match self {
            LeafKind::Float => object.extract::<f64>()?.into(),
            LeafKind::Scalar(dtype) => Array::scalar(dtype, object.extract::<f64>()?).into(),
            LeafKind::Bool => object.extract::<bool>()?.into(),
            LeafKind::Int => match object.extract::<i64>() {
                Ok(i) => i.into(),
                Err(_) => return Ok(None),
            },
            LeafKind::Array(DType::F64, _) => copied::<f64>(object)?.into(),
            LeafKind::Array(DType::F32, _) => copied::<f32>(object)?.into(),
            LeafKind::Array(DType::U32, _) => copied::<u32>(object)?.into(),
        }))
    }
}

fn has_axes<T: numpy::Element>(object: &Bound<'_, PyAny>, ndim: usize) -> bool {
    let typed = object.cast::<PyArrayDyn<T>>();
    typed.is_ok_and(|array| array.ndim() == ndim)
}

/// A copy of an array.
///
/// # Errors
/// MemoryError.
fn copied<T>(object: &Bound<'_, PyAny>) -> PyResult<Array>
where
    T: Element + numpy::Element,
    Array: From<Dense<T>>,
{
    if let Ok(typed) = object.cast::<PyArrayDyn<T>>()
        && typed.is_c_contiguous()
        && typed.is_aligned()
    {
        // SAFETY: the slice is gone before any other code runs, under the interpreter's lock.
        let elements = unsafe { typed.as_slice()? };
        return Ok(Dense::copy_of(typed.shape(), elements)?.into());
    }
    match T::DTYPE {
        DType::U32 => Ok(convert::indices("argument", object, &|| None)?.into()),
        _ => Ok(convert::array("argument", object)?.0),
    }
}
