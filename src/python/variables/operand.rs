//! What operators take: variables, numbers, and whatever NumPy makes an array of.
//!
//! Types follow NumPy 2: float32 and float64 meet in float64; a Python number and a boolean
//! take the type of what they meet; a NumPy scalar keeps its own, as an array does. A list that
//! has a variable somewhere is the array of its items, as NumPy's functions take a list of numbers; there a
//! Python number is float64.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyRange, PyTuple};

use super::length::{self, PyLength};
use super::plain::{Outer, carries};
use super::python_numbers::{
    as_python, beside_integer, beside_other, beside_sequence, is_python_number,
};
use super::variable::PyVariable;
use crate::array::{Array, DType};
use crate::error::Result;
use crate::graph::{Constant, Variable, ops};
use crate::python::interop::convert::{self, Origin};
use crate::python::interop::element_type::ElementType;
use crate::python::interop::items::items;
use crate::python::interop::once::intern;
use crate::rules::{OpRef, Operator};

/// An operand before its element type is settled.
enum Untyped {
    Node(Variable),
    /// The length of what follows an input.
    Length(Variable),
    Data(Array, Origin),
}

impl Untyped {
    fn new(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::within(what, object, None)
    }

    /// An operand, or what stands in one: a list that stands in itself is NumPy's to refuse.
    fn within(what: &str, object: &Bound<'_, PyAny>, outer: Option<&Outer<'_>>) -> PyResult<Self> {
        if let Ok(variable) = object.cast::<PyVariable>() {
            return Ok(Untyped::Node(variable.get().handle.node()?.into_owned()));
        }
        if let Some(number) = length::followed(object)? {
            return Ok(Untyped::Length(number));
        }
        let list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
        if list && !Outer::holds(outer, object) && carries(object) {
            let here = Outer::new(object, outer);
            let parts = items(what, object, None, |item| {
                Self::within(what, &item, Some(&here))
            })?;
            let nodes = in_array(parts)?;
            let numbers = nodes.iter().map(ops::numbers).collect::<Result<Vec<_>>>()?;
            return Ok(Untyped::Node(ops::stack(&numbers, 0)?));
        }
        Ok(match convert::array(what, object)? {
            (array, Origin::Number) if object.is_instance_of::<PyBool>() => {
                Untyped::Data(array, Origin::Mask)
            }
            (array, origin) => Untyped::Data(array, origin),
        })
    }

    /// The element type, if it binds the others.
    fn dtype(&self) -> Option<DType> {
        match self {
            Untyped::Node(node) => Some(node.dtype()),
            Untyped::Length(_) | Untyped::Data(_, Origin::Number | Origin::Mask) => None,
            Untyped::Data(array, _) => Some(array.dtype()),
        }
    }

    /// A node, of type `dtype` if the operand has none of its own.
    fn into_node(self, dtype: DType) -> PyResult<Variable> {
        Ok(match self {
            Untyped::Node(node) => node,
            Untyped::Length(number) => ops::cast(&number, dtype)?,
            Untyped::Data(array, Origin::Number | Origin::Mask) => {
                Constant::new(array.try_to_dtype(dtype)?).boxed()
            }
            Untyped::Data(array, _) => Constant::new(array).boxed(),
        })
    }
}

