//! Operators that find elements by integers, and the transposes of these.

files! { lookup, bag, accumulate, along_axis, element, flat_index, integers, replace_row }

pub(in crate::rules) use accumulate::zero;
pub(super) use lookup::index;
