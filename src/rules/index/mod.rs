//! Operators that find elements by integers, and the transposes of these.

files! { lookup, bag, accumulate, along_axis, flat_index, integers, part_at, replace_row }

pub(in crate::rules) use accumulate::zero;
pub(super) use lookup::index;
