//! Functions that were built, as Python sees them: printed, differentiated, interpreted, compiled.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;

use super::datum;
use crate::error::{Error, Result};
use crate::ir::{
    Block, Function, Lengths, Terminator, ValueId, ValueKind, are_exact, jvp, simplify, vjp,
};
use crate::python::interop::items::items;
use crate::python::operations::primitive;
use crate::python::variables::collect::{Links, Root};
use crate::python::variables::holders::What;
use crate::reserve;
use crate::rules::OpRef;

/// A function in the form that is compiled and differentiated; an ``IrBuilder`` makes one, and its
/// derivatives are others. It never changes, and works in every thread. ``str(function)`` shows it.
#[pyclass(name = "IrFunction", module = "wyrmling._core", frozen, weakref)]
pub(in crate::python) struct PyIrFunction {
    pub(in crate::python) inner: Arc<Function>,
    /// Whether it was simplified.
    is_simple: bool,
    file: Arc<str>,
    /// What the collector sees of its operators.
    links: Links,
}

/// An operator as something that the collector sees, if it is one of the caller's own.
pub(super) fn primitive_of(op: &OpRef) -> Option<What> {
    primitive::is_primitive(op).then(|| What::Operator(op.clone()))
}

impl Root for PyIrFunction {
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>)) {
        let mut held = Vec::new();
        // What a run holds too, is not this object's alone.
        if Arc::strong_count(&self.inner) == 1 {
            held.extend(self.inner.operators().filter_map(primitive_of));
        }
        f(&self.links, held);
    }
}

/// The kinds of a function's results; none if it never returns.
pub(super) fn results(function: &Function) -> Vec<&ValueKind> {
    let returned = function.blocks.iter().find_map(|b| match &b.terminator {
        Terminator::Return(values) => Some(values),
        _ => None,
    });
    let values = returned.into_iter().flatten();
    values.map(|&id| function.kind(id)).collect()
}

impl PyIrFunction {
    pub(super) fn new(function: Function, file: &str) -> Self {
        PyIrFunction {
            inner: Arc::new(function),
            is_simple: false,
            file: file.into(),
            links: Links::default(),
        }
    }

    /// The function simplified.
    ///
    /// # Errors
    /// As [`simplify`].
    pub(super) fn simple(&self) -> Result<Arc<Function>> {
        match self.is_simple {
            true => Ok(Arc::clone(&self.inner)),
            false => Ok(Arc::new(simplify(&self.inner, Lengths::Seen)?)),
        }
    }

    /// Places of parameters.
    ///
    /// # Errors
    /// ValueError if there is no such parameter.
    fn wrt(&self, places: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let count = self.inner.parameters().len();
        items("wrt", places, Some(count), |place| {
            let place: usize = place.extract()?;
            match place < count {
                true => Ok(place),
                false => Err(PyValueError::new_err(format!(
                    "wrt: expected a number below {count}, got {place}"
                ))),
            }
        })
    }

    /// A derivative by the parameters at some places: of the simplified function, simplified.
    fn derived(
        &self,
        py: Python<'_>,
        places: &Bound<'_, PyAny>,
        of: impl Fn(&Function, &[ValueId]) -> Result<Derived> + Sync,
    ) -> PyResult<(PyIrFunction, Vec<Option<usize>>)> {
        let places = self.wrt(places)?;
        let (function, numbers) = py.detach(|| {
            let simple = self.simple()?;
            let wrt: Vec<ValueId> = places.iter().map(|&at| simple.parameters()[at]).collect();
            let (derived, numbers) = of(&simple, &wrt)?;
            Ok::<_, Error>((simplify(&derived, Lengths::Seen)?, numbers))
        })?;
        Ok((PyIrFunction::new(function, &self.file), numbers))
    }
}

/// A function with derivatives, and their numbers among the results.
type Derived = (Function, Vec<Option<usize>>);

/// The short names of kinds.
fn names<'k>(kinds: impl Iterator<Item = &'k ValueKind>) -> Vec<&'static str> {
    kinds.map(datum::name).collect()
}

