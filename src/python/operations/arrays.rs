//! What the functions of `wyrmling.arrays` are made of that Python cannot compose.
//!
//! They take what our other functions take. Users meet them through `wyrmling.arrays`, which
//! gives them NumPy's signatures.

use pyo3::prelude::*;

use crate::array::{DType, normalize_axis};
use crate::graph::{Constant, Variable, ops};
use crate::python::interop::argument::{Given, Integer, KeepDims};
use crate::python::interop::convert;
use crate::python::interop::export::exports;
use crate::python::interop::items::required;
use crate::python::variables::operand::{answer, node, pair};
use crate::python::variables::variable::PyVariable;
use crate::python::variables::{index, length, operand};
use crate::rules::{Accumulate, OpRef, ScatterRows};

/// A variable as it is, anything else as a constant.
///
/// >>> constant([1, 2]).value
/// array([1., 2.])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn constant(x: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    Ok(PyVariable::new(node("x", x)?))
}

/// What is looked up in by a variable: a variable as it is, an array of integers as integers,
/// anything else as numbers.
///
/// >>> table([3, 1]).dtype, table([3.0, 1.0]).dtype
/// (dtype('uint32'), dtype('float64'))
#[pyfunction]
#[pyo3(signature = (x, /))]
fn table(x: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    Ok(PyVariable::new(operand::table("x", x)?))
}

/// Whether a value follows an input, so that it is another one when the input gets another.
///
/// >>> follows_input(Input([1.0]) + 1.0), follows_input(Variable([1.0]))
/// (True, False)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn follows_input(x: &Bound<'_, PyVariable>) -> PyResult<bool> {
    Ok(x.get().node()?.input_below())
}

/// Whether a value follows a parameter, so that training makes it another one.
///
/// >>> follows_parameter(Parameter([1.0]) + 1.0), follows_parameter(Variable([1.0]))
/// (True, False)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn follows_parameter(x: &Bound<'_, PyVariable>) -> PyResult<bool> {
    Ok(x.get().node()?.parameter_below())
}

/// Whether a value can become another one: something that it was made of can be assigned to, or
/// follows an input.
///
/// >>> settable(Variable([1.0]) + 1.0), settable(constant([1.0]) + 1.0)
/// (True, False)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn settable(x: &Bound<'_, PyVariable>) -> PyResult<bool> {
    Ok(x.get().node()?.settable())
}

/// Sums of the elements up to each, along an axis.
///
/// >>> cumsum([1.0, 2.0, 3.0], 0).value
/// array([1., 3., 6.])
#[pyfunction]
#[pyo3(signature = (x, axis, /))]
fn cumsum(x: &Bound<'_, PyAny>, axis: Integer) -> PyResult<PyVariable> {
    let axis = axis.signed("cumsum: axis")?;
    let x = node("cumsum", x)?;
    let sums = ops::cumsum(&ops::numbers(&x)?, axis)?;
    Ok(PyVariable::new(match x.is_discrete() {
        true => ops::whole(&sums)?,
        false => sums,
    }))
}

/// The indices that sort an array along an axis.
///
/// >>> argsort([3.0, 1.0, 2.0], 0)
/// array([1, 2, 0])
#[pyfunction]
#[pyo3(signature = (x, axis, /))]
fn argsort<'py>(x: &Bound<'py, PyAny>, axis: Integer) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis.signed("argsort: axis")?;
    let numbers = ops::numbers(&node("argsort", x)?)?;
    answer(x.py(), ops::argsort(&numbers, axis)?)
}

/// For each element of ``x`` how many of the vector ``sorted``, whose elements rise, come before it, and how
/// many are equal to it if ``right``: ``numpy.searchsorted``, as int64 in the shape of ``x``. Raises ValueError
/// unless ``sorted`` is a vector.
///
/// >>> searchsorted([1.0, 2.0, 4.0], [2.0, 5.0, 0.0], True)
/// array([2, 3, 0])
#[pyfunction]
#[pyo3(signature = (sorted, x, right, /))]
fn searchsorted<'py>(
    sorted: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    right: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let sorted = ops::numbers(&node("searchsorted", sorted)?)?;
    let numbers = ops::numbers(&node("searchsorted", x)?)?;
    answer(x.py(), ops::searchsorted(&sorted, &numbers, right)?)
}

