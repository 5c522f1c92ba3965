//! Parameters' memory, shared by threads, and gradients that touch a few rows of it.

pub(crate) mod moves;
mod parameter;
mod rows;
#[allow(clippy::module_inception)]
mod table;

pub use parameter::Param;
pub(crate) use rows::add_into;
pub use rows::{Gradient, Rows};
pub use table::{Exclusive, Table};
pub(crate) use table::{advance_epoch, epoch, new_id};
