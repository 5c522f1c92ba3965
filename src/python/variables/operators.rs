//! Python's operators on variables: arithmetic, comparison, indexing, and what makes a plain number.
//!
//! Every operator answers `NotImplemented` to what is no number, list or array, so that Python asks
//! the other object. `&`, `|`, `^` and `~`, and those that assign (`x += v`), are in
//! `python/wyrmling/variable.py`: the first look at values, and the second return another object, for
//! which pyo3 has no form.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "pyo3 writes such functions where a macro writes `#[pymethods]`; this file has no unsafe"
)]

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};

use super::index;
use super::operand::{arithmetic, combined, comparison as compared};
use super::python_numbers::as_python;
use super::variable::PyVariable;
use super::view::assigned_meanwhile;
use crate::array::{Array, show_shape};
use crate::graph::{Constant, Variable, ops};
use crate::python::Object;
use crate::python::interop::convert;
use crate::python::interop::error::takes_no_variable;
use crate::python::interop::once::intern;
use crate::rules;

type This<'py> = Bound<'py, PyVariable>;

/// The methods of operators between two operands that are entries of the rule table: of each symbol
/// with the variable on the left and on the right, and of comparisons.
macro_rules! symbol_methods {
    (
        arithmetic { $($method:ident $reflected:ident $op:ident;)* }
        comparison { $($comparison:ident $by:ident;)* }
    ) => {
        #[pymethods]
        impl PyVariable {
            $(
                fn $method<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
                    arithmetic(&rules::$op, slf, other, false)
                }
                fn $reflected<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
                    arithmetic(&rules::$op, slf, other, true)
                }
            )*
            $(
                fn $comparison<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
                    compared(&rules::$by, slf, other)
                }
            )*
            fn __ne__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
                compared(&rules::NotEqual, slf, other)
            }
        }
    };
}

symbol_methods! {
    arithmetic {
        __add__ __radd__ Add;
        __sub__ __rsub__ Sub;
        __mul__ __rmul__ Mul;
        __truediv__ __rtruediv__ Div;
        __floordiv__ __rfloordiv__ FloorDivide;
        __mod__ __rmod__ Remainder;
    }
    comparison {
        __lt__ Less;
        __le__ LessEqual;
        __gt__ Greater;
        __ge__ GreaterEqual;
        __eq__ Equal;
    }
}

/// The quotient rounded down, and the remainder.
fn quotient<'py>(left: &This<'py>, right: &Object<'py>, swapped: bool) -> PyResult<Object<'py>> {
    let quotient = arithmetic(&rules::FloorDivide, left, right, swapped)?;
    if quotient.is(left.py().NotImplemented()) {
        return Ok(quotient);
    }
    let rest = arithmetic(&rules::Remainder, left, right, swapped)?;
    Ok(PyTuple::new(left.py(), [quotient, rest])?.into_any())
}

/// Whether `x ** 0.5` is no square root: of numbers, unlike of arrays, Python and NumPy compute the
/// power, which is 0.0 at -0.0 and infinite at minus infinity.
fn is_no_root(variable: &PyVariable, base: &Variable) -> PyResult<bool> {
    if !variable.is_scalar() || base.settable() || base.ty()?.ndim() != 0 {
        return Ok(false);
    }
    let x = base.item()?;
    Ok(x == f64::NEG_INFINITY || (x == 0.0 && x.is_sign_negative()))
}

impl PyVariable {
    /// The result of an operator that Python's numbers have too.
    fn kept(&self, op: &'static dyn rules::Operator) -> PyResult<Self> {
        let mut result = self.unary(op)?;
        result.number = self.number;
        Ok(result)
    }

    /// Refuses a plain number for what follows an input.
    ///
    /// # Errors
    /// TypeError that says what to use in its place.
    pub(in crate::python) fn is_fixed(&self, what: &str, instead: &str) -> PyResult<()> {
        if !self.node()?.input_below() {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "{what} of a value that follows an input would be a constant, whatever the input is \
             later: use {instead}, and .item() or .value for what it is now"
        )))
    }
}

/// Whether `float` takes an array of one element that has axes: not since NumPy 2.4.
fn float_takes_axes(py: Python<'_>) -> bool {
    let one = py
        .import("numpy")
        .and_then(|numpy| numpy.call_method1("ones", (1,)));
    one.is_ok_and(|one| one.call_method0("__float__").is_ok())
}

