//! Interactions: lines of user and item, with a rating and more if there is more.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use wyrmling::io::interactions::{Format, parse};
//!
//! let text = "user_id,item_id,rating\nann,tea,5\nbob,tea,3\nann,\"rye, toasted\",4\n";
//! let read = parse(text.as_bytes(), "example.csv", &Format::default(), &AtomicBool::new(false))?;
//! assert_eq!((read.users, read.items), (vec![0, 1, 0], vec![0, 0, 1]));
//! assert_eq!(read.item_ids.get(1), Some("rye, toasted"));
//! # Ok::<(), wyrmling::error::Error>(())
//! ```
//!
//! # What is read
//!
//! One interaction a line, UTF-8. Fields are separated by a tab, `::`, `,`, `;` or `|`: that by
//! which the first two lines have the same number of fields, the most of them. With all but `::`
//! a field may be quoted, as in RFC 4180. Spaces around a field, blank lines, byte order marks
//! and line endings (`\n`, `\r\n`, or `\r` throughout) do not matter. Every line has as many
//! fields as the first.
//!
//! The first two fields are the user and the item, any text that is not empty, and not what
//! programs write for a missing value ([`MISSING`]). The third, if there is one, is the rating, a
//! finite number, with a comma before its decimals where no comma separates fields; fields after
//! it are not looked at. A header may say otherwise, by naming the columns of the user, the
//! item and (then only if named) the rating, and so may the caller.
//!
//! The first line is a header when a column is given by name, or when neither of its first two
//! fields is a number and one of these holds: it names a user's column; its third field is
//! neither a number nor a missing one, and that of the second line is a number; the first two
//! fields of the second line are numbers. Where this guesses wrong, say so in [`Format`]. A header
//! that does not name user and item by a word known here is refused, unless the columns are given.
//!
//! # Limits
//!
//! Memory is a small multiple of the file, mostly for ids. There are fewer than
//! 2³² users and items. The first line is at most 64 KiB long, any other 1 MiB.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::columns::{Column, Columns, FoundColumns, GivenColumns, Taken, names_a_user};
use super::ids::{Numbering, quoted};
use super::lines::{Line, Lines, bad_line};
use super::pipe::Pipe;
use super::{Delimiter, Ids, file_error};
use crate::error::{Error, Result};
use crate::reserve;

/// Lines between two looks at whether to stop.
const LINES: usize = 1 << 14;

/// What Python, NumPy, pandas and databases write where a value is missing: no id.
pub const MISSING: [&str; 7] = ["None", "nan", "NaN", "<NA>", "NaT", "NULL", "null"];

/// Who interacted with what. The vectors are parallel: one entry an interaction,
/// in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Interactions {
    /// Numbers of the users.
    pub users: Vec<u32>,
    /// Numbers of the items.
    pub items: Vec<u32>,
    /// Ratings, if the file has any; finite.
    pub ratings: Option<Vec<f32>>,
    /// What the file calls the users, numbered as they first appear.
    pub user_ids: Ids,
    /// What the file calls the items, numbered as they first appear.
    pub item_ids: Ids,
    /// How the file was read.
    pub layout: Layout,
}

/// How a file was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// What separates fields.
    pub delimiter: Delimiter,
    /// The users' column.
    pub user: Taken,
    /// The items' column.
    pub item: Taken,
    /// The ratings' column, if they were read.
    pub rating: Option<Taken>,
}

/// How the file is laid out; what is not said is guessed from its first lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Format {
    /// What separates fields.
    pub delimiter: Option<Delimiter>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// Whether to leave ratings out, whatever stands where they would.
    pub without_ratings: bool,
    /// The users' column.
    pub user: Option<Column>,
    /// The items' column.
    pub item: Option<Column>,
    /// The ratings' column.
    pub rating: Option<Column>,
    /// Columns that are read as something else: a rating is not looked for there.
    pub others: Vec<Column>,
}

