//! Memory for the values of an input that are staged.

use crate::array::{DType, Slice, Type, filled};
use crate::error::Result;

/// Values of an input for some samples.
#[derive(Debug)]
pub(in crate::train) enum InputBuffer {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U32(Vec<u32>),
}

impl InputBuffer {
    pub(in crate::train) fn new(ty: &Type) -> Result<Self> {
        let n = ty.size();
        Ok(match ty.dtype {
            DType::F32 => InputBuffer::F32(filled(n, 0.0)?),
            DType::F64 => InputBuffer::F64(filled(n, 0.0)?),
            DType::U32 => InputBuffer::U32(filled(n, 0)?),
        })
    }

    /// `n` elements from `at` on.
    #[inline]
    pub(in crate::train) fn slice(&self, at: usize, n: usize) -> Slice<'_> {
        match self {
            InputBuffer::F32(v) => Slice::F32(&v[at..at + n]),
            InputBuffer::F64(v) => Slice::F64(&v[at..at + n]),
            InputBuffer::U32(v) => Slice::U32(&v[at..at + n]),
        }
    }

    pub(in crate::train) fn indices(&self) -> &[u32] {
        match self {
            InputBuffer::U32(v) => v,
            _ => &[],
        }
    }

    /// The elements as words.
    pub(in crate::train) fn words_mut(&mut self) -> &mut [u32] {
        let (start, count) = match self {
            InputBuffer::F32(v) => (v.as_mut_ptr().cast(), v.len()),
            InputBuffer::F64(v) => (v.as_mut_ptr().cast(), 2 * v.len()),
            InputBuffer::U32(v) => (v.as_mut_ptr(), v.len()),
        };
        // SAFETY: the memory is that of the buffer's list, with two words an element of 8 bytes and one
        // of 4, borrowed mutably as long. All element types are whole words without padding, aligned at
        // least as words; any bits are a word, and any words are an element.
        unsafe { std::slice::from_raw_parts_mut(start, count) }
    }

    /// A copy of all elements.
    #[cfg(test)]
    pub(in crate::train) fn copy(&self) -> Self {
        match self {
            InputBuffer::F32(v) => InputBuffer::F32(v.clone()),
            InputBuffer::F64(v) => InputBuffer::F64(v.clone()),
            InputBuffer::U32(v) => InputBuffer::U32(v.clone()),
        }
    }
}
