//! Operators between a variable that stands for a Python float and Python's own numbers and sequences:
//! they raise what Python raises, and compare as Python compares, where NumPy does something else.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyMemoryView};

use super::variable::PyVariable;
use crate::array::DType;
use crate::python::interop::convert;
use crate::python::interop::error::takes_no_variable;
use crate::python::interop::once::intern;

/// Whether an object is one of Python's numbers, or a variable that stands for one. NumPy's are
/// arrays without axes.
#[cold]
pub(in crate::python) fn is_python_number(object: &Bound<'_, PyAny>) -> bool {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return variable.get().number;
    }
    convert::is_float(object) || object.is_instance_of::<PyInt>()
}

/// Raises what Python raises for an operator between two numbers where NumPy gives an infinity or
/// NaN: for a division by zero, and a power that is too large.
///
/// # Errors
/// What Python raises; TypeError for a power that is complex in Python.
#[cold]
pub(in crate::python) fn as_python(
    name: &str,
    left: &Bound<'_, PyVariable>,
    right: &Bound<'_, PyAny>,
    swapped: bool,
) -> PyResult<()> {
    if !["div", "floor_divide", "remainder", "pow"].contains(&name) {
        return Ok(());
    }
    let py = left.py();
    let x = left.get().node()?.item()?;
    let y = match right.cast::<PyVariable>() {
        Ok(variable) => variable.get().node()?.item()?,
        Err(_) => right.extract::<f64>()?,
    };
    let (x, y) = if swapped { (y, x) } else { (x, y) };
    let ordinary = match name {
        "pow" => !x.is_finite() || !y.is_finite() || x.powf(y).is_finite(),
        _ => y != 0.0,
    };
    if ordinary {
        return Ok(());
    }
    let (x, y) = (PyFloat::new(py, x), PyFloat::new(py, y));
    let _complex = match name {
        "div" => x.div(y)?,
        "floor_divide" => x.floor_div(y)?,
        "remainder" => x.rem(y)?,
        _ => x.pow(y, py.None())?,
    };
    Err(PyTypeError::new_err(
        "pow: this power of a negative float is complex in Python, which has no derivative here; \
         np.power gives NaN",
    ))
}

/// Raises what Python raises for an operator between a float and a list or tuple, and NumPy for a
/// product of its numbers and one: it would be repeated. Arrays, and NumPy's numbers in sums, take a
/// sequence as an array.
///
/// # Errors
/// TypeError as Python's.
#[cold]
pub(in crate::python) fn beside_sequence(
    name: &str,
    left: &Bound<'_, PyVariable>,
    right: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let variable = left.get();
    let is_product = name == "mul";
    let of_numpy = || {
        Ok::<_, PyErr>(
            variable.is_scalar() && variable.node()?.traced_below() && variable.ty()?.ndim() == 0,
        )
    };
    if !(variable.number || is_product && of_numpy()?) {
        return Ok(());
    }
    let kind = match variable.node()?.dtype() {
        _ if variable.number => "float",
        DType::F32 => "numpy.float32",
        _ => "numpy.float64",
    };
    Err(PyTypeError::new_err(match is_product {
        true => format!("can't multiply sequence by non-int of type '{kind}'"),
        false => format!(
            "{name}: a float and a {} have no such operator in Python",
            convert::type_name(right)
        ),
    }))
}

/// The comparison of a Python float with an integer that may have more digits than a float, which
/// Python compares exactly; `None` where a float holds the integer.
pub(in crate::python) fn beside_integer<'py>(
    name: &str,
    left: &Bound<'py, PyVariable>,
    integer: &Bound<'py, PyInt>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    const EXACT: i64 = 1 << f64::MANTISSA_DIGITS;
    let node = left.get().node()?;
    if integer
        .extract()
        .is_ok_and(|n: i64| (-EXACT..=EXACT).contains(&n))
        || node.settable()
    {
        return Ok(None);
    }
    python_compared(name, node.item()?, integer).map(Some)
}

/// The comparison with an object that is no operand: `NotImplemented`, so that Python asks the object.
///
/// To Python two such answers to `==` mean "unequal", which numbers of another class (`Fraction`,
/// `Decimal`, `complex`) need not be, nor those in a buffer (`array.array`): a Python float is compared
/// as Python does, and anything else is refused, unless the object itself has an answer.
pub(in crate::python) fn beside_other<'py>(
    name: &str,
    left: &Bound<'py, PyVariable>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, kind) = (left.py(), right.get_type());
    let method = match name {
        "equal" => intern!(py, "__eq__"),
        "not_equal" => intern!(py, "__ne__"),
        _ => return Ok(py.NotImplemented().into_bound(py)),
    };
    let is_text = right.is_instance_of::<PyBytes>();
    let has_numbers = kind.hasattr(intern!(py, "__float__"))?
        || kind.hasattr(intern!(py, "__complex__"))?
        || (!is_text && PyMemoryView::from(right).is_ok());
    if !has_numbers {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let node = left.get().node()?;
    if left.get().number && !node.settable() {
        return python_compared(name, node.item()?, right);
    }
    let answer = kind.getattr(method)?.call1((right, left))?;
    if answer.is(py.NotImplemented()) {
        let text = format!(
            "{name}: expected a number (a float or an integer) or an array, got {}; convert it by float() or np.asarray()",
            kind.name()?
        );
        return Err(takes_no_variable(py, text, false));
    }
    Ok(answer)
}

/// What Python answers to the comparison of a float.
fn python_compared<'py>(
    name: &str,
    x: f64,
    other: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let by = match name {
        "less" => CompareOp::Lt,
        "less_equal" => CompareOp::Le,
        "greater" => CompareOp::Gt,
        "greater_equal" => CompareOp::Ge,
        "equal" => CompareOp::Eq,
        _ => CompareOp::Ne,
    };
    PyFloat::new(other.py(), x).rich_compare(other, by)
}
