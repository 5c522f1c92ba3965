//! `freeze` and `Program` as Python sees them: inputs by leaf, and runs; [`crate::exec::Program`] is what runs.

use std::sync::Arc;

use pyo3::PyVisit;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::mapped::{self, StoredAs, mapped};
use crate::array::{Array, DType};
use crate::error::Result;
use crate::exec::{Leaf, Program};
use crate::interrupt;
use crate::ir::Expression;
use crate::python::interop::argument::Given;
use crate::python::interop::convert::{self, type_name};
use crate::python::interop::element_type::ElementType;
use crate::python::operations::primitive;
use crate::python::variables::collect::{Links, Root};
use crate::python::variables::holders::What;
use crate::python::variables::registry;
use crate::python::variables::sparse::gradient;
use crate::python::variables::variable::PyVariable;
use crate::reserve;
use crate::rules::Gather;
use crate::table::lock::Membership;
use crate::train::Mapped;

/// A frozen loss, and its gradient, compiled; made by ``freeze``. Works in every thread and
/// releases the interpreter while it runs. Ctrl-C ends a run. ``str(program)`` shows it.
#[pyclass(name = "Program", module = "wyrmling", frozen, weakref)]
pub(in crate::python) struct PyProgram {
    pub(in crate::python) inner: Arc<Program>,
    /// Whether it calls operators written in Python.
    stays_in_thread: bool,
    /// The element type of the result.
    element_type: ElementType,
    /// The objects of the leaves that have gradients, in the program's order.
    leaves: Vec<Py<PyVariable>>,
    /// The inputs that are tables of indices, with the values that they had.
    pub(in crate::python) tables: Vec<(u64, Array)>,
    /// What the collector sees of its operators.
    links: Links,
}

impl Root for PyProgram {
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>)) {
        let mut held = Vec::new();
        // Most have no operator of the caller's own. What a run holds too, is not this object's alone.
        if self.stays_in_thread && Arc::strong_count(&self.inner) == 1 {
            self.inner.operators(&mut |op| {
                held.extend(primitive::is_primitive(op).then(|| What::Operator(op.clone())));
            });
        }
        f(&self.links, held);
    }
}

/// What maps inputs to something.
pub(in crate::python) const BY_INPUT: &str = "a dict whose keys are inputs of the graph";

/// The input that a key of a dictionary stands for: its place among the program's inputs.
///
/// # Errors
/// TypeError if it is not an input, ValueError if the program does not have it.
pub(in crate::python) fn place(
    program: &Program,
    what: &str,
    key: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let id = input_id(what, key)?;
    program.input_number(id).ok_or_else(|| {
        let names: Vec<&str> = program.inputs().map(input_name).collect();
        let name = key.cast::<PyVariable>().ok();
        let name = name.and_then(|v| v.get().handle.name().map(|n| format!(" '{n}'")));
        PyValueError::new_err(format!(
            "{what}: the input{} is not one of this graph, whose inputs are [{}]",
            name.unwrap_or_default(),
            names.join(", ")
        ))
    })
}

/// The number that tells inputs apart.
pub(in crate::python) fn input_id(what: &str, key: &Bound<'_, PyAny>) -> PyResult<u64> {
    let variable = key.cast::<PyVariable>().ok();
    variable
        .and_then(|v| v.get().handle.input_id())
        .ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{what}: expected an Input or IndexInput, got {}",
                type_name(key)
            ))
        })
}

fn input_name(leaf: &Leaf) -> &str {
    match leaf {
        Leaf::Input { name, .. } => name,
        Leaf::Parameter(_) | Leaf::Independent(..) => "",
    }
}

/// The number of rows that an input of indices looks up.
fn rows_behind(program: &Program, at: usize) -> Option<usize> {
    let leaves = program.leaves().iter().zip(program.forward().parameters());
    let (_, &input) = leaves
        .filter(|(leaf, _)| matches!(leaf, Leaf::Input { .. }))
        .nth(at)?;
    let (block, _) = program.forward().straight().ok()?;
    let table = block
        .instructions
        .iter()
        .find_map(|i| match &i.expression {
            Expression::Apply(op, args)
                if op.downcast::<Gather>().is_some() && args[1] == input =>
            {
                Some(args[0])
            }
            _ => None,
        })?;
    program.forward().ty(table).shape.first().copied()
}

