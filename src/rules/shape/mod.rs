//! Operators that move, repeat, keep or drop elements: shapes, axes, parts and diagonals.

files! { reshape, transpose, broadcast, slice, slice_rows, join, triangle, diagonal }

pub(crate) use slice_rows::Region;
