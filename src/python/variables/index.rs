//! `x[…]`, and `x` with the elements at `[…]` replaced.
//!
//! Keys are NumPy's, all of them. Integers, slices, `None` and `...` are a slice, which follows
//! the shape of what it is taken of; one array of integers, a list of them, or a variable that
//! holds indices looks up rows, which does too. Whatever else (arrays beside other parts, masks)
//! NumPy itself resolves, on an array of all places: those are of one shape, and other shapes
//! are refused.
//!
//! A variable is a mask if a comparison made it, for its numbers are floats. How many elements it
//! selects depends on its value, so it selects only where that cannot change.

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyEllipsis, PyFloat, PyInt, PyList, PyRange, PySlice, PyTuple};

use super::elements::Elements;
use super::handle::Handle;
use super::operand;
use super::variable::PyVariable;
use crate::array::{Dense, Shape, show_shape, size};
use crate::graph::{Variable, ops};
use crate::python::interop::convert::{self, type_name};
use crate::python::interop::element_type::ElementType;
use crate::python::interop::once::intern;
use crate::rules::{self, SliceItem};

/// One end of a slice.
fn bound(slice: &Bound<'_, PySlice>, name: &str) -> PyResult<Option<i64>> {
    let value = slice.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    // An integer that does not fit 64 bits lies outside of every array, on the side of its sign.
    match value.extract::<i64>() {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.is_instance_of::<PyOverflowError>(value.py()) => {
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
            Err(e) if e.is_instance_of::<PyOverflowError>(py) => Err(PyIndexError::new_err(
                format!("index {object} is out of range"),
            )),
            Err(e) => Err(e),
        };
    }
    Ok(None)
}

/// Where an element is that plain integers of Python or NumPy name, as the last axis runs fastest: one for each
/// axis, or one for all. `None` if they are others, or there is none.
pub(in crate::python) fn position(integers: &Bound<'_, PyTuple>, shape: &[usize]) -> Option<usize> {
    let all = [size(shape)];
    let lengths = match integers.len() {
        1 => &all[..],
        _ => shape,
    };
    if integers.len() != lengths.len() {
        return None;
    }
    integers
        .iter()
        .zip(lengths)
        .try_fold(0, |at, (k, &length)| {
            let plain = k.cast_exact::<PyInt>().is_ok() || is_numpys(&k);
            let k: isize = plain.then(|| k.extract().ok())??;
            let k = k.checked_add_unsigned(if k < 0 { length } else { 0 })?;
            let k = usize::try_from(k).ok().filter(|&k| k < length)?;
            Some(at * length + k)
        })
}

/// Whether the type of an object is one of NumPy's own.
fn is_numpys(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().module().is_ok_and(|name| name == "numpy")
}

/// The items of a tuple, `...` written out for an array of `ndim` axes; `None` if it is not a
/// slice.
fn items(parts: &Bound<'_, PyTuple>, ndim: usize) -> PyResult<Option<Vec<SliceItem>>> {
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
            return Ok(None);
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
    Ok(Some(out))
}

/// What a key names.
enum IndexKey<'py> {
    /// A basic slice.
    Slice(Vec<SliceItem>),
    /// Rows, by integers.
    Rows(Bound<'py, PyAny>),
    /// Elements where a node holds.
    Mask(Variable),
    /// Whatever NumPy makes of it; no variable is in it.
    Other(Bound<'py, PyAny>),
}

/// The value of a node as NumPy indexes by it: integers, or booleans where it is a mask.
fn plain<'py>(py: Python<'py>, node: &Variable) -> PyResult<Bound<'py, PyAny>> {
    if node.is_integer() {
        return ElementType::Integer.array(py, node.value()?);
    }
    ElementType::Boolean.array(py, ops::constant_mask(node)?)
}

/// One part of a key of several, without variables.
fn part<'py>(object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        convert::refuse_subclass(&"index", array)?;
    }
    let Ok(variable) = object.cast::<PyVariable>() else {
        return Ok(object);
    };
    let node = variable.get().handle.node()?;
    if node.is_integer() && node.settable() {
        return Err(PyTypeError::new_err(
            "indices that can change stand alone in brackets: x[rows][:, 0], not x[rows, 0]; \
             or use their value, rows.value",
        ));
    }
    plain(object.py(), &node)
}

