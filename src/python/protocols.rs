//! NumPy's functions on our objects: `np.sin(v)`, `np.concatenate([v, w])`, `array * v`.
//!
//! NumPy asks an operand's `__array_ufunc__` or `__array_function__` (NEP 13 and NEP 18)
//! before it would make a plain array of it. Both answer from a table, by the identity of
//! NumPy's function; what is not in it raises a `TypeError` that names the function. (By
//! `NotImplemented` NumPy would ask the other operands, of which none knows variables, and then
//! raise an error that names nothing.)

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use super::functions::{BINARY, UNARY, two};
use super::operand::node;
use super::variable::PyVariable;
use crate::Result;
use crate::graph::{Variable, build};
use crate::rules::Operator;

type Pair = fn(&Variable, &Variable) -> Result<Variable>;

/// What a universal function of NumPy is here.
#[derive(Clone, Copy)]
enum Ufunc {
    Unary(&'static str, &'static dyn Operator),
    Binary(&'static str, &'static dyn Operator),
    Power,
    Pair(&'static str, Pair),
}

/// NumPy's functions by address, in ascending order; the second part keeps them alive, so that
/// no other object gets the address.
struct Table<T> {
    entries: Vec<(usize, T)>,
    _functions: Vec<Py<PyAny>>,
}

impl<T> Table<T> {
    /// The entries whose function this NumPy has.
    fn new<'n>(
        module: &Bound<'_, PyModule>,
        entries: impl Iterator<Item = (&'n str, T)>,
    ) -> PyResult<Self> {
        let mut table = Table {
            entries: Vec::new(),
            _functions: Vec::new(),
        };
        for (name, entry) in entries {
            if let Some(function) = module.getattr_opt(name)? {
                table.entries.push((function.as_ptr() as usize, entry));
                table._functions.push(function.unbind());
            }
        }
        table.entries.sort_by_key(|&(address, _)| address);
        Ok(table)
    }

    fn get(&self, function: &Bound<'_, PyAny>) -> Option<&T> {
        let address = function.as_ptr() as usize;
        let at = self.entries.binary_search_by_key(&address, |&(a, _)| a);
        at.ok().map(|at| &self.entries[at].1)
    }
}

fn ufuncs(py: Python<'_>) -> PyResult<&'static Table<Ufunc>> {
    static TABLE: PyOnceLock<Table<Ufunc>> = PyOnceLock::new();
    TABLE.get_or_try_init(py, || {
        let unary = UNARY.iter().map(|&(n, op)| (n, Ufunc::Unary(n, op)));
        let binary = BINARY.iter().map(|&(n, op)| (n, Ufunc::Binary(n, op)));
        let others = [
            ("power", Ufunc::Power),
            ("matmul", Ufunc::Pair("matmul", build::matmul)),
            ("vecdot", Ufunc::Pair("vecdot", build::vecdot)),
            ("not_equal", Ufunc::Pair("not_equal", build::not_equal)),
        ];
        let all = unary.chain(binary).chain(others);
        Table::new(&py.import("numpy")?, all)
    })
}

/// What is raised for a function that is not in the table.
fn lacking(function: &Bound<'_, PyAny>, method: &str) -> PyErr {
    let name = match function.getattr(intern!(function.py(), "__name__")) {
        Ok(name) => name,
        Err(error) => return error,
    };
    PyTypeError::new_err(format!(
        "numpy.{name}{method} is not among wyrmling's operators, which docs/operators.md lists"
    ))
}

/// `__array_ufunc__`.
pub(super) fn ufunc<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if method != "__call__" {
        return Err(lacking(ufunc, &format!(".{method}")));
    }
    let Some(&entry) = ufuncs(py)?.get(ufunc) else {
        return Err(lacking(ufunc, ""));
    };
    if let Some(kwargs) = kwargs.filter(|k| !k.is_empty()) {
        return Err(PyTypeError::new_err(format!(
            "{}: the arguments {} have no meaning for variables",
            ufunc.getattr(intern!(py, "__name__"))?,
            kwargs.keys()
        )));
    }
    let get = |i| inputs.get_item(i);
    let result = match entry {
        Ufunc::Unary(name, op) => PyVariable::new(build::unary(op, &node(name, &get(0)?)?)?),
        Ufunc::Binary(name, op) => two(name, &get(0)?, &get(1)?, |x, y| build::binary(op, x, y))?,
        Ufunc::Pair(name, f) => two(name, &get(0)?, &get(1)?, f)?,
        Ufunc::Power => {
            // As the operator: a number as the exponent has a rule of its own.
            if let Ok(x) = get(0)?.cast::<PyVariable>() {
                return x.pow(get(1)?, py.None());
            }
            two("power", &get(0)?, &get(1)?, |x, y| {
                build::binary(&crate::rules::Pow, x, y)
            })?
        }
    };
    Ok(Bound::new(py, result)?.into_any())
}

/// NumPy's functions that are ours by the same name.
const SAME: &[&str] = &[
    "sum",
    "mean",
    "max",
    "min",
    "dot",
    "vecdot",
    "matmul",
    "outer",
    "trace",
    "transpose",
    "reshape",
    "broadcast_to",
    "concatenate",
    "stack",
    "squeeze",
    "expand_dims",
    "where",
];

fn functions(py: Python<'_>) -> PyResult<&'static Table<Py<PyAny>>> {
    static TABLE: PyOnceLock<Table<Py<PyAny>>> = PyOnceLock::new();
    TABLE.get_or_try_init(py, || {
        let ours = py.import("wyrmling._core")?;
        let mut entries = Vec::new();
        for &name in SAME {
            entries.push((name, ours.getattr(name)?.unbind()));
        }
        for (name, same) in [("amax", "max"), ("amin", "min")] {
            entries.push((name, ours.getattr(same)?.unbind()));
        }
        let attribute = py.import("operator")?.getattr("attrgetter")?;
        for name in ["shape", "ndim", "size"] {
            entries.push((name, attribute.call1((name,))?.unbind()));
        }
        Table::new(&py.import("numpy")?, entries.into_iter())
    })
}

/// `__array_function__`.
pub(super) fn function<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    match functions(py)?.get(function) {
        Some(ours) => ours.bind(py).call(args, Some(kwargs)),
        None => Err(lacking(function, "")),
    }
}
