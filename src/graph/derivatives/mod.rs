//! Derivatives of graphs: gradients as numbers ([`backward`]), and as graphs that have gradients themselves
//! ([`gradient`]); forward mode ([`tangent`]); what leaves hold between passes ([`collected`]), and hooks,
//! which see gradients as they pass ([`hook`]).

pub(super) mod backward;
pub(super) mod collected;
pub(super) mod gradient;
pub(super) mod hook;
pub(super) mod nodes;
pub(super) mod own_changes;
pub(super) mod tangent;
