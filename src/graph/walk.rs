//! Walks over a graph: bringing values up to date, and gradients down.
//!
//! Both keep their own stacks, so that depth is bounded by memory and not by the
//! thread's stack, and both visit each node once, however many paths lead to it.

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::hook;
use super::node::{Kind, Node};
use super::value::{Places, Value};
use crate::array::{Array, Type, show_shape};
use crate::error::{Error, Result};
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

/// Appends the nodes below `root` (and `root`) for which `enter` holds, parents first.
pub(super) fn topological(
    root: &Rc<dyn Node>,
    enter: impl Fn(&dyn Node) -> bool,
    order: &mut Order,
) {
    let walk = new_walk();
    let mut room = ROOM.take().unwrap_or_default();
    let Room { stack, parents } = &mut *room;
    stack.push((Rc::clone(root), false));
    while let Some((node, done)) = stack.pop() {
        if done {
            order.push(node);
            continue;
        }
        let core = node.core();
        if core.mark.get() == walk || !enter(&*node) {
            continue;
        }
        core.mark.set(walk);
        if core.is_leaf() {
            order.push(node);
            continue;
        }
        node.parents(parents);
        stack.push((node, true));
        stack.extend(parents.drain(..).rev().map(|p| (p, false)));
    }
    if stack.capacity() <= KEEP {
        ROOM.set(Some(room));
    }
}

/// Recomputes whatever below `root` is out of date.
///
/// # Errors
/// Whatever an operator reports on the new values; nodes from there up stay out of date.
pub(super) fn refresh(root: &Rc<dyn Node>) -> Result<()> {
    let now = changes();
    if root.core().is_current(now) {
        return Ok(());
    }
    let (mut order, mut parents) = (Order::new(), Vec::new());
    topological(root, |n| !n.core().is_current(now), &mut order);
    for node in order {
        if !node.core().is_leaf() {
            node.parents(&mut parents);
            let newest = parents.iter().map(|p| p.version()).max();
            parents.clear();
            if newest.is_some_and(|v| v > node.core().version()) {
                node.evaluate()?;
            }
        }
        node.core().confirm(now);
    }
    Ok(())
}

/// Checks that a gradient fits what it is the gradient of.
pub(super) fn check_seed(ty: &Type, seed: &Type) -> Result<()> {
    if seed.shape != ty.shape {
        return Err(Error::Shape(format!(
            "grad: expected shape {}, got {}",
            show_shape(&ty.shape),
            show_shape(&seed.shape)
        )));
    }
    if seed.dtype != ty.dtype {
        return Err(Error::Type(format!(
            "grad: expected {}, got {}",
            ty.dtype, seed.dtype
        )));
    }
    Ok(())
}

/// The seed of a backward pass: ones, or a given array of the root's type.
fn seed(root: &dyn Node, grad: Option<Array>) -> Result<Value> {
    let ty = root.core().ty();
    let Some(grad) = grad else {
        return Value::Repeated(Places::All, 1.0, ty)
            .dense()
            .map(Value::Dense);
    };
    check_seed(&ty, &grad.ty())?;
    Ok(Value::Dense(grad))
}

/// Leaves, each with the gradient that arrived there.
type Arrived<'a> = SmallVec<[(&'a Rc<dyn Node>, Value); 4]>;

/// Sends the gradient `seed` of the last of `order` down: what arrives at leaves, each once.
///
/// A node passes its gradient on only when all its consumers have contributed, so each
/// rule runs once.
///
/// A rule or hook of the caller's may walk over the same nodes meanwhile, which hold one gradient
/// each: an inner walk puts back what it found there.
fn descend(order: &Order, seed: Value) -> Result<Arrived<'_>> {
    let inner = Descent::begin();
    let outer = inner.is_inner.then(|| {
        let held = order.iter().map(|node| node.core().partial.take());
        held.collect::<Vec<_>>()
    });
    let arrived = pass_down(order, seed);
    for (node, held) in order.iter().zip(outer.into_iter().flatten()) {
        node.core().partial.replace(held);
    }
    arrived
}

/// A walk down that is under way in this thread, for as long as this lives.
struct Descent {
    is_inner: bool,
}

thread_local! {
    static DESCENDING: Cell<bool> = const { Cell::new(false) };
}

impl Descent {
    fn begin() -> Self {
        Descent {
            is_inner: DESCENDING.replace(true),
        }
    }
}

impl Drop for Descent {
    fn drop(&mut self) {
        DESCENDING.set(self.is_inner);
    }
}

