//! Splicing: the operators of a graph, appended to a function that is being built.
//!
//! Where a Python function is read (`python/wyrmling/source`), NumPy's functions are called on inputs that
//! stand for values of the ir. What they record is appended here, as freezing writes a whole graph. Constants
//! stay constants.
//!
//! Limits: as for freezing. What is below must be one of the inputs or a constant: a parameter, or a
//! variable that a gradient is recorded for, would be another argument of the function.

use std::collections::HashMap;
use std::rc::Rc;

use super::freeze::write;
use crate::error::{Error, Result};
use crate::exec::Length;
use crate::graph::lengths::length_guards;
use crate::graph::node::{Kind, Variable};
use crate::graph::order::{Order, topological_of};
use crate::ir::{Builder, ValueId};

/// The operators of a graph in a function.
pub(crate) struct Spliced {
    /// The values of the outputs.
    pub values: Vec<ValueId>,
    /// By number of the input, lengths that were asked for as integers: what was written holds for
    /// these alone.
    pub lengths: Vec<(usize, Length)>,
}

/// Appends the operators between `inputs`, each with the value that it stands for, and `outputs`.
///
/// # Errors
/// [`Error::Type`] if a variable below an output has a hook, or is a leaf that is neither among the
/// inputs nor a constant; [`Error::Value`] if an array among the inputs is no input of a graph, which
/// says what lengths were asked for; and as [`Variable::freeze`].
pub(crate) fn splice(
    builder: &Builder,
    inputs: &[(Variable, ValueId)],
    outputs: &[Variable],
) -> Result<Spliced> {
    let mut places = HashMap::with_capacity(inputs.len());
    for (at, (input, id)) in inputs.iter().enumerate() {
        if !matches!(input.kind(), Kind::Input(..)) {
            return Err(Error::Value(format!(
                "splice: input {at}: expected an Input, whose lengths can be asked for"
            )));
        }
        if places.insert(input.address(), *id).is_some() {
            return Err(Error::Value(format!("splice: input {at} was given before")));
        }
    }
    for output in outputs {
        output.forward()?;
    }
    let roots: Vec<_> = outputs.iter().map(|output| Rc::clone(&output.0)).collect();
    let mut order = Order::new();
    topological_of(&roots, |_| true, &mut order)?;
    let order: Vec<Variable> = order.into_iter().map(Variable).collect();
    let serials = length_guards::serials(order.iter().map(|node| &*node.0));
    let ids = write(&order, builder, |leaf| {
        match places.get(&leaf.address()) {
        Some(&id) => Ok(id),
        None => match leaf.kind() {
            // An argument of a function that is being differentiated looks like a constant, and is none.
            Kind::Constant if !leaf.differentiable() => Ok(builder.fixed(leaf.value()?)),
            _ => Err(Error::Type(
                "splice: a parameter, input or variable that records a gradient is below an output, \
                 and is none of the inputs"
                    .into(),
            )),
        },
    }
    })?;
    let mut lengths = Vec::new();
    for (at, (input, _)) in inputs.iter().enumerate() {
        let found = length_guards::made_of(input, &serials);
        lengths.extend(found.into_iter().flatten().map(|length| (at, length)));
    }
    Ok(Spliced {
        values: outputs
            .iter()
            .map(|output| ids[&output.address()])
            .collect(),
        lengths,
    })
}
