//! The element types: `f32` and `f64` carry numbers, `u32` carries row indices.
//!
//! Kernels are generic over [`Real`](crate::simd::Real), the types themselves, without this tag.
//! Indices are a type of their own and never take part in arithmetic; 32 bits address 4 billion
//! rows and halve the memory of a column of ids.

use std::fmt;

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// Row indices.
    U32,
}

impl DType {
    /// NumPy's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::U32 => "uint32",
        }
    }

    /// Size of one element in bytes.
    pub fn size(self) -> usize {
        match self {
            DType::F32 | DType::U32 => 4,
            DType::F64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub fn is_real(self) -> bool {
        self != DType::U32
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Keeps other crates, which cannot name it, from implementing [`Element`].
mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u32 {}
}

/// A plain element type of an array.
///
/// The trait is sealed, and with it [`Typed`](super::Typed) and [`Real`](super::Real): unsafe code takes
/// memory of type `DTYPE` for memory of the implementing type. `f32`, `f64` and `u32` are all
/// there are; each has the size and alignment of its tag, no padding, and a value for any bits.
///
/// ```compile_fail
/// #[derive(Debug, Clone, Copy, Default, PartialEq)]
/// struct Wide([f64; 8]);
/// impl wyrmling::array::Element for Wide {
///     const DTYPE: wyrmling::DType = wyrmling::DType::F32; // It is 16 times as large.
/// }
/// ```
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The tag of this type.
    const DTYPE: DType;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
}
impl Element for f64 {
    const DTYPE: DType = DType::F64;
}
impl Element for u32 {
    const DTYPE: DType = DType::U32;
}
