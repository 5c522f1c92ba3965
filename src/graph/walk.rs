//! Walks over a graph: bringing values up to date, and gradients down.
//!
//! Both keep their own stacks, so that depth is bounded by memory and not by the
//! thread's stack, and both visit each node once, however many paths lead to it.

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::node::{Kind, Node};
use super::value::Value;
use crate::array::{Array, show_shape};
use crate::error::{Error, Result};
use crate::table::{Gradient, changes};

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

/// The seed of a backward pass: ones, or a given array of the root's type.
fn seed(root: &dyn Node, grad: Option<Array>) -> Result<Value> {
    let ty = root.core().ty();
    match grad {
        None => Ok(Value::Dense(Array::full(&ty, 1.0))),
        Some(g) if g.shape() != &ty.shape[..] => Err(Error::Shape(format!(
            "grad: expected shape {}, got {}",
            show_shape(&ty.shape),
            show_shape(g.shape())
        ))),
        Some(g) if g.dtype() != ty.dtype => Err(Error::Type(format!(
            "grad: expected {}, got {}",
            ty.dtype,
            g.dtype()
        ))),
        Some(g) => Ok(Value::Dense(g)),
    }
}

/// Adds the gradient of `root` to every leaf below that records one.
///
/// A node passes its gradient on only when all its consumers have contributed, so each
/// rule runs once.
///
/// # Errors
/// [`Error::Type`] if no leaf records a gradient, and whatever [`refresh`] or a rule
/// reports; gradients are then unchanged.
pub(super) fn backward(root: &Rc<dyn Node>, grad: Option<Array>) -> Result<()> {
    refresh(root)?;
    if !root.core().differentiable() {
        return Err(Error::Type(
            "backward: nothing below records a gradient, as a Parameter does".into(),
        ));
    }
    let seed = seed(&**root, grad)?;
    let mut order = Order::new();
    topological(root, |n| n.core().differentiable(), &mut order);
    root.core().collect(seed)?;
    let mut leaves: SmallVec<[(&Rc<dyn Node>, Gradient); 4]> = SmallVec::new();
    let mut result = Ok(());
    // Consumers before parents: the reverse of a topological order. After an error the rest
    // is only cleared.
    for node in order.iter().rev() {
        let Some(g) = node.core().partial.borrow_mut().take() else {
            continue;
        };
        if result.is_err() {
            continue;
        }
        if node.core().is_leaf() {
            match g.into_gradient() {
                Ok(g) => leaves.push((node, g)),
                Err(e) => result = Err(e),
            }
        } else {
            result = node.backward(g);
        }
    }
    result?;
    for (leaf, g) in leaves {
        match leaf.kind() {
            Kind::Parameter(param) => param.accumulate(g),
            Kind::Variable(_, slot) => {
                let mut slot = slot.borrow_mut();
                *slot = Some(match slot.take() {
                    None => g,
                    Some(old) => old.add(g),
                });
            }
            Kind::Operation(_) | Kind::Input(..) | Kind::Constant => {}
        }
    }
    Ok(())
}
