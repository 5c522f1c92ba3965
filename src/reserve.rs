//! Memory in reserve, for what has no way to report that there is none.
//!
//! Arrays are asked for fallibly, and so is what grows with a graph in one piece. Nodes, operators,
//! short lists, names and messages are small and everywhere; Rust ends the process if there is no
//! memory for one. So the allocator of the Python module (`Reserving`) holds a block back. When the
//! system has no memory for a request, the block goes back to the system and the request is made
//! again. From then on [`check`] fails, which graphs, functions and arrays call where they grow, until
//! the system has another such block: the caller sees [`Error::Memory`], and what was begun is dropped,
//! for which there is memory too. What is dropped need not come back to the system: the C library keeps
//! the gaps below anything that is still needed. So up to half of the block may be missing then, if the
//! C library has as much in gaps.
//!
//! Limits: requests of more than [`LARGEST`] never get the reserve: infallible ones end the process, so
//! whoever is about to make several of that size asks [`ahead`]. Where the system overcommits memory
//! (Linux by default), requests do not fail and the kernel ends the process: the reserve helps where
//! addresses are limited (`ulimit -v`, `vm.overcommit_memory=2`). While the system has less than half a
//! block, everything is refused, whatever gaps there are: glibc takes nothing from those for a thread
//! that began when there was no memory for an arena of its own. A smaller block is held until it is
//! given back. A crate that uses this one without Python has its own
//! allocator, and no reserve. What the C library asks for itself, as for a new thread, is not seen.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::hint::black_box;
#[cfg(feature = "python")]
use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The size of the block that is held back, in bytes, if the system has that much.
pub(crate) const WHOLE: usize = 33 << 20;

/// The largest request, in bytes, for which the reserve is given up: several fit in it.
const LARGEST: usize = 8 << 20;

/// The size that the block has at least.
#[cfg(feature = "python")]
const SMALLEST: usize = 2 * LARGEST;

/// What is missing of the block is looked for in gaps of this size, in bytes.
#[cfg(feature = "python")]
const GAP: usize = 1 << 20;

/// What the block begins with. Nothing else is written to it, so it takes addresses and next to no memory.
#[cfg(feature = "python")]
struct HeldBlock {
    size: usize,
}

/// The block, or null.
#[cfg(feature = "python")]
static HELD: AtomicPtr<HeldBlock> = AtomicPtr::new(ptr::null_mut());

/// Fails while there is no reserve.
///
/// # Errors
/// [`Error::Memory`].
#[inline]
pub(crate) fn check() -> Result<()> {
    #[cfg(feature = "python")]
    if HELD.load(Ordering::Relaxed).is_null() {
        return refill();
    }
    Ok(())
}

/// Fails if the system has no memory for `count` things of `each` bytes, which are then asked for
/// infallibly. Another thread may be quicker; for small amounts the reserve is there.
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn ahead(count: usize, each: usize) -> Result<()> {
    check()?;
    let size = count.saturating_mul(each);
    if size <= LARGEST / 4 {
        return Ok(());
    }
    let layout = layout(size).ok_or_else(none_left)?;
    // SAFETY: the size is not zero.
    let probe = unsafe { System.alloc(layout) };
    // Without this LLVM leaves out an allocation that nothing uses, and takes it for granted.
    if black_box(probe).is_null() {
        return Err(none_left());
    }
    // SAFETY: it was allocated above, by the same allocator with the same layout.
    unsafe { System.dealloc(probe, layout) };
    Ok(())
}

