//! Arguments that are used as they are: arrays of one element type, counts, integers in a range.
//!
//! Where [`convert`](super::convert) makes an array out of anything that holds numbers, the
//! functions here borrow a NumPy array and refuse one of another element type: what ranks
//! millions of rows should not convert them each time it is called. Only an array that is
//! not contiguous is copied. A borrowed array must not be written by other Python threads
//! during the call; what is then read is neither the old nor the new content.

use std::ops::RangeInclusive;

use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray, PyArrayMethods, PyReadonlyArray, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::convert::{refuse_masked, type_name};
use crate::array::show_shape;

/// An array of element type `T` with as many axes as `D` has, in C order.
///
/// # Errors
/// TypeError for anything that is not an array of that type, ValueError for another number
/// of axes.
pub(super) fn borrowed<'py, T: Element, D: Dimension>(
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
    refuse_masked(name, array)?;
    let found = array.dtype();
    if !numpy::PyArrayDescrMethods::is_equiv_to(&found, &expected) {
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

/// An integer of any size, until it is known what it is for. Booleans are none.
pub(super) struct Integer(Result<i128, String>);

impl Integer {
    /// An integer that was not given.
    pub(super) const fn default(value: i128) -> Self {
        Integer(Ok(value))
    }

    /// The integer, if it is in the range.
    ///
    /// # Errors
    /// ValueError with the argument's name if it is not.
    pub(super) fn within(&self, name: &str, range: RangeInclusive<i128>) -> PyResult<i128> {
        let text = match &self.0 {
            Ok(n) if range.contains(n) => return Ok(*n),
            Ok(n) => n.to_string(),
            Err(text) => text.clone(),
        };
        let below = self
            .0
            .as_ref()
            .map_or(text.starts_with('-'), |n| n < range.start());
        let bound = if below {
            format!("least {}", range.start())
        } else {
            format!("most {}", range.end())
        };
        Err(PyValueError::new_err(format!(
            "{name}: expected at {bound}, got {text}"
        )))
    }
}

impl FromPyObject<'_, '_> for Integer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let refuse = || {
            let found = type_name(&object);
            PyTypeError::new_err(format!("expected an integer, got {found}"))
        };
        if object.is_instance_of::<PyBool>() {
            return Err(refuse());
        }
        if let Ok(n) = object.extract::<u64>() {
            return Ok(Integer(Ok(n.into())));
        }
        match object.extract::<i64>() {
            Ok(n) => Ok(Integer(Ok(n.into()))),
            Err(e) if e.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Integer(Err(object.to_string())))
            }
            Err(_) => Err(refuse()),
        }
    }
}

/// A whole number from 0.
///
/// # Errors
/// TypeError if it is not an integer, ValueError if it is negative or beyond the address
/// space.
pub(super) fn count(name: &str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    object.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            PyValueError::new_err(format!(
                "{name}: expected a whole number from 0 to {}, got {object}",
                usize::MAX
            ))
        } else {
            PyTypeError::new_err(format!(
                "{name}: expected an integer, got {}",
                type_name(object)
            ))
        }
    })
}
