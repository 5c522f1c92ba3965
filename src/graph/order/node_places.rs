//! The places of nodes in a list, found by bisection: lists of leaves that are asked for may be long.

use crate::graph::node::Core;

/// Addresses of nodes, sorted, with their places. The nodes live as long as this is used.
pub(in crate::graph) struct NodePlaces(Vec<(usize, usize)>);

impl NodePlaces {
    pub(in crate::graph) fn new<'a>(nodes: impl Iterator<Item = &'a Core>) -> Self {
        let mut places: Vec<(usize, usize)> = nodes.map(Core::address).zip(0..).collect();
        places.sort_unstable();
        NodePlaces(places)
    }

    /// The place of a node, if it is in the list.
    pub(in crate::graph) fn find(&self, node: &Core) -> Option<usize> {
        let found = self
            .0
            .binary_search_by_key(&node.address(), |place| place.0);
        Some(self.0[found.ok()?].1)
    }
}
