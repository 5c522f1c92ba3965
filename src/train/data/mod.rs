//! The data of a run: where the inputs of a program come from, and what is staged of it for the next batches.
//!
//! A [`source`] is a column, in memory or in a [mapped] file, or what a sampler draws. [`feeds`] copies and
//! draws so many samples ahead.

pub(super) mod column;
mod drawer;
mod draws;
pub(super) mod feeds;
pub(super) mod input_buffer;
pub(super) mod mapped;
pub(super) mod ragged;
pub(super) mod source;
