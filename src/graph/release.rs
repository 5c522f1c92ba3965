//! Dropping deep graphs without recursion.
//!
//! A node that dies hands its parents to a list of this thread. The first node to do
//! so empties the list; nodes that die meanwhile only append to it. The stack depth
//! is therefore constant, whatever the depth of the graph.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;

use super::node::Node;
use super::under_way::UnderWay;

thread_local! {
    // Without a destructor of their own these stay usable while the thread's other
    // locals, which may own graphs, are being destroyed.
    static LIST: ManuallyDrop<RefCell<Vec<Rc<dyn Node>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// Ends with the thread, and the list's memory with it.
    static LIFE: Life = const { Life };
}

/// Most entries whose memory is kept for the next time, while the thread lives.
const KEEP: usize = 64;

struct Life;

impl Drop for Life {
    fn drop(&mut self) {
        // From now on nothing is kept. After a drop that panicked the list has nodes still, which stay.
        LIST.with(|list| list.borrow_mut().shrink_to_fit());
    }
}

/// Drops what `give` appends, and whatever dies because of it.
pub(super) fn defer(give: impl FnOnce(&mut Vec<Rc<dyn Node>>)) {
    LIST.with(|list| give(&mut list.borrow_mut()));
    // If a drop panics, the next call goes on with the list.
    let emptying = UnderWay::begin(&BUSY);
    if emptying.is_inner {
        return;
    }
    loop {
        // The borrow ends before the node dies: its own drop appends to the list.
        let next = LIST.with(|list| list.borrow_mut().pop());
        if next.is_none() {
            break;
        }
    }
    let keep = LIFE.try_with(|_| KEEP).unwrap_or(0);
    LIST.with(|list| {
        let mut list = list.borrow_mut();
        if list.capacity() > keep {
            list.shrink_to(keep);
        }
    });
}
