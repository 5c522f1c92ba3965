//! Files, as Python sees them: interactions and models.
//!
//! Everything is read and written by [`crate::io`]; this file only converts.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use numpy::{IntoPyArray, Ix1, Ix2, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::argument::borrowed;
use super::long_call::long_call;
use super::rank::PyCsr;
use crate::error::{Error, Result};
use crate::io::interactions::{self, Format};
use crate::io::model::{Model, ModelView};
use crate::io::{Delimiter, Ids};

/// Users, items, ids of users, ids of items, ratings.
type Columns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Vec<String>,
    Vec<String>,
    Option<Bound<'py, PyArray1<f32>>>,
);

/// Reads a file of interactions, as ``wyrmling.datasets.read_interactions`` describes.
///
/// Args:
///     path: the file.
///     delimiter: what separates fields, or None to find out.
///     header: whether the first line names the columns, or None to find out.
///     ratings: whether to read ratings.
///
/// Returns:
///     Numbers of users and of items (uint32, one entry an interaction), the ids of users
///     and of items by number, and the ratings (float32) or None if there are none.
///
/// Raises:
///     OSError: the file cannot be read.
///     ValueError: there is nothing in it, a line is bad, or the delimiter is unknown.
#[pyfunction]
fn read_interactions<'py>(
    py: Python<'py>,
    path: PathBuf,
    delimiter: Option<&str>,
    header: Option<bool>,
    ratings: bool,
) -> PyResult<Columns<'py>> {
    let delimiter = delimiter.map(|delimiter| match delimiter {
        "," => Ok(Delimiter::Comma),
        "\t" => Ok(Delimiter::Tab),
        "::" => Ok(Delimiter::Colons),
        other => Err(PyValueError::new_err(format!(
            "delimiter: expected ',', '\\t' or '::', got {other:?}"
        ))),
    });
    let format = Format {
        delimiter: delimiter.transpose()?,
        header,
        without_ratings: !ratings,
    };
    let read = long_call(py, |caller| {
        interactions::read(&path, &format, caller.stop())
    })?;
    Ok((
        read.users.into_pyarray(py),
        read.items.into_pyarray(py),
        strings(&read.user_ids),
        strings(&read.item_ids),
        read.ratings.map(|ratings| ratings.into_pyarray(py)),
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
    user_ids: Vec<String>,
    item_ids: Vec<String>,
    train: &Bound<'py, PyCsr>,
) -> PyResult<()> {
    let users = borrowed::<f32, Ix2>("users", users)?;
    let items = borrowed::<f32, Ix2>("items", items)?;
    let item_bias = borrowed::<f32, Ix1>("item_bias", item_bias)?;
    let (users, items, item_bias) = (users.as_array(), items.as_array(), item_bias.as_array());
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
type Parts<'py> = (
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
fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Parts<'_>> {
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
