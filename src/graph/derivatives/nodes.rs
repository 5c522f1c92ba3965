//! The algebra of nodes: rules run on nodes in place of numbers, and what comes out is a graph
//! again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::graph::leaf::Constant;
use crate::graph::node::{Kind, Node, Variable};
use crate::graph::order;
use crate::reserve;
use crate::rules::differentiate::{Applied, Recording};
use crate::rules::{Algebra, Id, OpRef};

/// The nodes from `wrt` up to `roots`, parents first. Nothing older than `wrt` depends on it, so
/// what was there before is not walked over: gradients within gradients cost what they add.
///
/// # Errors
/// [`Error::Memory`] if there is none for a list of them, or next to none for what follows: their
/// names, and what a pass over them knows of each.
pub(super) fn above(roots: &[Rc<dyn Node>], wrt: &[&Variable]) -> Result<Vec<Variable>> {
    let first = wrt.iter().map(|x| x.0.core().serial()).min();
    let first = first.unwrap_or(u64::MAX);
    let mut order = order::Order::new();
    order::topological_of(roots, |n| n.core().serial() >= first, &mut order)?;
    reserve::ahead(order.len(), reserve::bytes::NODE_ABOVE)?;
    Ok(order.into_iter().map(Variable).collect())
}

/// Nodes by name, for the length of a pass.
#[derive(Default)]
pub(super) struct Nodes {
    nodes: RefCell<Vec<Variable>>,
    /// Names by address: the nodes live as long as this.
    names: RefCell<HashMap<usize, Id>>,
    error: RefCell<Option<Error>>,
}

impl Nodes {
    /// The name of a node.
    pub(super) fn name(&self, node: &Variable) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        let next = nodes.len() as Id;
        let name = *self
            .names
            .borrow_mut()
            .entry(node.address())
            .or_insert(next);
        if name == next {
            nodes.push(node.clone());
        }
        name
    }

    /// Makes room for the name of another node.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn room(&self) -> Result<()> {
        reserve::grow(&mut *self.nodes.borrow_mut(), 1)?;
        reserve::grow(&mut *self.names.borrow_mut(), 1)
    }

    /// A node by its name.
    pub(in crate::graph) fn get(&self, id: Id) -> Variable {
        self.nodes.borrow()[id as usize].clone()
    }
}

impl Algebra for Nodes {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        let nodes: Vec<Variable> = args.iter().map(|&id| self.get(id)).collect();
        match self.room().and_then(|()| Variable::apply(op, &nodes)) {
            Ok(node) => self.name(&node),
            Err(e) => {
                self.error.borrow_mut().get_or_insert(e);
                // Something to go on with; the error is reported after the rule.
                args[0]
            }
        }
    }

    fn ty(&self, id: Id) -> Type {
        self.nodes.borrow()[id as usize].0.core().ty()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.name(&Constant::new(Array::scalar(dtype, value)).boxed())
    }

    fn take_error(&self) -> Option<Error> {
        self.error.borrow_mut().take()
    }
}

impl Recording for Nodes {
    fn definition(&self, id: Id) -> Option<Applied> {
        let node = self.get(id);
        let Kind::Operation(op) = node.kind() else {
            return None;
        };
        let parents = node.parents();
        Some((op, parents.iter().map(|p| self.name(p)).collect()))
    }

    fn next(&self) -> Id {
        self.nodes.borrow().len() as Id
    }

    fn is_scattered(&self, id: Id) -> bool {
        // No operator runs here: nodes hold theirs.
        match self.nodes.borrow()[id as usize].kind() {
            Kind::Operation(op) => op.scatter().is_some(),
            _ => false,
        }
    }
}
