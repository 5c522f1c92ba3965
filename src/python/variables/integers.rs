//! Arrays of integers, as functions that are read hold them: the low 32 bits of each, in an array of
//! indices.
//!
//! Elements come out by [`IndexToSigned`](crate::ir::ScalarOperator::IndexToSigned). An array that looks
//! up rows is used as it is: what is negative is an index out of range.
//!
//! Limits: integers from -2^31 to 2^31 - 1.

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Dense, Shape, vec_for};
use crate::interrupt::Poller;
use crate::python::interop::convert::{as_numpy, describe, elements};
use crate::python::interop::once::intern;

/// Integers that are looked at between two looks for signals.
const NARROWED: usize = 1 << 20;

fn narrow<T: Copy + Into<i128>>(what: &str, values: &[T]) -> PyResult<Vec<u32>> {
    let mut out = vec_for(&[values.len()])?;
    let mut poller = Poller::default();
    for (part, values) in values.chunks(NARROWED).enumerate() {
        for (at, &value) in values.iter().enumerate() {
            let value: i128 = value.into();
            let Ok(word) = i32::try_from(value) else {
                return Err(PyOverflowError::new_err(format!(
                    "{what}: expected integers from {} to {}, got {value} at position {}",
                    i32::MIN,
                    i32::MAX,
                    part * NARROWED + at
                )));
            };
            out.push(word.cast_unsigned());
        }
        poller.step(values.len())?;
    }
    Ok(out)
}

/// An array of integers as a new one of NumPy's int64.
pub(in crate::python) fn to_int64(py: Python<'_>, words: &Dense<u32>) -> PyResult<Py<PyAny>> {
    let mut values: Vec<i64> = vec_for(&[words.as_slice().len()])?;
    let signed = |&word: &u32| i64::from(word.cast_signed());
    values.extend(words.as_slice().iter().map(signed));
    let shape = PyTuple::new(py, words.shape())?;
    let flat = PyArray1::from_vec(py, values);
    Ok(flat
        .call_method1(intern!(py, "reshape"), (shape,))?
        .unbind())
}

/// An object as an array of integers; `what` names it in messages.
///
/// # Errors
/// TypeError if it holds no integers, OverflowError for one that does not fit; MemoryError.
pub(in crate::python) fn integers(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Dense<u32>> {
    let found = as_numpy(&what, object)?;
    let shape = Shape::from_slice(found.shape());
    let dtype = found.dtype();
    let values = match (dtype.kind(), dtype.itemsize()) {
        (b'u', 8) => narrow(what, &elements::<u64>(&found)?)?,
        (b'i' | b'u', _) => narrow(what, &elements::<i64>(&found)?)?,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "{what}: expected integers, got {}",
                describe(object, &dtype)
            )));
        }
    };
    Ok(Dense::from_vec(shape, values))
}

/// An array of integers or of truths, which are 1 and 0.
///
/// # Errors
/// As [`integers`].
pub(in crate::python) fn words(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Dense<u32>> {
    match object.cast::<PyArrayDyn<bool>>() {
        Ok(truths) => {
            let shape = Shape::from_slice(truths.shape());
            Ok(Dense::from_vec(
                shape,
                elements::<u32>(truths.as_untyped())?,
            ))
        }
        Err(_) => integers(what, object),
    }
}
