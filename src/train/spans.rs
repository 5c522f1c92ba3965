//! Where items that are drawn for several samples lie: all in one array, one sample after the other.

use std::ops::Range;

/// Where the items of each sample are among all that are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spans<'a> {
    /// So many a sample.
    Rows(usize),
    /// Those of sample `k` are from `starts[k]` to `starts[k + 1]`.
    Starts(&'a [usize]),
}

impl Spans<'_> {
    #[inline(always)]
    pub(super) fn of(self, k: usize) -> Range<usize> {
        match self {
            Spans::Rows(row) => k * row..(k + 1) * row,
            Spans::Starts(starts) => starts[k]..starts[k + 1],
        }
    }
}
