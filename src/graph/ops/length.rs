//! Lengths: as integers, which say that they were asked for, and as numbers that follow.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::{count, numbers, whole};
use crate::array::{Shape, Type};
use crate::error::Result;
use crate::exec::Length;
use crate::graph::node::latest_serial;
use crate::graph::{Kind, Variable};
use crate::rules::result_type;

/// Types of nodes by address.
type Types = HashMap<usize, Type>;

/// The types that nodes have where those that are `changed` have length `n` along an axis; `None` if an
/// operator refuses that.
fn inferred(
    order: &[Variable],
    changed: impl Fn(&Variable) -> bool,
    axis: usize,
    n: usize,
) -> Option<Types> {
    let mut types = Types::with_capacity(order.len());
    for node in order {
        let found = match node.kind() {
            _ if changed(node) => {
                let mut ty = node.0.core().ty();
                ty.shape[axis] = n;
                ty
            }
            Kind::Operation(op) => {
                let parents = node.parents();
                let operands: SmallVec<[&Type; 3]> =
                    parents.iter().map(|p| &types[&p.address()]).collect();
                result_type(&*op, &operands).ok()?
            }
            _ => node.0.core().ty(),
        };
        types.insert(node.address(), found);
    }
    Some(types)
}

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
    for input in &order {
        let Some(records) = input.0.length_records() else {
            continue;
        };
        let ty = input.0.core().ty();
        for (axis, &length) in ty.shape.iter().enumerate() {
            let alone = input.address() == x.address();
            let counts = match alone {
                true => axes.contains(&axis),
                false => follows(x, &order, (input, axis, length), (axes, &now)),
            };
            if counts {
                let length = Length {
                    axis,
                    length: Some(length),
                    by: by.into(),
                };
                records.add(length, serial);
            }
        }
    }
    Ok(())
}

/// Whether lengths of `x` can change with the length of an input along an axis.
fn follows(
    x: &Variable,
    order: &[Variable],
    (input, axis, length): (&Variable, usize, usize),
    (axes, now): (&[usize], &Shape),
) -> bool {
    let is_same = |node: &Variable| node.address() == input.address();
    let is_as_long = |node: &Variable| {
        let is_input = node.0.length_records().is_some();
        is_input && node.0.core().ty().shape.get(axis) == Some(&length)
    };
    let others = [0, 1, length + 1, 2 * length + 2];
    others.into_iter().filter(|&n| n != length).any(|other| {
        let types = inferred(order, is_same, axis, other)
            .or_else(|| inferred(order, is_as_long, axis, other));
        match types {
            Some(types) => lengths_along(&types[&x.address()], axes) != *now,
            // No length may be too short where one is enough for an operator, as `x[0]`.
            None => other > length,
        }
    })
}
