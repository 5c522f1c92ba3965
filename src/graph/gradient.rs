//! Gradients as graphs.
//!
//! The rules run on nodes in place of numbers (the third algebra, beside the eager one and
//! that of the ir), so what comes out is a graph again: it can be evaluated, kept up to date,
//! frozen, and differentiated as often as one likes.
//!
//! Limits: the whole gradient is built as nodes, which takes memory and time that
//! [`Variable::backward`] does not. An operator that has no gradient in an operand ends the
//! way there, as everywhere.

use std::cell::RefCell;
use std::collections::HashMap;

use super::leaf::Constant;
use super::node::{IntoDyn, Kind};
use super::variable::Variable;
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{Add, Algebra, Ex, Id, OpRef};

/// Nodes by name, for the length of one rule.
struct Nodes {
    nodes: RefCell<Vec<Variable>>,
    error: RefCell<Option<Error>>,
}

impl Nodes {
    fn new(nodes: Vec<Variable>) -> Self {
        Nodes {
            nodes: RefCell::new(nodes),
            error: RefCell::new(None),
        }
    }

    /// What a rule gave.
    ///
    /// # Errors
    /// What went wrong on the way, if anything did.
    fn take(&self, result: Option<Ex<'_>>) -> Result<Option<Variable>> {
        match self.error.borrow_mut().take() {
            Some(error) => Err(error),
            None => Ok(result.map(|x| self.get(x.id()))),
        }
    }

    fn push(&self, node: Variable) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(node);
        (nodes.len() - 1) as Id
    }

    fn get(&self, id: Id) -> Variable {
        self.nodes.borrow()[id as usize].clone()
    }
}

impl Algebra for Nodes {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        let args: Vec<Variable> = args.iter().map(|&id| self.get(id)).collect();
        match Variable::apply(op, &args) {
            Ok(node) => self.push(node),
            Err(e) => {
                self.error.borrow_mut().get_or_insert(e);
                // Something to go on with; the error is reported after the rule.
                self.push(args[0].clone())
            }
        }
    }

    fn ty(&self, id: Id) -> Type {
        self.get(id).0.core().ty()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.push(Constant::new(Array::scalar(dtype, value)).boxed())
    }
}

impl<N: ?Sized + IntoDyn> Variable<N> {
    /// The gradients of the sum of this value's elements with respect to other nodes, as
    /// graphs: `None` for a node that cannot matter. They follow the leaves as every graph
    /// does, and have gradients themselves.
    ///
    /// ```
    /// use wyrmling::{Parameter, Variable};
    ///
    /// let x = Parameter::new(2.0).boxed();
    /// let y = (x.clone() * x.clone() * x.clone()).boxed();
    /// let slope = |y: &Variable| y.gradients(&[&x]).map(|mut g| g.remove(0));
    /// let first = slope(&y)?.unwrap();
    /// let second = slope(&first)?.unwrap();
    /// let third = slope(&second)?.unwrap();
    /// let values = [first, second, third].map(|d| d.item().unwrap());
    /// assert_eq!(values, [12.0, 12.0, 6.0]);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Type`] if this value holds indices, as [`forward`](Self::forward), and whatever
    /// a rule reports.
    pub fn gradients(&self, wrt: &[&Variable]) -> Result<Vec<Option<Variable>>> {
        self.forward()?;
        if !self.dtype().is_real() {
            return Err(Error::Type(format!(
                "gradients: expected a value of floating-point numbers, got {}",
                self.dtype()
            )));
        }
        let order = self.topological();
        let mut grads: HashMap<usize, Option<Variable>> =
            wrt.iter().map(|x| (x.address(), None)).collect();
        // What lies between: nodes that depend on one of `wrt`, each with a place for its
        // gradient.
        for node in &order {
            if node
                .parents()
                .iter()
                .any(|p| grads.contains_key(&p.address()))
            {
                grads.entry(node.address()).or_insert(None);
            }
        }
        if let Some(slot) = grads.get_mut(&self.address())
            && let Some(root) = order.last()
        {
            let nodes = Nodes::new(vec![root.clone()]);
            let ones = Ex::new(&nodes, 0).ones_like();
            *slot = nodes.take(Some(ones))?;
        }
        for node in order.iter().rev() {
            let Kind::Operation(op) = node.kind() else {
                continue;
            };
            let Some(Some(gradient)) = grads.get(&node.address()).cloned() else {
                continue;
            };
            let parents = node.parents();
            let mut nodes = vec![gradient, node.clone()];
            nodes.extend(parents.iter().cloned());
            let nodes = Nodes::new(nodes);
            let name = |id: usize| Ex::new(&nodes, id as Id);
            let (g, y) = (name(0), name(1));
            let x: Vec<Ex<'_>> = (0..parents.len()).map(|k| name(2 + k)).collect();
            for (k, parent) in parents.iter().enumerate() {
                let Some(slot) = grads.get_mut(&parent.address()) else {
                    continue;
                };
                let Some(gradient) = nodes.take(op.vjp(k, g, y, &x))? else {
                    continue;
                };
                *slot = Some(match slot.take() {
                    None => gradient,
                    Some(sum) => Variable::apply(OpRef::Static(&Add), &[sum, gradient])?,
                });
            }
        }
        let of = |x: &&Variable| grads.get(&x.address()).cloned().flatten();
        Ok(wrt.iter().map(of).collect())
    }
}
