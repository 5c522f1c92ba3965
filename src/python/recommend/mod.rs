//! What recommenders need beside training: ranking, solvers of models, and files.

pub(super) mod io;
pub(super) mod rank;
pub(super) mod solvers;