/// Several operands as nodes; `what` names them in messages.
pub(in crate::python) fn nodes(
    what: &str,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Vec<Variable>> {
    let operands = objects.iter().map(|o| Untyped::new(what, o));
    of_one_type(operands.collect::<PyResult<Vec<_>>>()?)
}

/// Operands as nodes, of which those without an element type take that of the others.
fn of_one_type(operands: Vec<Untyped>) -> PyResult<Vec<Variable>> {
    let types = operands.iter().filter_map(Untyped::dtype);
    let narrow = types.clone().any(|t| t == DType::F32) && types.clone().all(|t| t != DType::F64);
    let dtype = if narrow { DType::F32 } else { DType::F64 };
    operands.into_iter().map(|o| o.into_node(dtype)).collect()
}

/// Operands of which NumPy makes arrays before it looks at their types: there a Python number is float64,
/// and a boolean takes the type of the others.
fn in_array(operands: Vec<Untyped>) -> PyResult<Vec<Variable>> {
    let number = |o: &Untyped| matches!(o, Untyped::Length(_) | Untyped::Data(_, Origin::Number));
    if !operands.iter().any(number) {
        return of_one_type(operands);
    }
    operands
        .into_iter()
        .map(|o| o.into_node(DType::F64))
        .collect()
}

/// As [`nodes`], of what stands for arrays: a Python number is one of float64.
pub(in crate::python) fn arrays(
    what: &str,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Vec<Variable>> {
    let operands = objects.iter().map(|o| Untyped::new(what, o));
    in_array(operands.collect::<PyResult<Vec<_>>>()?)
}

/// One operand as a node.
pub(in crate::python) fn node(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Variable> {
    Untyped::new(what, object)?.into_node(DType::F64)
}

/// Two operands as nodes.
pub(in crate::python) fn pair(
    what: &str,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
) -> PyResult<(Variable, Variable)> {
    let (x, y) = (Untyped::new(what, x)?, Untyped::new(what, y)?);
    let narrow = |o: &Untyped| o.dtype().is_none_or(|t| t == DType::F32);
    let bound = x.dtype().is_some() || y.dtype().is_some();
    let dtype = if bound && narrow(&x) && narrow(&y) {
        DType::F32
    } else {
        DType::F64
    };
    Ok((x.into_node(dtype)?, y.into_node(dtype)?))
}

/// Whether an object holds integers or booleans: a variable of them, an integer, a boolean, or what
/// NumPy makes an array of integers or booleans of.
pub(in crate::python) fn holds_integers(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(variable.get().node()?.is_discrete());
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(false);
    }
    if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyLength>() {
        return Ok(true);
    }
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok(["i", "u", "b"].contains(&kind.as_str()))
}

/// The result of an operator of the table on objects and the nodes that stand for them. Integers
/// are calculated with as numbers, and stay integers where NumPy's do.
pub(in crate::python) fn computed(
    op: &'static dyn Operator,
    objects: &[&Bound<'_, PyAny>],
    nodes: &[Variable],
) -> PyResult<Variable> {
    if nodes.iter().any(Variable::is_discrete) {
        return discrete(op, objects, nodes);
    }
    Ok(match nodes {
        [x] => ops::unary(op, x)?,
        [x, y] => ops::binary(op, x, y)?,
        _ => Variable::apply(OpRef::Static(op), nodes)?,
    })
}

/// The result of a product of two, or of another function that gives integers of integers.
pub(in crate::python) fn of_integers(
    objects: [&Bound<'_, PyAny>; 2],
    nodes: [&Variable; 2],
    f: impl FnOnce(&Variable, &Variable) -> Result<Variable>,
) -> PyResult<Variable> {
    let [x, y] = nodes;
    let found = f(&ops::numbers(x)?, &ops::numbers(y)?)?;
    let integers = (x.is_integer() || y.is_integer())
        && holds_integers(objects[0])?
        && holds_integers(objects[1])?;
    Ok(match integers {
        true => ops::whole(&found)?,
        false => found,
    })
}

/// Operands of which one array is made, some of them booleans or integers: all booleans, all integers,
/// or numbers.
#[cold]
pub(in crate::python) fn alike(
    objects: &[&Bound<'_, PyAny>],
    nodes: &[Variable],
) -> PyResult<Vec<Variable>> {
    let (booleans, integers) = all_hold(objects)?;
    let one = |x: &Variable| match () {
        () if booleans && x.is_boolean() => Ok(x.clone()),
        () if booleans => ops::truth(x),
        () if integers => ops::whole(&ops::numbers(x)?),
        () => ops::numbers(x),
    };
    Ok(nodes.iter().map(one).collect::<Result<_>>()?)
}

/// Whether an object holds booleans: a variable of them, a boolean, or what NumPy makes an array of
/// booleans of.
fn holds_booleans(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(variable.get().node()?.is_boolean());
    }
    let number = object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyLength>();
    Ok(object.is_instance_of::<PyBool>() || (!number && is_mask(object)?))
}

/// Whether all objects hold booleans, and whether all hold integers or booleans.
fn all_hold(objects: &[&Bound<'_, PyAny>]) -> PyResult<(bool, bool)> {
    let (mut booleans, mut integers) = (true, true);
    for object in objects {
        booleans = booleans && holds_booleans(object)?;
        integers = integers && holds_integers(object)?;
    }
    Ok((booleans, integers))
}

/// The result of an operator on objects of which some are integers or booleans, and the nodes that
/// stand for them.
#[cold]
fn discrete(
    op: &'static dyn Operator,
    objects: &[&Bound<'_, PyAny>],
    nodes: &[Variable],
) -> PyResult<Variable> {
    let (booleans, integers) = all_hold(objects)?;
    if booleans || !nodes.iter().any(Variable::is_integer) && !integers {
        return Ok(ops::of_booleans(op, nodes, booleans)?);
    }
    Ok(ops::of_integers(op, nodes, integers)?)
}

/// What a question is answered by, such as a comparison or `argmax`: a variable if the answer can
/// change, for something below can be assigned; else a plain array of booleans or integers, or one
/// of them. No gradient passes through the answer, so that nothing is lost.
pub(in crate::python) fn answer<'py>(
    py: Python<'py>,
    found: Variable,
) -> PyResult<Bound<'py, PyAny>> {
    if found.settable() {
        return Ok(Bound::new(py, PyVariable::new(found))?.into_any());
    }
    let kind = match found.is_integer() {
        true => ElementType::Integer,
        false => ElementType::Boolean,
    };
    let array = kind.array(py, found.value()?)?;
    array.get_item(PyTuple::empty(py))
}

/// What is looked up in by a variable: a variable as it is, an array of integers as integers,
/// anything else as numbers.
pub(in crate::python) fn table(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Variable> {
    let plain = !object.is_instance_of::<PyVariable>();
    if plain && holds_integers(object)? && !is_mask(object)? {
        return Ok(match convert::indices(what, object, &|| None) {
            Ok(indices) => Constant::new(indices).boxed(),
            // No indices, but numbers.
            Err(error) if error.is_instance_of::<PyIndexError>(object.py()) => {
                ops::whole(&node(what, object)?)?
            }
            Err(error) => return Err(error),
        });
    }
    node(what, object)
}

/// Whether NumPy makes an array of booleans of a plain object.
fn is_mask(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
    array.getattr("dtype")?.getattr("kind")?.eq("b")
}

/// Rows of `x` at what stands for rows: an `IndexInput`, or integers, of which negative ones
/// count from the end.
pub(in crate::python) fn rows(x: &Variable, index: &Bound<'_, PyAny>) -> PyResult<Variable> {
    if let Ok(variable) = index.cast::<PyVariable>() {
        let index = ops::to_index(&*variable.get().handle.node()?, x, 0)?;
        return Ok(ops::gather(x, &index)?);
    }
    let n = x.ty()?.shape.first().copied().unwrap_or(0);
    let (index, from_end) = convert::rows("index", index, n)?;
    Ok(ops::rows(x, index, &from_end)?)
}

/// Whether an object is one of Python's sequences, of which NumPy makes an array.
fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
}

/// The other operand of an operator written `a + b`; `None` if it is no number or array, so
/// that Python asks the other object.
#[inline]
pub(in crate::python) fn other(
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
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || is_sequence(object)
        || object.hasattr(intern!(object.py(), "__array__"))?;
    if !known {
        return Ok(None);
    }
    Untyped::new(name, object)?
        .into_node(node.dtype())
        .map(Some)
}

/// The result of an operator of the table written between a variable and any object.
#[inline]
pub(in crate::python) fn arithmetic<'py>(
    op: &'static dyn Operator,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
    swapped: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = left.py();
    let number = left.get().number && is_python_number(right);
    if number {
        as_python(op.name(), left, right, swapped)?;
    } else if is_sequence(right) {
        let is_plain = right.is_exact_instance_of::<PyList>()
            || right.is_exact_instance_of::<PyTuple>()
            || right.is_exact_instance_of::<PyRange>();
        if left.get().number && !is_plain {
            // As of a float, Python asks the class, which may have the operator.
            return Ok(py.NotImplemented().into_bound(py));
        }
        beside_sequence(op.name(), left, right)?;
    }
    match between(op, left, right, swapped)? {
        Some(z) => Ok(Bound::new(py, PyVariable::number(z, number))?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// As [`arithmetic`], for comparisons, whose result may be plain ([`answer`]).
pub(in crate::python) fn comparison<'py>(
    op: &'static dyn Operator,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = left.py();
    if left.get().number
        && let Ok(integer) = right.cast::<PyInt>()
        && let Some(answer) = beside_integer(op.name(), left, integer)?
    {
        return Ok(answer);
    }
    if left.get().number && is_sequence(right) {
        // To Python they are unequal, and none is less.
        return Ok(py.NotImplemented().into_bound(py));
    }
    match between(op, left, right, false)? {
        // A comparison of two Python numbers is a Python boolean.
        Some(z) if left.get().number && !z.settable() && is_python_number(right) => {
            Ok(PyBool::new(py, z.item()? != 0.0).to_owned().into_any())
        }
        Some(z) => answer(py, z),
        None => beside_other(op.name(), left, right),
    }
}

/// The result of an operator of the table between a variable and any object; `None` if that is no
/// number or array.
#[inline]
fn between(
    op: &'static dyn Operator,
    left: &Bound<'_, PyVariable>,
    right: &Bound<'_, PyAny>,
    swapped: bool,
) -> PyResult<Option<Variable>> {
    let x = left.get().handle.node()?;
    if x.is_discrete() {
        // Booleans have the type of the floats that they meet, of Python's float64.
        let x = match x.is_boolean() && right.is_instance_of::<PyFloat>() {
            true => ops::cast(&x, DType::F64)?,
            false => ops::numbers(&x)?,
        };
        let Some(y) = other(op.name(), &x, right)? else {
            return Ok(None);
        };
        let x = match x.is_boolean() && y.dtype() == DType::F32 && !y.is_discrete() {
            true => ops::cast(&x, DType::F32)?,
            false => x,
        };
        let nodes = if swapped { [y, x] } else { [x, y] };
        return discrete(op, &[left.as_any(), right], &nodes).map(Some);
    }
    let Some(y) = other(op.name(), &x, right)? else {
        return Ok(None);
    };
    let y = match y.dtype() {
        DType::U32 => ops::numbers(&y)?,
        _ => y,
    };
    let z = if swapped {
        ops::binary(op, &y, &x)
    } else {
        ops::binary(op, &x, &y)
    };
    Ok(Some(z?))
}

/// Refuses a product of two arrays of booleans, which is boolean in NumPy.
///
/// # Errors
/// TypeError.
pub(in crate::python) fn not_both_booleans(name: &str, x: &Variable, y: &Variable) -> PyResult<()> {
    match x.is_boolean() && y.is_boolean() {
        true => Err(PyTypeError::new_err(format!(
            "{name}: of booleans NumPy's is boolean, and ours would count; use .astype(float)"
        ))),
        false => Ok(()),
    }
}

/// The result of a function of two, written as an operator between a variable and any object.
pub(in crate::python) fn combined<'py>(
    name: &str,
    f: &dyn Fn(&Variable, &Variable) -> Result<Variable>,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
    swapped: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = left.py();
    let x = ops::numbers(&*left.get().handle.node()?)?;
    let Some(y) = other(name, &x, right)? else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    not_both_booleans(name, &x, &y)?;
    let z = of_integers([left.as_any(), right], [&x, &y], |x, y| match swapped {
        true => f(y, x),
        false => f(x, y),
    })?;
    Ok(Bound::new(py, PyVariable::new(z))?.into_any())
}
