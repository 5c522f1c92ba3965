//! What `wyrmling.draw` shows: the nodes of a graph, as `outline` lists them for
//! `python/wyrmling/drawing`.

use pyo3::prelude::*;

use super::variable::PyVariable;
use crate::array::{DType, Summary};
use crate::graph::{Kind, Outlined};

/// First elements, smallest and largest, and the number of NaN.
type DrawnNumbers = (Vec<f64>, f64, f64, usize);
/// Kind, name or operator, attributes, shape, element type, parents, value, gradient.
type DrawnNode = (
    &'static str,
    Option<String>,
    String,
    Vec<usize>,
    &'static str,
    Vec<Option<usize>>,
    Option<DrawnNumbers>,
    Option<(DrawnNumbers, Option<usize>)>,
);

fn numbers(summary: Summary) -> DrawnNumbers {
    (summary.first, summary.min, summary.max, summary.nans)
}

fn node(outlined: Outlined) -> DrawnNode {
    let (kind, name, attributes) = match outlined.node.kind() {
        Kind::Operation(op) => ("operation", Some(op.name().to_owned()), op.attributes()),
        Kind::Parameter(param) => {
            let name = param.table().name().map(str::to_owned);
            ("Parameter", name, String::new())
        }
        Kind::Independent(..) => ("Variable", None, String::new()),
        Kind::Input(_, name) => {
            let kind = match outlined.ty.dtype {
                DType::U32 => "IndexInput",
                DType::F32 | DType::F64 => "Input",
            };
            (kind, name.map(str::to_owned), String::new())
        }
        Kind::Constant => ("constant", None, String::new()),
    };
    (
        kind,
        name,
        attributes,
        outlined.ty.shape.to_vec(),
        outlined.ty.dtype.name(),
        outlined.parents,
        outlined.value.map(numbers),
        outlined.gradient.map(|(g, rows)| (numbers(g), rows)),
    )
}

/// The ``limit`` nodes that the fewest steps lead to from a variable, itself last and parents
/// before what was computed from them, and the number of all nodes below it.
///
/// A node is a tuple: its kind (the class of a leaf, "constant" or "operation"), its name (that
/// of the operator for an operation), the operator's attributes, shape, element type, the places
/// of its parents (None for one left out), its value in short (None while one worker trains it)
/// and the gradient of a leaf that has one, with its number of rows if it is some rows. In short
/// are the first elements, all if they are few, the smallest, the largest, and how many are NaN.
///
/// Raises what ``forward`` raises, and MemoryError.
#[pyfunction]
pub(in crate::python) fn outline(
    variable: &PyVariable,
    limit: usize,
) -> PyResult<(Vec<DrawnNode>, usize)> {
    let outline = variable.node()?.outline(limit)?;
    let nodes = outline.nodes.into_iter().map(node).collect();
    Ok((nodes, outline.total))
}
