//! Operators over the lanes of an axis, or of several: what many elements become together.

files! { reduce, softmax, order }
