//! Numbers and arrays between Python and Rust.
//!
//! float32 and float64 keep their type; integers and lists become float64; booleans become zeros
//! and ones. What is given to a leaf that has a type already takes that type ([`array_of`]), save that
//! float64 never becomes float32. Everything else is refused by name: a complex number, text or an
//! object has no silent conversion, and neither has a wider float or float16, which variables do not
//! keep. Arrays of any strides are read; what goes out is a new array that nobody else holds.

use std::fmt::Display;

use numpy::{
    PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::array::{Array, DType, Dense, Element, Shape, show_shape, vec_for, with_dense};
use crate::error::Error;
use crate::interrupt::Poller;
use crate::python::interop::once::intern;
use crate::reserve;

/// What an array was made from, which decides whether its element type binds others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Origin {
    /// A Python number: takes the type of what it meets.
    Number,
    /// Booleans, and integers of 8 and 16 bits: likewise.
    Mask,
    /// A list or tuple, or larger integers of NumPy: float64, unless it is assigned to something of
    /// another type.
    List,
    /// Floats in an array or NumPy scalar: keep their type.
    Array,
}

/// The name of an object's class.
pub(in crate::python) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().fully_qualified_name();
    name.map_or_else(|_| "object".to_owned(), |n| n.to_string())
}

/// What an argument of the wrong kind is: its class, and its value where that is short.
pub(in crate::python) fn shown(object: &Bound<'_, PyAny>) -> String {
    let class = type_name(object);
    let short = object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>();
    match object.repr() {
        Ok(text) if short && text.len().is_ok_and(|n| n < 40) => format!("{class} {text}"),
        _ => class,
    }
}

fn refuse(what: &dyn Display, found: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what}: expected numbers (float32, float64 or integers), got {found}"
    ))
}

/// Elements that are copied between two looks for signals.
const COPIED: usize = 1 << 20;

/// The elements as this type, in C order. Callers ask for types that hold every element.
pub(in crate::python) fn elements<T: numpy::Element + Copy>(
    array: &Bound<'_, PyUntypedArray>,
) -> PyResult<Vec<T>> {
    fn copy<T: numpy::Element + Copy>(array: &Bound<'_, PyArrayDyn<T>>) -> PyResult<Vec<T>> {
        let count = array.len();
        let mut data: Vec<T> = vec_for(&[count])?;
        let mut poller = Poller::default();
        while data.len() < count {
            if array.len() != count {
                return Err(PyRuntimeError::new_err(
                    "an array was resized by a signal handler or thread while it was read",
                ));
            }
            let part = COPIED.min(count - data.len());
            let done = data.len();
            // SAFETY: the array is contiguous and aligned, as the caller has seen, and has `count` elements
            // of type `T`, as was just compared under the interpreter's lock; `done + part` are no more,
            // and the vector has room for as many. Both are numbers, which may have any bits, and apart.
            // No slice is made of NumPy's memory: functions of NumPy's write without the interpreter's
            // lock, and what is copied meanwhile is neither old nor new, as it is for NumPy itself.
            unsafe {
                let from = array.data().add(done);
                std::ptr::copy_nonoverlapping(from, data.as_mut_ptr().add(done), part);
                data.set_len(done + part);
            }
            poller.step(part)?;
        }
        Ok(data)
    }
    if let Ok(typed) = array.cast::<PyArrayDyn<T>>()
        && typed.is_c_contiguous()
        && typed.is_aligned()
    {
        return copy(typed);
    }
    // NumPy casts and straightens it.
    let py = array.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "dtype"), numpy::dtype::<T>(py))?;
    options.set_item(intern!(py, "order"), intern!(py, "C"))?;
    let numpy = py.import(intern!(py, "numpy"))?;
    let straight = numpy.call_method(intern!(py, "array"), (array,), Some(&options))?;
    copy(straight.cast::<PyArrayDyn<T>>()?)
}

/// Refuses a masked array, whose mask would be lost, and a matrix, whose products mean another thing.
pub(in crate::python) fn refuse_subclass(
    what: &dyn Display,
    array: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let py = array.py();
    // An array of the class itself is neither, so only subclasses are asked.
    if array.get_type().is(py.get_type::<PyUntypedArray>()) {
        return Ok(());
    }
    if array.hasattr(intern!(py, "mask"))? {
        return Err(PyTypeError::new_err(format!(
            "{what}: a masked array would lose its mask; fill it with .filled(), or use where"
        )));
    }
    let matrix = py
        .import(intern!(py, "numpy"))?
        .getattr(intern!(py, "matrix"))?;
    if array.is_instance(&matrix)? {
        return Err(PyTypeError::new_err(format!(
            "{what}: a matrix multiplies by * as arrays do by @, which a variable does not; give \
             it as an array, by .A"
        )));
    }
    Ok(())
}

