//! Functions along axes: `wyrmling.sum`, `wyrmling.softmax` and so on.

use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::array::DType;
use crate::graph::Variable;
use crate::graph::ops::{self, Reduction};
use crate::python::interop::argument::{Given, Integer, KeepDims, Named, dictionary};
use crate::python::interop::convert;
use crate::python::interop::export::exports;
use crate::python::interop::items::reduced_axes;
use crate::python::variables::operand::{node, pair};
use crate::python::variables::variable::PyVariable;

/// Reduces over the axes that Python gave.
pub(in crate::python) fn reduction(
    kind: Reduction,
    x: &Variable,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: Given<KeepDims>,
) -> PyResult<Variable> {
    // NumPy's mean counts elements along an axis, which a number has not.
    let of_number = kind != Reduction::Mean && x.ty()?.ndim() == 0;
    let axis = reduced_axes(kind.name(), axis, of_number)?;
    let KeepDims(keepdims) =
        keepdims.named(format_args!("{}: keepdims", kind.name()), "True or False")?;
    let mut numbers = ops::numbers(x)?;
    if x.is_boolean() && !matches!(kind, Reduction::Max | Reduction::Min) {
        // Of float32 not all counts would be exact.
        numbers = ops::cast(&numbers, DType::F64)?;
    }
    let reduced = ops::reduce(kind, &numbers, axis.as_deref(), keepdims)?;
    Ok(match kind {
        Reduction::Sum if x.is_discrete() => ops::whole(&reduced)?,
        _ => reduced,
    })
}

/// A function with arguments of NumPy's that operators have not, by that of Python which has them.
#[cold]
pub(in crate::python) fn with_arguments<'py>(
    operand: &Bound<'py, PyAny>,
    module: &str,
    function: &str,
    named: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = operand.py();
    py.import(module)?
        .call_method(function, (operand,), Some(&dictionary(py, named)?))
}

/// A reduction over axes, with these arguments besides.
#[cold]
pub(in crate::python) fn reduced_with<'py>(
    operand: &Bound<'py, PyAny>,
    kind: Reduction,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: Given<KeepDims>,
    more: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let KeepDims(keepdims) =
        keepdims.named(format_args!("{}: keepdims", kind.name()), "True or False")?;
    let keepdims = PyBool::new(operand.py(), keepdims).to_owned().into_any();
    let named = [&[("axis", axis), ("keepdims", Some(&keepdims))], more].concat();
    with_arguments(operand, "wyrmling.arrays.reductions", kind.name(), &named)
}

/// Functions with arguments of NumPy's: an element type, a variable that takes the result, what the
/// result starts from, and a mask.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident ($($more:ident = $key:literal),*) $text:literal => $kind:ident;)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            #[pyo3(
                signature = (a, /, axis=None, keepdims=Given::default(KeepDims(false)), *, $($more=None),*),
                text_signature = $text
            )]
            #[allow(clippy::too_many_arguments, reason = "as many as NumPy has")]
            fn $name<'py>(
                a: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: Given<KeepDims>,
                $($more: Option<&Bound<'py, PyAny>>),*
            ) -> PyResult<Bound<'py, PyAny>> {
                if false $(|| $more.is_some())* {
                    let more = [$(($key, $more)),*];
                    return reduced_with(a, Reduction::$kind, axis, keepdims, &more);
                }
                let x = node(stringify!($name), a)?;
                let found = reduction(Reduction::$kind, &x, axis, keepdims)?;
                Ok(Bound::new(a.py(), PyVariable::new(found))?.into_any())
            }
        )*
    };
}

