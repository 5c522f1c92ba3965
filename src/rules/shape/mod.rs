//! Operators that move, repeat, keep or drop elements: shapes, axes, parts and diagonals.

files! { reshape, transpose, broadcast, slice, join, triangle, diagonal }
