//! The elementwise functions: `wyrmling.exp`, `wyrmling.hypot`, `wyrmling.special.jn` and so on.
//!
//! All are made from the rule table: an entry's function, its docstring with formula and source,
//! and the names that it has in NumPy and `scipy.special`, under which it is registered too and
//! found when NumPy asks (`super::protocols`); and the methods of `Variable` of those entries that name
//! one.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "pyo3 writes such functions where a macro writes `#[pymethods]`; this file has no unsafe"
)]

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyDict, PyFloat};

use crate::graph::{Variable, ops};
use crate::python::interop::convert::{self, type_name};
use crate::python::variables::operand::{answer, computed, node, pair};
use crate::python::variables::variable::PyVariable;
use crate::rules::{self, DescribedReference, OpRef, Operator};

/// What computes an elementwise function.
#[derive(Clone, Copy)]
pub(in crate::python) enum Computing {
    /// Of one operand.
    One(&'static dyn Operator),
    /// Of two operands.
    Two(&'static dyn Operator),
    /// Of an integer, the order, and an operand.
    Ordered(fn(i32) -> OpRef),
}

/// An elementwise function.
pub(in crate::python) struct Elementwise {
    pub name: &'static str,
    pub compute: Computing,
    /// Makes the function of a module.
    function: for<'py> fn(&Bound<'py, PyModule>) -> PyResult<Bound<'py, PyCFunction>>,
}

// Each operator has a function that pyo3 compiles. Their common work is in the three functions below,
// which are never inlined, so that it is compiled once.

/// Orders further from zero than this are refused: recurrences go there step by step.
const LARGEST_ORDER: i32 = 1000;

fn wrapped<'py>(
    py: Python<'py>,
    op: &'static dyn Operator,
    x: Variable,
) -> PyResult<Bound<'py, PyAny>> {
    match op.form() == rules::Form::Truth {
        true => answer(py, x),
        false => Ok(Bound::new(py, PyVariable::new(x))?.into_any()),
    }
}

/// A function of one operand.
#[inline(never)]
pub(in crate::python) fn one<'py>(
    name: &str,
    op: &'static dyn Operator,
    x: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let y = computed(op, &[x], &[node(name, x)?])?;
    wrapped(x.py(), op, y)
}

/// A function of two operands.
#[inline(never)]
pub(in crate::python) fn two<'py>(
    name: &str,
    op: &'static dyn Operator,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    // A number as the exponent has operators of its own, as in `x ** 2.0`.
    if op.downcast::<rules::Pow>().is_some()
        && x.is_instance_of::<PyVariable>()
        && let Some(exponent) = convert::number(y)?
        && let base = node(name, x)?
        && !base.is_discrete()
    {
        return wrapped(py, op, ops::power(&base, exponent)?);
    }
    let [first, second] = match is_logical(op) {
        true => [truth(x)?, truth(y)?],
        false => [None, None],
    };
    let (x, y) = (first.as_ref().unwrap_or(x), second.as_ref().unwrap_or(y));
    let (a, b) = pair(name, x, y)?;
    wrapped(py, op, computed(op, &[x, y], &[a, b])?)
}

/// Whether an operator reads no more of its operands than whether they are 0.
fn is_logical(op: &'static dyn Operator) -> bool {
    op.downcast::<rules::LogicalAnd>().is_some()
        || op.downcast::<rules::LogicalOr>().is_some()
        || op.downcast::<rules::LogicalXor>().is_some()
}

/// The truth of a Python number: one that float32 has not may be 0 in it.
fn truth<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let number = convert::number(object)?;
    Ok(number.map(|x| PyBool::new(object.py(), x != 0.0).to_owned().into_any()))
}

