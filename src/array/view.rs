//! Borrowed arrays: what kernels read and write.
//!
//! Kernels take slices, whatever owns the memory: an [`Array`](super::Array), a
//! program's arena or a scratch buffer. Element types were checked when the
//! operator inferred its result, so asking a slice for another type is a bug of
//! this crate and panics.

use super::{DType, Element, Real, element_count, show_shape};
use crate::error::{Error, Result};

/// Elements to read.
#[derive(Debug, Clone, Copy)]
pub enum Slice<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// Row indices.
    U32(&'a [u32]),
}

/// Elements to write.
#[derive(Debug)]
pub enum SliceMut<'a> {
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
    /// Row indices.
    U32(&'a mut [u32]),
}

/// Whether all numbers are finite.
pub(crate) fn all_finite<T: Real>(numbers: &[T]) -> bool {
    all_within(numbers, T::max_value())
}

/// Whether all numbers are between -`limit` and `limit`. They are looked at by the hundred, for without an
/// early exit LLVM vectorises the loop.
pub(crate) fn all_within<T: Real>(numbers: &[T], limit: T) -> bool {
    let mut chunks = numbers.chunks(128);
    chunks.all(|chunk| chunk.iter().fold(true, |all, x| all & (x.abs() <= limit)))
}

/// A contiguous array to read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Length of each axis.
    pub shape: &'a [usize],
    /// The elements in C order.
    pub data: Slice<'a>,
}

/// A contiguous array to write.
#[derive(Debug)]
pub struct ViewMut<'a> {
    /// Length of each axis.
    pub shape: &'a [usize],
    /// The elements in C order.
    pub data: SliceMut<'a>,
}

impl<'a> View<'a> {
    /// A view from its parts.
    #[inline]
    pub fn new(shape: &'a [usize], data: Slice<'a>) -> Self {
        View { shape, data }
    }

    /// Checks that there are as many elements as the shape says, which has not been compared before; `name` is for
    /// the message.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub(crate) fn check_length(&self, name: impl FnOnce() -> String) -> Result<()> {
        let count = element_count(self.shape)?;
        if self.data.len() == count {
            return Ok(());
        }
        Err(Error::Shape(format!(
            "{}: a view of shape {} has {} elements, expected {count}",
            name(),
            show_shape(self.shape),
            self.data.len()
        )))
    }

    /// The elements as numbers of type `T`.
    #[inline]
    pub fn real<T: Typed>(&self) -> &'a [T] {
        T::slice(self.data)
    }

    /// The elements as row indices.
    #[inline]
    pub fn indices(&self) -> &'a [u32] {
        u32::slice(self.data)
    }
}

