//! What the arguments of a loss of one sample stand for.

use crate::ir::Datum;

/// What a parameter of a loss is.
#[derive(Debug, Clone)]
pub enum LossArgument {
    /// Part of a sample, of this number.
    Feed(usize),
    /// The same for all samples.
    Constant(Datum),
    /// The trained parameter of this number.
    Parameter(usize),
}
