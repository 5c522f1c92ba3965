//! Lengths of inputs that were read as integers while a graph was built: what is made of them is right for
//! these lengths alone. [`changed_lengths`] finds which inputs an integer depends on, [`asked_lengths`] records
//! their lengths, [`length_guards`] compares them.

pub(super) mod asked_lengths;
pub(super) mod changed_lengths;
pub(super) mod length_guards;