/// The index of the largest element along an axis.
///
/// >>> int(argmax([3.0, 1.0, 2.0], 0, False))
/// 0
#[pyfunction]
#[pyo3(signature = (x, axis, keepdims, /))]
fn argmax<'py>(
    x: &Bound<'py, PyAny>,
    axis: Integer,
    keepdims: Given<KeepDims>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis.signed("argmax: axis")?;
    let KeepDims(keepdims) = keepdims.named("argmax: keepdims", "True or False")?;
    let numbers = ops::numbers(&node("argmax", x)?)?;
    answer(x.py(), ops::argmax(&numbers, axis, keepdims)?)
}

/// The index of the smallest element along an axis.
///
/// >>> int(argmin([3.0, 1.0, 2.0], 0, False))
/// 1
#[pyfunction]
#[pyo3(signature = (x, axis, keepdims, /))]
fn argmin<'py>(
    x: &Bound<'py, PyAny>,
    axis: Integer,
    keepdims: Given<KeepDims>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis = axis.signed("argmin: axis")?;
    let KeepDims(keepdims) = keepdims.named("argmin: keepdims", "True or False")?;
    let numbers = ops::numbers(&node("argmin", x)?)?;
    answer(x.py(), ops::argmin(&numbers, axis, keepdims)?)
}

/// Indices along an axis of `x` as a node: those of a variable, or integers.
fn indices(what: &str, object: &Bound<'_, PyAny>, x: &Variable, axis: i64) -> PyResult<Variable> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        let axis = normalize_axis(what, axis, x.ty()?.ndim())?;
        return Ok(ops::to_index(&*variable.get().handle.node()?, x, axis)?);
    }
    Ok(Constant::new(convert::indices(what, object, &|| None)?).boxed())
}

/// The elements along an axis that indices, none negative, name.
///
/// >>> take_along_axis([[1.0, 2.0], [3.0, 4.0]], [[1], [0]], 1).value
/// array([[2.],
///        [3.]])
#[pyfunction]
#[pyo3(signature = (x, index, axis, /))]
fn take_along_axis(
    x: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    axis: Integer,
) -> PyResult<PyVariable> {
    let axis = axis.signed("take_along_axis: axis")?;
    let x = node("take_along_axis", x)?;
    let index = indices("indices", index, &x, axis)?;
    Ok(PyVariable::new(ops::take_along_axis(&x, &index, axis)?))
}

/// ``x``, to whose rows at ``index``, integers of which none is negative, those of ``rows`` are added,
/// one after the other.
///
/// >>> add_rows([0.0, 0.0, 0.5], [1, 0, 1], [1.0, 2.0, 4.0]).value
/// array([2. , 5. , 0.5])
#[pyfunction]
#[pyo3(signature = (x, index, rows, /))]
fn add_rows(
    x: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    rows: &Bound<'_, PyAny>,
) -> PyResult<PyVariable> {
    let (x, rows) = pair("add_rows", x, rows)?;
    let index = indices("index", index, &x, 0)?;
    let adding = Accumulate::new(true, [(OpRef::Static(&ScatterRows), 2)]);
    let sums = Variable::apply(OpRef::new(adding), &[x, rows, index])?;
    Ok(PyVariable::new(sums))
}

