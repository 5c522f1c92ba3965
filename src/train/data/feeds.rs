//! Staged data: the values of the next batches, from which a program's inputs are filled.
//!
//! Values of many batches are copied and drawn at a time ("staged"), so that the loops over columns
//! and random numbers are long enough to run at full speed. A batch is a slice of what is staged; it
//! is not copied again.

use std::collections::HashMap;
use std::sync::Arc;

use super::column::ColumnValues;
use super::drawer::{DrawRows, Drawer};
use super::input_buffer::InputBuffer;
use super::mapped::Mapped;
use super::source::Source;
use crate::array::{DType, Shape, Type, size};
use crate::error::{Error, Result};
use crate::exec::{Leaf, check_input};
use crate::train::sampling::Sampler;

/// A leaf of the program that is filled for every batch.
#[derive(Debug)]
pub(in crate::train) enum Feed {
    /// From a column, `row` elements a sample.
    Column { data: ColumnValues, row: usize },
    /// With items that are drawn, so many a sample. The name is that of the input.
    Drawn {
        by: Drawer,
        rows: DrawRows,
        name: String,
    },
    /// The ranks of what is drawn for another feed.
    Rank { of: usize },
}

impl Feed {
    /// What draws it, or draws what it is chosen from.
    pub(in crate::train) fn sampler(&self) -> Option<&Sampler> {
        match self {
            Feed::Drawn {
                by: Drawer::Items { sampler, .. },
                ..
            } => Some(sampler),
            Feed::Drawn {
                by: Drawer::Scored { sampler, .. },
                ..
            } => sampler.draws_from(),
            _ => None,
        }
    }
}

/// All feeds of a run, checked.
#[derive(Debug)]
pub(in crate::train) struct Feeds {
    /// One for each input, in the program's order.
    pub feeds: Vec<Feed>,
    /// Samples.
    pub count: usize,
    /// The type of each input but for the batch axis.
    types: Vec<Type>,
}

/// The number of each input among the leaves, and the leaf, by its id.
fn places<'a>(inputs: impl Iterator<Item = &'a Leaf>) -> HashMap<u64, (usize, &'a Leaf)> {
    let ids = inputs.enumerate().filter_map(|(at, leaf)| match leaf {
        Leaf::Input { id, .. } => Some((*id, (at, leaf))),
        _ => None,
    });
    ids.collect()
}

/// The source of each input, by its id, after a check of which inputs have one and which samplers depend on what.
///
/// # Errors
/// [`Error::Value`] and [`Error::Type`] for a source of no input or a second one of it, and a sampler
/// that depends on what no column has, or on more than one index a sample.
fn bindings<'s>(
    places: &HashMap<u64, (usize, &Leaf)>,
    sources: &'s [(u64, Source)],
) -> Result<HashMap<u64, &'s Source>> {
    let mut found = HashMap::with_capacity(sources.len());
    for (id, source) in sources {
        if !places.contains_key(id) {
            return Err(Error::Value(
                "a column or sampler is bound to an input that the loss does not use".into(),
            ));
        }
        if found.insert(*id, source).is_some() {
            return Err(Error::Value("an input is bound twice".into()));
        }
    }
    for given in sources.iter().filter_map(|(_, source)| source.given()) {
        if found.get(&given).and_then(|s| s.column()).is_none() {
            return Err(Error::Value(
                "given: a sampler may depend on an input that has a column only".into(),
            ));
        }
        if let Some((_, Leaf::Input { ty, name, .. })) = places.get(&given)
            && (ty.dtype.is_real() || ty.ndim() != 1)
        {
            return Err(Error::Type(format!(
                "given: a sampler may depend on one index a sample; input '{name}' is {ty}"
            )));
        }
    }
    Ok(found)
}

/// An input, and what all of them are filled from.
struct Binding<'s> {
    name: &'s str,
    ty: &'s Type,
    sources: &'s [(u64, Source)],
    by_input: &'s HashMap<u64, &'s Source>,
    places: &'s HashMap<u64, (usize, &'s Leaf)>,
}