reductions! {
    /// Sum over axes: all of them, one, or a tuple of several.
    ///
    /// The result lacks the axes, or has them with length 1 if ``keepdims``. It has the type of ``a``
    /// unless ``dtype`` is given. Raises ValueError if there is no such axis.
    ///
    /// >>> sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    /// array([4., 6.])
    sum (dtype = "dtype", out = "out", initial = "initial", r#where = "where") "(a, /, axis=None, keepdims=False, *, dtype=None, out=None, initial=None, where=True)" => Sum;
    /// Arithmetic mean over axes: all of them, one, or a tuple of several.
    ///
    /// The result lacks the axes, or has them with length 1 if ``keepdims``. It has the type of ``a``,
    /// float64 for integers, unless ``dtype`` is given. Raises ValueError if there is no such axis.
    ///
    /// >>> mean([1.0, 2.0]).item()
    /// 1.5
    mean (dtype = "dtype", out = "out", r#where = "where") "(a, /, axis=None, keepdims=False, *, dtype=None, out=None, where=True)" => Mean;
    /// Largest element along axes; equal largest elements share the gradient.
    ///
    /// The result lacks the axes, or has them with length 1 if ``keepdims``, and has the type of ``a``.
    /// Raises ValueError for no elements without ``initial``, or if there is no such axis.
    ///
    /// >>> max([[1.0, 2.0], [3.0, 0.0]], axis=1)
    /// array([2., 3.])
    max (out = "out", initial = "initial", r#where = "where") "(a, /, axis=None, keepdims=False, *, out=None, initial=None, where=True)" => Max;
    /// Smallest element along axes; equal smallest elements share the gradient.
    ///
    /// The result lacks the axes, or has them with length 1 if ``keepdims``, and has the type of ``a``.
    /// Raises ValueError for no elements without ``initial``, or if there is no such axis.
    ///
    /// >>> min([1.0, 2.0]).item()
    /// 1.0
    min (out = "out", initial = "initial", r#where = "where") "(a, /, axis=None, keepdims=False, *, out=None, initial=None, where=True)" => Min;
}

/// Logarithm of the sum of exponentials over axes, without overflow.
///
/// >>> round(logsumexp([1000.0, 1000.0]).item() - 1000.0, 6)
/// 0.693147
#[pyfunction]
#[pyo3(
    signature = (a, /, axis=None, keepdims=Given::default(KeepDims(false))),
    text_signature = "(a, /, axis=None, keepdims=False)"
)]
fn logsumexp(
    a: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: Given<KeepDims>,
) -> PyResult<PyVariable> {
    let x = node("logsumexp", a)?;
    let found = reduction(Reduction::LogSumExp, &x, axis, keepdims)?;
    Ok(PyVariable::new(found))
}

/// The Euclidean norm over axes; its gradient is right where squares overflow or vanish, too.
#[pyfunction]
#[pyo3(
    signature = (a, /, axis=None, keepdims=Given::default(KeepDims(false))),
    text_signature = "(a, /, axis=None, keepdims=False)"
)]
fn norm(
    a: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: Given<KeepDims>,
) -> PyResult<PyVariable> {
    let x = node("norm", a)?;
    let found = reduction(Reduction::Norm, &x, axis, keepdims)?;
    Ok(PyVariable::new(found))
}

/// Exponentials along an axis, scaled to sum to 1, without overflow: ``exp(x - max) / Σ exp(x - max)``.
///
/// The result has the shape of ``x`` and its type, float64 for integers. Raises ValueError if there
/// is no such axis.
///
/// >>> softmax([1000.0, 1000.0])
/// array([0.5, 0.5])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Integer::default(-1)), text_signature = "(x, /, axis=-1)")]
fn softmax(x: &Bound<'_, PyAny>, axis: Integer) -> PyResult<PyVariable> {
    Ok(PyVariable::new(ops::softmax(
        &node("softmax", x)?,
        axis.signed("softmax: axis")?,
    )?))
}

/// Logarithm of the softmax along an axis, without overflow. Shape, type and errors are those of
/// ``softmax``.
///
/// >>> log_softmax([1000.0, 0.0])
/// array([    0., -1000.])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Integer::default(-1)), text_signature = "(x, /, axis=-1)")]
fn log_softmax(x: &Bound<'_, PyAny>, axis: Integer) -> PyResult<PyVariable> {
    let x = node("log_softmax", x)?;
    Ok(PyVariable::new(ops::log_softmax(
        &x,
        axis.signed("log_softmax: axis")?,
    )?))
}

