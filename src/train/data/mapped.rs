//! A column that is read where it is: a file that the caller has mapped into memory, which may be larger
//! than memory. How it is read, and the limits, stand at [`Mapped`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::array::{DType, Type};
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::rules::index_error;

/// Words that are looked at between two looks for signals.
const SCANNED: usize = 1 << 20;

/// How indices are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Numbers of the column's type.
    Plain,
    /// Signed integers of 32 bits.
    Signed,
    /// Signed integers of 64 bits.
    Wide,
}

/// A column in memory that others may write.
///
/// Others may write there at any time, other processes too. So nothing refers to the numbers as a slice:
/// every word is read by a relaxed atomic load. Indices are compared with the bounds of a table before
/// training, by the least and the largest of them, and each again as it is read: one outside of the range
/// that was found at first ends the run, and is never used.
///
/// Limits: numbers of 4 or 8 bytes, in the machine's order and C order. Indices of 8 bytes are read by
/// their lower half, once all upper halves were found to be 0. A file that is cut short while it is mapped
/// ends the process (SIGBUS), as for every reader of a mapped file.
#[derive(Clone)]
pub struct Mapped {
    name: Arc<str>,
    start: *const AtomicU32,
    ty: Type,
    /// Words from one number to the next.
    step: usize,
    /// The least and the largest word that may be read.
    range: (u32, u32),
    /// Whether another one was read.
    changed: Arc<AtomicBool>,
    /// What the memory lives as long as.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: what is pointed to is read by atomic loads alone, and lives as long as the owner, which may be
// sent and shared.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({}: {})", self.name, self.ty)
    }
}

impl Mapped {
    /// The column of a type that begins at `start`. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Index`] for an index that has more than 32 bits or is negative, with its position;
    /// [`Error::Type`] if the type is not stored so, and [`Error::Interrupted`].
    ///
    /// # Safety
    /// From `start` on, aligned to 4 bytes, there are as many numbers as the type says, 8 bytes each if they
    /// are wide, that can be read as long as the owner lives.
    pub unsafe fn new(
        name: &str,
        start: *const u8,
        ty: Type,
        stored: Stored,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        if ty.dtype.is_real() && stored != Stored::Plain {
            return Err(Error::Type(format!(
                "{name}: {ty} is not stored as integers"
            )));
        }
        let step = match stored {
            Stored::Wide => 2,
            _ => ty.dtype.size() / size_of::<u32>(),
        };
        let mut mapped = Mapped {
            name: name.into(),
            start: start.cast(),
            step,
            range: (0, u32::MAX),
            changed: Arc::default(),
            _owner: owner,
            ty,
        };
        if mapped.ty.dtype == DType::U32 {
            mapped.range = mapped.scan(stored)?;
        }
        Ok(mapped)
    }

    /// The least and the largest index, of all that are stored so.
    fn scan(&self, stored: Stored) -> Result<(u32, u32)> {
        let most = match stored {
            Stored::Signed => i32::MAX.cast_unsigned(),
            _ => u32::MAX,
        };
        let (words, high) = (self.words(0), self.words(1));
        let count = self.ty.size();
        let (mut least, mut largest) = (u32::MAX, 0);
        let mut poller = Poller::default();
        for at in 0..count {
            if at % SCANNED == SCANNED - 1 {
                poller.step(SCANNED)?;
            }
            let word = words.word(at);
            if word > most || stored == Stored::Wide && high.word(at) != 0 {
                let value = match stored {
                    Stored::Wide => {
                        (u64::from(word) | u64::from(high.word(at)) << 32).cast_signed()
                    }
                    _ => word.cast_signed().into(),
                };
                return Err(Error::Index(format!(
                    "{}: index {value} at position {at} is out of range; indices run from 0 to {}",
                    self.name,
                    u32::MAX
                )));
            }
            (least, largest) = (least.min(word), largest.max(word));
        }
        Ok((least.min(largest), largest))
    }

    /// The type of the whole column.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The least and the largest index, as they were found at first.
    pub fn range(&self) -> (i64, i64) {
        (self.range.0.into(), self.range.1.into())
    }

    /// Checks that all indices are below `n`.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(in crate::train) fn check(&self, what: impl FnOnce() -> String, n: usize) -> Result<()> {
        if self.ty.dtype != DType::U32 || (self.range.1 as usize) < n {
            return Ok(());
        }
        let words = self.words(0);
        let beyond = |at: &usize| words.word(*at) as usize >= n;
        let at = (0..self.ty.size()).find(beyond).unwrap_or(0);
        Err(index_error(what(), words.word(at), at, n))
    }

    /// Checks that no index was read that was not there at first.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(in crate::train) fn check_unchanged(&self) -> Result<()> {
        match self.changed.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::Index(format!(
                "{}: the mapped array was changed during the run, and has indices that were not checked; \
                 the batches from there on were not applied",
                self.name
            ))),
        }
    }

    /// The words of all numbers, each the word number `at` of its number.
    pub(in crate::train) fn words(&self, at: usize) -> MappedWords<'_> {
        MappedWords {
            start: self.start,
            length: self.ty.size() * self.step,
            step: self.step,
            at,
            low: self.range.0,
            span: self.range.1 - self.range.0,
            changed: &self.changed,
        }
    }

    /// Copies rows of `row` numbers to `out`, which has the words of as many rows as `order`.
    pub(in crate::train) fn copy_rows(&self, row: usize, order: &[u32], out: &mut [u32]) {
        let each = self.ty.dtype.size() / size_of::<u32>();
        for at in 0..each {
            let words = self.words(at);
            let rows = out.chunks_exact_mut((row * each).max(1)).zip(order);
            for (out, &k) in rows {
                for (n, out) in out.iter_mut().skip(at).step_by(each).enumerate() {
                    *out = words.word(k as usize * row + n);
                }
            }
        }
    }
}

/// One word of every number of a mapped column.
#[derive(Clone, Copy)]
pub(in crate::train) struct MappedWords<'a> {
    start: *const AtomicU32,
    /// Words in all.
    length: usize,
    step: usize,
    at: usize,
    low: u32,
    span: u32,
    changed: &'a AtomicBool,
}

// SAFETY: the memory is read by atomic loads alone, and is borrowed.
unsafe impl Send for MappedWords<'_> {}
// SAFETY: as above.
unsafe impl Sync for MappedWords<'_> {}

impl MappedWords<'_> {
    /// The word of number `i`. One that is out of range is noted, and becomes another.
    ///
    /// # Panics
    /// If there is no such number.
    #[inline(always)]
    pub(in crate::train) fn word(&self, i: usize) -> u32 {
        let place = i * self.step + self.at;
        assert!(place < self.length, "a column has so many words");
        // SAFETY: the place is within the memory, which is aligned to words and can be read as long as the
        // column that is borrowed, by the conditions of `Mapped::new`.
        let word = unsafe { &*self.start.add(place) }.load(Ordering::Relaxed);
        if word.wrapping_sub(self.low) > self.span {
            self.changed.store(true, Ordering::Relaxed);
            return self.low;
        }
        word
    }
}
