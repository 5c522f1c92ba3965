//! Files: interactions come in as text, models go out and come back.
//!
//! - [`interactions`] reads (user, item) lines and numbers the ids they mention.
//! - [`model`] keeps a factorisation in the safetensors format.
//! - [`Ids`] are the caller's own names for users and items, by number.
//!
//! Whatever a file contains, reading it ends in a value or in an
//! [`Error`] that names the file and the place: never in a
//! panic, and never in an allocation out of proportion to the file.

mod columns;
mod ids;
pub mod interactions;
mod lines;
pub mod model;
mod pipe;
mod replace;
mod tensors;
mod text;

pub use columns::{Column, Taken};
pub use ids::Ids;
pub use lines::Delimiter;

use std::path::Path;

use crate::error::Error;

/// The error of an operation on a file that the system refused.
fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::File(format!("{}: {error}", path.display()))
}
