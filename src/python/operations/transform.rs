//! What transforms of functions are made of: tracing arguments, and gradients and tangents of
//! what came out.
//!
//! A transform runs the user's function on traced variables and asks for gradients afterwards.
//! Gradients are plain arrays, unless the call is within another transform or depends on a variable that records
//! a gradient: then they are variables. `python/wyrmling/transforms` decides that; here is what needs the graph.

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::Error;
use crate::graph::{Constant, Kind, Variable, ops};
use crate::python::interop::convert::{self, Origin};
use crate::python::interop::items::items;
use crate::python::variables::handle::Handle;
use crate::python::variables::operand;
use crate::python::variables::registry;
use crate::python::variables::variable::PyVariable;
use crate::rules;

type Variables<'py> = Vec<Bound<'py, PyVariable>>;

/// An argument of a function that is being differentiated: a variable of its own for a number,
/// an array or a variable. `what` names it in messages.
#[pyfunction]
fn traced(what: &str, value: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    if let Ok(variable) = value.cast::<PyVariable>() {
        let node = variable.get().node()?;
        if !node.dtype().is_real() {
            return Err(Error::Type(format!(
                "{what}: expected floating-point numbers to differentiate by, got indices; leave \
                 it out of argnums, or close over it"
            ))
            .into());
        }
        let (number, scalar) = (variable.get().number, variable.get().scalar);
        let mut traced = PyVariable::number(node.retraced()?, number);
        traced.scalar = scalar;
        return Ok(traced);
    }
    let (array, origin) = convert::array(what, value)?;
    let number = origin == Origin::Number;
    let mut traced = PyVariable::number(Constant::traced(array)?.boxed(), number);
    traced.scalar = value.cast::<PyUntypedArray>().is_err();
    Ok(traced)
}

/// The variables that an iterable holds.
fn list<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Variables<'py>> {
    items(name, object, None, |item| {
        let found = item.cast_into::<PyVariable>();
        found.map_err(|error| {
            let found = convert::type_name(&error.into_inner());
            PyTypeError::new_err(format!("{name}: expected variables, got {found}"))
        })
    })
}

fn originals(variables: &Variables<'_>) -> PyResult<Vec<Variable>> {
    let nodes = variables
        .iter()
        .map(|v| Ok(v.get().handle.original()?.clone()));
    nodes.collect()
}

fn nodes(variables: &Variables<'_>) -> PyResult<Vec<Variable>> {
    let nodes = variables.iter().map(|v| Ok(v.get().node()?.into_owned()));
    nodes.collect()
}

/// Whether a variable stands for a Python float, and not for an array or a number of NumPy's.
#[pyfunction]
fn is_number(variable: &Bound<'_, PyVariable>) -> bool {
    variable.get().number
}

/// Whether a variable stands for one number that is no array, of Python's or NumPy's.
#[pyfunction]
fn is_scalar(variable: &Bound<'_, PyVariable>) -> PyResult<bool> {
    let variable = variable.get();
    Ok(variable.is_scalar() && variable.ty()?.ndim() == 0)
}

/// A variable as one that stands for a Python float.
#[pyfunction]
fn as_number(variable: &Bound<'_, PyVariable>) -> PyResult<PyVariable> {
    let node = variable.get().node()?.into_owned();
    Ok(PyVariable::number(node, true))
}

/// Whether a gradient flows through a variable.
#[pyfunction]
fn differentiable(variable: &Bound<'_, PyVariable>) -> PyResult<bool> {
    Ok(variable.get().node()?.differentiable())
}

/// Whether a gradient of one of `outputs` flows to anything but the traced `inputs`.
#[pyfunction]
fn captures(outputs: &Bound<'_, PyAny>, inputs: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (outputs, inputs) = (list("outputs", outputs)?, list("inputs", inputs)?);
    let wrt = originals(&inputs)?;
    let wrt: Vec<&Variable> = wrt.iter().collect();
    Ok(Variable::any_captures(&nodes(&outputs)?, &wrt)?)
}

/// The gradients of the sum of `output * seed` (`seed` of ones, if it is None) by traced
/// `inputs`: variables if `live`, else arrays; None for an input that does not matter.
#[pyfunction]
fn gradients<'py>(
    py: Python<'py>,
    output: &Bound<'py, PyVariable>,
    inputs: &Bound<'py, PyAny>,
    seed: Option<&Bound<'py, PyAny>>,
    live: bool,
) -> PyResult<Bound<'py, PyList>> {
    let inputs = list("inputs", inputs)?;
    let wrt = originals(&inputs)?;
    let wrt: Vec<&Variable> = wrt.iter().collect();
    let y = output.get().node()?;
    let found = PyList::empty(py);
    if live {
        let seed = seed.map(|seed| tangent("seed", seed, &y)).transpose()?;
        for gradient in y.gradients_from(seed.as_ref(), &wrt)? {
            found.append(gradient.map(PyVariable::new))?;
        }
        return Ok(found);
    }
    let seed = seed.map(|seed| convert::array_of("seed", seed, y.dtype()));
    for gradient in y.gradient_values(seed.transpose()?, &wrt)? {
        let array = gradient.map(|g| g.try_to_dense()).transpose()?;
        let array = array.map(|a| convert::to_numpy(py, a)).transpose()?;
        found.append(array)?;
    }
    Ok(found)
}

