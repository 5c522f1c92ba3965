//! Notes that a thread is at something, for as long as it is.
//!
//! Code of the caller's (a hook, a rule, a drop) runs within walks over a graph, and may begin another or
//! panic. A flag of the thread tells the inner walk; this guard puts it back, also while a panic unwinds the
//! stack, since a thread that catches the panic goes on.

use std::cell::Cell;
use std::thread::LocalKey;

/// A flag that is set while this lives.
pub(super) struct UnderWay {
    flag: &'static LocalKey<Cell<bool>>,
    /// Whether it was set before.
    pub is_inner: bool,
}

impl UnderWay {
    pub(super) fn begin(flag: &'static LocalKey<Cell<bool>>) -> Self {
        UnderWay {
            flag,
            is_inner: flag.replace(true),
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.flag.set(self.is_inner);
    }
}
