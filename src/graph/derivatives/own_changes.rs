//! Changes of leaves that this thread makes while gradients are computed.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::graph::node::Node;
use crate::graph::order::{Order, topological};
use crate::table::{changes, own_changes};

/// Whether a hook, rule or operator sets a leaf while gradients are computed: some would be of the old value
/// and some of the new. What other threads change is not looked at, for those who share parameters
/// race knowingly.
pub(in crate::graph) struct OwnChanges {
    own: u64,
    all: u64,
}

impl OwnChanges {
    pub(in crate::graph) fn begin() -> Self {
        OwnChanges {
            own: own_changes(),
            all: changes(),
        }
    }

    /// Whether this thread has recorded none since.
    pub(in crate::graph) fn is_unchanged(&self) -> bool {
        own_changes() == self.own
    }

    /// Fails if this thread has recorded changes since, and a leaf below `root` has changed since.
    ///
    /// # Errors
    /// [`Error::State`].
    pub(in crate::graph) fn check(self, root: Option<&Rc<dyn Node>>) -> Result<()> {
        if self.is_unchanged() {
            return Ok(());
        }
        let mut below = Order::new();
        if let Some(root) = root {
            topological(root, |_| true, &mut below)?;
        }
        let is_new = |node: &Rc<dyn Node>| node.core().is_leaf() && node.version() > self.all;
        if !below.iter().any(is_new) {
            return Ok(());
        }
        Err(Error::State(
            "backward: a hook, rule or operator has set a value that the gradient depends on, so that parts \
             of it are of the old value and parts of the new; set it when backward has ended"
                .into(),
        ))
    }
}
