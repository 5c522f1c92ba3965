//! The functions of the package that are neither elementwise nor along axes: `wyrmling.dot`,
//! `wyrmling.reshape` and so on.
//!
//! They take variables, numbers and whatever NumPy makes an array of, and return a variable.
//! Names, arguments and results are NumPy's where NumPy has the function.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::reductions::with_arguments;
use crate::Result;
use crate::graph::Variable;
use crate::graph::ops::{self, Reduction};
use crate::python::interop::argument::{Given, Integer};
use crate::python::interop::export::exports;
use crate::python::interop::items::{integers, items, reduced_axes, required};
use crate::python::interop::memory_order::{MemoryOrder, reshaped};
use crate::python::variables::operand::{
    self, alike, node, nodes, not_both_booleans, of_integers, pair, rows, table,
};
use crate::python::variables::variable::PyVariable;
use crate::rules::{self, Description, descriptions};

/// The sums of diagonals of the matrices that lie along two axes; see ``diagonal``.
///
/// Raises ValueError for fewer than two axes.
///
/// >>> trace([[1.0, 2.0], [3.0, 4.0]]).item(), trace([[1.0, 2.0], [3.0, 4.0]], 1).item()
/// (5.0, 2.0)
#[pyfunction]
#[pyo3(
    signature = (a, /, offset=Integer::default(0), axis1=Integer::default(0), axis2=Integer::default(1)),
    text_signature = "(a, /, offset=0, axis1=0, axis2=1)"
)]
fn trace(
    a: &Bound<'_, PyAny>,
    offset: Integer,
    axis1: Integer,
    axis2: Integer,
) -> PyResult<PyVariable> {
    let x = node("trace", a)?;
    let is_discrete = x.is_discrete();
    let (k, axis1, axis2) = (
        offset.signed("trace: offset")?,
        axis1.signed("trace: axis1")?,
        axis2.signed("trace: axis2")?,
    );
    let sums = match (k, axis1, axis2) {
        (0, 0, 1) if x.ty()?.ndim() <= 2 && !is_discrete => ops::unary(&rules::Trace, &x)?,
        _ => {
            let diagonals = ops::diagonal(&x, k, axis1, axis2)?;
            ops::reduce(
                Reduction::Sum,
                &ops::numbers(&diagonals)?,
                Some(&[-1]),
                false,
            )?
        }
    };
    Ok(PyVariable::new(match is_discrete {
        true => ops::whole(&sums)?,
        false => sums,
    }))
}

/// The same values, through which no gradient passes: a constant, of which derivatives are 0.
///
/// The result has the shape and type of ``x``. Raises TypeError for what holds no numbers.
///
/// >>> x = Variable(3.0)
/// >>> (x * stop_gradient(x)).backward()
/// >>> x.grad
/// array(3.)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn stop_gradient(x: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let x = node("stop_gradient", x)?;
    Ok(PyVariable::new(ops::unary(&rules::StopGradient, &x)?))
}

/// A function of two arrays, which a Python number is too.
pub(in crate::python) fn two(
    name: &str,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    f: impl FnOnce(&Variable, &Variable) -> Result<Variable>,
) -> PyResult<PyVariable> {
    let nodes = operand::arrays(name, &[x.clone(), y.clone()])?;
    not_both_booleans(name, &nodes[0], &nodes[1])?;
    let found = of_integers([x, y], [&nodes[0], &nodes[1]], f)?;
    Ok(PyVariable::new(found))
}

