//! Scattering: what operators that add values to zeros say of themselves. What that is for, and the limit, stand
//! at [`Scatter`].

use super::SliceItem;
use crate::array::{View, ViewMut};
use crate::error::Result;

/// An operator that adds values to zeros.
///
/// The gradient of a lookup or of a slice is an array of zeros to which a few values are added. It is
/// never made where that can be helped. The differentiator adds up such gradients in one instruction
/// ([`Accumulate`](super::Accumulate)), in place, so that each costs what it adds; and where they add
/// whole rows of a parameter, graphs and programs carry the rows themselves to the optimizer.
///
/// Limit: rows are those along the first axis.
pub trait Scatter {
    /// Adds to `out` what the operator puts into zeros, and nothing else: `out` has the type of the
    /// result, and the operator's value is what this makes of zeros.
    ///
    /// # Errors
    /// As [`Operator::eval`](super::Operator::eval).
    fn add(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()>;

    /// The operand that has the type of the result and is not [read](super::Operator::reads), if there is
    /// one. Where something is there that is added to, it is left out, and `add` gets a view without
    /// elements in its place.
    fn like(&self) -> Option<usize> {
        None
    }

    /// Which rows of the result it adds to, if that is all it does. It is compared with the types
    /// wherever it is relied on.
    fn rows(&self) -> Option<ScatteredRows<'_>> {
        None
    }

    /// The parts that it adds up, if it is a sum of several.
    #[doc(hidden)]
    fn accumulation(&self) -> Option<&super::Accumulate> {
        None
    }
}

/// Rows of an array, along its first axis, that an operator adds to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ScatteredRows<'a> {
    /// Those that an operand of indices names: one row of operand `rows` for each.
    Index {
        /// The operand that holds the rows: of the shape of the index, followed by that of a row.
        rows: usize,
        /// The operand that holds their numbers.
        index: usize,
    },
    /// Those of a basic slice, which an operand fills.
    Slice {
        /// The operand, which has the shape of the slice.
        values: usize,
        /// The slice.
        items: &'a [SliceItem],
    },
    /// Those in bags, as [`Bag`](super::Bag) has them: at each place of a bag the bag's row, times the
    /// weight of the place.
    Bags {
        /// The operand that holds a row for each bag: of the shape of the index, followed by that of
        /// a row.
        values: usize,
        /// The operand that holds the numbers of the bags.
        index: usize,
        /// The operand that holds the number of the row at each place.
        ids: usize,
        /// The operand that holds where the places of each bag begin and end.
        offsets: usize,
        /// The operand that holds the weights, if there are.
        weights: Option<usize>,
    },
}

impl ScatteredRows<'_> {
    /// One row of operand `rows` for each element of operand `index`.
    pub fn index(rows: usize, index: usize) -> Self {
        ScatteredRows::Index { rows, index }
    }
}
