//! Several things, as Python gives them: what an iterable holds, and integers one by one or in a tuple.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use super::argument::{Integer, does_not_fit};
use super::convert::shown;

/// Most things that are taken from an iterable that is not plainly a list or tuple.
const MOST_ITEMS: usize = 1 << 20;

/// What an iterable holds, each thing made by `each` as it comes. Its length is not asked for: an
/// object may say anything there. At most `most` are taken, or what a list or tuple holds.
///
/// # Errors
/// TypeError if it is no iterable or a text, ValueError if it has more, MemoryError if there is
/// not the memory; what iterating raises, `each`, and the handlers of signals.
pub(in crate::python) fn items<'py, T>(
    name: &str,
    object: &Bound<'py, PyAny>,
    most: Option<usize>,
    mut each: impl FnMut(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let mut found = Vec::new();
    each_item(name, object, most, &mut |item| {
        if found.len() == found.capacity() {
            let grown = found.try_reserve(found.len().max(4));
            grown
                .map_err(|_| PyMemoryError::new_err(format!("{name}: there is not the memory")))?;
        }
        found.push(each(item)?);
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` with what an iterable holds, as [`items`] does; compiled once.
fn each_item<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    most: Option<usize>,
    each: &mut dyn FnMut(Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let iterable = match object.is_instance_of::<PyString>() {
        true => None,
        false => object.try_iter().ok(),
    };
    let Some(iterable) = iterable else {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected a list, got {}",
            shown(object)
        )));
    };
    let holds = || {
        let list = object.cast_exact::<PyList>().map(|list| list.len());
        list.or_else(|_| object.cast_exact::<PyTuple>().map(|tuple| tuple.len()))
    };
    let most = most.unwrap_or_else(|| holds().unwrap_or(MOST_ITEMS));
    for (number, item) in iterable.enumerate() {
        if number == most {
            return Err(PyValueError::new_err(format!(
                "{name}: expected {most} at most, got more"
            )));
        }
        each(item?)?;
        if (number + 1) % 1024 == 0 {
            object.py().check_signals()?;
        }
    }
    Ok(())
}

/// One integer, or several in a tuple, list or array; `None` for Python's `None`.
pub(in crate::python) fn integers(
    what: &str,
    object: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<i64>>> {
    let Some(object) = object.filter(|o| !o.is_none()) else {
        return Ok(None);
    };
    let index = |o: &Bound<'_, PyAny>| -> PyResult<i64> {
        match o.extract() {
            Ok(found) if !o.is_instance_of::<PyBool>() => Ok(found),
            Err(error) if !does_not_fit(o.py(), &error) => Err(error),
            _ => match o.extract()? {
                Integer::Other(found) => Err(PyTypeError::new_err(format!(
                    "{what}: expected an integer or a tuple of integers, got {found}"
                ))),
                too_large => too_large.signed(what),
            },
        }
    };
    if let Ok(array) = object.cast::<PyUntypedArray>()
        && array.ndim() == 1
    {
        return items(what, object, Some(array.len()), |o| index(&o)).map(Some);
    }
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        return items(what, object, None, |o| index(&o)).map(Some);
    }
    Ok(Some(vec![index(object)?]))
}

/// Axes that are reduced or dropped: one, or several in a tuple; no list and no array, as in NumPy. With
/// `of_number` the axis 0 or -1 alone, which a number has not, is none, as in `numpy.ufunc.reduce`.
pub(in crate::python) fn reduced_axes(
    name: &str,
    object: Option<&Bound<'_, PyAny>>,
    of_number: bool,
) -> PyResult<Option<Vec<i64>>> {
    if let Some(object) = object
        && !object.is_instance_of::<PyTuple>()
        && (object.is_instance_of::<PyList>()
            || object.cast::<PyUntypedArray>().is_ok_and(|a| a.ndim() > 0))
    {
        return Err(PyTypeError::new_err(format!(
            "{name}: axis: expected an integer or a tuple of integers, got {}",
            shown(object)
        )));
    }
    let lone = of_number && !object.is_some_and(|o| o.is_instance_of::<PyTuple>());
    Ok(integers("axis", object)?.filter(|axes| !(lone && matches!(axes[..], [0 | -1]))))
}

/// Integers given one by one or as one tuple; `None` if there is nothing.
pub(in crate::python) fn lengths(
    what: &str,
    given: &Bound<'_, PyTuple>,
) -> PyResult<Option<Vec<i64>>> {
    match given.len() {
        0 => Ok(None),
        1 => integers(what, Some(&given.get_item(0)?)),
        _ => integers(what, Some(given.as_any())),
    }
}

/// As [`integers`], where there must be some.
pub(in crate::python) fn required(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    integers(what, Some(object))?.ok_or_else(|| missing(what))
}

/// What is raised where integers are needed and there are none.
pub(in crate::python) fn missing(what: &str) -> PyErr {
    PyTypeError::new_err(format!("{what}: expected integers, got None"))
}
