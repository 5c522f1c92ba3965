//! Losses of one sample, which training runs on columns of them: as a function of the ir ([`sample_loss`]), as a
//! program of operators on arrays ([`sample_program`]), and as one over a batch of samples at once
//! ([`batched`], [`per_sample`]).

pub(super) mod batched;
pub(super) mod loss_argument;
pub(super) mod per_sample;
pub(super) mod sample_loss;
pub(super) mod sample_program;
