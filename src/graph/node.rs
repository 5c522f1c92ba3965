//! Nodes: what a graph is made of.
//!
//! A [`Node`] of an operation is generic over the operator and over the types of its
//! parents, which it shares by `Rc`: `Operation<Mul, (Variable<ParameterNode>,
//! Variable<InputNode>)>`. The compiler sees through the whole expression, and
//! evaluating a node involves no dispatch. Walks over the graph (backward, refresh,
//! freeze) see nodes through the trait, once per node, and keep their own stacks.

use std::any::TypeId;
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

use smallvec::SmallVec;

use super::hook::Hooks;
use super::value::{Value, apply};
use super::variable::Variable;
use super::{eager, release};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{FromIndex, Internal, OpRef, Operator, Whole};
use crate::table::{Gradient, Param, changes};

/// Which kinds of leaves that get other values later are below a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Leaves {
    /// An input, which may get another length too.
    pub(super) input: bool,
    /// A parameter or variable.
    pub(super) assigned: bool,
}

/// Operators whose results have the elements of operand 0, so that integers stay integers.
const MOVING: &[&str] = &[
    "broadcast_like",
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "fixed_lengths",
    "gather",
    "identity",
    "long_axes",
    "max",
    "merge_axes",
    "min",
    "reshape",
    "reshape_like",
    "slice",
    "split_axis",
    "squeeze",
    "stop_gradient",
    "take_along_axis",
    "take_flat",
    "transpose",
];

/// Whether the result of an operator holds integers, where some of its operands do.
#[cold]
fn keeps_integers(name: &str, operands: &[&Core]) -> bool {
    let integers = |cores: &[&Core]| cores.iter().all(|c| c.holds_integers());
    match name {
        "concatenate" => integers(operands),
        "replace" | "slice_replace" => integers(&operands[..2]),
        "where" => integers(&operands[1..]),
        _ => MOVING.contains(&name) && integers(&operands[..1]),
    }
}

/// What every node carries.
pub struct Core {
    value: RefCell<Value>,
    /// The change counter when the value was computed.
    version: Cell<u64>,
    /// The change counter when the value was last known to be current.
    checked: Cell<u64>,
    /// Whether a leaf below records a gradient.
    differentiable: bool,
    /// Whether an argument of a function that is being differentiated is below.
    traced: Cell<bool>,
    /// Which leaves are below that get other values later.
    leaves: Cell<Leaves>,
    /// Whether the elements are integers, though they are of a floating-point type.
    integers: Cell<bool>,
    /// Grows from node to node of a thread, so that parents have less than their children.
    serial: u64,
    /// Asked when the gradient of this node is complete.
    hooks: RefCell<Option<Box<Hooks>>>,
    /// The walk that last visited this node, and its bookkeeping.
    pub(super) mark: Cell<u64>,
    pub(super) partial: RefCell<Option<Value>>,
}

impl Core {
    /// A core whose value was computed from what was there at `version`.
    #[inline]
    pub(super) fn new(value: Value, version: u64, differentiable: bool, traced: bool) -> Self {
        Core {
            value: RefCell::new(value),
            version: Cell::new(version),
            checked: Cell::new(version),
            differentiable,
            traced: Cell::new(traced),
            leaves: Cell::default(),
            integers: Cell::new(false),
            serial: next_serial(),
            hooks: RefCell::new(None),
            mark: Cell::new(0),
            partial: RefCell::new(None),
        }
    }

    /// The core of a leaf, which is current at all times.
    pub(super) fn leaf(value: Value, differentiable: bool) -> Self {
        let core = Core::new(value, changes(), differentiable, false);
        core.checked.set(u64::MAX);
        core
    }

    /// The value as last computed.
    pub(super) fn value(&self) -> Value {
        self.value.borrow().clone()
    }

    /// The type of the value as last computed.
    pub(super) fn ty(&self) -> Type {
        self.value.borrow().ty()
    }

