//! `Variable`, as Python sees it: the object.
//!
//! A `Variable` is a [`Handle`] on a node of a graph. Leaves have classes of their own
//! ([`super::leaf`]); results of operators are plain `Variable`s. The class's methods stand where
//! what they do stands, in several `#[pymethods]`: those of the value and the gradient, and NumPy's
//! methods, in [`operations::methods`](crate::python::operations::methods); Python's operators in
//! [`super::operators`]; elementwise functions, made from the rule table, in
//! [`operations::elementwise`](crate::python::operations::elementwise); NumPy's protocols in
//! [`operations::protocols`](crate::python::operations::protocols); `repr` and iteration in [`super::repr`] and
//! [`super::iteration`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use pyo3::PyVisit;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use super::collect::{Links, Root};
use super::handle::Handle;
use super::holders::What;
use crate::array::{Array, Dense, Type};
use crate::graph::{Variable, ops};
use crate::python::interop::element_type::ElementType;
use crate::rules::Operator;

/// A number or array that remembers how it was computed.
///
/// ``Variable(value)`` makes a leaf that records a gradient and is not trained; results of
/// operators are variables too. float32 and float64 are kept; Python numbers, lists and
/// integer arrays become float64. A graph belongs to the thread that built it.
///
/// All operators are elementwise, as NumPy's, and so are comparisons: ``x == y`` and ``x < y``
/// are booleans, as NumPy's: the sum of two is whether one holds, the product whether both do, a
/// difference is refused, and with integers they count as 0 and 1. A variable is hashed by identity,
/// so that it can be a key of a dictionary; ask ``is`` whether two are the same object.
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
pub(in crate::python) struct PyVariable {
    pub(in crate::python) handle: Handle,
    /// Where a leaf's object is listed.
    pub(in crate::python) entry: OnceLock<Listing>,
    /// A leaf's gradient as a graph, if it is to be one. It is held here and not by the leaf's
    /// node, which it depends on: nodes must not hold each other in a circle.
    grad_graph: Mutex<Option<Box<Handle>>>,
    /// Whether it stands for a Python float, whose arithmetic raises what Python's does.
    pub(in crate::python) number: bool,
    /// Whether it stands for a single number that is no array: of Python's, or NumPy's.
    pub(in crate::python) scalar: bool,
}

/// How many leaves have a gradient that is a graph. While it is 0 no leaf is searched for one.
static GRAD_GRAPHS: AtomicIsize = AtomicIsize::new(0);

impl Root for PyVariable {
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>)) {
        f(self.handle.links(), self.handle.held());
        if let Some(graph) = &*self.grad_graph() {
            f(graph.links(), graph.held());
        }
    }
}

impl PyVariable {
    #[inline]
    pub(in crate::python) fn new(node: Variable) -> Self {
        PyVariable::of(Handle::new(node))
    }

    #[inline]
    pub(in crate::python) fn of(handle: Handle) -> Self {
        PyVariable {
            handle,
            entry: OnceLock::new(),
            grad_graph: Mutex::new(None),
            number: false,
            scalar: false,
        }
    }

    /// A variable that stands for a Python float, or for an array.
    #[inline]
    pub(in crate::python) fn number(node: Variable, number: bool) -> Self {
        PyVariable {
            number,
            scalar: number,
            handle: Handle::new(node),
            entry: OnceLock::new(),
            grad_graph: Mutex::new(None),
        }
    }

    /// A variable that stands for a single number, which is no array.
    pub(in crate::python) fn scalar(node: Variable) -> Self {
        let mut number = PyVariable::new(node);
        number.scalar = true;
        number
    }

