//! Lengths of what follows an input: `x.shape`, `x.size` and `len(x)`.
//!
//! An integer stays when the input gets another length, and what was made of it would be silently
//! wrong then. So `x.shape` holds objects of a class of their own, [`PyLength`]. One that meets a
//! variable in arithmetic is a number that follows the input. Wherever else an integer is taken of it,
//! as `range`, `np.ones` and `reshape` do, and by `len(x)`, which must be an integer, the input
//! remembers that ([`ops::ask_lengths`]): what is built from then on refuses other lengths. To
//! print a length, to take it apart by `n, d = x.shape`, or to ask whether it equals that of another
//! variable asks for nothing.
//!
//! The functions of the package but those of `nn` get integers: they keep the lengths that they
//! compute with, by `fixed`.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "pyo3 writes such functions where a macro writes `#[pymethods]`; this file has no unsafe"
)]

use pyo3::PyVisit;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};

use super::variable::PyVariable;
use crate::graph::{Variable, ops};
use crate::python::Object;
use crate::python::interop::once::intern;

/// The length of an axis of a variable that follows an input, or of several the product: an integer
/// that knows what it is the length of.
///
/// In arithmetic with variables it is a number that follows the input. Elsewhere it is the integer
/// of now, and what is built from then on is for this length alone.
#[pyclass(name = "Length", module = "wyrmling._core", frozen)]
pub(in crate::python) struct PyLength {
    of: Py<PyVariable>,
    axes: Vec<usize>,
    value: usize,
}

/// Whether the package's own code asks, so many frames up from the latest. That of `wyrmling.nn` is
/// as users write theirs, and keeps no lengths.
fn asked_by_package(py: Python<'_>, up: usize) -> PyResult<bool> {
    let sys = py.import(intern!(py, "sys"))?;
    let Ok(frame) = sys.call_method1(intern!(py, "_getframe"), (up,)) else {
        return Ok(false);
    };
    let globals = frame.getattr(intern!(py, "f_globals"))?;
    let name = globals.call_method1(intern!(py, "get"), (intern!(py, "__name__"), ""))?;
    let name = name.str()?;
    let name = name.to_str()?;
    Ok(name.starts_with("wyrmling.") && !name.starts_with("wyrmling.nn"))
}

/// Registers lengths as `numbers.Integral`.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let integral = py.import("numbers")?.getattr("Integral")?;
    integral.call_method1("register", (py.get_type::<PyLength>(),))?;
    Ok(())
}

/// The length of some axes of what follows an input.
fn of<'py>(variable: &Bound<'py, PyVariable>, axes: &[usize]) -> PyResult<Object<'py>> {
    let ty = variable.get().ty()?;
    let length = PyLength {
        of: variable.clone().unbind(),
        axes: axes.to_vec(),
        value: axes.iter().map(|&axis| ty.shape[axis]).product(),
    };
    Ok(Bound::new(variable.py(), length)?.into_any())
}

/// The length of some axes of a variable, as the caller of the function that asks is to have it.
pub(in crate::python) fn of_caller<'py>(
    variable: &Bound<'py, PyVariable>,
    axes: &[usize],
) -> PyResult<Object<'py>> {
    let (py, node) = (variable.py(), variable.get().node()?);
    if node.input_below() && !asked_by_package(py, 1)? {
        return of(variable, axes);
    }
    let ty = node.ty()?;
    let value: usize = axes.iter().map(|&axis| ty.shape[axis]).product();
    Ok(value.into_pyobject(py)?.into_any())
}

/// `x.shape`.
pub(in crate::python) fn shape<'py>(
    variable: &Bound<'py, PyVariable>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = variable.py();
    let node = variable.get().handle.node_for_type()?;
    let ty = node.ty()?;
    if !node.input_below() || asked_by_package(py, 0)? {
        return PyTuple::new(py, ty.shape.iter());
    }
    let lengths = (0..ty.ndim()).map(|axis| of(variable, &[axis]));
    PyTuple::new(py, lengths.collect::<PyResult<Vec<_>>>()?)
}

