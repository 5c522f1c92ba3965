pub mod array;
pub mod error;
pub mod rules;
pub mod simd;
