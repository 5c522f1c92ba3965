//! Files, as Python sees them: interactions and tensors.
//!
//! Everything is read and written by [`crate::io`]; this file only converts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use numpy::{IntoPyArray, Ix1, PyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};

use crate::error::Error;
use crate::io::interactions::{self, Format};
use crate::io::tensors::{self, Contents, Tensor};
use crate::io::{self, Column, Delimiter, Ids, Taken, role_of};
use crate::python::interop::argument::borrowed;
use crate::python::interop::convert::type_name;
use crate::python::interop::long_call::long_call;

/// Users, items, ids of users, ids of items, ratings.
type ReadColumns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyList>,
    Bound<'py, PyList>,
    Option<Bound<'py, PyArray1<f32>>>,
);

/// A column that was taken: its place and its name.
type TakenColumn = (usize, Option<String>);

/// The delimiter, and the columns of the user, the item and the rating.
type ReadLayout = (&'static str, TakenColumn, TakenColumn, Option<TakenColumn>);

/// A column as the caller gives it: by name, or by its place from 0.
fn column(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Column>> {
    let Some(given) = given else { return Ok(None) };
    if let Ok(text) = given.extract::<String>() {
        return Ok(Some(Column::Named(text)));
    }
    match given.extract::<usize>() {
        Ok(at) if !given.is_instance_of::<PyBool>() => Ok(Some(Column::At(at))),
        _ => Err(PyTypeError::new_err(format!(
            "{name}_column: expected the name of a column, or its number from 0, got {}",
            given.repr()?
        ))),
    }
}

/// What a column of this name is known to hold in a file of interactions: ``"user"``, ``"item"`` or
/// ``"rating"``, else None.
///
/// >>> column_role("Movie ID"), column_role("colour")
/// ('item', None)
#[pyfunction]
#[pyo3(signature = (name, /))]
fn column_role(name: &str) -> Option<&'static str> {
    role_of(name)
}

/// Reads a file of interactions, as ``wyrmling.datasets.read_interactions`` describes.
///
/// Args:
///     path: the file.
///     delimiter: what separates fields, or None to find out.
///     header: whether the first line names the columns, or None to find out.
///     ratings: whether to read ratings.
///     user: the name or place of the users' column, or None to find out.
///     item: that of the items' column.
///     rating: that of the ratings' column.
///     others: those of columns that are read as something else, where no rating is looked for.
///
/// Returns:
///     Columns: numbers of users and of items (uint32, one entry an interaction), the ids of
///     users and of items by number, and the ratings (float32) or None if there are none. Then
///     the layout: the delimiter, and of the columns of the user, the item and the rating (or
///     None) place and name (or None).
///
/// Raises:
///     OSError: the file cannot be read.
///     ValueError: there is nothing in it, a line is bad, or the delimiter is unknown.
///     TypeError: a column that is neither a name nor a number.
///     MemoryError: there is no memory for it.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "one for each thing that may be said of a file"
)]
fn read_interactions<'py>(
    py: Python<'py>,
    path: PathBuf,
    delimiter: Option<&str>,
    header: Option<bool>,
    ratings: bool,
    user: Option<&Bound<'py, PyAny>>,
    item: Option<&Bound<'py, PyAny>>,
    rating: Option<&Bound<'py, PyAny>>,
    others: Vec<Bound<'py, PyAny>>,
) -> PyResult<(ReadColumns<'py>, ReadLayout)> {
    let delimiter = delimiter.map(|text| {
        let mut all = Delimiter::ALL.into_iter();
        all.find(|known| known.text() == text).ok_or_else(|| {
            let known = Delimiter::ALL.map(|known| format!("{:?}", known.text()));
            PyValueError::new_err(format!(
                "delimiter: expected one of {}, got {text:?}",
                known.join(", ")
            ))
        })
    });
    let format = Format {
        delimiter: delimiter.transpose()?,
        header,
        without_ratings: !ratings,
        user: column("user", user)?,
        item: column("item", item)?,
        rating: column("rating", rating)?,
        // What is no column is found when it is read.
        others: others
            .iter()
            .filter_map(|other| column("", Some(other)).ok().flatten())
            .collect(),
    };
    let read = long_call(py, |caller| {
        interactions::read(&path, &format, caller.stop())
    })?;
    let place = |taken: Taken| (taken.at, taken.name);
    let layout = read.layout;
    Ok((
        (
            read.users.into_pyarray(py),
            read.items.into_pyarray(py),
            strings(py, &read.user_ids)?,
            strings(py, &read.item_ids)?,
            read.ratings.map(|ratings| ratings.into_pyarray(py)),
        ),
        (
            layout.delimiter.text(),
            place(layout.user),
            place(layout.item),
            layout.rating.map(place),
        ),
    ))
}

/// A tensor: its element type, shape and bytes.
type PyTensor<'py> = (String, Vec<usize>, Bound<'py, PyArray1<u8>>);

