//! The arguments of a loss of one sample, by what they stand for: parts of the sample, constants and parameters.

use crate::error::{Error, Result};
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

/// Refuses arguments that are parameters of which there is no table.
///
/// # Errors
/// [`Error::Value`].
pub(in crate::exec) fn check_parameters(arguments: &[LossArgument], tables: usize) -> Result<()> {
    for (at, argument) in arguments.iter().enumerate() {
        if let LossArgument::Parameter(number) = argument
            && *number >= tables
        {
            return Err(Error::Value(format!(
                "argument {at} is the parameter {number}, expected less than {tables}, the number of tables"
            )));
        }
    }
    Ok(())
}
