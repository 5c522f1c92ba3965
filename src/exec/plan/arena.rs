//! One block of memory for all values of a plan.
//!
//! [`Offsets`] gives each value an offset so that values that live at the same time never
//! overlap, by first fit over free intervals; [`Arena`] is the memory itself, zeroed and
//! aligned for the widest vectors.

use std::alloc::{Layout as Block, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::table::moves::CACHE_LINE;

/// Alignment of every value, and the multiple that its memory is rounded up to.
pub(in crate::exec) const LINE: usize = CACHE_LINE;

/// Assigns offsets.
#[derive(Debug, Default)]
pub(in crate::exec) struct Offsets {
    /// Free intervals below `end`: start to length, never adjacent.
    free: BTreeMap<usize, usize>,
    end: usize,
}

impl Offsets {
    fn padded(bytes: usize) -> usize {
        bytes.max(1).next_multiple_of(LINE)
    }

    /// An offset for `bytes` that overlaps nothing allocated.
    pub(in crate::exec) fn allocate(&mut self, bytes: usize) -> usize {
        let n = Self::padded(bytes);
        // Looking at a few intervals is enough in practice and bounds the time.
        let found = self.free.iter().take(64).find(|(_, len)| **len >= n);
        if let Some((&start, &length)) = found {
            self.free.remove(&start);
            if length > n {
                self.free.insert(start + n, length - n);
            }
            return start;
        }
        let start = self.end;
        self.end += n;
        start
    }

    /// Gives back what `allocate` returned for the same number of bytes.
    pub(in crate::exec) fn release(&mut self, offset: usize, bytes: usize) {
        let mut start = offset;
        let mut length = Self::padded(bytes);
        if let Some((&before, &n)) = self.free.range(..start).next_back()
            && before + n == start
        {
            self.free.remove(&before);
            start = before;
            length += n;
        }
        if let Some(n) = self.free.remove(&(start + length)) {
            length += n;
        }
        if start + length == self.end {
            self.end = start;
        } else {
            self.free.insert(start, length);
        }
    }

    /// Bytes in use at the moment, up to the highest.
    pub(in crate::exec) fn end(&self) -> usize {
        self.end
    }
}

/// Memory for one run of a plan at a time.
#[derive(Debug)]
pub(in crate::exec) struct Arena {
    start: NonNull<u8>,
    block: Block,
}

// SAFETY: an arena owns its block; it is reached only through the executors that hold it, of which one
// is used at a time, and borrowed mutably while it writes.
unsafe impl Send for Arena {}

// SAFETY: a shared arena tells its address and its size alone, which do not change.
unsafe impl Sync for Arena {}

impl Arena {
    pub(in crate::exec) fn new(bytes: usize) -> Result<Self> {
        let refuse = || Error::Memory(format!("a plan needs {bytes} bytes, which cannot be had"));
        let block = Block::from_size_align(bytes.max(LINE), LINE).map_err(|_| refuse())?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(block) }).ok_or_else(refuse)?;
        Ok(Arena { start, block })
    }

    /// How many bytes there are.
    pub(in crate::exec) fn bytes(&self) -> usize {
        self.block.size()
    }

    pub(in crate::exec) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.block) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_values_do_not_overlap_and_memory_is_reused() {
        let mut layout = Offsets::default();
        let mut live: Vec<(usize, usize)> = Vec::new();
        let mut x: u32 = 1;
        let mut peak = 0;
        for _ in 0..2000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if x >> 31 == 0 || live.is_empty() {
                let n = (x >> 8) as usize % 500;
                let at = layout.allocate(n);
                assert_eq!(at % LINE, 0);
                for &(other, m) in &live {
                    assert!(at + n <= other || other + m <= at);
                }
                live.push((at, n));
            } else {
                let (at, n) = live.swap_remove((x >> 8) as usize % live.len());
                layout.release(at, n);
            }
            peak = peak.max(layout.end());
        }
        for (at, n) in live {
            layout.release(at, n);
        }
        assert_eq!(layout.end(), 0);
        assert!(peak < 2000 * 512);
    }

    #[test]
    fn an_interval_that_fits_is_used_up() {
        let mut layout = Offsets::default();
        let [first, _] = [100, 100].map(|bytes| layout.allocate(bytes));
        layout.release(first, 100);
        assert_eq!(layout.allocate(100), first);
        assert!(layout.free.is_empty(), "{layout:?}");
    }
}
