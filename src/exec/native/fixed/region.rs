//! Memory of one array of known length, and tapes of such arrays.
//!
//! Memory is whole [blocks](AlignedBlock), so that elements begin where a processor loads them
//! quickest, and a tape takes and gives whole blocks. All of it is set from the beginning: any bits
//! are a number of each element type.

use crate::array::{DType, Slice, SliceMut};
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::Operand;

use crate::exec::native::arrays::array_tape::missing;

/// As many bytes as the longest vectors have that a processor loads.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct AlignedBlock([u64; 8]);

/// Arrays one after the other, of which the last are taken first.
pub(super) type FixedTape = Vec<AlignedBlock>;

/// Bytes that so many elements take in whole blocks.
pub(super) fn bytes(dtype: DType, count: usize) -> usize {
    blocks(dtype, count) * size_of::<AlignedBlock>()
}

/// Blocks that so many elements take.
fn blocks(dtype: DType, count: usize) -> usize {
    (dtype.size() * count).div_ceil(size_of::<AlignedBlock>())
}

/// Bytes that a tape has allocated.
pub(super) fn tape_bytes(tape: &FixedTape) -> usize {
    tape.capacity() * size_of::<AlignedBlock>()
}

/// Memory for elements of one type.
///
/// Only [`new`](Self::new) and `default` set the fields: `blocks` holds at least `capacity` elements of
/// `dtype`, and what was set once stays.
#[derive(Debug)]
pub(in crate::exec::native) struct FixedRegion {
    blocks: Vec<AlignedBlock>,
    dtype: DType,
    capacity: usize,
}

impl Default for FixedRegion {
    fn default() -> Self {
        FixedRegion {
            blocks: Vec::new(),
            dtype: DType::U32,
            capacity: 0,
        }
    }
}

impl FixedRegion {
    /// Memory for so many elements, all of which are 0.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(in crate::exec::native) fn new(dtype: DType, capacity: usize) -> Result<Self> {
        let count = blocks(dtype, capacity);
        let mut blocks = Vec::new();
        reserve::grow(&mut blocks, count)?;
        blocks.resize(count, AlignedBlock([0; 8]));
        Ok(FixedRegion {
            blocks,
            dtype,
            capacity,
        })
    }

    /// The first elements.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    pub(super) fn slice(&self, count: usize) -> Slice<'_> {
        assert!(count <= self.capacity, "more elements than memory");
        let start = self.blocks.as_ptr();
        match self.dtype {
            // SAFETY: here and twice below, the blocks hold at least `capacity` elements of the
            // type that `dtype` names, and `count` is no more. They are initialised, aligned to 64
            // bytes, and any bits are such an element. They are borrowed with `self`, which is
            // borrowed as long as the slice.
            DType::F32 => Slice::F32(unsafe { std::slice::from_raw_parts(start.cast(), count) }),
            // SAFETY: see above.
            DType::F64 => Slice::F64(unsafe { std::slice::from_raw_parts(start.cast(), count) }),
            // SAFETY: see above.
            DType::U32 => Slice::U32(unsafe { std::slice::from_raw_parts(start.cast(), count) }),
        }
    }

    /// As [`slice`](Self::slice), to be changed.
    #[inline]
    pub(super) fn slice_mut(&mut self, count: usize) -> SliceMut<'_> {
        use std::slice::from_raw_parts_mut as slice;
        assert!(count <= self.capacity, "more elements than memory");
        let start = self.blocks.as_mut_ptr();
        match self.dtype {
            // SAFETY: as for `slice`, here and twice below; `self` is borrowed mutably, so nobody
            // else has the blocks, and whatever is written as an element is bits of a block.
            DType::F32 => SliceMut::F32(unsafe { slice(start.cast(), count) }),
            // SAFETY: see above.
            DType::F64 => SliceMut::F64(unsafe { slice(start.cast(), count) }),
            // SAFETY: see above.
            DType::U32 => SliceMut::U32(unsafe { slice(start.cast(), count) }),
        }
    }

    /// The first elements, as an operand of a kernel for elements of a type.
    ///
    /// # Panics
    /// If there are fewer, or they are of another type.
    #[inline]
    pub(super) fn operand(&self, dtype: DType, count: usize) -> Operand {
        assert!(count <= self.capacity && dtype == self.dtype);
        Operand {
            start: self.blocks.as_ptr().cast(),
            len: count,
        }
    }

    /// The address of the first elements, which a kernel for elements of a type may write.
    ///
    /// # Panics
    /// As [`operand`](Self::operand).
    #[inline]
    pub(super) fn target(&mut self, dtype: DType, count: usize) -> *mut u8 {
        assert!(count <= self.capacity && dtype == self.dtype);
        self.blocks.as_mut_ptr().cast()
    }

    /// Copies elements to the beginning.
    ///
    /// # Errors
    /// [`Error::Type`] if they are of another type.
    ///
    /// # Panics
    /// If there is no room.
    pub(super) fn copy(&mut self, from: Slice<'_>) -> Result<()> {
        match (self.slice_mut(from.len()), from) {
            (SliceMut::F32(to), Slice::F32(from)) => to.copy_from_slice(from),
            (SliceMut::F64(to), Slice::F64(from)) => to.copy_from_slice(from),
            (SliceMut::U32(to), Slice::U32(from)) => to.copy_from_slice(from),
            _ => {
                return Err(Error::Type(
                    "an array of another type than its place".into(),
                ));
            }
        }
        Ok(())
    }

    /// Appends the first elements to a tape.
    ///
    /// # Errors
    /// [`Error::Memory`].
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub(super) fn push(&self, count: usize, tape: &mut FixedTape) -> Result<()> {
        let from = &self.blocks[..blocks(self.dtype, count)];
        reserve::grow(tape, from.len())?;
        match from {
            // The commonest are copied without the call that copying many costs.
            &[one] => tape.push(one),
            &[one, two] => tape.extend([one, two]),
            many => tape.extend_from_slice(many),
        }
        Ok(())
    }

    /// Takes the first elements from the end of a tape.
    ///
    /// # Errors
    /// [`Error::Value`] if there are fewer.
    ///
    /// # Panics
    /// If there is no room.
    #[inline]
    pub(super) fn pop(&mut self, count: usize, tape: &mut FixedTape) -> Result<()> {
        let to = &mut self.blocks[..blocks(self.dtype, count)];
        let start = tape.len().checked_sub(to.len()).ok_or_else(missing)?;
        match (&mut *to, &tape[start..]) {
            ([one], &[first]) => *one = first,
            ([one, two], &[first, second]) => (*one, *two) = (first, second),
            (many, from) => many.copy_from_slice(from),
        }
        tape.truncate(start);
        Ok(())
    }
}
