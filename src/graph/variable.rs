//! What variables have: values, gradients, and the operators that combine them.

use std::collections::HashSet;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use super::derivatives::backward;
use super::leaf::{Constant, ConstantNode};
use super::node::{IntoDyn, Kind, Node, Variable};
use super::operation::{AsOperator, Operation};
use super::order;
use super::parent::Promoted;
use super::program::kept_program;
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::{self, OpRef};
use crate::table::Param;

impl<N: ?Sized + IntoDyn> Variable<N> {
    pub(super) fn erased(&self) -> Rc<dyn Node> {
        N::into_dyn(Rc::clone(&self.0))
    }

    /// The same node, its type erased.
    pub fn boxed(self) -> Variable {
        Variable(N::into_dyn(self.0))
    }

    /// Brings the value up to date with whatever was assigned below.
    ///
    /// # Errors
    /// Whatever an operator reports on the assigned values; [`Error::State`] if it reads a
    /// parameter that one worker trains at the time.
    pub fn forward(&self) -> Result<()> {
        if self.0.core().is_current(crate::table::changes()) {
            return Ok(());
        }
        order::refresh(&self.erased())
    }

    /// The value, up to date.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`Error::State`] or [`Error::Memory`] if this is a
    /// parameter that cannot be read.
    pub fn value(&self) -> Result<Array> {
        let core = self.0.core();
        if !core.is_current(crate::table::changes()) {
            if let Some(value) = kept_program::value(core) {
                return Ok(value);
            }
            order::refresh(&self.erased())?;
        }
        core.value().dense()
    }

    /// Element type and shape of the value.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn ty(&self) -> Result<Type> {
        self.forward()?;
        Ok(self.0.core().ty())
    }

    /// Element type of the value, which never changes.
    pub fn dtype(&self) -> DType {
        self.0.core().dtype()
    }

    /// The value as a number.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`Error::Shape`] if there is not exactly one element.
    pub fn item(&self) -> Result<f64> {
        self.value()?.item()
    }

    /// Adds the gradient of this value to every leaf below that records one, starting
    /// from ones (also for an array, whose elements are thus summed).
    ///
    /// # Errors
    /// [`Error::Type`] if no leaf records a gradient, and as [`forward`](Self::forward).
    pub fn try_backward(&self) -> Result<()> {
        backward::backward(&self.erased(), None)
    }

    /// As [`try_backward`](Self::try_backward).
    ///
    /// # Panics
    /// Where that returns an error.
    pub fn backward(&self) {
        self.try_backward().unwrap_or_else(|e| panic!("{e}"));
    }

    /// As [`try_backward`](Self::try_backward), starting from `grad`.
    ///
    /// # Errors
    /// Also [`Error::Shape`] or [`Error::Type`] if `grad` is not of the value's type.
    pub fn backward_from(&self, grad: Array) -> Result<()> {
        backward::backward(&self.erased(), Some(grad))
    }

    /// As [`try_backward`](Self::try_backward), starting from `weight` in place of 1: the gradients of as
    /// many times the value.
    ///
    /// # Errors
    /// As [`try_backward`](Self::try_backward).
    pub fn backward_weighted(&self, weight: f64) -> Result<()> {
        self.backward_from(Array::full(&self.ty()?, weight))
    }

    /// The parameters below, each once, in the order in which the graph uses them. Two handles on one table
    /// are two parameters, each with a gradient of its own; [`Optimizer::step`](crate::optim::Optimizer::step)
    /// takes one at a time.
    ///
    /// ```
    /// use wyrmling::optim::Optimizer;
    /// use wyrmling::{Input, Parameter};
    ///
    /// let (w, x) = (Parameter::new(3.0), Input::new(2.0));
    /// let loss = (w.clone() * x).square();
    /// loss.backward();
    /// Optimizer::sgd(0.125)?.step_and_clear(&loss.parameters()?)?;
    /// assert_eq!(w.item()?, 0.0);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`] if there is none for a list of the nodes below.
    pub fn parameters(&self) -> Result<Vec<Arc<Param>>> {
        let mut parameters: Vec<Arc<Param>> = Vec::new();
        let mut seen = HashSet::new();
        for node in &self.topological()? {
            if let Kind::Parameter(param) = node.kind()
                && seen.insert(Arc::as_ptr(param))
            {
                parameters.push(Arc::clone(param));
            }
        }
        Ok(parameters)
    }

    /// Another number after the value has changed.
    #[cfg(feature = "python")]
    pub(crate) fn version(&self) -> u64 {
        // All changes of leaves since this thread last read the counter have one number: the next has another.
        crate::table::changes();
        self.0.version()
    }

    /// What the node is.
    pub fn kind(&self) -> Kind<'_> {
        self.0.kind()
    }

    /// Whether a gradient flows through the node.
    pub fn differentiable(&self) -> bool {
        self.0.core().differentiable()
    }

    /// The nodes that this one depends on, and itself, parents first.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is none for a list of them.
    pub fn topological(&self) -> Result<Vec<Variable>> {
        let mut order = order::Order::new();
        order::topological(&self.erased(), |_| true, &mut order)?;
        let mut nodes = Vec::new();
        reserve::grow(&mut nodes, order.len())?;
        nodes.extend(order.into_iter().map(Variable));
        Ok(nodes)
    }

    /// The nodes that this one was computed from.
    pub fn parents(&self) -> Vec<Variable> {
        let mut parents = Vec::new();
        self.0.parents(&mut parents);
        parents.into_iter().map(Variable).collect()
    }

    /// An address that tells nodes apart while they live.
    pub fn address(&self) -> usize {
        self.0.core().address()
    }
}