    pub(super) fn dtype(&self) -> DType {
        self.value.borrow().dtype()
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// [`Error::State`] if the value is being computed with, as it is while an operator or hook
    /// of the caller's own runs.
    pub(super) fn set(&self, value: Value, version: u64) -> Result<()> {
        let mut slot = self.value.try_borrow_mut().map_err(|_| {
            Error::State(
                "value: this variable is being computed with, and cannot change now".into(),
            )
        })?;
        *slot = value;
        self.version.set(version);
        Ok(())
    }

    pub(super) fn version(&self) -> u64 {
        self.version.get()
    }

    pub(super) fn is_current(&self, now: u64) -> bool {
        self.checked.get() >= now
    }

    pub(super) fn confirm(&self, now: u64) {
        self.checked.set(now);
    }

    /// Adds to the gradient that a walk collects here.
    ///
    /// # Errors
    /// As [`Value::dense`].
    pub(super) fn collect(&self, grad: Value) -> Result<()> {
        let mut partial = self.partial.borrow_mut();
        *partial = Some(match partial.take() {
            None => grad,
            Some(sum) => sum.add(grad)?,
        });
        Ok(())
    }

    /// Whether this is the core of a leaf.
    pub(super) fn is_leaf(&self) -> bool {
        self.checked.get() == u64::MAX
    }

    /// Whether a gradient flows through this node.
    #[inline]
    pub fn differentiable(&self) -> bool {
        self.differentiable
    }

    /// Whether an argument of a function that is being differentiated is below.
    #[inline]
    pub(super) fn traced(&self) -> bool {
        self.traced.get()
    }

    /// Says that this is such an argument.
    pub(super) fn trace(&self) {
        self.traced.set(true);
    }

    /// Which leaves are below that get other values later.
    #[inline]
    pub(super) fn leaves(&self) -> Leaves {
        self.leaves.get()
    }

    /// Whether the elements are integers, of whatever type.
    #[inline]
    pub(super) fn holds_integers(&self) -> bool {
        self.integers.get() || !self.dtype().is_real()
    }

    /// Says which.
    #[inline]
    pub(super) fn with_leaves(self, leaves: Leaves) -> Self {
        self.leaves.set(leaves);
        self
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
    fn recycle(&self) -> Option<Array> {
        match &mut *self.value.try_borrow_mut().ok()? {
            Value::Dense(a) => {
                let scalar = Array::scalar(a.dtype(), 0.0);
                Some(std::mem::replace(a, scalar))
            }
            _ => None,
        }
    }
}

/// The number of the next node of this thread.
#[inline]
fn next_serial() -> u64 {
    thread_local! {
        static NODES: Cell<u64> = const { Cell::new(0) };
    }
    NODES.with(|n| {
        n.set(n.get() + 1);
        n.get()
    })
}

/// Calls `f` with the values of some nodes.
#[inline]
fn with_values<R>(cores: &[&Core], f: impl FnOnce(&[&Value]) -> R) -> R {
    match cores {
        [x] => f(&[&x.value.borrow()]),
        [x, y] => f(&[&x.value.borrow(), &y.value.borrow()]),
        _ => {
            let held: SmallVec<[Ref<'_, Value>; 3]> =
                cores.iter().map(|c| c.value.borrow()).collect();
            let values: SmallVec<[&Value; 3]> = held.iter().map(|v| &**v).collect();
            f(&values)
        }
    }
}

/// What a node is.
pub enum Kind<'a> {
    /// The result of an operator.
    Operation(OpRef),
    /// A trained parameter.
    Parameter(&'a std::sync::Arc<Param>),
    /// A leaf that records a gradient but is not trained.
    Variable(u64, &'a RefCell<Option<Gradient>>),
    /// Data, bound anew when a program runs; the number tells inputs apart, the name is for
    /// messages.
    Input(u64, Option<&'a str>),
    /// A fixed value.
    Constant,
}

/// A node seen from outside. See the [module documentation](self).
pub trait Node: 'static {
    /// What every node carries.
    fn core(&self) -> &Core;

    /// What this node is.
    fn kind(&self) -> Kind<'_>;

    /// When the node's own value last changed; for an operation, when it was computed.
    fn version(&self) -> u64 {
        self.core().version()
    }

    /// Appends the parents, in operand order.
    fn parents(&self, _into: &mut Vec<Rc<dyn Node>>) {}

    /// Computes the value from the parents' values.
    ///
    /// # Errors
    /// Whatever the operator reports; the old value is then gone.
    fn evaluate(&self) -> Result<()> {
        Ok(())
    }

    /// Adds what the gradient `g` of this node's value means for its parents to theirs.
    ///
    /// # Errors
    /// Whatever the operators of the rule report.
    fn backward(&self, _g: Value) -> Result<()> {
        Ok(())
    }
}

/// The parents of an operation: a tuple of variables, or a list of boxed ones.
pub trait Parents: 'static {
    /// Appends the parents in order.
    fn collect(&self, into: &mut Vec<Rc<dyn Node>>);
    /// Gives the parents up.
    fn release(self, into: &mut Vec<Rc<dyn Node>>);
    /// Calls `f` with the parents' cores.
    fn with_cores<R>(&self, f: impl FnOnce(&[&Core]) -> R) -> R;
    /// Whether somebody else holds each parent, so that dropping this drops no node. May be
    /// `false` too often. The same node can be a parent several times.
    fn shared(&self) -> bool;
}

macro_rules! tuple_parents {
    ($($name:ident $index:tt),+) => {
        impl<$($name: ?Sized + IntoDyn),+> Parents for ($(Variable<$name>,)+) {
            fn collect(&self, into: &mut Vec<Rc<dyn Node>>) {
                $(into.push($name::into_dyn(Rc::clone(&self.$index.0)));)+
            }
            fn release(self, into: &mut Vec<Rc<dyn Node>>) {
                $(into.push($name::into_dyn(self.$index.0));)+
            }
            fn with_cores<R>(&self, f: impl FnOnce(&[&Core]) -> R) -> R {
                f(&[$(self.$index.0.core()),+])
            }
            fn shared(&self) -> bool {
                let count = [$($index),+].len();
                $(Rc::strong_count(&self.$index.0) > count)&&+
            }
        }
    };
}
tuple_parents!(A 0);
tuple_parents!(A 0, B 1);
tuple_parents!(A 0, B 1, C 2);

impl Parents for SmallVec<[Variable; 2]> {
    fn collect(&self, into: &mut Vec<Rc<dyn Node>>) {
        into.extend(self.iter().map(|v| Rc::clone(&v.0)));
    }
    fn release(self, into: &mut Vec<Rc<dyn Node>>) {
        into.extend(self.into_iter().map(|v| v.0));
    }
    fn with_cores<R>(&self, f: impl FnOnce(&[&Core]) -> R) -> R {
        match self.as_slice() {
            [x] => f(&[x.0.core()]),
            [x, y] => f(&[x.0.core(), y.0.core()]),
            all => {
                let cores: SmallVec<[&Core; 3]> = all.iter().map(|v| v.0.core()).collect();
                f(&cores)
            }
        }
    }
    fn shared(&self) -> bool {
        self.iter().all(|v| Rc::strong_count(&v.0) > self.len())
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

/// An operator that can be held by value or shared.
pub trait Held: 'static {
    /// The operator's own type.
    type Operator: Operator + ?Sized;
    /// The operator.
    fn get(&self) -> &Self::Operator;
    /// The operator, shared.
    fn share(&self) -> OpRef;
}

impl<O: Operator + Clone> Held for O {
    type Operator = O;
    fn get(&self) -> &O {
        self
    }
    fn share(&self) -> OpRef {
        OpRef::new(self.clone())
    }
}

impl Held for OpRef {
    type Operator = dyn Operator;
    fn get(&self) -> &dyn Operator {
        &**self
    }
    fn share(&self) -> OpRef {
        self.clone()
    }
}

/// The result of operator `O` on parents `P`.
pub struct Operation<O: Held, P: Parents> {
    core: Core,
    op: O,
    /// Taken only by `drop`.
    parents: Option<P>,
}

impl<O: Held, P: Parents> Operation<O, P> {
    /// Applies `op` to `parents`, whose values must be current.
    pub(super) fn new(op: O, parents: P) -> Result<Self> {
        // Before the values are read: a table may change meanwhile.
        let now = changes();
        let (value, below, traced, leaves, integers) = parents.with_cores(|cores| {
            let value = with_values(cores, |args| apply(op.get(), args, None));
            let any = |flag: fn(&Core) -> bool| cores.iter().any(|c| flag(c));
            let leaves = Leaves {
                input: any(|c| c.leaves().input),
                assigned: any(|c| c.leaves().assigned),
            };
            let integers = [TypeId::of::<Whole>(), TypeId::of::<FromIndex>()]
                .contains(&op.get().type_key(Internal))
                || (any(Core::holds_integers) && keeps_integers(op.get().name(), cores));
            (
                value,
                any(Core::differentiable),
                any(Core::traced),
                leaves,
                integers,
            )
        });
        let value = value?;
        // Indices do not move a little: no gradient flows through them.
        let differentiable = below && value.dtype().is_real();
        Ok(Operation {
            core: {
                let core = Core::new(value, now, differentiable, traced).with_leaves(leaves);
                core.integers.set(integers);
                core
            },
            op,
            parents: Some(parents),
        })
    }
}

impl<O: Held, P: Parents> Node for Operation<O, P> {
    fn core(&self) -> &Core {
        &self.core
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Operation(self.op.share())
    }

    fn parents(&self, into: &mut Vec<Rc<dyn Node>>) {
        if let Some(parents) = &self.parents {
            parents.collect(into);
        }
    }

    fn evaluate(&self) -> Result<()> {
        let Some(parents) = &self.parents else {
            return Ok(());
        };
        let now = changes();
        let reuse = self.core.recycle();
        let value = parents
            .with_cores(|cores| with_values(cores, |args| apply(self.op.get(), args, reuse)));
        self.core.set(value?, now)
    }

    fn backward(&self, g: Value) -> Result<()> {
        let Some(parents) = &self.parents else {
            return Ok(());
        };
        let y = self.core.value.borrow();
        parents.with_cores(|cores| {
            let wanted = |i: usize| cores[i].differentiable();
            let give = |i: usize, grad| cores[i].collect(grad);
            with_values(cores, |args| {
                eager::vjp(self.op.get(), g, &y, args, wanted, give)
            })
        })
    }
}

impl<O: Held, P: Parents> Drop for Operation<O, P> {
    fn drop(&mut self) {
        if let Some(parents) = self.parents.take()
            && !parents.shared()
        {
            release::defer(|into| parents.release(into));
        }
    }
}
