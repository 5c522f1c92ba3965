//! A trainable parameter: a table and the gradient collected for it.

use std::sync::Arc;

use super::{Gradient, Table};
use crate::array::{Array, Shared};
use crate::error::Result;
use crate::process::{QuickGuard, QuickMutex};

/// Numbers of a forgotten gradient whose memory is kept, at most.
const KEPT: usize = 1 << 14;

/// What a parameter has collected.
#[derive(Debug, Default)]
struct GradientSlot {
    gradient: Option<Shared<Gradient>>,
    /// One that was forgotten. The next may be written in its memory: allocating is what passes over few numbers
    /// spend their time on.
    spare: Option<Shared<Gradient>>,
}

impl GradientSlot {
    /// Keeps a gradient's memory for the next, if it is small. What is returned is dropped by the caller, when nobody
    /// waits for the slot.
    fn keep(&mut self, gradient: Shared<Gradient>) -> Option<Shared<Gradient>> {
        match gradient.size() <= KEPT {
            true => self.spare.replace(gradient),
            false => Some(gradient),
        }
    }
}

/// A handle on a table with a gradient of its own; works from any thread.
///
/// Two handles on one table (one a training thread, say) share the numbers and keep
/// separate gradients.
#[derive(Debug)]
pub struct Param {
    table: Arc<Table>,
    collected: QuickMutex<GradientSlot>,
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
            collected: QuickMutex::new(GradientSlot::default()),
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn slot(&self) -> QuickGuard<'_, GradientSlot> {
        // Whatever a panicking thread left in the slot is a whole gradient or none.
        self.collected.lock()
    }

    /// The gradient collected since it was last cleared.
    pub fn gradient(&self) -> Option<Gradient> {
        self.shared_gradient().map(Shared::unwrap_or_clone)
    }

    /// The gradient, which this has still.
    pub(crate) fn shared_gradient(&self) -> Option<Shared<Gradient>> {
        self.slot().gradient.clone()
    }

    /// Adds to the gradient.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Type`](crate::Error::Type) if it is not of
    /// the table's type, [`Error::Memory`](crate::Error::Memory) if the old one is shared and cannot
    /// be copied. Nothing is changed then.
    pub(crate) fn accumulate(&self, gradient: impl Into<Shared<Gradient>>) -> Result<()> {
        self.add(gradient.into()).map(drop)
    }

    /// As [`accumulate`](Self::accumulate), and takes the memory of a gradient that was forgotten, if there is one.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    pub(crate) fn exchange(&self, gradient: Shared<Gradient>) -> Result<Option<Shared<Gradient>>> {
        Ok(self.add(gradient)?.spare.take())
    }

    fn add(&self, gradient: Shared<Gradient>) -> Result<QuickGuard<'_, GradientSlot>> {
        gradient.check(self.table.ty(), || self.table.label())?;
        let mut slot = self.slot();
        match &mut slot.gradient {
            Some(old) => old.make_mut().add(gradient.unwrap_or_clone())?,
            none => *none = Some(gradient),
        }
        Ok(slot)
    }

    /// Puts a gradient, which must be of the table's type, in the place of the old one.
    #[cfg(feature = "python")]
    pub(crate) fn set_gradient(&self, gradient: Gradient) {
        self.slot().gradient = Some(gradient.into());
    }

    /// The gradient, which this has no longer.
    pub(crate) fn take_gradient(&self) -> Option<Shared<Gradient>> {
        self.slot().gradient.take()
    }

    /// Adds a gradient that was [taken](Self::take_gradient) to what was collected since: nothing, unless another
    /// thread collects at the same time. Only then may memory lack, and what was collected since stays alone.
    pub(crate) fn put_back(&self, gradient: Shared<Gradient>) {
        let _ = self.accumulate(gradient);
    }

    /// Keeps the memory of a gradient that was [taken](Self::take_gradient), for the next.
    pub(crate) fn keep(&self, gradient: Shared<Gradient>) {
        let _dropped = self.slot().keep(gradient);
    }

    /// Forgets the gradient. The memory of one of up to 16,384 numbers is kept for the next.
    pub fn zero_grad(&self) {
        let mut slot = self.slot();
        let forgotten = slot.gradient.take();
        let dropped = forgotten.and_then(|gradient| slot.keep(gradient));
        drop(slot);
        drop(dropped);
    }
}
