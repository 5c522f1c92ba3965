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

use smallvec::SmallVec;

use super::leaf::Constant;
use super::node::{IntoDyn, Kind, Node};
use super::value::Value;
use super::variable::Variable;
use super::{hook, walk};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{Add, Algebra, Ex, Id, OpRef};
use crate::table::Gradient;

/// The nodes from `wrt` up to `root`, parents first. Nothing older than `wrt` depends on it, so
/// what was there before is not walked over: gradients within gradients cost what they add.
pub(super) fn above<N: ?Sized + IntoDyn>(root: &Variable<N>, wrt: &[&Variable]) -> Vec<Variable> {
    let first = wrt.iter().map(|x| x.0.core().serial()).min();
    let first = first.unwrap_or(u64::MAX);
    let mut order = walk::Order::new();
    let fresh = |n: &dyn Node| n.core().serial() >= first;
    walk::topological(&root.erased(), fresh, &mut order);
    order.into_iter().map(Variable).collect()
}

/// Nodes by name, for the length of one rule.
pub(super) struct Nodes {
    nodes: RefCell<Vec<Variable>>,
    error: RefCell<Option<Error>>,
}

impl Nodes {
    /// What a rule makes of some nodes.
    ///
    /// # Errors
    /// What went wrong on the way, if anything did.
    pub(super) fn with(
        nodes: &[&Variable],
        rule: impl for<'t> FnOnce(&[Ex<'t>]) -> Option<Ex<'t>>,
    ) -> Result<Option<Variable>> {
        let algebra = Nodes {
            nodes: RefCell::new(nodes.iter().map(|&x| x.clone()).collect()),
            error: RefCell::new(None),
        };
        let named: SmallVec<[Ex<'_>; 4]> = (0..nodes.len())
            .map(|id| Ex::new(&algebra, id as Id))
            .collect();
        let result = rule(&named);
        if let Some(error) = algebra.error.borrow_mut().take() {
            return Err(error);
        }
        let id = result.map(|value| value.id_in(&algebra)).transpose()?;
        Ok(id.map(|id| algebra.get(id)))
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
        self.gradients_from(None, wrt)
    }

    /// As [`gradients`](Self::gradients), of the sum of this value's elements times those of
    /// `seed`.
    ///
    /// # Errors
    /// Also [`Error::Shape`] or [`Error::Type`] if `seed` is not of the value's type.
    pub fn gradients_from(
        &self,
        seed: Option<&Variable>,
        wrt: &[&Variable],
    ) -> Result<Vec<Option<Variable>>> {
        self.forward()?;
        if !self.dtype().is_real() {
            return Err(Error::Type(format!(
                "gradients: expected a value of floating-point numbers, got {}",
                self.dtype()
            )));
        }
        if let Some(seed) = seed {
            walk::check_seed(&self.ty()?, &seed.ty()?)?;
        }
        let order = above(self, wrt);
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
            *slot = match seed {
                Some(seed) => Some(seed.clone()),
                None => Nodes::with(&[root], |x| Some(x[0].ones_like()))?,
            };
        }
        for node in order.iter().rev() {
            let Some(slot @ Some(_)) = grads.get_mut(&node.address()) else {
                continue;
            };
            if hook::any(node.0.core())
                && let Some(g) = slot.take()
            {
                *slot = Some(hook::passed_node(node.0.core(), g)?);
            }
            let (Kind::Operation(op), Some(gradient)) = (node.kind(), slot.clone()) else {
                continue;
            };
            let parents = node.parents();
            let mut known = vec![&gradient, node];
            known.extend(&parents);
            for (k, parent) in parents.iter().enumerate() {
                let Some(slot) = grads.get_mut(&parent.address()) else {
                    continue;
                };
                let rule = Nodes::with(&known, |x| op.vjp(k, x[0], x[1], &x[2..]))?;
                let Some(gradient) = rule else { continue };
                *slot = Some(match slot.take() {
                    None => gradient,
                    Some(sum) => Variable::apply(OpRef::Static(&Add), &[sum, gradient])?,
                });
            }
        }
        let of = |x: &&Variable| grads.get(&x.address()).cloned().flatten();
        Ok(wrt.iter().map(of).collect())
    }

    /// The gradients of the sum of this value's elements times those of `seed` (ones, if there
    /// is none) by leaves, as numbers. They are had faster than those of
    /// [`gradients_from`](Self::gradients_from), and nothing is recorded.
    ///
    /// # Errors
    /// As [`gradients_from`](Self::gradients_from).
    pub fn gradient_values(
        &self,
        seed: Option<Array>,
        leaves: &[&Variable],
    ) -> Result<Vec<Option<Gradient>>> {
        let leaves: Vec<_> = leaves.iter().map(|x| &x.0).collect();
        let found = walk::gradient_values(&self.erased(), seed, &leaves)?;
        let gradients = found.into_iter();
        let gradients = gradients.map(|g| g.map(Value::into_gradient).transpose());
        gradients.collect()
    }

    /// Whether a gradient of this value flows to anything but `wrt`: to another leaf, or to a
    /// node that is older than all of `wrt`, as one that a function got from outside.
    pub fn captures(&self, wrt: &[&Variable]) -> bool {
        let wrt: Vec<_> = wrt.iter().map(|x| &x.0).collect();
        walk::captures(&self.erased(), &wrt)
    }
}
