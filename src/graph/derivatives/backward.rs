//! The backward pass: gradients as numbers, from a node down to its leaves.
//!
//! It is reverse mode ([`differentiate::pull`](crate::rules::differentiate::pull)) over the nodes,
//! which hold the gradient that they collect until all their users have contributed.

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::hook;
use super::own_changes::OwnChanges;
use crate::array::{Array, Type, show_shape};
use crate::error::{Error, Result};
use crate::graph::node::{Kind, Node};
use crate::graph::order::node_places::NodePlaces;
use crate::graph::order::{NODE, Order, refresh, topological};
use crate::graph::program::kept_program;
use crate::graph::under_way::UnderWay;
use crate::graph::value::{Pattern, Value};
use crate::interrupt::Poller;
use crate::reserve;
use crate::rules::Internal;
use crate::table::changes;

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
        return Value::Repeated(Pattern::All, 1.0, ty)
            .dense()
            .map(Value::Dense);
    };
    check_seed(&ty, &grad.ty())?;
    Ok(Value::Dense(grad))
}

/// Whether the values of `root` can have a gradient.
///
/// # Errors
/// [`Error::Type`], which names `what` asks, if they are integers.
fn real(root: &dyn Node, what: &str) -> Result<()> {
    match root.core().dtype().is_real() {
        true => Ok(()),
        false => Err(Error::Type(format!(
            "{what}: these are integers, which have no gradient"
        ))),
    }
}

/// Leaves, each with the gradient that arrived there.
type Arrived<'a> = SmallVec<[(&'a Rc<dyn Node>, Value); 4]>;

/// Sends the gradient `seed` of the last of `order` down, and appends what arrives at leaves, each once,
/// to a list of the caller's, since that is large to move.
///
/// A node passes its gradient on only when all its consumers have contributed, so each
/// rule runs once.
///
/// A rule or hook of the caller's may walk over the same nodes meanwhile, which hold one gradient
/// each: an inner walk puts back what it found there.
fn descend<'a>(
    order: &'a Order,
    seed: Value,
    own_changes: OwnChanges,
    run: hook::TransformRun,
    arrived: &mut Arrived<'a>,
) -> Result<()> {
    let mut descent = Descent::begin(order);
    if descent.under_way.is_inner {
        reserve::grow(&mut descent.outer, order.len())?;
        let held = order.iter().map(|node| node.core().partial.take());
        descent.outer.extend(held);
    }
    pass_down(order, seed, run, arrived).and_then(|()| own_changes.check(order.last()))
}

/// A walk down that is under way in this thread, for as long as this lives.
struct Descent<'a> {
    under_way: UnderWay,
    order: &'a Order,
    /// What the nodes hold for the walk that this one is within.
    outer: Vec<Option<Value>>,
}

thread_local! {
    static DESCENDING: Cell<bool> = const { Cell::new(false) };
}

impl<'a> Descent<'a> {
    fn begin(order: &'a Order) -> Self {
        Descent {
            under_way: UnderWay::begin(&DESCENDING),
            order,
            outer: Vec::new(),
        }
    }
}

impl Drop for Descent<'_> {
    fn drop(&mut self) {
        // A walk that ends by a panic leaves what it has collected.
        if std::thread::panicking() {
            for node in self.order {
                node.core().partial.take();
            }
        }
        for (node, held) in self.order.iter().zip(self.outer.drain(..)) {
            node.core().partial.replace(held);
        }
    }
}

fn pass_down<'a>(
    order: &'a Order,
    seed: Value,
    run: hook::TransformRun,
    arrived: &mut Arrived<'a>,
) -> Result<()> {
    let mut result = match order.last() {
        Some(root) => root.core().collect(seed),
        None => Ok(()),
    };
    // Consumers before parents: the reverse of a topological order. After an error the rest
    // is only cleared.
    let mut poller = Poller::default();
    for node in order.iter().rev() {
        if result.is_ok()
            && let Err(error) = poller.step(NODE)
        {
            result = Err(error);
        }
        let Some(g) = node.core().partial.borrow_mut().take() else {
            continue;
        };
        if result.is_err() {
            continue;
        }
        let g = match hook::any(node.core()) {
            true => hook::passed(node.core(), g, run),
            false => Ok(g),
        };
        result = g.and_then(|g| match node.core().is_leaf() {
            true => {
                arrived.push((node, g));
                Ok(())
            }
            false => node.backward(g, Internal),
        });
    }
    result
}

