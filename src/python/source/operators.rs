//! The operators of the rule table that front ends apply by name: those of numbers, and what takes a
//! row of an array or exchanges one. All others come from graphs, by splicing, with NumPy's reading of
//! their arguments.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::DType;
use crate::python::operations::elementwise::{self, Computing};
use crate::rules::{self, OpRef};

/// The operator of a name of the rule table, or of the function that it is.
///
/// # Errors
/// ValueError for another name, or attributes that it does not take.
pub(super) fn named(name: &str, attributes: Option<&Bound<'_, PyDict>>) -> PyResult<OpRef> {
    let mut left: Vec<(String, Bound<'_, PyAny>)> = Vec::new();
    for (key, value) in attributes.into_iter().flatten() {
        left.push((key.extract()?, value));
    }
    let mut take = |key: &str| {
        let at = left.iter().position(|(other, _)| other == key)?;
        Some(left.remove(at).1)
    };
    let missing =
        |key: &str| PyValueError::new_err(format!("{name}: expected the attribute {key}"));
    let found = elementwise::all().find(|entry| {
        entry.name == name
            || match entry.compute {
                Computing::One(op) | Computing::Two(op) => op.name() == name,
                Computing::Ordered(_) => false,
            }
    });
    let op = match (found.map(|entry| entry.compute), name) {
        (Some(Computing::One(op) | Computing::Two(op)), _) => OpRef::Static(op),
        (Some(Computing::Ordered(op)), _) => {
            let n = take("n").ok_or_else(|| missing("n"))?;
            op(elementwise::order(name, &n)?)
        }
        (None, "cast") => {
            let dtype = take("dtype")
                .ok_or_else(|| missing("dtype"))?
                .extract::<String>()?;
            OpRef::new(rules::Cast {
                dtype: match dtype.as_str() {
                    "float32" => DType::F32,
                    "float64" => DType::F64,
                    _ => {
                        return Err(PyValueError::new_err(format!(
                            "cast: dtype: expected 'float32' or 'float64', got '{dtype}'"
                        )));
                    }
                },
            })
        }
        (None, "gather") => OpRef::Static(&rules::Gather),
        (None, "replace_row") => OpRef::Static(&rules::ReplaceRow),
        (None, "take_at" | "replace_at") => {
            let axes = take("axes").ok_or_else(|| missing("axes"))?;
            let axes = axes.extract::<Vec<usize>>()?.into_iter().collect();
            match name {
                "take_at" => OpRef::new(rules::TakeAt { axes }),
                _ => OpRef::new(rules::ReplaceAt { axes }),
            }
        }
        (None, "pick") => OpRef::Static(&rules::Pick),
        (None, "stop_gradient") => OpRef::Static(&rules::StopGradient),
        (None, "from_index") => OpRef::Static(&rules::FromIndex),
        (None, _) => {
            return Err(PyValueError::new_err(format!(
                "apply: no operator '{name}' of numbers; others are spliced from a graph"
            )));
        }
    };
    match left.first() {
        Some((key, _)) => Err(PyValueError::new_err(format!(
            "{name}: no attribute '{key}'"
        ))),
        None => Ok(op),
    }
}