impl Binding<'_> {
    /// The number of an input, and its column if it has one.
    fn column(&self, input: u64) -> (Option<usize>, Option<ColumnValues>) {
        let column = self.by_input.get(&input).and_then(|source| source.column());
        (self.places.get(&input).map(|place| place.0), column)
    }

    /// The feed of an input with a column of one index a sample, each below `n`; `what` says what it is
    /// to the sampler of this input.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such column, [`Error::Index`] for an index out of range.
    fn index_column(&self, what: &str, wanted: u64, n: usize) -> Result<usize> {
        let name = self.name;
        match self.column(wanted) {
            (Some(at), Some(data)) if data.is_of_indices() => {
                data.check(|| format!("{what} of the sampler of input '{name}'"), n)?;
                Ok(at)
            }
            _ => Err(Error::Value(format!(
                "{what} of the sampler of input '{name}': expected a column of one index a sample"
            ))),
        }
    }

    /// The feed of an input with a column, which the sampler of this input sees.
    fn seen_column(&self, wanted: u64) -> Result<usize> {
        let (at, column) = self.column(wanted);
        at.filter(|_| column.is_some()).ok_or_else(|| {
            Error::Value(format!(
                "columns: the sampler of input '{}' sees inputs that have a column only",
                self.name
            ))
        })
    }

    /// What draws; `None` for a source that draws no items.
    fn drawer(&self, source: &Source) -> Result<Option<Drawer>> {
        let given = |given: &Option<u64>| given.and_then(|id| self.column(id).0);
        Ok(Some(match source {
            Source::Sampled {
                sampler,
                given: user,
            } => Drawer::Items {
                sampler: Arc::clone(sampler),
                given: given(user),
            },
            Source::InBatch {
                column,
                sampler,
                given: user,
            } => Drawer::InBatch {
                column: self.index_column("column", *column, sampler.item_count() as usize)?,
                sampler: Arc::clone(sampler),
                given: given(user),
            },
            Source::Scored {
                sampler,
                user,
                item,
            } => {
                let n = sampler.base().item_count() as usize;
                let item = item.map(|item| self.index_column("item", item, n));
                if item.is_none() && sampler.compares() {
                    return Err(Error::Value(format!(
                        "item of the sampler of input '{}': expected a column of one index a sample",
                        self.name
                    )));
                }
                Drawer::Scored {
                    user: self.index_column("user", *user, sampler.user_count())?,
                    item: item.transpose()?,
                    sampler: Arc::clone(sampler),
                }
            }
            Source::Custom { sampler, columns } => {
                let columns = columns.iter().map(|&column| self.seen_column(column));
                Drawer::Custom {
                    n: sampler.item_count(),
                    columns: columns.collect::<Result<_>>()?,
                    sampler: Arc::clone(sampler),
                }
            }
            Source::Column(_) | Source::Mapped(_) | Source::Rank(_) | Source::PerEntry { .. } => {
                return Ok(None);
            }
        }))
    }

    /// How many items a source draws for a sample, and the source.
    fn rows<'s>(&self, source: &'s Source) -> Result<(DrawRows, &'s Source)> {
        let Source::PerEntry { source, of, times } = source else {
            return Ok((DrawRows::Fixed(size(&self.ty.shape[1..])), source));
        };
        if self.ty.shape[1..] != [2] {
            return Err(Error::Type(format!(
                "input '{}': items for each element of entries are staged as rows of two indices, not {}",
                self.name, self.ty
            )));
        }
        let of = of.iter().map(|(id, ragged)| {
            let at = self.index_column("entries", *id, ragged.len())?;
            Ok((at, Arc::clone(ragged)))
        });
        let rows = DrawRows::Entries {
            of: of.collect::<Result<_>>()?,
            times: *times,
        };
        Ok((rows, source))
    }

    /// What fills the input from a source, and the type of all that the source has.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Type`] if the source does not fit the input, [`Error::Value`] and
    /// [`Error::Index`] if the columns that it needs do not fit.
    fn feed(&self, source: &Source) -> Result<(Feed, Type)> {
        let Binding { name, ty, .. } = *self;
        if let Some(data) = source.column() {
            let found = data.ty();
            check_input(name, ty, (found.dtype, &found.shape))?;
            let row = size(&found.shape[1..]);
            return Ok((Feed::Column { data, row }, found));
        }
        if let Source::Rank(sampler) = source {
            if ty.dtype != DType::F32 || size(&ty.shape[1..]) != 1 {
                return Err(Error::Type(format!(
                    "input '{name}': a rank is one number of float32, not {ty}"
                )));
            }
            let drawn = self.sources.iter().find(|(_, source)| {
                matches!(source, Source::Scored { sampler: other, .. } if Arc::ptr_eq(other, sampler))
            });
            let of = drawn.and_then(|(id, _)| self.column(*id).0);
            let of = of.ok_or_else(|| {
                Error::Value(format!(
                    "input '{name}': no input is drawn by the sampler whose rank it is"
                ))
            })?;
            return Ok((Feed::Rank { of }, ty.clone()));
        }
        if ty.dtype.is_real() {
            return Err(Error::Type(format!(
                "input '{name}': a sampler draws indices, not {ty}"
            )));
        }
        let (rows, source) = self.rows(source)?;
        let is_one = matches!(rows, DrawRows::Fixed(1));
        if let Source::Scored { sampler, .. } = source
            && sampler.compares()
            && !is_one
        {
            return Err(Error::Type(format!(
                "input '{name}': the sampler draws one index a sample, not {ty}"
            )));
        }
        let by = self.drawer(source)?.ok_or_else(|| {
            Error::Value(format!(
                "input '{name}': expected a sampler that draws for each element of entries"
            ))
        })?;
        let name = name.to_owned();
        Ok((Feed::Drawn { by, rows, name }, ty.clone()))
    }
}

