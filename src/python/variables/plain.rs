//! Plain in, plain out: the functions of this module as users call them.
//!
//! A function of ours makes variables of all that it is given, and gives a variable. What users
//! call is [`public`]'s form of it, which looks at the arguments first. If one of them is a variable,
//! also inside lists, tuples and arrays of objects, it goes on to our function as it was called. If
//! none is, it calls a function of Python, which `python/wyrmling/plain.py` gives: NumPy's of that
//! name, or ours and then the value of the result. The package itself calls the functions below it.
//!
//! Looking costs a comparison of types, since the first argument nearly always is the variable. The
//! call goes on by the address of the compiled function, with the arguments where the interpreter
//! has put them: by Python's protocol each call would cost a tuple. That is what is unsafe here.

use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyString, PyTuple};

use super::variable::PyVariable;
use crate::python::interop::once::intern;

/// What a function in its public form is bound to, as `__self__`.
#[pyclass(frozen, module = "wyrmling._core")]
pub(in crate::python) struct Public {
    /// The function below, which gives variables.
    #[pyo3(get)]
    function: Py<PyCFunction>,
    /// What is called if no variable is given.
    plainly: Py<PyAny>,
    /// NumPy's function, which asks for ours again, for calls with arguments that ours has not.
    wide: Option<Wide>,
    /// The module that users import the function from.
    module: Py<PyString>,
    /// Of `function`: its address, and what it is bound to, which is nothing or lives as long.
    address: ffi::PyCFunctionFastWithKeywords,
    bound: Option<Py<PyAny>>,
}

/// NumPy's function of the name of ours, and what they have in common.
struct Wide {
    function: Py<PyAny>,
    /// How many arguments both take by position.
    positional: usize,
    /// The names of ours, interned, which are NumPy's.
    names: Vec<Py<PyString>>,
}

impl Wide {
    /// Whether a call has other arguments than ours takes. A name that is not interned counts as
    /// another: NumPy's function gives the same then.
    fn is_meant(&self, positional: usize, names: Option<Borrowed<'_, '_, PyTuple>>) -> bool {
        let known = |name: Bound<'_, PyAny>| self.names.iter().any(|k| k.is(&name));
        positional > self.positional || names.is_some_and(|names| !names.iter().all(known))
    }
}

#[pymethods]
impl Public {
    /// Pickles as the module: a builtin function pickles as the attribute of its name of what it is
    /// bound to.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyString>,))> {
        let import = py.import("importlib")?.getattr("import_module")?;
        Ok((import, (self.module.bind(py).clone(),)))
    }
}

/// Lists nested deeper than NumPy's arrays can be hold no array.
const DEEPEST: usize = 64;

/// The lists that one stands in, innermost first, since a list may hold itself.
pub(in crate::python) struct Outer<'a>(*mut ffi::PyObject, Option<&'a Outer<'a>>);

impl<'a> Outer<'a> {
    /// A list, and those that it stands in.
    pub(in crate::python) fn new(list: &Bound<'_, PyAny>, outer: Option<&'a Outer<'a>>) -> Self {
        Outer(list.as_ptr(), outer)
    }

    /// Whether an object is one of these lists.
    pub(in crate::python) fn holds(
        mut outer: Option<&Outer<'_>>,
        object: &Bound<'_, PyAny>,
    ) -> bool {
        while let Some(Outer(list, next)) = outer {
            if *list == object.as_ptr() {
                return true;
            }
            outer = *next;
        }
        false
    }
}

/// Whether an object is a variable, or a list, tuple or array of objects that has one somewhere.
#[inline]
pub(in crate::python) fn carries(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyVariable>() || has_one(object, DEEPEST, None)
}

fn has_one(object: &Bound<'_, PyAny>, depth: usize, outer: Option<&Outer<'_>>) -> bool {
    if Outer::holds(outer, object) {
        return false;
    }
    let here = Outer::new(object, outer);
    let found = |item: Bound<'_, PyAny>| {
        item.is_instance_of::<PyVariable>() || (depth > 0 && has_one(&item, depth - 1, Some(&here)))
    };
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().any(found);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter().any(found);
    }
    if let Ok(array) = object.cast::<PyUntypedArray>()
        && array.dtype().kind() == b'O'
    {
        let items = array.getattr(intern!(array.py(), "flat"));
        let items = items.and_then(|items| items.try_iter());
        return items.is_ok_and(|mut items| items.any(|item| item.is_ok_and(found)));
    }
    false
}

/// Whether there is a variable among the arguments of a call, also inside lists, tuples and arrays
/// of objects.
///
/// >>> has_variable((1.0, [Variable(2.0)]), {}), has_variable((1.0,), {"b": [2.0]})
/// (True, False)
#[pyfunction]
#[pyo3(signature = (args, kwargs, /))]
fn has_variable(args: &Bound<'_, PyTuple>, kwargs: &Bound<'_, PyDict>) -> bool {
    args.iter_borrowed().any(|x| carries(&x)) || kwargs.iter().any(|(_, x)| carries(&x))
}

