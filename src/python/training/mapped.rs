//! Columns that are files mapped into memory: `numpy.memmap`, as the trainer reads it where it is.
//!
//! The array's memory is taken from the map itself, whose buffer is held for the run, so that it is not
//! closed or resized meanwhile whatever becomes of the array.
//!
//! Limits: arrays in C order and the machine's order of bytes. Others are none of these, and are copied.

use std::sync::Arc;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{DType, Type};
use crate::python::interop::once::intern;
use crate::train::{Mapped, Stored};

/// What numbers of this kind and size are as a column, if they can be read in place.
pub(in crate::python) type StoredAs = fn(u8, usize) -> Option<(DType, Stored)>;

/// Indices.
pub(in crate::python) fn indices(kind: u8, size: usize) -> Option<(DType, Stored)> {
    let stored = match (kind, size) {
        (b'u', 4) => Stored::Plain,
        (b'i', 4) => Stored::Signed,
        (b'i', 8) => Stored::Wide,
        _ => return None,
    };
    Some((DType::U32, stored))
}

/// The words of [integers](crate::python::variables::integers), which may be negative.
pub(in crate::python) fn integers(kind: u8, size: usize) -> Option<(DType, Stored)> {
    let stored = match (kind, size) {
        (b'i', 4) => Stored::Plain,
        (b'u', 4) => Stored::Signed,
        _ => return None,
    };
    Some((DType::U32, stored))
}

/// Floating-point numbers.
pub(in crate::python) fn numbers(kind: u8, size: usize) -> Option<(DType, Stored)> {
    let dtype = match (kind, size) {
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        _ => return None,
    };
    Some((dtype, Stored::Plain))
}

/// The column, if the object is a mapped array that can be read in place; `what` names it in messages.
///
/// # Errors
/// IndexError for an index that is negative or has more than 32 bits, ValueError for a map that is closed,
/// and what handlers of signals raise.
pub(in crate::python) fn mapped(
    what: &str,
    object: &Bound<'_, PyAny>,
    stored_as: StoredAs,
) -> PyResult<Option<Mapped>> {
    let py = object.py();
    let Ok(array) = object.cast::<PyUntypedArray>() else {
        return Ok(None);
    };
    let numpy = py.import(intern!(py, "numpy"))?;
    if !object.is_instance(&numpy.getattr(intern!(py, "memmap"))?)? {
        return Ok(None);
    }
    // None of an array that was computed from a mapped one.
    let map = object.getattr_opt(intern!(py, "_mmap"))?;
    let Some(map) = map.filter(|map| !map.is_none()) else {
        return Ok(None);
    };
    // Reading an array whose map is closed ends the process.
    let closed = |error: PyErr| {
        let closed =
            format!("{what}: its file is no longer mapped ({error}), expected an open map");
        PyValueError::new_err(closed)
    };
    let buffer = PyUntypedBuffer::get(&map).map_err(closed)?;
    let dtype = array.dtype();
    let found = stored_as(dtype.kind(), dtype.itemsize());
    let Some((element, stored)) = found else {
        return Ok(None);
    };
    let bytes = array.len() * dtype.itemsize();
    // SAFETY: the array is alive, and its header is read under the interpreter's lock.
    let start = unsafe { (*array.as_array_ptr()).fields.data }.cast::<u8>();
    let memory = buffer.buf_ptr().addr()..buffer.buf_ptr().addr() + buffer.len_bytes();
    let is_there = memory.start <= start.addr() && start.addr() + bytes <= memory.end;
    let is_plain = array.is_c_contiguous()
        && dtype.is_native_byteorder() == Some(true)
        && start.addr() % size_of::<u32>() == 0
        && cfg!(target_endian = "little");
    if !is_there || !is_plain || bytes == 0 {
        return Ok(None);
    }
    let ty = Type::new(element, array.shape());
    // SAFETY: the numbers are in the map's buffer, which was just compared, aligned to words, in C order;
    // the buffer cannot be closed while it is held.
    let mapped = unsafe { Mapped::new(what, start, ty, stored, Arc::new(buffer)) };
    Ok(Some(mapped?))
}