/// Whether an object holds booleans.
fn is_logical(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyBool>() || kind_of(object)? == Some('b'))
}

/// The kind of the elements of a list or an array, as NumPy names it; None of what is neither. An empty list, which
/// becomes float64 in NumPy, is one of integers.
fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<Option<char>> {
    let py = object.py();
    let mut array = object.clone();
    if object.is_instance_of::<PyList>() {
        let numpy = py.import(intern!(py, "numpy"))?;
        array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
        if array.getattr(intern!(py, "size"))?.eq(0)? {
            return Ok(Some('i'));
        }
    }
    let Some(dtype) = array.getattr_opt(intern!(py, "dtype"))? else {
        return Ok(None);
    };
    Ok(Some(dtype.getattr(intern!(py, "kind"))?.extract()?))
}

fn parse<'py>(ndim: usize, key: &Bound<'py, PyAny>) -> PyResult<IndexKey<'py>> {
    if let Ok(parts) = key.cast::<PyTuple>() {
        if let Some(items) = items(parts, ndim)? {
            return Ok(IndexKey::Slice(items));
        }
        let parts = parts.iter().map(part).collect::<PyResult<Vec<_>>>()?;
        return Ok(IndexKey::Other(PyTuple::new(key.py(), parts)?.into_any()));
    }
    if let Ok(variable) = key.cast::<PyVariable>() {
        let node = variable.get().handle.node()?;
        return Ok(match node.is_integer() {
            true => IndexKey::Rows(key.clone()),
            false => IndexKey::Mask(node.into_owned()),
        });
    }
    if key.is_instance_of::<PyList>() || key.is_instance_of::<PyUntypedArray>() {
        return match kind_of(key)? {
            Some('b') => Ok(IndexKey::Other(part(key.clone())?)),
            Some('i' | 'u') => Ok(IndexKey::Rows(key.clone())),
            kind => Err(PyIndexError::new_err(format!(
                "index: expected integers or booleans, got a {} of kind '{}'",
                type_name(key),
                kind.unwrap_or('O')
            ))),
        };
    }
    if key.is_instance_of::<PyRange>() {
        return Ok(IndexKey::Rows(key.clone()));
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(IndexKey::Slice(Vec::new()));
    }
    let common =
        key.is_none() || key.is_instance_of::<PySlice>() || key.cast_exact::<PyInt>().is_ok();
    if !common && is_logical(key)? {
        return Ok(IndexKey::Other(key.clone()));
    }
    match item(key)? {
        Some(item) => Ok(IndexKey::Slice(vec![item])),
        None => Err(PyIndexError::new_err(format!(
            "an index is an integer, a slice, None, '...', integers, a mask, or a tuple of \
             these, not {}",
            type_name(key)
        ))),
    }
}

/// Rows of an array of this shape as an array or a list: a range is written out, unless it is longer than there
/// can be distinct rows, counted from both ends.
fn written_out<'py>(rows: Bound<'py, PyAny>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    if !rows.is_instance_of::<PyRange>() {
        return Ok(rows);
    }
    let count = shape.first().copied().unwrap_or_default();
    let is_word = |k: usize| {
        rows.get_item(k)
            .is_ok_and(|end| end.extract::<i64>().is_ok())
    };
    let is_short = rows.len().is_ok_and(|length| {
        length <= 2 * count && (length == 0 || is_word(0) && is_word(length - 1))
    });
    if !is_short {
        return Err(PyIndexError::new_err(format!(
            "index {rows} is out of range for an axis of length {count}"
        )));
    }
    rows.py().get_type::<PyList>().call1((rows,))
}

/// Arrays of up to so many elements are numbered whole to find what a key names.
const SMALL: usize = 1 << 12;

