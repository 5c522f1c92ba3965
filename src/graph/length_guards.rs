//! Whether inputs have the lengths that a graph is made of.
//!
//! [`asked_lengths`] records the lengths that were read as integers; a graph is made of those whose
//! records concern one of its nodes, whether their input is in the graph or not.

use super::asked_lengths;
use super::node::Node;
#[cfg(feature = "python")]
use super::node::{Kind, Variable};
use crate::error::Result;
#[cfg(feature = "python")]
use crate::exec::Length;
use crate::exec::check_lengths;

/// How messages call an input.
fn label(name: Option<&str>) -> String {
    name.map_or_else(|| "input".to_owned(), |name| format!("input '{name}'"))
}

/// The serial numbers by which records are found to concern a graph: those of its nodes that
/// operators made. None if there are no records.
pub(super) fn serials<'n>(nodes: impl Iterator<Item = &'n dyn Node>) -> Vec<u64> {
    if !asked_lengths::any() {
        return Vec::new();
    }
    let operations = nodes.filter(|node| !node.core().is_leaf());
    operations.map(|node| node.core().serial()).collect()
}

/// Checks that all inputs have the lengths that a graph whose operators have these serial numbers is
/// made of.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) naming the input.
pub(super) fn check(serials: &[u64]) -> Result<()> {
    if serials.is_empty() {
        return Ok(());
    }
    for input in asked_lengths::inputs() {
        let lengths = input.lengths(serials);
        if !lengths.is_empty() {
            check_lengths(&label(input.name.as_deref()), &lengths, &input.shape())?;
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
        let serials = serials(nodes.iter().map(|node| &*node.0));
        let is_below = |id| {
            let is_it = |node: &Self| matches!(node.kind(), Kind::Input(other, _) if other == id);
            nodes.iter().any(is_it)
        };
        let mut found = Vec::new();
        for input in asked_lengths::inputs() {
            let lengths = input.lengths(&serials);
            if !lengths.is_empty() && !is_below(input.id) {
                found.push((input.id, label(input.name.as_deref()), lengths));
            }
        }
        Ok(found)
    }
}
