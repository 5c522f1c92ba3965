//! What operators take: variables, numbers, and whatever NumPy makes an array of.
//!
//! Types follow NumPy 2: float32 and float64 meet in float64; a Python number and a boolean
//! take the type of what they meet; a NumPy scalar keeps its own, as an array does.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};

use super::convert::{self, Origin};
use super::variable::PyVariable;
use crate::array::{Array, DType};
use crate::error::Result;
use crate::graph::{Constant, Variable, build};
use crate::rules::Operator;

/// An operand before its element type is settled.
enum Operand {
    Node(Variable),
    Data(Array, Origin),
}

impl Operand {
    fn new(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(variable) = object.cast::<PyVariable>() {
            return Ok(Operand::Node(variable.get().handle.node()?.into_owned()));
        }
        let (array, origin) = convert::array(what, object)?;
        Ok(Operand::Data(array, origin))
    }

    /// The element type, if it binds the others.
    fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Node(node) => Some(node.dtype()),
            Operand::Data(_, Origin::Number | Origin::Mask) => None,
            Operand::Data(array, _) => Some(array.dtype()),
        }
    }

    /// A node, of type `dtype` if the operand has none of its own.
    fn into_node(self, dtype: DType) -> Variable {
        match self {
            Operand::Node(node) => node,
            Operand::Data(array, Origin::Number | Origin::Mask) => {
                Constant::new(array.to_dtype(dtype)).boxed()
            }
            Operand::Data(array, _) => Constant::new(array).boxed(),
        }
    }
}

/// Several operands as nodes; `what` names them in messages.
pub(super) fn nodes(what: &str, objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<Variable>> {
    let operands = objects.iter().map(|o| Operand::new(what, o));
    let operands = operands.collect::<PyResult<Vec<_>>>()?;
    let types = operands.iter().filter_map(Operand::dtype);
    let narrow = types.clone().any(|t| t == DType::F32) && types.clone().all(|t| t != DType::F64);
    let dtype = if narrow { DType::F32 } else { DType::F64 };
    Ok(operands.into_iter().map(|o| o.into_node(dtype)).collect())
}

/// One operand as a node.
pub(super) fn node(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Variable> {
    Ok(Operand::new(what, object)?.into_node(DType::F64))
}

/// Two operands as nodes.
pub(super) fn pair(
    what: &str,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
) -> PyResult<(Variable, Variable)> {
    let (x, y) = (Operand::new(what, x)?, Operand::new(what, y)?);
    let narrow = |o: &Operand| o.dtype().is_none_or(|t| t == DType::F32);
    let bound = x.dtype().is_some() || y.dtype().is_some();
    let dtype = if bound && narrow(&x) && narrow(&y) {
        DType::F32
    } else {
        DType::F64
    };
    Ok((x.into_node(dtype), y.into_node(dtype)))
}

/// Rows of `x` at what stands for rows: an `IndexInput`, or integers, of which negative ones
/// count from the end.
pub(super) fn rows(x: &Variable, index: &Bound<'_, PyAny>) -> PyResult<Variable> {
    if let Ok(variable) = index.cast::<PyVariable>() {
        return Ok(build::gather(x, &*variable.get().handle.node()?)?);
    }
    let n = x.ty()?.shape.first().copied().unwrap_or(0);
    let (index, from_end) = convert::rows("index", index, n)?;
    Ok(build::rows(x, index, &from_end)?)
}

/// The other operand of an operator written `a + b`; `None` if it is no number or array, so
/// that Python asks the other object.
#[inline]
pub(super) fn other(
    name: &str,
    node: &Variable,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<Variable>> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(Some(variable.get().handle.node()?.into_owned()));
    }
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        let x = Array::scalar(node.dtype(), x.value());
        return Ok(Some(Constant::new(x).boxed()));
    }
    let known = convert::number(object)?.is_some()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.hasattr(intern!(object.py(), "__array__"))?;
    if !known {
        return Ok(None);
    }
    Ok(Some(Operand::new(name, object)?.into_node(node.dtype())))
}

/// The result of an operator of the table written between a variable and any object.
#[inline]
pub(super) fn arithmetic<'py>(
    op: &'static dyn Operator,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
    swapped: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let f = |x: &Variable, y: &Variable| build::binary(op, x, y);
    combined(op.name(), &f, left, right, swapped)
}

/// The result of a function of two, written as an operator between a variable and any object.
pub(super) fn combined<'py>(
    name: &str,
    f: &dyn Fn(&Variable, &Variable) -> Result<Variable>,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
    swapped: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = left.py();
    let x = left.get().handle.node()?;
    let Some(y) = other(name, &x, right)? else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    let z = if swapped { f(&y, &x) } else { f(&x, &y) };
    Ok(Bound::new(py, PyVariable::new(z?))?.into_any())
}
