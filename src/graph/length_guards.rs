//! Whether inputs have the lengths that a graph is made of.
//!
//! [`asked_lengths`] says what an input was asked for, and when; a graph is made of the answers
//! that are older than one of its nodes, whether the input is in the graph or not.

use super::asked_lengths;
#[cfg(feature = "python")]
use super::node::Variable;
use super::node::{Kind, Node};
use crate::error::Result;
use crate::exec::{Length, check_lengths};

/// How messages call an input.
fn label(name: Option<&str>) -> String {
    name.map_or_else(|| "input".to_owned(), |name| format!("input '{name}'"))
}

/// The serial numbers of the nodes of a graph that operators made.
fn serials<'n>(nodes: impl Iterator<Item = &'n dyn Node>) -> Vec<u64> {
    let operations = nodes.filter(|node| !node.core().is_leaf());
    operations.map(|node| node.core().serial()).collect()
}

/// The inputs among the nodes of a graph with the lengths that it is made of.
pub(super) fn asked_of<'n>(
    nodes: impl Iterator<Item = &'n dyn Node> + Clone,
) -> Vec<(&'n dyn Node, Vec<Length>)> {
    if !asked_lengths::any() {
        return Vec::new();
    }
    asked_within(nodes.clone(), &serials(nodes))
}

/// As [`asked_of`], of a graph whose operators have these serial numbers.
fn asked_within<'n>(
    nodes: impl Iterator<Item = &'n dyn Node>,
    serials: &[u64],
) -> Vec<(&'n dyn Node, Vec<Length>)> {
    let inputs = nodes.filter_map(|node| Some((node, node.asked()?)));
    let lengths = inputs.map(|(node, asked)| (node, asked.within(serials)));
    lengths.filter(|(_, lengths)| !lengths.is_empty()).collect()
}

/// Whether an input with a number is among the nodes of a graph.
fn has_input<'n>(mut nodes: impl Iterator<Item = &'n dyn Node>, id: u64) -> bool {
    nodes.any(|node| matches!(node.kind(), Kind::Input(other, _) if other == id))
}

/// Checks that the inputs that were asked for lengths, those among the nodes of a graph and others,
/// have the lengths that it is made of.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) naming the input.
pub(super) fn check<'n>(nodes: impl Iterator<Item = &'n dyn Node> + Clone) -> Result<()> {
    if !asked_lengths::any() {
        return Ok(());
    }
    let serials = serials(nodes.clone());
    for (input, lengths) in asked_within(nodes.clone(), &serials) {
        let Kind::Input(_, name) = input.kind() else {
            continue;
        };
        check_lengths(&label(name), &lengths, &input.core().ty().shape)?;
    }
    for input in asked_lengths::inputs(|_| false) {
        if let Some((lengths, shape)) = input.outdated(&serials)
            && !has_input(nodes.clone(), input.id)
        {
            check_lengths(&label(input.name.as_deref()), &lengths, &shape)?;
        }
    }
    Ok(())
}

/// An input by its number and what messages call it, with lengths.
#[cfg(feature = "python")]
pub(crate) type AskedElsewhere = (u64, String, Vec<Length>);

#[cfg(feature = "python")]
impl Variable {
    /// The inputs that are not below, whose lengths were asked for while this was built. It may be
    /// made of them.
    ///
    /// # Errors
    /// As [`topological`](Self::topological).
    pub(crate) fn asked_elsewhere(&self) -> Result<Vec<AskedElsewhere>> {
        if !asked_lengths::any() {
            return Ok(Vec::new());
        }
        let nodes = self.topological()?;
        let nodes = nodes.iter().map(|node| &*node.0);
        let serials = serials(nodes.clone());
        let mut found = Vec::new();
        for input in asked_lengths::inputs(|id| has_input(nodes.clone(), id)) {
            let lengths = input.within(&serials);
            if !lengths.is_empty() {
                found.push((input.id, label(input.name.as_deref()), lengths));
            }
        }
        Ok(found)
    }
}
