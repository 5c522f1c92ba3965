//! Nodes in the order of what depends on what, and values brought up to date in that order.
//!
//! A walk keeps its own stack, so that depth is bounded by memory and not by the thread's stack,
//! and visits each node once, however many paths lead to it.

pub(super) mod node_places;

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use self::node_places::NodePlaces;
use super::flags::Flags;
use super::lengths::{asked_lengths, length_guards};
use super::node::Node;
use crate::error::Result;
use crate::interrupt::Poller;
use crate::reserve;
use crate::rules::Internal;
use crate::table::changes;

/// Nodes in the order of a walk; those of a small graph need no allocation.
pub(super) type Order = SmallVec<[Rc<dyn Node>; 16]>;

/// Memory of a walk, used again by the next.
#[derive(Default)]
struct Room {
    /// Nodes to visit; those marked are visited, and wait for their parents.
    stack: Vec<(Rc<dyn Node>, bool)>,
    parents: Vec<Rc<dyn Node>>,
}

/// Most entries whose memory is kept for the next time.
const KEEP: usize = 256;

thread_local! {
    static WALKS: Cell<u64> = const { Cell::new(0) };
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

/// A number that no earlier walk of this thread had.
fn new_walk() -> u64 {
    WALKS.with(|w| {
        w.set(w.get() + 1);
        w.get()
    })
}

/// So many visits to nodes take some milliseconds.
const VISITS: usize = 1 << 14;

/// Appends the nodes below `root` (and `root`) for which `enter` holds, parents first.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) if there is none for a list of them, and what ends long work.
pub(super) fn topological(
    root: &Rc<dyn Node>,
    enter: impl Fn(&dyn Node) -> bool,
    order: &mut Order,
) -> Result<()> {
    topological_of(std::slice::from_ref(root), enter, order)
}

/// As [`topological`], below several roots: what is below more than one is visited once.
///
/// # Errors
/// As [`topological`].
pub(super) fn topological_of(
    roots: &[Rc<dyn Node>],
    enter: impl Fn(&dyn Node) -> bool,
    order: &mut Order,
) -> Result<()> {
    if !walk_once(roots, &enter, order, true)? {
        // Without polling there is no other walk meanwhile.
        order.clear();
        walk_once(roots, &enter, order, false)?;
    }
    Ok(())
}

/// As [`topological_of`], into an empty list, polling or not. `false` if a handler of signals walked
/// too: it may have left its marks on these nodes.
#[inline]
fn walk_once(
    roots: &[Rc<dyn Node>],
    enter: &impl Fn(&dyn Node) -> bool,
    order: &mut Order,
    polls: bool,
) -> Result<bool> {
    let walk = new_walk();
    let (mut poller, mut visits) = (Poller::default(), 0_usize);
    let mut room = ROOM.take().unwrap_or_default();
    let Room { stack, parents } = &mut *room;
    reserve::grow(stack, roots.len())?;
    stack.extend(roots.iter().rev().map(|root| (Rc::clone(root), false)));
    while let Some((node, done)) = stack.pop() {
        visits += 1;
        if polls && visits % VISITS == 0 {
            poller.large_step()?;
            if WALKS.get() != walk {
                return Ok(false);
            }
        }
        if done {
            append(order, node)?;
            continue;
        }
        let core = node.core();
        if core.mark.get() == walk || !enter(&*node) {
            continue;
        }
        core.mark.set(walk);
        if core.is_leaf() {
            append(order, node)?;
            continue;
        }
        node.parents(parents);
        reserve::grow(stack, parents.len() + 1)?;
        stack.push((node, true));
        stack.extend(parents.drain(..).rev().map(|p| (p, false)));
    }
    if stack.capacity() <= KEEP {
        ROOM.set(Some(room));
    }
    Ok(true)
}

/// Appends a node, if there is memory for the list.
#[inline]
fn append(order: &mut Order, node: Rc<dyn Node>) -> Result<()> {
    if order.len() == order.capacity() {
        reserve::grow(order, 1)?;
    }
    order.push(node);
    Ok(())
}

/// About how many nanoseconds a node of a few numbers takes in a walk.
pub(super) const NODE: usize = 500;

/// Recomputes whatever below `root` is out of date.
///
/// # Errors
/// Whatever an operator reports on the new values, that an input has another length than one that
/// was asked for (`graph::lengths::asked_lengths`), and what ends long work; nodes from there up stay out of date.
pub(super) fn refresh(root: &Rc<dyn Node>) -> Result<()> {
    let now = changes();
    let core = root.core();
    if core.checked() >= now {
        return Ok(());
    }
    let changed = core.flags().changed_since(core.checked());
    if changed == Flags::NONE {
        core.confirm(now);
        return Ok(());
    }
    if asked_lengths::any() {
        let mut all = Order::new();
        topological(root, |_| true, &mut all)?;
        length_guards::check(all.iter().map(|node| &**node))?;
    }
    let mut order = Order::new();
    let enter = |node: &dyn Node| {
        let core = node.core();
        core.checked() < now && core.flags().has(changed)
    };
    topological(root, enter, &mut order)?;
    let mut poller = Poller::default();
    for node in order {
        poller.step(NODE)?;
        if !node.core().is_leaf() && node.newest_parent() > node.core().version() {
            node.evaluate(Internal)?;
            // Not the counter as it is by now: other threads and operators of the caller's change leaves meanwhile,
            // of which nodes before this one may have seen nothing.
            node.core().set_version(now);
        }
        node.core().confirm(now);
    }
    Ok(())
}

/// Whether a gradient of one of `roots` flows to anything but `wrt`: another leaf that records one,
/// or a node that is older than all of `wrt`. (An argument traced later is of a function that was
/// differentiated meanwhile, and a constant by now.)
///
/// # Errors
/// As [`topological`].
pub(super) fn captures(roots: &[Rc<dyn Node>], wrt: &[&Rc<dyn Node>]) -> Result<bool> {
    let first = wrt.iter().map(|x| x.core().serial()).min().unwrap_or(0);
    let wrt = NodePlaces::new(wrt.iter().map(|x| x.core()));
    let captures = Cell::new(false);
    let enter = |n: &dyn Node| {
        let core = n.core();
        if captures.get() || !core.differentiable() {
            return false;
        }
        let older = core.serial() < first;
        let outside = older || (core.is_leaf() && !core.traced());
        if outside && wrt.find(core).is_none() {
            captures.set(true);
        }
        !outside && !core.is_leaf()
    };
    topological_of(roots, enter, &mut Order::new())?;
    Ok(captures.get())
}
