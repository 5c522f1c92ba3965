//! Forward mode: how results move when leaves do.
//!
//! Tangents are pushed up a graph that is there already, from the nodes that move to those
//! asked for, by the rules' Jacobian-vector products. They are nodes, as the gradients of
//! [`gradients`](Variable::gradients) are, so that either can be taken of the other, in any
//! order and to any depth.
//!
//! Where an operator has no such product written, it is the transpose of its vector-Jacobian
//! product: that is linear in `g`, so its own gradient by `g`, seeded with the tangent, is what
//! is wanted (as in Townsend, "A new trick for calculating Jacobian vector products", 2017).
//!
//! Limits: the graph is built before it is walked, so forward mode saves no memory; a direction
//! costs a walk.

use std::collections::HashMap;

use super::gradient::{Nodes, above};
use super::node::Kind;
use super::variable::Variable;
use super::walk;
use crate::error::Result;
use crate::rules::{Add, Identity, OpRef, Operator};

impl Variable {
    /// The tangents of `results` where each of `wrt` moves in the direction of its tangent:
    /// `None` for a result that does not move.
    ///
    /// ```
    /// use wyrmling::{Parameter, Variable};
    ///
    /// let x = Parameter::new(vec![3.0, 4.0]).boxed();
    /// let y = x.clone().square().sum().boxed();
    /// let direction = Parameter::new(vec![1.0, 0.0]).boxed();
    /// let moved = Variable::tangents(&[&y], &[&x], &[&direction])?;
    /// assert_eq!(moved[0].as_ref().unwrap().item()?, 6.0);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Type`](crate::Error::Type) if a tangent
    /// is not of the type of what it moves, as [`forward`](Self::forward), and whatever a rule
    /// reports.
    pub fn tangents(
        results: &[&Variable],
        wrt: &[&Variable],
        tangents: &[&Variable],
    ) -> Result<Vec<Option<Variable>>> {
        let mut moving: HashMap<usize, Option<Variable>> = HashMap::new();
        for (x, t) in wrt.iter().zip(tangents) {
            walk::check_seed(&x.ty()?, &t.ty()?)?;
            moving.insert(x.address(), Some((*t).clone()));
        }
        for result in results {
            result.forward()?;
            for node in above(result, wrt) {
                if !moving.contains_key(&node.address()) {
                    let tangent = tangent(&node, &moving)?;
                    moving.insert(node.address(), tangent);
                }
            }
        }
        let of = |x: &&Variable| moving.get(&x.address()).cloned().flatten();
        Ok(results.iter().map(of).collect())
    }
}

/// The tangent of a node whose parents' tangents are known.
fn tangent(node: &Variable, moving: &HashMap<usize, Option<Variable>>) -> Result<Option<Variable>> {
    let Kind::Operation(op) = node.kind() else {
        return Ok(None);
    };
    let parents = node.parents();
    let mut sum: Option<Variable> = None;
    for (i, parent) in parents.iter().enumerate() {
        let Some(Some(t)) = moving.get(&parent.address()) else {
            continue;
        };
        let Some(part) = product(&*op, i, t, node, &parents)? else {
            continue;
        };
        sum = Some(match sum {
            None => part,
            Some(sum) => Variable::apply(OpRef::Static(&Add), &[sum, part])?,
        });
    }
    Ok(sum)
}

/// The Jacobian-vector product of an operator in operand `i`.
fn product(
    op: &dyn Operator,
    i: usize,
    t: &Variable,
    y: &Variable,
    parents: &[Variable],
) -> Result<Option<Variable>> {
    let mut known = vec![t, y];
    known.extend(parents);
    let written = Nodes::with(&known, |x| op.jvp(i, x[0], x[1], &x[2..]))?;
    if written.is_some() {
        return Ok(written);
    }
    if !y.dtype().is_real() {
        return Ok(None);
    }
    // The vector-Jacobian product at some `g` of the shape that the result has, always; its
    // value does not matter.
    let g = Variable::apply(OpRef::Static(&Identity), std::slice::from_ref(y))?;
    known[0] = &g;
    match Nodes::with(&known, |x| op.vjp(i, x[0], x[1], &x[2..]))? {
        Some(v) => Ok(v.gradients_from(Some(t), &[&g])?.remove(0)),
        None => Ok(None),
    }
}