/// The loss of each row of logits: the negative log-probability of its target.
///
/// ``logits`` has classes along its last axis; ``targets``, an ``IndexInput`` or integers, has
/// the shape of the others, and so has the result. Raises IndexError if a target is not a
/// class.
///
/// >>> cross_entropy([[0.0, 0.0], [5.0, 5.0]], [1, 0]).round(6)
/// array([0.693147, 0.693147])
#[pyfunction]
#[pyo3(signature = (logits, targets, /))]
fn cross_entropy(logits: &Bound<'_, PyAny>, targets: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let logits = node("cross_entropy", logits)?;
    let classes = logits.ty()?.shape.last().copied().unwrap_or(0);
    let targets = target(targets, classes)?;
    Ok(PyVariable::new(ops::cross_entropy(&logits, &targets)?))
}

/// Classes, which unlike rows never count from the end.
fn target(object: &Bound<'_, PyAny>, classes: usize) -> PyResult<Variable> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(variable.get().handle.node()?.into_owned());
    }
    let indices = convert::indices("targets", object, &|| Some(classes))?;
    Ok(crate::graph::Constant::new(indices).boxed())
}

/// Running sums along an axis, of which each step keeps a part: ``y[t] = x[t] + factors[t] * y[t - 1]``,
/// with ``y[0] = x[0]``.
///
/// Moving averages, decaying memories and filters of first order are such recurrences. A loop would take
/// operators for each step; this is one. ``factors`` is broadcast to the shape of ``x``, which the result
/// has, in the wider of their types, float64 for integers; the factor of the first step is not used.
/// Raises ValueError if there is no such axis or the shapes do not fit.
///
/// >>> linear_recurrence([1.0, 0.0, 0.0, 1.0], 0.5)
/// array([1.   , 0.5  , 0.25 , 1.125])
#[pyfunction]
#[pyo3(signature = (x, factors, /, axis=Integer::default(0)), text_signature = "(x, factors, /, axis=0)")]
fn linear_recurrence(
    x: &Bound<'_, PyAny>,
    factors: &Bound<'_, PyAny>,
    axis: Integer,
) -> PyResult<PyVariable> {
    let (x, factors) = pair("linear_recurrence", x, factors)?;
    let (x, factors) = (ops::numbers(&x)?, ops::numbers(&factors)?);
    let axis = axis.signed("linear_recurrence: axis")?;
    Ok(PyVariable::new(ops::linear_recurrence(&x, &factors, axis)?))
}

exports! {
    sum "(a: _Like, /, axis: _Axis = None, keepdims: bool = False, *, dtype: npt.DTypeLike | None = None, out: Variable | None = None, initial: Any = None, where: Any = True) -> Variable" numpy;
    mean "(a: _Like, /, axis: _Axis = None, keepdims: bool = False, *, dtype: npt.DTypeLike | None = None, out: Variable | None = None, where: Any = True) -> Variable" numpy;
    max "(a: _Like, /, axis: _Axis = None, keepdims: bool = False, *, out: Variable | None = None, initial: Any = None, where: Any = True) -> Variable" numpy;
    min "(a: _Like, /, axis: _Axis = None, keepdims: bool = False, *, out: Variable | None = None, initial: Any = None, where: Any = True) -> Variable" numpy;
    logsumexp "(a: _Like, /, axis: _Axis = None, keepdims: bool = False) -> Variable" package;
    norm "(a: _Like, /, axis: _Axis = None, keepdims: bool = False) -> Variable" inner;
    softmax "(x: _Like, /, axis: int = -1) -> Variable" package;
    log_softmax "(x: _Like, /, axis: int = -1) -> Variable" package;
    linear_recurrence "(x: _Like, factors: _Like, /, axis: int = 0) -> Variable" package;
    cross_entropy "(logits: _Like, targets: _Index, /) -> Variable" package;
}