#[pymethods]
impl PyVariable {
    fn __divmod__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        quotient(slf, other, false)
    }
    fn __rdivmod__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        quotient(slf, other, true)
    }
    // By identity, so that variables are keys of dictionaries: keys that are different objects
    // have different hashes and are never compared.
    fn __hash__(slf: &This<'_>) -> isize {
        (slf.as_ptr() as isize) >> 4
    }
    fn __pow__<'py>(
        slf: &This<'py>,
        other: &Object<'py>,
        modulo: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        if modulo.is_some() {
            return Err(PyTypeError::new_err("pow() of a variable takes no modulus"));
        }
        match convert::number(other)? {
            Some(exponent) if !slf.get().node()?.is_discrete() => {
                let number = slf.get().number;
                if number {
                    as_python("pow", slf, other, false)?;
                }
                let base = slf.get().node()?;
                let power = match exponent == 0.5 && is_no_root(slf.get(), &base)? {
                    true => {
                        let exponent = Constant::new(Array::scalar(base.dtype(), exponent));
                        ops::binary(&rules::Pow, &base, &exponent.boxed())?
                    }
                    false => ops::power(&base, exponent)?,
                };
                Ok(Bound::new(slf.py(), Self::number(power, number))?.into_any())
            }
            _ => arithmetic(&rules::Pow, slf, other, false),
        }
    }
    fn __rpow__<'py>(
        slf: &This<'py>,
        other: &Object<'py>,
        _modulo: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        arithmetic(&rules::Pow, slf, other, true)
    }
    fn __matmul__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        combined("matmul", &ops::matmul, slf, other, false)
    }
    fn __rmatmul__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        combined("matmul", &ops::matmul, slf, other, true)
    }
    fn __neg__(&self) -> PyResult<Self> {
        self.kept(&rules::Neg)
    }
    // `+x` is a new variable, so that assigning to its elements does not change `x`.
    fn __pos__(&self) -> PyResult<Self> {
        self.kept(&rules::Positive)
    }
    fn __abs__(&self) -> PyResult<Self> {
        self.kept(&rules::Abs)
    }
    /// Raises ValueError unless there is one element, TypeError if it follows an input.
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let ty = self.ty()?;
        if ty.size() != 1 {
            return Err(PyValueError::new_err(format!(
                "the truth of an array of shape {} is none: use np.any or np.all, or np.where to \
                 choose element by element",
                show_shape(&ty.shape)
            )));
        }
        self.is_fixed("the truth", "np.where to choose by it")?;
        Ok(self.single(py)? != 0.0)
    }
    /// Raises ValueError unless there is one element, TypeError if that is differentiated by a
    /// transform, or follows an input.
    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        if self.node()?.traced_below() {
            let text = "float() of an argument that is differentiated, or of what was computed from it, \
                        would lose the gradient: use np.sin for math.sin and so on, np.stack or \
                        wyrmling.array to fill an array, and .item() for the plain number";
            // An array of several elements is no number in Python either.
            let ty = self.ty()?;
            let is_number = ty.size() == 1 && (ty.ndim() == 0 || float_takes_axes(py));
            return Err(takes_no_variable(py, text.to_owned(), is_number));
        }
        self.is_fixed("float()", "np.sin for math.sin and so on")?;
        self.single(py)
    }
    /// Rounded towards zero. Raises ValueError unless there is exactly one element, TypeError if it
    /// follows an input.
    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        self.is_fixed("int()", "np.trunc, or x[i] to look up by an index")?;
        PyFloat::new(py, self.single(py)?).call_method0(intern!(py, "__trunc__"))
    }
    pub(in crate::python) fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some((found, items)) = index::get_element(&self.handle, key)? {
            return Ok(match items {
                None => Self::scalar(found),
                Some(items) => Self::of(self.handle.row(items, found)),
            });
        }
        let node = self.node()?;
        Ok(match index::get(&node, key)? {
            (found, true) => self.view(&node, found),
            // Without axes a number, which operators in place do not write to.
            (found, false) => Self::scalar(found),
        })
    }
    fn __setitem__(
        slf: &This<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let variable = slf.get();
        if index::assign_element(&variable.handle, key, value)? {
            return Ok(());
        }
        if variable.is_scalar() && variable.ty()?.ndim() == 0 {
            return Err(PyTypeError::new_err(
                "x[...] = v: a number has no elements to assign to, in NumPy too: give it another \
                 name (x = v), or make an array of it, wyrmling.array(x)",
            ));
        }
        // `x[key] += v` has assigned to the view when it assigns that here.
        if let Ok(view) = value.cast::<PyVariable>()
            && let Some(items) = index::slice_items(variable.ty()?.ndim(), key)?
            && view.get().handle.is_slice_of(&variable.handle, &items)
        {
            return Ok(());
        }
        let node = variable.node()?.into_owned();
        let changed = index::replace(&node, key, value)?;
        // To read a key or a value may call Python, which may assign to this meanwhile.
        if variable.handle.leaf_id().is_none() && variable.node()?.address() != node.address() {
            return Err(assigned_meanwhile().into());
        }
        if variable.handle.replace(changed)? {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "the elements of a {}, which is a leaf or a view of one, cannot be assigned: assign \
             the leaf's value, or write on a copy, wyrmling.array(x)",
            slf.get_type().name()?
        )))
    }
}