/// An object as a NumPy array: itself if it is one, else what NumPy makes of it; `what` names it
/// in messages.
///
/// # Errors
/// TypeError for a masked array, whose mask would be lost, and for a matrix.
pub(in crate::python) fn as_numpy<'py>(
    what: &dyn Display,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        refuse_subclass(what, array)?;
        return Ok(array.clone());
    }
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

/// How messages call an array.
pub(in crate::python) fn describe(
    object: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyArrayDescr>,
) -> String {
    if object.is_instance_of::<PyUntypedArray>() {
        let hint = match dtype.kind() {
            b'O' => " (np.stack(list) makes one variable of several)",
            _ => "",
        };
        format!("an array of dtype {dtype}{hint}")
    } else {
        format!("{} (dtype {dtype})", type_name(object))
    }
}

/// Whether an object is a float of Python's, or of a subclass that is not NumPy's, as numpy.float64 is.
pub(in crate::python) fn is_float(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>() || object.cast().is_ok_and(is_of_subclass)
}

fn is_of_subclass(float: &Bound<'_, PyFloat>) -> bool {
    !float.hasattr(intern!(float.py(), "dtype")).unwrap_or(true)
}

/// A Python number, if the object is one that takes the type of what it meets. Numbers of subclasses do not, as in
/// NumPy.
#[inline]
pub(in crate::python) fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        return Ok(Some(x.value()));
    }
    if object.cast_exact::<PyInt>().is_ok() || object.is_instance_of::<PyBool>() {
        return Ok(Some(object.extract()?));
    }
    Ok(None)
}

/// An object as an array of numbers; `what` names it in messages.
///
/// # Errors
/// TypeError for what holds no numbers, and for float16, which variables do not keep.
pub(in crate::python) fn array(
    what: impl Display,
    object: &Bound<'_, PyAny>,
) -> PyResult<(Array, Origin)> {
    named_array(&what, object)
}

/// As [`array`], compiled once for all kinds of names.
fn named_array(what: &dyn Display, object: &Bound<'_, PyAny>) -> PyResult<(Array, Origin)> {
    reserve::check()?;
    if let Some(x) = number(object)? {
        return Ok((Array::from(x), Origin::Number));
    }
    let found = as_numpy(what, object)?;
    let shape = Shape::from_slice(found.shape());
    let dtype = found.dtype();
    let list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    let origin = match list || dtype.kind() != b'f' {
        true => Origin::List,
        false => Origin::Array,
    };
    let array = match (dtype.kind(), dtype.itemsize()) {
        (b'f', 4) => Dense::<f32>::from_vec(shape, elements(&found)?).into(),
        // Integers that float32 holds meet it in float32, as in NumPy.
        (b'b', _) | (b'i' | b'u', 1 | 2) => {
            let values = Dense::<f64>::from_vec(shape, elements(&found)?);
            return Ok((values.into(), Origin::Mask));
        }
        (b'f', 8) | (b'i' | b'u', _) => Dense::<f64>::from_vec(shape, elements(&found)?).into(),
        (b'f', 2) => {
            return Err(PyTypeError::new_err(format!(
                "{what}: expected float32 or float64, got float16, which variables do not keep; \
                 convert it with .astype(np.float32)"
            )));
        }
        _ => return Err(refuse(what, &describe(object, &dtype))),
    };
    Ok((array, origin))
}

/// An object as an array of a given type of numbers. Numbers, booleans, lists and integers are
/// rounded to it, and float32 widens to float64, which holds it exactly.
///
/// # Errors
/// As [`array`]; TypeError for an array of float64 where float32 is wanted: what wrote it
/// computed with digits that would be lost.
pub(in crate::python) fn array_of(
    what: &str,
    object: &Bound<'_, PyAny>,
    dtype: DType,
) -> PyResult<Array> {
    let (array, origin) = array(what, object)?;
    if origin == Origin::Array && (array.dtype(), dtype) == (DType::F64, DType::F32) {
        return Err(Error::Type(format!(
            "{what}: expected float32, got float64 of shape {}; convert it with \
             .astype(np.float32), or make the variable float64, as wyrmling.Input([0.0]) is",
            show_shape(array.shape())
        ))
        .into());
    }
    Ok(array.try_to_dtype(dtype)?)
}

/// How many rows there are, asked only for a message.
pub(in crate::python) type RowCount<'a> = &'a dyn Fn() -> Option<usize>;