/// The places that a key names in an array of this shape.
fn places(shape: &[usize], key: &Bound<'_, PyAny>) -> PyResult<Dense<u32>> {
    let py = key.py();
    let count = u32::try_from(size(shape)).map_err(|_| {
        crate::Error::Shape(format!(
            "places are 32 bits wide, too narrow for an array of shape {}; index it by slices \
             or rows",
            show_shape(shape)
        ))
    })?;
    let numpy = py.import(intern!(py, "numpy"))?;
    if size(shape) > SMALL
        && let Some(found) = few_places(&numpy, shape, key)?
    {
        return convert::indices("index", &found, &|| None);
    }
    let all = numbers(&numpy, count)?;
    let all = all.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,))?;
    convert::indices("index", &all.get_item(key)?, &|| None)
}

/// The numbers below this one.
fn numbers<'py>(numpy: &Bound<'py, PyModule>, count: u32) -> PyResult<Bound<'py, PyAny>> {
    let py = numpy.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "dtype"), numpy::dtype::<u32>(py))?;
    numpy.call_method(intern!(py, "arange"), (count,), Some(&options))
}

/// The places that a key names, if these are few beside the elements: they are found axis by axis, so that what
/// this takes goes by the lengths of the axes and the number of places.
fn few_places<'py>(
    numpy: &Bound<'py, PyModule>,
    shape: &[usize],
    key: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = numpy.py();
    let whole = PyTuple::new(py, shape)?;
    let broadcast = intern!(py, "broadcast_to");
    let mut places: Option<Bound<'_, PyAny>> = None;
    for (axis, &length) in shape.iter().enumerate() {
        let mut column = Shape::from_elem(1, shape.len());
        column[axis] = length;
        // There are fewer than 2^32 elements.
        let line = numbers(numpy, length as u32)?;
        let column = PyTuple::new(py, &column[..])?;
        let line = line.call_method1(intern!(py, "reshape"), (column,))?;
        let everywhere = numpy.call_method1(broadcast, (line, &whole))?;
        let found = everywhere.get_item(key)?;
        places = Some(match places {
            Some(places) => places.mul(whole.get_item(axis)?)?.add(found)?,
            None => {
                let several: usize = found.getattr(intern!(py, "size"))?.extract()?;
                if several > size(shape) / 8 {
                    return Ok(None);
                }
                found
            }
        });
    }
    Ok(places)
}

/// Whether a key is `...`, or has it: what it selects is an array in NumPy, if only of one number.
fn has_dots(key: &Bound<'_, PyAny>) -> bool {
    let dots = |part: &Bound<'_, PyAny>| part.is_instance_of::<PyEllipsis>();
    match key.cast::<PyTuple>() {
        Ok(parts) => parts.iter().any(|part| dots(&part)),
        Err(_) => dots(key),
    }
}

/// The items of a key that is a basic slice; `None` if it is another.
pub(in crate::python) fn slice_items(
    ndim: usize,
    key: &Bound<'_, PyAny>,
) -> PyResult<Option<Vec<SliceItem>>> {
    Ok(match parse(ndim, key)? {
        IndexKey::Slice(items) => Some(items),
        IndexKey::Rows(_) | IndexKey::Mask(_) | IndexKey::Other(_) => None,
    })
}

/// `x[key]`, and whether that is a view in NumPy.
pub(in crate::python) fn get(x: &Variable, key: &Bound<'_, PyAny>) -> PyResult<(Variable, bool)> {
    let ty = x.ty()?;
    let found = match parse(ty.ndim(), key)? {
        IndexKey::Rows(_) if ty.ndim() == 0 => {
            return Err(PyIndexError::new_err(
                "too many indices: a single number has no rows to look up",
            ));
        }
        IndexKey::Slice(items) => {
            let found = ops::slice(x, items)?;
            let is_number = found.ty()?.ndim() == 0 && !has_dots(key);
            return Ok((found, !is_number));
        }
        IndexKey::Rows(rows) => operand::rows(x, &written_out(rows, &ty.shape)?)?,
        IndexKey::Mask(mask) => {
            let key = plain(key.py(), &mask)?;
            ops::take_flat(x, places(&ty.shape, &key)?)?
        }
        IndexKey::Other(key) => ops::take_flat(x, places(&ty.shape, &key)?)?,
    };
    Ok((found, false))
}