macro_rules! of_two {
    ($($(#[$doc:meta])* $name:ident => $f:expr;)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            #[pyo3(signature = (x1, x2, /))]
            fn $name(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
                two(stringify!($name), x1, x2, $f)
            }
        )*
    };
}

of_two! {
    /// The convolution of two vectors, wherever they overlap.
    convolve => |x, y| ops::binary(&rules::Convolve, x, y);
    /// Sums of products of a vector with one that is no longer, wherever that lies within it.
    correlate => |x, y| ops::binary(&rules::Correlate, x, y);
    /// Matrix product, as ``x1 @ x2``: vectors count as a row on the left and as a column on
    /// the right, leading axes broadcast.
    ///
    /// ``(…, m, k)`` by ``(…, k, n)`` gives ``(…, m, n)``, without the axis that a vector lacks; it is
    /// float32 if both operands are, else float64. Raises ValueError if the lengths ``k`` differ, or
    /// for a number.
    ///
    /// >>> matmul([[1.0, 2.0]], [3.0, 4.0])
    /// array([11.])
    matmul => ops::matmul;
    /// NumPy's dot product: the product of vectors, of matrices, of numbers. Raises ValueError for
    /// lengths that do not fit.
    ///
    /// >>> dot([1.0, 2.0], [3.0, 4.0]).item()
    /// 11.0
    dot => ops::dot;
    /// Products of all pairs of elements, as a matrix of shape ``(n, m)`` for ``n`` and ``m`` elements.
    /// Raises TypeError for what holds no numbers.
    ///
    /// >>> outer([1.0, 2.0], [3.0, 4.0])
    /// array([[3., 4.],
    ///        [6., 8.]])
    outer => ops::outer;
}

/// Rows of ``x`` (along its first axis) at ``index``, an ``IndexInput`` or integers; the same
/// as ``x[index]``. The gradient is kept as rows. Raises IndexError if an index is out of
/// range.
///
/// Integers looked up by an ``IndexInput`` are integers, which look up again: with the categories of
/// some items in an array ``c``, ``w[gather(c, i)]`` are the rows of those of item ``i``.
///
/// >>> gather([[1.0], [2.0], [3.0]], [2, 0])
/// array([[3.],
///        [1.]])
#[pyfunction]
#[pyo3(signature = (x, index, /))]
fn gather(x: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let x = match index.is_instance_of::<PyVariable>() {
        true => table("gather", x)?,
        false => node("gather", x)?,
    };
    Ok(PyVariable::new(rows(&x, index)?))
}

/// Elements of ``x`` where ``condition`` is not zero, elsewhere of ``y``; all three broadcast. Of a
/// condition alone the places that are not zero, as plain arrays. Raises ValueError for shapes that do
/// not broadcast, TypeError for one of ``x`` and ``y`` without the other.
///
/// >>> where([True, False], [1.0, 2.0], 0.0)
/// array([1., 0.])
/// >>> where(Variable([0.0, 2.0]))
/// (array([1]),)
#[pyfunction]
#[pyo3(name = "where", signature = (condition, x=None, y=None, /))]
fn select<'py>(
    condition: &Bound<'py, PyAny>,
    x: Option<&Bound<'py, PyAny>>,
    y: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = condition.py();
    let (x, y) = match (x, y) {
        (Some(x), Some(y)) => (x, y),
        (None, None) => {
            let questions = py.import("wyrmling.arrays.predicates")?;
            return questions.getattr("places")?.call1((condition,));
        }
        _ => {
            return Err(PyTypeError::new_err(
                "where: expected both x and y, or neither",
            ));
        }
    };
    let (a, b) = pair("where", x, y)?;
    let mask = ops::numbers(&node("where", condition)?)?;
    // Of plain numbers, as in `where(x > 0, 1, 0)`, their constants do not say what they were.
    let is_plain = |object: &Bound<'py, PyAny>| !object.is_instance_of::<PyVariable>();
    let chosen = match a.is_discrete() || b.is_discrete() || is_plain(x) && is_plain(y) {
        true => {
            let choices = alike(&[x, y], &[a, b])?;
            ops::select(&mask, &choices[0], &choices[1])?
        }
        false => ops::select(&mask, &a, &b)?,
    };
    Ok(Bound::new(py, PyVariable::new(chosen))?.into_any())
}

/// The axes in another order, reversed if none is given.
///
/// Raises ValueError for axes that are not each of the array's once.
///
/// >>> transpose([[1.0, 2.0]]).shape
/// (2, 1)
#[pyfunction]
#[pyo3(signature = (a, /, axes=None))]
fn transpose(a: &Bound<'_, PyAny>, axes: Option<&Bound<'_, PyAny>>) -> PyResult<PyVariable> {
    let axes = integers("axes", axes)?;
    let x = node("transpose", a)?;
    let y = ops::transpose(&x, axes.as_deref())?;
    Ok(PyVariable::view_of(a, &x, y))
}

