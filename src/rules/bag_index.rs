//! Which rows are in which bag, in compressed sparse rows: what the operators of embedding bags, graphs
//! and programs share.
//!
//! Numbers are compared as they are read, since an index chooses few of the bags: to look at all of them
//! would cost more than to sum those.

use std::ops::Range;

use super::index::index;
use crate::array::{Shape, Type, View, show_shape};
use crate::error::{Error, Result};

/// Which rows are in which bag, by numbers that are compared as they are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BagIndex<'a> {
    /// For each bag of the result its number; all bags in order without one.
    chosen: Option<&'a [u32]>,
    /// For each place its row; without one, places are rows.
    ids: Option<&'a [u32]>,
    offsets: &'a [u32],
    /// How many places and rows there are.
    places: usize,
    rows: usize,
}

impl<'a> BagIndex<'a> {
    /// Bags that `chosen` names, of `rows` rows.
    pub(crate) fn chosen(
        chosen: &'a [u32],
        ids: &'a [u32],
        offsets: &'a [u32],
        rows: usize,
    ) -> Self {
        BagIndex {
            chosen: Some(chosen),
            ids: Some(ids),
            offsets,
            places: ids.len(),
            rows,
        }
    }

    /// All bags in order, of `rows` rows.
    ///
    /// # Errors
    /// [`Error::Value`] unless offsets begin with 0, do not fall and end with the number of rows.
    fn in_order(offsets: &'a [u32], rows: usize) -> Result<Self> {
        check_offsets(offsets, rows)?;
        Ok(BagIndex {
            chosen: None,
            ids: None,
            offsets,
            places: rows,
            rows,
        })
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many bags are summed.
    pub(crate) fn len(&self) -> usize {
        match self.chosen {
            Some(chosen) => chosen.len(),
            None => self.offsets.len().saturating_sub(1),
        }
    }

    /// The places of bag `b` of the result.
    ///
    /// # Errors
    /// [`Error::Index`] if there is no such bag, [`Error::Value`] if it is not within the places.
    #[inline(always)]
    pub(crate) fn places(&self, b: usize) -> Result<Range<usize>> {
        let bag = match self.chosen {
            Some(chosen) => chosen[b] as usize,
            None => b,
        };
        match self.offsets.get(bag..bag.saturating_add(2)) {
            Some(&[start, end]) if start <= end && end as usize <= self.places => {
                Ok(start as usize..end as usize)
            }
            found => Err(self.no_bag(bag, b, found)),
        }
    }

    #[cold]
    fn no_bag(&self, bag: usize, b: usize, found: Option<&[u32]>) -> Error {
        match found {
            Some(&[start, end]) => Error::Value(format!(
                "bag: offsets: bag {bag} is {start} to {end}, which is no part of {} places",
                self.places
            )),
            _ => Error::Index(format!(
                "bag: index {bag} at position {b} is out of range for {} bags",
                self.offsets.len().saturating_sub(1)
            )),
        }
    }

    /// The row at a place, which is less than the number of rows.
    ///
    /// # Errors
    /// [`Error::Index`] if there is no such row.
    #[inline(always)]
    pub(crate) fn row(&self, place: usize) -> Result<usize> {
        let row = match self.ids {
            Some(ids) => ids[place] as usize,
            None => place,
        };
        match row < self.rows {
            true => Ok(row),
            false => Err(self.no_row(row, place)),
        }
    }

    #[cold]
    fn no_row(&self, row: usize, place: usize) -> Error {
        let rows = self.rows;
        Error::Index(format!(
            "bag: id {row} at position {place} is out of range for {rows} rows"
        ))
    }

    /// Calls `f` with each bag, place and row.
    ///
    /// # Errors
    /// As [`places`](Self::places) and [`row`](Self::row), when some of them have been passed on.
    #[inline(always)]
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize, usize)) -> Result<()> {
        for b in 0..self.len() {
            for place in self.places(b)? {
                f(b, place, self.row(place)?);
            }
        }
        Ok(())
    }

    /// How many places the bags have, those that are chosen twice twice.
    ///
    /// # Errors
    /// As [`places`](Self::places).
    pub(crate) fn count(&self) -> Result<usize> {
        let mut count = 0usize;
        for b in 0..self.len() {
            count = count.saturating_add(self.places(b)?.len());
        }
        Ok(count)
    }
}

