//! Tapes of arrays.
//!
//! A loop keeps a few arrays each turn. Small ones are copied to the end of one piece of memory, and from
//! there to where they are read: this takes less time than to allocate each. Others are kept as they
//! are. Each thread keeps its tapes for its next run, up to [`KEPT`] bytes.

use std::cell::Cell;

use crate::array::{Array, Slice, View};
use crate::error::{Error, Result};
use crate::reserve;

/// Most bytes of an array that is copied.
const COPIED: usize = 4 << 10;

/// Axes that an array may have that is copied.
const AXES: usize = 2;

/// Bytes that a thread keeps for its next run: 16 MiB.
const KEPT: usize = 16 << 20;

thread_local! {
    /// The tapes of this thread's last run.
    static TAPES: Cell<Vec<ArrayTape>> = const { Cell::new(Vec::new()) };
}

/// Makes an array of copies of some elements, in the memory of the one that is there if that has their type
/// and nobody else has it.
///
/// # Errors
/// [`Error::Memory`].
pub(in crate::exec::native) fn overwrite(
    to: &mut Option<Array>,
    shape: &[usize],
    from: Slice<'_>,
) -> Result<()> {
    let from = View::new(shape, from);
    match to {
        Some(array) => array.assign(from)?,
        None => *to = Some(Array::copy_of(from)?),
    }
    Ok(())
}

pub(in crate::exec::native) fn missing() -> Error {
    Error::Value("an array is read before it is defined".into())
}

/// What an array on a tape is.
#[derive(Debug, Clone, Copy)]
enum TapeEntry {
    F64([usize; AXES], usize),
    F32([usize; AXES], usize),
    Whole,
}

/// Arrays, of which the last is taken first.
#[derive(Debug, Default)]
pub(in crate::exec::native) struct ArrayTape {
    entries: Vec<TapeEntry>,
    doubles: Vec<f64>,
    singles: Vec<f32>,
    whole: Vec<Array>,
}

impl ArrayTape {
    /// Empty tapes, so many.
    pub(in crate::exec::native) fn take(count: usize) -> Vec<Self> {
        if count == 0 {
            return Vec::new();
        }
        let mut tapes = TAPES.take();
        tapes.resize_with(count.max(tapes.len()), Self::default);
        tapes
    }

    /// Keeps tapes for this thread's next run.
    pub(in crate::exec::native) fn keep(mut tapes: Vec<Self>) {
        if tapes.is_empty() {
            return;
        }
        for tape in &mut tapes {
            tape.entries.clear();
            tape.doubles.clear();
            tape.singles.clear();
            tape.whole.clear();
        }
        let bytes = |tape: &Self| {
            tape.entries.capacity() * size_of::<TapeEntry>()
                + tape.doubles.capacity() * size_of::<f64>()
                + tape.singles.capacity() * size_of::<f32>()
                + tape.whole.capacity() * size_of::<Array>()
        };
        if tapes.iter().map(bytes).sum::<usize>() <= KEPT {
            TAPES.set(tapes);
        }
    }

    /// Appends a copy of an array, if it is small; whether it is.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory).
    pub(super) fn copy(&mut self, array: &Array) -> Result<bool> {
        let elements = array.elements();
        if elements.len() * array.dtype().size() > COPIED {
            return Ok(false);
        }
        let (shape, axes): ([usize; AXES], usize) = match *array.shape() {
            [n] => ([n, 0], 1),
            [m, n] => ([m, n], 2),
            _ => return Ok(false),
        };
        reserve::grow(&mut self.entries, 1)?;
        self.entries.push(match elements {
            Slice::F64(elements) => {
                reserve::grow(&mut self.doubles, elements.len())?;
                self.doubles.extend_from_slice(elements);
                TapeEntry::F64(shape, axes)
            }
            Slice::F32(elements) => {
                reserve::grow(&mut self.singles, elements.len())?;
                self.singles.extend_from_slice(elements);
                TapeEntry::F32(shape, axes)
            }
            Slice::U32(_) => return Ok(false),
        });
        Ok(true)
    }

    /// Appends an array.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory).
    pub(super) fn push(&mut self, array: Array) -> Result<()> {
        reserve::grow(&mut self.entries, 1)?;
        reserve::grow(&mut self.whole, 1)?;
        self.entries.push(TapeEntry::Whole);
        self.whole.push(array);
        Ok(())
    }

    /// Takes the last array, in the memory of the one that is there if it fits.
    ///
    /// # Errors
    /// [`Value`](crate::Error::Value) if there is none, [`Memory`](crate::Error::Memory).
    pub(super) fn pop(&mut self, to: &mut Option<Array>) -> Result<()> {
        match self.entries.pop().ok_or_else(missing)? {
            TapeEntry::Whole => {
                *to = Some(self.whole.pop().ok_or_else(missing)?);
                Ok(())
            }
            TapeEntry::F64(shape, axes) => {
                let shape = &shape[..axes];
                let start = self.doubles.len().checked_sub(crate::array::size(shape));
                let start = start.ok_or_else(missing)?;
                overwrite(to, shape, Slice::F64(&self.doubles[start..]))?;
                self.doubles.truncate(start);
                Ok(())
            }
            TapeEntry::F32(shape, axes) => {
                let shape = &shape[..axes];
                let start = self.singles.len().checked_sub(crate::array::size(shape));
                let start = start.ok_or_else(missing)?;
                overwrite(to, shape, Slice::F32(&self.singles[start..]))?;
                self.singles.truncate(start);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Dense;

    #[test]
    fn what_is_kept_last_is_taken_first() {
        let mut tapes = ArrayTape::take(1);
        let arrays: [Array; 6] = [
            vec![1.5f64, -0.0, f64::NAN].into(),
            vec![2.5f32].into(),
            vec![7u32, 8].into(),
            Dense::new(&[2, 0], Vec::<f64>::new()).unwrap().into(),
            vec![0.25f64; 10_000].into(),
            Dense::new(&[1, 2, 1], vec![3.0f64, 4.0]).unwrap().into(),
        ];
        for array in &arrays {
            if !tapes[0].copy(array).unwrap() {
                tapes[0].push(array.clone()).unwrap();
            }
        }
        let mut old = None;
        for array in arrays.iter().rev() {
            tapes[0].pop(&mut old).unwrap();
            let found = old.as_ref().unwrap();
            assert_eq!(format!("{found:?}"), format!("{array:?}"));
            assert_eq!(found.shape(), array.shape());
        }
        assert!(tapes[0].pop(&mut old).is_err());
        ArrayTape::keep(tapes);
    }

    #[test]
    fn what_others_have_is_not_overwritten() {
        let mut tape = ArrayTape::default();
        tape.copy(&vec![1.0f64, 2.0].into()).unwrap();
        let theirs: Array = vec![5.0f64, 6.0].into();
        let mut found = Some(theirs.clone());
        tape.pop(&mut found).unwrap();
        let found = found.unwrap();
        assert_eq!(
            (found.to_f64(), theirs.to_f64()),
            (vec![1.0, 2.0], vec![5.0, 6.0])
        );
    }
}
