//! The memory of an array's elements, kept for the next array of as many.
//!
//! Large blocks that are freed go back to the system, and new ones come as pages that the
//! system clears first, one fault each. That takes longer than most elementwise operators do on
//! them. A loop computes arrays of the same few lengths over and over, so a thread keeps the
//! blocks that it frees and hands them out again. A block that is handed out ([`take`]) holds the
//! numbers of before, which whoever takes it has to overwrite.
//!
//! A block is kept only if its array was made for that ([`Buffer::again`]). Memory that came from a
//! caller or was copied from a table would pile up, since no array of its length is asked for here.
//!
//! Limits: a thread keeps at most 64 MiB, and forgets what it has not used for longest. Blocks
//! under 16 KiB are left to the allocator, which is quick at those. A block fits arrays of the
//! same length and element type only.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;

use super::Element;

/// The smallest block that is kept, in bytes.
const LEAST: usize = 16 << 10;
/// The most that a thread keeps, in bytes.
const MOST: usize = 64 << 20;

/// Blocks that wait to be used again, those freed last at the back.
#[derive(Default)]
struct Kept {
    /// A `Vec` of some element type, and its size in bytes.
    blocks: VecDeque<(usize, Box<dyn Any>)>,
    bytes: usize,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

fn bytes<T>(count: usize) -> usize {
    count.saturating_mul(size_of::<T>())
}

/// A block of `count` elements of arbitrary value, if one is kept.
pub(super) fn take<T: Element>(count: usize) -> Option<Vec<T>> {
    let size = bytes::<T>(count);
    if !(LEAST..=MOST).contains(&size) {
        return None;
    }
    let take = |kept: &RefCell<Kept>| {
        let mut kept = kept.borrow_mut();
        let fits = |(bytes, block): &(usize, Box<dyn Any>)| *bytes == size && block.is::<Vec<T>>();
        let at = kept.blocks.iter().rposition(fits)?;
        let (_, block) = kept.blocks.remove(at)?;
        kept.bytes -= size;
        block.downcast().ok().map(|block| *block)
    };
    // Fails while a thread ends, when its blocks have been dropped.
    KEPT.try_with(take).ok().flatten()
}

/// Keeps a block, in place of older ones if there is no room.
fn keep<T: Element>(block: Vec<T>) {
    let size = bytes::<T>(block.len());
    if !(LEAST..=MOST).contains(&size) || block.capacity() > block.len() {
        return;
    }
    // While a thread ends this fails, and the block is freed.
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        while kept.bytes > MOST - size {
            let Some((freed, _)) = kept.blocks.pop_front() else {
                break;
            };
            kept.bytes -= freed;
        }
        kept.bytes += size;
        kept.blocks.push_back((size, Box::new(block)));
    });
}

/// The elements of an array, whose memory may be kept when it is dropped.
pub(super) struct Buffer<T: Element> {
    elements: Vec<T>,
    again: bool,
}

impl<T: Element> Buffer<T> {
    /// Elements whose memory is freed when they are dropped.
    pub(super) fn once(elements: Vec<T>) -> Self {
        let again = false;
        Buffer { elements, again }
    }

    /// Elements whose memory is kept for another array when they are dropped.
    pub(super) fn again(elements: Vec<T>) -> Self {
        let again = true;
        Buffer { elements, again }
    }

    pub(super) fn into_vec(mut self) -> Vec<T> {
        std::mem::take(&mut self.elements)
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Element> Drop for Buffer<T> {
    #[inline]
    fn drop(&mut self) {
        if self.again && bytes::<T>(self.elements.len()) >= LEAST {
            keep(std::mem::take(&mut self.elements));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free<T: Element>(x: T, count: usize) {
        drop(Buffer::again(vec![x; count]));
    }

    #[test]
    fn a_block_fits_its_own_length_and_type_once() {
        free(7.0f64, 5000);
        free(8.0f32, 10_000);
        assert_eq!(take::<f64>(4999), None);
        assert_eq!(take::<f64>(10_000), None);
        assert_eq!(take::<f64>(5000), Some(vec![7.0; 5000]));
        assert_eq!(take::<f64>(5000), None);
        assert_eq!(take::<f32>(10_000), Some(vec![8.0; 10_000]));
    }

    #[test]
    fn what_came_another_way_is_not_kept() {
        drop(Buffer::once(vec![1.0f64; 6000]));
        drop(Buffer::again(vec![1.0f64; 6000]).into_vec());
        assert_eq!(take::<f64>(6000), None);
    }

    #[test]
    fn small_and_huge_blocks_are_not_kept() {
        free(1u32, LEAST / 4 - 1);
        assert_eq!(take::<u32>(LEAST / 4 - 1), None);
        free(1u32, MOST / 4 + 1);
        assert_eq!(take::<u32>(MOST / 4 + 1), None);
    }

    #[test]
    fn the_oldest_leave_first() {
        const COUNT: usize = MOST / 8 / 4;
        for k in 0..5 {
            free(f64::from(k), COUNT);
        }
        let first = |block: Option<Vec<f64>>| block.map(|b| b[0]);
        for k in (1..5).rev() {
            assert_eq!(first(take(COUNT)), Some(f64::from(k)));
        }
        assert_eq!(first(take(COUNT)), None);
        assert_eq!(KEPT.with_borrow(|kept| kept.bytes), 0);
    }
}