/// Bytes that each pass asks for [`ahead`], by item.
///
/// They are estimates of what a pass makes infallibly. Beside each stands how much the live memory
/// grew for an item until the next pass asked, at most, for chains of 30,000 `sin`, 30,000 products
/// with an input, and 120,000 operators of three kinds, on x86-64. That counts results and lists that
/// are asked for fallibly, too, so it may be more. What was not measured says so. The executor
/// asks for twice the size of its own entries, see there.
pub(crate) mod bytes {
    /// A node that gradients are found through: 1,540 with the nodes of the gradient.
    pub(crate) const NODE_ABOVE: usize = 256;
    /// A node in the table of numbers by which it is frozen: 250 with its instruction.
    pub(crate) const NODE_FROZEN: usize = 64;
    /// An instruction that is differentiated: 800 with those of its gradient.
    pub(crate) const DIFFERENTIATED: usize = 512;
    /// An instruction in a pass of the optimizer, its copy included: 400.
    pub(crate) const OPTIMIZED: usize = 1024;
    /// An instruction that is scheduled and given its place: 330. With 1,536 asked ahead, training in
    /// little memory still ran out here, in a thread of its own.
    pub(crate) const SCHEDULED: usize = 4096;
    /// An instruction as text, while it is made; not measured: its text has 40 bytes.
    #[cfg(feature = "python")]
    pub(crate) const PRINTED: usize = 256;
    /// A link in the lists of a walk for Python's collector; not measured.
    #[cfg(feature = "python")]
    pub(crate) const LISTED: usize = 64;
}

/// A collection that can be asked to make room for more.
pub(crate) trait Grow {
    /// Makes room for `more` elements; whether there is any now.
    fn try_grow(&mut self, more: usize) -> bool;
}

