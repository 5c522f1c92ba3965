//! Operators over the lanes of an axis, or of several: what many elements become together.

pub(super) mod lanes;

files! { reduce, norm, softmax, order, cumsum, recurrence }