/// A seed or tangent as a node of the type of what it belongs to.
fn tangent(what: &str, object: &Bound<'_, PyAny>, like: &Variable) -> PyResult<Variable> {
    if object.is_instance_of::<PyVariable>() {
        return operand::node(what, object);
    }
    let array = convert::array_of(what, object, like.dtype())?;
    Ok(Constant::new(array).boxed())
}

/// The tangents of `outputs` where the traced `inputs` move by `tangents`: variables, or None
/// for an output that does not move.
#[pyfunction]
fn pushforward<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let (outputs, inputs) = (list("outputs", outputs)?, list("inputs", inputs)?);
    let tangents = items("tangents", tangents, Some(inputs.len()), Ok)?;
    if tangents.len() != inputs.len() {
        return Err(PyValueError::new_err(format!(
            "tangents: expected one for each of {} inputs, got {}",
            inputs.len(),
            tangents.len()
        )));
    }
    let wrt = originals(&inputs)?;
    let moved = wrt.iter().zip(&tangents);
    let moved = moved.map(|(x, t)| tangent("tangent", t, x));
    let moved = moved.collect::<PyResult<Vec<_>>>()?;
    fn refs(nodes: &[Variable]) -> Vec<&Variable> {
        nodes.iter().collect()
    }
    let outputs = nodes(&outputs)?;
    let found = Variable::tangents(&refs(&outputs), &refs(&wrt), &refs(&moved))?;
    PyList::new(
        py,
        found
            .into_iter()
            .map(|t| t.map(PyVariable::new))
            .collect::<Vec<_>>(),
    )
}

/// Puts `other` in the place of what `variable` holds, for all later reads; False
/// if that is a leaf, which keeps its node.
#[pyfunction]
fn replace_node(variable: &Bound<'_, PyVariable>, other: &Bound<'_, PyVariable>) -> PyResult<bool> {
    let other = other.get().node()?.into_owned();
    Ok(variable.get().handle.replace(other)?)
}

/// `backward(create_graph=True)`: gradients that are variables, at the objects of the leaves.
pub(in crate::python) fn backward(
    py: Python<'_>,
    y: &Variable,
    grad: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let seed = grad.map(|grad| tangent("grad", grad, y)).transpose()?;
    let order = y.topological()?;
    let recording = |n: &&Variable| matches!(n.kind(), Kind::Parameter(_) | Kind::Independent(..));
    let leaves: Vec<&Variable> = order.iter().filter(recording).collect();
    if leaves.is_empty() {
        return Err(Error::Type(
            "backward: nothing below records a gradient, as a Parameter does".into(),
        )
        .into());
    }
    let gradients = y.gradients_from(seed.as_ref(), &leaves)?;
    // All gradients are computed before the first is set: an error leaves all leaves as they were.
    let mut found = Vec::new();
    for (leaf, gradient) in leaves.into_iter().zip(gradients) {
        let Some(gradient) = gradient else { continue };
        let Some(object) = registry::object(py, leaf)? else {
            continue;
        };
        let kept = object.get().grad_graph();
        let old = match &*kept {
            Some(old) => Some(old.node()?.into_owned()),
            None => match leaf.grad() {
                Some(old) => Some(Constant::new(old.try_to_dense()?).boxed()),
                None => None,
            },
        };
        drop(kept);
        let sum = match old {
            Some(old) => ops::binary(&rules::Add, &old, &gradient)?,
            None => gradient,
        };
        let value = sum.as_gradient()?;
        found.push((object, sum, value));
    }
    for (object, sum, value) in found {
        object.get().set_grad_graph(Some(Handle::new(sum)));
        object.get().node()?.set_grad(value);
    }
    Ok(())
}

/// Whether a variable is a view of another, as parts of arrays are in NumPy.
#[pyfunction]
fn is_view(variable: &Bound<'_, PyVariable>) -> bool {
    variable.get().handle.is_view()
}

pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(traced, module)?)?;
    module.add_function(wrap_pyfunction!(is_view, module)?)?;
    module.add_function(wrap_pyfunction!(
        crate::python::interop::error::refusals,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(is_number, module)?)?;
    module.add_function(wrap_pyfunction!(is_scalar, module)?)?;
    module.add_function(wrap_pyfunction!(as_number, module)?)?;
    module.add_function(wrap_pyfunction!(differentiable, module)?)?;
    module.add_function(wrap_pyfunction!(captures, module)?)?;
    module.add_function(wrap_pyfunction!(gradients, module)?)?;
    module.add_function(wrap_pyfunction!(pushforward, module)?)?;
    module.add_function(wrap_pyfunction!(replace_node, module)?)
}
