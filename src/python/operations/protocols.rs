//! NumPy's functions on our objects: `np.sin(v)`, `np.concatenate([v, w])`, `array * v`.
//!
//! NumPy asks an operand's `__array_ufunc__` or `__array_function__` (NEP 13 and NEP 18)
//! before it would make a plain array of it. Both answer from tables, by the identity of NumPy's
//! function: universal functions that are operators by the names of the rule table, some of SciPy
//! that are made of several by [`COMPOSED`] and [`BEHIND`], all others by what `dispatch.py`
//! registers. What is in neither raises a `TypeError` that names the function.
//! (By `NotImplemented` NumPy would ask the other operands, of which none knows variables, and
//! then raise an error that names nothing.)

use std::collections::HashMap;
use std::sync::Mutex;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::elementwise::{self, Computing, Elementwise};
use super::functions;
use crate::Result;
use crate::graph::{Variable, ops};
use crate::python::interop::argument::{Named, dictionary};
use crate::python::interop::once::{Once, intern};
use crate::python::variables::variable::PyVariable;

type Pair = fn(&Variable, &Variable) -> Result<Variable>;

/// What a universal function of NumPy is here.
#[derive(Clone, Copy)]
enum Ufunc {
    Elementwise(&'static Elementwise),
    Pair(&'static str, Pair),
    /// A function of this name in `wyrmling.special`, made of several.
    Composed(&'static str),
}

/// NumPy's functions by address, in ascending order; the second part keeps them alive, so that
/// no other object gets the address.
struct ByAddress<T> {
    entries: Vec<(usize, T)>,
    _functions: Vec<Py<PyAny>>,
}

impl<T> ByAddress<T> {
    /// The entries whose function this NumPy has.
    fn new<'n>(
        module: &Bound<'_, PyModule>,
        entries: impl Iterator<Item = (&'n str, T)>,
    ) -> PyResult<Self> {
        let mut table = ByAddress {
            entries: Vec::new(),
            _functions: Vec::new(),
        };
        for (name, entry) in entries {
            table.add(module, name, entry)?;
        }
        Ok(table)
    }

    /// Adds the entry if the module has its function.
    fn add(&mut self, module: &Bound<'_, PyAny>, name: &str, entry: T) -> PyResult<()> {
        if let Some(function) = module.getattr_opt(name)? {
            let address = function.as_ptr() as usize;
            let at = self.entries.partition_point(|&(other, _)| other < address);
            self.entries.insert(at, (address, entry));
            self._functions.push(function.unbind());
        }
        Ok(())
    }

    fn get(&self, function: &Bound<'_, PyAny>) -> Option<&T> {
        let address = function.as_ptr() as usize;
        let at = self.entries.binary_search_by_key(&address, |&(a, _)| a);
        at.ok().map(|at| &self.entries[at].1)
    }
}

/// NumPy's universal functions.
fn ufuncs(py: Python<'_>) -> PyResult<&'static ByAddress<Ufunc>> {
    static TABLE: Once<ByAddress<Ufunc>> = Once::new();
    TABLE.get_or_try_init(py, || {
        let elementwise = elementwise::described().into_iter().flat_map(|(of, e)| {
            of.numpy
                .into_iter()
                .map(move |name| (name, Ufunc::Elementwise(e)))
        });
        let products = [("matmul", Ufunc::Pair("matmul", ops::matmul))];
        ByAddress::new(&py.import("numpy")?, elementwise.chain(products))
    })
}

/// Universal functions of SciPy that are made of several operators.
const COMPOSED: [&str; 3] = ["airy", "airye", "sici"];

/// The ufuncs that SciPy's `zeta` calls, which is itself a function of Python.
const BEHIND: [&str; 2] = ["_riemann_zeta", "_zeta"];

/// SciPy's universal functions, if SciPy is there: we never import it.
fn special(py: Python<'_>) -> PyResult<Option<&'static ByAddress<Ufunc>>> {
    static TABLE: Once<ByAddress<Ufunc>> = Once::new();
    if let Some(table) = TABLE.get(py) {
        return Ok(Some(table));
    }
    let modules = py.import("sys")?.getattr("modules")?;
    let module = modules.call_method1("get", ("scipy.special",))?;
    let Ok(module) = module.cast::<PyModule>() else {
        return Ok(None);
    };
    // While another thread imports scipy.special the module is incomplete, and a table made of it
    // would lack functions for good.
    if module.getattr_opt("gamma")?.is_none() {
        return Ok(None);
    }
    let elementwise = elementwise::described().into_iter().flat_map(|(of, e)| {
        of.scipy
            .into_iter()
            .map(move |name| (name, Ufunc::Elementwise(e)))
    });
    let composed = COMPOSED.map(|name| (name, Ufunc::Composed(name)));
    TABLE
        .get_or_try_init(py, || {
            let mut table = ByAddress::new(module, elementwise.chain(composed))?;
            if let Some(inner) = module.getattr_opt("_ufuncs")? {
                for name in BEHIND {
                    table.add(&inner, name, Ufunc::Composed("zeta"))?;
                }
            }
            Ok(table)
        })
        .map(Some)
}

/// The name of a function behind that of its module, which a universal function may not know.
fn full_name(py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<String> {
    let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
    let module = function.getattr_opt(intern!(py, "__module__"))?;
    if let Some(module) = module.and_then(|module| module.extract::<String>().ok()) {
        return Ok(format!("{module}.{name}"));
    }
    let modules = py.import("sys")?.getattr("modules")?;
    for known in ["numpy", "scipy.special"] {
        let module = modules.call_method1("get", (known,))?;
        if module.getattr_opt(&*name)?.is_some_and(|f| f.is(function)) {
            return Ok(format!("{known}.{name}"));
        }
    }
    Ok(name)
}

/// What is raised for a function that is not in the table.
fn lacking(py: Python<'_>, function: &Bound<'_, PyAny>, method: &str) -> PyErr {
    match full_name(py, function) {
        Ok(name) => PyTypeError::new_err(format!(
            "{name}{method} is not among wyrmling's operators, which docs/operators.md lists; compose it \
             of those, give it a derivative by wyrmling.primitive, or give it .value, which leaves the \
             graph"
        )),
        Err(error) => error,
    }
}

/// Operands of a universal function: the first, and those that follow.
type Inputs<'a, 'py> = (&'a Bound<'py, PyAny>, &'a Bound<'py, PyTuple>);

/// `__array_ufunc__`.
fn ufunc<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    (x, more): Inputs<'_, 'py>,
    named: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    if method != "__call__" {
        return with_arguments(ufunc, method, (x, more), named);
    }
    let entry = match ufuncs(py)?.get(ufunc) {
        Some(entry) => Some(entry),
        None => special(py)?.and_then(|table| table.get(ufunc)),
    };
    let Some(entry) = entry else {
        let ours = registered(ufunc, false)?.ok_or_else(|| lacking(py, ufunc, ""))?;
        // Those of all ufuncs, which ours have not.
        let general = |name: &str| !["axis", "axes", "keepdims"].contains(&name);
        if named
            .iter()
            .any(|&(name, value)| value.is_some() && general(name))
        {
            return with_arguments(ufunc, method, (x, more), named);
        }
        return ours.call(inputs(x, more)?, Some(&dictionary(py, named)?));
    };
    if named.iter().any(|(_, value)| value.is_some()) {
        return match entry {
            Ufunc::Composed(name) => Err(meaningless(name, named)),
            _ => with_arguments(ufunc, method, (x, more), named),
        };
    }
    let y = || more.get_item(0);
    match *entry {
        Ufunc::Elementwise(function) => {
            let name = function.name;
            match function.compute {
                Computing::One(op) => elementwise::one(name, op, x),
                Computing::Two(op) => elementwise::two(name, op, x, &y()?),
                Computing::Ordered(op) => elementwise::ordered(name, op, x, &y()?),
            }
        }
        Ufunc::Pair(name, f) => {
            Bound::new(py, functions::two(name, x, &y()?, f)?).map(Bound::into_any)
        }
        Ufunc::Composed(name) => {
            let function = py.import("wyrmling.special")?.getattr(name)?;
            function.call1(inputs(x, more)?)
        }
    }
}

/// The operands as one tuple.
fn inputs<'py>(x: &Bound<'py, PyAny>, more: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    Ok(PyTuple::new(x.py(), [x])?.add(more)?.cast_into()?)
}

/// A method of a universal function, or the function with keyword arguments, by
/// `wyrmling.arrays.universal`.
fn with_arguments<'py>(
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    (x, more): Inputs<'_, 'py>,
    named: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = ufunc.py();
    let apply = py
        .import(intern!(py, "wyrmling.arrays.universal"))?
        .getattr(intern!(py, "apply"))?;
    apply.call1((ufunc, method, inputs(x, more)?, dictionary(py, named)?))
}

/// What is raised for keyword arguments of a function that is made of several.
fn meaningless(name: &str, named: &Named<'_, '_>) -> PyErr {
    let given = named.iter().filter(|(_, value)| value.is_some());
    let given: Vec<_> = given.map(|(name, _)| *name).collect();
    PyTypeError::new_err(format!(
        "{name}: the arguments {given:?} have no meaning for variables; leave them out"
    ))
}

/// What is called where a function of NumPy is given a variable. All are kept alive.
struct Registered {
    _theirs: Py<PyAny>,
    ours: Py<PyAny>,
    /// What is called in place of `ours` where one of [`MORE`] is given.
    wide: Option<Py<PyAny>>,
}

/// Arguments of reductions that NumPy has and functions of the native module have not.
const MORE: [&str; 4] = ["dtype", "out", "where", "initial"];

/// Functions of NumPy that Python registered, by address.
static REGISTERED: Mutex<Option<HashMap<usize, Registered>>> = Mutex::new(None);

/// Calls ``ours`` where a function of NumPy is given a variable, for every pair of ``functions``;
/// or, with more than two positional arguments or one of ``dtype``, ``out``, ``where`` and
/// ``initial``, that of ``wide``, if it is there.
///
/// What is registered later counts.
#[pyfunction]
#[pyo3(signature = (functions, wide, /))]
fn register_functions(functions: &Bound<'_, PyDict>, wide: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut new = Vec::new();
    for (theirs, ours) in functions {
        let entry = Registered {
            wide: wide.get_item(&theirs)?.map(Bound::unbind),
            ours: ours.unbind(),
            _theirs: theirs.clone().unbind(),
        };
        new.push((theirs.as_ptr() as usize, entry));
    }
    let mut guard = REGISTERED.lock().unwrap_or_else(|e| e.into_inner());
    let table = guard.get_or_insert_default();
    let old = new.into_iter();
    let old: Vec<_> = old
        .filter_map(|(k, entry)| table.insert(k, entry))
        .collect();
    // The replaced objects are dropped after the lock is released, since that may run Python code.
    drop(guard);
    drop(old);
    Ok(())
}

/// What is called for a function of NumPy, with more arguments than few if `more` says so.
fn registered<'py>(
    function: &Bound<'py, PyAny>,
    more: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = function.py();
    let find = || {
        let table = REGISTERED.lock().unwrap_or_else(|e| e.into_inner());
        let entry = table.as_ref()?.get(&(function.as_ptr() as usize))?;
        let wide = entry.wide.as_ref().filter(|_| more);
        Some(wide.unwrap_or(&entry.ours).bind(py).clone())
    };
    if let Some(ours) = find() {
        return Ok(Some(ours));
    }
    // dispatch.py registers the functions when it is imported, and this is what imports it.
    py.import(intern!(py, "wyrmling.dispatch"))?;
    Ok(find())
}

/// `__array_function__`.
fn function<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let placed;
    let args = match args.is_empty() {
        true => {
            let dispatch = py.import(intern!(py, "wyrmling.dispatch"))?;
            let found = dispatch.call_method1(intern!(py, "placed"), (function, kwargs))?;
            placed = found.cast_into::<PyTuple>()?;
            &placed
        }
        false => args,
    };
    let mut more = args.len() > 2;
    if !more && !kwargs.is_empty() {
        for name in MORE {
            more = more || kwargs.contains(name)?;
        }
    }
    match registered(function, more)? {
        Some(ours) => ours.call(args, Some(kwargs)),
        None => Err(lacking(py, function, "")),
    }
}

/// An argument as it is, `None` too, if it was passed.
struct Passed<'py>(Option<Bound<'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Passed<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Passed(Some(object.to_owned())))
    }
}

