//! A graph to be drawn: its nodes in order, with their values in short.
//!
//! At most a given number of nodes is shown, those nearest to the root, since a graph may have
//! thousands. Nothing is copied but a few numbers a node, however large the arrays and tables.

use std::collections::{HashMap, VecDeque};

use super::node::{Core, IntoDyn, Kind, Variable};
use super::value::{Pattern, Value};
use crate::array::{Array, Summary, Type};
use crate::error::Result;
use crate::table::Gradient;

/// Part of a graph, parents first. The root is last.
#[derive(Debug, Clone)]
pub struct Outline {
    /// The nodes shown.
    pub nodes: Vec<Outlined>,
    /// Number of nodes of the whole graph.
    pub total: usize,
}

/// One node of an [`Outline`].
#[derive(Debug, Clone)]
pub struct Outlined {
    /// The node.
    pub node: Variable,
    /// Element type and shape of its value.
    pub ty: Type,
    /// The places of its parents among the nodes shown, in operand order; `None` for one that
    /// is left out.
    pub parents: Vec<Option<usize>>,
    /// Its value; `None` for a parameter that cannot be read, since one worker trains it.
    pub value: Option<Summary>,
    /// The gradient that a leaf collected, with the number of rows if it is some rows of zeros
    /// elsewhere: the range is then that of those rows, sums of equal ones.
    pub gradient: Option<(Summary, Option<usize>)>,
}

impl<N: ?Sized + IntoDyn> Variable<N> {
    /// This node and what it depends on: the `limit` nodes (at least one) that the fewest
    /// steps lead to. Values are brought up to date first.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`Error::Memory`](crate::Error::Memory) for the
    /// gradient of lookups.
    pub fn outline(&self, limit: usize) -> Result<Outline> {
        self.forward()?;
        let order = self.topological()?;
        let total = order.len();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut queue: VecDeque<Variable> = order.last().cloned().into_iter().collect();
        queue.iter().for_each(|root| {
            places.insert(root.address(), 0);
        });
        while let Some(node) = queue.pop_front() {
            for parent in node.parents() {
                if places.len() < limit && !places.contains_key(&parent.address()) {
                    places.insert(parent.address(), 0);
                    queue.push_back(parent);
                }
            }
        }
        let mut nodes = Vec::with_capacity(places.len());
        for node in order {
            let Some(place) = places.get_mut(&node.address()) else {
                continue;
            };
            *place = nodes.len();
            let parents = node.parents();
            let parents = parents.iter().map(|p| places.get(&p.address()).copied());
            nodes.push(Outlined {
                ty: node.0.core().ty(),
                parents: parents.collect(),
                value: value(node.0.core()),
                gradient: gradient(&node)?,
                node,
            });
        }
        Ok(Outline { nodes, total })
    }
}

fn value(core: &Core) -> Option<Summary> {
    match core.value() {
        Value::Dense(array) => Some(array.summary()),
        Value::Table(table) => table.summary(),
        // Zeros elsewhere, of which there may be more than there is memory for.
        Value::Rows(rows) => {
            let rows = rows.try_coalesce().and_then(|r| r.try_concat()).ok()?;
            Some(among_zeros(rows.1.summary(), core.ty().size()))
        }
        all @ Value::Repeated(Pattern::All, ..) => Some(all.dense().ok()?.summary()),
        Value::Repeated(Pattern::Diagonal, scale, ty) => {
            let diagonal = Array::scalar(ty.dtype, scale).summary();
            Some(among_zeros(diagonal, ty.size()))
        }
    }
}

/// The summary of an array of `count` elements that are zero but for some.
fn among_zeros(some: Summary, count: usize) -> Summary {
    if some.count >= count {
        return some;
    }
    Summary {
        count,
        first: Vec::new(),
        min: some.min.min(0.0),
        max: some.max.max(0.0),
        nans: some.nans,
    }
}

fn gradient(leaf: &Variable) -> Result<Option<(Summary, Option<usize>)>> {
    if matches!(leaf.kind(), Kind::Operation(_)) {
        return Ok(None);
    }
    Ok(match leaf.grad() {
        None => None,
        Some(Gradient::Dense(array)) => Some((array.summary(), None)),
        Some(Gradient::Rows(rows)) => {
            let rows = rows.try_coalesce()?;
            let (indices, values) = rows.try_concat()?;
            Some((values.summary(), Some(indices.len())))
        }
    })
}
