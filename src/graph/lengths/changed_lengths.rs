//! Whether lengths of a graph's root follow those of an input: the types that it would have if the input had
//! other lengths.
//!
//! Operators infer types from those of their operands. Only what follows a changed input is inferred
//! anew, in the order of the graph, and no further than types differ: to ask this for each of many
//! inputs costs no more than what depends on each.

use smallvec::SmallVec;

use crate::array::{Shape, Type};
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
    /// The axes of the root that are asked about.
    axes: &'a [usize],
    /// What was found for all inputs of a length along an axis, by axis, length and other length.
    together: Vec<((usize, usize, usize), Option<bool>)>,
}

/// The lengths along some axes.
fn lengths_along(ty: &Type, axes: &[usize]) -> Shape {
    let along = axes.iter().map(|&axis| ty.shape.get(axis).copied());
    along.map(|n| n.unwrap_or(0)).collect()
}

impl<'a> ChangedLengths<'a> {
    /// The nodes below a root, which is the last of them; their values are up to date.
    pub(in crate::graph) fn new(nodes: &'a [Variable], axes: &'a [usize]) -> Self {
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
            axes,
            together: Vec::new(),
        }
    }

    /// Whether the lengths of the root change with that of an input along an axis. Where an operator refuses
    /// another length, all inputs of that length get it.
    pub(in crate::graph) fn follow(&mut self, input: usize, axis: usize) -> bool {
        let length = self.types[input].shape[axis];
        let others = [0, 1, length + 1, 2 * length + 2];
        others.into_iter().filter(|&n| n != length).any(|n| {
            let found = self.change_with(&[input], axis, n);
            let found = found.or_else(|| self.change_together(axis, length, n));
            // No length may be too short where one is enough for an operator, as `x[0]`.
            found.unwrap_or(n > length)
        })
    }

    /// As [`change_with`](Self::change_with), with all inputs of a length along an axis.
    fn change_together(&mut self, axis: usize, length: usize, n: usize) -> Option<bool> {
        let key = (axis, length, n);
        if let Some((_, known)) = self.together.iter().find(|(of, _)| *of == key) {
            return *known;
        }
        let is_as_long = |&&at: &&usize| self.types[at].shape.get(axis) == Some(&length);
        let inputs: Vec<usize> = self.inputs.iter().filter(is_as_long).copied().collect();
        let found = self.change_with(&inputs, axis, n);
        self.together.push((key, found));
        found
    }

    /// Whether the lengths of the root change if inputs have length `n` along an axis; None if an operator
    /// refuses that.
    fn change_with(&mut self, inputs: &[usize], axis: usize, n: usize) -> Option<bool> {
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
        let now = lengths_along(&self.types[root], self.axes);
        let other = self.changed[root].as_ref();
        let differ = other.is_some_and(|ty| lengths_along(ty, self.axes) != now);
        touched.iter().for_each(|&at| self.changed[at] = None);
        if waiting > 0 {
            self.due.fill(false);
        }
        fits.then_some(differ)
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
