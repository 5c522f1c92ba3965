//! A column of a run, in memory of its own or [mapped](super::mapped), as samples are copied from it.

use super::input_buffer::InputBuffer;
use super::mapped::{Mapped, MappedWords};
use crate::array::{Array, DType, Slice, Type};
use crate::error::Result;
use crate::rules::check_indices;

/// The values of an input for all samples.
#[derive(Debug)]
pub(in crate::train) enum ColumnValues {
    Own(Array),
    Mapped(Mapped),
}

fn copy_rows<T: Copy>(from: &[T], row: usize, order: &[u32], to: &mut [T]) {
    if row == 1 {
        for (to, &k) in to.iter_mut().zip(order) {
            *to = from[k as usize];
        }
    } else {
        for (to, &k) in to.chunks_exact_mut(row.max(1)).zip(order) {
            to.copy_from_slice(&from[k as usize * row..(k as usize + 1) * row]);
        }
    }
}

impl ColumnValues {
    pub(in crate::train) fn ty(&self) -> Type {
        match self {
            ColumnValues::Own(data) => data.ty(),
            ColumnValues::Mapped(data) => data.ty().clone(),
        }
    }

    /// Words of each number as it is staged.
    pub(in crate::train) fn width(&self) -> usize {
        let dtype = match self {
            ColumnValues::Own(data) => data.dtype(),
            ColumnValues::Mapped(data) => data.ty().dtype,
        };
        dtype.size() / size_of::<u32>()
    }

    /// Word number `at` of every number.
    pub(in crate::train) fn words(&self, at: usize) -> Words<'_> {
        match self {
            ColumnValues::Own(data) => Words::Own {
                memory: as_words(data.view().data),
                step: self.width(),
                at,
            },
            ColumnValues::Mapped(data) => Words::Mapped(data.words(at)),
        }
    }

    /// Checks that all indices are below `n`; other numbers are none.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index).
    pub(in crate::train) fn check(&self, what: impl FnOnce() -> String, n: usize) -> Result<()> {
        match self {
            ColumnValues::Own(Array::U32(data)) => check_indices(what, data.as_slice(), n),
            ColumnValues::Own(_) => Ok(()),
            ColumnValues::Mapped(data) => data.check(what, n),
        }
    }

    /// Whether it has one index a sample.
    pub(in crate::train) fn is_of_indices(&self) -> bool {
        let ty = self.ty();
        ty.dtype == DType::U32 && ty.shape[1..].iter().product::<usize>() == 1
    }

    /// Copies the rows `order`, of `row` numbers each, to `buffer`.
    pub(in crate::train) fn copy(&self, row: usize, order: &[u32], buffer: &mut InputBuffer) {
        match (self, buffer) {
            (ColumnValues::Mapped(data), buffer) => data.copy_rows(row, order, buffer.words_mut()),
            (ColumnValues::Own(Array::F32(d)), InputBuffer::F32(b)) => {
                copy_rows(d.as_slice(), row, order, b);
            }
            (ColumnValues::Own(Array::F64(d)), InputBuffer::F64(b)) => {
                copy_rows(d.as_slice(), row, order, b);
            }
            (ColumnValues::Own(Array::U32(d)), InputBuffer::U32(b)) => {
                copy_rows(d.as_slice(), row, order, b);
            }
            _ => {}
        }
    }
}

/// One word of every number of a column.
#[derive(Clone, Copy)]
pub(in crate::train) enum Words<'a> {
    /// Word number `at` of every `step` words.
    Own {
        memory: &'a [u32],
        step: usize,
        at: usize,
    },
    Mapped(MappedWords<'a>),
}

impl Words<'_> {
    /// The word of number `i`.
    ///
    /// # Panics
    /// If there is no such number.
    #[inline(always)]
    pub(in crate::train) fn word(&self, i: usize) -> u32 {
        match self {
            Words::Own { memory, step, at } => memory[i * step + at],
            Words::Mapped(words) => words.word(i),
        }
    }
}

/// Any elements as words.
fn as_words(data: Slice<'_>) -> &[u32] {
    let count = data.len() * (data.dtype().size() / size_of::<u32>());
    // SAFETY: the memory is that of the slice, borrowed as long; all element types are whole
    // words without padding, aligned at least as words, and any bits are a word.
    unsafe { std::slice::from_raw_parts(data.address().cast(), count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_many_words_as_they_have_memory() {
        assert_eq!(as_words(Slice::U32(&[7, 8, 9])), [7, 8, 9]);
        assert_eq!(as_words(Slice::F32(&[1.0; 3])), [1f32.to_bits(); 3]);
        assert_eq!(as_words(Slice::F64(&[0.0; 3])), [0; 6]);
    }
}
