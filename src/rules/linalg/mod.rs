//! Products of matrices and vectors, and, with the feature `linalg`, what is solved with matrices or
//! made of their decompositions.

#[cfg(feature = "linalg")]
mod aligned;
#[cfg(feature = "linalg")]
mod batch;
#[cfg(feature = "linalg")]
mod dense;
#[cfg(feature = "linalg")]
mod factor;
mod gemm;
#[cfg(feature = "linalg")]
mod inverse;
#[cfg(feature = "linalg")]
mod lu;
mod outer;
mod subnormal;

#[cfg(feature = "linalg")]
pub(crate) use self::inverse::PositiveDefinite;
pub(crate) use self::{matmul::VectorProduct, outer::add_outer};

#[cfg(not(feature = "linalg"))]
files! { vecdot, convolve, matmul }
#[cfg(feature = "linalg")]
files! { vecdot, convolve, matmul, solve, determinant, cholesky, qr, packed, spectral, eigh, svd, pinv }
