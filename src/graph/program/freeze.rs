//! Freezing: from a graph to a program.
//!
//! Every node becomes one value of a straight [`ir`](crate::ir) function, parents first, and every
//! leaf a parameter of it; nodes of one trained parameter are one. [`Program::new`] derives its
//! gradient, and both are simplified when a plan is made.
//!
//! Limits: the operators are those that ran when the graph was built. A branch or loop of the
//! caller's on values is not in the graph, and so not in the program.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::exec::{Leaf, Program};
use crate::graph::derivatives::hook;
use crate::graph::lengths::length_guards;
use crate::graph::node::{IntoDyn, Kind, Variable};
use crate::graph::order::NODE;
use crate::interrupt::Poller;
use crate::ir::{Builder, Terminator, ValueId};
use crate::reserve;
use crate::rules::{Bag, Gather, OpRef};

/// Whether an operator only looks up in operand `k`: in rows at an index, or in the bags that one
/// chooses.
fn looks_up(op: &OpRef, k: usize) -> bool {
    let bag = op.downcast::<Bag>().is_some_and(|bag| bag.chosen);
    (bag && (k == 2 || k == 3)) || (op.downcast::<Gather>().is_some() && k == 0)
}

/// Writes the nodes of a graph, parents first, as instructions: the value of each by the node's
/// address. `leaf` gives those of leaves.
///
/// # Errors
/// [`Error::Type`] for a node with a hook, [`Error::Memory`], what `leaf` and an operator report, and
/// what ends long work.
pub(super) fn write(
    order: &[Variable],
    builder: &Builder,
    mut leaf: impl FnMut(&Variable) -> Result<ValueId>,
) -> Result<HashMap<usize, ValueId>> {
    reserve::ahead(order.len(), reserve::bytes::NODE_FROZEN)?;
    let mut ids: HashMap<usize, ValueId> = HashMap::with_capacity(order.len());
    let mut args: Vec<ValueId> = Vec::new();
    let mut poller = Poller::default();
    for node in order {
        poller.step(NODE)?;
        if hook::any(node.0.core()) {
            return Err(Error::Type(
                "freeze: a variable of this graph has a hook, which a program cannot call; \
                 remove the hook first"
                    .into(),
            ));
        }
        let id = match node.kind() {
            Kind::Operation(op) => {
                args.clear();
                args.extend(node.parents().iter().map(|p| ids[&p.address()]));
                builder.try_apply(op, &args)?
            }
            _ => leaf(node)?,
        };
        ids.insert(node.address(), id);
    }
    Ok(ids)
}

impl<N: ?Sized + IntoDyn> Variable<N> {
    /// Lowers the graph below this variable to a [`Program`], which any thread can run.
    /// Inputs without a name are called by their number, in the order of their first use.
    ///
    /// Parameters stay shared with the graph; inputs become the program's inputs; other
    /// values are fixed as they are now.
    ///
    /// ```
    /// use wyrmling::{Input, Parameter};
    ///
    /// let (w, x) = (Parameter::new(vec![2.0]), Input::new(vec![0.0]));
    /// let program = (w * x).square().sum().freeze()?;
    /// // One array an input, in the order of `program.inputs()`; the first axis may be longer.
    /// let x = vec![1.0, 2.0, 3.0].into();
    /// let (value, gradients) = program.value_and_grad(&[x])?;
    /// assert_eq!(value.item()?, 56.0);
    /// // One gradient for each of `program.differentiable()`; `None` if it cannot matter.
    /// let gradient = gradients[0].as_ref().map(|g| g.to_dense().to_f64());
    /// assert_eq!(gradient, Some(vec![56.0]));
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Type`] if a node has a [hook](Self::register_hook), and as [`forward`](Self::forward).
    pub fn freeze(&self) -> Result<Program> {
        self.forward()?;
        let order = self.topological()?;
        let builder = Builder::new();
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut tables: HashMap<u64, ValueId> = HashMap::new();
        let (mut made_of, mut inputs) = (Vec::new(), 0);
        let serials = length_guards::serials(order.iter().map(|node| &*node.0));
        let ids = write(&order, &builder, |node| {
            Ok(match node.kind() {
                Kind::Parameter(param) => {
                    let table = param.table();
                    *tables.entry(table.id()).or_insert_with(|| {
                        leaves.push(Leaf::Parameter(Arc::clone(table)));
                        builder.parameter(table.ty().clone())
                    })
                }
                Kind::Independent(id, _) => {
                    let value = node.value()?;
                    let ty = value.ty();
                    leaves.push(Leaf::Independent(id, value));
                    builder.parameter(ty)
                }
                Kind::Input(id, name) => {
                    let ty = node.ty()?;
                    let name = name.map_or_else(|| format!("#{inputs}"), str::to_owned);
                    inputs += 1;
                    let lengths = length_guards::made_of(node, &serials);
                    made_of.extend(lengths.map(|lengths| (leaves.len(), lengths)));
                    leaves.push(Leaf::Input {
                        id,
                        ty: ty.clone(),
                        name,
                    });
                    builder.parameter(ty)
                }
                Kind::Constant | Kind::Operation(_) => builder.fixed(node.value()?),
            })
        })?;
        let result = ids[&self.address()];
        builder.terminate(Terminator::Return(vec![result]));
        Ok(Program::new(builder.finish("loss")?, leaves)?.made_of(made_of))
    }

    /// The inputs below that hold indices and are only looked up in, as numbers that tell inputs apart,
    /// with their values: tables of features, say, which are the same for every batch.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn looked_up(&self) -> Result<Vec<(u64, Array)>> {
        // For each node that has elements of such an input alone, the input.
        let mut of: HashMap<usize, u64> = HashMap::new();
        let mut only: HashSet<u64> = HashSet::new();
        let nodes = self.topological()?;
        for node in &nodes {
            let parents = node.parents();
            match node.kind() {
                Kind::Input(id, _) if !node.dtype().is_real() => {
                    of.insert(node.address(), id);
                    only.insert(id);
                }
                Kind::Operation(op) => {
                    let alone = parents.len() == 1 && !node.dtype().is_real();
                    for (k, parent) in parents.iter().enumerate() {
                        let Some(&id) = of.get(&parent.address()) else {
                            continue;
                        };
                        if alone {
                            of.insert(node.address(), id);
                        } else if !looks_up(&op, k) {
                            only.remove(&id);
                        }
                    }
                }
                _ => {}
            }
        }
        // What is the result itself is not only looked up in.
        if let Some(id) = of.get(&self.address()) {
            only.remove(id);
        }
        let mut tables = Vec::with_capacity(only.len());
        for node in nodes {
            if let Kind::Input(id, _) = node.kind()
                && only.contains(&id)
            {
                tables.push((id, node.value()?));
            }
        }
        Ok(tables)
    }
}
