//! What stands for [`native`](super::native) where there is no machine code: none is ever made.

use std::convert::Infallible;
use std::sync::Arc;

use super::Outcome;
use crate::error::Result;
use crate::ir::{Datum, Function, KnownLengths};

#[path = "native/unsupported.rs"]
mod unsupported;

pub(super) use self::NoCode as Native;
pub(super) use self::unsupported::Unsupported;

/// A function as machine code: there is no such.
#[derive(Debug)]
pub(super) struct NoCode(Infallible);

impl NoCode {
    /// Calls `f` with the operators of its steps.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self, _: &mut dyn FnMut(&crate::rules::OpRef)) {
        match self.0 {}
    }

    /// Machine code for a function.
    ///
    /// # Errors
    /// [`Unsupported`], always.
    pub(super) fn compile(
        _: &Arc<Function>,
        _: Option<&[KnownLengths]>,
    ) -> std::result::Result<Self, Unsupported> {
        Err(Unsupported(
            "it is not compiled for this processor or system, or without the feature jit",
        ))
    }

    /// Runs the function.
    pub(super) fn run(&self, _: &[Datum]) -> Option<Result<Outcome>> {
        match self.0 {}
    }
}
