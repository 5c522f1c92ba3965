//! Graphs that are recorded by NumPy's functions on inputs, spliced into a function.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::builder::{PyIrBuilder, ids};
use crate::error::Error;
use crate::graph::{Variable, splice};
use crate::ir::{Comparison, ScalarOperator, ValueId, ValueKind};
use crate::python::interop::convert::type_name;
use crate::python::interop::items::items;
use crate::python::variables::variable::PyVariable;

#[pymethods]
impl PyIrBuilder {
    /// Appends what was recorded between ``inputs``, each an ``Input`` that stands for the value of
    /// ``args`` at its place, and ``outputs``, variables: the values of these. Where an integer was
    /// taken of an input's length, the function is left for other lengths; of the inputs whose numbers are
    /// in ``computed``, which may be of any length in a run, ValueError is raised then.
    ///
    /// Raises TypeError for a graph with a hook, or with a parameter or other leaf that is none of the
    /// inputs, and what ``freeze`` raises.
    #[pyo3(signature = (outputs, inputs, args, computed=Vec::new()))]
    fn splice(
        &self,
        outputs: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        computed: Vec<usize>,
    ) -> PyResult<Vec<ValueId>> {
        let outputs = variables("outputs", outputs)?;
        let inputs = variables("inputs", inputs)?;
        let args = ids("args", args)?;
        if inputs.len() != args.len() {
            return Err(PyValueError::new_err(format!(
                "args: expected one value for each of {} inputs, got {}",
                inputs.len(),
                args.len()
            )));
        }
        self.with(|b| {
            b.open()?;
            let mut places = Vec::with_capacity(args.len());
            for (at, (input, arg)) in inputs.into_iter().zip(args).enumerate() {
                let (kind, found) = (b.kind(arg)?, ValueKind::from(input.ty()?));
                if !kind.accepts(&found) {
                    return Err(PyTypeError::new_err(format!(
                        "args: value %{arg} is {kind}, and input {at} is {found}"
                    )));
                }
                places.push((input, arg));
            }
            let spliced = splice(&b.builder, &places, &outputs)?;
            for (at, length) in spliced.lengths {
                let text = format!("an array of another length than {} asked for", length.by);
                if computed.contains(&at) {
                    return Err(PyValueError::new_err(text));
                }
                let exit = b.builder.exit(&text, b.line);
                let axis = u8::try_from(length.axis).map_err(|_| Error::Shape(text))?;
                let found = ScalarOperator::Length(axis);
                let found = b.builder.compute(found, &[places[at].1], Some(exit))?;
                // No length is -1: what is made of several lengths holds for none.
                let length = length.length.map_or(-1, |n| n as i64);
                let expected = b.builder.literal(length.into());
                let same = ScalarOperator::CompareInt(Comparison::Equal);
                let holds = b.builder.compute(same, &[found, expected], None)?;
                b.builder.guard(holds, exit)?;
            }
            Ok(spliced.values)
        })
    }
}

/// The nodes of variables, for use in this thread.
fn variables(what: &str, objects: &Bound<'_, PyAny>) -> PyResult<Vec<Variable>> {
    items(what, objects, None, |object| {
        let variable = object.cast::<PyVariable>().map_err(|_| {
            PyTypeError::new_err(format!(
                "{what}: expected variables, got {}",
                type_name(&object)
            ))
        })?;
        Ok(variable.get().node()?.into_owned())
    })
}
