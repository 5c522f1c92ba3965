//! Forward mode: how results move when leaves do.
//!
//! Tangents are pushed up a graph that is there already, from the nodes that move to those
//! asked for ([`differentiate::tangents`]). They are nodes, as the gradients of
//! [`gradients`](Variable::gradients) are, so that either can be taken of the other, in any
//! order and to any depth.
//!
//! Limits: the graph is built before it is walked, so forward mode saves no memory; a direction
//! costs a walk.

use std::rc::Rc;

use super::backward::check_seed;
use super::hook;
use super::nodes::{Nodes, above};
use crate::error::{Error, Result};
use crate::graph::node::Variable;
use crate::rules::Id;
use crate::rules::differentiate;

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
    /// [`Error::Shape`] or [`Error::Type`] if a tangent is not of the type of what it moves,
    /// [`Error::Value`] if there are not as many tangents as nodes that move, [`Error::State`] if a node
    /// on the way has a hook that no gradient has passed, as [`forward`](Self::forward), and whatever a
    /// rule reports.
    pub fn tangents(
        results: &[&Variable],
        wrt: &[&Variable],
        tangents: &[&Variable],
    ) -> Result<Vec<Option<Variable>>> {
        if tangents.len() != wrt.len() {
            return Err(Error::Value(format!(
                "tangents: expected one for each of {} nodes that move, got {}",
                wrt.len(),
                tangents.len()
            )));
        }
        let nodes = Nodes::default();
        let mut values: Vec<Id> = Vec::new();
        results.iter().try_for_each(|result| result.forward())?;
        let roots: Vec<_> = results.iter().map(|result| Rc::clone(&result.0)).collect();
        for node in above(&roots, wrt)? {
            hook::check_forward(node.0.core())?;
            values.push(nodes.name(&node));
        }
        let mut moving = Vec::new();
        for (x, t) in wrt.iter().zip(tangents) {
            check_seed(&x.ty()?, &t.ty()?)?;
            moving.push((nodes.name(x), nodes.name(t)));
        }
        let results: Vec<Id> = results.iter().map(|y| nodes.name(y)).collect();
        let found = differentiate::tangents(&nodes, &values, &moving, &results, &mut ())?;
        Ok(found
            .into_iter()
            .map(|id| id.map(|id| nodes.get(id)))
            .collect())
    }
}