impl Variable {
    /// Applies an operator to boxed variables.
    ///
    /// # Errors
    /// Whatever the operator reports, and as [`forward`](Self::forward).
    pub fn apply(op: OpRef, args: &[Variable]) -> Result<Variable> {
        for arg in args {
            arg.forward()?;
        }
        let parents: SmallVec<[Variable; 2]> = match args {
            [x] => smallvec::smallvec![x.clone()],
            [x, y] => smallvec::smallvec![x.clone(), y.clone()],
            all => all.iter().cloned().collect(),
        };
        Ok(Variable(Rc::new(Operation::new(op, parents)?)))
    }
}

/// The type of `O` applied to one variable.
pub type Unary<O, A> = Variable<Operation<O, (Variable<A>,)>>;
/// The type of `O` applied to two variables.
pub type Binary<O, A, B> = Variable<Operation<O, (Promoted<A>, Promoted<B>)>>;

/// What is there, or a panic with what is wrong.
pub(super) fn must<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

impl<A: ?Sized + IntoDyn> Variable<A> {
    /// Applies an operator to this variable.
    ///
    /// # Errors
    /// Whatever the operator reports.
    pub fn unary<O: AsOperator>(self, op: O) -> Result<Unary<O, A>> {
        self.forward()?;
        Ok(Variable(Rc::new(Operation::new(op, (self,))?)))
    }

    /// Applies an operator to this variable and another. Where float32 meets float64, the float32 operand is
    /// cast to float64; its gradient is float32.
    ///
    /// ```
    /// use wyrmling::{Input, Parameter};
    ///
    /// let (weights, x) = (Parameter::new(vec![1.0_f32, 2.0]), Input::new(vec![0.1, 0.2]));
    /// let product = weights.clone() * x;
    /// assert_eq!(product.value()?.to_f64(), [0.1, 0.4]);
    /// product.backward();
    /// assert_eq!(weights.grad().unwrap().to_dense().dtype(), wyrmling::DType::F32);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the operator reports.
    pub fn binary<O: AsOperator, B: ?Sized + IntoDyn>(
        self,
        op: O,
        other: Variable<B>,
    ) -> Result<Binary<O, A, B>> {
        self.forward()?;
        other.forward()?;
        let (this_type, other_type) = (self.dtype(), other.dtype());
        let this = Promoted::beside(self, other_type)?;
        let other = Promoted::beside(other, this_type)?;
        Ok(Variable(Rc::new(Operation::new(op, (this, other))?)))
    }

    /// A number of this variable's element type.
    fn number(&self, value: f64) -> Constant {
        Constant::new(Array::scalar(self.dtype(), value))
    }
}

