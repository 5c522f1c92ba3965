//! What a piece of work costs in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with the bytes that the calling thread holds, the most
/// it held, and so the price of what it just did.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn hold(bytes: isize) {
    HELD.set(HELD.get() + bytes);
    MOST.set(MOST.get().max(HELD.get()));
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps
// the contract; the counters are thread-local cells without destructor, initialised
// at compile time, so that counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist while the content moves.
        hold(size as isize);
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[cfg_attr(not(feature = "python"), global_allocator)]
#[cfg_attr(
    feature = "python",
    expect(dead_code, reason = "the Python module has an allocator of its own")
)]
static ALLOCATOR: Counting = Counting;

/// What `work` returns, and the most bytes it held at once.
pub fn price<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    (result, (MOST.get() - before) as usize)
}
