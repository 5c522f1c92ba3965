//! The memory of a table: zeros, aligned for vectors.
//!
//! Large tables are mapped, and the kernel is asked for huge pages. Lookups jump from row to row, and with pages of
//! 4 KiB the translation of a row's address is in no translation lookaside buffer once a table is larger than what
//! the buffer covers: with 600,000 rows of 64 numbers an epoch of BPR takes 1.6 times as long. Mapped pages cost
//! nothing until they are written.
//!
//! Limits: a kernel that has no huge pages to give, or was told to give none, gives small ones.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use memmap2::MmapMut;

use super::moves::CACHE_LINE;
use crate::error::{Error, Result};

/// Bytes from which memory is mapped: one huge page of x86-64.
const MAPPED: usize = 2 << 20;

/// Zeroed, aligned memory.
#[derive(Debug)]
pub(super) struct Zeroed {
    start: NonNull<u8>,
    owner: Owner,
}

/// Who frees the memory, and how.
#[derive(Debug)]
enum Owner {
    /// A block of the allocator, of this layout.
    Block(Layout),
    /// Pages, which are unmapped when this is dropped.
    Pages { _mapped: MmapMut },
}

// SAFETY: `Zeroed` owns its block or pages, which are not tied to the thread that asked for them: any thread may
// free them.
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
        // Miri does not know how to map memory.
        if bytes >= MAPPED && !cfg!(miri) {
            let mut mapped = MmapMut::map_anon(bytes).map_err(|_| refuse())?;
            // A kernel without huge pages refuses, and the memory is as good, but slower.
            #[cfg(target_os = "linux")]
            let _ = mapped.advise(memmap2::Advice::HugePage);
            let start = NonNull::new(mapped.as_mut_ptr()).ok_or_else(refuse)?;
            let owner = Owner::Pages { _mapped: mapped };
            return Ok(Zeroed { start, owner });
        }
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(refuse)?;
        let owner = Owner::Block(layout);
        Ok(Zeroed { start, owner })
    }

    /// The first byte. It stays where it is for as long as the memory lives.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        if let Owner::Block(layout) = self.owner {
            // SAFETY: `start` came from `alloc_zeroed` with this layout and is freed once.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of both kinds is zero and can be written from its first to its last byte.
    #[test]
    fn memory_is_zero_and_aligned_and_all_there() {
        for bytes in [0, 1, 100, MAPPED - 1, MAPPED, MAPPED + 1, 3 * MAPPED + 4097] {
            let memory = Zeroed::new(bytes).expect("a few megabytes");
            assert!(memory.start().addr().is_multiple_of(CACHE_LINE));
            // SAFETY: `bytes` zeros are there, and nobody else has the memory.
            let all = unsafe { std::slice::from_raw_parts_mut(memory.start(), bytes) };
            assert!(all.iter().all(|&byte| byte == 0));
            all.fill(1);
        }
    }

    #[test]
    fn memory_that_no_machine_has_is_refused() {
        for bytes in [1 << 60, isize::MAX as usize, usize::MAX] {
            assert!(matches!(Zeroed::new(bytes), Err(Error::Memory(_))));
        }
    }
}
