//! Arrays: the values that flow through graphs and programs.
//!
//! An [`Array`] is immutable, contiguous in C order, cheap to clone (the elements
//! are shared) and tagged with its element type at run time, since graphs are
//! composed at run time. A single number is stored in place and costs no
//! allocation: scalar models are a first-class use.
//!
//! Limits: no strides. A transpose moves its elements, so operators that can use
//! a transposed operand (matrix products) say so in their own attributes.
//! `ndarray` arrays convert in both directions; numbers, vectors, slices and arrays of Rust become an [`Array`].

mod buffer;
mod conversions;
mod dense;
mod dtype;
mod shape;
mod shared;
mod summary;
mod view;

use std::fmt;

pub use dense::Dense;
pub use dtype::{DType, Element};
pub use shape::{Broadcast, Shape, broadcast, element_count, normalize_axis, show as show_shape};
pub(crate) use shape::{equal_shapes, size};
pub(crate) use shared::Shared;
pub use summary::Summary;
pub use view::{Number, Slice, SliceMut, Typed, View, ViewMut};
pub(crate) use view::{all_finite, all_within, with_real};

use crate::error::{Error, Result};
use crate::reserve;
pub use crate::simd::Real;

/// Axes that an array may have, as in NumPy.
pub const MOST_AXES: usize = 64;

/// A copy of a shape. `SmallVec::clone` copies element by element, which takes longer than most
/// operators on single numbers do.
#[inline]
pub(crate) fn copied(shape: &[usize]) -> Shape {
    if shape.is_empty() {
        Shape::new()
    } else {
        Shape::from_slice(shape)
    }
}

/// The type of a value: what its elements are, and how many along each axis.
#[derive(PartialEq, Eq, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// Length of each axis.
    pub shape: Shape,
}

impl Clone for Type {
    #[inline]
    fn clone(&self) -> Self {
        Type::new(self.dtype, &self.shape)
    }
}

