//! Lengths of inputs that were read as integers while a graph was built: what is made of them is right for
//! these lengths alone. [`asked_lengths`] records them, [`length_guards`] compares them.

pub(super) mod asked_lengths;
pub(super) mod length_guards;
