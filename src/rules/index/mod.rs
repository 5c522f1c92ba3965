//! Operators that find elements by integers, and the transposes of these.

files! { lookup, along_axis, places, integers }
