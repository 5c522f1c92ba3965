//! The methods of `Variable` that are no operators: its value, its gradient, and NumPy's methods.
//!
//! Those of elementwise functions (`x.exp()`) are made from the rule table, in
//! [`super::elementwise`]; those composed of several operators (`x.cumsum()`) are in
//! `python/wyrmling/variable.py`. Everything is computed by the crate's graphs: this file only
//! converts.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::PyArrayDescr;
use pyo3::PyVisit;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::functions::{diagonal_of, two};
use super::reductions::{reduced_with, reduction, with_arguments};
use super::transform;
use crate::array::DType;
use crate::graph::Independent;
use crate::graph::ops::{self, Reduction};
use crate::python::interop::argument::{Given, Integer, KeepDims, Named};
use crate::python::interop::element_type::ElementType;
use crate::python::interop::error::takes_no_variable;
use crate::python::interop::memory_order::{MemoryOrder, reshaped};
use crate::python::interop::once::intern;
use crate::python::interop::{convert, items};
use crate::python::variables::index;
use crate::python::variables::length;
use crate::python::variables::registry::{self, drop_grad_graphs};
use crate::python::variables::sparse::gradient;
use crate::python::variables::variable::PyVariable;
use crate::rules;

/// A reduction over axes, with these arguments besides.
fn reduce<'py>(
    slf: &Bound<'py, PyVariable>,
    kind: Reduction,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: Given<KeepDims>,
    more: &Named<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    if more.iter().any(|(_, value)| value.is_some()) {
        return reduced_with(slf.as_any(), kind, axis, keepdims, more);
    }
    let found = reduction(kind, &*slf.get().node()?, axis, keepdims)?;
    Ok(Bound::new(slf.py(), PyVariable::new(found))?.into_any())
}

#[pymethods]
impl PyVariable {
    #[new]
    fn create(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (array, _) = convert::array("value", value)?;
        Ok(Self::new(Independent::new(array)?.boxed()))
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
        let array = match self.node()?.dtype() {
            DType::U32 => convert::indices("value", value, &|| None)?.into(),
            dtype => convert::array_of("value", value, dtype)?,
        };
        match self.handle.param() {
            Some(param) => {
                let param = Arc::clone(param);
                Ok(py.detach(move || param.table().write(&array))?)
            }
            None => Ok(self.node()?.set_value(array)?),
        }
    }

