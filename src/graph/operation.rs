//! Nodes of operations: an operator applied to parents.
//!
//! They are generic over the operator and over the types of the parents, which they share by `Rc`:
//! `Operation<Mul, (Promoted<ParameterNode>, Promoted<InputNode>)>`. The compiler sees through the
//! whole expression, and evaluating a node involves no dispatch.

use std::cell::Ref;
use std::rc::Rc;

use smallvec::SmallVec;

use super::flags::Flags;
use super::node::{Core, Kind, Node, Variable};
use super::parent::Parent;
use super::value::{Value, apply_arrays, apply_numbers};
use super::{eager, offload, release};
use crate::array::Array;
use crate::error::Result;
use crate::reserve;
use crate::rules::{Form, Internal, OpRef, Operator, is_one_of};
use crate::table::changes;

/// Whether the result of an operator has the elements of operand 0, or zeros, so that integers stay
/// integers, and booleans booleans.
fn is_moving(op: &dyn Operator) -> bool {
    is_one_of!(op: BasicSlice, BroadcastLike, BroadcastTo, Diagonal, ExpandDims, FixedLengths, Gather,
        Identity, LongAxes, Max, MergeAxes, Min, Reshape, ReshapeLike, ShapedLike, SplitAxis, Squeeze, StopGradient,
        TakeAlongAxis, TakeFlat, Transpose, Tril, Triu)
}

/// What the result of an operator holds, integers or booleans or neither, where some of its operands
/// hold one of them. They need not be as many as the operator takes: that is found out later.
#[cold]
fn kept(op: &dyn Operator, operands: &[&Core]) -> Flags {
    let of = match () {
        () if is_moving(op) => &operands[..1],
        () if is_one_of!(op: Concatenate) => operands,
        () if is_one_of!(op: Replace, SliceReplace) => &operands[..operands.len().min(2)],
        () if is_one_of!(op: Where) => &operands[1..],
        () => return Flags::NONE,
    };
    let all = |flag: Flags| of.iter().all(|core| core.flags().has(flag));
    let flags = Flags::NONE.with_if(Flags::INTEGERS, all(Flags::INTEGERS));
    flags.with_if(Flags::BOOLEANS, all(Flags::BOOLEANS))
}

/// Calls `f` with the values of some nodes.
#[inline]
fn with_values<R>(cores: &[&Core], f: impl FnOnce(&[&Value]) -> R) -> R {
    match cores {
        [x] => f(&[&x.borrow()]),
        [x, y] => f(&[&x.borrow(), &y.borrow()]),
        _ => {
            let held: SmallVec<[Ref<'_, Value>; 3]> = cores.iter().map(|c| c.borrow()).collect();
            let values: SmallVec<[&Value; 3]> = held.iter().map(|v| &**v).collect();
            f(&values)
        }
    }
}

/// The parents of an operation: a tuple of [parents](Parent), or a list of boxed ones.
pub trait Parents: 'static {
    /// Appends the parents in order.
    fn collect(&self, into: &mut Vec<Rc<dyn Node>>);
    /// The latest change of a parent's value; 0 without parents.
    fn newest(&self) -> u64 {
        let mut parents = Vec::new();
        self.collect(&mut parents);
        parents.iter().map(|p| p.version()).fold(0, u64::max)
    }
    /// Gives the parents up.
    fn release(self, into: &mut Vec<Rc<dyn Node>>);
    /// Calls `f` with the parents' cores.
    fn with_cores<R>(&self, f: impl FnOnce(&[&Core]) -> R) -> R;
    /// Whether each parent is shared, so that dropping this drops no node. May be
    /// `false` too often. The same node can be a parent several times.
    fn shared(&self) -> bool;
}

