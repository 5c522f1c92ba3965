//! What a program's inputs are filled from.
//!
//! Values of many batches are copied and drawn at a time ("staged"), so that the loops over columns
//! and random numbers are long enough to run at full speed. A batch is a slice of what is staged; it
//! is not copied again.

use super::binding::{Binding, Bindings};
use super::column::ColumnValues;
use super::drawer::{DrawRows, Drawer};
use super::input_buffer::InputBuffer;
use super::mapped::Mapped;
use super::sampling::Sampler;
use super::source::Source;
use crate::array::{Shape, Type, size};
use crate::error::{Error, Result};
use crate::exec::Leaf;

/// A leaf of the program that is filled for every batch.
#[derive(Debug)]
pub(super) enum Feed {
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
    pub(super) fn sampler(&self) -> Option<&Sampler> {
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
pub(super) struct Feeds {
    /// One for each input, in the program's order.
    pub feeds: Vec<Feed>,
    /// Samples.
    pub count: usize,
    /// The type of each input but for the batch axis.
    types: Vec<Type>,
}

impl Feeds {
    /// Matches sources with a program's inputs.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Shape`], [`Error::Type`] naming the input that has no
    /// source, two or an unfit one, or the columns of different length.
    pub(super) fn new<'a>(
        inputs: impl Iterator<Item = &'a Leaf> + Clone,
        sources: &'a [(u64, Source)],
    ) -> Result<Self> {
        let all = Bindings::new(inputs.clone(), sources)?;
        let mut feeds = Vec::new();
        let mut types = Vec::new();
        let mut count: Option<(usize, String)> = None;
        for leaf in inputs {
            let Leaf::Input { id, ty, name } = leaf else {
                continue;
            };
            let Some(source) = all.source(*id) else {
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
                all: &all,
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

    /// The shape of an input's value in a sample.
    pub(super) fn sample_shape(&self, feed: usize) -> Shape {
        Shape::from_slice(&self.types[feed].shape[1..])
    }

    /// Bytes of all inputs in a sample, on average where they differ.
    pub(super) fn bytes(&self) -> usize {
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
    pub(super) fn check_batch_size(&self, batch: usize) -> Result<()> {
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
