//! Ids: the caller's own names of users or items, in the order of their numbers.
//!
//! All names stand in one string, with the offset where each begins: two
//! allocations for any number of ids, and the same layout as in a model file. No
//! two are equal.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Error, Result};
use crate::rank::check_offsets;
use crate::reserve;

/// Ids between two looks at whether to stop.
const IDS: usize = 1 << 16;

/// Distinct strings, numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    text: String,
    /// Id `n` is `text[offsets[n]..offsets[n + 1]]`; starts with 0, never falls.
    offsets: Vec<usize>,
}

impl Ids {
    /// Cuts `text` at `offsets`, which has one entry more than there are ids.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] unless `offsets` starts with 0, never falls, ends with the
    /// length of `text` and never divides a character, and all ids differ.
    pub fn from_parts(text: String, offsets: Vec<usize>) -> Result<Ids> {
        Ids::checked(text, offsets, &AtomicBool::new(false))
    }

    /// As [`from_parts`](Ids::from_parts), and [`Error::Interrupted`] when `stop` was set.
    pub(crate) fn checked(text: String, offsets: Vec<usize>, stop: &AtomicBool) -> Result<Ids> {
        check_offsets("offsets", &offsets, text.len())?;
        if let Some(at) = offsets.iter().find(|&&at| !text.is_char_boundary(at)) {
            return Err(Error::Value(format!(
                "offsets must not divide a character, found {at}"
            )));
        }
        let ids = Ids { text, offsets };
        let mut known = HashSet::new();
        known.try_reserve(ids.len()).map_err(|_| {
            Error::Memory(format!("there is no memory to compare {} ids", ids.len()))
        })?;
        for (number, id) in ids.iter().enumerate() {
            if number.is_multiple_of(IDS) && stop.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            if !known.insert(id) {
                return Err(Error::Value(format!(
                    "ids must differ, found {} twice",
                    quoted(id)
                )));
            }
        }
        drop(known);
        Ok(ids)
    }

    /// Joins strings into ids.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] when two are equal.
    pub fn from_strings<S: AsRef<str>>(strings: impl IntoIterator<Item = S>) -> Result<Ids> {
        Ids::from_strings_until(strings, &AtomicBool::new(false))
    }

    /// As [`from_strings`](Ids::from_strings), and [`Error::Interrupted`] when `stop` was set.
    pub(crate) fn from_strings_until<S: AsRef<str>>(
        strings: impl IntoIterator<Item = S>,
        stop: &AtomicBool,
    ) -> Result<Ids> {
        let mut ids = Ids::none();
        for string in strings {
            ids.push(string.as_ref())?;
        }
        Ids::checked(ids.text, ids.offsets, stop)
    }

    fn none() -> Ids {
        Ids {
            text: String::new(),
            offsets: vec![0],
        }
    }

    /// Appends an id, which is not compared with the others.
    fn push(&mut self, id: &str) -> Result<()> {
        reserve::grow(&mut self.text, id.len())?;
        reserve::grow(&mut self.offsets, 1)?;
        self.text.push_str(id);
        self.offsets.push(self.text.len());
        Ok(())
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id with this number.
    pub fn get(&self, number: usize) -> Option<&str> {
        match self.offsets.get(number..=number.checked_add(1)?)? {
            &[start, end] => self.text.get(start..end),
            _ => None,
        }
    }

    /// All ids, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (self.offsets.windows(2)).map(|ends| &self.text[ends[0]..ends[1]])
    }

    /// The ids one after the other, with nothing between them.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where each id begins in [`text`](Ids::text), and where the last ends.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }
}

/// Numbers strings in the order in which they first appear.
pub(super) struct Numbering {
    numbers: HashMap<Box<str>, u32>,
    ids: Ids,
}

impl Numbering {
    pub fn new() -> Numbering {
        Numbering {
            numbers: HashMap::new(),
            ids: Ids::none(),
        }
    }

    /// The number of `id`, a new one if need be; none when 32 bits are used up.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn number(&mut self, id: &str) -> Result<Option<u32>> {
        if let Some(&number) = self.numbers.get(id) {
            return Ok(Some(number));
        }
        // The last number stands for "no item" in rankings.
        let number = u32::try_from(self.ids.len());
        let Some(number) = number.ok().filter(|&n| n < u32::MAX) else {
            return Ok(None);
        };
        // `numbers` has a copy of the text.
        reserve::ahead(1, id.len())?;
        reserve::grow(&mut self.numbers, 1)?;
        self.ids.push(id)?;
        self.numbers.insert(id.into(), number);
        Ok(Some(number))
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn finish(self) -> Ids {
        self.ids
    }
}

/// Text as an error message shows it: quoted, control characters escaped, cut
/// when it is long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
