//! Operators that give elements another place or shape, and compute nothing of them.

files! { reshape, transpose, broadcast, slice, join, triangle, diagonal }