impl<'a> Slice<'a> {
    /// No elements, of a type.
    pub(crate) fn none(dtype: DType) -> Slice<'a> {
        match dtype {
            DType::F32 => Slice::F32(&[]),
            DType::F64 => Slice::F64(&[]),
            DType::U32 => Slice::U32(&[]),
        }
    }

    /// `n` of the elements, from number `at` on.
    pub(crate) fn part(self, at: usize, n: usize) -> Slice<'a> {
        match self {
            Slice::F32(s) => Slice::F32(&s[at..at + n]),
            Slice::F64(s) => Slice::F64(&s[at..at + n]),
            Slice::U32(s) => Slice::U32(&s[at..at + n]),
        }
    }

    /// Where the elements start.
    #[inline]
    pub(crate) fn address(&self) -> *const u8 {
        match self {
            Slice::F32(s) => s.as_ptr().cast(),
            Slice::F64(s) => s.as_ptr().cast(),
            Slice::U32(s) => s.as_ptr().cast(),
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        match self {
            Slice::F32(_) => DType::F32,
            Slice::F64(_) => DType::F64,
            Slice::U32(_) => DType::U32,
        }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Slice::F32(s) => s.len(),
            Slice::F64(s) => s.len(),
            Slice::U32(s) => s.len(),
        }
    }

    /// Whether every element is finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Slice::F32(s) => all_finite(s),
            Slice::F64(s) => all_finite(s),
            Slice::U32(_) => true,
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SliceMut<'_> {
    /// `n` of the elements, from number `at` on.
    pub(crate) fn part(&mut self, at: usize, n: usize) -> SliceMut<'_> {
        match self {
            SliceMut::F32(s) => SliceMut::F32(&mut s[at..at + n]),
            SliceMut::F64(s) => SliceMut::F64(&mut s[at..at + n]),
            SliceMut::U32(s) => SliceMut::U32(&mut s[at..at + n]),
        }
    }

    /// Where the elements start.
    #[inline]
    pub(crate) fn address(&mut self) -> *mut u8 {
        match self {
            SliceMut::F32(s) => s.as_mut_ptr().cast(),
            SliceMut::F64(s) => s.as_mut_ptr().cast(),
            SliceMut::U32(s) => s.as_mut_ptr().cast(),
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        match self {
            SliceMut::F32(_) => DType::F32,
            SliceMut::F64(_) => DType::F64,
            SliceMut::U32(_) => DType::U32,
        }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            SliceMut::F32(s) => s.len(),
            SliceMut::F64(s) => s.len(),
            SliceMut::U32(s) => s.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Element types that can be taken out of a tagged slice.
pub trait Typed: Element {
    /// The slice, which must hold this type.
    fn slice(slice: Slice<'_>) -> &[Self];
    /// The mutable slice, which must hold this type.
    fn slice_mut<'s>(slice: &'s mut SliceMut<'_>) -> &'s mut [Self];
    /// Tags a slice.
    fn tag(slice: &[Self]) -> Slice<'_>;
    /// Tags a mutable slice.
    fn tag_mut(slice: &mut [Self]) -> SliceMut<'_>;
}

macro_rules! typed {
    ($($t:ty => $tag:ident),*) => {$(
        impl Typed for $t {
            #[inline]
            fn slice(slice: Slice<'_>) -> &[Self] {
                match slice {
                    Slice::$tag(s) => s,
                    other => unreachable!("kernel expected {}, got {other:?}", <$t>::DTYPE),
                }
            }
            #[inline]
            fn slice_mut<'s>(slice: &'s mut SliceMut<'_>) -> &'s mut [Self] {
                match slice {
                    SliceMut::$tag(s) => s,
                    other => unreachable!("kernel expected {}, got {}", <$t>::DTYPE, other.dtype()),
                }
            }
            #[inline]
            fn tag(slice: &[Self]) -> Slice<'_> {
                Slice::$tag(slice)
            }
            #[inline]
            fn tag_mut(slice: &mut [Self]) -> SliceMut<'_> {
                SliceMut::$tag(slice)
            }
        }
    )*};
}
typed!(f32 => F32, f64 => F64, u32 => U32);

/// A floating-point type that an array may hold: a [`Real`] with its tag.
pub trait Number: Real + Typed {}

impl<T: Real + Typed> Number for T {}

/// Runs `$body` with `$T` standing for the floating-point type tagged by `$dtype`.
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::array::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::array::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::array::DType::U32 => {
                unreachable!("operators on numbers never infer an index type")
            }
        }
    };
}
pub(crate) use with_real;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_within_a_limit_up_to_the_limit() {
        fn check<T: Real>(inside: &[T], outside: &[T]) {
            let limit = T::of(2.0);
            // At the end of the first hundred, and after it.
            for before in [0, 127, 128, 300] {
                let with = |x: T| [vec![T::of(-2.0); before], vec![x]].concat();
                for &x in inside {
                    assert!(all_within(&with(x), limit), "{x:?} after {before}");
                }
                for &x in outside {
                    assert!(!all_within(&with(x), limit), "{x:?} after {before}");
                    assert_eq!(all_finite(&with(x)), x.is_finite(), "{x:?} after {before}");
                }
            }
            assert!(all_within::<T>(&[], limit) && all_finite::<T>(&[]));
        }
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        check(
            &[2.0, -2.0, 0.0, -0.0, 5e-324],
            &[2.0_f64.next_up(), f64::MIN, nan, inf, -inf],
        );
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        check(
            &[2.0, -2.0, 0.0, -0.0, 1e-45],
            &[2.0_f32.next_up(), f32::MAX, nan, inf, -inf],
        );
    }
}