/// The same elements in another shape; one length may be -1, to be inferred.
///
/// They are read and placed with the last index moving first (``order="C"``) or the first
/// (``"F"``). NumPy's other orders follow memory, which is not what variables are about: they raise
/// ValueError.
///
/// >>> reshape([1.0, 2.0, 3.0, 4.0], (2, -1))
/// array([[1., 2.],
///        [3., 4.]])
/// >>> reshape([1.0, 2.0, 3.0, 4.0], (2, 2), order="F")
/// array([[1., 3.],
///        [2., 4.]])
#[pyfunction]
#[pyo3(
    signature = (a, /, shape, order=Given::default(MemoryOrder::C)),
    text_signature = "(a, /, shape, order='C')"
)]
fn reshape(
    a: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    order: Given<MemoryOrder>,
) -> PyResult<PyVariable> {
    let shape = required("shape", shape)?;
    let x = node("reshape", a)?;
    let y = reshaped(&x, shape, order)?;
    Ok(PyVariable::view_of(a, &x, y))
}

/// Repeated to a shape, by NumPy's rule for broadcasting.
///
/// Raises ValueError for a shape that does not fit.
///
/// >>> broadcast_to([1.0, 2.0], (2, 2))
/// array([[1., 2.],
///        [1., 2.]])
#[pyfunction]
#[pyo3(signature = (array, /, shape))]
fn broadcast_to(array: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let shape = required("shape", shape)?;
    let length = |&n: &i64| {
        usize::try_from(n).map_err(|_| {
            PyErr::from(crate::Error::Value(format!(
                "shape: a length cannot be {n}"
            )))
        })
    };
    let shape = shape.iter().map(length).collect::<PyResult<Vec<_>>>()?;
    let x = node("broadcast_to", array)?;
    let y = ops::broadcast_to(&x, &shape)?;
    Ok(PyVariable::view_of(array, &x, y))
}

fn sequence(
    what: &str,
    given: &Bound<'_, PyAny>,
    nodes: impl FnOnce(&str, &[Bound<'_, PyAny>]) -> PyResult<Vec<Variable>>,
) -> PyResult<Vec<Variable>> {
    let parts = items(what, given, None, Ok)?;
    let nodes = nodes(what, &parts)?;
    match nodes.iter().any(Variable::is_discrete) {
        true => alike(&parts.iter().collect::<Vec<_>>(), &nodes),
        false => Ok(nodes),
    }
}

/// The matrices of the last two axes without what is above diagonal ``k``. A vector of shape (n,) stands for the
/// matrix of shape (n, n) whose rows are all that vector, as in NumPy.
///
/// The result has the shape and type of ``m``, or of that matrix. Raises ValueError for a number.
///
/// >>> tril([[1.0, 2.0], [3.0, 4.0]])
/// array([[1., 0.],
///        [3., 4.]])
#[pyfunction]
#[pyo3(signature = (m, /, k=Integer::default(0)), text_signature = "(m, /, k=0)")]
fn tril(m: &Bound<'_, PyAny>, k: Integer) -> PyResult<PyVariable> {
    Ok(PyVariable::new(ops::tril(
        &ops::numbers(&node("tril", m)?)?,
        k.signed("tril: k")?,
    )?))
}

/// The matrices of the last two axes without what is below diagonal ``k``. A vector of shape (n,) stands for the
/// matrix of shape (n, n) whose rows are all that vector, as in NumPy.
///
/// The result has the shape and type of ``m``, or of that matrix. Raises ValueError for a number.
///
/// >>> triu([[1.0, 2.0], [3.0, 4.0]])
/// array([[1., 2.],
///        [0., 4.]])
#[pyfunction]
#[pyo3(signature = (m, /, k=Integer::default(0)), text_signature = "(m, /, k=0)")]
fn triu(m: &Bound<'_, PyAny>, k: Integer) -> PyResult<PyVariable> {
    Ok(PyVariable::new(ops::triu(
        &ops::numbers(&node("triu", m)?)?,
        k.signed("triu: k")?,
    )?))
}

/// Diagonal ``offset`` of the matrices that two axes make, as the last axis.
///
/// Raises ValueError for axes that are equal or not there.
///
/// >>> diagonal([[1.0, 2.0], [3.0, 4.0]])
/// array([1., 4.])
#[pyfunction]
#[pyo3(
    signature = (a, /, offset=Integer::default(0), axis1=Integer::default(0), axis2=Integer::default(1)),
    text_signature = "(a, /, offset=0, axis1=0, axis2=1)"
)]
fn diagonal(
    a: &Bound<'_, PyAny>,
    offset: Integer,
    axis1: Integer,
    axis2: Integer,
) -> PyResult<PyVariable> {
    let x = node("diagonal", a)?;
    let y = diagonal_of(&x, offset, axis1, axis2)?;
    Ok(PyVariable::view_of(a, &x, y))
}

