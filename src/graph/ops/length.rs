//! Lengths: as integers, which say that they were asked for, and as numbers that follow.

use super::{count, numbers, whole};
use crate::error::Result;
use crate::exec::Length;
use crate::graph::Variable;
use crate::graph::lengths::changed_lengths::ChangedLengths;
use crate::graph::node::latest_serial;

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
    x.forward()?;
    let serial = latest_serial();
    let order = x.topological()?;
    let mut graph = None;
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
            let counts = match input.address() == x.address() {
                true => axes.contains(&axis),
                false => graph
                    .get_or_insert_with(|| ChangedLengths::new(&order, axes))
                    .follow(at, axis),
            };
            if counts {
                records.add(asked, serial);
            }
        }
    }
    Ok(())
}
