//! Files, as Python sees them: interactions and models.
//!
//! Everything is read and written by [`crate::io`]; this file only converts.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use numpy::{IntoPyArray, Ix1, Ix2, PyArray1, PyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::argument::{borrowed, texts};
use super::long_call::long_call;
use super::rank::PyCsr;
use crate::error::{Error, Result};
use crate::io::interactions::{self, Format};
use crate::io::model::{Model, ModelView};
use crate::io::{Column, Delimiter, Ids, Taken};

/// Users, items, ids of users, ids of items, ratings.
type ReadColumns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Vec<String>,
    Vec<String>,
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
            strings(&read.user_ids),
            strings(&read.item_ids),
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

/// Writes a factorisation as a safetensors file, which replaces an existing one at once and
/// keeps its permissions. A symbolic link is followed.
///
/// Args:
///     path: the file.
///     users: factors of users, float32, shape (n, d).
///     items: factors of items, float32, shape (m, d).
///     item_bias: float32, shape (m,).
///     user_ids: the caller's names of the n users; distinct.
///     item_ids: the caller's names of the m items; distinct.
///     train: pairs of n users and m items.
///
/// Raises:
///     OSError: the file cannot be written.
///     TypeError: another element type.
///     ValueError: parts that do not fit together, or ids that are not distinct.
///     FloatingPointError: a number that is not finite.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a model has that many parts")]
fn save_model<'py>(
    py: Python<'py>,
    path: PathBuf,
    users: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    item_bias: &Bound<'py, PyAny>,
    user_ids: &Bound<'py, PyAny>,
    item_ids: &Bound<'py, PyAny>,
    train: &Bound<'py, PyCsr>,
) -> PyResult<()> {
    let users = borrowed::<f32, Ix2>("users", users)?;
    let items = borrowed::<f32, Ix2>("items", items)?;
    let item_bias = borrowed::<f32, Ix1>("item_bias", item_bias)?;
    let (users, items, item_bias) = (users.as_array(), items.as_array(), item_bias.as_array());
    let user_ids = texts("user_ids", user_ids, users.nrows())?;
    let item_ids = texts("item_ids", item_ids, items.nrows())?;
    let train = &train.get().0;
    long_call(py, |caller| {
        let stop = caller.stop();
        ModelView {
            users,
            items,
            item_bias,
            user_ids: &ids("user_ids", user_ids, stop)?,
            item_ids: &ids("item_ids", item_ids, stop)?,
            train,
        }
        .save(&path, stop)
    })
}

/// The arguments of [`save_model`] but for the path.
type ModelArrays<'py> = (
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f32>>,
    Vec<String>,
    Vec<String>,
    PyCsr,
);

/// Reads what ``save_model`` wrote, and returns its arguments but for the path.
///
/// The file need not be trusted.
///
/// Raises:
///     OSError: the file cannot be read.
///     ValueError: it is not a model, or damaged.
///     MemoryError: there is no memory for it.
#[pyfunction]
fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<ModelArrays<'_>> {
    let model = long_call(py, |caller| Model::load(&path, caller.stop()))?;
    Ok((
        model.users.into_pyarray(py),
        model.items.into_pyarray(py),
        model.item_bias.into_pyarray(py),
        strings(&model.user_ids),
        strings(&model.item_ids),
        PyCsr(model.train),
    ))
}

fn strings(ids: &Ids) -> Vec<String> {
    ids.iter().map(str::to_owned).collect()
}

fn ids(name: &str, strings: Vec<String>, stop: &AtomicBool) -> Result<Ids> {
    Ids::from_strings_until(strings, stop).map_err(|error| match error {
        Error::Value(error) => Error::Value(format!("{name}: {error}")),
        other => other,
    })
}

/// Adds all of this to the module.
pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_interactions, m)?)?;
    m.add_function(wrap_pyfunction!(save_model, m)?)?;
    m.add_function(wrap_pyfunction!(load_model, m)?)
}
