//! One parent of an operation: a variable, or its numbers in the element type of the other operand.
//!
//! An operator wants operands of one element type. Where float32 meets float64, the float32 operand gets a
//! node that casts it, as in [`ops`](super::ops). Whether there is one is known when the graph is built, and not
//! from the types, for an element type belongs to the value: [`Promoted`] has both forms.

use std::rc::Rc;

use super::node::{Core, IntoDyn, Node, Variable};
use crate::array::DType;
use crate::error::Result;
use crate::rules::Cast;

/// A node seen by the operation that has it as an operand.
pub trait Parent: Clone + 'static {
    /// What every node carries.
    fn core(&self) -> &Core;
    /// When the node's value last changed.
    fn version(&self) -> u64;
    /// How many hold the node.
    fn holders(&self) -> usize;
    /// The node, its type erased.
    fn into_node(self) -> Rc<dyn Node>;
}

impl<N: ?Sized + IntoDyn> Parent for Variable<N> {
    fn core(&self) -> &Core {
        self.0.core()
    }
    fn version(&self) -> u64 {
        self.0.version()
    }
    fn holders(&self) -> usize {
        Rc::strong_count(&self.0)
    }
    fn into_node(self) -> Rc<dyn Node> {
        N::into_dyn(self.0)
    }
}

/// An operand of an operator of two, in the element type that float32 and float64 have together.
pub enum Promoted<N: ?Sized> {
    /// The variable itself.
    Same(Variable<N>),
    /// A node that has its numbers in float64.
    Widened(Variable),
}

impl<N: ?Sized> Clone for Promoted<N> {
    fn clone(&self) -> Self {
        match self {
            Promoted::Same(x) => Promoted::Same(x.clone()),
            Promoted::Widened(x) => Promoted::Widened(x.clone()),
        }
    }
}

impl<N: ?Sized + IntoDyn> Promoted<N> {
    /// The operand `x` beside one of element type `other`: widened if it is float32 and the other float64.
    ///
    /// # Errors
    /// What the cast reports.
    #[inline]
    pub(super) fn beside(x: Variable<N>, other: DType) -> Result<Self> {
        if (x.dtype(), other) != (DType::F32, DType::F64) {
            return Ok(Promoted::Same(x));
        }
        let cast = Cast { dtype: other };
        Ok(Promoted::Widened(x.unary(cast)?.boxed()))
    }
}

impl<N: ?Sized + IntoDyn> Parent for Promoted<N> {
    #[inline]
    fn core(&self) -> &Core {
        match self {
            Promoted::Same(x) => x.core(),
            Promoted::Widened(x) => x.core(),
        }
    }
    #[inline]
    fn version(&self) -> u64 {
        match self {
            Promoted::Same(x) => x.version(),
            Promoted::Widened(x) => x.version(),
        }
    }
    #[inline]
    fn holders(&self) -> usize {
        match self {
            Promoted::Same(x) => x.holders(),
            Promoted::Widened(x) => x.holders(),
        }
    }
    fn into_node(self) -> Rc<dyn Node> {
        match self {
            Promoted::Same(x) => x.into_node(),
            Promoted::Widened(x) => x.into_node(),
        }
    }
}
