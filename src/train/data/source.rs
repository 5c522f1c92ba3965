//! Where the values of an input come from: columns, and what is drawn.

use std::sync::Arc;

use super::column::ColumnValues;
use super::mapped::Mapped;
use super::ragged::Ragged;
use crate::array::Array;
use crate::train::sampling::Sampler;
use crate::train::sampling::custom::CustomSampler;
use crate::train::sampling::scored::ScoredSampler;

/// Where the values of an input come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// One row (along the first axis) a sample.
    Column(Array),
    /// As [`Column`](Self::Column), of memory that others may write, such as a mapped file.
    Mapped(Mapped),
    /// Drawn for every sample.
    Sampled {
        /// What draws.
        sampler: Arc<Sampler>,
        /// The input whose value of the same sample the draw may depend on.
        given: Option<u64>,
    },
    /// Drawn from what a column has in the other samples of the batch.
    InBatch {
        /// The input that has the column, of one index a sample.
        column: u64,
        /// Says what users know, and draws where no other sample has an item to draw. The column has
        /// items of this sampler.
        sampler: Arc<Sampler>,
        /// The input that holds the sample's user.
        given: Option<u64>,
    },
    /// Drawn for every sample by what the model says of it.
    Scored {
        /// What draws.
        sampler: Arc<ScoredSampler>,
        /// The input that holds the sample's user.
        user: u64,
        /// The input that holds the sample's item, for a choice that compares with its score.
        item: Option<u64>,
    },
    /// Drawn by a sampler of the caller's own.
    Custom {
        /// What draws.
        sampler: Arc<dyn CustomSampler>,
        /// The inputs whose columns it sees, in this order.
        columns: Vec<u64>,
    },
    /// Drawn for each element of a sample's entries in ragged columns.
    PerEntry {
        /// What draws: [`Sampled`](Self::Sampled), [`InBatch`](Self::InBatch), [`Scored`](Self::Scored) or
        /// [`Custom`](Self::Custom).
        source: Box<Source>,
        /// The inputs that hold the numbers of the entries, and the columns of these. For a sample as
        /// many items are drawn as the product of the lengths of its entries.
        of: Vec<(u64, Arc<Ragged>)>,
        /// How many are drawn for each of that product.
        times: usize,
    },
    /// At what rank the item is that this sampler draws for another input.
    Rank(Arc<ScoredSampler>),
}

impl Source {
    /// The column, if it is one.
    pub(in crate::train) fn column(&self) -> Option<ColumnValues> {
        match self {
            Source::Column(data) => Some(ColumnValues::Own(data.clone())),
            Source::Mapped(data) => Some(ColumnValues::Mapped(data.clone())),
            _ => None,
        }
    }

    /// The input that holds the user for whom is drawn, if what is drawn may depend on one.
    pub(in crate::train) fn given(&self) -> Option<u64> {
        match self {
            Source::Sampled { given, .. } | Source::InBatch { given, .. } => *given,
            Source::PerEntry { source, .. } => source.given(),
            _ => None,
        }
    }

    /// The number of items, of what draws items: those drawn are below.
    pub fn item_count(&self) -> Option<u32> {
        match self {
            Source::Sampled { sampler, .. } | Source::InBatch { sampler, .. } => {
                Some(sampler.item_count())
            }
            Source::Scored { sampler, .. } => Some(sampler.base().item_count()),
            Source::Custom { sampler, .. } => Some(sampler.item_count()),
            Source::PerEntry { source, .. } => source.item_count(),
            Source::Column(_) | Source::Mapped(_) | Source::Rank(_) => None,
        }
    }

    /// Whether drawing calls code of a host language.
    #[cfg(feature = "python")]
    pub(crate) fn stays_in_thread(&self) -> bool {
        match self {
            Source::Custom { sampler, .. } => sampler.stays_in_thread(),
            Source::PerEntry { source, .. } => source.stays_in_thread(),
            _ => false,
        }
    }
}