    /// Length of each axis. Those of what follows an input are numbers that follow it in arithmetic
    /// with variables: ``y / x.shape[0]``. A graph in which one was used as an integer (``range``,
    /// ``np.ones``, ``len(x)``) is for this length alone: for others it raises ValueError.
    #[getter]
    fn shape<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        length::shape(slf)
    }

    /// Element type: float32 or float64; uint32 for indices, int64 for integers computed of them,
    /// bool for the results of comparisons.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        Ok(ElementType::of(&*self.handle.node_for_type()?).descriptor(py))
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> PyResult<usize> {
        Ok(self.ty()?.ndim())
    }

    /// Number of elements; as ``shape``, of what follows an input.
    #[getter]
    fn size<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        length::size(slf)
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
        let graph = self
            .grad_graph()
            .as_ref()
            .map(|h| h.node().map(Cow::into_owned));
        if let Some(graph) = graph.transpose()? {
            return Ok(Some(Bound::new(py, Self::new(graph))?.into_any()));
        }
        let grad = match self.handle.param() {
            Some(param) => param.gradient(),
            None => self.node()?.grad(),
        };
        grad.map(|g| gradient(py, g)).transpose()
    }

    /// The value as a number of Python: a float, an int of integers, a bool of booleans. Raises
    /// ValueError unless there is exactly one element, or arguments say which, as in NumPy.
    #[pyo3(signature = (*args))]
    fn item<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let value = match index::position(args, &self.ty()?.shape) {
            _ if args.is_empty() => self.single(py)?,
            Some(at) => self.element(py, at)?,
            // NumPy says what is wrong, and takes what is no plain integer.
            None => return self.array(py)?.call_method1(intern!(py, "item"), args),
        };
        ElementType::of(&*self.node()?).item(py, value)
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
        // The new gradient is plain numbers, so a gradient that is a graph no longer holds.
        drop_grad_graphs(py, &node)?;
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.traverse(&visit)
    }

    fn __clear__(&self) {
        self.clear();
    }

    /// Forgets the gradient of this leaf, or of all leaves below.
    fn zero_grad(&self, py: Python<'_>) -> PyResult<()> {
        let node = self.node()?;
        node.try_zero_grad()?;
        drop_grad_graphs(py, &node)?;
        Ok(())
    }

    /// Shows the gradient of this variable to ``hook`` in every backward pass, when it is
    /// complete and before it goes on; what the hook returns, unless None, takes its place.
    ///
    /// The gradient is an array (a ``SparseGrad`` where it came from lookups alone), or a
    /// ``Variable`` where it is a graph; one in its place is any of these, of the same shape and
    /// type: the pass raises ValueError for another shape, TypeError for another type. Returns an
    /// object whose ``remove()`` takes the hook away. Raises TypeError if no gradient flows through
    /// this variable. A hook may refer to this variable, or to any other: Python's garbage collector
    /// sees through graphs. Those of a Parameter are called by passes of the thread that made it: in
    /// another, RuntimeError is raised.
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
        let node = self.node()?.into_owned();
        if !self.handle.is_here() {
            return Err(PyRuntimeError::new_err(
                "register_hook: this parameter belongs to another thread, whose passes alone call its hooks; \
                 register it on what is made of it here, such as w * 1.0",
            ));
        }
        crate::python::variables::hook::register(py, node, hook)
    }

    /// The parameters that this value depends on, each once.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, registry::parameters(py, &*self.node()?)?)
    }

    /// The transpose: axes in reverse order.
    #[getter(T)]
    fn transposed(&self) -> PyResult<Self> {
        let node = self.node()?;
        Ok(self.view(&node, ops::transpose(&node, None)?))
    }

    /// The sum of the diagonals of the matrices along two axes.
    #[pyo3(
        signature = (offset=None, axis1=None, axis2=None, dtype=None, out=None),
        text_signature = "($self, offset=0, axis1=0, axis2=1, dtype=None, out=None)"
    )]
    fn trace<'py>(
        slf: &Bound<'py, Self>,
        offset: Option<&Bound<'py, PyAny>>,
        axis1: Option<&Bound<'py, PyAny>>,
        axis2: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = [
            ("offset", offset),
            ("axis1", axis1),
            ("axis2", axis2),
            ("dtype", dtype),
            ("out", out),
        ];
        if given.iter().all(|(_, value)| value.is_none()) && slf.get().ty()?.ndim() == 2 {
            return Ok(Bound::new(slf.py(), slf.get().unary(&rules::Trace)?)?.into_any());
        }
        with_arguments(slf.as_any(), "wyrmling.arrays.contraction", "trace", &given)
    }
    /// Sum over axes: all of them, one, or a tuple of several. The other arguments are those of
    /// ``numpy.sum``, for variables.
    #[pyo3(
        signature = (axis=None, dtype=None, out=None, keepdims=Given::default(KeepDims(false)), initial=None, r#where=None),
        text_signature = "($self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True)"
    )]
    fn sum<'py>(
        slf: &Bound<'py, Self>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: Given<KeepDims>,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reduce(
            slf,
            Reduction::Sum,
            axis,
            keepdims,
            &[
                ("dtype", dtype),
                ("out", out),
                ("initial", initial),
                ("where", r#where),
            ],
        )
    }
    /// Arithmetic mean over axes. The other arguments are those of ``numpy.mean``, for variables.
    #[pyo3(
        signature = (axis=None, dtype=None, out=None, keepdims=Given::default(KeepDims(false)), r#where=None),
        text_signature = "($self, axis=None, dtype=None, out=None, keepdims=False, where=True)"
    )]
    fn mean<'py>(
        slf: &Bound<'py, Self>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: Given<KeepDims>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reduce(
            slf,
            Reduction::Mean,
            axis,
            keepdims,
            &[("dtype", dtype), ("out", out), ("where", r#where)],
        )
    }
    /// Largest element along axes; equal largest elements share the gradient. The other arguments
    /// are those of ``numpy.max``, for variables.
    #[pyo3(
        signature = (axis=None, out=None, keepdims=Given::default(KeepDims(false)), initial=None, r#where=None),
        text_signature = "($self, axis=None, out=None, keepdims=False, initial=None, where=True)"
    )]
    fn max<'py>(
        slf: &Bound<'py, Self>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: Given<KeepDims>,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reduce(
            slf,
            Reduction::Max,
            axis,
            keepdims,
            &[("out", out), ("initial", initial), ("where", r#where)],
        )
    }
    /// Smallest element along axes; equal smallest elements share the gradient. The other
    /// arguments are those of ``numpy.min``, for variables.
    #[pyo3(
        signature = (axis=None, out=None, keepdims=Given::default(KeepDims(false)), initial=None, r#where=None),
        text_signature = "($self, axis=None, out=None, keepdims=False, initial=None, where=True)"
    )]
    fn min<'py>(
        slf: &Bound<'py, Self>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: Given<KeepDims>,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reduce(
            slf,
            Reduction::Min,
            axis,
            keepdims,
            &[("out", out), ("initial", initial), ("where", r#where)],
        )
    }
    /// The diagonal of each matrix, along a last axis.
    #[pyo3(
        signature = (offset=Integer::default(0), axis1=Integer::default(0), axis2=Integer::default(1)),
        text_signature = "($self, offset=0, axis1=0, axis2=1)"
    )]
    fn diagonal(&self, offset: Integer, axis1: Integer, axis2: Integer) -> PyResult<Self> {
        let node = self.node()?;
        Ok(self.view(&node, diagonal_of(&node, offset, axis1, axis2)?))
    }
    /// NumPy's dot product.
    fn dot(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        two("dot", slf.as_any(), other, ops::dot)
    }
    /// The same elements in another shape; one length may be -1.
    /// ``order`` as in ``wyrmling.reshape``.
    #[pyo3(
        signature = (*shape, order=Given::default(MemoryOrder::C)),
        text_signature = "($self, *shape, order='C')"
    )]
    fn reshape(&self, shape: &Bound<'_, PyTuple>, order: Given<MemoryOrder>) -> PyResult<Self> {
        let shape = items::lengths("shape", shape)?.ok_or_else(|| items::missing("shape"))?;
        let node = self.node()?;
        Ok(self.view(&node, reshaped(&node, shape, order)?))
    }
    /// The axes in another order, reversed if none is given.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let axes = items::lengths("axes", axes)?;
        let node = self.node()?;
        Ok(self.view(&node, ops::transpose(&node, axes.as_deref())?))
    }
    /// Without axes of length 1: all of them, one, or a tuple of several.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let node = self.node()?;
        let axis = items::reduced_axes("squeeze", axis, node.ty()?.ndim() == 0)?;
        Ok(self.view(&node, ops::squeeze(&node, axis.as_deref())?))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let node = self.node()?;
        let differentiated = node.differentiable() || node.traced_below();
        if differentiated || node.settable() {
            let asked = py.import(intern!(py, "wyrmling.array_refusal"))?;
            let said = asked.call_method1(intern!(py, "refusal"), (differentiated,))?;
            let said: String = said.extract()?;
            return Err(match differentiated {
                true => takes_no_variable(py, said, true),
                false => PyTypeError::new_err(said),
            });
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
}
