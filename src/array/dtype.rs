//! The element types: `f32` and `f64` carry numbers, `u32` carries row indices.
//!
//! What kernels are generic over is [`Real`](crate::simd::Real), which knows nothing of tags.
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

/// A plain element type of an array.
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
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
