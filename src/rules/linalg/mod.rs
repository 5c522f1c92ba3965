//! Products of matrices and vectors, and what is solved with matrices or made of their
//! decompositions.

mod batch;

files! { vecdot, matmul, solve, determinant, cholesky, qr, packed, spectral, pinv }