/// `x.size`.
pub(in crate::python) fn size<'py>(variable: &Bound<'py, PyVariable>) -> PyResult<Object<'py>> {
    let py = variable.py();
    let node = variable.get().handle.node_for_type()?;
    let ty = node.ty()?;
    if !node.input_below() || asked_by_package(py, 0)? {
        return Ok(ty.size().into_pyobject(py)?.into_any());
    }
    of(variable, &(0..ty.ndim()).collect::<Vec<_>>())
}

/// `len(x)`.
pub(in crate::python) fn len(variable: &Bound<'_, PyVariable>) -> PyResult<usize> {
    let node = variable.get().handle.node_for_type()?;
    let first = node.ty()?.shape.first().copied();
    let first = first.ok_or_else(|| PyTypeError::new_err("len() of a variable without axes"))?;
    if node.input_below() && !asked_by_package(variable.py(), 0)? {
        ops::ask_lengths(&node, &[0], "len()")?;
    }
    Ok(first)
}

/// The number that a length is, if an object is one.
pub(in crate::python) fn followed(object: &Object<'_>) -> PyResult<Option<Variable>> {
    match object.cast::<PyLength>() {
        Ok(length) => length.get().followed(object.py()).map(Some),
        Err(_) => Ok(None),
    }
}

impl PyLength {
    /// The number, which follows the input.
    fn followed(&self, py: Python<'_>) -> PyResult<Variable> {
        let axes: Vec<i64> = self.axes.iter().map(|&axis| axis as i64).collect();
        Ok(ops::length(&*self.of.bind(py).get().node()?, &axes)?)
    }

    /// The integer, which follows nothing.
    fn asked(&self, py: Python<'_>) -> PyResult<usize> {
        ops::ask_lengths(
            &*self.of.bind(py).get().node()?,
            &self.axes,
            "an integer made of x.shape or x.size",
        )?;
        Ok(self.value)
    }

    /// The number where it meets a variable, else the integer.
    fn beside<'py>(&self, py: Python<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        if let Ok(variable) = other.cast::<PyVariable>() {
            let (number, node) = (self.followed(py)?, variable.get().node()?);
            // As an integer of Python's it takes the type of what it meets.
            let number = match node.is_integer() {
                true => number,
                false => ops::cast(&number, node.dtype())?,
            };
            return Ok(Bound::new(py, PyVariable::new(number))?.into_any());
        }
        Ok(self.asked(py)?.into_pyobject(py)?.into_any())
    }

    /// The result of a function of the module `operator`.
    fn operate<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        other: &Object<'py>,
        swapped: bool,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let this = slf.get().beside(py, other)?;
        let other = plain(other)?;
        let operator = py.import(intern!(py, "operator"))?;
        match swapped {
            false => operator.call_method1(name, (this, other)),
            true => operator.call_method1(name, (other, this)),
        }
    }
}

/// An object as it is, a length as an integer.
fn plain<'py>(object: &Object<'py>) -> PyResult<Object<'py>> {
    let py = object.py();
    match object.cast::<PyLength>() {
        Ok(length) => Ok(length.get().asked(py)?.into_pyobject(py)?.into_any()),
        Err(_) => Ok(object.clone()),
    }
}

macro_rules! operators {
    ($($method:ident $reflected:ident $name:literal;)*) => {
        #[pymethods]
        impl PyLength {
            $(
                fn $method<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
                    Self::operate(slf, $name, other, false)
                }
                fn $reflected<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
                    Self::operate(slf, $name, other, true)
                }
            )*
        }
    };
}