macro_rules! tuple_parents {
    ($($name:ident $index:tt),+) => {
        impl<$($name: Parent),+> Parents for ($($name,)+) {
            fn collect(&self, into: &mut Vec<Rc<dyn Node>>) {
                $(into.push(self.$index.clone().into_node());)+
            }
            fn newest(&self) -> u64 {
                [$(self.$index.version()),+].into_iter().fold(0, u64::max)
            }
            fn release(self, into: &mut Vec<Rc<dyn Node>>) {
                $(into.push(self.$index.into_node());)+
            }
            fn with_cores<R>(&self, f: impl FnOnce(&[&Core]) -> R) -> R {
                f(&[$(self.$index.core()),+])
            }
            fn shared(&self) -> bool {
                let count = [$($index),+].len();
                $(self.$index.holders() > count)&&+
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
    fn newest(&self) -> u64 {
        self.iter().map(|v| v.0.version()).fold(0, u64::max)
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

/// An operator that can be held by value or shared.
pub trait AsOperator: 'static {
    /// The operator's own type.
    type Operator: Operator + ?Sized;
    /// The operator.
    fn get(&self) -> &Self::Operator;
    /// The operator, shared.
    fn share(&self) -> OpRef;
}

impl<O: Operator + Clone> AsOperator for O {
    type Operator = O;
    fn get(&self) -> &O {
        self
    }
    fn share(&self) -> OpRef {
        OpRef::new(self.clone())
    }
}

impl AsOperator for OpRef {
    type Operator = dyn Operator;
    fn get(&self) -> &dyn Operator {
        &**self
    }
    fn share(&self) -> OpRef {
        self.clone()
    }
}

/// As [`apply`](super::value::apply); what may take long is [offloaded](offload).
#[inline]
fn apply_or_offload<O: AsOperator>(op: &O, args: &[&Value], reuse: Option<Array>) -> Result<Value> {
    if let Some(number) = apply_numbers(op.get(), args) {
        return Ok(number);
    }
    match offload::offload_operands(op.get(), args) {
        None => apply_arrays(op.get(), args, reuse),
        Some(operands) => offload::offload(op.share(), operands),
    }
}

/// The result of operator `O` on parents `P`.
pub struct Operation<O: AsOperator, P: Parents> {
    core: Core,
    op: O,
    /// Taken only by `drop`.
    parents: Option<P>,
}

impl<O: AsOperator, P: Parents> Operation<O, P> {
    /// Applies `op` to `parents`, whose values must be current.
    pub(super) fn new(op: O, parents: P) -> Result<Self> {
        reserve::check()?;
        // Before the values are read: a table may change meanwhile, and may have since the parents were brought up
        // to date.
        let now = parents.with_cores(|cores| {
            let checked = cores.iter().map(|core| core.checked());
            checked.fold(changes(), u64::min)
        });
        let below = parents.with_cores(|cores| {
            cores.iter().for_each(|core| core.be_operand());
            let flags = cores.iter().map(|core| core.flags());
            let below = flags.fold(Flags::NONE, |all, flags| all | flags);
            let below = match below.has(Flags::DISCRETE) {
                true => below.without(Flags::DISCRETE) | kept(&*op.share(), cores),
                false => below,
            };
            match op.get().form() {
                Form::Integers => below | Flags::INTEGERS,
                Form::Truth => below | Flags::BOOLEANS,
                _ => below,
            }
        });
        let value = parents
            .with_cores(|cores| with_values(cores, |args| apply_or_offload(&op, args, None)))?;
        // Indices do not move a little: no gradient flows through them.
        let flags = match value.dtype().is_real() {
            true => below,
            false => below.without(Flags::DIFFERENTIABLE),
        };
        Ok(Operation {
            core: Core::new(value, now, flags),
            op,
            parents: Some(parents),
        })
    }
}

impl<O: AsOperator, P: Parents> Node for Operation<O, P> {
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

    fn newest_parent(&self) -> u64 {
        self.parents.as_ref().map_or(0, Parents::newest)
    }

    fn evaluate(&self, _: Internal) -> Result<()> {
        let Some(parents) = &self.parents else {
            return Ok(());
        };
        let reuse = self.core.recycle();
        let value = parents
            .with_cores(|cores| with_values(cores, |args| apply_or_offload(&self.op, args, reuse)));
        self.core.set(value?)
    }

    fn backward(&self, g: Value, _: Internal) -> Result<()> {
        let Some(parents) = &self.parents else {
            return Ok(());
        };
        let y = self.core.borrow();
        parents.with_cores(|cores| {
            let wanted = |i: usize| cores[i].differentiable();
            let give = |i: usize, grad| cores[i].collect(grad);
            with_values(cores, |args| {
                eager::pull(self.op.get(), g, &y, args, wanted, give)
            })
        })
    }
}

impl<O: AsOperator, P: Parents> Drop for Operation<O, P> {
    fn drop(&mut self) {
        if let Some(parents) = self.parents.take()
            && !parents.shared()
        {
            release::defer(|into| parents.release(into));
        }
    }
}
