//! A trainable parameter: a table and the gradient collected for it.

use std::sync::Arc;

use super::{Gradient, Table};
use crate::array::Array;
use crate::error::Result;
use crate::process::{QuickGuard, QuickMutex};

/// A handle on a table with a gradient of its own; works from any thread.
///
/// Two handles on one table (one a training thread, say) share the numbers and keep
/// separate gradients.
#[derive(Debug)]
pub struct Param {
    table: Arc<Table>,
    gradient: QuickMutex<Option<Gradient>>,
}

impl AsRef<Param> for Param {
    fn as_ref(&self) -> &Param {
        self
    }
}

impl Param {
    /// A parameter with a table of its own.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn new(value: &Array, name: Option<String>) -> Result<Self> {
        Ok(Self::on(Arc::new(Table::new(value, name)?)))
    }

    /// A further handle on a table.
    pub fn on(table: Arc<Table>) -> Self {
        Param {
            table,
            gradient: QuickMutex::new(None),
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn slot(&self) -> QuickGuard<'_, Option<Gradient>> {
        // Whatever a panicking thread left in the slot is a whole gradient or none.
        self.gradient.lock()
    }

    /// The gradient collected since it was last cleared.
    pub fn gradient(&self) -> Option<Gradient> {
        self.slot().clone()
    }

    /// Adds to the gradient.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Type`](crate::Error::Type) if it is not of
    /// the table's type, [`Error::Memory`](crate::Error::Memory) if the old one is shared and cannot
    /// be copied. Nothing is changed then.
    pub(crate) fn accumulate(&self, gradient: Gradient) -> Result<()> {
        gradient.check(self.table.ty(), || self.table.label())?;
        let mut slot = self.slot();
        match &mut *slot {
            None => *slot = Some(gradient),
            Some(old) => old.add(gradient)?,
        }
        Ok(())
    }

    /// Puts a gradient, which must be of the table's type, in the place of the old one.
    #[cfg(feature = "python")]
    pub(crate) fn set_gradient(&self, gradient: Gradient) {
        *self.slot() = Some(gradient);
    }

    /// The gradient, which this has no longer.
    pub(crate) fn take_gradient(&self) -> Option<Gradient> {
        self.slot().take()
    }

    /// Adds a gradient that was [taken](Self::take_gradient) to what was collected since: nothing, unless another
    /// thread collects at the same time. Only then may memory lack, and what was collected since stays alone.
    pub(crate) fn put_back(&self, gradient: Gradient) {
        let _ = self.accumulate(gradient);
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        *self.slot() = None;
    }
}