/// A function of this module in its public form: called with a variable it is that function, else
/// ``plainly`` is called with the same arguments. ``module`` is where users import it from.
/// ``wide`` is NumPy's function, how many arguments both take by position, and which by name: it is
/// called with all others, and asks the variables.
///
/// Raises TypeError for what is no function of a native module.
///
/// >>> f = public(relu, "wyrmling", lambda x: "plain")
/// >>> f(Variable(-1.0)).item(), f(-1.0)
/// (0.0, 'plain')
#[pyfunction]
#[pyo3(signature = (function, module, plainly, wide=None, /))]
fn public<'py>(
    function: &Bound<'py, PyCFunction>,
    module: &Bound<'py, PyString>,
    plainly: &Bound<'py, PyAny>,
    wide: Option<(Py<PyAny>, usize, Vec<String>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let wide = wide.map(|(function, positional, names)| Wide {
        function,
        positional,
        names: names
            .iter()
            .map(|name| PyString::intern(py, name).unbind())
            .collect(),
    });
    // SAFETY: The interpreter is attached, and `function` is a builtin function, which is all that
    // the three ask. What the last returns is borrowed, may be null, and is kept by `bound`.
    let (flags, address, bound) = unsafe {
        (
            ffi::PyCFunction_GetFlags(function.as_ptr()),
            ffi::PyCFunction_GetFunction(function.as_ptr()),
            Bound::from_borrowed_ptr_or_opt(py, ffi::PyCFunction_GetSelf(function.as_ptr())),
        )
    };
    let (Some(address), true) = (address, flags == CONVENTION) else {
        return Err(PyTypeError::new_err(format!(
            "public: function: expected one of the native module, got {function}"
        )));
    };
    // SAFETY: These flags say that the function has this type, and calls it so does the interpreter:
    // the type of the field that it stands in is that of the most common convention. Both are
    // pointers to functions.
    let address = unsafe {
        std::mem::transmute::<ffi::PyCFunction, ffi::PyCFunctionFastWithKeywords>(address)
    };
    let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
    let text = |name| function.getattr(name)?.extract::<Option<String>>();
    let signature = text("__text_signature__")?.unwrap_or_else(|| "(*args, **kwargs)".to_owned());
    let doc = text("__doc__")?.unwrap_or_default();
    let to = Public {
        function: function.clone().unbind(),
        plainly: plainly.clone().unbind(),
        wide,
        module: module.clone().unbind(),
        address,
        bound: bound.map(Bound::unbind),
    };
    let to = Bound::new(py, to)?;
    // The interpreter reads the definition as long as there is the function. The functions of a
    // module are there until the process ends, so that the definitions are never freed.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: CString::new(name.clone())?.into_raw(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: call,
        },
        ml_flags: CONVENTION,
        ml_doc: CString::new(format!("{name}{signature}\n--\n\n{doc}"))?.into_raw(),
    }));
    // SAFETY: The definition and both its texts are leaked, so they outlive the function; `call` has
    // the type that the flags say. The function takes a share of `to` and of `module`.
    unsafe {
        let made = ffi::PyCFunction_NewEx(definition, to.as_ptr(), module.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// How the interpreter calls the functions that pyo3 compiles if they take arguments.
const CONVENTION: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;

/// What the interpreter calls: a function in its public form.
///
/// # Safety
/// The interpreter calls it, for a function that [`public`] made: it is attached, `to` is a
/// [`Public`], `args` has `count` arguments and behind them one for each name in `names`, which is
/// a tuple or null.
unsafe extern "C" fn call(
    to: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: The interpreter is attached while it calls.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: `public` has bound the function to a `Public`, which lives as long as the function, and
    // the caller keeps the function. A frozen class is only read.
    let public = unsafe { Borrowed::from_ptr(py, to) };
    // SAFETY: `public` has bound the function to a `Public`, and to nothing else ever.
    let public = unsafe { public.cast_unchecked::<Public>() };
    let public = public.get();
    // SAFETY: `names` is null or a tuple that the caller keeps.
    let names = unsafe { Borrowed::from_ptr_or_opt(py, names) };
    // SAFETY: The interpreter gives the names as a tuple, if it gives any.
    let names = names.map(|names| unsafe { names.cast_unchecked::<PyTuple>() });
    let positional = count.unsigned_abs();
    let all = positional + names.map_or(0, |names| names.len());
    let given = match all {
        0 => &[],
        // SAFETY: There are so many arguments, which the caller keeps for the time of the call.
        _ => unsafe { slice::from_raw_parts(args, all) },
    };
    // SAFETY: Each is an object that the caller keeps.
    let argument = |&x: &*mut ffi::PyObject| unsafe { Borrowed::from_ptr(py, x) };
    let variable = given.iter().any(|x| carries(&argument(x)));
    let wide = public.wide.as_ref();
    let wide = wide.filter(|wide| variable && wide.is_meant(positional, names));
    if variable && wide.is_none() {
        let bound = public.bound.as_ref().map_or(ptr::null_mut(), Py::as_ptr);
        // SAFETY: The function is called as the interpreter would call it, with the same arguments:
        // `address` is its own, by `public`, and so is what it is bound to.
        return unsafe {
            (public.address)(
                bound,
                args,
                count,
                names.map_or(ptr::null_mut(), |n| n.as_ptr()),
            )
        };
    }
    let plainly = || {
        let args = PyTuple::new(py, given[..positional].iter().map(argument))?;
        let kwargs = PyDict::new(py);
        for (name, x) in names
            .iter()
            .flat_map(|n| n.iter())
            .zip(&given[positional..])
        {
            kwargs.set_item(name, argument(x))?;
        }
        let function = wide.map_or(&public.plainly, |wide| &wide.function);
        function.bind(py).call(args, Some(&kwargs))
    };
    // A panic must not unwind into the interpreter.
    let found = catch_unwind(AssertUnwindSafe(plainly)).unwrap_or_else(|_| {
        Err(PyRuntimeError::new_err(
            "a fault of wyrmling: please report it",
        ))
    });
    match found {
        Ok(found) => found.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// Adds the functions and the class to the module.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Public>()?;
    module.add_function(wrap_pyfunction!(has_variable, module)?)?;
    module.add_function(wrap_pyfunction!(public, module)?)
}