/// ``x`` as it would be after ``x[key] = value``; ``x`` itself stays as it is.
///
/// ``key`` is whatever NumPy takes, and a mask may also be the result of a comparison; ``value``
/// broadcasts to what ``x[key]`` has, and takes the type of ``x``. Where a place is named twice,
/// the last value counts. The gradient of what was overwritten is zero, whatever it was.
///
/// Raises ValueError if the shapes do not fit, IndexError for a key out of range, TypeError for
/// one that cannot be an index.
///
/// >>> replace([1.0, 2.0, 3.0], slice(1, None), 0.0)
/// array([1., 0., 0.])
/// >>> from wyrmling import Variable
/// >>> x = Variable([1.0, float("nan")])
/// >>> replace(x, 1, x[0] * 5.0).sum().backward()
/// >>> x.grad
/// array([6., 0.])
#[pyfunction]
#[pyo3(signature = (x, key, value, /))]
fn replace(
    x: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<PyVariable> {
    Ok(PyVariable::new(index::replace(
        &node("replace", x)?,
        key,
        value,
    )?))
}

/// ``x`` in float32 if ``single`` is true, else in float64.
///
/// >>> cast(1.0, True).dtype
/// dtype('float32')
#[pyfunction]
#[pyo3(signature = (x, single, /))]
fn cast(x: &Bound<'_, PyAny>, single: bool) -> PyResult<PyVariable> {
    let dtype = if single { DType::F32 } else { DType::F64 };
    let x = ops::numbers(&node("cast", x)?)?;
    Ok(PyVariable::new(ops::cast(&x, dtype)?))
}

/// Integers: ``x`` rounded towards zero; a plain array of them unless ``x`` can change. Raises
/// ValueError for NaN, and for what is too large for float64 to hold all integers.
///
/// >>> whole([1.5, -1.5])
/// array([ 1, -1])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn whole<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    answer(x.py(), ops::whole(&node("astype", x)?)?)
}

/// ``x``, which may not get other lengths along ``axes`` later; ``by`` says what needs them.
///
/// >>> fixed([1.0, 2.0], "roll", 0).shape
/// (2,)
#[pyfunction]
#[pyo3(signature = (x, by, axes, /))]
fn fixed(x: &Bound<'_, PyAny>, by: &str, axes: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let axes = required("axes", axes)?;
    let array = node(by, x)?;
    let y = ops::fixed(&array, by, &axes)?;
    Ok(PyVariable::view_of(x, &array, y))
}

/// ``count`` neighbouring axes as one, whatever their lengths.
///
/// >>> merge_axes([[1.0, 2.0], [3.0, 4.0]], 0, 2).shape
/// (4,)
#[pyfunction]
#[pyo3(signature = (x, start, count, /))]
fn merge_axes(x: &Bound<'_, PyAny>, start: usize, count: usize) -> PyResult<PyVariable> {
    let x = node("merge_axes", x)?;
    Ok(PyVariable::new(ops::merge_axes(&x, start, count)?))
}

/// All elements along one axis, in C order: a view where NumPy makes one.
///
/// >>> ravel([[1.0, 2.0], [3.0, 4.0]]).value
/// array([1., 2., 3., 4.])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn ravel(x: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let array = node("ravel", x)?;
    let flat = ops::reshape(&array, &[-1])?;
    Ok(match x.cast::<PyVariable>() {
        Ok(variable) => variable.get().raveled(&array, flat),
        Err(_) => PyVariable::new(flat),
    })
}

/// One axis as several; one length may be -1.
///
/// >>> split_axis([1.0, 2.0, 3.0, 4.0], 0, (2, -1)).shape
/// (2, 2)
#[pyfunction]
#[pyo3(signature = (x, axis, lengths, /))]
fn split_axis(x: &Bound<'_, PyAny>, axis: i64, lengths: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let (x, lengths) = (node("split_axis", x)?, required("lengths", lengths)?);
    Ok(PyVariable::new(ops::split_axis(&x, axis, &lengths)?))
}

/// The elements of ``x`` in the shape of ``like``, whatever that will be.
///
/// >>> reshape_like([1.0, 2.0], [[0.0], [0.0]]).shape
/// (2, 1)
#[pyfunction]
#[pyo3(signature = (x, like, /))]
fn reshape_like(x: &Bound<'_, PyAny>, like: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let (x, like) = pair("reshape_like", x, like)?;
    Ok(PyVariable::new(ops::reshape_like(&x, &like)?))
}

/// ``x``, which has to have the shape of ``like``, whatever that will be.
///
/// >>> shaped_like([1.0, 2.0], [0.0, 0.0]).shape
/// (2,)
#[pyfunction]
#[pyo3(signature = (x, like, /))]
fn shaped_like(x: &Bound<'_, PyAny>, like: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let (x, like) = pair("shaped_like", x, like)?;
    Ok(PyVariable::new(ops::shaped_like(&x, &like)?))
}

