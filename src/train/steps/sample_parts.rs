//! What the staged parts of a sample are to a function, and whether they are what it takes them for.

use std::sync::Arc;

use crate::array::DType;
use crate::error::{Error, Result};
use crate::exec::{Leaf, LossArgument};
use crate::train::data::feeds::{Feed, Feeds};
use crate::train::data::ragged::Ragged;

/// What a feed's staged value is to the function.
#[derive(Debug, Clone)]
pub enum SampleValue {
    /// An integer below 2³².
    Int,
    /// An integer of 64 bits: two words, the lower one first.
    WideInt,
    /// A truth value, 0 or 1.
    Bool,
    /// A floating-point number, of 64 bits whatever the column has.
    Float,
    /// An array with the column's type.
    Row,
    /// The entry of this number, which is an array.
    Entry(Arc<Ragged>),
    /// Items that are drawn for each element of entries
    /// ([`Source::PerEntry`](crate::train::Source::PerEntry)): an array of this shape.
    Drawn(Vec<DrawnLength>),
}

/// The length of one axis of what is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnLength {
    /// The same for every sample.
    Fixed(usize),
    /// That of the first axis of this feed's value.
    Of(usize),
}

/// How many numbers of a sample a value is read from, and whether they are indices; `None` for an array of
/// any.
fn staged(value: &SampleValue) -> Option<(usize, bool)> {
    match value {
        SampleValue::Int | SampleValue::Bool | SampleValue::Entry(_) => Some((1, true)),
        SampleValue::WideInt | SampleValue::Drawn(_) => Some((2, true)),
        SampleValue::Float => Some((1, false)),
        SampleValue::Row => None,
    }
}

/// Refuses arguments that are parts of a sample which there are not.
///
/// # Errors
/// [`Error::Value`].
fn check_place(what: &str, place: usize, count: usize) -> Result<()> {
    match place < count {
        true => Ok(()),
        false => Err(Error::Value(format!(
            "{what} is part {place} of a sample, expected less than {count}, the number of parts"
        ))),
    }
}

/// Compares what is staged with what its values are to a function with these open arguments.
///
/// # Errors
/// [`Error::Value`] for a part that is no input, and for one that is asked for and is not there;
/// [`Error::Type`] and [`Error::Shape`] for a part that is staged otherwise; [`Error::Index`] for an
/// entry that is not there.
pub(in crate::train) fn check_parts(
    arguments: &[(usize, LossArgument)],
    leaves: &[Leaf],
    values: &[SampleValue],
    feeds: &Feeds,
) -> Result<()> {
    for (at, argument) in arguments {
        if let LossArgument::Feed(feed) = argument {
            check_place(&format!("argument {at}"), *feed, values.len())?;
        }
    }
    let staged_rows = leaves
        .iter()
        .zip(values)
        .zip(feeds.feeds.iter().zip(feeds.rows()));
    for ((leaf, value), (feed, row)) in staged_rows {
        let Leaf::Input { ty, name, .. } = leaf else {
            return Err(Error::Value(format!(
                "{}: expected an input for a part of a sample",
                leaf.label()
            )));
        };
        if let Some((count, are_indices)) = staged(value) {
            if are_indices && ty.dtype != DType::U32 {
                return Err(Error::Type(format!(
                    "input '{name}': expected uint32 for this part of a sample, got {}",
                    ty.dtype
                )));
            }
            if row != count {
                return Err(Error::Shape(format!(
                    "input '{name}': expected {count} numbers a sample, got {row}"
                )));
            }
        }
        match value {
            SampleValue::Entry(ragged) => {
                let what = || format!("input '{name}'");
                match feed {
                    Feed::Column { data, .. } => data.check(what, ragged.len())?,
                    Feed::Drawn { by, .. } if by.item_count() as usize <= ragged.len() => {}
                    Feed::Drawn { .. } | Feed::Rank { .. } => {
                        return Err(Error::Index(format!(
                            "input '{name}': the sampler draws others than the {} entries",
                            ragged.len()
                        )));
                    }
                }
            }
            SampleValue::Drawn(lengths) => {
                for length in lengths {
                    if let DrawnLength::Of(at) = length {
                        check_place(&format!("a length of input '{name}'"), *at, values.len())?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
