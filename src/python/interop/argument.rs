//! Arguments that are used as they are: arrays of one element type, counts, integers in a range,
//! and what is refused by name ([`Given`]).
//!
//! Where [`convert`](super::convert) makes an array out of anything that holds numbers, the
//! functions here borrow a NumPy array and refuse one of another element type: what ranks
//! millions of rows should not convert them each time it is called. Only an array that is
//! not contiguous is copied. A borrowed array must not be written by other Python threads
//! during the call; what is then read is neither the old nor the new content.

use std::fmt::Display;
use std::ops::RangeInclusive;

use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use super::convert::{refuse_subclass, shown, type_name};
use crate::array::{show_shape, vec_for};
use crate::python::interop::once::intern;

/// An array of element type `T` with as many axes as `D` has, in C order.
///
/// # Errors
/// TypeError for anything that is not an array of that type, ValueError for another number
/// of axes.
pub(in crate::python) fn borrowed<'py, T: Element, D: Dimension>(
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    let py = object.py();
    let expected = numpy::dtype::<T>(py);
    let Ok(array) = object.cast::<PyUntypedArray>() else {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected an array of dtype {expected}, got {}",
            type_name(object)
        )));
    };
    refuse_subclass(&name, array)?;
    let found = array.dtype();
    if !found.is_equiv_to(&expected) {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected an array of dtype {expected}, got one of dtype {found}; convert \
             it with .astype"
        )));
    }
    let axes = D::NDIM.unwrap_or(array.ndim());
    if array.ndim() != axes {
        return Err(PyValueError::new_err(format!(
            "{name}: expected {axes} {}, got shape {}",
            if axes == 1 { "axis" } else { "axes" },
            show_shape(array.shape())
        )));
    }
    let straight = array.is_c_contiguous() && array.is_aligned();
    let array = if straight {
        array.as_any().clone()
    } else {
        let numpy = py.import(intern!(py, "numpy"))?;
        let copy = numpy.call_method1(intern!(py, "array"), (array,))?;
        numpy.call_method1(intern!(py, "ascontiguousarray"), (copy,))?
    };
    Ok(array.cast_into::<PyArray<T, D>>()?.try_readonly()?)
}

/// A copy of a borrowed array's numbers, which no other thread writes to.
///
/// # Errors
/// MemoryError.
pub(in crate::python) fn copied<T: Element + Copy>(numbers: &[T]) -> PyResult<Vec<T>> {
    let mut copy = vec_for(&[numbers.len()])?;
    copy.extend_from_slice(numbers);
    Ok(copy)
}

/// An argument that is refused when its name is known: what pyo3 raises has only a note with it.
pub(in crate::python) struct Given<T>(Result<T, (PyErr, String)>);

impl<T> Given<T> {
    /// An argument that was not given.
    pub(in crate::python) const fn default(value: T) -> Self {
        Given(Ok(value))
    }

    /// The argument.
    ///
    /// # Errors
    /// TypeError that names it if it is of another kind, ValueError if it is an integer beyond all floats, or what
    /// its own conversion raised.
    pub(in crate::python) fn named(self, name: impl Display, kind: &str) -> PyResult<T> {
        self.0.map_err(|(error, found)| {
            let message = format!("{name}: expected {kind}, got {found}");
            Python::attach(|py| {
                if error.is_instance_of::<PyTypeError>(py) {
                    PyTypeError::new_err(message)
                } else if error.is_instance_of::<PyOverflowError>(py) {
                    PyValueError::new_err(format!("{message} that no float can hold"))
                } else {
                    error
                }
            })
        })
    }
}

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Given<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let refused = |error: T::Error| (error.into(), shown(&object));
        Ok(Given(object.extract().map_err(refused)))
    }
}

/// A real number. Truth values are none.
pub(in crate::python) struct RealNumber(pub(in crate::python) f64);

impl FromPyObject<'_, '_> for RealNumber {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let descr = object.getattr_opt(intern!(object.py(), "dtype"))?;
        let kind = descr.and_then(|d| d.cast_into::<PyArrayDescr>().ok().map(|d| d.kind()));
        if object.is_instance_of::<PyBool>() || kind == Some(b'b') {
            return Err(PyTypeError::new_err("a truth value"));
        }
        object.extract().map(RealNumber)
    }
}

