//! Lengths: as integers, which say that they were asked for, and as numbers that follow.

use super::{count, numbers, whole};
use crate::array::{Shape, Type};
use crate::error::Result;
use crate::exec::Length;
use crate::graph::Variable;
use crate::graph::lengths::changed_lengths::ChangedLengths;
use crate::graph::node::latest_serial;

/// The lengths along some axes.
fn lengths_along(ty: &Type, axes: &[usize]) -> Shape {
    let along = axes.iter().map(|&axis| ty.shape.get(axis).copied());
    along.map(|n| n.unwrap_or(0)).collect()
}

/// The number of elements along axes, as an integer that follows the inputs below.
///
/// # Errors
/// See the [module documentation](super).
pub fn length(x: &Variable, axes: &[i64]) -> Result<Variable> {
    whole(&count(&numbers(x)?, axes)?)
}

/// Says that lengths of `x` along these axes were asked for and are now integers, which follow no
/// input: what is built from now on refuses inputs for which the lengths would differ. `by` says
/// in messages who asked.
///
/// Which inputs those are is found by inferring the types for other lengths. Where an operator
/// refuses that, as one of two inputs of equal lengths does, all inputs of that length get another, and
/// where an operator refuses that too, the length counts.
///
/// # Errors
/// See the [module documentation](super).
pub fn ask_lengths(x: &Variable, axes: &[usize], by: &str) -> Result<()> {
    if !x.input_below() {
        return Ok(());
    }
    let now = lengths_along(&x.ty()?, axes);
    let serial = latest_serial();
    let order = x.topological()?;
    let mut graph = None;
    let mut together: Vec<((usize, usize, usize), Option<bool>)> = Vec::new();
    for (at, input) in order.iter().enumerate() {
        let Some(records) = input.0.length_records() else {
            continue;
        };
        for (axis, &length) in input.0.core().ty().shape.iter().enumerate() {
            let asked = Length {
                axis,
                length: Some(length),
                by: by.into(),
            };
            if records.has(&asked) {
                continue;
            }
            let counts = if input.address() == x.address() {
                axes.contains(&axis)
            } else {
                let graph = graph.get_or_insert_with(|| ChangedLengths::new(&order));
                let changes = |graph: &mut ChangedLengths<'_>, inputs: &[usize], n| {
                    let ty = graph.root(inputs, axis, n)?;
                    Some(lengths_along(&ty, axes) != now)
                };
                let others = [0, 1, length + 1, 2 * length + 2];
                others.into_iter().filter(|&n| n != length).any(|n| {
                    let found = changes(graph, &[at], n).or_else(|| {
                        let key = (axis, length, n);
                        if let Some((_, known)) = together.iter().find(|(of, _)| *of == key) {
                            return *known;
                        }
                        let found = changes(graph, &graph.inputs_as_long(axis, length), n);
                        together.push((key, found));
                        found
                    });
                    // No length may be too short where one is enough for an operator, as `x[0]`.
                    found.unwrap_or(n > length)
                })
            };
            if counts {
                records.add(asked, serial);
            }
        }
    }
    Ok(())
}
