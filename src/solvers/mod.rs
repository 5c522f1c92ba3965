//! Solvers of models that have a closed form, or alternate between two of them.
//!
//! [`least_squares()`] solves all rows of one side of a factorisation while the other is fixed, which is
//! half an epoch of alternating least squares for implicit feedback. [`item_weights`] is the linear
//! autoencoder EASE, [`nearest_items`] the similarities of an item-based neighbourhood model; both score by
//! [`sums_of_rows`]. Interactions are read as a [`CsrMatrix`] and its transpose.
//!
//! # Rationale
//!
//! What is split among threads is the result: each row of it is computed by one thread, in one order,
//! so that the bits do not depend on how many there are, and nothing is locked. All poll for the
//! caller's stop flag between parts.
//!
//! # Limits
//!
//! Factors are of single precision. EASE holds a matrix of all pairs of items, in double precision while
//! it is inverted.

mod conjugate_gradient;
mod csr_matrix;
mod direct;
#[cfg(feature = "linalg")]
mod ease;
mod least_squares;
mod neighbours;
mod sums;
mod system;

pub use csr_matrix::CsrMatrix;
#[cfg(feature = "linalg")]
pub use ease::item_weights;
pub use least_squares::{LeastSquares, Solved, Solver, least_squares};
pub use neighbours::{Similarity, nearest_items};
pub use sums::{Weights, sums_of_rows};
