//! The part of the normal equations that all rows of a side of a factorisation have in common: see
//! [`super::least_squares()`].

use super::csr_matrix::CsrMatrix;

/// Rows that are solved together.
pub(super) const ROWS: usize = 16;

/// What rows are solved with.
pub(super) struct System<'a> {
    pub(super) matrix: &'a CsrMatrix,
    /// The other side, in rows of `stride` numbers.
    pub(super) fixed: Vec<f32>,
    /// YᵀY, in rows of `stride` numbers.
    pub(super) gram: Vec<f32>,
    pub(super) width: usize,
    pub(super) stride: usize,
    pub(super) l2: &'a [f32],
}

impl System<'_> {
    /// A row of the other side.
    #[inline(always)]
    pub(super) fn fixed_row(&self, row: u32) -> &[f32] {
        let at = row as usize * self.stride;
        &self.fixed[at..at + self.stride]
    }
}
