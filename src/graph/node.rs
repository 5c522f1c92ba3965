//! Nodes, what a graph is made of, and variables, the handles on them. [`Node`] says how walks see nodes.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;

use super::derivatives::collected::CollectedGradient;
use super::flags::Flags;
use super::lengths::asked_lengths::LengthRecords;
use super::value::Value;
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{Internal, OpRef};
use crate::table::{Gradient, Param, changes};

/// A node of a graph, shared by the nodes and handles that use it.
///
/// `Variable<Operation<Mul, (Parameter, Input)>>` knows its whole expression;
/// `Variable` alone ([`boxed`](Self::boxed)) has forgotten it, for expressions that grow
/// in a loop and for graphs composed at run time.
pub struct Variable<N: ?Sized = dyn Node>(pub(super) Rc<N>);

impl<N: ?Sized> Clone for Variable<N> {
    fn clone(&self) -> Self {
        Variable(Rc::clone(&self.0))
    }
}

/// Sees gradients: it is called once a backward pass, when the gradient of its node is complete and
/// before the parents see it.
pub trait Hook: Any {
    /// Takes a gradient, and gives another in its place, or `None` to leave it.
    ///
    /// # Errors
    /// Whatever it finds wrong: the backward pass then ends with it.
    fn gradient(&self, g: Gradient) -> Result<Option<Gradient>>;

    /// The same for a gradient that is a node.
    ///
    /// # Errors
    /// As [`gradient`](Self::gradient).
    fn node(&self, g: Variable) -> Result<Option<Variable>>;
}

/// The hooks of a node, by number.
#[derive(Default)]
pub(super) struct Hooks {
    /// Each with its number, in the order of these; `None` where one was taken away.
    pub(super) list: Vec<(u64, Option<Rc<dyn Hook>>)>,
    /// How many were taken away that still have a place.
    pub(super) gone: usize,
    /// Whether a gradient that is a graph has passed them: what it became is in that graph.
    pub(super) passed: Option<u64>,
}

/// What every node carries.
pub struct Core {
    value: RefCell<Value>,
    /// All changes up to this number, of the change counter, are in the value.
    version: Cell<u64>,
    /// The change counter when the value was last known to be current.
    checked: Cell<u64>,
    flags: Cell<Flags>,
    /// Grows from node to node of a thread, so that parents have less than their children.
    serial: u64,
    /// Asked when the gradient of this node is complete.
    hooks: RefCell<Option<Box<Hooks>>>,
    /// The walk that last visited this node, and its bookkeeping.
    pub(super) mark: Cell<u64>,
    pub(super) partial: RefCell<Option<Value>>,
    /// What backward passes from this node keep from one to the next.
    pub(super) kept_for_backward: Cell<Option<Box<dyn Any>>>,
}

impl Core {
    /// A number that no other node has while this one lives.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// A core whose value was computed from what was there at `version`, or later.
    #[inline]
    pub(super) fn new(value: Value, version: u64, flags: Flags) -> Self {
        let integers = !value.dtype().is_real();
        Core {
            value: RefCell::new(value),
            version: Cell::new(version),
            checked: Cell::new(version),
            flags: Cell::new(flags.with_if(Flags::INTEGERS, integers)),
            serial: next_serial(),
            hooks: RefCell::new(None),
            mark: Cell::new(0),
            partial: RefCell::new(None),
            kept_for_backward: Cell::new(None),
        }
    }

    /// The core of a leaf, which is current at all times.
    pub(super) fn leaf(value: Value, flags: Flags) -> Self {
        let core = Core::new(value, changes(), flags);
        core.checked.set(u64::MAX);
        core
    }

    /// The value as last computed.
    pub(super) fn value(&self) -> Value {
        self.value.borrow().clone()
    }

