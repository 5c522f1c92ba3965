//! `Variable`, as Python sees it.
//!
//! A `Variable` is a [`Handle`] on a node of a graph. Leaves have classes of their own
//! ([`super::leaf`]); results of operators are plain `Variable`s. Everything is computed by the
//! crate's graphs: this file only converts.

use std::borrow::Cow;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use numpy::PyArrayDescr;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::argument::Given;
use super::functions::{apply, reduction};
use super::handle::Handle;
use super::memory_order::{Order, reshaped};
use super::operand::{self, arithmetic, combined};
use super::registry::{self, Entry};
use super::sparse::gradient;
use super::{convert, index, show, transform};
use crate::array::{Array, DType, Type};
use crate::graph::build::{self, Reduction};
use crate::graph::{Kind, Leaf, Variable};
use crate::rules;

/// A number or array that remembers how it was computed.
///
/// ``Variable(value)`` makes a leaf that records a gradient and is not trained; results of
/// operators are variables too. float32 and float64 are kept; Python numbers, lists and
/// integer arrays become float64. A graph belongs to the thread that built it.
///
/// All operators are elementwise, as NumPy's, and so are comparisons: ``x == y`` and ``x < y``
/// are 1.0 where that holds and 0.0 elsewhere. A variable is hashed by identity, so that it can
/// be a key of a dictionary; ask ``is`` whether two are the same object.
///
/// ``x[...]`` takes every key that NumPy takes, and an IndexInput or other indices of ours, which
/// look up rows: ``x[rows][:, 0]``, not ``x[rows, 0]``. A mask that can change selects nothing,
/// for the length of the result would change with it; ``where`` does what it is for.
///
/// >>> x = Variable([1.0, 2.0])
/// >>> y = (x * x).sum()
/// >>> y.backward()
/// >>> x.grad
/// array([2., 4.])
#[pyclass(
    name = "Variable",
    module = "wyrmling",
    subclass,
    frozen,
    weakref,
    mapping
)]
pub(super) struct PyVariable {
    pub(super) handle: Handle,
    /// Where a leaf's object is listed.
    pub(super) entry: OnceLock<Entry>,
    /// A leaf's gradient as a graph, if it is to be one. It is held here and not by the leaf's
    /// node, which it depends on: nodes must not hold each other in a circle.
    slope: Mutex<Option<Handle>>,
}

/// How many leaves have a gradient that is a graph, so that nobody looks for them in vain.
static SLOPES: AtomicIsize = AtomicIsize::new(0);

type This<'py> = Bound<'py, PyVariable>;
type Object<'py> = Bound<'py, PyAny>;

impl PyVariable {
    #[inline]
    pub(super) fn new(node: Variable) -> Self {
        PyVariable {
            handle: Handle::new(node),
            entry: OnceLock::new(),
            slope: Mutex::new(None),
        }
    }

    #[inline]
    pub(super) fn node(&self) -> PyResult<Cow<'_, Variable>> {
        Ok(self.handle.node()?)
    }

    /// The gradient as a graph. No Python code may run while it is locked.
    pub(super) fn slope(&self) -> MutexGuard<'_, Option<Handle>> {
        // It is replaced whole.
        self.slope.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Replaces the gradient that is a graph.
    pub(super) fn set_slope(&self, slope: Option<Handle>) {
        let change = |slope: &Option<Handle>| isize::from(slope.is_some());
        SLOPES.fetch_add(change(&slope), Relaxed);
        let old = std::mem::replace(&mut *self.slope(), slope);
        SLOPES.fetch_sub(change(&old), Relaxed);
        // It is unlocked by now: the graph may end with this.
        drop(old);
    }

    /// Forgets the gradients that are graphs of the leaves below a node.
    fn drop_slopes(py: Python<'_>, node: &Variable) {
        if SLOPES.load(Relaxed) != 0 {
            let leaves = registry::listed(py, node);
            leaves.iter().for_each(|leaf| leaf.get().set_slope(None));
        }
    }

    fn ty(&self) -> PyResult<Type> {
        Ok(self.node()?.ty()?)
    }

    /// The result of an operator without attributes.
    fn unary(&self, op: &'static dyn rules::Operator) -> PyResult<Self> {
        Ok(Self::new(build::unary(op, &*self.node()?)?))
    }

    fn reduce(
        &self,
        kind: Reduction,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: Given<bool>,
    ) -> PyResult<Self> {
        Ok(Self::new(reduction(kind, &*self.node()?, axis, keepdims)?))
    }

    /// A copy of the value.
    fn read(&self, py: Python<'_>) -> PyResult<Array> {
        Ok(match self.handle.param() {
            // From the table, without a copy that stays in the graph. Reading may wait for
            // somebody who trains, so the interpreter is let go.
            Some(param) => {
                let param = Arc::clone(param);
                py.detach(move || param.table().try_read())?
            }
            None => self.node()?.value()?,
        })
    }

    /// A copy of the value, as NumPy sees it.
    pub(super) fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_numpy(py, self.read(py)?)
    }
}

