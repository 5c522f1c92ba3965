//! wyrmling: automatic differentiation and native-speed training of sparse models.
//!
//! The crate stands behind a Python package of the same name and is usable alone.
//! `docs/architecture.md` has the picture; each module says what it is and why.

pub mod array;
pub mod error;
pub mod exec;
pub mod graph;
pub mod io;
pub mod ir;
pub mod optim;
#[cfg(feature = "python")]
mod python;
pub mod rank;
pub mod rules;
pub mod simd;
pub mod table;
pub mod train;

pub use array::{Array, DType, Type};
pub use error::{Error, Result};
pub use exec::Program;
pub use graph::{Input, Parameter, Variable};
pub use table::{Gradient, Rows, Table};
