//! The types that a graph would have if inputs had other lengths.
//!
//! Operators infer them from those of their operands. Only what follows a changed input is inferred
//! anew, in the order of the graph, and no further than types differ: to ask this for each of many
//! inputs costs no more than what depends on each.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::array::Type;
use crate::graph::{Kind, Variable};
use crate::rules::result_type;

/// The nodes below a root with their types, in topological order.
pub(in crate::graph) struct ChangedLengths<'a> {
    nodes: &'a [Variable],
    types: Vec<Type>,
    /// The places of each node's operands, and of the operators that take it.
    operands: Vec<SmallVec<[usize; 3]>>,
    users: Vec<SmallVec<[usize; 2]>>,
    /// The places of the inputs.
    inputs: Vec<usize>,
}

impl<'a> ChangedLengths<'a> {
    /// The nodes below a root, which is the last of them; their values are up to date.
    pub(in crate::graph) fn new(nodes: &'a [Variable]) -> Self {
        let places: FxHashMap<usize, usize> =
            nodes.iter().map(Variable::address).zip(0..).collect();
        let operands: Vec<SmallVec<[usize; 3]>> = nodes
            .iter()
            .map(|node| {
                node.parents()
                    .iter()
                    .map(|p| places[&p.address()])
                    .collect()
            })
            .collect();
        let mut users: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); nodes.len()];
        for (at, taken) in operands.iter().enumerate() {
            taken.iter().for_each(|&operand| users[operand].push(at));
        }
        let is_input = |&at: &usize| nodes[at].0.length_records().is_some();
        ChangedLengths {
            types: nodes.iter().map(|node| node.0.core().ty()).collect(),
            inputs: (0..nodes.len()).filter(is_input).collect(),
            operands,
            users,
            nodes,
        }
    }

    /// The inputs that have so many elements along an axis.
    pub(in crate::graph) fn inputs_as_long(&self, axis: usize, length: usize) -> Vec<usize> {
        let is_as_long = |&&at: &&usize| self.types[at].shape.get(axis) == Some(&length);
        self.inputs.iter().filter(is_as_long).copied().collect()
    }

    /// The type of the root if some inputs had length `n` along an axis; None if an operator refuses that.
    pub(in crate::graph) fn root(&self, changed: &[usize], axis: usize, n: usize) -> Option<Type> {
        let mut types: FxHashMap<usize, Type> = FxHashMap::default();
        let mut due: BTreeSet<usize> = BTreeSet::new();
        for &at in changed {
            let mut ty = self.types[at].clone();
            ty.shape[axis] = n;
            types.insert(at, ty);
            due.extend(&self.users[at]);
        }
        while let Some(at) = due.pop_first() {
            let Kind::Operation(op) = self.nodes[at].kind() else {
                continue;
            };
            let ty = {
                let operand = |place: &usize| types.get(place).unwrap_or(&self.types[*place]);
                let operands: SmallVec<[&Type; 3]> =
                    self.operands[at].iter().map(operand).collect();
                result_type(&*op, &operands).ok()?
            };
            if ty != self.types[at] {
                types.insert(at, ty);
                due.extend(&self.users[at]);
            }
        }
        let root = self.nodes.len() - 1;
        Some(
            types
                .remove(&root)
                .unwrap_or_else(|| self.types[root].clone()),
        )
    }
}
