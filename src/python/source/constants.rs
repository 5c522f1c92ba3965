//! Constants: objects that are compared by type and value.
//!
//! Numbers, texts, bytes, truth, None, Ellipsis, and tuples of these: what has no code of a user's that
//! could run when it is compared, and never changes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyEllipsis, PyFloat, PyInt, PyString, PyTuple};

use crate::python::interop::convert::shown;

/// A constant.
pub(super) struct ComparedConstant(pub(super) Py<PyAny>);

/// Whether an object is of a type that has one value, or whose values are single objects.
fn is_single(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyEllipsis>()
}

/// The bits of a number of one of Python's types.
fn bits(object: &Bound<'_, PyAny>) -> Option<[u64; 2]> {
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        return Some([x.value().to_bits(), 0]);
    }
    let z = object.cast_exact::<PyComplex>().ok()?;
    let parts = [z.real(), z.imag()];
    Some(parts.map(f64::to_bits))
}

impl ComparedConstant {
    /// An object as a constant; `what` names it in messages.
    ///
    /// # Errors
    /// ValueError if it is none.
    pub(super) fn new(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut stack = vec![object.clone()];
        while let Some(object) = stack.pop() {
            if let Ok(tuple) = object.cast_exact::<PyTuple>() {
                stack.extend(tuple.iter());
                continue;
            }
            let plain = is_single(&object)
                || bits(&object).is_some()
                || object.is_exact_instance_of::<PyInt>()
                || object.is_exact_instance_of::<PyString>()
                || object.is_exact_instance_of::<PyBytes>();
            if !plain {
                return Err(PyValueError::new_err(format!(
                    "{what}: expected a number, text, bytes, bool, None or a tuple of these, got {}",
                    shown(&object)
                )));
            }
        }
        Ok(ComparedConstant(object.clone().unbind()))
    }

    /// Whether an object is equal and of the same types; floats to the bit.
    ///
    /// # Errors
    /// MemoryError.
    pub(super) fn is(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let own = self.0.bind(object.py());
        if own.is(object) {
            return Ok(true);
        }
        let mut stack = vec![(own.clone(), object.clone())];
        while let Some((own, other)) = stack.pop() {
            if own.is(&other) {
                continue;
            }
            if !own.get_type().is(other.get_type()) || is_single(&own) {
                return Ok(false);
            }
            if let (Ok(own), Ok(other)) =
                (own.cast_exact::<PyTuple>(), other.cast_exact::<PyTuple>())
            {
                if own.len() != other.len() {
                    return Ok(false);
                }
                stack.extend(own.iter().zip(other.iter()));
                continue;
            }
            let same = match bits(&own) {
                Some(bits) => self::bits(&other) == Some(bits),
                None => own.eq(&other)?,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
