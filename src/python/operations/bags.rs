//! `wyrmling._core.bag`: sums of rows in bags, which `wyrmling.bag` makes of what users give.

use pyo3::prelude::*;

use crate::graph::ops;
use crate::graph::{Constant, Variable};
use crate::python::interop::convert::indices;
use crate::python::interop::export::exports;
use crate::python::variables::operand::node;
use crate::python::variables::variable::PyVariable;
use crate::rules::SliceItem;

/// The sums of rows of ``x`` in bags: bag ``b`` has those at ``ids[offsets[b]:offsets[b + 1]]``, times
/// ``weights``; with ``index``, the bags that it names. ``wyrmling.bag`` says more.
///
/// Raises IndexError for an id or a bag that is not there, ValueError for offsets that do not cut
/// ``ids`` into bags or other shapes, TypeError for what holds no numbers or no integers.
#[pyfunction]
#[pyo3(signature = (x, ids, offsets, weights=None, index=None, /))]
fn bag(
    x: &Bound<'_, PyAny>,
    ids: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    index: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyVariable> {
    let x = ops::numbers(&node("table", x)?)?;
    let ids = places("ids", ids, &x)?;
    let offsets = match offsets.cast::<PyVariable>() {
        Ok(variable) => variable.get().handle.node()?.into_owned(),
        Err(_) => Constant::new(indices("offsets", offsets, &|| None)?).boxed(),
    };
    let weights = weights.map(|weights| -> PyResult<Variable> {
        let found = ops::numbers(&node("weights", weights)?)?;
        // Numbers that are given take the type of the rows.
        Ok(match weights.is_instance_of::<PyVariable>() {
            true => found,
            false => ops::cast(&found, x.dtype())?,
        })
    });
    let index = index.map(|index| -> PyResult<Variable> {
        let ends = SliceItem::Range {
            start: Some(1),
            stop: None,
            step: 1,
        };
        places("index", index, &ops::slice(&offsets, vec![ends])?)
    });
    let (weights, index) = (weights.transpose()?, index.transpose()?);
    let sums = ops::bag(&x, &ids, &offsets, weights.as_ref(), index.as_ref())?;
    Ok(PyVariable::new(sums))
}

/// What stands for rows of `x`, none counted from the end: an `IndexInput`, or integers.
fn places(what: &str, object: &Bound<'_, PyAny>, x: &Variable) -> PyResult<Variable> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(ops::to_index(&*variable.get().handle.node()?, x, 0)?);
    }
    let n = x.ty()?.shape.first().copied();
    Ok(Constant::new(indices(what, object, &|| n)?).boxed())
}

exports! {
    bag "(x: _Like, ids: _Index, offsets: _Index, weights: _Like | None = None, index: _Index | None = None, /) -> Variable" inner;
}
