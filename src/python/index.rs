//! `x[…]`: basic slices, and rows by index.
//!
//! Integers, slices, `None` and `...` select as in NumPy. One array of integers, a list of
//! them, or an `IndexInput` looks up rows. The two kinds do not mix in one pair of brackets:
//! write `x[rows][:, 0]`. Masks do not index, since the length of the result would depend on
//! numbers; `where` does what they are used for.

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyList, PySlice, PyTuple};

use super::convert::type_name;
use super::operand;
use super::variable::PyVariable;
use crate::graph::{Variable, build};
use crate::rules::SliceItem;

/// One end of a slice.
fn bound(slice: &Bound<'_, PySlice>, name: &str) -> PyResult<Option<i64>> {
    let value = slice.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    // Beyond 64 bits is beyond every array, on the same side.
    match value.extract::<i64>() {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyOverflowError>(value.py()) => {
            Ok(Some(if value.lt(0)? { i64::MIN } else { i64::MAX }))
        }
        Err(e) => Err(e),
    }
}

/// One item of a basic slice; `None` if it is not one.
fn item(object: &Bound<'_, PyAny>) -> PyResult<Option<SliceItem>> {
    let py = object.py();
    if object.is_none() {
        return Ok(Some(SliceItem::NewAxis));
    }
    if let Ok(slice) = object.cast::<PySlice>() {
        let step = bound(slice, "step")?.unwrap_or(1);
        if step == 0 {
            return Err(crate::Error::Value("slice: the step cannot be 0".into()).into());
        }
        return Ok(Some(SliceItem::Range {
            start: bound(slice, "start")?,
            stop: bound(slice, "stop")?,
            step,
        }));
    }
    if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyUntypedArray>() {
        return Ok(None);
    }
    if object.hasattr(intern!(py, "__index__"))? {
        return match object.extract::<i64>() {
            Ok(i) => Ok(Some(SliceItem::At(i))),
            Err(_) => Err(PyIndexError::new_err(format!(
                "index {object} is out of range"
            ))),
        };
    }
    Ok(None)
}

/// The items of a tuple, `...` written out for an array of `ndim` axes.
fn items(parts: &Bound<'_, PyTuple>, ndim: usize) -> PyResult<Vec<SliceItem>> {
    let mut out = Vec::with_capacity(parts.len());
    let mut open = None;
    for part in parts {
        if part.is_instance_of::<PyEllipsis>() {
            if open.replace(out.len()).is_some() {
                return Err(PyIndexError::new_err("an index can have one '...' only"));
            }
            continue;
        }
        let Some(item) = item(&part)? else {
            return Err(PyTypeError::new_err(format!(
                "an index of several parts takes integers, slices, None and '...', not {}; look \
                 up rows on their own: x[rows][:, 0]",
                type_name(&part)
            )));
        };
        out.push(item);
    }
    if let Some(at) = open {
        let used = out.iter().filter(|i| **i != SliceItem::NewAxis).count();
        let all = SliceItem::Range {
            start: None,
            stop: None,
            step: 1,
        };
        out.splice(at..at, std::iter::repeat_n(all, ndim.saturating_sub(used)));
    }
    Ok(out)
}

/// `x[key]`.
pub(super) fn get(x: &Variable, key: &Bound<'_, PyAny>) -> PyResult<Variable> {
    let ty = x.ty()?;
    if let Ok(parts) = key.cast::<PyTuple>() {
        return Ok(build::slice(x, items(parts, ty.ndim())?)?);
    }
    let rows = key.is_instance_of::<PyVariable>()
        || key.is_instance_of::<PyList>()
        || key.is_instance_of::<PyUntypedArray>();
    if rows {
        return operand::rows(x, key);
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(build::slice(x, Vec::new())?);
    }
    match item(key)? {
        Some(item) => Ok(build::slice(x, vec![item])?),
        None => Err(PyTypeError::new_err(format!(
            "an index is an integer, a slice, None, '...', an IndexInput or an array of integers, \
             not {}",
            type_name(key)
        ))),
    }
}
