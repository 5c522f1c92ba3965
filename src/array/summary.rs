//! What an array holds, in a few numbers: for messages, tables and drawings.
//!
//! A summary is collected from slices, so that whatever keeps its elements in pieces
//! needs no copy in one piece.

use super::{Array, Slice};

/// The first elements of an array, and the range of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Number of elements.
    pub count: usize,
    /// The first elements, all of them if there are at most [`Summary::SHOWN`].
    pub first: Vec<f64>,
    /// The smallest element that is not NaN; infinity if there is none.
    pub min: f64,
    /// The largest element that is not NaN; minus infinity if there is none.
    pub max: f64,
    /// Number of elements that are NaN.
    pub nans: usize,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            count: 0,
            first: Vec::new(),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            nans: 0,
        }
    }
}

impl Summary {
    /// Most elements that are kept one by one.
    pub const SHOWN: usize = 6;

    /// Counts further elements in.
    pub fn add(&mut self, elements: Slice<'_>) {
        match elements {
            Slice::F32(x) => self.extend(x.iter().map(|&x| f64::from(x))),
            Slice::F64(x) => self.extend(x.iter().copied()),
            Slice::U32(x) => self.extend(x.iter().map(|&x| f64::from(x))),
        }
    }

    fn extend(&mut self, mut elements: impl ExactSizeIterator<Item = f64>) {
        self.count += elements.len();
        while self.first.len() < Self::SHOWN
            && let Some(x) = elements.next()
        {
            self.first.push(x);
            self.bound(x);
        }
        elements.for_each(|x| self.bound(x));
    }

    #[inline]
    fn bound(&mut self, x: f64) {
        self.nans += usize::from(x.is_nan());
        // Neither takes a NaN for a bound.
        self.min = self.min.min(x);
        self.max = self.max.max(x);
    }
}

impl Array {
    /// The first elements and the range of all.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        summary.add(self.view().data);
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Dense;

    #[test]
    fn pieces_are_as_good_as_the_whole() {
        let x: Vec<f64> = (0..100).map(|k| f64::from(k * 37 % 100) - 20.0).collect();
        let whole = Array::from(Dense::new(&[100], x.clone()).unwrap()).summary();
        let mut pieces = Summary::default();
        x.chunks(3).for_each(|x| pieces.add(Slice::F64(x)));
        assert_eq!(whole, pieces);
        assert_eq!(
            (whole.count, whole.min, whole.max, whole.nans),
            (100, -20.0, 79.0, 0)
        );
        assert_eq!(whole.first, x[..Summary::SHOWN]);
    }

    #[test]
    fn nan_is_counted_and_bounds_nothing() {
        let mut summary = Summary::default();
        summary.add(Slice::F32(&[f32::NAN, 2.0, f32::NAN, -1.0]));
        assert_eq!((summary.min, summary.max, summary.nans), (-1.0, 2.0, 2));
        assert!(summary.first[0].is_nan());
        let empty = Summary::default();
        assert_eq!((empty.count, empty.min), (0, f64::INFINITY));
    }
}