/// Checks that offsets cut places into bags.
///
/// # Errors
/// [`Error::Value`] unless they begin with 0, do not fall and end with the number of places.
pub fn check_offsets(offsets: &[u32], places: usize) -> Result<()> {
    let falls = offsets.windows(2).position(|pair| pair[1] < pair[0]);
    match (offsets.first(), falls, offsets.last()) {
        (Some(0), None, Some(&last)) if last as usize == places => Ok(()),
        (Some(0), None, Some(last)) => Err(Error::Value(format!(
            "bag: offsets: expected the number of ids, {places}, at last, got {last}"
        ))),
        (Some(0), Some(at), _) => Err(Error::Value(format!(
            "bag: offsets: expected none to be less than the one before, got {} after {} at position {}",
            offsets[at + 1],
            offsets[at],
            at + 1
        ))),
        (first, ..) => Err(Error::Value(format!(
            "bag: offsets: expected 0 at first, got {}",
            first.map_or("none".into(), u32::to_string)
        ))),
    }
}

/// The operands that say which rows are in which bag, by their numbers: they follow one another.
#[derive(Debug, Clone, Copy)]
pub(super) struct BagOperands {
    /// Whether an index and ids come before the offsets.
    pub(super) chosen: bool,
    /// The number of the first.
    pub(super) at: usize,
}

impl BagOperands {
    /// The number of the offsets.
    pub(super) fn offsets(self) -> usize {
        self.at + 2 * usize::from(self.chosen)
    }

    /// The shape of the bags, and how many places there are, of rows of `x`.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] for operands that do not fit.
    pub(super) fn infer(self, name: &str, x: &Type, args: &[&Type]) -> Result<(Shape, usize)> {
        let Some(&rows) = x.shape.first() else {
            return Err(Error::Shape(format!(
                "{name}: a single number has no rows to sum"
            )));
        };
        let offsets = args[self.offsets()];
        index(&format!("{name}: offsets"), offsets)?;
        let bags = match offsets.shape[..] {
            [n] if n > 0 => n - 1,
            _ => {
                return Err(Error::Shape(format!(
                    "{name}: offsets: expected one axis of n + 1 integers for n bags, got shape {}",
                    show_shape(&offsets.shape)
                )));
            }
        };
        if !self.chosen {
            return Ok((Shape::from_slice(&[bags]), rows));
        }
        let (chosen, ids) = (args[self.at], args[self.at + 1]);
        index(name, chosen)?;
        index(&format!("{name}: ids"), ids)?;
        match ids.shape[..] {
            [places] => Ok((chosen.shape.clone(), places)),
            _ => Err(Error::Shape(format!(
                "{name}: ids: expected one axis, got shape {}",
                show_shape(&ids.shape)
            ))),
        }
    }

    /// Which rows of so many are in which bag.
    ///
    /// # Errors
    /// As [`BagIndex::in_order`].
    pub(super) fn bags<'a>(self, args: &[View<'a>], rows: usize) -> Result<BagIndex<'a>> {
        let offsets = args[self.offsets()].indices();
        match self.chosen {
            false => BagIndex::in_order(offsets, rows),
            true => Ok(BagIndex::chosen(
                args[self.at].indices(),
                args[self.at + 1].indices(),
                offsets,
                rows,
            )),
        }
    }

    /// What the indices in operand `i` must stay below, `x` being the operand with the rows.
    pub(super) fn limit(self, i: usize, x: usize, args: &[&Type]) -> Option<usize> {
        match i.checked_sub(self.at) {
            Some(0) if self.chosen => args.get(self.offsets())?.shape.first()?.checked_sub(1),
            Some(1) if self.chosen => args.get(x)?.shape.first().copied(),
            _ => None,
        }
    }
}
