//! Training as Python asks for it: programs, optimizers, samplers, and `fit`.

pub(super) mod custom_sampler;
pub(super) mod fit;
pub(super) mod fit_columns;
pub(super) mod fit_function;
pub(super) mod mapped;
pub(super) mod optim;
pub(super) mod optim_state;
pub(super) mod program;
pub(super) mod ragged;
pub(super) mod sampling;
pub(super) mod scored;