impl Format {
    /// The columns that are given.
    fn given(&self) -> GivenColumns {
        Columns {
            user: self.user.clone(),
            item: self.item.clone(),
            rating: self.rating.clone(),
        }
    }
}

/// Reads a file, or what comes out of a pipe.
///
/// `stop` may be set from another thread, also while nobody writes to the pipe.
///
/// # Errors
///
/// [`Error::File`] when the system refuses to read it; [`Error::Value`] when there
/// is no interaction in it, and for a line that is not one, with the number of the
/// line, or is longer than 1 MiB; [`Error::Memory`]; [`Error::Interrupted`] when stopped.
pub fn read(path: &Path, format: &Format, stop: &AtomicBool) -> Result<Interactions> {
    let refused = |error| file_error(path, &error);
    let name = path.display().to_string();
    if fs::metadata(path).map_err(refused)?.is_file() {
        let file = File::open(path).map_err(refused)?;
        return parse(BufReader::new(file), &name, format, stop);
    }
    let pipe = Pipe::new(path, stop).map_err(refused)?;
    match parse(pipe, &name, format, stop) {
        Err(Error::File(..)) if stop.load(Relaxed) => Err(Error::Interrupted),
        result => result,
    }
}

/// Reads text, which errors call `name`; otherwise as [`read`].
///
/// # Errors
///
/// As [`read`].
pub fn parse(
    text: impl BufRead,
    name: &str,
    format: &Format,
    stop: &AtomicBool,
) -> Result<Interactions> {
    let mut lines = Lines::new(text, name, format.delimiter)?;
    let Some(first) = lines.next(Line::default())? else {
        return Err(Error::Value(format!(
            "{name} is empty, expected lines of user and item"
        )));
    };
    if first.width() < 2 {
        let between = match format.delimiter {
            Some(Delimiter::Tab) => "a tab",
            Some(delimiter) => delimiter.text(),
            None => "a comma, a tab, ; or | or ::",
        };
        return Err(bad_line(
            name,
            first.number,
            &quoted(first.field(0)),
            &format!("user and item separated by {between}"),
        ));
    }
    let delimiter = lines.delimiter;
    let given = format.given();
    let mut line = lines.next(Line::default())?;
    let header = (format.header)
        .unwrap_or_else(|| given.by_name() || is_header(&first, line.as_ref(), delimiter));
    if given.by_name() && !header {
        return Err(Error::Value(format!(
            "{name}: a column is given by name, expected a header, which is said not to be there"
        )));
    }
    let columns = given.find(
        name,
        &first,
        header,
        !format.without_ratings,
        &format.others,
    )?;
    let mut table = ReadSoFar::new(name, first.width(), delimiter, columns);
    if !header {
        table.add(&first)?;
    }
    while let Some(next) = line {
        if table.users.len().is_multiple_of(LINES) && stop.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        table.add(&next)?;
        line = lines.next(next)?;
    }
    table.finish()
}

/// Whether the first line is a header, by the rule in the module's documentation.
fn is_header(first: &Line, second: Option<&Line>, delimiter: Delimiter) -> bool {
    let is_number = |line: &Line, field| number(line.field(field), delimiter).is_some();
    !is_number(first, 0)
        && !is_number(first, 1)
        && (names_a_user(first)
            || second.is_some_and(|second| {
                let third = first.field(2);
                let names_third = !is_missing(third) && !is_number(first, 2);
                (names_third && is_number(second, 2))
                    || (is_number(second, 0) && is_number(second, 1))
            }))
}

/// Whether a field in the ratings' column stands for a missing rating. No id is compared with `NA` and
/// the like, which may be names (Namibia's code).
fn is_missing(rating: &str) -> bool {
    rating.is_empty() || MISSING.contains(&rating) || ["NA", "N/A", "n/a"].contains(&rating)
}