/// Which indices count from the end of some rows, as negative ones do in NumPy.
struct FromEnd {
    rows: usize,
    /// The places of the negative ones.
    places: Vec<usize>,
}

/// Integers as row indices, counted from the start.
fn narrow<T: Copy + Into<i128>>(
    what: &str,
    values: &[T],
    mut from_end: Option<&mut FromEnd>,
    rows: RowCount<'_>,
) -> PyResult<Vec<u32>> {
    let mut out = vec_for(&[values.len()])?;
    let mut poller = Poller::default();
    for (at, &value) in values.iter().enumerate() {
        if at % COPIED == COPIED - 1 {
            poller.large_step()?;
        }
        let value: i128 = value.into();
        let place = match &mut from_end {
            Some(from_end) if value < 0 => {
                from_end.places.push(at);
                value + from_end.rows as i128
            }
            _ => value,
        };
        let Ok(place) = u32::try_from(place) else {
            let rows = rows().map_or_else(
                || format!("indices run from 0 to {}", u32::MAX),
                |n| format!("there are {n} rows"),
            );
            return Err(PyIndexError::new_err(format!(
                "{what}: index {value} at position {at} is out of range; {rows}"
            )));
        };
        out.push(place);
    }
    Ok(out)
}

/// An object as indices, none negative; `what` names it in messages.
pub(in crate::python) fn indices(
    what: &str,
    object: &Bound<'_, PyAny>,
    rows: RowCount<'_>,
) -> PyResult<Dense<u32>> {
    read_indices(what, object, None, rows)
}

/// An object as indices of `n` rows, and which of them were negative and counted from the end.
pub(in crate::python) fn rows(
    what: &str,
    object: &Bound<'_, PyAny>,
    n: usize,
) -> PyResult<(Dense<u32>, Vec<usize>)> {
    let mut from_end = FromEnd {
        rows: n,
        places: Vec::new(),
    };
    let found = read_indices(what, object, Some(&mut from_end), &|| Some(n))?;
    Ok((found, from_end.places))
}

fn read_indices(
    what: &str,
    object: &Bound<'_, PyAny>,
    from_end: Option<&mut FromEnd>,
    rows: RowCount<'_>,
) -> PyResult<Dense<u32>> {
    let found = as_numpy(&what, object)?;
    let shape = Shape::from_slice(found.shape());
    let dtype = found.dtype();
    let values = match (dtype.kind(), dtype.itemsize()) {
        (b'u', 1 | 2 | 4) => elements::<u32>(&found)?,
        (b'u', _) => narrow(what, &elements::<u64>(&found)?, from_end, rows)?,
        (b'i', _) => narrow(what, &elements::<i64>(&found)?, from_end, rows)?,
        // An empty list becomes float64 in NumPy.
        (b'f', _) if found.is_empty() && !object.is_instance_of::<PyUntypedArray>() => Vec::new(),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "{what}: expected integer indices, got {}",
                describe(object, &dtype)
            )));
        }
    };
    Ok(Dense::from_vec(shape, values))
}

/// An array as a new NumPy array.
pub(in crate::python) fn to_numpy(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    fn small<'py, T: Element + numpy::Element>(
        py: Python<'py>,
        dense: &Dense<T>,
    ) -> Option<Bound<'py, PyAny>> {
        let from = dense.as_slice();
        if from.len() > SMALL {
            return None;
        }
        // SAFETY: every element is written here, before anybody else sees the array. It
        // is new, so apart from `from`, and as large, in C order too.
        let out = unsafe {
            let out = PyArrayDyn::<T>::new(py, dense.shape(), false);
            std::ptr::copy_nonoverlapping(from.as_ptr(), out.data(), from.len());
            out
        };
        Some(out.into_any())
    }
    fn large<'py, T: Element + numpy::Element>(
        py: Python<'py>,
        dense: Dense<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = PyTuple::new(py, dense.shape())?;
        let flat = PyArray1::from_vec(py, dense.into_vec().map_err(PyErr::from)?);
        flat.call_method1(intern!(py, "reshape"), (shape,))
    }
    match with_dense!(&array, d => small(py, d)) {
        Some(found) => Ok(found),
        None => with_dense!(array, d => large(py, d)),
    }
}

/// Up to this many elements are copied into NumPy's own memory, which is faster than handing
/// ours over.
const SMALL: usize = 4096;

/// NumPy's object for an element type.
pub(in crate::python) fn numpy_dtype(py: Python<'_>, dtype: DType) -> Bound<'_, PyArrayDescr> {
    match dtype {
        DType::F32 => numpy::dtype::<f32>(py),
        DType::F64 => numpy::dtype::<f64>(py),
        DType::U32 => numpy::dtype::<u32>(py),
    }
}
