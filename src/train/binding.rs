//! Which source fills which input of a program, and whether the two fit.
//!
//! A source may need columns of other inputs: the user for whom a sampler draws, the items that it draws from.
//! They are found by the ids of the inputs, and compared with what the sampler asks of them, before the first
//! sample is staged.

use std::collections::HashMap;
use std::sync::Arc;

use super::column::ColumnValues;
use super::data::Feed;
use super::drawer::{DrawRows, Drawer};
use super::scored::ScoredSampler;
use super::source::Source;
use crate::array::{DType, Type, size};
use crate::error::{Error, Result};
use crate::exec::{Leaf, check_input};

/// The inputs of a program, and their sources.
pub(super) struct Bindings<'a> {
    /// The number of each input among the leaves, its type and its name, by its id.
    inputs: HashMap<u64, (usize, &'a Type, &'a str)>,
    /// The source of each input, by its id.
    sources: HashMap<u64, &'a Source>,
    /// The first input that each sampler by score draws for, by the sampler's address.
    drawn_by: HashMap<*const ScoredSampler, u64>,
}

impl<'a> Bindings<'a> {
    /// Finds the source of each input, and checks which inputs have one and which samplers depend on what.
    ///
    /// # Errors
    /// [`Error::Value`] and [`Error::Type`] for a source of no input or a second one of it, and a sampler
    /// that depends on what no column has, or on more than one index a sample.
    pub fn new(inputs: impl Iterator<Item = &'a Leaf>, given: &'a [(u64, Source)]) -> Result<Self> {
        let inputs = inputs.enumerate().filter_map(|(at, leaf)| match leaf {
            Leaf::Input { id, ty, name } => Some((*id, (at, ty, name.as_str()))),
            _ => None,
        });
        let inputs: HashMap<_, _> = inputs.collect();
        let mut sources = HashMap::with_capacity(given.len());
        let mut drawn_by = HashMap::new();
        for (id, source) in given {
            if !inputs.contains_key(id) {
                return Err(Error::Value(
                    "a column or sampler is bound to an input that the loss does not use".into(),
                ));
            }
            if sources.insert(*id, source).is_some() {
                return Err(Error::Value("an input is bound twice".into()));
            }
            if let Source::Scored { sampler, .. } = source {
                drawn_by.entry(Arc::as_ptr(sampler)).or_insert(*id);
            }
        }
        let bindings = Bindings {
            inputs,
            sources,
            drawn_by,
        };
        for user in given.iter().filter_map(|(_, source)| source.given()) {
            bindings.check_given(user)?;
        }
        Ok(bindings)
    }

    /// Checks that an input has a column of one index a sample.
    fn check_given(&self, input: u64) -> Result<()> {
        if self.column(input).1.is_none() {
            return Err(Error::Value(
                "given: a sampler may depend on an input that has a column only".into(),
            ));
        }
        match self.inputs.get(&input) {
            Some((_, ty, name)) if ty.dtype.is_real() || ty.ndim() != 1 => {
                Err(Error::Type(format!(
                    "given: a sampler may depend on one index a sample; input '{name}' is {ty}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The number of an input, and its column if it has one.
    fn column(&self, input: u64) -> (Option<usize>, Option<ColumnValues>) {
        let column = self.sources.get(&input).and_then(|source| source.column());
        (self.inputs.get(&input).map(|(at, ..)| *at), column)
    }

    /// The source of an input.
    pub fn source(&self, input: u64) -> Option<&'a Source> {
        self.sources.get(&input).copied()
    }
}

/// An input, and what all of them are filled from.
pub(super) struct Binding<'b> {
    pub name: &'b str,
    pub ty: &'b Type,
    pub all: &'b Bindings<'b>,
}

impl Binding<'_> {
    /// The feed of an input with a column of one index a sample, each below `n`; `what` says what it is
    /// to the sampler of this input.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such column, [`Error::Index`] for an index out of range.
    fn index_column(&self, what: &str, wanted: u64, n: usize) -> Result<usize> {
        let name = self.name;
        match self.all.column(wanted) {
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
        let (at, column) = self.all.column(wanted);
        at.filter(|_| column.is_some()).ok_or_else(|| {
            Error::Value(format!(
                "columns: the sampler of input '{}' sees inputs that have a column only",
                self.name
            ))
        })
    }

    /// What draws; `None` for a source that draws no items.
    fn drawer(&self, source: &Source) -> Result<Option<Drawer>> {
        let given = |given: &Option<u64>| given.and_then(|id| self.all.column(id).0);
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
    pub fn feed(&self, source: &Source) -> Result<(Feed, Type)> {
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
            let drawn = self.all.drawn_by.get(&Arc::as_ptr(sampler));
            let of = drawn.and_then(|&id| self.all.column(id).0);
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
