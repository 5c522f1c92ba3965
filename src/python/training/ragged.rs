//! Ragged columns: `wyrmling.Ragged` as the trainer takes it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::Array;
use crate::interrupt::Poller;
use crate::python::interop::convert;
use crate::python::interop::once::intern;
use crate::python::variables::integers::integers;
use crate::train::Ragged;

/// A copy of a `wyrmling.Ragged`; integers are [of 32 bits](crate::python::variables::integers).
///
/// # Errors
/// ValueError for one with weights; OverflowError for an integer of more; what [`Ragged::new`] reports, if the object
/// is another; MemoryError.
pub(in crate::python) fn ragged(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Ragged> {
    let py = object.py();
    if let Some(weights) = object.getattr_opt(intern!(py, "weights"))?
        && !weights.is_none()
    {
        return Err(PyValueError::new_err(format!(
            "{what}: entries of a column have no weights, which are for wyrmling.bag; give another \
             column of them"
        )));
    }
    let values = object.getattr(intern!(py, "values"))?;
    let kind: String = values
        .getattr(intern!(py, "dtype"))?
        .getattr(intern!(py, "kind"))?
        .extract()?;
    let values: Array = match kind.as_str() {
        "f" => convert::array(what, &values)?.0,
        _ => integers(what, &values)?.into(),
    };
    let offsets = object.getattr(intern!(py, "offsets"))?;
    let offsets = convert::as_numpy(&what, &offsets)?;
    let offsets: Vec<i64> = convert::elements(&offsets)?;
    let mut poller = Poller::default();
    let mut places = crate::array::vec_for(&[offsets.len()])?;
    for part in offsets.chunks(1 << 20) {
        // Those that are no places are no lengths of anything either, which is found below.
        places.extend(
            part.iter()
                .map(|&at| usize::try_from(at).unwrap_or(usize::MAX)),
        );
        poller.step(part.len())?;
    }
    Ok(Ragged::new(values, places)?)
}
