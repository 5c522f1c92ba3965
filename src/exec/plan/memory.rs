//! Where a value is while a program runs: at an address, or wherever the data of a leaf is bound before the run.

use super::rows::Bags;
use crate::array::{DType, Number, Slice, SliceMut, Typed};
use crate::rules::BagIndex;

/// An address, or a leaf whose data is bound before each run.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) enum Address {
    Fixed(*mut u8),
    Leaf(usize),
}

impl Address {
    /// Of nothing.
    pub(in crate::exec) const NONE: Address = Address::Fixed(std::ptr::without_provenance_mut(64));

    /// Where it is, given the addresses of the leaves.
    #[inline(always)]
    pub(in crate::exec) fn start(self, leaves: &[*const u8]) -> *mut u8 {
        match self {
            Address::Fixed(start) => start,
            Address::Leaf(k) => leaves[k].cast_mut(),
        }
    }
}

/// A value to be read or written.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Memory {
    pub address: Address,
    pub len: usize,
    pub dtype: DType,
}

impl Memory {
    /// Whether it is no leaf: a constant, or what a run computes.
    #[inline(always)]
    pub(in crate::exec) fn is_fixed(&self) -> bool {
        matches!(self.address, Address::Fixed(_))
    }

    /// The elements.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody writes to it while the slice is used.
    #[inline(always)]
    pub(in crate::exec) unsafe fn read<'a>(&self, leaves: &[*const u8]) -> Slice<'a> {
        // SAFETY: the memory is live and initialised and nobody writes to it, by the conditions of
        // this function. It has `len` aligned elements of this type: at a fixed address
        // `Plan::check` found them, and of a leaf `Executor::bind` compared type and length.
        unsafe { tag(self.dtype, self.address.start(leaves), self.len) }
    }

    /// The elements, known to be of type `T`.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody writes to it while the slice is used.
    #[inline(always)]
    pub(in crate::exec) unsafe fn numbers<'a, T: Typed>(&self, leaves: &[*const u8]) -> &'a [T] {
        assert!(self.dtype == T::DTYPE);
        // SAFETY: the memory is live and initialised and nobody writes to it, by the conditions of
        // this function. It has `len` aligned elements of `dtype`: at a fixed address `Plan::check`
        // found them, and of a leaf `Executor::bind` compared type and length. They are of type
        // `T`: `dtype` was just compared with `T::DTYPE`, and `Typed` is sealed, so no other type has
        // this tag.
        unsafe { std::slice::from_raw_parts(self.address.start(leaves).cast(), self.len) }
    }

    /// The elements for writing.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody else reads it or writes to it while the slice
    /// is used.
    #[inline(always)]
    pub(in crate::exec) unsafe fn write<'a>(&self) -> SliceMut<'a> {
        let Address::Fixed(start) = self.address else {
            unreachable!("results live in the arena");
        };
        // SAFETY: the memory is live and initialised and nobody else reads or writes it, by the
        // conditions of this function. A result is in the arena or in a register, where
        // `Plan::check` found room for `len` aligned elements of this type.
        unsafe { tag_mut(self.dtype, start, self.len) }
    }

    /// The elements for writing, known to be of type `T`.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody else reads it or writes to it while the slice
    /// is used.
    #[inline(always)]
    pub(in crate::exec) unsafe fn numbers_mut<'a, T: Typed>(&self) -> &'a mut [T] {
        // SAFETY: `write` has the conditions of this function: the memory is live and initialised,
        // and nobody else uses it.
        let mut data = unsafe { self.write() };
        assert!(self.dtype == T::DTYPE);
        // SAFETY: `data` has `len` elements of `dtype`, which nobody else uses, and is not used
        // again. They are of type `T`: `dtype` was just compared with `T::DTYPE`, and `Typed` is
        // sealed, so no other type has this tag.
        unsafe { std::slice::from_raw_parts_mut(data.address().cast(), self.len) }
    }
}

impl Bags<Memory> {
    /// The bags that an index chooses of `rows` rows, and their weights.
    ///
    /// # Safety
    /// As [`Memory::numbers`], of the index and of these.
    #[inline(always)]
    pub(in crate::exec) unsafe fn read<'a, T: Number>(
        &self,
        index: &Memory,
        rows: usize,
        leaves: &[*const u8],
    ) -> (BagIndex<'a>, Option<&'a [T]>) {
        // SAFETY: all are live and initialised, and nobody writes to them, by the conditions of this
        // function.
        unsafe {
            let [index, ids, offsets] =
                [index, &self.ids, &self.offsets].map(|memory| memory.numbers(leaves));
            let weights = self.weights.as_ref().map(|memory| memory.numbers(leaves));
            (BagIndex::chosen(index, ids, offsets, rows), weights)
        }
    }
}

/// A slice of `len` elements of type `dtype`.
///
/// # Safety
/// They are live, initialised and aligned, and nobody writes to them.
#[inline(always)]
pub(in crate::exec) unsafe fn tag<'a>(dtype: DType, start: *const u8, len: usize) -> Slice<'a> {
    // SAFETY: by the conditions of this function `len` elements of `dtype` are live, initialised and
    // aligned from `start` on, and nobody writes to them; each arm takes the type that `dtype` names.
    unsafe {
        match dtype {
            DType::F32 => Slice::F32(std::slice::from_raw_parts(start.cast(), len)),
            DType::F64 => Slice::F64(std::slice::from_raw_parts(start.cast(), len)),
            DType::U32 => Slice::U32(std::slice::from_raw_parts(start.cast(), len)),
        }
    }
}

/// A mutable slice of `len` elements of type `dtype`.
///
/// # Safety
/// They are live, initialised and aligned, and nobody else uses them.
#[inline(always)]
pub(in crate::exec) unsafe fn tag_mut<'a>(
    dtype: DType,
    start: *mut u8,
    len: usize,
) -> SliceMut<'a> {
    // SAFETY: by the conditions of this function `len` elements of `dtype` are live, initialised and
    // aligned from `start` on, and nobody else uses them; each arm takes the type that `dtype` names.
    unsafe {
        match dtype {
            DType::F32 => SliceMut::F32(std::slice::from_raw_parts_mut(start.cast(), len)),
            DType::F64 => SliceMut::F64(std::slice::from_raw_parts_mut(start.cast(), len)),
            DType::U32 => SliceMut::U32(std::slice::from_raw_parts_mut(start.cast(), len)),
        }
    }
}
