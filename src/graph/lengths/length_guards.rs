//! Whether the inputs of a graph have the lengths that it is made of.
//!
//! [`asked_lengths`] records the lengths of an input that were read as integers; a graph is made of
//! those whose records concern one of its nodes. Inputs that are not in the graph do not matter: what
//! was made of their lengths keeps the number that it was.

use super::asked_lengths;
use crate::error::Result;
use crate::exec::{Length, check_lengths};
use crate::graph::node::{Kind, Node, Variable};

/// The serial numbers by which records are found to concern a graph: those of its nodes that
/// operators made, in rising order, so that each record is looked for by bisection. None if there are
/// no records.
pub(in crate::graph) fn serials<'n>(nodes: impl Iterator<Item = &'n dyn Node>) -> Vec<u64> {
    if !asked_lengths::any() {
        return Vec::new();
    }
    let operations = nodes.filter(|node| !node.core().is_leaf());
    let mut serials: Vec<u64> = operations.map(|node| node.core().serial()).collect();
    serials.sort_unstable();
    serials
}

/// The lengths of an input that a graph with operators of these serial numbers is made of, if there are
/// any.
pub(in crate::graph) fn made_of(input: &Variable, serials: &[u64]) -> Option<Vec<Length>> {
    let lengths = input.0.length_records()?.lengths(serials);
    (!lengths.is_empty()).then_some(lengths)
}

/// Checks that the inputs among the nodes of a graph have the lengths that it is made of.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) naming the input.
pub(in crate::graph) fn check<'n>(nodes: impl Iterator<Item = &'n dyn Node> + Clone) -> Result<()> {
    let serials = serials(nodes.clone());
    if serials.is_empty() {
        return Ok(());
    }
    for node in nodes {
        let (Some(records), Kind::Input(_, name)) = (node.length_records(), node.kind()) else {
            continue;
        };
        let lengths = records.lengths(&serials);
        if !lengths.is_empty() {
            let label = name.map_or_else(|| "input".to_owned(), |name| format!("input '{name}'"));
            check_lengths(&label, &lengths, &node.core().ty().shape)?;
        }
    }
    Ok(())
}
