//! From a leaf of a graph back to its Python object.
//!
//! Graph nodes know nothing of Python. `parameters()` and gradients by object therefore ask
//! here, where every leaf that Python made is listed by the number that tells leaves apart.
//! The list holds weak references: it keeps no object alive, and an object that is gone is
//! made anew from its node.

use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use super::handle::leaf_id;
use super::leaf::PyParameter;
use super::variable::{Listing, PyVariable, list};
use crate::graph::{Kind, Parameter, Variable};

/// Lists the object of a leaf.
pub(in crate::python) fn register(object: &Bound<'_, PyVariable>) -> PyResult<()> {
    let variable = object.get();
    let Some(id) = variable.handle.leaf_id() else {
        return Ok(());
    };
    if variable.entry.get().is_some() {
        return Ok(());
    }
    let reference = PyWeakrefReference::new(object)?.unbind();
    let entry = Listing {
        id,
        reference: reference.as_ptr() as usize,
    };
    let old = list().insert(id, reference);
    drop(old);
    // This thread holds the interpreter's lock, so no other thread has set it since the check above.
    let _ = variable.entry.set(entry);
    Ok(())
}

fn find<'py>(py: Python<'py>, id: u64) -> Option<Bound<'py, PyVariable>> {
    let reference = list().get(&id).map(|r| r.clone_ref(py))?;
    reference.bind(py).upgrade_as::<PyVariable>().ok()?
}

/// The objects that there are of the leaves below a node, or of the node itself.
fn listed<'py>(py: Python<'py>, root: &Variable) -> PyResult<Vec<Bound<'py, PyVariable>>> {
    let nodes = match leaf_id(root) {
        Some(_) => vec![root.clone()],
        None => root.topological()?,
    };
    let ids = nodes.iter().filter_map(leaf_id);
    Ok(ids.filter_map(|id| find(py, id)).collect())
}

/// Forgets the gradients that are graphs of the leaves below a node.
///
/// # Errors
/// As [`Variable::topological`].
pub(in crate::python) fn drop_grad_graphs(py: Python<'_>, node: &Variable) -> PyResult<()> {
    if PyVariable::any_grad_graph() {
        let leaves = listed(py, node)?;
        leaves
            .iter()
            .for_each(|leaf| leaf.get().set_grad_graph(None));
    }
    Ok(())
}

/// The objects of the leaves below a node that have these numbers.
pub(in crate::python) fn objects(
    py: Python<'_>,
    root: &Variable,
    ids: &[u64],
) -> PyResult<Vec<Py<PyVariable>>> {
    let nodes = root.topological()?;
    let nodes = nodes.iter().filter_map(|n| Some((leaf_id(n)?, n)));
    let nodes: HashMap<u64, &Variable> = nodes.collect();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(node) = nodes.get(id)
            && let Some(object) = object(py, node)?
        {
            found.push(object.unbind());
        }
    }
    Ok(found)
}

/// The objects of the parameters below a node, each once.
pub(in crate::python) fn parameters(
    py: Python<'_>,
    root: &Variable,
) -> PyResult<Vec<Py<PyVariable>>> {
    // In a thread other than the parameter's own each use of it has a node of its own, so nodes are
    // told apart by their tables.
    let (mut ids, mut seen) = (Vec::new(), HashSet::new());
    for node in root.topological()? {
        if let Kind::Parameter(param) = node.kind()
            && seen.insert(param.table().id())
        {
            ids.push(param.table().id());
        }
    }
    objects(py, root, &ids)
}

/// The object of a leaf that records a gradient; `None` for any other node.
pub(in crate::python) fn object<'py>(
    py: Python<'py>,
    node: &Variable,
) -> PyResult<Option<Bound<'py, PyVariable>>> {
    let (Kind::Parameter(_) | Kind::Independent(..), Some(id)) = (node.kind(), leaf_id(node))
    else {
        return Ok(None);
    };
    if let Some(object) = find(py, id) {
        return Ok(Some(object));
    }
    let object = match node.kind() {
        Kind::Parameter(param) => {
            let base = PyVariable::new(Parameter::from_param(param.clone()).boxed());
            let new = PyClassInitializer::from(base).add_subclass(PyParameter);
            Bound::new(py, new)?.into_super()
        }
        _ => Bound::new(py, PyVariable::new(node.clone()))?,
    };
    register(&object)?;
    Ok(Some(object))
}
