//! What Python and Rust give each other: arguments, numbers and arrays, errors, interned names, and calls
//! that take long.

pub(super) mod argument;
pub(super) mod convert;
pub(super) mod depth;
pub(super) mod element_type;
pub(super) mod error;
pub(super) mod export;
pub(super) mod fork;
pub(super) mod items;
pub(super) mod long_call;
pub(super) mod memory_order;
pub(super) mod once;
