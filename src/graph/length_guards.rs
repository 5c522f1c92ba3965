//! Whether the inputs of a graph have the lengths that it is made of.
//!
//! [`asked_lengths`] says what an input was asked for, and when; a graph is made of the answers
//! that are older than one of its nodes.

use super::asked_lengths;
use super::node::{Kind, Node};
use crate::error::Result;
use crate::exec::{Length, check_lengths};

/// The inputs among the nodes of a graph with the lengths that it is made of.
pub(super) fn asked_of<'n>(
    nodes: impl Iterator<Item = &'n dyn Node> + Clone,
) -> Vec<(&'n dyn Node, Vec<Length>)> {
    if !asked_lengths::any() {
        return Vec::new();
    }
    let operations = nodes.clone().filter(|node| !node.core().is_leaf());
    let serials: Vec<u64> = operations.map(|node| node.core().serial()).collect();
    let inputs = nodes.filter_map(|node| Some((node, node.asked()?)));
    let lengths = inputs.map(|(node, asked)| (node, asked.within(&serials)));
    lengths.filter(|(_, lengths)| !lengths.is_empty()).collect()
}

/// Checks that the inputs among the nodes of a graph have the lengths that it is made of.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) naming the input.
pub(super) fn check<'n>(nodes: impl Iterator<Item = &'n dyn Node> + Clone) -> Result<()> {
    for (input, lengths) in asked_of(nodes) {
        let label = match input.kind() {
            Kind::Input(_, Some(name)) => format!("input '{name}'"),
            _ => "input".to_owned(),
        };
        check_lengths(&label, &lengths, &input.core().ty().shape)?;
    }
    Ok(())
}
