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
//! One interaction a line, UTF-8. Fields are separated by a tab, `::` or `,`: the
//! first of these that the first line contains. With a tab or `,` a field may be
//! quoted, as in RFC 4180. Spaces around a field, blank lines, a byte order mark
//! and either line ending do not matter. Every line has as many fields as the
//! first.
//!
//! The first two fields are the user and the item, any text that is not empty. The
//! third, if there is one, is the rating, a finite number; fields after it are not
//! looked at. A header may say otherwise, by naming the columns of the user, the
//! item and (then only if named) the rating.
//!
//! The first line is a header when neither of its first two fields is a number and
//! one of these holds: it names a user and an item column; it has a third field
//! that is not a number; the first two fields of the second line are numbers. Where
//! this guesses wrong, say so in [`Format`].
//!
//! # Limits
//!
//! Memory is a small multiple of the file, mostly for ids. There are fewer than
//! 2³² users and items. The first line is at most 64 KiB long.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::ids::{Numbering, quoted};
use super::lines::{Line, Lines, bad_line};
use super::pipe::Pipe;
use super::{Delimiter, Ids, file_error};
use crate::error::{Error, Result};

/// Lines between two looks at whether to stop.
const LINES: usize = 1 << 14;

/// Header names of the columns, in lower case, letters and digits only, without
/// "id" at the end.
const USER_NAMES: [&str; 5] = ["user", "customer", "reader", "member", "visitor"];
const ITEM_NAMES: [&str; 8] = [
    "item", "movie", "product", "book", "article", "track", "song", "artist",
];
const RATING_NAMES: [&str; 3] = ["rating", "score", "stars"];

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
}

/// How the file is laid out; what is not said is guessed from its first lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Format {
    /// What separates fields.
    pub delimiter: Option<Delimiter>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// Whether to leave ratings out, whatever stands where they would.
    pub without_ratings: bool,
}

/// Reads a file, or what comes out of a pipe.
///
/// `stop` may be set from another thread, also while nobody writes to the pipe.
///
/// # Errors
///
/// [`Error::File`] when the system refuses to read it; [`Error::Value`] when there
/// is no interaction in it, and for a line that is not one, with the number of the
/// line; [`Error::Interrupted`] when stopped.
pub fn read(path: &Path, format: &Format, stop: &AtomicBool) -> Result<Interactions> {
    let refused = |error| file_error(path, &error);
    let name = path.display().to_string();
    if fs::metadata(path).map_err(refused)?.is_file() {
        let file = File::open(path).map_err(refused)?;
        return parse(BufReader::new(file), &name, format, stop);
    }
    let pipe = Pipe::new(path, stop).map_err(refused)?;
    match parse(pipe, &name, format, stop) {
        Err(Error::File(_)) if stop.load(Relaxed) => Err(Error::Interrupted),
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
        let expected = "user and item separated by a comma, a tab or ::";
        return Err(bad_line(
            name,
            first.number,
            &quoted(first.field(0)),
            expected,
        ));
    }
    let mut line = lines.next(Line::default())?;
    let header = (format.header).unwrap_or_else(|| is_header(&first, line.as_ref()));
    let mut table = Table::new(name, &first, header);
    if format.without_ratings {
        table.columns.rating = None;
    }
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

/// The rule of the module's documentation.
fn is_header(first: &Line, second: Option<&Line>) -> bool {
    let is_number = |line: &Line, field| line.field(field).parse::<f64>().is_ok();
    !is_number(first, 0)
        && !is_number(first, 1)
        && (Columns::named(first).is_some()
            || (first.width() > 2 && !is_number(first, 2))
            || second.is_some_and(|line| is_number(line, 0) && is_number(line, 1)))
}

/// Where the fields stand that are read.
#[derive(Debug, Clone, Copy)]
struct Columns {
    user: usize,
    item: usize,
    rating: Option<usize>,
}

impl Columns {
    /// Where a header says they are, if it names both user and item.
    fn named(header: &Line) -> Option<Columns> {
        let names: Vec<String> = header
            .fields()
            .map(|field| {
                let name: String = field.chars().filter(|c| c.is_alphanumeric()).collect();
                let name = name.to_lowercase();
                name.strip_suffix("id").unwrap_or(&name).to_owned()
            })
            .collect();
        let find = |known: &[&str]| names.iter().position(|name| known.contains(&&name[..]));
        Some(Columns {
            user: find(&USER_NAMES)?,
            item: find(&ITEM_NAMES)?,
            rating: find(&RATING_NAMES),
        })
    }

    /// User, item and, if there are three fields or more, rating.
    fn in_order(width: usize) -> Columns {
        Columns {
            user: 0,
            item: 1,
            rating: (width > 2).then_some(2),
        }
    }
}

/// What was read so far.
struct Table<'a> {
    name: &'a str,
    width: usize,
    columns: Columns,
    users: Vec<u32>,
    items: Vec<u32>,
    ratings: Vec<f32>,
    user_ids: Numbering,
    item_ids: Numbering,
}

impl<'a> Table<'a> {
    /// A table as wide as its first line, whose columns that line may name.
    fn new(name: &'a str, first: &Line, header: bool) -> Table<'a> {
        let named = Columns::named(first).filter(|_| header);
        Table {
            name,
            width: first.width(),
            columns: named.unwrap_or_else(|| Columns::in_order(first.width())),
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
        let columns = self.columns;
        let (user, item) = (line.field(columns.user), line.field(columns.item));
        if user.is_empty() || item.is_empty() {
            let missing = if user.is_empty() { "user" } else { "item" };
            return Err(bad(&format!("an empty {missing}"), "user and item"));
        }
        if let Some(rating) = columns.rating {
            let rating = line.field(rating);
            match rating.parse::<f32>() {
                Ok(number) if number.is_finite() => self.ratings.push(number),
                _ => return Err(bad(&quoted(rating), "a finite number as the rating")),
            }
        }
        let full = || bad("one user or item too many", "fewer than 2³² - 1");
        self.users
            .push(self.user_ids.number(user).ok_or_else(full)?);
        self.items
            .push(self.item_ids.number(item).ok_or_else(full)?);
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
            ratings: self.columns.rating.map(|_| self.ratings),
            user_ids: self.user_ids.finish(),
            item_ids: self.item_ids.finish(),
        })
    }
}