impl<T> Grow for Vec<T> {
    #[inline]
    fn try_grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl Grow for String {
    #[inline]
    fn try_grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<A: smallvec::Array> Grow for SmallVec<A> {
    #[inline]
    fn try_grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Grow for HashMap<K, V, S> {
    #[inline]
    fn try_grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

/// Makes room for `more` elements in a collection.
///
/// # Errors
/// [`Error::Memory`].
#[inline]
pub(crate) fn grow(collection: &mut impl Grow, more: usize) -> Result<()> {
    match collection.try_grow(more) {
        true => Ok(()),
        false => Err(none_left()),
    }
}

/// The error of all that has no memory to grow.
#[cold]
fn none_left() -> Error {
    Error::Memory(
        "there is next to no memory left: what was begun is undone; drop graphs, programs or \
         arrays that are not needed any more"
            .into(),
    )
}

/// Holds a block back, if the system has one.
///
/// # Errors
/// [`Error::Memory`].
#[cfg(feature = "python")]
#[cold]
fn refill() -> Result<()> {
    let mut block = from_system(WHOLE);
    if block.is_null() {
        // What was dropped meanwhile, node by node, is with glibc, which gives nothing back to the
        // system by itself unless the end of its heap is free.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: `malloc_trim` has no conditions.
        unsafe {
            libc::malloc_trim(0);
        }
        block = smaller();
    }
    if block.is_null() {
        return Err(none_left());
    }
    // SAFETY: another thread put it there a moment ago, as this one does; whoever swaps a block out is
    // its only owner.
    unsafe { give_back(HELD.swap(block, Ordering::AcqRel)) };
    Ok(())
}

/// The largest block that the system has, if the C library has gaps for what it is smaller than
/// [`WHOLE`]; else null.
#[cfg(feature = "python")]
fn smaller() -> *mut HeldBlock {
    let largest = (0..=(WHOLE - SMALLEST) / GAP)
        .map(|missing| (missing, from_system(WHOLE - missing * GAP)))
        .find(|(_, block)| !block.is_null());
    let Some((missing, block)) = largest else {
        return ptr::null_mut();
    };
    if gaps(missing) {
        return block;
    }
    // SAFETY: it was made above, and nobody else has it.
    unsafe { give_back(block) };
    ptr::null_mut()
}

/// Whether the C library has memory for so many gaps, while the largest block of the system is held.
#[cfg(feature = "python")]
fn gaps(count: usize) -> bool {
    let Some(layout) = layout(GAP) else {
        return false;
    };
    let mut found = SmallVec::<[*mut u8; (WHOLE - SMALLEST) / GAP]>::new();
    while found.len() < count {
        // SAFETY: the size is not zero.
        let gap = black_box(unsafe { System.alloc(layout) });
        if gap.is_null() {
            break;
        }
        found.push(gap);
    }
    let all = found.len() == count;
    for gap in found {
        // SAFETY: it was allocated above, by the same allocator with the same layout.
        unsafe { System.dealloc(gap, layout) };
    }
    all
}

/// A block of so many bytes from the system and no memory that the C library has, or null.
#[cfg(feature = "python")]
fn from_system(size: usize) -> *mut HeldBlock {
    #[cfg(unix)]
    // SAFETY: a new private mapping, where the system likes, changes no memory that anybody has.
    let block = unsafe {
        let block = libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if block == libc::MAP_FAILED {
            ptr::null_mut()
        } else {
            block.cast::<HeldBlock>()
        }
    };
    #[cfg(not(unix))]
    let block = layout(size).map_or(ptr::null_mut(), |layout| {
        // SAFETY: the size is not zero.
        unsafe { System.alloc(layout) }.cast::<HeldBlock>()
    });
    if !block.is_null() {
        // SAFETY: the memory is this function's alone, can be written to, and is large enough and
        // aligned to 16 bytes.
        unsafe { block.write(HeldBlock { size }) };
    }
    block
}

/// Gives a block back to the system, unless it is null.
///
/// # Safety
/// The block is from [`from_system`], and the caller is its only owner.
#[cfg(feature = "python")]
unsafe fn give_back(block: *mut HeldBlock) {
    if block.is_null() {
        return;
    }
    // SAFETY: `from_system` wrote it, and nobody else has it, by the contract of this function.
    let size = unsafe { (*block).size };
    #[cfg(unix)]
    // SAFETY: `from_system` mapped so many bytes there, and nobody else has them. Where the process has
    // as many mappings as the system allows this may fail; the block is lost then, and nothing else.
    let _ = unsafe { libc::munmap(block.cast(), size) };
    #[cfg(not(unix))]
    if let Some(layout) = layout(size) {
        // SAFETY: `from_system` got it from this allocator with this layout.
        unsafe { System.dealloc(block.cast(), layout) };
    }
}

/// The layout of memory that anything may be written to.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, 16).ok()
}

/// The system's allocator, with a reserve for small requests. See the [module documentation](self).
#[cfg(feature = "python")]
pub(crate) struct Reserving;

#[cfg(feature = "python")]
impl Reserving {
    /// Gives the reserve up for a request of so many bytes that failed; says whether to try again.
    #[cold]
    fn spend(size: usize) -> bool {
        if size > LARGEST {
            return false;
        }
        // SAFETY: what stands there is from `from_system`, by `refill`, and by the swap this thread's.
        unsafe { give_back(HELD.swap(ptr::null_mut(), Ordering::AcqRel)) };
        // Also if another thread has given it up a moment ago.
        true
    }
}

#[cfg(feature = "python")]
// SAFETY: each method hands its arguments on to the system's allocator, under the same contract, and
// gives what that gives. It does so a second time only after a null pointer, which says that the
// first call has allocated nothing and left an old block as it was. Nothing here unwinds.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size of `layout` is not zero, by the contract of this function.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() || !Self::spend(layout.size()) {
            return block;
        }
        // SAFETY: the size of `layout` is not zero; the first call gave null, so no block is lost.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size of `layout` is not zero, by the contract of this function.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() || !Self::spend(layout.size()) {
            return block;
        }
        // SAFETY: the size of `layout` is not zero; the first call gave null, so no block is lost.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `old` is a block of `layout` from this allocator, and `size` is not zero and does not
        // overflow, by the contract of this function; every block of this allocator came from `System`.
        let block = unsafe { System.realloc(old, layout, size) };
        if !block.is_null() || !Self::spend(size) {
            return block;
        }
        // SAFETY: the same conditions hold, since the first call gave null: `old` is still a block of
        // `layout` from `System`, and `size` is the caller's.
        unsafe { System.realloc(old, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` is one of `layout` from this allocator and is not used again, by the contract
        // of this function; every block of this allocator came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}