/// An integer as an order.
///
/// # Errors
/// TypeError if it is none, ValueError if it is out of range.
pub(in crate::python) fn order(name: &str, n: &Bound<'_, PyAny>) -> PyResult<i32> {
    let order = match n.extract::<i64>() {
        Ok(order) => Some(order as f64),
        // It does not fit 64 bits: the check of the range below refuses it.
        Err(error) if error.is_instance_of::<PyOverflowError>(n.py()) => Some(f64::INFINITY),
        // NumPy's float64 is a float of Python's, too.
        Err(_) => match n.cast::<PyFloat>() {
            Ok(number) => Some(number.value()),
            Err(_) => convert::number(n)?,
        },
    };
    let Some(order) = order else {
        let way = match n.len() {
            Ok(2..) => format!("; for several use np.stack([{name}(k, x) for k in n])"),
            _ => String::new(),
        };
        return Err(PyTypeError::new_err(format!(
            "{name}: n: expected one integer, got {}{way}",
            type_name(n)
        )));
    };
    // NaN compares false, and is refused therefore.
    let within = order.abs() <= f64::from(LARGEST_ORDER);
    if order.fract() != 0.0 || !within {
        return Err(PyValueError::new_err(format!(
            "{name}: n: expected an integer between -{LARGEST_ORDER} and {LARGEST_ORDER}, got {n}"
        )));
    }
    Ok(order as i32)
}

/// A function of an order and an operand.
#[inline(never)]
pub(in crate::python) fn ordered<'py>(
    name: &str,
    op: fn(i32) -> OpRef,
    n: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let order = order(name, n)?;
    let operand = ops::numbers(&node(name, x)?)?;
    let variable = Variable::apply(op(order), &[operand])?;
    Ok(Bound::new(x.py(), PyVariable::new(variable))?.into_any())
}

// Formulas are indented by three spaces: by four, rustdoc would compile them as Rust.

/// What is said of every function.
macro_rules! takes {
    () => {
        "Elementwise, with broadcasting. Raises TypeError for what\n holds no numbers, ValueError \
         for shapes that do not fit."
    };
}

/// The functions of one file of elementwise operators, and the methods of `Variable`.
macro_rules! for_python {
    ($([$($doc:literal)+] $op:ident $function:ident $operands:tt $formula:literal $source:literal
       [$($numpy:literal)*] [$($scipy:literal)*] [$($method:ident)?];)*) => {
        $(for_python! { @function [$($doc)+] $op $function $operands $formula $source })*

        $(for_python! { @method [$($method)?] [$($doc)+] $op $formula })*

        pub(in crate::python) const ALL: &[Option<Elementwise>] = &[$(
            for_python! { @entry $op $function $operands },
        )*];
    };
    (@function [$($doc:literal)+] $op:ident $function:ident ($x:ident)
     $formula:literal $source:literal) => {
        #[doc = concat!($($doc, "\n",)+ "\n    ", $formula, "\n\n Source: ", $source, ". ", takes!())]
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $function<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            one(stringify!($function), &rules::$op, x)
        }
    };
    (@function [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident)
     $formula:literal $source:literal) => {
        #[doc = concat!($($doc, "\n",)+ "\n    ", $formula, "\n\n Source: ", $source, ". ", takes!())]
        #[pyfunction]
        #[pyo3(signature = ($x, $y, /))]
        fn $function<'py>(
            $x: &Bound<'py, PyAny>,
            $y: &Bound<'py, PyAny>,
        ) -> PyResult<Bound<'py, PyAny>> {
            two(stringify!($function), &rules::$op, $x, $y)
        }
    };
    (@function [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident)
     $formula:literal $source:literal) => {
        #[doc = concat!(
            $($doc, "\n",)+ "\n    ", $formula,
            "\n\n n is an integer between -1000 and 1000, the same for all elements; ValueError \
             is raised for another number.\n\n Source: ", $source, "."
        )]
        #[pyfunction]
        #[pyo3(signature = (n, x, /))]
        fn $function<'py>(
            n: &Bound<'py, PyAny>,
            x: &Bound<'py, PyAny>,
        ) -> PyResult<Bound<'py, PyAny>> {
            ordered(stringify!($function), |n| OpRef::new(rules::$op { n }), n, x)
        }
    };
    (@function [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident, $z:ident)
     $formula:literal $source:literal) => {};
    (@function [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident, $y:ident)
     $formula:literal $source:literal) => {};
    (@method [] [$($doc:literal)+] $op:ident $formula:literal) => {};
    (@method [$method:ident] [$($doc:literal)+] $op:ident $formula:literal) => {
        #[pymethods]
        impl PyVariable {
            #[doc = concat!($($doc, "\n",)+ "\n    ", $formula)]
            fn $method(&self) -> PyResult<Self> {
                self.unary(&rules::$op)
            }
        }
    };
    (@entry $op:ident $function:ident ($x:ident, $y:ident, $z:ident)) => { None::<Elementwise> };
    (@entry $op:ident $function:ident ($n:ident; $x:ident, $y:ident)) => { None::<Elementwise> };
    (@entry $op:ident $function:ident $operands:tt) => {
        Some(Elementwise {
            name: stringify!($function),
            compute: for_python!(@compute $op $operands),
            function: |module| wrap_pyfunction!($function, module),
        })
    };
    (@compute $op:ident ($x:ident)) => { Computing::One(&rules::$op) };
    (@compute $op:ident ($x:ident, $y:ident)) => { Computing::Two(&rules::$op) };
    (@compute $op:ident ($n:ident; $x:ident)) => {
        Computing::Ordered(|n| OpRef::new(rules::$op { n }))
    };
}

