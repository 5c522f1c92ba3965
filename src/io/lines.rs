//! Lines: delimited text cut into fields, with line numbers that can be trusted.
//!
//! The `csv` crate does the cutting, except for `::`, which it does not know. Its
//! own line numbers are off after blank lines and with `\r\n`, so here lines end at
//! `\n` alone and the number is counted back from where the reader stands.

use std::fmt::Display;
use std::io::{self, BufRead, Chain, Cursor, Read};

use csv::{ByteRecord, StringRecord};

use super::ids::quoted;
use crate::error::{Error, Result};

/// The first line, and blank lines before it, must end within so many bytes.
const FIRST_LINE: u64 = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What separates fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    Comma,
    /// A tab.
    Tab,
    /// `::`, as in MovieLens; there is no quoting with it.
    Colons,
}

/// A line cut into its fields.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Counted from 1; of a quoted field with line breaks, its first line.
    pub number: u64,
    fields: StringRecord,
}

impl Line {
    /// Number of fields.
    pub fn width(&self) -> usize {
        self.fields.len()
    }

    /// A field without spaces around it; empty when there is no such field.
    pub fn field(&self, at: usize) -> &str {
        self.fields.get(at).unwrap_or("").trim()
    }

    /// All fields, without spaces around them.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(str::trim)
    }

    fn is_blank(&self) -> bool {
        self.width() <= 1 && self.field(0).is_empty()
    }
}

/// The lines of a text, blank ones left out.
pub(super) struct Lines<'a, R> {
    name: &'a str,
    cutter: Cutter<Text<R>>,
}

/// The text without byte order mark: its first lines, the rest, and a line break
/// so that the last line ends like any other.
type Text<R> = Chain<Chain<Cursor<Vec<u8>>, R>, &'static [u8]>;

enum Cutter<T> {
    Quoting(Box<csv::Reader<Watched<T>>>),
    Colons { text: T, number: u64, line: Vec<u8> },
}

/// Text that knows whether its end was reached by a reader that wanted more.
struct Watched<T> {
    text: T,
    ended: bool,
}

impl<T: Read> Read for Watched<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        self.ended = read == 0;
        Ok(read)
    }
}

impl<'a, R: BufRead> Lines<'a, R> {
    /// Begins to read `text`, which errors call `name`. Without a delimiter, it is
    /// the first of tab, `::` and `,` that the first line contains.
    pub fn new(mut text: R, name: &'a str, delimiter: Option<Delimiter>) -> Result<Self> {
        let head = read_head(&mut text, name)?;
        let delimiter = delimiter.unwrap_or_else(|| guess(&head));
        let text = Cursor::new(head).chain(text).chain(&b"\n"[..]);
        let cutter = match delimiter {
            Delimiter::Comma => quoting(b',', text),
            Delimiter::Tab => quoting(b'\t', text),
            Delimiter::Colons => Cutter::Colons {
                text,
                number: 0,
                line: Vec::new(),
            },
        };
        Ok(Lines { name, cutter })
    }

    /// The next line that is not blank, in the memory of one that is done with.
    pub fn next(&mut self, mut line: Line) -> Result<Option<Line>> {
        loop {
            if !self.cut(&mut line)? {
                return Ok(None);
            }
            if !line.is_blank() {
                return Ok(Some(line));
            }
        }
    }

    /// Overwrites `line` with the next one, if there is one.
    fn cut(&mut self, line: &mut Line) -> Result<bool> {
        let refused = |error: &dyn Display| Error::File(format!("{}: {error}", self.name));
        let mut record = std::mem::take(&mut line.fields).into_byte_record();
        match &mut self.cutter {
            Cutter::Quoting(reader) => {
                if !(reader.read_byte_record(&mut record)).map_err(|error| refused(&error))? {
                    return Ok(false);
                }
                let breaks = record.as_slice().iter().filter(|&&b| b == b'\n').count() as u64;
                line.number = reader.position().line().saturating_sub(breaks);
                // A line ends with a line break, and no more than that is read for
                // it; unless a quote goes on and on.
                if reader.get_ref().ended {
                    let expected = "the quote to be closed";
                    return Err(bad_line(self.name, line.number, "a quote", expected));
                }
                // The reader stands behind the line's end.
                line.number = line.number.saturating_sub(1);
            }
            Cutter::Colons {
                text,
                number,
                line: bytes,
            } => {
                bytes.clear();
                if (text.read_until(b'\n', bytes)).map_err(|error| refused(&error))? == 0 {
                    return Ok(false);
                }
                *number += 1;
                line.number = *number;
                split(bytes, &mut record);
            }
        }
        line.fields = StringRecord::from_byte_record(record).map_err(|error| {
            let field = error.utf8_error().field();
            let record = error.into_byte_record();
            let bytes = String::from_utf8_lossy(record.get(field).unwrap_or_default());
            bad_line(self.name, line.number, &quoted(&bytes), "text in UTF-8")
        })?;
        let stray = |field: &str| field.replace("\r\n", "").contains('\r');
        if (line.fields()).any(|field| field.contains('\r') && stray(field)) {
            let found = "a carriage return within the line";
            let expected = r"lines to end with \n or \r\n";
            return Err(bad_line(self.name, line.number, found, expected));
        }
        Ok(true)
    }
}

/// Cuts as RFC 4180 says, into any number of fields.
fn quoting<T: Read>(delimiter: u8, text: T) -> Cutter<T> {
    let mut reader = csv::ReaderBuilder::new();
    reader
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true);
    reader.terminator(csv::Terminator::Any(b'\n'));
    let watched = Watched { text, ended: false };
    Cutter::Quoting(Box::new(reader.from_reader(watched)))
}

/// The first line that is not blank, with the blank ones before it and without a
/// byte order mark.
fn read_head(text: &mut impl BufRead, name: &str) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let left = FIRST_LINE - head.len() as u64;
        let read = (text.take(left).read_until(b'\n', &mut head))
            .map_err(|error| Error::File(format!("{name}: {error}")))?;
        if head.len() as u64 == FIRST_LINE {
            return Err(Error::Value(format!(
                "{name}: found no line within {FIRST_LINE} bytes, expected user and item"
            )));
        }
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        if read == 0 || !head.trim_ascii().is_empty() {
            return Ok(head);
        }
    }
}

fn guess(head: &[u8]) -> Delimiter {
    // A tab around the line separates nothing.
    let head = head.trim_ascii();
    if head.contains(&b'\t') {
        Delimiter::Tab
    } else if head.windows(2).any(|pair| pair == b"::") {
        Delimiter::Colons
    } else {
        Delimiter::Comma
    }
}

/// Cuts a line at each `::`.
fn split(line: &[u8], record: &mut ByteRecord) {
    record.clear();
    let mut start = 0;
    let mut at = 0;
    while at < line.len() {
        if line[at..].starts_with(b"::") {
            record.push_field(&line[start..at]);
            at += 2;
            start = at;
        } else {
            at += 1;
        }
    }
    record.push_field(&line[start..]);
}

/// The error for a line that is not what it must be.
pub(super) fn bad_line(name: &str, number: u64, found: &str, expected: &str) -> Error {
    Error::Value(format!(
        "{name}, line {number}: found {found}, expected {expected}"
    ))
}