impl Feeds {
    /// Matches sources with a program's inputs.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Shape`], [`Error::Type`] naming the input that has no
    /// source, two or an unfit one, or the columns of different length.
    pub(in crate::train) fn new<'a>(
        inputs: impl Iterator<Item = &'a Leaf> + Clone,
        sources: &[(u64, Source)],
    ) -> Result<Self> {
        let places = places(inputs.clone());
        let by_input = bindings(&places, sources)?;
        let mut feeds = Vec::new();
        let mut types = Vec::new();
        let mut count: Option<(usize, String)> = None;
        for leaf in inputs {
            let Leaf::Input { id, ty, name } = leaf else {
                continue;
            };
            let Some(source) = by_input.get(id) else {
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
            let binding = Binding {
                name,
                ty,
                sources,
                by_input: &by_input,
                places: &places,
            };
            let (feed, ty) = binding.feed(source)?;
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
    pub(in crate::train) fn shapes(&self, batch: usize) -> Vec<Shape> {
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
    pub(in crate::train) fn buffers(&self, count: usize) -> Result<Vec<InputBuffer>> {
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
    pub(in crate::train) fn sample_shapes(&self) -> impl Iterator<Item = Shape> + '_ {
        self.types
            .iter()
            .map(|ty| Shape::from_slice(&ty.shape[1..]))
    }

    /// Elements of each input in a sample.
    pub(in crate::train) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.types.iter().map(|ty| size(&ty.shape[1..]))
    }

    /// The shape of an input's value in a sample.
    pub(in crate::train) fn sample_shape(&self, feed: usize) -> Shape {
        Shape::from_slice(&self.types[feed].shape[1..])
    }

    /// Bytes of all inputs in a sample, on average where they differ.
    pub(in crate::train) fn bytes(&self) -> usize {
        let both = self.types.iter().zip(&self.feeds);
        let bytes = both.map(|(ty, feed)| match feed {
            Feed::Drawn { rows, .. } => rows.bytes(),
            _ => size(&ty.shape[1..]) * ty.dtype.size(),
        });
        bytes.fold(0, usize::saturating_add)
    }

    /// Checks that batches of this size have other samples to draw from, where that is how an input is
    /// drawn.
    ///
    /// # Errors
    /// [`Error::Value`] naming the input.
    pub(in crate::train) fn check_batch_size(&self, batch: usize) -> Result<()> {
        let drawn = self.feeds.iter().find_map(|feed| match feed {
            Feed::Drawn {
                by: Drawer::InBatch { .. },
                name,
                ..
            } => Some(name),
            _ => None,
        });
        match drawn {
            Some(name) if batch < 2 => Err(Error::Value(format!(
                "batch_size: expected at least 2, got {batch}: input '{name}' is drawn from the other \
                 samples of a batch"
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that every index that can come is below its bound.
    ///
    /// # Errors
    /// [`Error::Index`] naming the input and the index.
    pub(in crate::train) fn check<'a>(
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
                Feed::Drawn {
                    rows: DrawRows::Entries { .. },
                    ..
                } => {
                    return Err(Error::Index(format!(
                        "input '{name}': items for entries are drawn for a loss of one sample"
                    )));
                }
                Feed::Drawn { by, .. } => {
                    let drawn = by.item_count();
                    if drawn as usize > n {
                        return Err(Error::Index(format!(
                            "input '{name}': the sampler draws from {drawn} rows, the table has {n}"
                        )));
                    }
                }
                Feed::Rank { .. } => {
                    return Err(Error::Index(format!(
                        "input '{name}': ranks are no rows of a table"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Copies the samples `order` of all columns to `buffers`.
    pub(in crate::train) fn copy(&self, order: &[u32], buffers: &mut [InputBuffer]) {
        for (feed, buffer) in self.feeds.iter().zip(buffers.iter_mut()) {
            if let Feed::Column { data, row } = feed {
                data.copy(*row, order, buffer);
            }
        }
    }

    /// The columns that others may write.
    pub(in crate::train) fn mapped(&self) -> impl Iterator<Item = &Mapped> {
        self.feeds.iter().filter_map(|feed| match feed {
            Feed::Column {
                data: ColumnValues::Mapped(data),
                ..
            } => Some(data),
            _ => None,
        })
    }
}
