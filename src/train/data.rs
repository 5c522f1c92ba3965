//! What a program's inputs are filled from.
//!
//! Values of many batches are copied and drawn at a time ("staged"), so that the loops over columns
//! and random numbers are long enough to run at full speed. A batch is a slice of what is staged; it
//! is not copied again.

use std::sync::Arc;

use super::column::ColumnValues;
use super::input_buffer::InputBuffer;
use super::mapped::Mapped;
use super::sampling::Sampler;
use super::scored::ScoredSampler;
use crate::array::{Array, DType, Shape, Type, size};
use crate::error::{Error, Result};
use crate::exec::{Leaf, check_input};

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
    /// Drawn for every sample by what the model says of it.
    Scored {
        /// What draws.
        sampler: Arc<ScoredSampler>,
        /// The input that holds the sample's user.
        user: u64,
        /// The input that holds the sample's item.
        item: u64,
    },
    /// At what rank the item is that this sampler draws for another input.
    Rank(Arc<ScoredSampler>),
    /// A random number of 64 bits for every sample, the lower word first: a row of two indices.
    Seeds,
}

impl Source {
    /// The column, if it is one.
    fn column(&self) -> Option<ColumnValues> {
        match self {
            Source::Column(data) => Some(ColumnValues::Own(data.clone())),
            Source::Mapped(data) => Some(ColumnValues::Mapped(data.clone())),
            _ => None,
        }
    }
}

/// A leaf of the program that is filled for every batch.
#[derive(Debug)]
pub(super) enum Feed {
    /// From a column, `row` elements a sample.
    Column { data: ColumnValues, row: usize },
    /// By a sampler, `row` items a sample, given the value of another feed.
    Sampled {
        sampler: Arc<Sampler>,
        given: Option<usize>,
        row: usize,
    },
    /// By a sampler that reads the model, of the values of two other feeds.
    Scored {
        sampler: Arc<ScoredSampler>,
        user: usize,
        item: usize,
    },
    /// The ranks of what is drawn for another feed.
    Rank { of: usize },
    /// Two random words.
    Seeds,
}

/// All feeds of a run, checked.
#[derive(Debug)]
pub(super) struct Feeds {
    /// One for each input, in the program's order.
    pub feeds: Vec<Feed>,
    /// Samples.
    pub count: usize,
    /// The type of each input but for the batch axis.
    types: Vec<Type>,
}

/// The number of the input with an id.
fn place<'a>(inputs: &(impl Iterator<Item = &'a Leaf> + Clone), wanted: u64) -> Option<usize> {
    inputs
        .clone()
        .position(|l| matches!(l, Leaf::Input { id, .. } if *id == wanted))
}

/// Checks which inputs have sources, and on which of them samplers depend.
///
/// # Errors
/// [`Error::Value`] and [`Error::Type`] for a source of no input or a second one of it, and a sampler
/// that depends on what no column has, or on more than one index a sample.
fn check_bindings<'a>(
    inputs: impl Iterator<Item = &'a Leaf> + Clone,
    sources: &[(u64, Source)],
) -> Result<()> {
    for (at, (id, source)) in sources.iter().enumerate() {
        if place(&inputs, *id).is_none() {
            return Err(Error::Value(
                "a column or sampler is bound to an input that the loss does not use".into(),
            ));
        }
        if sources[..at].iter().any(|(other, _)| other == id) {
            return Err(Error::Value("an input is bound twice".into()));
        }
        if let Source::Sampled { given: Some(g), .. } = source
            && !sources
                .iter()
                .any(|(id, s)| id == g && s.column().is_some())
        {
            return Err(Error::Value(
                "given: a sampler may depend on an input that has a column only".into(),
            ));
        }
    }
    for (_, source) in sources {
        let Source::Sampled { given: Some(g), .. } = source else {
            continue;
        };
        let given = inputs.clone().find_map(|l| match l {
            Leaf::Input { id, ty, name } if id == g => Some((ty, name)),
            _ => None,
        });
        if let Some((ty, name)) = given
            && (ty.dtype.is_real() || ty.ndim() != 1)
        {
            return Err(Error::Type(format!(
                "given: a sampler may depend on one index a sample; input '{name}' is {ty}"
            )));
        }
    }
    Ok(())
}