/// The place of the element or row of `x` that a key names by plain integers, and by how many axes; `None` for
/// another key.
fn place(x: &Variable, key: &Bound<'_, PyAny>) -> PyResult<Option<(u32, usize)>> {
    let shape = x.ty()?.shape;
    let integers = match key.cast::<PyTuple>() {
        Ok(integers) => integers.clone(),
        Err(_) => PyTuple::new(key.py(), [key])?,
    };
    let axes = integers.len();
    // Places of elements are 32 bits wide.
    if !(1..=shape.len()).contains(&axes) || u32::try_from(size(&shape)).is_err() {
        return Ok(None);
    }
    Ok(position(&integers, &shape[..axes]).map(|place| (place as u32, axes)))
}

/// `x[key]` for one element or row, where some were assigned to that the node of `x` lacks, and of a row, which is a
/// view in NumPy, the items of the slice that it is.
pub(in crate::python) fn get_element(
    x: &Handle,
    key: &Bound<'_, PyAny>,
) -> PyResult<Option<(Variable, Option<Vec<SliceItem>>)>> {
    if !x.lacks_elements() {
        return Ok(None);
    }
    let Some((slot, node)) = x.elements()? else {
        return Ok(None);
    };
    let ndim = node.ty()?.ndim();
    let Some((place, axes)) = place(&node, key)? else {
        return Ok(None);
    };
    let found = match slot.element(place, axes) {
        // A node of its own, as a slice would have.
        Some(value) => ops::unary(&rules::Positive, &value)?,
        None if slot.takes_elements(axes) => get(&node, key)?.0,
        None => return Ok(None),
    };
    let items = match axes == ndim {
        true => None,
        false => slice_items(ndim, key)?,
    };
    Ok(Some((found, items)))
}

/// `x[key] = value` for one element or row, without a node for all the others; `false`, and nothing done, if it
/// is something else.
pub(in crate::python) fn assign_element(
    x: &Handle,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    // No code of the caller's runs meanwhile. `x[key] += v` has assigned to the view when it assigns that.
    let is_plain = match value.cast::<PyVariable>() {
        Ok(value) => !value.get().handle.is_view_of(x),
        Err(_) => {
            value.cast_exact::<PyFloat>().is_ok()
                || value.cast_exact::<PyInt>().is_ok()
                || is_numpys(value)
        }
    };
    if !is_plain {
        return Ok(false);
    }
    let Some((slot, node)) = x.elements()? else {
        return Ok(false);
    };
    if !Elements::fit(&node) {
        return Ok(false);
    }
    let Some((place, axes)) = place(&node, key)? else {
        return Ok(false);
    };
    let Some(value) = operand::other("replace", &node, value)? else {
        return Ok(false);
    };
    let (shape, row) = (value.ty()?.shape, &node.ty()?.shape[axes..]);
    if shape[..] != *row || (!row.is_empty() && value.input_below()) {
        return Ok(false);
    }
    slot.assign(place, axes, ops::assigned(&node, &value, row.len())?)?;
    Ok(true)
}

/// `x` as it is after `x[key] = value`.
pub(in crate::python) fn replace(
    x: &Variable,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Variable> {
    let value = operand::other("replace", x, value)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "replace: expected a variable, number or array, got {}",
            type_name(value)
        ))
    })?;
    let ty = x.ty()?;
    let key = match parse(ty.ndim(), key)? {
        IndexKey::Slice(items) => return Ok(ops::slice_replace(x, items, &value)?),
        IndexKey::Mask(mask) if mask.is_boolean() && value.ty()?.size() == 1 => {
            return Ok(ops::replace_where(x, &mask, &value)?);
        }
        IndexKey::Mask(mask) => plain(key.py(), &mask)?,
        IndexKey::Rows(rows) => part(written_out(rows, &ty.shape)?)?,
        IndexKey::Other(key) => key,
    };
    Ok(ops::replace(x, &places(&ty.shape, &key)?, &value)?)
}