fn pass_down(order: &Order, seed: Value) -> Result<Arrived<'_>> {
    let mut arrived = SmallVec::new();
    let mut result = match order.last() {
        Some(root) => root.core().collect(seed),
        None => Ok(()),
    };
    // Consumers before parents: the reverse of a topological order. After an error the rest
    // is only cleared.
    for node in order.iter().rev() {
        let Some(g) = node.core().partial.borrow_mut().take() else {
            continue;
        };
        if result.is_err() {
            continue;
        }
        let g = match hook::any(node.core()) {
            true => hook::passed(node.core(), g),
            false => Ok(g),
        };
        result = g.and_then(|g| match node.core().is_leaf() {
            true => {
                arrived.push((node, g));
                Ok(())
            }
            false => node.backward(g),
        });
    }
    result.map(|()| arrived)
}

/// Adds the gradient of `root` to every leaf below that records one.
///
/// # Errors
/// [`Error::Type`] if no leaf records a gradient, and whatever [`refresh`] or a rule
/// reports; gradients are then unchanged.
pub(super) fn backward(root: &Rc<dyn Node>, grad: Option<Array>) -> Result<()> {
    thread_local! {
        static BUSY: Cell<bool> = const { Cell::new(false) };
    }
    // A rule or hook of the caller's may do anything, but the nodes hold one gradient each.
    if BUSY.replace(true) {
        return Err(Error::State(
            "backward: this is called by a rule or hook of a backward pass that is under way; \
             there, use grad or vjp of a function"
                .into(),
        ));
    }
    let result = collect(root, grad);
    BUSY.set(false);
    result
}

fn collect(root: &Rc<dyn Node>, grad: Option<Array>) -> Result<()> {
    refresh(root)?;
    if !root.core().dtype().is_real() {
        return Err(Error::Type(
            "backward: these are integers, which have no gradient".into(),
        ));
    }
    if !root.core().differentiable() {
        return Err(Error::Type(
            "backward: nothing below records a gradient, as a Parameter does".into(),
        ));
    }
    let seed = seed(&**root, grad)?;
    let mut order = Order::new();
    topological(root, |n| n.core().differentiable(), &mut order);
    let gradients = descend(&order, seed)?
        .into_iter()
        .map(|(leaf, g)| Ok((leaf, g.into_gradient()?)));
    // All are there before a leaf gets one. Only for a copy of an old gradient that somebody else
    // holds may memory lack after that: the leaves before then have theirs.
    for (leaf, g) in gradients.collect::<Result<SmallVec<[_; 4]>>>()? {
        match leaf.kind() {
            Kind::Parameter(param) => param.accumulate(g)?,
            Kind::Variable(_, slot) => {
                let mut slot = slot.borrow_mut();
                match &mut *slot {
                    None => *slot = Some(g),
                    Some(old) => old.add(g)?,
                }
            }
            Kind::Operation(_) | Kind::Input(..) | Kind::Constant => {}
        }
    }
    Ok(())
}

/// The gradients of `root` by leaves, as numbers; `None` for a leaf that does not matter.
///
/// # Errors
/// As [`backward`], but for a root that nothing differentiable is below.
pub(super) fn gradient_values(
    root: &Rc<dyn Node>,
    grad: Option<Array>,
    leaves: &[&Rc<dyn Node>],
) -> Result<Vec<Option<Value>>> {
    refresh(root)?;
    let seed = seed(&**root, grad)?;
    let mut found = vec![None; leaves.len()];
    if !root.core().differentiable() {
        return Ok(found);
    }
    let mut order = Order::new();
    topological(root, |n| n.core().differentiable(), &mut order);
    for (leaf, g) in descend(&order, seed)? {
        for (x, found) in leaves.iter().zip(&mut found) {
            if Rc::ptr_eq(x, leaf) {
                *found = Some(g.clone());
            }
        }
    }
    Ok(found)
}

/// Whether a gradient of `root` flows to anything but `wrt`: another leaf that records one, or
/// a node that is older than all of `wrt`. (An argument traced later is of a function that was
/// differentiated meanwhile, and a constant by now.)
pub(super) fn captures(root: &Rc<dyn Node>, wrt: &[&Rc<dyn Node>]) -> bool {
    let first = wrt.iter().map(|x| x.core().serial()).min().unwrap_or(0);
    let captures = Cell::new(false);
    let enter = |n: &dyn Node| {
        let core = n.core();
        if captures.get() || !core.differentiable() {
            return false;
        }
        let older = core.serial() < first;
        let outside = older || (core.is_leaf() && !core.traced());
        if outside && !wrt.iter().any(|x| std::ptr::eq(x.core(), core)) {
            captures.set(true);
        }
        !outside && !core.is_leaf()
    };
    topological(root, enter, &mut Order::new());
    captures.get()
}
