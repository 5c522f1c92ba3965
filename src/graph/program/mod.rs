//! Graphs as programs: written as functions of the [`ir`](crate::ir) when they are frozen ([`freeze`]) or part of a
//! function that is read (`splice`); bound to the values of their leaves ([`bound_program`]), which is
//! how a graph that is used again and again runs ([`kept_program`]).

pub(super) mod bound_program;
pub(super) mod freeze;
pub(super) mod kept_program;
#[cfg(feature = "python")]
pub(super) mod splice;
