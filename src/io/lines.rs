//! Lines: delimited text cut into fields, with correct line numbers.
//!
//! The `csv` crate does the cutting, except for `::`, which it does not know. Its
//! own line numbers are wrong after blank lines and with `\r\n`. So it is told that
//! lines end at `\n` alone, and the number of a line is computed from the line at
//! which the reader stands after it.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use csv::{ByteRecord, StringRecord};

use super::ids::quoted;
use super::text::{LONGEST_START, Start, Uniform};
use crate::error::{Error, Result};

/// What separates fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`, as where a comma stands before decimals.
    Semicolon,
    /// `|`
    Bar,
    /// A tab.
    Tab,
    /// `::`, as in MovieLens; there is no quoting with it.
    Colons,
}

impl Delimiter {
    /// All of them.
    pub const ALL: [Delimiter; 5] = [
        Delimiter::Tab,
        Delimiter::Colons,
        Delimiter::Comma,
        Delimiter::Semicolon,
        Delimiter::Bar,
    ];

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Delimiter::Comma => ",",
            Delimiter::Semicolon => ";",
            Delimiter::Bar => "|",
            Delimiter::Tab => "\t",
            Delimiter::Colons => "::",
        }
    }

    /// The delimiter as one byte; none for `::`, which has two and knows no quotes.
    fn byte(self) -> Option<u8> {
        match self.text().as_bytes() {
            &[byte] => Some(byte),
            _ => None,
        }
    }
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
        trimmed(self.fields.get(at).unwrap_or(""))
    }

    /// All fields, without spaces around them.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(trimmed)
    }

    fn is_blank(&self) -> bool {
        self.width() <= 1 && self.field(0).is_empty()
    }
}

/// A field without spaces and byte order marks around it. Joined files have byte order marks in
/// the middle.
fn trimmed(field: &str) -> &str {
    field.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// The lines of a text, blank ones left out.
pub(super) struct Lines<'a, R> {
    name: &'a str,
    /// What separates fields.
    pub delimiter: Delimiter,
    cutter: Cutter<R>,
}

/// The text without byte order mark: its first lines, the rest, and a line break
/// so that the last line ends like any other.
type Text<R> = Uniform<Chain<Chain<Cursor<Vec<u8>>, R>, &'static [u8]>>;

enum Cutter<R> {
    Quoting(Box<csv::Reader<Watched<R>>>),
    Colons {
        text: BufReader<Text<R>>,
        number: u64,
        line: Vec<u8>,
    },
}

/// The most bytes of a line. One that may be quoted is refused when more than this would be read without its end.
const LONGEST_LINE: usize = 1 << 20;

/// A reader of the text that notes whether its end was reached, and refuses to read on in a line that is too long.
struct Watched<R> {
    text: Text<R>,
    ended: bool,
}

impl<R> Watched<R> {
    fn is_too_long(&self) -> bool {
        self.text.unfinished().0 >= LONGEST_LINE
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_too_long() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.text.read(buffer)?;
        self.ended = read == 0;
        Ok(read)
    }
}

impl<'a, R: BufRead> Lines<'a, R> {
    /// Begins to read `text`, which errors call `name`. A delimiter that is not given is
    /// found by [`guess`].
    pub fn new(mut text: R, name: &'a str, delimiter: Option<Delimiter>) -> Result<Self> {
        let start = Start::read(&mut text)
            .map_err(|error| Error::File(format!("{name}: {error}"), error.kind()))?;
        if start.bytes[..start.whole].trim_ascii().is_empty() && start.bytes.len() >= LONGEST_START
        {
            return Err(Error::Value(format!(
                "{name}: found no line within {LONGEST_START} bytes, expected user and item"
            )));
        }
        let delimiter = match delimiter {
            Some(delimiter) => delimiter,
            None => guess(&start, name)?,
        };
        Ok(Lines::continued(
            start.bytes,
            start.returns,
            text,
            name,
            delimiter,
        ))
    }