/// A value for an input, in the type of the input.
pub(in crate::python) fn bind(
    program: &Program,
    at: usize,
    value: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let Some(Leaf::Input { ty, name, .. }) = program.input(at) else {
        return Err(PyValueError::new_err("the program has no such input"));
    };
    let what = format!("input '{name}'");
    if ty.dtype == DType::U32 {
        let rows = || rows_behind(program, at);
        Ok(convert::indices(&what, value, &rows)?.into())
    } else {
        convert::array_of(&what, value, ty.dtype)
    }
}

/// As [`bind`], of a mapped array that can be read in place.
pub(in crate::python) fn bind_mapped(
    program: &Program,
    at: usize,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<Mapped>> {
    let Some(Leaf::Input { ty, name, .. }) = program.input(at) else {
        return Ok(None);
    };
    let stored_as: StoredAs = match ty.dtype {
        DType::U32 => mapped::indices,
        _ => mapped::numbers,
    };
    let found = mapped(&format!("input '{name}'"), value, stored_as)?;
    Ok(found.filter(|found| found.ty().dtype == ty.dtype))
}

impl PyProgram {
    /// Freezes a variable.
    pub(in crate::python) fn new(loss: &Bound<'_, PyVariable>) -> PyResult<Self> {
        let py = loss.py();
        let node = loss.get().handle.node()?;
        let program = node.freeze()?;
        let mut leaves = Vec::new();
        for leaf in program.differentiable() {
            let id = match leaf {
                Leaf::Parameter(table) => table.id(),
                Leaf::Independent(id, _) | Leaf::Input { id, .. } => *id,
            };
            leaves.push(id);
        }
        let objects = registry::objects(py, &node, &leaves)?;
        Ok(PyProgram {
            stays_in_thread: program.stays_in_thread(),
            element_type: ElementType::of(&node),
            inner: Arc::new(program),
            leaves: objects,
            tables: node.looked_up()?,
            links: Links::default(),
        })
    }

    /// Runs the program, by `short` if the run is a short one. A long run is abandoned by Ctrl-C,
    /// and ends by itself after the step that it is at.
    fn call<R: Send + 'static>(
        &self,
        py: Python<'_>,
        inputs: Vec<Array>,
        short: fn(&Program, &[Array]) -> Result<Option<R>>,
        any: fn(&Program, &[Array]) -> Result<R>,
    ) -> Result<R> {
        let program = &self.inner;
        if self.stays_in_thread {
            return py.detach(|| any(program, &inputs));
        }
        if let Some(result) = py.detach(|| short(program, &inputs))? {
            return Ok(result);
        }
        let program = Arc::clone(program);
        let membership = Membership::of_this_thread();
        interrupt::run_abandonable(move || membership.join(|| any(&program, &inputs)))?
    }

    /// One array for each input, in the program's order.
    fn arrays(&self, inputs: Option<Given<Bound<'_, PyDict>>>) -> PyResult<Vec<Array>> {
        let program = &*self.inner;
        let mut arrays: Vec<Option<Array>> = program.inputs().map(|_| None).collect();
        let inputs = inputs.map(|given| given.named("inputs", BY_INPUT));
        for (key, value) in inputs.transpose()?.into_iter().flatten() {
            let at = place(program, "inputs", &key)?;
            arrays[at] = Some(bind(program, at, &value)?);
        }
        let named = arrays.into_iter().zip(program.inputs());
        let table = |leaf: &Leaf| {
            let Leaf::Input { id, .. } = leaf else {
                return None;
            };
            let found = self.tables.iter().find(|(other, _)| other == id);
            found.map(|(_, value)| value.clone())
        };
        let missing = |leaf| {
            PyValueError::new_err(format!("inputs: input '{}' has no value", input_name(leaf)))
        };
        named
            .map(|(array, leaf)| array.or_else(|| table(leaf)).ok_or_else(|| missing(leaf)))
            .collect()
    }
}

