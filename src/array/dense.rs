//! Arrays of one element type, and where their elements are.
//!
//! A single number is stored in the array itself. Up to 16 elements that an operator computes are
//! stored in one allocation with their reference count, where a vector would need a second one:
//! allocating is what small arrays spend their time on. All else is stored in a vector, whose
//! memory may come from an earlier array ([`buffer`]) and may go to NumPy.

use std::fmt;

use super::buffer::{self, Buffer};
use super::shared::Shared;
use super::{Element, Shape, Type, copied, element_count, filled, shape, size, vec_for};
use crate::error::{Error, Result};

/// Most elements of an array that is stored with its reference count.
const FEW: usize = 16;

#[derive(Clone)]
enum Data<T: Element> {
    One(T),
    /// Memory for [`FEW`] elements, and how many of them, from the first on, are the array's.
    Few(Shared<[T; FEW]>, u8),
    Many(Shared<Buffer<T>>),
}

/// A contiguous array of one static element type.
pub struct Dense<T: Element> {
    shape: Shape,
    data: Data<T>,
}

impl<T: Element> Clone for Dense<T> {
    #[inline]
    fn clone(&self) -> Self {
        Dense {
            shape: copied(&self.shape),
            data: self.data.clone(),
        }
    }
}

/// A copy of the elements of an array.
fn copy<T: Element>(shape: &[usize], elements: &[T]) -> Result<Vec<T>> {
    let mut data = vec_for(shape)?;
    data.extend_from_slice(elements);
    Ok(data)
}

impl<T: Element> fmt::Debug for Dense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.as_slice();
        write!(f, "{} ", Type::new(T::DTYPE, &self.shape))?;
        if s.len() <= 8 {
            write!(f, "{s:?}")
        } else {
            write!(f, "{:?}…", &s[..8])
        }
    }
}

/// Arrays are equal if their shapes are, and their elements as numbers: NaN is not equal to itself.
impl<T: Element> PartialEq for Dense<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.as_slice() == other.as_slice()
    }
}

impl<T: Element> Dense<T> {
    /// An array from a shape and its elements in C order.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements is not what the shape holds.
    pub fn new(shape: &[usize], data: Vec<T>) -> Result<Self> {
        let expected = element_count(shape)?;
        if data.len() != expected {
            return Err(Error::Shape(format!(
                "{} elements do not fill shape {}",
                data.len(),
                shape::show(shape)
            )));
        }
        Ok(Self::from_vec(copied(shape), data))
    }

    /// As [`new`](Self::new), of a shape whose number of elements is known to be valid.
    ///
    /// # Panics
    /// If the shape does not hold as many elements as there are. Unsafe code takes an array's
    /// shape for the size of its memory, so this is compared in release builds too.
    pub(crate) fn from_vec(shape: Shape, data: Vec<T>) -> Self {
        assert_eq!(size(&shape), data.len(), "an array has all its elements");
        let data = match (shape.is_empty(), data.first()) {
            (true, Some(&x)) => Data::One(x),
            _ => Data::Many(Shared::new(Buffer::once(data))),
        };
        Dense { shape, data }
    }

    /// An array of copies of elements that are in memory of others.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    ///
    /// # Panics
    /// As [`from_vec`](Self::from_vec).
    #[inline]
    pub(crate) fn copy_of(shape: &[usize], elements: &[T]) -> Result<Self> {
        let count = elements.len();
        assert_eq!(size(shape), count, "an array has all its elements");
        let data = match elements {
            [x] if shape.is_empty() => Data::One(*x),
            _ if count <= FEW => {
                // What is behind is as the first, so that to compute with it takes no longer.
                let mut few = [elements.first().copied().unwrap_or_default(); FEW];
                few[..count].copy_from_slice(elements);
                Data::Few(Shared::new(few), count as u8)
            }
            _ => Data::Many(Shared::new(Buffer::once(copy(shape, elements)?))),
        };
        Ok(Dense {
            shape: copied(shape),
            data,
        })
    }

    /// A single number.
    #[inline]
    pub fn scalar(value: T) -> Self {
        Dense {
            shape: Shape::new(),
            data: Data::One(value),
        }
    }