/// What fills an input from a source, and the type of all that the source has.
///
/// # Errors
/// [`Error::Shape`] and [`Error::Type`] if the source does not fit the input.
fn feed<'a>(
    name: &str,
    ty: &Type,
    source: &Source,
    sources: &[(u64, Source)],
    inputs: &(impl Iterator<Item = &'a Leaf> + Clone),
) -> Result<(Feed, Type)> {
    let column = |data: ColumnValues| {
        let found = data.ty();
        check_input(name, ty, &found)?;
        let row = size(&found.shape[1..]);
        Ok::<_, Error>((Feed::Column { data, row }, found))
    };
    Ok(match source {
        Source::Column(data) => column(ColumnValues::Own(data.clone()))?,
        Source::Mapped(data) => column(ColumnValues::Mapped(data.clone()))?,
        Source::Sampled { sampler, given } => {
            if ty.dtype.is_real() {
                return Err(Error::Type(format!(
                    "input '{name}': a sampler draws indices, not {ty}"
                )));
            }
            let feed = Feed::Sampled {
                sampler: Arc::clone(sampler),
                given: given.and_then(|id| place(inputs, id)),
                row: size(&ty.shape[1..]),
            };
            (feed, ty.clone())
        }
        Source::Scored {
            sampler,
            user,
            item,
        } => {
            if ty.dtype != DType::U32 || size(&ty.shape[1..]) != 1 {
                return Err(Error::Type(format!(
                    "input '{name}': the sampler draws one index a sample, not {ty}"
                )));
            }
            let column = |what: &str, wanted: u64, n: usize| {
                let found = sources.iter().find(|(id, _)| *id == wanted);
                let found = found.and_then(|(_, source)| source.column());
                match (place(inputs, wanted), found) {
                    (Some(at), Some(data)) if data.is_of_indices() => {
                        let label = || format!("{what} of the sampler of input '{name}'");
                        data.check(label, n)?;
                        Ok(at)
                    }
                    _ => Err(Error::Value(format!(
                        "{what} of the sampler of input '{name}': expected a column of one index a sample"
                    ))),
                }
            };
            let feed = Feed::Scored {
                user: column("user", *user, sampler.user_count())?,
                item: column("item", *item, sampler.base().item_count() as usize)?,
                sampler: Arc::clone(sampler),
            };
            (feed, ty.clone())
        }
        Source::Rank(sampler) => {
            if ty.dtype != DType::F32 || size(&ty.shape[1..]) != 1 {
                return Err(Error::Type(format!(
                    "input '{name}': a rank is one number of float32, not {ty}"
                )));
            }
            let drawn = sources.iter().find(|(_, source)| {
                matches!(source, Source::Scored { sampler: other, .. } if Arc::ptr_eq(other, sampler))
            });
            let of = drawn.and_then(|(id, _)| place(inputs, *id));
            let of = of.ok_or_else(|| {
                Error::Value(format!(
                    "input '{name}': no input is drawn by the sampler whose rank it is"
                ))
            })?;
            (Feed::Rank { of }, ty.clone())
        }
        Source::Seeds => {
            if ty.dtype.is_real() || ty.shape[1..] != [2] {
                return Err(Error::Type(format!(
                    "input '{name}': seeds fill rows of two indices, not {ty}"
                )));
            }
            (Feed::Seeds, ty.clone())
        }
    })
}