/// A diagonal of the matrices that two axes make, as Python names them.
pub(in crate::python) fn diagonal_of(
    x: &Variable,
    offset: Integer,
    axis1: Integer,
    axis2: Integer,
) -> PyResult<Variable> {
    let (k, axis1, axis2) = (
        offset.signed("diagonal: offset")?,
        axis1.signed("diagonal: axis1")?,
        axis2.signed("diagonal: axis2")?,
    );
    Ok(ops::diagonal(x, k, axis1, axis2)?)
}

/// Diagonal ``k`` of a matrix, or the matrix that has a vector along it.
///
/// Raises ValueError for a number, or more than two axes.
///
/// >>> diag([1.0, 2.0])
/// array([[1., 0.],
///        [0., 2.]])
#[pyfunction]
#[pyo3(signature = (v, /, k=Integer::default(0)), text_signature = "(v, /, k=0)")]
fn diag(v: &Bound<'_, PyAny>, k: Integer) -> PyResult<PyVariable> {
    let x = node("diag", v)?;
    let y = ops::diag(&x, k.signed("diag: k")?)?;
    Ok(PyVariable::view_of(v, &x, y))
}

/// Arrays joined along an axis, flattened first if it is None.
///
/// The result has the type that the arrays promote to. Raises ValueError for no arrays, shapes
/// that differ away from the axis, or an axis that is not there.
///
/// >>> concatenate([[1.0], [2.0, 3.0]])
/// array([1., 2., 3.])
#[pyfunction]
#[pyo3(
    signature = (arrays, /, axis=Some(Integer::default(0)), *, out=None, dtype=None, casting=None),
    text_signature = "(arrays, /, axis=0, *, out=None, dtype=None, casting='same_kind')"
)]
fn concatenate<'py>(
    arrays: &Bound<'py, PyAny>,
    axis: Option<Integer>,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    casting: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis.map(|axis| axis.signed("concatenate: axis"));
    let axis = axis.transpose()?;
    let more = [("out", out), ("dtype", dtype), ("casting", casting)];
    if more.iter().any(|(_, value)| value.is_some()) {
        let axis = axis.into_pyobject(arrays.py())?;
        let named = [&[("axis", Some(&axis))], &more[..]].concat();
        return with_arguments(arrays, "wyrmling.arrays.joining", "concatenate_to", &named);
    }
    let joined = ops::concatenate(&sequence("concatenate", arrays, nodes)?, axis)?;
    Ok(Bound::new(arrays.py(), PyVariable::new(joined))?.into_any())
}

/// Arrays of one shape joined along a new axis.
///
/// Raises ValueError for no arrays, or shapes that differ.
///
/// >>> stack([[1.0, 2.0], [3.0, 4.0]], axis=1)
/// array([[1., 3.],
///        [2., 4.]])
#[pyfunction]
#[pyo3(
    signature = (arrays, /, axis=Integer::default(0), *, out=None, dtype=None, casting=None),
    text_signature = "(arrays, /, axis=0, *, out=None, dtype=None, casting='same_kind')"
)]
fn stack<'py>(
    arrays: &Bound<'py, PyAny>,
    axis: Integer,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    casting: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis.signed("stack: axis")?;
    let more = [("out", out), ("dtype", dtype), ("casting", casting)];
    if more.iter().any(|(_, value)| value.is_some()) {
        let axis = axis.into_pyobject(arrays.py())?.into_any();
        let named = [&[("axis", Some(&axis))], &more[..]].concat();
        return with_arguments(arrays, "wyrmling.arrays.joining", "stack_to", &named);
    }
    let joined = ops::stack(&sequence("stack", arrays, operand::arrays)?, axis)?;
    Ok(Bound::new(arrays.py(), PyVariable::new(joined))?.into_any())
}