#[pymethods]
impl PyVariable {
    // Every keyword that NumPy may pass is a parameter. With `**kwargs` pyo3 would make a dict for each
    // call, which takes longer than an operator on few numbers.
    #[pyo3(
        signature = (ufunc, method, x, *more, out=None, r#where=Passed(None), casting=None, order=None,
                     dtype=None, subok=None, signature=None, axes=None, axis=Passed(None),
                     keepdims=None, initial=None),
        text_signature = "(self, ufunc, method, x, *more, out=None, where=None, casting=None, \
                          order=None, dtype=None, subok=None, signature=None, axes=None, \
                          axis=None, keepdims=None, initial=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "as many as NumPy has")]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        x: &Bound<'py, PyAny>,
        more: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        r#where: Passed<'py>,
        casting: Option<&Bound<'py, PyAny>>,
        order: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        subok: Option<&Bound<'py, PyAny>>,
        signature: Option<&Bound<'py, PyAny>>,
        axes: Option<&Bound<'py, PyAny>>,
        axis: Passed<'py>,
        keepdims: Option<&Bound<'py, PyAny>>,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = [
            ("out", out),
            ("where", r#where.0.as_ref()),
            ("casting", casting),
            ("order", order),
            ("dtype", dtype),
            ("subok", subok),
            ("signature", signature),
            ("axes", axes),
            ("axis", axis.0.as_ref()),
            ("keepdims", keepdims),
            ("initial", initial),
        ];
        self::ufunc(slf.py(), ufunc, method, (x, more), &named)
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self::function(slf.py(), func, args, kwargs)
    }
}

/// Adds the function to the module.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_functions, module)?)
}
