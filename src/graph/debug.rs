//! What nodes show of themselves by `{:?}`: what they are and the type of their value. Their parents are
//! left out, of which there may be millions, and nothing is computed: a [`Variable`] shows its value.

use std::fmt::{Debug, Formatter, Result};

use super::leaf::{ConstantNode, IndependentNode, InputNode, ParameterNode};
use super::node::{Core, IntoDyn, Node, Variable};
use super::operation::{AsOperator, Operation, Parents};
use super::parent::Promoted;

impl Debug for Core {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut shown = f.debug_struct("Core");
        shown.field("ty", &self.ty()).finish_non_exhaustive()
    }
}

impl Debug for dyn Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut shown = f.debug_struct("Node");
        let shown = shown.field("kind", &self.kind());
        shown.field("ty", &self.core().ty()).finish_non_exhaustive()
    }
}

macro_rules! leaves {
    ($($leaf:ident)*) => {$(
        impl Debug for $leaf {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                (self as &dyn Node).fmt(f)
            }
        }
    )*};
}
leaves!(ParameterNode InputNode IndependentNode ConstantNode);

impl<O: AsOperator, P: Parents> Debug for Operation<O, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        (self as &dyn Node).fmt(f)
    }
}

impl<N: ?Sized + IntoDyn> Debug for Promoted<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Promoted::Same(x) => Variable::fmt(x, f),
            Promoted::Widened(x) => Variable::fmt(x, f),
        }
    }
}