macro_rules! python_files {
    ($($file:ident),+) => {
        $(
            mod $file {
                #[allow(unused_imports, reason = "not every file has functions of all kinds")]
                use super::{Computing, Elementwise, OpRef, PyVariable, one, ordered, rules, two};
                use pyo3::prelude::*;
                rules::elementwise::$file::entries!(for_python);
            }
        )+

        /// Every elementwise function of one or two operands.
        pub(in crate::python) fn all() -> impl Iterator<Item = &'static Elementwise> {
            [$($file::ALL),+].into_iter().flatten().flatten()
        }

        /// Adds the functions to the module, by all their names.
        pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            for (of, entry) in described() {
                let function = (entry.function)(module)?;
                for name in [&[of.function], &of.numpy[..], &of.scipy].into_iter().flatten() {
                    module.add(*name, &function)?;
                }
            }
            module.add_function(wrap_pyfunction!(elementwise, module)?)
        }
    };
}
rules::elementwise_files!(python_files);

/// Each function with what the rule table says of it.
pub(in crate::python) fn described() -> Vec<(DescribedReference, &'static Elementwise)> {
    let described = rules::descriptions().into_iter().filter_map(|entry| {
        let described = entry.reference?;
        let function = all().find(|function| function.name == described.function)?;
        Some((described, function))
    });
    described.collect()
}

/// What the rule table says of elementwise functions, a dict each: names, formula, source, the
/// intervals of each operand and its special points, and what it is for if it is internal.
#[pyfunction]
fn elementwise(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let described = rules::descriptions().into_iter();
    let described = described.filter_map(|mut entry| Some((entry.reference.take()?, entry)));
    let dict = described.map(|(reference, entry)| {
        let dict = PyDict::new(py);
        dict.set_item("operator", entry.name)?;
        dict.set_item("formula", entry.formula)?;
        dict.set_item("source", entry.source)?;
        dict.set_item("function", reference.function)?;
        dict.set_item("numpy", reference.numpy)?;
        dict.set_item("scipy", reference.scipy)?;
        dict.set_item("ordered", reference.ordered)?;
        dict.set_item("domains", reference.domains)?;
        dict.set_item("special", reference.special)?;
        dict.set_item("internal", entry.internal)?;
        Ok(dict)
    });
    dict.collect()
}