impl Type {
    /// A type from its parts.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Type {
            dtype,
            shape: copied(shape),
        }
    }

    /// The type of a single number.
    pub fn scalar(dtype: DType) -> Self {
        Type::new(dtype, &[])
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements. Of a shape that [`element_count`] does not take, with more than there are numbers,
    /// it is [`usize::MAX`].
    pub fn size(&self) -> usize {
        size(&self.shape)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.dtype {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::U32 => "u32",
        };
        let dims: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        write!(f, "{name}[{}]", dims.join(", "))
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An empty vector with room for the elements of a shape known to be valid.
///
/// # Errors
/// [`Error::Memory`] if there is not the memory.
pub(crate) fn vec_for<T>(shape: &[usize]) -> Result<Vec<T>> {
    let mut data = Vec::new();
    match data.try_reserve_exact(size(shape)) {
        // The reserve is not for arrays.
        Ok(()) => reserve::check().map(|()| data),
        Err(_) => Err(Error::Memory(format!(
            "there is no memory for an array of shape {}",
            shape::show(shape)
        ))),
    }
}

/// A vector of `count` equal elements.
///
/// # Errors
/// [`Error::Memory`] if there is not the memory.
pub(crate) fn filled<T: Clone>(count: usize, x: T) -> Result<Vec<T>> {
    let mut data = vec_for(&[count])?;
    data.resize(count, x);
    Ok(data)
}

/// An array whose element type is known at run time. Arrays are equal if element type, shape and numbers are.
///
/// ```
/// use wyrmling::{Array, Parameter};
///
/// let weights = Parameter::new([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// assert_eq!(weights.value()?.shape(), [2, 3]);
/// let numbers: ndarray::Array2<f32> = weights.value()?.try_into()?;
/// assert_eq!(numbers[[1, 0]], 4.0);
/// assert_eq!(Array::from(&[0_u32, 2][..]).dtype(), wyrmling::DType::U32);
/// # Ok::<(), wyrmling::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub enum Array {
    /// Single precision.
    F32(Dense<f32>),
    /// Double precision.
    F64(Dense<f64>),
    /// Row indices.
    U32(Dense<u32>),
}

/// Runs `$body` with `$dense` bound to the typed array inside `$array`.
macro_rules! with_dense {
    ($array:expr, $dense:ident => $body:expr) => {
        match $array {
            $crate::array::Array::F32($dense) => $body,
            $crate::array::Array::F64($dense) => $body,
            $crate::array::Array::U32($dense) => $body,
        }
    };
}

#[cfg(feature = "python")]
pub(crate) use with_dense;

impl Array {
    /// A single number of floating-point type `dtype` (an index type rounds down).
    pub fn scalar(dtype: DType, value: f64) -> Self {
        match dtype {
            DType::F32 => Array::F32(Dense::scalar(value as f32)),
            DType::F64 => Array::F64(Dense::scalar(value)),
            DType::U32 => Array::U32(Dense::scalar(value as u32)),
        }
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// As [`Dense::zeros`].
    pub fn zeros(ty: &Type) -> Result<Self> {
        Ok(match ty.dtype {
            DType::F32 => Array::F32(Dense::zeros(&ty.shape)?),
            DType::F64 => Array::F64(Dense::zeros(&ty.shape)?),
            DType::U32 => Array::U32(Dense::zeros(&ty.shape)?),
        })
    }

    /// An array whose elements are arbitrary until the operator has written them all.
    ///
    /// # Errors
    /// As [`Dense::zeros`].
    #[inline]
    pub(crate) fn scratch(dtype: DType, shape: &[usize]) -> Result<Self> {
        Ok(match dtype {
            DType::F32 => Array::F32(Dense::scratch(shape)?),
            DType::F64 => Array::F64(Dense::scratch(shape)?),
            DType::U32 => Array::U32(Dense::scratch(shape)?),
        })
    }

    /// An array of type `ty` with every element `value`.
    ///
    /// # Panics
    /// As [`Dense::full`].
    pub fn full(ty: &Type, value: f64) -> Self {
        match ty.dtype {
            DType::F32 => Array::F32(Dense::full(&ty.shape, value as f32)),
            DType::F64 => Array::F64(Dense::full(&ty.shape, value)),
            DType::U32 => Array::U32(Dense::full(&ty.shape, value as u32)),
        }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Array::F32(_) => DType::F32,
            Array::F64(_) => DType::F64,
            Array::U32(_) => DType::U32,
        }
    }

    /// Length of each axis.
    pub fn shape(&self) -> &[usize] {
        with_dense!(self, d => d.shape())
    }

    /// Element type and shape.
    pub fn ty(&self) -> Type {
        Type::new(self.dtype(), self.shape())
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        size(self.shape())
    }

    /// The number, if this is a single number (not an array of one) of type `T`.
    #[inline]
    pub(crate) fn number<T: Typed>(&self) -> Option<T> {
        let slice = match self {
            Array::F32(d) => Slice::F32(d.number()?),
            Array::F64(d) => Slice::F64(d.number()?),
            Array::U32(_) => return None,
        };
        (slice.dtype() == T::DTYPE).then(|| T::slice(slice)[0])
    }

    /// What kernels read.
    #[inline]
    pub fn view(&self) -> View<'_> {
        match self {
            Array::F32(d) => View::new(d.shape(), Slice::F32(d.as_slice())),
            Array::F64(d) => View::new(d.shape(), Slice::F64(d.as_slice())),
            Array::U32(d) => View::new(d.shape(), Slice::U32(d.as_slice())),
        }
    }

    /// The elements in C order.
    #[inline(always)]
    pub(crate) fn elements(&self) -> Slice<'_> {
        match self {
            Array::F32(d) => Slice::F32(d.as_slice()),
            Array::F64(d) => Slice::F64(d.as_slice()),
            Array::U32(d) => Slice::U32(d.as_slice()),
        }
    }

    /// What kernels write, if the elements are not shared.
    pub(crate) fn view_mut(&mut self) -> Option<ViewMut<'_>> {
        let (shape, data) = match self {
            Array::F32(d) => d.parts_mut().map(|(s, x)| (s, SliceMut::F32(x)))?,
            Array::F64(d) => d.parts_mut().map(|(s, x)| (s, SliceMut::F64(x)))?,
            Array::U32(d) => d.parts_mut().map(|(s, x)| (s, SliceMut::U32(x)))?,
        };
        Some(ViewMut { shape, data })
    }

    /// As [`Dense::block`].
    #[inline(always)]
    pub(crate) fn block(&self) -> Option<Slice<'_>> {
        Some(match self {
            Array::F32(d) => Slice::F32(d.block()?),
            Array::F64(d) => Slice::F64(d.block()?),
            Array::U32(d) => Slice::U32(d.block()?),
        })
    }

    /// As [`Dense::block_mut`].
    #[inline(always)]
    pub(crate) fn block_mut(&mut self) -> Option<SliceMut<'_>> {
        Some(match self {
            Array::F32(d) => SliceMut::F32(d.block_mut()?),
            Array::F64(d) => SliceMut::F64(d.block_mut()?),
            Array::U32(d) => SliceMut::U32(d.block_mut()?),
        })
    }

    /// The same elements under another shape of equal size.
    pub(crate) fn with_shape(&self, shape: &[usize]) -> Self {
        match self {
            Array::F32(d) => Array::F32(d.with_shape(shape)),
            Array::F64(d) => Array::F64(d.with_shape(shape)),
            Array::U32(d) => Array::U32(d.with_shape(shape)),
        }
    }

    /// Changes the shape to another one of equal size.
    pub(crate) fn set_shape(&mut self, shape: &[usize]) {
        with_dense!(self, d => d.set_shape(shape));
    }

    /// Whether the elements are shared, as far as is known now.
    pub(crate) fn is_shared(&self) -> bool {
        with_dense!(self, d => d.is_shared())
    }

    /// The same numbers in another floating-point type, rounded to nearest; indices stay
    /// indices.
    ///
    /// # Panics
    /// If there is not the memory; see [`Array::try_to_dtype`].
    pub fn to_dtype(&self, dtype: DType) -> Self {
        self.try_to_dtype(dtype).unwrap_or_else(|e| panic!("{e}"))
    }

    /// As [`Array::to_dtype`].
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub fn try_to_dtype(&self, dtype: DType) -> Result<Self> {
        fn convert<S: Number, T: Number>(d: &Dense<S>) -> Result<Dense<T>> {
            let mut data = vec_for(d.shape())?;
            data.extend(d.as_slice().iter().map(|x| T::of(x.to())));
            Ok(Dense::from_vec(copied(d.shape()), data))
        }
        Ok(match (self, dtype) {
            (Array::F32(d), DType::F64) => Array::F64(convert(d)?),
            (Array::F64(d), DType::F32) => Array::F32(convert(d)?),
            _ => self.clone(),
        })
    }

    /// The elements as `f64`, whatever the element type.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Array::F32(d) => d.as_slice().iter().map(|&x| f64::from(x)).collect(),
            Array::F64(d) => d.as_slice().to_vec(),
            Array::U32(d) => d.as_slice().iter().map(|&x| f64::from(x)).collect(),
        }
    }

    /// The only element.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not exactly one element.
    pub fn item(&self) -> Result<f64> {
        if self.size() != 1 {
            return Err(Error::Shape(format!(
                "expected exactly one element, as one number is asked for; got shape {}",
                shape::show(self.shape())
            )));
        }
        Ok(self.element(0))
    }

    /// Element `k`, as the last axis runs fastest.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn element(&self, k: usize) -> f64 {
        match self {
            Array::F32(d) => f64::from(d.as_slice()[k]),
            Array::F64(d) => d.as_slice()[k],
            Array::U32(d) => f64::from(d.as_slice()[k]),
        }
    }

    /// An array of copies of elements that are in memory of others.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(crate) fn copy_of(view: View<'_>) -> Result<Self> {
        Ok(match view.data {
            Slice::F32(from) => Dense::copy_of(view.shape, from)?.into(),
            Slice::F64(from) => Dense::copy_of(view.shape, from)?.into(),
            Slice::U32(from) => Dense::copy_of(view.shape, from)?.into(),
        })
    }

    /// Becomes a copy of another array: in its own memory, if it has the type and is not shared.
    ///
    /// # Errors
    /// As [`copy_of`](Self::copy_of); nothing is changed then.
    pub(crate) fn assign(&mut self, from: View<'_>) -> Result<()> {
        if !equal_shapes(self.shape(), from.shape) || !self.overwrite(from.data) {
            *self = Self::copy_of(from)?;
        }
        Ok(())
    }

    /// Changes the elements to others, if these are as many and of the same type, and the array is not
    /// shared; whether it did.
    pub(crate) fn overwrite(&mut self, elements: Slice<'_>) -> bool {
        match (self, elements) {
            (Array::F32(to), Slice::F32(elements)) => to.overwrite(elements),
            (Array::F64(to), Slice::F64(elements)) => to.overwrite(elements),
            (Array::U32(to), Slice::U32(elements)) => to.overwrite(elements),
            _ => false,
        }
    }

    /// Becomes another number, if both are single numbers of one type; whether it did.
    #[inline]
    pub(crate) fn replace_number(&mut self, by: &Array) -> bool {
        match (self, by) {
            (Array::F32(to), Array::F32(by)) => to.replace_number(by),
            (Array::F64(to), Array::F64(by)) => to.replace_number(by),
            (Array::U32(to), Array::U32(by)) => to.replace_number(by),
            _ => false,
        }
    }

    /// Whether every element is finite.
    pub fn is_finite(&self) -> bool {
        self.view().data.is_finite()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_dense!(self, d => fmt::Debug::fmt(d, f))
    }
}