impl Drop for PyVariable {
    fn drop(&mut self) {
        if SLOPES.load(Relaxed) != 0 {
            self.set_slope(None);
        }
    }
}

#[pymethods]
impl PyVariable {
    #[new]
    fn create(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (array, _) = convert::array("value", value)?;
        Ok(Self::new(Leaf::new(array)?.boxed()))
    }

    #[pyo3(signature = (*_args, **_kwargs))]
    fn __init__(
        slf: &Bound<'_, Self>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        registry::register(slf)
    }

    /// The value: a new array, which nothing changes later (0-dimensional for a number).
    ///
    /// Assigning it to a leaf is seen by everything computed from the leaf. The element type
    /// stays, see ``Input``; the shape too, except for inputs.
    ///
    /// Raises ValueError or TypeError if the shape or type does not fit, FloatingPointError
    /// if a parameter would hold NaN or infinity, RuntimeError while it is being trained.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)
    }

    #[setter]
    fn set_value(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let node = self.node()?;
        if node.dtype() == DType::U32 {
            return Ok(node.set_value(convert::indices("value", value, &|| None)?)?);
        }
        let array = convert::array_of("value", value, node.dtype())?;
        match self.handle.param() {
            Some(param) => {
                let param = Arc::clone(param);
                Ok(py.detach(move || param.table().write(&array))?)
            }
            None => Ok(node.set_value(array)?),
        }
    }

    /// Length of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ty()?.shape.iter())
    }

    /// Element type: float32 or float64, uint32 for indices.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        Ok(convert::numpy_dtype(py, self.node()?.dtype()))
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> PyResult<usize> {
        Ok(self.ty()?.ndim())
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        Ok(self.ty()?.size())
    }

    /// The name given at creation, or None.
    #[getter]
    fn name(&self) -> Option<String> {
        self.handle.name().map(str::to_owned)
    }

    /// The gradient that ``backward`` collected here since ``zero_grad``: an array, a
    /// ``SparseGrad`` if it came from lookups alone, a ``Variable`` after
    /// ``backward(create_graph=True)``, or None. Only leaves that record a gradient have one.
    #[getter]
    fn grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let slope = self.slope().as_ref().map(|h| h.node().map(Cow::into_owned));
        if let Some(slope) = slope.transpose()? {
            return Ok(Some(Bound::new(py, Self::new(slope))?.into_any()));
        }
        let grad = match self.handle.param() {
            Some(param) => param.gradient(),
            None => self.node()?.grad(),
        };
        grad.map(|g| gradient(py, g)).transpose()
    }

    /// The value as a Python float. Raises ValueError unless there is exactly one element.
    fn item(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.read(py)?.item()?)
    }

    /// Brings the value up to date with whatever was assigned below, and returns it.
    fn forward<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)
    }

    /// Adds the gradient of this value to every leaf below that records one.
    ///
    /// Starts from ``grad``, an array of this value's shape and type, or from ones. Gradients
    /// add up until ``zero_grad``. Raises TypeError if nothing below records a gradient.
    ///
    /// With ``create_graph`` the gradients are variables, computed from the leaves as this value
    /// is, and have gradients themselves:
    ///
    /// >>> x = Variable(2.0)
    /// >>> (x * x * x).backward(create_graph=True)
    /// >>> slope = x.grad
    /// >>> x.zero_grad()
    /// >>> slope.backward()
    /// >>> x.grad
    /// array(12.)
    #[pyo3(signature = (grad=None, create_graph=false))]
    fn backward(
        &self,
        py: Python<'_>,
        grad: Option<&Bound<'_, PyAny>>,
        create_graph: bool,
    ) -> PyResult<()> {
        let node = self.node()?;
        if create_graph {
            return transform::backward(py, &node, grad);
        }
        match grad {
            None => node.try_backward()?,
            Some(grad) => node.backward_from(convert::array_of("grad", grad, node.dtype())?)?,
        }
        // What was added is in the numbers alone.
        Self::drop_slopes(py, &node);
        Ok(())
    }

    /// Forgets the gradient of this leaf, or of all leaves below.
    fn zero_grad(&self, py: Python<'_>) -> PyResult<()> {
        let node = self.node()?;
        node.zero_grad();
        Self::drop_slopes(py, &node);
        Ok(())
    }

    /// Shows the gradient of this variable to ``hook`` in every backward pass, when it is
    /// complete and before it goes on; what the hook returns, unless None, takes its place.
    ///
    /// The gradient is an array (a ``SparseGrad`` where it came from lookups alone), or a
    /// ``Variable`` where it is a graph; one in its place has the same shape and type. Returns an
    /// object whose ``remove()`` takes the hook away. Raises TypeError if no gradient flows through
    /// this variable. A hook that refers to this variable keeps both alive until it is removed:
    /// Python's garbage collector does not see through graphs.
    ///
    /// >>> x = Variable([1.0, -5.0])
    /// >>> handle = x.register_hook(lambda g: g.clip(-1.0, 1.0))
    /// >>> (x * x).sum().backward()
    /// >>> x.grad
    /// array([ 1., -1.])
    /// >>> handle.remove()
    fn register_hook<'py>(
        &self,
        py: Python<'py>,
        hook: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        super::hook::register(py, self.node()?.into_owned(), hook)
    }

    /// The parameters that this value depends on, each once.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, registry::parameters(py, &*self.node()?)?)
    }

    /// The transpose: axes in reverse order.
    #[getter(T)]
    fn transposed(&self) -> PyResult<Self> {
        Ok(Self::new(build::transpose(&*self.node()?, None)?))
    }

    fn __add__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Add, slf, other, false)
    }
    fn __radd__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Add, slf, other, true)
    }
    fn __sub__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Sub, slf, other, false)
    }
    fn __rsub__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Sub, slf, other, true)
    }
    fn __mul__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Mul, slf, other, false)
    }
    fn __rmul__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Mul, slf, other, true)
    }
    fn __truediv__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Div, slf, other, false)
    }
    fn __rtruediv__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Div, slf, other, true)
    }
    fn __lt__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Less, slf, other, false)
    }
    fn __le__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::LessEqual, slf, other, false)
    }
    fn __gt__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Greater, slf, other, false)
    }
    fn __ge__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::GreaterEqual, slf, other, false)
    }
    fn __eq__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        arithmetic(&rules::Equal, slf, other, false)
    }
    fn __ne__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        combined("not_equal", &build::not_equal, slf, other, false)
    }
    // By identity, so that variables are keys of dictionaries: keys that are different objects
    // have different hashes and are never compared.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
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
            Some(exponent) => {
                let power = build::power(&*slf.get().node()?, exponent)?;
                Ok(Bound::new(slf.py(), Self::new(power))?.into_any())
            }
            None => arithmetic(&rules::Pow, slf, other, false),
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
        combined("matmul", &build::matmul, slf, other, false)
    }
    fn __rmatmul__<'py>(slf: &This<'py>, other: &Object<'py>) -> PyResult<Object<'py>> {
        combined("matmul", &build::matmul, slf, other, true)
    }
    fn __neg__(&self) -> PyResult<Self> {
        self.unary(&rules::Neg)
    }
    // Another object: what is assigned to one is not to be seen in the other.
    fn __pos__(&self) -> PyResult<Self> {
        let node = self.node()?;
        if node.dtype() == DType::U32 {
            // Indices cannot be assigned to in part.
            return Ok(Self::new(node.into_owned()));
        }
        self.unary(&rules::Positive)
    }
    fn __abs__(&self) -> PyResult<Self> {
        self.unary(&rules::Abs)
    }
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let ty = self.ty()?;
        if ty.size() != 1 {
            return Err(PyValueError::new_err(format!(
                "the truth of an array of shape {} is none: use np.any or np.all, or np.where to \
                 choose element by element",
                crate::array::show_shape(&ty.shape)
            )));
        }
        Ok(self.item(py)? != 0.0)
    }
    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        if self.node()?.traced_below() {
            return Err(PyTypeError::new_err(
                "float() of an argument that is differentiated, or of what was computed from \
                 it, would lose the gradient: use np.sin for math.sin and so on, np.stack or \
                 wyrmling.array to fill an array, and .item() for the plain number",
            ));
        }
        self.item(py)
    }
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(index::get(&*self.node()?, key)?))
    }
    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let variable = slf.get();
        let changed = index::replace(&*variable.node()?, key, value)?;
        if variable.handle.replace(changed)? {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "the elements of a {}, which is a leaf, cannot be assigned: assign its value, or \
             write on a copy, wyrmling.array(x)",
            slf.get_type().name()?
        )))
    }
    fn __len__(&self) -> PyResult<usize> {
        let ty = self.ty()?;
        let first = ty.shape.first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of a variable without axes"))
    }
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<show::Rows> {
        let count = slf.get().__len__()?;
        let node = slf.get().node()?;
        // Rows are counted now: for a row more, what is made of them would be wrong.
        let of = match node.kind() {
            Kind::Operation(_) | Kind::Input(..) => {
                let fixed = build::fixed(&node, "iteration", &[0])?;
                Bound::new(slf.py(), Self::new(fixed))?
            }
            Kind::Parameter(_) | Kind::Variable(..) | Kind::Constant => slf.clone(),
        };
        Ok(show::Rows {
            of: of.unbind(),
            next: 0,
            count,
        })
    }
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        show::repr(slf)
    }

    /// Exponential.
    fn exp(&self) -> PyResult<Self> {
        self.unary(&rules::Exp)
    }
    /// Natural logarithm.
    fn log(&self) -> PyResult<Self> {
        self.unary(&rules::Log)
    }
    /// Logarithm of 1 + x, accurate near zero.
    fn log1p(&self) -> PyResult<Self> {
        self.unary(&rules::Log1p)
    }
    /// Exponential minus 1, accurate near zero.
    fn expm1(&self) -> PyResult<Self> {
        self.unary(&rules::Expm1)
    }
    /// Square root.
    fn sqrt(&self) -> PyResult<Self> {
        self.unary(&rules::Sqrt)
    }
    /// Square.
    fn square(&self) -> PyResult<Self> {
        self.unary(&rules::Square)
    }
    /// Absolute value; the gradient at 0 is 0.
    fn abs(&self) -> PyResult<Self> {
        self.unary(&rules::Abs)
    }
    /// Sine, of radians.
    fn sin(&self) -> PyResult<Self> {
        self.unary(&rules::Sin)
    }
    /// Cosine, of radians.
    fn cos(&self) -> PyResult<Self> {
        self.unary(&rules::Cos)
    }
    /// Tangent, of radians.
    fn tan(&self) -> PyResult<Self> {
        self.unary(&rules::Tan)
    }
    /// Hyperbolic tangent.
    fn tanh(&self) -> PyResult<Self> {
        self.unary(&rules::Tanh)
    }
    /// Logistic function, 1 / (1 + exp(-x)).
    fn sigmoid(&self) -> PyResult<Self> {
        self.unary(&rules::Sigmoid)
    }
    /// Logarithm of the logistic function, without overflow for any x.
    fn logsigmoid(&self) -> PyResult<Self> {
        self.unary(&rules::LogSigmoid)
    }
    /// Smooth rectifier ln(1 + exp(x)), without overflow for any x.
    fn softplus(&self) -> PyResult<Self> {
        self.unary(&rules::Softplus)
    }
    /// Rectifier max(x, 0); the gradient at 0 is 0.
    fn relu(&self) -> PyResult<Self> {
        self.unary(&rules::Relu)
    }
    /// Sum of the diagonal of a matrix.
    fn trace(&self) -> PyResult<Self> {
        self.unary(&rules::Trace)
    }
    /// Sum over axes: all of them, one, or a tuple of several.
    #[pyo3(
        signature = (axis=None, keepdims=Given::default(false)),
        text_signature = "($self, axis=None, keepdims=False)"
    )]
    fn sum(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: Given<bool>) -> PyResult<Self> {
        self.reduce(Reduction::Sum, axis, keepdims)
    }
    /// Arithmetic mean over axes.
    #[pyo3(
        signature = (axis=None, keepdims=Given::default(false)),
        text_signature = "($self, axis=None, keepdims=False)"
    )]
    fn mean(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: Given<bool>) -> PyResult<Self> {
        self.reduce(Reduction::Mean, axis, keepdims)
    }
    /// Largest element along axes; equal largest elements share the gradient.
    #[pyo3(
        signature = (axis=None, keepdims=Given::default(false)),
        text_signature = "($self, axis=None, keepdims=False)"
    )]
    fn max(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: Given<bool>) -> PyResult<Self> {
        self.reduce(Reduction::Max, axis, keepdims)
    }
    /// Smallest element along axes; equal smallest elements share the gradient.
    #[pyo3(
        signature = (axis=None, keepdims=Given::default(false)),
        text_signature = "($self, axis=None, keepdims=False)"
    )]
    fn min(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: Given<bool>) -> PyResult<Self> {
        self.reduce(Reduction::Min, axis, keepdims)
    }
    /// NumPy's dot product.
    fn dot(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let node = self.node()?;
        apply(operand::other("dot", &node, other)?, "dot", other, |y| {
            build::dot(&node, y)
        })
    }
    /// The same elements in another shape; one length may be -1.
    /// ``order`` as in ``wyrmling.reshape``.
    #[pyo3(
        signature = (*shape, order=Given::default(Order::C)),
        text_signature = "($self, *shape, order='C')"
    )]
    fn reshape(&self, shape: &Bound<'_, PyTuple>, order: Given<Order>) -> PyResult<Self> {
        let shape = convert::lengths("shape", shape)?.ok_or_else(|| convert::missing("shape"))?;
        Ok(Self::new(reshaped(&*self.node()?, shape, order)?))
    }
    /// The axes in another order, reversed if none is given.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let axes = convert::lengths("axes", axes)?;
        let node = self.node()?;
        Ok(Self::new(build::transpose(&node, axes.as_deref())?))
    }
    /// Without axes of length 1: all of them, one, or a tuple of several.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let axis = convert::integers("axis", axis)?;
        Ok(Self::new(build::squeeze(&*self.node()?, axis.as_deref())?))
    }

    // All that NumPy may pass is named: Python makes tuples and dicts of `*` and `**`, which take
    // longer than operators on few numbers.
    #[pyo3(signature = (ufunc, method, x, *more, out=None, r#where=None, casting=None,
                        order=None, dtype=None, subok=None, signature=None, axes=None, axis=None,
                        keepdims=None, initial=None))]
    #[expect(clippy::too_many_arguments, reason = "as many as NumPy has")]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        x: &Bound<'py, PyAny>,
        more: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
        order: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        subok: Option<&Bound<'py, PyAny>>,
        signature: Option<&Bound<'py, PyAny>>,
        axes: Option<&Bound<'py, PyAny>>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: Option<&Bound<'py, PyAny>>,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = [
            ("out", out),
            ("where", r#where),
            ("casting", casting),
            ("order", order),
            ("dtype", dtype),
            ("subok", subok),
            ("signature", signature),
            ("axes", axes),
            ("axis", axis),
            ("keepdims", keepdims),
            ("initial", initial),
        ];
        super::protocols::ufunc(slf.py(), ufunc, method, (x, more), &named)
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        super::protocols::function(slf.py(), func, args, kwargs)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let node = self.node()?;
        if node.differentiable() || node.traced_below() {
            return Err(PyTypeError::new_err(
                "this variable carries a gradient, which a plain array would lose; use .value to \
                 leave the graph, a function of wyrmling or NumPy to stay in it, np.stack or \
                 wyrmling.array to make an array of variables, and wyrmling.array(x) for an array \
                 x that is to take them by x[i] = v",
            ));
        }
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "copy: the value of a variable is always copied",
            ));
        }
        let array = self.array(py)?;
        match dtype {
            Some(dtype) if !dtype.is_none() => array.call_method1(intern!(py, "astype"), (dtype,)),
            _ => Ok(array),
        }
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a graph cannot be copied or pickled; keep .value, or freeze the graph and use the \
             Program in other threads",
        ))
    }
}
