//! Operators over the lanes of an axis, or of several: what many elements become together.

pub(super) mod lanes;

files! { reduce, extreme, norm, softmax, order, cumsum, recurrence }
