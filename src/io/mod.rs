//! Files: interactions come in as text, models go out and come back.
//!
//! - [`interactions`] reads (user, item) lines and numbers the ids they mention.
//! - [`tensors`] keeps arrays and texts by name in the safetensors format: models and state of training.
//! - [`replace_file`] puts a file in the place of another, all at once.
//! - [`Ids`] are the caller's own names for users and items, by number.
//!
//! Whatever a file contains, reading it ends in a value or in an
//! [`Error`] that names the file and the place: never in a
//! panic, and never in an allocation out of proportion to the file.

mod columns;
mod ids;
pub mod interactions;
mod lines;
mod pipe;
mod replace;
pub mod tensors;
mod text;
mod unique_names;

pub use columns::{Column, Taken, role_of};
pub use ids::Ids;
pub use lines::Delimiter;
pub use replace::replace_file;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Error, Result};

/// So many bytes are read or written between two looks at whether to stop.
const PIECE: usize = 1 << 20;

/// The error of an operation on a file that the system refused.
fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::File(format!("{}: {error}", path.display()), error.kind())
}

/// [`Error::Interrupted`] if the caller asked to stop.
fn look(stop: &AtomicBool) -> Result<()> {
    if stop.load(Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(())
}
