//! Files: what they say is read, and nothing they contain can do harm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod directory;
mod hostile;
mod ids;
mod interactions;
mod price;
mod replace;
mod tensors;

use std::sync::atomic::AtomicBool;

/// Nobody sets it.
static NEVER: AtomicBool = AtomicBool::new(false);