/// Without axes of length 1: all of them, one, or a tuple of several.
///
/// Raises ValueError for an axis of another length, or that is not there.
///
/// >>> squeeze([[1.0, 2.0]]).shape
/// (2,)
#[pyfunction]
#[pyo3(signature = (a, /, axis=None))]
fn squeeze(a: &Bound<'_, PyAny>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<PyVariable> {
    let x = node("squeeze", a)?;
    let axis = reduced_axes("squeeze", axis, x.ty()?.ndim() == 0)?;
    let y = ops::squeeze(&x, axis.as_deref())?;
    Ok(PyVariable::view_of(a, &x, y))
}

/// With new axes of length 1 at these places of the result.
///
/// Raises ValueError for a place beyond the last, or the same one twice.
///
/// >>> expand_dims([1.0, 2.0], 0).shape
/// (1, 2)
#[pyfunction]
#[pyo3(signature = (a, /, axis))]
fn expand_dims(a: &Bound<'_, PyAny>, axis: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let axis = required("axis", axis)?;
    let x = node("expand_dims", a)?;
    let y = ops::expand_dims(&x, &axis)?;
    Ok(PyVariable::view_of(a, &x, y))
}

/// What the rule table says of one operator.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
);

/// The rule table: the name, the formula and its source of every operator, and what it is for if
/// only gradients or other functions are made of it (else None).
#[pyfunction]
fn operators() -> Vec<Row> {
    let row = |e: Description| (e.name, e.formula, e.source, e.internal);
    descriptions().into_iter().map(row).collect()
}

exports! {
    convolve "(x1: _Like, x2: _Like, /) -> Variable" inner;
    correlate "(x1: _Like, x2: _Like, /) -> Variable" inner;
    trace "(a: _Like, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable" numpy;
    matmul "(x1: _Like, x2: _Like, /) -> Variable" package;
    dot "(x1: _Like, x2: _Like, /) -> Variable" numpy;
    outer "(x1: _Like, x2: _Like, /) -> Variable" numpy;
    stop_gradient "(x: _Like, /) -> Variable" package;
    gather "(x: _Like, index: _Index, /) -> Variable" package;
    select as "where" "(condition: _Like, x: _Like | None = None, y: _Like | None = None, /) -> Variable" numpy;
    transpose "(a: _Like, /, axes: _Axis = None) -> Variable" numpy;
    tril "(m: _Like, /, k: int = 0) -> Variable" numpy;
    triu "(m: _Like, /, k: int = 0) -> Variable" numpy;
    diagonal "(a: _Like, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable" numpy;
    diag "(v: _Like, /, k: int = 0) -> Variable" numpy;
    reshape "(a: _Like, /, shape: _Shape, order: Literal[\"C\", \"F\"] = \"C\") -> Variable" numpy;
    broadcast_to "(array: _Like, /, shape: _Shape) -> Variable" numpy;
    concatenate "(arrays: Iterable[_Like], /, axis: int | None = 0, *, out: Variable | None = None, dtype: npt.DTypeLike | None = None, casting: str = ...) -> Variable" numpy;
    stack "(arrays: Iterable[_Like], /, axis: int = 0, *, out: Variable | None = None, dtype: npt.DTypeLike | None = None, casting: str = ...) -> Variable" numpy;
    squeeze "(a: _Like, /, axis: _Axis = None) -> Variable" numpy;
    expand_dims "(a: _Like, /, axis: _Shape) -> Variable" numpy;
    operators "() -> list[tuple[str, str, str, str | None]]" inner;
}
