//! Memory that holds machine code.
//!
//! It is mapped for writing, filled, and from then on can be read and executed, never written: no page
//! is ever both writable and executable. It is unmapped when [`Code`] is dropped, which whoever runs it
//! borrows. Each function has pages of its own, for which 4 KiB are the least.

use std::io;

use memmap2::{Mmap, MmapMut};

/// Machine code that can be executed.
#[derive(Debug)]
pub(super) struct Code {
    map: Mmap,
}

impl Code {
    /// Copies code into memory of its own.
    ///
    /// # Errors
    /// Those of the system, which may have no memory or, by a policy of its administrator, make none
    /// executable.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(bytes.len())?;
        map.copy_from_slice(bytes);
        Ok(Code {
            map: map.make_exec()?,
        })
    }

    /// Where it begins; the first byte is on a page's boundary.
    pub(super) fn start(&self) -> *const u8 {
        self.map.as_ptr()
    }
}
