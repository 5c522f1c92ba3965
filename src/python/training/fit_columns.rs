//! Columns of a loss that is a Python function: what they are made of, by the kinds that
//! `python/wyrmling/source/training.py` gives them, and as a batch has them.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::mapped::{self, StoredAs, mapped};
use super::ragged::ragged;
use crate::array::{Array, DType, Type, vec_for};
use crate::exec::{BatchColumn, Leaf, range_of};
use crate::python::interop::convert;
use crate::python::variables::integers::integers;
use crate::train::{Mapped, SampleValue, Source};

/// A column as a batch has it, if it can be one, and what fills it.
pub(in crate::python) fn batch_column(
    leaf: &Leaf,
    source: &Source,
    value: &SampleValue,
) -> Option<(BatchColumn, Source)> {
    if let (SampleValue::WideInt, Source::Column(words), Leaf::Input { id, name, .. }) =
        (value, source, leaf)
    {
        let (numbers, range) = as_doubles(words)?;
        let leaf = Leaf::Input {
            id: *id,
            ty: Type::new(DType::F64, &[1]),
            name: name.clone(),
        };
        let range = Some(range);
        return Some((BatchColumn { leaf, range }, Source::Column(numbers.into())));
    }
    let range = match (value, source) {
        (SampleValue::Int, Source::Mapped(data)) => Some(data.range()),
        (SampleValue::Float | SampleValue::Row, Source::Mapped(data))
            if data.ty().dtype.is_real() =>
        {
            None
        }
        (SampleValue::Int | SampleValue::Bool, Source::Column(data)) => Some(range_of(data)?),
        (SampleValue::Int | SampleValue::Row, drawn) if drawn.item_count().is_some() => {
            Some((0, i64::from(drawn.item_count()?) - 1))
        }
        (SampleValue::Float, Source::Rank(_)) => None,
        (SampleValue::Float | SampleValue::Row, Source::Column(data)) if data.dtype().is_real() => {
            None
        }
        _ => return None,
    };
    let leaf = leaf.clone();
    Some((BatchColumn { leaf, range }, source.clone()))
}

/// Integers of two words each as float64, and the least and the largest; `None` if one has more than 53
/// bits, or there is none.
fn as_doubles(words: &Array) -> Option<(Vec<f64>, (i64, i64))> {
    let view = words.view();
    let pairs = view.indices().as_chunks().0.iter();
    let whole = |&[low, high]: &[u32; 2]| (u64::from(low) | u64::from(high) << 32).cast_signed();
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for integer in pairs.clone().map(whole) {
        (low, high) = (low.min(integer), high.max(integer));
    }
    let most = 1i64 << f64::MANTISSA_DIGITS;
    if low > high || low < -most || high > most {
        return None;
    }
    let mut numbers = vec_for(&[pairs.len()]).ok()?;
    numbers.extend(pairs.map(|pair| whole(pair) as f64));
    Some((numbers, (low, high)))
}

/// A column that is read where it is mapped, by its kind.
fn mapped_column(
    name: &str,
    kind: &str,
    data: &Bound<'_, PyAny>,
) -> PyResult<Option<(Mapped, SampleValue)>> {
    let (stored_as, value): (StoredAs, _) = match kind {
        "int" => (mapped::indices, SampleValue::Int),
        "float" => (mapped::numbers, SampleValue::Float),
        "row" => (mapped::numbers, SampleValue::Row),
        "integers" => (mapped::integers, SampleValue::Row),
        _ => return Ok(None),
    };
    Ok(mapped(name, data, stored_as)?.map(|found| (found, value)))
}

/// A column of words or numbers, by its kind.
pub(in crate::python) fn column(
    name: &str,
    kind: &str,
    data: &Bound<'_, PyAny>,
) -> PyResult<(Source, Type, SampleValue)> {
    if let Some((found, value)) = mapped_column(name, kind, data)? {
        let ty = found.ty().clone();
        return Ok((Source::Mapped(found), ty, value));
    }
    let (found, value) = copied_column(name, kind, data)?;
    let ty = found.ty();
    Ok((Source::Column(found), ty, value))
}

/// A copy of a column, by its kind.
fn copied_column(
    name: &str,
    kind: &str,
    data: &Bound<'_, PyAny>,
) -> PyResult<(Array, SampleValue)> {
    let indices = |data| Ok::<_, PyErr>(convert::indices(name, data, &|| None)?.into());
    Ok(match kind {
        "int" => (indices(data)?, SampleValue::Int),
        "wide" => (indices(data)?, SampleValue::WideInt),
        "bool" => (indices(data)?, SampleValue::Bool),
        "float" => (convert::array(name, data)?.0, SampleValue::Float),
        "integers" => (integers(name, data)?.into(), SampleValue::Row),
        "entry" => {
            let ragged = Arc::new(ragged(name, data)?);
            let Ok(count) = u32::try_from(ragged.len()) else {
                return Err(PyValueError::new_err(format!(
                    "columns: '{name}': at most {} samples, got {}",
                    u32::MAX,
                    ragged.len()
                )));
            };
            let mut numbers: Vec<u32> = vec_for(&[ragged.len()])?;
            numbers.extend(0..count);
            (numbers.into(), SampleValue::Entry(ragged))
        }
        _ => (convert::array(name, data)?.0, SampleValue::Row),
    })
}