/// Adds the gradient of `root` to every leaf below that records one.
///
/// # Errors
/// [`Error::Type`] if no leaf records a gradient, and whatever [`refresh`] or a rule
/// reports; gradients are then unchanged.
pub(in crate::graph) fn backward(root: &Rc<dyn Node>, grad: Option<Array>) -> Result<()> {
    thread_local! {
        static BUSY: Cell<bool> = const { Cell::new(false) };
    }
    // A rule or hook of the caller's may do anything, but the nodes hold one gradient each.
    let pass = UnderWay::begin(&BUSY);
    if pass.is_inner {
        return Err(Error::State(
            "backward: this is called by a rule or hook of a backward pass that is under way; \
             there, use grad or vjp of a function"
                .into(),
        ));
    }
    collect(root, grad)
}

/// The gradient of a leaf in the form in which it is kept there.
#[cold]
fn as_read(leaf: &dyn Node, g: Value) -> Result<Value> {
    Ok(match g {
        // Only a table is so large that rows are worth it; others are read as arrays.
        Value::Rows(rows) if rows.has_slice() && matches!(leaf.kind(), Kind::Independent(..)) => {
            Value::Dense(rows.try_to_dense()?)
        }
        g => g.into_gradient()?.into(),
    })
}

fn collect(root: &Rc<dyn Node>, grad: Option<Array>) -> Result<()> {
    let takes_program = grad.is_none() && !root.core().is_current(changes());
    if takes_program && kept_program::backward(root)? {
        return Ok(());
    }
    // An operator of the caller's may set a leaf, too, while values are computed.
    let own_changes = OwnChanges::begin();
    refresh(root)?;
    real(&**root, "backward")?;
    if !root.core().differentiable() {
        return Err(Error::Type(
            "backward: nothing below records a gradient, as a Parameter does".into(),
        ));
    }
    let seed = seed(&**root, grad)?;
    let mut order = Order::new();
    topological(root, |n| n.core().differentiable(), &mut order)?;
    let mut arrived = Arrived::new();
    descend(&order, seed, own_changes, None, &mut arrived)?;
    for (leaf, g) in &mut arrived {
        // In place: values are large to move, and most are arrays.
        if !matches!(g, Value::Dense(_)) {
            *g = as_read(&***leaf, std::mem::replace(g, Value::none()))?;
        }
    }
    if takes_program {
        kept_program::count(root, arrived.iter().map(|(leaf, g)| (*leaf, g)));
    }
    // All are there before a leaf gets one. Only for a copy of an old gradient that is
    // shared may memory lack after that: the leaves before then have theirs.
    for (leaf, g) in arrived {
        let g = g.into_gradient()?;
        match leaf.kind() {
            Kind::Parameter(param) => param.accumulate(g)?,
            Kind::Independent(_, collected) => collected.add(g)?,
            Kind::Operation(_) | Kind::Input(..) | Kind::Constant => {}
        }
    }
    Ok(())
}

/// The gradients of `root` by leaves, as numbers; `None` for a leaf that does not matter.
///
/// # Errors
/// As [`backward`], but for a root that nothing differentiable is below; [`Error::Type`] for what is no leaf.
pub(super) fn gradient_values(
    root: &Rc<dyn Node>,
    grad: Option<Array>,
    leaves: &[&Rc<dyn Node>],
) -> Result<Vec<Option<Value>>> {
    if leaves.iter().any(|x| !x.core().is_leaf()) {
        return Err(Error::Type(
            "leaves: expected leaves, got the result of an operation; `gradients` takes any node"
                .into(),
        ));
    }
    let own_changes = OwnChanges::begin();
    refresh(root)?;
    real(&**root, "gradient_values")?;
    let seed = seed(&**root, grad)?;
    if !root.core().differentiable() {
        return Ok(vec![None; leaves.len()]);
    }
    let mut order = Order::new();
    topological(root, |n| n.core().differentiable(), &mut order)?;
    let run = hook::run(leaves.iter().map(|x| x.core()));
    let mut arrived = Arrived::new();
    descend(&order, seed, own_changes, run, &mut arrived)?;
    let places = NodePlaces::new(arrived.iter().map(|(leaf, _)| leaf.core()));
    let found = leaves
        .iter()
        .map(|x| Some(arrived[places.find(x.core())?].1.clone()));
    Ok(found.collect())
}