    /// Lines of bytes that were read before, and of what follows them.
    fn continued(
        start: Vec<u8>,
        returns: bool,
        text: R,
        name: &'a str,
        delimiter: Delimiter,
    ) -> Self {
        let text = Cursor::new(start).chain(text).chain(&b"\n"[..]);
        let byte = delimiter.byte();
        let text = Uniform::new(text, returns, byte);
        let cutter = match byte {
            Some(byte) => quoting(byte, text),
            None => Cutter::Colons {
                text: BufReader::new(text),
                number: 0,
                line: Vec::new(),
            },
        };
        Lines {
            name,
            delimiter,
            cutter,
        }
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
        let refused =
            |error: std::io::Error| Error::File(format!("{}: {error}", self.name), error.kind());
        let too_long = |number| {
            let found = format!("a line of more than {LONGEST_LINE} bytes");
            bad_line(
                self.name,
                number,
                &found,
                "a line break before, or the quote to be closed",
            )
        };
        let mut record = std::mem::take(&mut line.fields).into_byte_record();
        match &mut self.cutter {
            Cutter::Quoting(reader) => {
                let read = reader.read_byte_record(&mut record);
                let watched = reader.get_ref();
                if read.is_err() && watched.is_too_long() {
                    let (_, breaks) = watched.text.unfinished();
                    return Err(too_long(reader.position().line().saturating_sub(breaks)));
                }
                if !read.map_err(|error| refused(error.into()))? {
                    return Ok(false);
                }
                let breaks = record.as_slice().iter().filter(|&&b| b == b'\n').count() as u64;
                line.number = reader.position().line().saturating_sub(breaks);
                // Every line ends with a line break, and the reader asks for no more than
                // that, unless a quote is never closed.
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
                let mut text = text.take(LONGEST_LINE as u64);
                if (text.read_until(b'\n', bytes)).map_err(refused)? == 0 {
                    return Ok(false);
                }
                *number += 1;
                if text.limit() == 0 && bytes.last() != Some(&b'\n') {
                    return Err(too_long(*number));
                }
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
        // Looked for in the whole line first: hardly any line has one.
        let text = line.fields.as_slice();
        if text.contains('\0') {
            let expected = "text without them (UTF-16 has them: write the file as UTF-8)";
            return Err(bad_line(
                self.name,
                line.number,
                "a NUL character",
                expected,
            ));
        }
        let stray = |field: &str| field.replace("\r\n", "").contains('\r');
        if text.contains('\r') && line.fields().any(stray) {
            let found = "a carriage return within the line";
            let expected = r"lines to end with \n or \r\n";
            return Err(bad_line(self.name, line.number, found, expected));
        }
        Ok(true)
    }
}

/// Cuts as RFC 4180 says, into any number of fields.
fn quoting<R: Read>(delimiter: u8, text: Text<R>) -> Cutter<R> {
    let mut reader = csv::ReaderBuilder::new();
    reader
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true);
    reader.terminator(csv::Terminator::Any(b'\n'));
    let watched = Watched { text, ended: false };
    Cutter::Quoting(Box::new(reader.from_reader(watched)))
}

/// What separates the fields of the first lines: a tab or `::` if both lines have the same
/// number of fields by it, more than one; else that of `,`, `;` and `|` by which they have the
/// most. Where they do not agree by any, the first line decides alone.
fn guess(start: &Start, name: &str) -> Result<Delimiter> {
    let lines = &start.bytes[..start.whole];
    let widths = Delimiter::ALL.map(|delimiter| {
        let rest: &[u8] = &[];
        let mut cut = Lines::continued(lines.to_vec(), start.returns, rest, "", delimiter);
        let mut width = || {
            let line = cut.next(Line::default()).ok().flatten();
            line.map_or(0, |line| line.width())
        };
        (delimiter, width(), width())
    });
    // A width of 0 means that there is no second line, or that it cannot be cut.
    let same = |&(_, first, second): &(Delimiter, usize, usize)| {
        first > 1 && (second == first || second == 0)
    };
    let most = |candidates: Vec<(Delimiter, usize, usize)>| -> Result<Option<Delimiter>> {
        for sure in [Delimiter::Tab, Delimiter::Colons] {
            if candidates.iter().any(|&(delimiter, ..)| delimiter == sure) {
                return Ok(Some(sure));
            }
        }
        let most = candidates.iter().map(|&(_, width, _)| width).max();
        let best: Vec<Delimiter> = candidates
            .iter()
            .filter(|&&(_, width, _)| Some(width) == most)
            .map(|&(delimiter, ..)| delimiter)
            .collect();
        match best[..] {
            [] => Ok(None),
            [delimiter] => Ok(Some(delimiter)),
            [one, other, ..] => Err(Error::Value(format!(
                "{name}, line 1: found {:?} and {:?}, and either may separate the fields; \
                 expected the delimiter to be given",
                one.text(),
                other.text()
            ))),
        }
    };
    let agreeing = widths.into_iter().filter(same).collect();
    if let Some(delimiter) = most(agreeing)? {
        return Ok(delimiter);
    }
    let first = widths.into_iter().filter(|&(_, first, _)| first > 1);
    if let Some(delimiter) = most(first.collect())? {
        return Ok(delimiter);
    }
    // The first line has a quote that is not closed, or no delimiter at all.
    let text = String::from_utf8_lossy(lines);
    let contained = Delimiter::ALL
        .into_iter()
        .find(|delimiter| text.contains(delimiter.text()));
    Ok(contained.unwrap_or(Delimiter::Comma))
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
