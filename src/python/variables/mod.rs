//! Variables as Python's objects: what they hold, their operators, items, views and iteration.

pub(super) mod collect;
pub(super) mod drawing;
pub(super) mod elements;
pub(super) mod handle;
pub(super) mod holders;
pub(super) mod hook;
pub(super) mod index;
pub(super) mod integers;
pub(super) mod iteration;
pub(super) mod leaf;
pub(super) mod length;
pub(super) mod operand;
pub(super) mod operators;
pub(super) mod plain;
pub(super) mod python_numbers;
pub(super) mod registry;
pub(super) mod repr;
pub(super) mod sparse;
pub(super) mod variable;
pub(super) mod view;
