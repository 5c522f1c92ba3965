//! Gradients as graphs.
//!
//! The rules run on nodes in place of numbers ([`Nodes`]), so what comes out is a graph again: it
//! can be evaluated, kept up to date, frozen, and differentiated as often as one likes.
//!
//! Limits: the whole gradient is built as nodes, which takes memory and time that
//! [`Variable::backward`] does not. An operator that has no gradient in an operand ends the
//! way there, as everywhere.

use std::rc::Rc;

use super::nodes::{Nodes, above};
use super::{backward, hook};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::graph::node::{Core, IntoDyn, Variable};
use crate::graph::order;
use crate::graph::value::Value;
use crate::rules::Id;
use crate::rules::differentiate::{self, PassObserver};
use crate::table::Gradient;

/// Calls the hooks of nodes when their gradients are complete.
struct CallHooks<'n>(&'n Nodes, hook::TransformRun);

impl PassObserver for CallHooks<'_> {
    fn complete(&mut self, value: Id, gradient: Id) -> Result<Id> {
        let node = self.0.get(value);
        let core: &Core = node.0.core();
        if !hook::any(core) {
            return Ok(gradient);
        }
        let passed = hook::passed_node(core, self.0.get(gradient), self.1)?;
        Ok(self.0.name(&passed))
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
            backward::check_seed(&self.ty()?, &seed.ty()?)?;
        }
        let nodes = Nodes::default();
        let values: Vec<Id> = above(&[self.erased()], wrt)?
            .iter()
            .map(|x| nodes.name(x))
            .collect();
        let Some(&root) = values.last() else {
            return Ok(vec![None; wrt.len()]);
        };
        let run = hook::run(wrt.iter().map(|x| x.0.core()));
        let wrt: Vec<Id> = wrt.iter().map(|x| nodes.name(x)).collect();
        let root = (root, seed.map(|seed| nodes.name(seed)));
        let found =
            differentiate::gradients(&nodes, &values, root, &wrt, &mut CallHooks(&nodes, run))?;
        Ok(found
            .into_iter()
            .map(|id| id.map(|id| nodes.get(id)))
            .collect())
    }

    /// The gradients of the sum of this value's elements times those of `seed` (ones, if there
    /// is none) by leaves, as numbers. Computing these is faster than
    /// [`gradients_from`](Self::gradients_from), since nothing is recorded.
    ///
    /// # Errors
    /// As [`gradients_from`](Self::gradients_from), and [`Error::Type`] if one of `leaves` is none.
    pub fn gradient_values(
        &self,
        seed: Option<Array>,
        leaves: &[&Variable],
    ) -> Result<Vec<Option<Gradient>>> {
        let leaves: Vec<_> = leaves.iter().map(|x| &x.0).collect();
        let found = backward::gradient_values(&self.erased(), seed, &leaves)?;
        let gradients = found.into_iter();
        let gradients = gradients.map(|g| g.map(Value::into_gradient).transpose());
        gradients.collect()
    }

    /// Whether a gradient of this value flows to anything but `wrt`: to another leaf, or to a
    /// node that is older than all of `wrt`, as one that a function got from outside.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is none for the walk.
    pub fn captures(&self, wrt: &[&Variable]) -> Result<bool> {
        let wrt: Vec<_> = wrt.iter().map(|x| &x.0).collect();
        order::captures(&[self.erased()], &wrt)
    }
}

impl Variable {
    /// Whether [`captures`](Self::captures) holds for one of several values, in one walk.
    ///
    /// # Errors
    /// As [`captures`](Self::captures).
    pub fn any_captures(values: &[Variable], wrt: &[&Variable]) -> Result<bool> {
        let wrt: Vec<_> = wrt.iter().map(|x| &x.0).collect();
        let values: Vec<_> = values.iter().map(|y| Rc::clone(&y.0)).collect();
        order::captures(&values, &wrt)
    }
}