/// `keepdims`, as NumPy reads it: True, False, or an integer that is 0 or not.
pub(in crate::python) struct KeepDims(pub(in crate::python) bool);

impl<'a, 'py> FromPyObject<'a, 'py> for KeepDims {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let error = match object.extract::<bool>() {
            Ok(keeps) => return Ok(KeepDims(keeps)),
            Err(error) => error,
        };
        let index = intern!(object.py(), "__index__");
        if !object.hasattr(index)? {
            return Err(error);
        }
        Ok(KeepDims(object.call_method0(index)?.is_truthy()?))
    }
}

/// An integer of any size, until it is known what it is for. Booleans are none.
pub(in crate::python) enum Integer {
    /// One that is looked at.
    Fits(i128),
    /// One far beyond any range, as text.
    Beyond(String),
    /// Something else, and what.
    Other(String),
}

impl Integer {
    /// An integer that was not given.
    pub(in crate::python) const fn default(value: i128) -> Self {
        Integer::Fits(value)
    }

    /// The integer, if it is in the range.
    ///
    /// # Errors
    /// ValueError with the argument's name if it is not, TypeError if it is no integer.
    pub(in crate::python) fn within(
        &self,
        name: &str,
        range: RangeInclusive<i128>,
    ) -> PyResult<i128> {
        let (text, below) = match self {
            Integer::Fits(n) if range.contains(n) => return Ok(*n),
            Integer::Fits(n) => (n.to_string(), n < range.start()),
            Integer::Beyond(text) => (text.clone(), text.starts_with('-')),
            Integer::Other(found) => {
                return Err(PyTypeError::new_err(format!(
                    "{name}: expected an integer, got {found}"
                )));
            }
        };
        let bound = if below {
            format!("least {}", range.start())
        } else {
            format!("most {}", range.end())
        };
        Err(PyValueError::new_err(format!(
            "{name}: expected at {bound}, got {text}"
        )))
    }

    /// The integer, which may be negative: an axis, or the number of a diagonal.
    ///
    /// # Errors
    /// As [`within`](Self::within).
    pub(in crate::python) fn signed(&self, name: &str) -> PyResult<i64> {
        Ok(self.within(name, i64::MIN.into()..=i64::MAX.into())? as i64)
    }
}

impl FromPyObject<'_, '_> for Integer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            return Ok(Integer::Other(shown(&object)));
        }
        match object.extract::<u64>() {
            Ok(n) => return Ok(Integer::Fits(n.into())),
            Err(e) if e.is_instance_of::<PyOverflowError>(object.py()) => {}
            Err(e) if !does_not_fit(object.py(), &e) => return Err(e),
            Err(_) => return Ok(Integer::Other(shown(&object))),
        }
        Ok(match object.extract::<i64>() {
            Ok(n) => Integer::Fits(n.into()),
            Err(_) => Integer::Beyond(object.to_string()),
        })
    }
}

/// Whether an object is no integer, or too large, in place of an error of its own `__index__`.
pub(in crate::python) fn does_not_fit(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyOverflowError>(py)
}

/// A whole number from 0.
///
/// # Errors
/// TypeError if it is not an integer, ValueError if it is negative or beyond the address
/// space.
pub(in crate::python) fn count(name: &str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    object.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            PyValueError::new_err(format!(
                "{name}: expected a whole number from 0 to {}, got {object}",
                usize::MAX
            ))
        } else if !does_not_fit(object.py(), &error) {
            error
        } else {
            PyTypeError::new_err(format!(
                "{name}: expected an integer, got {}",
                type_name(object)
            ))
        }
    })
}

/// Keyword arguments by name; `None` for one that was not given.
pub(in crate::python) type Named<'a, 'py> = [(&'static str, Option<&'a Bound<'py, PyAny>>)];

/// The keyword arguments that were given.
pub(in crate::python) fn dictionary<'py>(
    py: Python<'py>,
    named: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let kwargs = PyDict::new(py);
    let given = named
        .iter()
        .filter_map(|&(name, value)| Some((name, value?)));
    for (name, value) in given {
        kwargs.set_item(name, value)?;
    }
    Ok(kwargs)
}
