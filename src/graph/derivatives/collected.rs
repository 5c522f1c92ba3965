//! The gradient that a leaf holds between backward passes.

use std::cell::RefCell;

use crate::error::Result;
use crate::table::Gradient;

/// The gradient that a leaf has collected. [`grad`](crate::graph::Variable::grad) reads it, and nobody outside writes
/// it: it is of the leaf's type, which what is added to it is not compared with.
///
/// ```compile_fail
/// use wyrmling::graph::{Independent, Kind};
///
/// let x = Independent::new(vec![1.0, 2.0])?;
/// if let Kind::Independent(_, collected) = x.kind() {
///     *collected.0.borrow_mut() = None;
/// }
/// # Ok::<(), wyrmling::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct CollectedGradient(RefCell<Option<Gradient>>);

impl CollectedGradient {
    /// A copy of it.
    pub(in crate::graph) fn get(&self) -> Option<Gradient> {
        self.0.borrow().clone()
    }

    /// Puts a gradient of the leaf's type, or none, in its place.
    pub(in crate::graph) fn set(&self, gradient: Option<Gradient>) {
        self.0.replace(gradient);
    }

    /// Adds a gradient of the leaf's type.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) as [`Gradient::add`]; nothing is changed then.
    pub(in crate::graph) fn add(&self, gradient: Gradient) -> Result<()> {
        let mut slot = self.0.borrow_mut();
        match &mut *slot {
            None => *slot = Some(gradient),
            Some(old) => old.add(gradient)?,
        }
        Ok(())
    }
}
