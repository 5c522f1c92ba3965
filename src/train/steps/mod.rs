//! What a worker runs for each batch: the plan of a program, a function sample by sample, or a plan for each sample.

pub(super) mod function_step;
pub(super) mod plan_step;
pub(super) mod sample_groups;
pub(super) mod sample_parts;
pub(super) mod sample_plan_step;