operators! {
    __add__ __radd__ "add";
    __sub__ __rsub__ "sub";
    __mul__ __rmul__ "mul";
    __truediv__ __rtruediv__ "truediv";
    __floordiv__ __rfloordiv__ "floordiv";
    __mod__ __rmod__ "mod";
    __and__ __rand__ "and_";
    __or__ __ror__ "or_";
    __xor__ __rxor__ "xor";
    __lshift__ __rlshift__ "lshift";
    __rshift__ __rrshift__ "rshift";
}

#[pymethods]
impl PyLength {
    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        _modulo: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        Self::operate(slf, "pow", other, false)
    }
    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        _modulo: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        Self::operate(slf, "pow", other, true)
    }
    fn __divmod__<'py>(slf: &Bound<'py, Self>, other: &Object<'py>) -> PyResult<Object<'py>> {
        let whole = Self::operate(slf, "floordiv", other, false)?;
        let rest = Self::operate(slf, "mod", other, false)?;
        Ok(PyTuple::new(slf.py(), [whole, rest])?.into_any())
    }
    /// Whether two lengths are equal asks for nothing: both follow.
    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Object<'py>,
        op: CompareOp,
    ) -> PyResult<Object<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let is_equal = matches!(op, CompareOp::Eq | CompareOp::Ne);
        if let (true, Ok(other)) = (is_equal, other.cast::<PyLength>()) {
            let value = PyInt::new(py, this.value);
            return value.rich_compare(other.get().value, op);
        }
        let known = other.is_instance_of::<PyVariable>()
            || other.hasattr(intern!(py, "__index__"))?
            || other.hasattr(intern!(py, "__array__"))?
            || other.hasattr(intern!(py, "__float__"))?;
        if !known {
            return Ok(py.NotImplemented().into_bound(py));
        }
        this.beside(py, other)?.rich_compare(plain(other)?, op)
    }
    /// What is found by a length depends on it, and what has another hash is not compared.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        Ok(self.asked(py)? as isize)
    }
    fn __index__(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py)
    }
    fn __int__(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py)
    }
    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.asked(py)? as f64)
    }
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.asked(py)? != 0)
    }
    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        PyInt::new(py, self.asked(py)?).neg()
    }
    fn __pos__(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py)
    }
    fn __abs__(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py)
    }
    fn __trunc__(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py)
    }
    #[pyo3(signature = (ndigits=None))]
    fn __round__<'py>(
        &self,
        py: Python<'py>,
        ndigits: Option<Object<'py>>,
    ) -> PyResult<Object<'py>> {
        let builtins = py.import(intern!(py, "builtins"))?;
        builtins.call_method1(intern!(py, "round"), (self.asked(py)?, ndigits))
    }
    fn __repr__(&self) -> String {
        self.value.to_string()
    }
    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Object<'py>> {
        PyInt::new(py, self.value).call_method1(intern!(py, "__format__"), (spec,))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Object<'py>, (usize,))> {
        Ok((py.get_type::<PyInt>().into_any(), (self.asked(py)?,)))
    }
    /// What else integers have.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Object<'py>> {
        if name.starts_with("__") {
            return Err(PyAttributeError::new_err(format!("a length has no {name}")));
        }
        let found = PyInt::new(py, self.value).getattr(name)?;
        self.asked(py)?;
        Ok(found)
    }
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Object<'py>>,
        copy: Option<bool>,
    ) -> PyResult<Object<'py>> {
        let _always = copy;
        let numpy = py.import(intern!(py, "numpy"))?;
        numpy.call_method1(intern!(py, "array"), (self.asked(py)?, dtype))
    }
    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Object<'py>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let variable = inputs.iter().find(|x| x.is_instance_of::<PyVariable>());
        let mut taken = Vec::with_capacity(inputs.len());
        for input in inputs {
            taken.push(match (input.cast::<PyLength>(), &variable) {
                (Ok(length), Some(variable)) => length.get().beside(py, variable)?,
                _ => plain(&input)?,
            });
        }
        ufunc
            .getattr(method)?
            .call(PyTuple::new(py, taken)?, kwargs)
    }
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.of)
    }
}