#[pymethods]
impl PyProgram {
    /// The value, a new array of the result's type (bool and int64 too), for ``inputs``: a
    /// dictionary from every Input of the graph to its value. The first axis may have another
    /// length than when the graph was frozen. An ``IndexInput`` that is only looked up in
    /// (``features`` in ``w[features[i]]``) has the value that it had then unless it is given.
    ///
    /// Raises ValueError for an input without value, an input of another graph or a shape that
    /// does not fit, TypeError for a type that ``Input`` does not take, IndexError for an index out of
    /// range.
    #[pyo3(signature = (inputs=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Option<Given<Bound<'py, PyDict>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.arrays(inputs)?;
        let value = self.call(py, arrays, Program::run_if_short, Program::run)?;
        self.element_type.array(py, value)
    }

    /// The value, and the gradient of the sum of its elements: a dictionary from every
    /// Parameter and every Variable that records a gradient to an array, to a SparseGrad if it
    /// is used by lookups alone, or to None where the value does not depend on it. Errors as
    /// ``run``.
    #[pyo3(signature = (inputs=None))]
    fn value_and_grad<'py>(
        &self,
        py: Python<'py>,
        inputs: Option<Given<Bound<'py, PyDict>>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let arrays = self.arrays(inputs)?;
        let (short, any) = (Program::value_and_grad_if_short, Program::value_and_grad);
        let (value, gradients) = self.call(py, arrays, short, any)?;
        let found = PyDict::new(py);
        for (leaf, grad) in self.leaves.iter().zip(gradients) {
            let grad = grad.map(|g| gradient(py, g)).transpose()?;
            found.set_item(leaf, grad)?;
        }
        Ok((self.element_type.array(py, value)?, found))
    }

    /// The names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        let names = self.inner.inputs().map(input_name);
        names.map(str::to_owned).collect()
    }

    /// The parameters, each once.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = PyList::empty(py);
        for leaf in &self.leaves {
            if leaf.get().handle.param().is_some() {
                found.append(leaf)?;
            }
        }
        Ok(found)
    }

    fn __str__(&self) -> PyResult<String> {
        reserve::ahead(self.inner.adjoint().kinds.len(), reserve::bytes::PRINTED)?;
        Ok(self.inner.to_string())
    }

    fn __repr__(&self) -> String {
        let inputs: Vec<&str> = self.inner.inputs().map(input_name).collect();
        format!(
            "<Program with inputs [{}] and {} parameters>",
            inputs.join(", "),
            self.inner.tables().len()
        )
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.links.traverse(&visit)?;
        self.leaves.iter().try_for_each(|leaf| visit.call(leaf))
    }

    fn __clear__(&self) {
        self.links.clear();
    }
}

/// Compiles the graph below a variable, with its gradient, to a ``Program``.
///
/// Parameters stay shared with the graph, inputs become the program's inputs (messages call
/// those without a name #0, #1, … in the order of first use), and other values are fixed as
/// they are now. So is a length that was read as an integer (``len(x)``): the program refuses others,
/// if ``x`` is one of its inputs.
///
/// Raises TypeError for what is no variable and for a graph with a hook, ValueError if an input of the
/// graph no longer has a length that was read while it was built, MemoryError if there is none.
///
/// >>> x, w = Input([0.0], name="x"), Parameter([3.0])
/// >>> program = freeze((w * x).sum())
/// >>> program.run({x: [2.0]})
/// array(6.)
/// >>> value, grads = program.value_and_grad({x: [2.0]})
/// >>> grads[w]
/// array([2.])
#[pyfunction]
#[pyo3(signature = (loss, /))]
pub(in crate::python) fn freeze(loss: &Bound<'_, PyAny>) -> PyResult<PyProgram> {
    match loss.cast::<PyVariable>() {
        Ok(loss) => PyProgram::new(loss),
        Err(_) => Err(PyTypeError::new_err(format!(
            "loss: expected a variable, got {}; of a function, freeze what it returns for \
             parameters and inputs",
            type_name(loss)
        ))),
    }
}