impl Feeds {
    /// Matches sources with a program's inputs.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Shape`], [`Error::Type`] naming the input that has no
    /// source, two or an unfit one, or the columns of different length.
    pub(super) fn new<'a>(
        inputs: impl Iterator<Item = &'a Leaf> + Clone,
        sources: &[(u64, Source)],
    ) -> Result<Self> {
        check_bindings(inputs.clone(), sources)?;
        let mut feeds = Vec::new();
        let mut types = Vec::new();
        let mut count: Option<(usize, String)> = None;
        for leaf in inputs.clone() {
            let Leaf::Input { id, ty, name } = leaf else {
                continue;
            };
            let Some((_, source)) = sources.iter().find(|(other, _)| other == id) else {
                return Err(Error::Value(format!(
                    "input '{name}' is not bound: give it a column or a sampler"
                )));
            };
            if ty.ndim() == 0 {
                return Err(Error::Shape(format!(
                    "input '{name}' is a single number; to bind a column, give it a first axis \
                     for the batch"
                )));
            }
            let (feed, ty) = feed(name, ty, source, sources, &inputs)?;
            if let Feed::Column { data, .. } = &feed {
                let n = data.ty().shape[0];
                match &count {
                    Some((m, first)) if *m != n => {
                        return Err(Error::Shape(format!(
                            "columns differ in length: input '{first}' has {m} rows, input \
                             '{name}' has {n}"
                        )));
                    }
                    _ => count = Some((n, name.clone())),
                }
            }
            feeds.push(feed);
            types.push(ty);
        }
        let Some((count, _)) = count else {
            return Err(Error::Value(
                "columns: at least one input needs a column of data".into(),
            ));
        };
        if count == 0 {
            return Err(Error::Value("columns: there are no samples".into()));
        }
        if u32::try_from(count).is_err() {
            return Err(Error::Value(format!(
                "columns: at most {} samples, got {count}",
                u32::MAX
            )));
        }
        Ok(Feeds {
            feeds,
            count,
            types,
        })
    }

    /// The inputs' shapes for a batch.
    pub(super) fn shapes(&self, batch: usize) -> Vec<Shape> {
        let shape = |ty: &Type| {
            let mut shape = ty.shape.clone();
            shape[0] = batch;
            shape
        };
        self.types.iter().map(shape).collect()
    }

    /// Memory for `count` samples.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not so much.
    pub(super) fn buffers(&self, count: usize) -> Result<Vec<InputBuffer>> {
        let shapes = self.shapes(count).into_iter().zip(&self.types);
        shapes
            .map(|(shape, ty)| {
                InputBuffer::new(&Type {
                    dtype: ty.dtype,
                    shape,
                })
            })
            .collect()
    }

    /// The shape of each input's value in a sample.
    pub(super) fn sample_shapes(&self) -> impl Iterator<Item = Shape> + '_ {
        self.types
            .iter()
            .map(|ty| Shape::from_slice(&ty.shape[1..]))
    }

    /// Elements of each input in a sample.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.types.iter().map(|ty| size(&ty.shape[1..]))
    }

    /// Bytes of all inputs in a sample.
    pub(super) fn bytes(&self) -> usize {
        let both = self.types.iter().zip(self.rows());
        both.map(|(ty, row)| row * ty.dtype.size()).sum()
    }

    /// Checks that every index that can come is below its bound.
    ///
    /// # Errors
    /// [`Error::Index`] naming the input and the index.
    pub(super) fn check<'a>(
        &self,
        inputs: impl Iterator<Item = &'a Leaf>,
        bounds: impl Iterator<Item = Option<usize>>,
    ) -> Result<()> {
        for ((leaf, bound), feed) in inputs.zip(bounds).zip(&self.feeds) {
            let (Leaf::Input { name, .. }, Some(n)) = (leaf, bound) else {
                continue;
            };
            match feed {
                Feed::Column { data, .. } => data.check(|| format!("input '{name}'"), n)?,
                Feed::Sampled { sampler, .. } => {
                    if sampler.item_count() as usize > n {
                        return Err(Error::Index(format!(
                            "input '{name}': the sampler draws from {} rows, the table has {n}",
                            sampler.item_count() as usize
                        )));
                    }
                }
                Feed::Scored { sampler, .. } => {
                    if sampler.base().item_count() as usize > n {
                        return Err(Error::Index(format!(
                            "input '{name}': the sampler draws from {} rows, the table has {n}",
                            sampler.base().item_count()
                        )));
                    }
                }
                Feed::Rank { .. } => {
                    return Err(Error::Index(format!(
                        "input '{name}': ranks are no rows of a table"
                    )));
                }
                Feed::Seeds => {
                    return Err(Error::Index(format!(
                        "input '{name}': seeds are no rows of a table"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Copies the samples `order` of all columns to `buffers`.
    pub(super) fn copy(&self, order: &[u32], buffers: &mut [InputBuffer]) {
        for (feed, buffer) in self.feeds.iter().zip(buffers.iter_mut()) {
            if let Feed::Column { data, row } = feed {
                data.copy(*row, order, buffer);
            }
        }
    }

    /// The columns that others may write.
    pub(super) fn mapped(&self) -> impl Iterator<Item = &Mapped> {
        self.feeds.iter().filter_map(|feed| match feed {
            Feed::Column {
                data: ColumnValues::Mapped(data),
                ..
            } => Some(data),
            _ => None,
        })
    }
}