#[pymethods]
impl PyIrFunction {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The file that it was read from; empty if it is not known.
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    /// What each parameter is: a name that ``IrBuilder.parameter`` takes.
    #[getter]
    fn parameters(&self) -> Vec<&'static str> {
        let parameters = self.inner.parameters();
        names(parameters.iter().map(|&id| self.inner.kind(id)))
    }

    /// What each result is.
    #[getter]
    fn results(&self) -> Vec<&'static str> {
        names(results(&self.inner).into_iter())
    }

    /// Whether it runs from one end to the other, without jumps.
    #[getter]
    fn is_straight(&self) -> bool {
        self.inner.blocks.len() == 1
    }

    /// Whether it ever returns.
    #[getter]
    fn returns(&self) -> bool {
        let blocks = &self.inner.blocks;
        let returns = |b: &Block| matches!(b.terminator, Terminator::Return(_));
        blocks.iter().any(returns)
    }

    /// The names of the operators that it applies to numbers and arrays.
    #[getter]
    fn operators(&self) -> HashSet<&str> {
        self.inner.operators().map(|op| op.name()).collect()
    }

    /// The exits: what is left to the caller at each, and its line.
    #[getter]
    fn exits(&self) -> Vec<(String, u32)> {
        let exits = self.inner.notes.exits.iter();
        exits.map(|exit| (exit.text.clone(), exit.line)).collect()
    }

    /// A smaller function with the same results, for all lengths of arrays; itself if it is one. With
    /// ``exact`` it is for arguments of the parameters' lengths alone, if all others follow from those.
    #[pyo3(signature = (exact=false))]
    fn simplify<'py>(slf: &Bound<'py, Self>, exact: bool) -> PyResult<Bound<'py, Self>> {
        let function = slf.get();
        let inner = slf
            .py()
            .detach(|| match exact && are_exact(&function.inner) {
                true => simplify(&function.inner, Lengths::Exact).map(Arc::new),
                false => function.simple(),
            })?;
        if Arc::ptr_eq(&inner, &function.inner) {
            return Ok(slf.clone());
        }
        let simple = PyIrFunction {
            inner,
            is_simple: true,
            file: Arc::clone(&function.file),
            links: Links::default(),
        };
        Bound::new(slf.py(), simple)
    }

    /// The function with its product with cotangents: it takes the parameters, then a cotangent for
    /// each result that is floating-point, and returns the results, then gradients. ``wrt`` are the
    /// places of parameters; for each the place of its gradient among the results, or None if no
    /// result depends on it.
    fn vjp(
        &self,
        py: Python<'_>,
        wrt: &Bound<'_, PyAny>,
    ) -> PyResult<(PyIrFunction, Vec<Option<usize>>)> {
        self.derived(py, wrt, |function, wrt| {
            let pullback = vjp(function, wrt)?;
            Ok((pullback.function, pullback.gradients))
        })
    }

    /// The function with tangents: it takes the parameters, then a tangent for each of those that
    /// ``wrt`` names by place, and returns the results, then their tangents; for each result the place
    /// of its tangent, or None if it does not move.
    fn jvp(
        &self,
        py: Python<'_>,
        wrt: &Bound<'_, PyAny>,
    ) -> PyResult<(PyIrFunction, Vec<Option<usize>>)> {
        self.derived(py, wrt, |function, wrt| {
            let pushforward = jvp(function, wrt)?;
            Ok((pushforward.function, pushforward.tangents))
        })
    }

    fn __str__(&self) -> PyResult<String> {
        reserve::ahead(self.inner.kinds.len(), reserve::bytes::PRINTED)?;
        Ok(self.inner.to_string())
    }

    fn __repr__(&self) -> String {
        format!(
            "<IrFunction '{}' of ({}) with {} blocks>",
            self.inner.name,
            self.parameters().join(", "),
            self.inner.blocks.len()
        )
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.links.traverse(&visit)
    }

    fn __clear__(&self) {
        self.links.clear();
    }
}