/// Writes a safetensors file, which replaces an existing one at once and keeps its permissions.
/// A symbolic link is followed. ``wyrmling.tensor_files`` has the form for arrays.
///
/// Args:
///     path: the file.
///     format: what the file holds, and in which version.
///     about: texts by name.
///     tensors: by name the element type as safetensors calls it, the shape, and the bytes, an
///         array of uint8.
///
/// Raises:
///     OSError: the file cannot be written.
///     TypeError: arguments of another type.
///     ValueError: bytes that do not fit a shape, an element type or name that cannot be written,
///         or names and texts beyond 1 MB.
#[pyfunction]
fn write_tensors<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: String,
    about: &Bound<'py, PyDict>,
    tensors: &Bound<'py, PyDict>,
) -> PyResult<()> {
    let mut texts = BTreeMap::new();
    for (name, text) in about {
        texts.insert(name.extract()?, text.extract()?);
    }
    let mut arrays = Vec::new();
    // Of a copy: reading a shape may call methods of the caller's, which may change the dict.
    for item in tensors.items() {
        let (name, tensor): (String, Bound<'py, PyAny>) = item.extract()?;
        let (dtype, shape, bytes): (String, Vec<usize>, Bound<'py, PyAny>) = tensor.extract()?;
        let bytes = borrowed::<u8, Ix1>(&name, &bytes)?;
        arrays.push((name, dtype, shape, bytes));
    }
    let mut tensors = BTreeMap::new();
    for (name, dtype, shape, bytes) in &arrays {
        let (dtype, shape) = (dtype.clone(), shape.clone());
        let bytes = bytes.as_slice()?;
        tensors.insert(
            name.clone(),
            Tensor {
                dtype,
                shape,
                bytes,
            },
        );
    }
    let contents = Contents {
        format,
        about: texts,
        tensors,
    };
    long_call(py, |caller| tensors::save(&path, &contents, caller.stop()))
}

/// Has a copy of a file take the place of another, all at once.
///
/// Args:
///     path: what is replaced, if it is there. It keeps its permissions, and a symbolic link leads to
///         the new content.
///     source: what is copied.
///
/// Raises:
///     OSError: a file cannot be read or written.
///     TypeError: no path.
#[pyfunction]
fn replace_file(py: Python<'_>, path: PathBuf, source: PathBuf) -> PyResult<()> {
    long_call(py, |caller| io::replace_file(&path, &source, caller.stop()))
}

/// Reads a safetensors file, which need not be trusted.
///
/// Args:
///     source: a path, or the bytes of a file.
///     formats: those that are accepted.
///
/// Returns:
///     The format, texts by name, and tensors by name as ``write_tensors`` takes them.
///
/// Raises:
///     OSError: the file cannot be read.
///     TypeError: neither a path nor bytes.
///     ValueError: another format, or a damaged file.
///     MemoryError: there is no memory for it.
#[pyfunction]
fn read_tensors<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    formats: Vec<String>,
) -> PyResult<PyContents<'py>> {
    let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
    let read = if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        long_call(py, |caller| {
            tensors::read(&mut &*bytes, bytes.len() as u64, &formats, caller.stop())
        })?
    } else {
        let path: PathBuf = source.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "source: expected a path or bytes, got {}",
                type_name(source)
            ))
        })?;
        long_call(py, |caller| tensors::load(&path, &formats, caller.stop()))?
    };
    let tensors = PyDict::new(py);
    for (name, tensor) in read.tensors {
        let array: PyTensor<'py> = (tensor.dtype, tensor.shape, tensor.bytes.into_pyarray(py));
        tensors.set_item(name, array)?;
    }
    Ok((read.format, read.about, tensors))
}

/// A tensor in a file: its element type, shape, where it begins and ends, and its checksum.
type PyTensorPlace = (String, Vec<usize>, u64, u64, Option<String>);

/// What a file holds: its format, texts by name, and tensors by name.
type PyContents<'py> = (String, BTreeMap<String, String>, Bound<'py, PyDict>);

/// Reads the header of a safetensors file.
///
/// Args:
///     head: the first bytes of the file, at least those of the header.
///     size: how many bytes the file has.
///     formats: those that are accepted.
///
/// Returns:
///     The format, texts by name, and by name of a tensor its element type, shape, where it begins
///     and ends in the file, and its checksum, or None in a file without any.
///
/// Raises:
///     ValueError: another format, or a header that is not valid.
#[pyfunction]
fn tensor_places<'py>(
    py: Python<'py>,
    head: &[u8],
    size: u64,
    formats: Vec<String>,
) -> PyResult<PyContents<'py>> {
    let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
    let found = tensors::layout(&mut &*head, size, &formats).map_err(|error| match error {
        Error::File(..) => Error::Value(format!("head: {} bytes hold no header", head.len())),
        other => other,
    });
    let found = found?;
    let places = PyDict::new(py);
    for (name, place) in found.tensors {
        let end = place.start + place.len as u64;
        let place: PyTensorPlace = (place.dtype, place.shape, place.start, end, place.checksum);
        places.set_item(name, place)?;
    }
    Ok((found.format, found.about, places))
}

/// The ids as texts. There may be millions, so that a lack of memory is an error here.
fn strings<'py>(py: Python<'py>, ids: &Ids) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for id in ids.iter() {
        list.append(PyString::from_bytes(py, id.as_bytes())?)?;
    }
    Ok(list)
}

/// Adds all of this to the module.
pub(in crate::python) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(column_role, m)?)?;
    m.add_function(wrap_pyfunction!(read_interactions, m)?)?;
    m.add_function(wrap_pyfunction!(write_tensors, m)?)?;
    m.add_function(wrap_pyfunction!(replace_file, m)?)?;
    m.add_function(wrap_pyfunction!(read_tensors, m)?)?;
    m.add_function(wrap_pyfunction!(tensor_places, m)?)
}