    /// The value as last computed, in place.
    #[inline]
    pub(super) fn borrow(&self) -> Ref<'_, Value> {
        self.value.borrow()
    }

    /// The type of the value as last computed.
    pub(super) fn ty(&self) -> Type {
        self.value.borrow().ty()
    }

    pub(super) fn dtype(&self) -> DType {
        self.value.borrow().dtype()
    }

    /// Replaces the value; a [version](Self::set_version) goes with the change.
    ///
    /// # Errors
    /// As [`borrow_mut`](Self::borrow_mut).
    pub(super) fn set(&self, value: Value) -> Result<()> {
        *self.borrow_mut()? = value;
        Ok(())
    }

    /// The value, to be changed in place; a [version](Self::set_version) goes with the change.
    ///
    /// # Errors
    /// [`Error::State`] if the value is being computed with, as it is while an operator or hook
    /// of the caller's own runs.
    #[inline]
    pub(super) fn borrow_mut(&self) -> Result<RefMut<'_, Value>> {
        self.value.try_borrow_mut().map_err(|_| {
            Error::State(
                "value: this variable is being computed with, and cannot change now".into(),
            )
        })
    }

    /// Takes note of the number of a change.
    pub(super) fn set_version(&self, version: u64) {
        self.version.set(version);
    }

    pub(super) fn version(&self) -> u64 {
        self.version.get()
    }

    /// The change counter when the value was last known to be current; the largest number for a leaf.
    #[inline]
    pub(super) fn checked(&self) -> u64 {
        self.checked.get()
    }

    /// Whether the value is current when the change counter is `now`. What has changed since the value was last known
    /// to be need not be below.
    #[inline]
    pub(super) fn is_current(&self, now: u64) -> bool {
        self.checked() >= now || self.is_untouched(now)
    }

    #[inline(never)]
    fn is_untouched(&self, now: u64) -> bool {
        let untouched = self.flags().changed_since(self.checked()) == Flags::NONE;
        if untouched {
            self.confirm(now);
        }
        untouched
    }

    pub(super) fn confirm(&self, now: u64) {
        self.checked.set(now);
    }

    /// Adds to the gradient that a walk collects here.
    ///
    /// # Errors
    /// As [`Value::dense`].
    #[inline]
    pub(super) fn collect(&self, grad: Value) -> Result<()> {
        let mut partial = self.partial.borrow_mut();
        if partial.is_none() {
            *partial = Some(grad);
            return Ok(());
        }
        drop(partial);
        self.collect_more(grad)
    }

    /// As [`collect`](Self::collect), where a gradient is there already.
    #[inline(never)]
    fn collect_more(&self, grad: Value) -> Result<()> {
        // Nothing is borrowed meanwhile: a handler of signals may walk over this node.
        let Some(sum) = self.partial.take() else {
            return self.collect(grad);
        };
        // Rows stay rows for a leaf, which may be a large table. For any other node they are added
        // up in place once there are as many as it has.
        let sum = match sum.add(grad)? {
            Value::Rows(rows) if !self.is_leaf() && rows.is_many() => {
                Value::Dense(rows.try_to_dense()?)
            }
            sum => sum,
        };
        self.partial.replace(Some(sum));
        Ok(())
    }

    /// Whether this is the core of a leaf.
    pub(super) fn is_leaf(&self) -> bool {
        self.checked.get() == u64::MAX
    }

    /// What is known of the node.
    #[inline]
    pub(super) fn flags(&self) -> Flags {
        self.flags.get()
    }

    /// Whether a gradient flows through this node.
    #[inline]
    pub fn differentiable(&self) -> bool {
        self.flags().has(Flags::DIFFERENTIABLE)
    }

    /// Whether an argument of a function that is being differentiated is below.
    #[inline]
    pub(super) fn traced(&self) -> bool {
        self.flags().has(Flags::TRACED)
    }

    /// Says that an operation has this node for an operand. Of leaves it is known from then on.
    #[inline]
    pub(super) fn be_operand(&self) {
        if self.is_leaf() {
            self.flags.set(self.flags() | Flags::OPERAND);
        }
    }

    /// Says that this is such an argument.
    pub(super) fn trace(&self) {
        self.flags.set(self.flags() | Flags::TRACED);
    }

    /// Larger than that of any node that existed before in this thread, parents included.
    #[inline]
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// What is asked when the gradient of this node is complete.
    pub(super) fn hooks(&self) -> &RefCell<Option<Box<Hooks>>> {
        &self.hooks
    }

    /// The old value's memory, for writing the next one.
    pub(super) fn recycle(&self) -> Option<Array> {
        match &mut *self.value.try_borrow_mut().ok()? {
            Value::Dense(a) => {
                let scalar = Array::scalar(a.dtype(), 0.0);
                Some(std::mem::replace(a, scalar))
            }
            _ => None,
        }
    }
}