    /// Shows the collector what the graph holds.
    pub(in crate::python) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.handle.links().traverse(visit)?;
        match &*self.grad_graph() {
            Some(graph) => graph.links().traverse(visit),
            None => Ok(()),
        }
    }

    /// Ends what the collector saw.
    pub(in crate::python) fn clear(&self) {
        self.handle.links().clear();
        self.set_grad_graph(None);
    }

    /// Whether it stands for a number that is no array, if it has no axes.
    pub(in crate::python) fn is_scalar(&self) -> bool {
        self.scalar || self.handle.is_result()
    }

    /// The variable of `node`, which was made from `base`, the node of this one: a view of it where
    /// NumPy makes one.
    pub(in crate::python) fn view(&self, base: &Variable, node: Variable) -> Self {
        match self.is_scalar() && base.ty().is_ok_and(|ty| ty.ndim() == 0) {
            // NumPy makes an array of its own of a number.
            true => PyVariable::new(node),
            false => PyVariable::of(self.handle.view(base, node)),
        }
    }

    /// As [`view`](Self::view), for the elements along one axis.
    pub(in crate::python) fn raveled(&self, base: &Variable, node: Variable) -> Self {
        match self.is_scalar() && base.ty().is_ok_and(|ty| ty.ndim() == 0) {
            true => PyVariable::new(node),
            false => PyVariable::of(self.handle.raveled(base, node)),
        }
    }

    /// As [`view`](Self::view), of any object that stands for an array.
    pub(in crate::python) fn view_of(
        object: &Bound<'_, PyAny>,
        base: &Variable,
        node: Variable,
    ) -> Self {
        match object.cast::<PyVariable>() {
            Ok(variable) => variable.get().view(base, node),
            Err(_) => PyVariable::new(node),
        }
    }

    #[inline]
    pub(in crate::python) fn node(&self) -> PyResult<Cow<'_, Variable>> {
        Ok(self.handle.node()?)
    }

    /// The gradient as a graph. No Python code may run while it is locked.
    pub(in crate::python) fn grad_graph(&self) -> MutexGuard<'_, Option<Box<Handle>>> {
        // A panic cannot leave it half written: it is only ever replaced as a whole.
        self.grad_graph.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Replaces the gradient that is a graph.
    pub(in crate::python) fn set_grad_graph(&self, graph: Option<Handle>) {
        let graph = graph.map(Box::new);
        let change = |graph: &Option<Box<Handle>>| isize::from(graph.is_some());
        GRAD_GRAPHS.fetch_add(change(&graph), Relaxed);
        let old = std::mem::replace(&mut *self.grad_graph(), graph);
        GRAD_GRAPHS.fetch_sub(change(&old), Relaxed);
        // Dropping the last handle frees the graph and may run Python code, so the lock is released
        // before.
        drop(old);
    }

    /// Whether any leaf has a gradient that is a graph.
    pub(in crate::python) fn any_grad_graph() -> bool {
        GRAD_GRAPHS.load(Relaxed) != 0
    }

    /// The type and shape of the value.
    pub(in crate::python) fn ty(&self) -> PyResult<Type> {
        Ok(self.handle.node_for_type()?.ty()?)
    }

    /// The result of an operator without attributes.
    pub(in crate::python) fn unary(&self, op: &'static dyn Operator) -> PyResult<Self> {
        let node = self.node()?;
        Ok(Self::new(match () {
            () if !node.is_discrete() => ops::unary(op, &node)?,
            () if node.is_boolean() => ops::of_booleans(op, &[node.into_owned()], true)?,
            () => ops::of_integers(op, &[node.into_owned()], true)?,
        }))
    }

    /// A copy of the value.
    pub(in crate::python) fn read(&self, py: Python<'_>) -> PyResult<Array> {
        Ok(match self.handle.param() {
            // It is read from the table, so that no copy stays in the graph. Reading may wait for a
            // thread that trains, so the interpreter's lock is released.
            Some(param) => {
                let param = Arc::clone(param);
                py.detach(move || param.table().try_read())?
            }
            None => self.node()?.value()?,
        })
    }

    /// The only element.
    pub(in crate::python) fn single(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.read(py)?.item()?)
    }

    /// Element `at`, as the last axis runs fastest, which there is. Of a parameter its row alone is read.
    pub(in crate::python) fn element(&self, py: Python<'_>, at: usize) -> PyResult<f64> {
        let Some(param) = self.handle.param() else {
            return Ok(self.read(py)?.element(at));
        };
        let (width, ndim) = (param.table().width(), param.table().ty().ndim());
        let row = match u32::try_from(at / width.max(1)) {
            Ok(row) if ndim > 0 => Dense::new(&[1], vec![row])?,
            _ => return Ok(self.read(py)?.element(at)),
        };
        let param = Arc::clone(param);
        let row = py.detach(move || param.table().read_rows(&row))?;
        Ok(row.element(at % width))
    }

    /// A copy of the value, as NumPy sees it.
    pub(in crate::python) fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.read(py)?;
        ElementType::of(&*self.node()?).array(py, value)
    }
}

impl Drop for PyVariable {
    fn drop(&mut self) {
        if Self::any_grad_graph() {
            self.set_grad_graph(None);
        }
    }
}

type List = HashMap<u64, Py<PyWeakrefReference>>;

static LIST: LazyLock<Mutex<List>> = LazyLock::new(Mutex::default);

/// The objects of leaves, by the number that tells leaves apart ([`super::registry`] finds them
/// there). No Python code may run while it is locked.
pub(in crate::python) fn list() -> MutexGuard<'static, List> {
    // A panic cannot leave it half changed: an entry is inserted or removed by one call.
    LIST.lock().unwrap_or_else(|e| e.into_inner())
}

/// An entry of the list, which goes when this is dropped.
pub(in crate::python) struct Listing {
    pub(in crate::python) id: u64,
    /// The address of the weak reference in the list.
    pub(in crate::python) reference: usize,
}

impl Drop for Listing {
    fn drop(&mut self) {
        let mut list = list();
        // A new object may have been listed for the leaf since this one died: that entry stays.
        let ours = list
            .get(&self.id)
            .is_some_and(|r| r.as_ptr() as usize == self.reference);
        let removed = ours.then(|| list.remove(&self.id));
        drop(list);
        drop(removed);
    }
}
