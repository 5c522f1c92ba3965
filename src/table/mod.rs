//! Parameters' memory, shared by threads, and gradients that touch a few rows of it.

pub(crate) mod moves;
mod parameter;
mod rows;
mod storage;

pub use parameter::Param;
pub(crate) use rows::add_into;
pub use rows::{Gradient, Rows};
pub use storage::{Exclusive, Table};
pub(crate) use storage::{changes, new_id, record_change};