/// A finite number, which may have a comma before its decimals if no comma separates fields.
fn number(text: &str, delimiter: Delimiter) -> Option<f32> {
    let parsed = text.parse().ok().or_else(|| {
        let (whole, decimals) = text.split_once(',')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        if delimiter == Delimiter::Comma || !digits(unsigned) || !digits(decimals) {
            return None;
        }
        format!("{whole}.{decimals}").parse().ok()
    });
    parsed.filter(|number: &f32| number.is_finite())
}

/// What was read so far.
struct ReadSoFar<'a> {
    name: &'a str,
    width: usize,
    delimiter: Delimiter,
    columns: FoundColumns,
    users: Vec<u32>,
    items: Vec<u32>,
    ratings: Vec<f32>,
    user_ids: Numbering,
    item_ids: Numbering,
}

impl<'a> ReadSoFar<'a> {
    fn new(
        name: &'a str,
        width: usize,
        delimiter: Delimiter,
        columns: FoundColumns,
    ) -> ReadSoFar<'a> {
        ReadSoFar {
            name,
            width,
            delimiter,
            columns,
            users: Vec::new(),
            items: Vec::new(),
            ratings: Vec::new(),
            user_ids: Numbering::new(),
            item_ids: Numbering::new(),
        }
    }

    fn add(&mut self, line: &Line) -> Result<()> {
        let bad = |found: &str, expected: &str| bad_line(self.name, line.number, found, expected);
        if line.width() != self.width {
            let fields: Vec<&str> = line.fields().collect();
            let plural = if fields.len() == 1 { "" } else { "s" };
            let text = quoted(&fields.join(" | "));
            let found = format!("{} field{plural} in {text}", fields.len());
            let expected = format!("{} as in the first line", self.width);
            return Err(bad(&found, &expected));
        }
        let columns = &self.columns;
        let (user, item) = (line.field(columns.user.at), line.field(columns.item.at));
        for (id, what) in [(user, "user"), (item, "item")] {
            if id.is_empty() {
                return Err(bad(&format!("an empty {what}"), "user and item"));
            }
        }
        if let Some(rating) = &columns.rating {
            let rating = line.field(rating.at);
            match number(rating, self.delimiter) {
                Some(number) => {
                    reserve::grow(&mut self.ratings, 1)?;
                    self.ratings.push(number);
                }
                None if is_missing(rating) => {
                    let found = match rating {
                        "" => "an empty rating".to_owned(),
                        _ => format!("{rating} as the rating, which stands for a missing value"),
                    };
                    let expected = "a finite number; a file where some are missing is read without \
                                    ratings (ratings=False)";
                    return Err(bad(&found, expected));
                }
                None => return Err(bad(&quoted(rating), "a finite number as the rating")),
            }
        }
        let full = || bad("one user or item too many", "fewer than 2³² - 1");
        let known = (self.user_ids.len(), self.item_ids.len());
        let user_number = self.user_ids.number(user)?.ok_or_else(full)?;
        let item_number = self.item_ids.number(item)?.ok_or_else(full)?;
        // An id is compared with these words when it first occurs.
        for (id, what, is_new) in [
            (user, "user", user_number as usize == known.0),
            (item, "item", item_number as usize == known.1),
        ] {
            if is_new && MISSING.contains(&id) {
                let found = format!("{id} as the {what}, which stands for a missing value");
                return Err(bad(&found, "an id"));
            }
        }
        reserve::grow(&mut self.users, 1)?;
        reserve::grow(&mut self.items, 1)?;
        self.users.push(user_number);
        self.items.push(item_number);
        Ok(())
    }

    fn finish(self) -> Result<Interactions> {
        if self.users.is_empty() {
            return Err(Error::Value(format!(
                "{} has a header and no line after it, expected lines of user and item",
                self.name
            )));
        }
        Ok(Interactions {
            users: self.users,
            items: self.items,
            ratings: self.columns.rating.as_ref().map(|_| self.ratings),
            user_ids: self.user_ids.finish(),
            item_ids: self.item_ids.finish(),
            layout: Layout {
                delimiter: self.delimiter,
                user: self.columns.user,
                item: self.columns.item,
                rating: self.columns.rating,
            },
        })
    }
}