    /// An array whose elements are all `value`.
    ///
    /// # Panics
    /// If the shape is too large for any memory or there is not the memory now; see
    /// [`Dense::zeros`] for a shape that is not known to be small.
    pub fn full(shape: &[usize], value: T) -> Self {
        let data = element_count(shape).and_then(|count| filled(count, value));
        Self::from_vec(shape.into(), data.unwrap_or_else(|e| panic!("{e}")))
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape is too large for any memory, [`Error::Memory`] if there
    /// is not the memory now.
    pub fn zeros(shape: &[usize]) -> Result<Self> {
        if shape.is_empty() {
            return Ok(Self::scalar(T::default()));
        }
        let data = filled(element_count(shape)?, T::default())?;
        Ok(Self::from_vec(copied(shape), data))
    }

    /// An array whose elements are arbitrary until the caller has written them all.
    ///
    /// # Errors
    /// As [`Dense::zeros`].
    #[inline]
    pub(super) fn scratch(shape: &[usize]) -> Result<Self> {
        let count = element_count(shape)?;
        if shape.is_empty() {
            return Ok(Self::scalar(T::default()));
        }
        let data = if count <= FEW {
            Data::Few(Shared::new([T::default(); FEW]), count as u8)
        } else {
            let data = match buffer::take(count) {
                Some(data) => data,
                None => filled(count, T::default())?,
            };
            Data::Many(Shared::new(Buffer::again(data)))
        };
        Ok(Dense {
            shape: copied(shape),
            data,
        })
    }

    /// Length of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in C order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.data {
            Data::One(x) => std::slice::from_ref(x),
            Data::Few(v, count) => &v[..usize::from(*count)],
            Data::Many(v) => v,
        }
    }

    /// The elements for writing; copied first if they are shared.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory for a copy. Nothing is changed then.
    pub fn make_mut(&mut self) -> Result<&mut [T]> {
        if self.parts_mut().is_none() {
            self.data = match &self.data {
                Data::One(x) => Data::One(*x),
                Data::Few(v, count) => Data::Few(Shared::new(**v), *count),
                Data::Many(v) => Data::Many(Shared::new(Buffer::once(copy(&self.shape, v)?))),
            };
        }
        match self.parts_mut() {
            Some((_, elements)) => Ok(elements),
            None => unreachable!("nobody else holds the copy"),
        }
    }

    /// Changes the elements to others, if these are as many and nobody else holds the array; whether it did.
    #[inline]
    pub(super) fn overwrite(&mut self, elements: &[T]) -> bool {
        match self.parts_mut() {
            Some((_, to)) if to.len() == elements.len() => {
                to.copy_from_slice(elements);
                true
            }
            _ => false,
        }
    }

    /// Becomes another number, if both are single numbers; whether it did.
    #[inline]
    pub(super) fn replace_number(&mut self, by: &Self) -> bool {
        match (&mut self.data, &by.data) {
            (Data::One(to), &Data::One(by)) => {
                *to = by;
                true
            }
            _ => false,
        }
    }

    /// The number, if this is a single number and not an array of one.
    #[inline]
    pub(super) fn number(&self) -> Option<&[T]> {
        match &self.data {
            Data::One(x) => Some(std::slice::from_ref(x)),
            _ => None,
        }
    }

    /// The shape, and the elements for writing if they are not shared.
    #[inline]
    pub(crate) fn parts_mut(&mut self) -> Option<(&[usize], &mut [T])> {
        let data = match &mut self.data {
            Data::One(x) => std::slice::from_mut(x),
            Data::Few(v, count) => &mut v.get_mut()?[..usize::from(*count)],
            Data::Many(v) => v.get_mut()?.as_mut_slice(),
        };
        Some((&self.shape, data))
    }

    /// The memory of several elements that are stored with their reference count: [`FEW`], of which the first
    /// are the array's.
    #[inline]
    pub(super) fn block(&self) -> Option<&[T]> {
        match &self.data {
            Data::Few(v, 2..) => Some(&v[..]),
            _ => None,
        }
    }

    /// As [`block`](Self::block), for writing, if they are not shared.
    #[inline]
    pub(super) fn block_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.data {
            Data::Few(v, 2..) => Some(&mut v.get_mut()?[..]),
            _ => None,
        }
    }

    /// The same elements under another shape of equal size.
    ///
    /// # Panics
    /// As [`from_vec`](Self::from_vec).
    pub(crate) fn with_shape(&self, shape: &[usize]) -> Self {
        assert_eq!(
            size(shape),
            self.as_slice().len(),
            "another shape has as many elements"
        );
        match &self.data {
            data @ (Data::Few(..) | Data::Many(_)) if !shape.is_empty() => Dense {
                shape: copied(shape),
                data: data.clone(),
            },
            _ => Self::from_vec(shape.into(), self.as_slice().to_vec()),
        }
    }

    /// Whether the elements are shared, as far as is known now.
    pub(super) fn is_shared(&self) -> bool {
        match &self.data {
            Data::One(_) => false,
            Data::Few(v, _) => v.is_shared(),
            Data::Many(v) => v.is_shared(),
        }
    }

    /// Changes the shape to another one of equal size.
    ///
    /// # Panics
    /// As [`from_vec`](Self::from_vec).
    pub(super) fn set_shape(&mut self, shape: &[usize]) {
        if !super::equal_shapes(&self.shape, shape) {
            *self = self.with_shape(shape);
        }
    }

    /// Moves the elements out, copying them only if they are shared.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory for a copy.
    pub fn into_vec(self) -> Result<Vec<T>> {
        match self.data {
            Data::One(x) => Ok(vec![x]),
            Data::Few(v, count) => Ok(v[..usize::from(count)].to_vec()),
            Data::Many(v) => match v.try_unwrap() {
                Ok(v) => Ok(v.into_vec()),
                Err(v) => copy(&self.shape, &v),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_is_not_to_be_written() {
        for count in [2, 10, FEW, FEW + 1, 100] {
            let mut array = Dense::<f64>::scratch(&[count]).unwrap();
            let other = array.clone();
            assert!(array.parts_mut().is_none() && array.block_mut().is_none());
            assert!(!array.overwrite(&vec![1.0; count]));
            // Another thread may be the last to drop it.
            std::thread::spawn(|| drop(other)).join().unwrap();
            assert_eq!(array.parts_mut().unwrap().1.len(), count);
            assert!(!array.overwrite(&vec![1.0; count + 1]));
            assert!(array.overwrite(&vec![1.0; count]));
            assert_eq!(array.as_slice(), vec![1.0; count]);
        }
    }

    #[test]
    fn a_number_replaces_a_number_and_no_array_of_one() {
        let number = Dense::scalar(1.5);
        let one = Dense::new(&[1], vec![1.5]).unwrap();
        for special in [-0.0, f64::NAN, f64::INFINITY, 5e-324] {
            let mut replaced = number.clone();
            assert!(replaced.replace_number(&Dense::scalar(special)));
            assert_eq!(replaced.as_slice()[0].to_bits(), special.to_bits());
            assert!(replaced.shape().is_empty());
        }
        for (mut to, by) in [
            (number.clone(), &one),
            (one.clone(), &number),
            (one.clone(), &one),
        ] {
            let before = to.shape().to_vec();
            assert!(!to.replace_number(by));
            assert_eq!((to.shape(), to.as_slice()), (&before[..], &[1.5][..]));
        }
    }

    #[test]
    fn several_elements_that_are_few_have_a_block() {
        for count in 0..FEW + 3 {
            let elements: Vec<f64> = (0..count).map(|i| i as f64 + 0.5).collect();
            let mut array = Dense::copy_of(&[count], &elements).unwrap();
            let has_one = (2..=FEW).contains(&count);
            assert_eq!(array.block().map(<[f64]>::len), has_one.then_some(FEW));
            assert_eq!(array.block_mut().is_some(), has_one);
            if let Some(block) = array.block() {
                assert_eq!(block[..count], elements);
                assert!(block[count..].iter().all(|&x| x == 0.5));
            }
        }
    }
}
