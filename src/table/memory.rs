//! The memory of a table: zeroed pages, aligned for vectors, that cost nothing until they are
//! written.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::moves::CACHE_LINE;
use crate::error::{Error, Result};

/// Zeroed, aligned memory.
#[derive(Debug)]
pub(super) struct Zeroed {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: `Zeroed` owns its block, which is not tied to the thread that allocated it: any thread may
// free it.
unsafe impl Send for Zeroed {}
// SAFETY: `&Zeroed` has no method but `start`, which copies a pointer that never changes; to read or
// write through it is unsafe where it is done.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// `bytes` zeros.
    ///
    /// # Errors
    /// [`Error::Memory`] if they cannot be had.
    pub(super) fn new(bytes: usize) -> Result<Self> {
        let refuse = || Error::Memory(format!("a table of {bytes} bytes cannot be allocated"));
        let layout = Layout::from_size_align(bytes.max(1), CACHE_LINE).map_err(|_| refuse())?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(refuse)?;
        Ok(Zeroed { start, layout })
    }

    /// The first byte. It stays where it is for as long as the memory lives.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