/// ``x`` repeated along the axes in which ``like`` is longer, whatever lengths they will have; along
/// the last ``core`` axes nothing is repeated, and other lengths are an error.
///
/// >>> broadcast_like(1.0, [0.0, 0.0]).value
/// array([1., 1.])
#[pyfunction]
#[pyo3(signature = (x, like, core=0, /))]
fn broadcast_like(
    x: &Bound<'_, PyAny>,
    like: &Bound<'_, PyAny>,
    core: usize,
) -> PyResult<PyVariable> {
    let (array, like) = pair("broadcast_like", x, like)?;
    let y = ops::broadcast_like(&array, &like, core)?;
    Ok(PyVariable::view_of(x, &array, y))
}

/// The number of elements along axes, whatever it will be.
///
/// >>> count([[1.0, 2.0]], (0, 1)).item()
/// 2.0
#[pyfunction]
#[pyo3(signature = (x, axes, /))]
fn count(x: &Bound<'_, PyAny>, axes: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let axes = required("axes", axes)?;
    Ok(PyVariable::new(ops::count(&node("count", x)?, &axes)?))
}

/// Whether ``x`` holds zeros and ones that stand for false and true, as comparisons give.
///
/// >>> is_boolean(Variable([1.0]) > 0.5), is_boolean(Variable([1.0]))
/// (True, False)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn is_boolean(x: &PyVariable) -> PyResult<bool> {
    Ok(x.node()?.is_boolean())
}

/// The length of ``x`` along axes, of several the product, as ``x.shape`` has it for the caller of
/// the function that asks.
///
/// >>> length(constant([[1.0, 2.0]]), (0, 1))
/// 2
#[pyfunction]
#[pyo3(name = "length", signature = (x, axes, /))]
fn length_of<'py>(
    x: &Bound<'py, PyVariable>,
    axes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (axes, ndim) = (required("axes", axes)?, x.get().ty()?.ndim());
    let axes = axes
        .iter()
        .map(|&axis| normalize_axis("length", axis, ndim));
    length::of_caller(x, &axes.collect::<Result<Vec<_>, _>>()?)
}

exports! {
    constant "(x: _Like, /) -> Variable" inner;
    table "(x: _Like, /) -> Variable" inner;
    follows_input "(x: Variable, /) -> bool" inner;
    follows_parameter "(x: Variable, /) -> bool" inner;
    settable "(x: Variable, /) -> bool" inner;
    cumsum "(x: _Like, axis: int, /) -> Variable" inner;
    argsort "(x: _Like, axis: int, /) -> Any" inner;
    searchsorted "(sorted: _Like, x: _Like, right: bool, /) -> Any" inner;
    argmax "(x: _Like, axis: int, keepdims: bool, /) -> Any" inner;
    argmin "(x: _Like, axis: int, keepdims: bool, /) -> Any" inner;
    take_along_axis "(x: _Like, index: _Index, axis: int, /) -> Variable" inner;
    add_rows "(x: _Like, index: _Index, rows: _Like, /) -> Variable" inner;
    replace "(x: _Like, key: Any, value: _Like, /) -> Variable" inner;
    cast "(x: _Like, single: bool, /) -> Variable" inner;
    whole "(x: _Like, /) -> Any" inner;
    fixed "(x: _Like, by: str, axes: _Shape, /) -> Variable" inner;
    merge_axes "(x: _Like, start: int, count: int, /) -> Variable" inner;
    ravel "(x: _Like, /) -> Variable" inner;
    split_axis "(x: _Like, axis: int, lengths: _Shape, /) -> Variable" inner;
    reshape_like "(x: _Like, like: _Like, /) -> Variable" inner;
    shaped_like "(x: _Like, like: _Like, /) -> Variable" inner;
    broadcast_like "(x: _Like, like: _Like, core: int = 0, /) -> Variable" inner;
    count "(x: _Like, axes: _Shape, /) -> Variable" inner;
    is_boolean "(x: Variable, /) -> bool" inner;
    length_of as "length" "(x: Variable, axes: _Shape, /) -> int" inner;
}