/// A method for each elementwise operator of one or two operands, by its function's name.
macro_rules! typed_methods {
    ($([$($doc:literal)+] $op:ident $function:ident $operands:tt $formula:literal $source:literal
       [$($numpy:literal)*] [$($scipy:literal)*] [$($python:ident)?];)*) => {
        impl<A: ?Sized + IntoDyn> Variable<A> {
            $(typed_methods! { @method [$($doc)+] $op $function $operands })*
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident)) => {
        $(#[doc = $doc])+
        ///
        /// # Panics
        /// If this variable holds indices, or a value assigned below does not fit.
        pub fn $function(self) -> Unary<rules::$op, A> {
            must(self.unary(rules::$op))
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident)) => {
        $(#[doc = $doc])+
        ///
        /// # Panics
        /// If this variable holds indices, or a value assigned below does not fit.
        pub fn $function(self, n: i32) -> Unary<rules::$op, A> {
            must(self.unary(rules::$op { n }))
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident)) => {
        $(#[doc = $doc])+
        ///
        /// # Panics
        /// If the shapes do not broadcast, or one of the variables holds indices.
        #[allow(clippy::should_implement_trait, reason = "the trait is implemented too")]
        pub fn $function<B: ?Sized + IntoDyn>(
            self,
            $y: Variable<B>,
        ) -> Binary<rules::$op, A, B> {
            must(self.binary(rules::$op, $y))
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident, $z:ident)) => {};
    (@method [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident, $y:ident)) => {};
}
macro_rules! typed_files {
    ($($file:ident),+) => { $(rules::elementwise::$file::entries!(typed_methods);)+ };
}
rules::elementwise_files!(typed_files);

/// The operators that Rust has a symbol for. Operands are taken whole or by reference, which is a clone: the same
/// node.
macro_rules! typed_symbols {
    ($($trait:ident $method:ident => $op:ident),*) => {$(
        impl<A: ?Sized + IntoDyn, B: ?Sized + IntoDyn> $trait<Variable<B>> for Variable<A> {
            type Output = Binary<rules::$op, A, B>;
            /// # Panics
            /// If the shapes do not broadcast, or one of the variables holds indices.
            fn $method(self, other: Variable<B>) -> Self::Output {
                must(self.binary(rules::$op, other))
            }
        }
        impl<A: ?Sized + IntoDyn> $trait<f64> for Variable<A> {
            type Output = Binary<rules::$op, A, ConstantNode>;
            fn $method(self, other: f64) -> Self::Output {
                let other = self.number(other);
                must(self.binary(rules::$op, other))
            }
        }
        impl<B: ?Sized + IntoDyn> $trait<Variable<B>> for f64 {
            type Output = Binary<rules::$op, ConstantNode, B>;
            fn $method(self, other: Variable<B>) -> Self::Output {
                must(other.number(self).binary(rules::$op, other))
            }
        }
        impl<A: ?Sized + IntoDyn, B: ?Sized + IntoDyn> $trait<&Variable<B>> for Variable<A> {
            type Output = Binary<rules::$op, A, B>;
            fn $method(self, other: &Variable<B>) -> Self::Output {
                $trait::$method(self, other.clone())
            }
        }
        impl<A: ?Sized + IntoDyn, B: ?Sized + IntoDyn> $trait<Variable<B>> for &Variable<A> {
            type Output = Binary<rules::$op, A, B>;
            fn $method(self, other: Variable<B>) -> Self::Output {
                $trait::$method(self.clone(), other)
            }
        }
        impl<A: ?Sized + IntoDyn, B: ?Sized + IntoDyn> $trait<&Variable<B>> for &Variable<A> {
            type Output = Binary<rules::$op, A, B>;
            fn $method(self, other: &Variable<B>) -> Self::Output {
                $trait::$method(self.clone(), other.clone())
            }
        }
        impl<A: ?Sized + IntoDyn> $trait<f64> for &Variable<A> {
            type Output = Binary<rules::$op, A, ConstantNode>;
            fn $method(self, other: f64) -> Self::Output {
                $trait::$method(self.clone(), other)
            }
        }
        impl<B: ?Sized + IntoDyn> $trait<&Variable<B>> for f64 {
            type Output = Binary<rules::$op, ConstantNode, B>;
            fn $method(self, other: &Variable<B>) -> Self::Output {
                $trait::$method(self, other.clone())
            }
        }
    )*};
}
typed_symbols!(Add add => Add, Sub sub => Sub, Mul mul => Mul, Div div => Div);

impl<A: ?Sized + IntoDyn> Neg for Variable<A> {
    type Output = Unary<rules::Neg, A>;
    fn neg(self) -> Self::Output {
        must(self.unary(rules::Neg))
    }
}

impl<A: ?Sized + IntoDyn> Neg for &Variable<A> {
    type Output = Unary<rules::Neg, A>;
    fn neg(self) -> Self::Output {
        -self.clone()
    }
}

impl<N: ?Sized + IntoDyn> std::fmt::Debug for Variable<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.value() {
            Ok(value) => write!(f, "Variable({value:?})"),
            Err(Error::Shape(e)) => write!(f, "Variable(<{e}>)"),
            Err(e) => write!(f, "Variable(<{e}>)"),
        }
    }
}
