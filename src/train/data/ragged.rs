//! Arrays of different lengths, one for each sample: one array of all values, and the place where each
//! entry begins.
//!
//! To find an entry takes no search, and a sample's values lie together in memory.
//!
//! Limits: entries differ in the length of their first axis alone.

use std::ops::Range;

use crate::array::{Array, DType, Dense, Shape, size};
use crate::error::{Error, Result};

/// A sequence of arrays that may differ in length.
///
/// ```
/// use wyrmling::train::Ragged;
///
/// let ragged = Ragged::new(vec![1.0, 2.0, 3.0].into(), vec![0, 2, 2, 3])?;
/// assert_eq!(ragged.len(), 3);
/// assert_eq!(ragged.range(1), 2..2);
/// assert_eq!(ragged.entry(0)?.shape(), [2]);
/// # Ok::<(), wyrmling::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ragged {
    values: Array,
    offsets: Vec<usize>,
}

impl Ragged {
    /// Entry `i` is the part of `values` along the first axis from `offsets[i]` to `offsets[i + 1]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the values have no axes, [`Error::Value`] unless the offsets begin with 0,
    /// do not decrease and end with the length of the values.
    pub fn new(values: Array, offsets: Vec<usize>) -> Result<Self> {
        let Some(&end) = values.shape().first() else {
            return Err(Error::Shape(
                "values: expected one axis or more, got a single number".into(),
            ));
        };
        let decrease = offsets.windows(2).position(|pair| pair[1] < pair[0]);
        match (offsets.first(), offsets.last(), decrease) {
            (Some(0), Some(&last), None) if last == end => Ok(Ragged { values, offsets }),
            (_, _, Some(at)) => Err(Error::Value(format!(
                "offsets: expected none to be less than the one before, got {} after {} at position {}",
                offsets[at + 1],
                offsets[at],
                at + 1
            ))),
            (first, last, None) => Err(Error::Value(format!(
                "offsets: expected 0 at first and the length of values, {end}, at last, got {} and {}",
                first.map_or("none".into(), usize::to_string),
                last.map_or("none".into(), usize::to_string),
            ))),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of all entries.
    pub fn values(&self) -> &Array {
        &self.values
    }

    /// Where entry `i` is along the first axis of the values.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// A copy of entry `i`.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    ///
    /// # Panics
    /// As [`range`](Self::range).
    #[inline]
    pub fn entry(&self, i: usize) -> Result<Array> {
        let range = self.range(i);
        let mut shape = Shape::from_slice(self.values.shape());
        shape[0] = range.len();
        let each = size(&shape[1..]);
        let part = range.start * each..range.end * each;
        Ok(match &self.values {
            Array::F32(v) => Array::F32(Dense::copy_of(&shape, &v.as_slice()[part])?),
            Array::F64(v) => Array::F64(Dense::copy_of(&shape, &v.as_slice()[part])?),
            Array::U32(v) => Array::U32(Dense::copy_of(&shape, &v.as_slice()[part])?),
        })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_parts_of_the_values(lengths in proptest::collection::vec(0usize..20, 0..20), row in 1usize..4) {
            let mut offsets = vec![0];
            for length in &lengths {
                offsets.push(offsets[offsets.len() - 1] + length);
            }
            let count = offsets[lengths.len()];
            let values: Vec<f64> = (0..count * row).map(|k| k as f64).collect();
            let array = Array::F64(Dense::new(&[count, row], values.clone())?);
            let ragged = Ragged::new(array, offsets)?;
            prop_assert_eq!(ragged.len(), lengths.len());
            let mut start = 0;
            for (i, length) in lengths.iter().enumerate() {
                let Array::F64(entry) = ragged.entry(i)? else { unreachable!() };
                prop_assert_eq!(entry.shape(), &[*length, row]);
                prop_assert_eq!(entry.as_slice(), &values[start..start + length * row]);
                start += length * row;
            }
        }
    }

    #[test]
    fn offsets_are_checked() {
        let new = |offsets: &[usize]| Ragged::new(vec![1.0f32, 2.0, 3.0].into(), offsets.to_vec());
        assert!(new(&[0, 3]).is_ok_and(|r| r.len() == 1 && !r.is_empty()));
        assert!(new(&[0, 0, 3, 3]).is_ok_and(|r| r.len() == 3));
        for wrong in [
            &[] as &[usize],
            &[0],
            &[1, 3],
            &[0, 2],
            &[0, 4],
            &[0, 4, 3],
            &[0, 2, 1, 3],
        ] {
            assert!(matches!(new(wrong), Err(Error::Value(_))), "{wrong:?}");
        }
        assert!(Ragged::new(vec![0.0f64; 0].into(), vec![0]).is_ok_and(|r| r.is_empty()));
        let number = Array::from(1.0);
        assert!(matches!(
            Ragged::new(number, vec![0, 1]),
            Err(Error::Shape(_))
        ));
    }
}