thread_local! {
    static NODES: Cell<u64> = const { Cell::new(0) };
}

/// The number of the next node of this thread.
#[inline]
fn next_serial() -> u64 {
    NODES.with(|n| {
        n.set(n.get() + 1);
        n.get()
    })
}

/// The number of the latest node of this thread.
pub(super) fn latest_serial() -> u64 {
    NODES.with(Cell::get)
}

/// What a node is.
#[derive(Debug)]
pub enum Kind<'a> {
    /// The result of an operator.
    Operation(OpRef),
    /// A trained parameter.
    Parameter(&'a std::sync::Arc<Param>),
    /// A leaf that records a gradient but is not trained.
    Independent(u64, &'a CollectedGradient),
    /// Data, bound anew when a program runs; the number tells inputs apart, the name is for
    /// messages.
    Input(u64, Option<&'a str>),
    /// A fixed value.
    Constant,
}

/// A node as walks over the graph (backward, refresh, freeze) see it, once each. They keep their own stacks.
///
/// The methods by which a walk changes a node are for walks alone: a walk takes what it finds at a node for what
/// walks have left there. So they have an argument of a type that other crates cannot name.
///
/// ```compile_fail
/// use wyrmling::graph::{Node, Parents};
/// use wyrmling::{Gradient, Parameter};
///
/// let mut nodes = Vec::new();
/// (Parameter::new(1.0).square(),).collect(&mut nodes);
/// nodes[0].backward(Gradient::Dense(1.0.into()).into())?; // No walk has asked for it.
/// # Ok::<(), wyrmling::Error>(())
/// ```
pub trait Node: 'static {
    /// What every node carries.
    fn core(&self) -> &Core;

    /// What this node is.
    fn kind(&self) -> Kind<'_>;

    /// When the node's own value last changed; for an operation, when it was computed.
    fn version(&self) -> u64 {
        self.core().version()
    }

    /// The lengths that were asked for, of an input.
    #[doc(hidden)]
    fn length_records(&self) -> Option<&LengthRecords> {
        None
    }

    /// Appends the parents, in operand order.
    fn parents(&self, _into: &mut Vec<Rc<dyn Node>>) {}

    /// The latest change of a parent's value; 0 without parents.
    fn newest_parent(&self) -> u64 {
        0
    }

    /// Computes the value from the parents' values; a version goes with it.
    ///
    /// # Errors
    /// Whatever the operator reports; the old value is then gone.
    fn evaluate(&self, _: Internal) -> Result<()> {
        Ok(())
    }

    /// Adds what the gradient `g` of this node's value means for its parents to theirs.
    ///
    /// # Errors
    /// Whatever the operators of the rule report.
    fn backward(&self, _g: Value, _: Internal) -> Result<()> {
        Ok(())
    }
}

/// Erases the type of a node.
pub trait IntoDyn: Node {
    /// The same node, its type erased.
    fn into_dyn(this: Rc<Self>) -> Rc<dyn Node>;
}

impl<N: Node> IntoDyn for N {
    fn into_dyn(this: Rc<Self>) -> Rc<dyn Node> {
        this
    }
}

impl IntoDyn for dyn Node {
    fn into_dyn(this: Rc<Self>) -> Rc<dyn Node> {
        this
    }
}
