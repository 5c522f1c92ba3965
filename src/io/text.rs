//! Text made uniform: the forms in which lines come, reduced to one.
//!
//! Tables are written by many programs. Before their lines are cut, byte order marks at the start
//! go (some programs write two), lines that end at `\r` alone, as on Macs before 2001, end at
//! `\n`, and spaces in front of a field go, so that a quote behind them is one. All of this
//! only removes or replaces bytes.

use std::io::{self, BufRead, Read};

/// A first line that is not blank must end within so many bytes, blank ones before it included;
/// the second one is looked at if it ends within as many.
pub(super) const LONGEST_START: usize = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The first lines of a text.
pub(super) struct Start {
    /// What was read, without byte order marks.
    pub bytes: Vec<u8>,
    /// How many bytes are whole lines: blank ones, and up to two that are not.
    pub whole: usize,
    /// Whether lines end at `\r` alone.
    pub returns: bool,
}

/// How a line ends.
#[derive(PartialEq)]
enum End {
    /// With `\n`.
    Feed,
    /// With `\r` and no `\n` after it.
    Return,
    /// At the end of the text.
    Text,
    /// Not within the limit.
    Limit,
}

impl Start {
    /// Reads lines until two are not blank, as far as they are not too long.
    pub fn read(text: &mut impl BufRead) -> io::Result<Start> {
        let (mut bytes, mut whole) = (Vec::new(), 0);
        // All lines are expected to end as the first one does.
        let mut returns = None;
        let mut limit = LONGEST_START;
        for _ in 0..2 {
            loop {
                let end = read_line(text, &mut bytes, limit, returns)?;
                while whole == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
                    bytes.drain(..BYTE_ORDER_MARK.len());
                }
                if end != End::Limit {
                    let blank = bytes[whole..].trim_ascii().is_empty();
                    whole = bytes.len();
                    returns = returns.or(Some(end == End::Return));
                    if blank && end != End::Text {
                        continue;
                    }
                }
                if matches!(end, End::Limit | End::Text) {
                    return Ok(Start {
                        bytes,
                        whole,
                        returns: returns == Some(true),
                    });
                }
                break;
            }
            limit = whole + LONGEST_START;
        }
        Ok(Start {
            bytes,
            whole,
            returns: returns == Some(true),
        })
    }
}

/// Appends a line, with its end, to what was read. It ends at `\r` alone if `returns` says so; if
/// that is not known, at the first `\r` or `\n` that is not within quotes.
fn read_line(
    text: &mut impl BufRead,
    bytes: &mut Vec<u8>,
    limit: usize,
    returns: Option<bool>,
) -> io::Result<End> {
    let mut quoted = false;
    let mut after_return = false;
    loop {
        let piece = match text.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            return Ok(if after_return { End::Return } else { End::Text });
        }
        let (mut taken, mut end) = (0, None);
        for &byte in &piece[..piece.len().min(limit - bytes.len())] {
            if after_return && byte != b'\n' {
                end = Some(End::Return);
                break;
            }
            taken += 1;
            match byte {
                b'\n' => end = Some(End::Feed),
                b'\r' if !quoted && returns != Some(false) => after_return = true,
                b'"' => quoted = !quoted,
                _ => {}
            }
            if end.is_some() {
                break;
            }
        }
        bytes.extend_from_slice(&piece[..taken]);
        text.consume(taken);
        match end {
            Some(end) => return Ok(end),
            None if bytes.len() == limit => return Ok(End::Limit),
            None => {}
        }
    }
}

/// Where in a line the reader is.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// In front of a field.
    Before,
    /// In a field, or behind a quoted one.
    Within,
    /// Between quotes.
    Quoted,
    /// Behind a quote that ends a field, unless another follows.
    Closing,
}

/// A text in uniform lines.
pub(super) struct Uniform<R> {
    text: R,
    /// Whether lines end at `\r` alone.
    returns: bool,
    after_return: bool,
    /// What separates fields that may be quoted; nothing if they may not.
    delimiter: Option<u8>,
    place: Position,
    /// With a delimiter, the bytes of the line that was read last, as far as it was read.
    line: usize,
    /// The line breaks within quotes among them.
    breaks: u64,
}

impl<R> Uniform<R> {
    pub fn new(text: R, returns: bool, delimiter: Option<u8>) -> Uniform<R> {
        Uniform {
            text,
            returns,
            after_return: false,
            delimiter,
            place: Position::Before,
            line: 0,
            breaks: 0,
        }
    }

    /// How many bytes the line that was read last has so far, and how many line breaks within quotes are among
    /// them. Both are 0 without a delimiter.
    pub fn unfinished(&self) -> (usize, u64) {
        (self.line, self.breaks)
    }

    /// Makes bytes uniform in place, and says how many are left.
    fn clean(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        // Where the last line in `bytes` begins.
        let mut begin = 0;
        for at in 0..bytes.len() {
            let mut byte = bytes[at];
            if self.returns {
                let second = byte == b'\n' && self.after_return;
                self.after_return = byte == b'\r';
                if second {
                    continue;
                }
                if byte == b'\r' {
                    byte = b'\n';
                }
            }
            if let Some(delimiter) = self.delimiter {
                let is_space = byte == b' ' || byte == b'\t';
                self.place = match (self.place, byte) {
                    (Position::Quoted, b'"') => Position::Closing,
                    (Position::Quoted, byte) => {
                        self.breaks += u64::from(byte == b'\n');
                        Position::Quoted
                    }
                    (Position::Before | Position::Closing, b'"') => Position::Quoted,
                    (_, b'\n') => {
                        begin = kept + 1;
                        self.line = 0;
                        self.breaks = 0;
                        Position::Before
                    }
                    (_, byte) if byte == delimiter => Position::Before,
                    (Position::Before, _) if is_space => continue,
                    _ => Position::Within,
                };
            }
            bytes[kept] = byte;
            kept += 1;
        }
        if self.delimiter.is_some() {
            self.line += kept - begin;
        }
        kept
    }
}

impl<R: Read> Read for Uniform<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(buffer)?;
            let kept = self.clean(&mut buffer[..read]);
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}
