//! The types that a graph would have if inputs had other lengths.
//!
//! Operators infer them from those of their operands. Only what follows a changed input is inferred
//! anew, in the order of the graph, and no further than types differ: to ask this for each of many
//! inputs costs no more than what depends on each.

use smallvec::SmallVec;

use crate::array::Type;
use crate::graph::order::node_places::NodePlaces;
use crate::graph::{Kind, Variable};
use crate::rules::result_type;

/// The nodes below a root with their types, in topological order.
pub(in crate::graph) struct ChangedLengths<'a> {
    nodes: &'a [Variable],
    types: Vec<Type>,
    /// The places of each node's operands, and of the operators that take it.
    operands: Vec<SmallVec<[usize; 3]>>,
    users: Vec<SmallVec<[usize; 3]>>,
    /// The places of the inputs.
    inputs: Vec<usize>,
    /// Types that differ from `types`, and the operators whose types are to be inferred for it: none between calls.
    changed: Vec<Option<Type>>,
    due: Vec<bool>,
}

impl<'a> ChangedLengths<'a> {
    /// The nodes below a root, which is the last of them; their values are up to date.
    pub(in crate::graph) fn new(nodes: &'a [Variable]) -> Self {
        let places = NodePlaces::new(nodes.iter().map(|node| node.0.core()));
        let mut operands = vec![SmallVec::new(); nodes.len()];
        let mut users = vec![SmallVec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            for operand in node.parents() {
                // What is below a node is below the root.
                let operand = places.find(operand.0.core()).unwrap_or_default();
                operands[at].push(operand);
                users[operand].push(at);
            }
        }
        let is_input = |&at: &usize| nodes[at].0.length_records().is_some();
        ChangedLengths {
            types: nodes.iter().map(|node| node.0.core().ty()).collect(),
            inputs: (0..nodes.len()).filter(is_input).collect(),
            operands,
            users,
            changed: vec![None; nodes.len()],
            due: vec![false; nodes.len()],
            nodes,
        }
    }

    /// The inputs that have so many elements along an axis.
    pub(in crate::graph) fn inputs_as_long(&self, axis: usize, length: usize) -> Vec<usize> {
        let is_as_long = |&&at: &&usize| self.types[at].shape.get(axis) == Some(&length);
        self.inputs.iter().filter(is_as_long).copied().collect()
    }

    /// The type of the root if some inputs had length `n` along an axis; None if an operator refuses that.
    pub(in crate::graph) fn root(
        &mut self,
        inputs: &[usize],
        axis: usize,
        n: usize,
    ) -> Option<Type> {
        let mut waiting = 0;
        let mut touched = Vec::new();
        for &at in inputs {
            let mut ty = self.types[at].clone();
            ty.shape[axis] = n;
            self.change(at, ty, &mut touched, &mut waiting);
        }
        let mut at = inputs.iter().copied().min().unwrap_or_default();
        let mut fits = true;
        while fits && waiting > 0 {
            if std::mem::take(&mut self.due[at]) {
                waiting -= 1;
                match self.inferred(at) {
                    Some(ty) if ty != self.types[at] => {
                        self.change(at, ty, &mut touched, &mut waiting);
                    }
                    found => fits = found.is_some(),
                }
            }
            at += 1;
        }
        let root = self.nodes.len() - 1;
        let found = fits.then(|| {
            self.changed[root]
                .as_ref()
                .unwrap_or(&self.types[root])
                .clone()
        });
        touched.iter().for_each(|&at| self.changed[at] = None);
        if waiting > 0 {
            self.due.fill(false);
        }
        found
    }

    /// Says that a node has another type, which operators that take it are to be inferred for.
    fn change(&mut self, at: usize, ty: Type, touched: &mut Vec<usize>, waiting: &mut usize) {
        self.changed[at] = Some(ty);
        touched.push(at);
        for &user in &self.users[at] {
            *waiting += usize::from(!std::mem::replace(&mut self.due[user], true));
        }
    }

    /// The type of an operator for operands as they are changed; None if it refuses them.
    fn inferred(&self, at: usize) -> Option<Type> {
        let Kind::Operation(op) = self.nodes[at].kind() else {
            return Some(self.types[at].clone());
        };
        let operand = |place: &usize| self.changed[*place].as_ref().unwrap_or(&self.types[*place]);
        let operands: SmallVec<[&Type; 3]> = self.operands[at].iter().map(operand).collect();
        result_type(&*op, &operands).ok()
    }
}
