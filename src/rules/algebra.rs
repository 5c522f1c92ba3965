//! The abstract algebra that rules are written in.
//!
//! A rule combines [`Ex`] handles with `+`, `*`, `.exp()` and so on. What that
//! does is up to the [`Algebra`] behind the handles: the eager one computes arrays
//! at once, the one of the ir appends instructions. Handles are small and `Copy`,
//! so that a rule reads like the formula it implements.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{
    BroadcastLike, CountLike, DiagonalLike, ExpandDims, Gather, MatMul, OpRef, Operator, Pick,
    ReshapeLike, RowScale, ScatterPick, ScatterRows, Sum, SumTo, Trace, Transpose, VecDot,
};
use crate::array::{DType, Shape, Type};
use crate::error::{Error, Result};

/// Names a value inside one algebra.
pub type Id = u32;

/// Something that can apply operators to values.
///
/// Applying cannot fail from the rule's point of view: an implementation records
/// the first error and reports it when the rule is done.
pub trait Algebra {
    /// Applies an operator.
    fn apply(&self, op: OpRef, args: &[Id]) -> Id;
    /// The type of a value. Only its element type and number of axes may steer a
    /// rule: axis lengths can change when a program is planned again.
    fn ty(&self, id: Id) -> Type;
    /// A single number.
    fn constant(&self, value: f64, dtype: DType) -> Id;
    /// Takes the first error since it was last asked for.
    fn take_error(&self) -> Option<Error>;
    /// Whether it is known without a look at them that no error waits to be taken and that two values have one
    /// element type and one shape. With `false` neither is known, and the caller compares.
    fn is_sound(&self, _a: Id, _b: Id) -> bool {
        false
    }
}

/// A value of some algebra.
#[derive(Clone, Copy)]
pub struct Ex<'t> {
    cx: &'t dyn Algebra,
    id: Id,
}

impl std::fmt::Debug for Ex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ex").field(&self.id).finish()
    }
}

impl<'t> Ex<'t> {
    /// Names value `id` of `cx`.
    pub fn new(cx: &'t dyn Algebra, id: Id) -> Self {
        Ex { cx, id }
    }

    /// The name of this value in its algebra.
    pub fn id(self) -> Id {
        self.id
    }

    /// The name of this value, which a rule gave, in the algebra that the rule was run on.
    ///
    /// # Errors
    /// [`Error::Value`] if it is a value of another algebra.
    pub(crate) fn id_in(self, algebra: &dyn Algebra) -> Result<Id> {
        if self.is_in(algebra) {
            return Ok(self.id);
        }
        Err(Error::Value(
            "an operator's rule gave a value that was not made from what the rule was given".into(),
        ))
    }

    /// Whether this is a value of an algebra.
    #[inline]
    pub(crate) fn is_in(self, algebra: &dyn Algebra) -> bool {
        std::ptr::addr_eq(self.cx, algebra)
    }

    /// The algebra that the value belongs to.
    pub(crate) fn algebra(self) -> &'t dyn Algebra {
        self.cx
    }

    /// Element type and shape. The lengths are those of now, which a rule may not depend on.
    pub(crate) fn ty(self) -> Type {
        self.cx.ty(self.id)
    }

    /// Number of axes.
    pub fn ndim(self) -> usize {
        self.cx.ty(self.id).ndim()
    }

    /// Element type.
    pub fn dtype(self) -> DType {
        self.cx.ty(self.id).dtype
    }

    /// A number of this value's element type.
    #[inline(never)]
    pub fn constant(self, value: f64) -> Self {
        Ex::new(self.cx, self.cx.constant(value, self.dtype()))
    }

    /// Applies an operator without attributes to this value and `others`.
    pub fn with(self, op: &'static dyn Operator, others: &[Ex<'t>]) -> Self {
        self.with_ref(OpRef::Static(op), others)
    }

    /// Applies an operator with attributes to this value and `others`.
    pub fn with_new(self, op: impl Operator, others: &[Ex<'t>]) -> Self {
        self.with_ref(OpRef::new(op), others)
    }

    /// Applies a shared operator to this value and `others`. Out of line, as there are many rules.
    #[inline(never)]
    pub fn with_ref(self, op: OpRef, others: &[Ex<'t>]) -> Self {
        let id = match others {
            [] => self.cx.apply(op, &[self.id]),
            [other] => self.cx.apply(op, &[self.id, other.id]),
            _ => {
                let mut ids: smallvec::SmallVec<[Id; 4]> = smallvec::smallvec![self.id];
                ids.extend(others.iter().map(|e| e.id));
                self.cx.apply(op, &ids)
            }
        };
        Ex::new(self.cx, id)
    }

    /// Sums over the axes along which `like` was broadcast to this shape.
    pub fn sum_to(self, like: Self) -> Self {
        self.with(&SumTo, &[like])
    }

    /// A number in every place of this value's shape, whatever that will be.
    fn full_like(self, value: f64) -> Self {
        let number = self.constant(value);
        if self.ndim() == 0 {
            number
        } else {
            number.broadcast_like(self)
        }
    }

    /// Ones of this value's shape: what a backward pass starts from.
    pub fn ones_like(self) -> Self {
        self.full_like(1.0)
    }

    /// Zeros of this value's shape.
    pub fn zeros_like(self) -> Self {
        self.full_like(0.0)
    }

    /// Repeats along the axes in which `like` is longer.
    pub fn broadcast_like(self, like: Self) -> Self {
        self.with(&BroadcastLike { core: 0 }, &[like])
    }

    /// The same elements in the shape of `like`.
    pub fn reshape_like(self, like: Self) -> Self {
        self.with(&ReshapeLike, &[like])
    }

    /// Inserts axes of length 1 at the given places of the result.
    pub fn expand_dims(self, axes: &[usize]) -> Self {
        self.with_new(ExpandDims { axes: axes.into() }, &[])
    }

    /// Sum over axes.
    pub fn sum(self, axes: Shape, keepdims: bool) -> Self {
        self.with_new(Sum { axes, keepdims }, &[])
    }

    /// How many elements of this shape lie along the given axes.
    pub fn count(self, axes: Shape) -> Self {
        self.with_new(CountLike { axes }, &[])
    }

    /// Matrix product, either operand transposed first.
    pub fn matmul(self, other: Self, transpose_a: bool, transpose_b: bool) -> Self {
        self.with_new(
            MatMul {
                transpose_a,
                transpose_b,
            },
            &[other],
        )
    }

    /// The transposes of the matrices that the last two axes are.
    pub fn matrix_transpose(self) -> Self {
        let mut axes: Shape = (0..self.ndim()).collect();
        let from = axes.len().saturating_sub(2);
        axes[from..].reverse();
        self.with_new(Transpose { axes }, &[])
    }

    /// Dot products along the last axis.
    pub fn vecdot(self, other: Self) -> Self {
        self.with(&VecDot, &[other])
    }

    /// Each row of `rows` times one element of this value.
    pub fn row_scale(self, rows: Self) -> Self {
        self.with(&RowScale, &[rows])
    }

    /// Sum of the diagonal.
    pub fn trace(self) -> Self {
        self.with(&Trace, &[])
    }

    /// A matrix shaped as `like` with this number along the diagonal.
    pub fn diagonal_like(self, like: Self) -> Self {
        self.with(&DiagonalLike, &[like])
    }

    /// Rows of this value.
    pub fn gather(self, index: Self) -> Self {
        self.with(&Gather, &[index])
    }

    /// An array shaped as `like` with these rows added at `index`.
    pub fn scatter_rows(self, index: Self, like: Self) -> Self {
        self.with(&ScatterRows, &[index, like])
    }

    /// One element of each row.
    pub fn pick(self, index: Self) -> Self {
        self.with(&Pick, &[index])
    }

    /// An array shaped as `like` with one element of each row set.
    pub fn scatter_pick(self, index: Self, like: Self) -> Self {
        self.with(&ScatterPick, &[index, like])
    }
}

/// A method for each elementwise operator, by its function's name.
macro_rules! algebra_methods {
    ($([$($doc:literal)+] $op:ident $function:ident $operands:tt $formula:literal $source:literal
       [$($numpy:literal)*] [$($scipy:literal)*] [$($python:ident)?];)*) => {
        impl<'t> Ex<'t> {
            $(algebra_methods! { @method [$($doc)+] $op $function $operands })*
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident)) => {
        $(#[doc = $doc])+
        pub fn $function(self) -> Self {
            self.with(&super::$op, &[])
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident)) => {
        $(#[doc = $doc])+
        pub fn $function(self, n: i32) -> Self {
            self.with_new(super::$op { n }, &[])
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($n:ident; $x:ident, $y:ident)) => {
        $(#[doc = $doc])+
        pub fn $function(self, n: i32, $y: Ex<'t>) -> Self {
            self.with_new(super::$op { n }, &[$y])
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident)) => {
        $(#[doc = $doc])+
        #[allow(clippy::should_implement_trait, reason = "the trait is implemented too")]
        pub fn $function(self, $y: Ex<'t>) -> Self {
            self.with(&super::$op, &[$y])
        }
    };
    (@method [$($doc:literal)+] $op:ident $function:ident ($x:ident, $y:ident, $z:ident)) => {
        $(#[doc = $doc])+
        pub fn $function(self, $y: Ex<'t>, $z: Ex<'t>) -> Self {
            self.with(&super::$op, &[$y, $z])
        }
    };
}
macro_rules! algebra_files {
    ($($file:ident),+) => { $(super::elementwise::$file::entries!(algebra_methods);)+ };
}
super::elementwise_files!(algebra_files);

macro_rules! symbol_traits {
    ($($trait:ident $method:ident => $op:ident),*) => {$(
        impl<'t> $trait for Ex<'t> {
            type Output = Ex<'t>;
            fn $method(self, other: Self) -> Self {
                self.with(&super::$op, &[other])
            }
        }
        impl<'t> $trait<f64> for Ex<'t> {
            type Output = Ex<'t>;
            fn $method(self, other: f64) -> Self {
                self.with(&super::$op, &[self.constant(other)])
            }
        }
        impl<'t> $trait<Ex<'t>> for f64 {
            type Output = Ex<'t>;
            fn $method(self, other: Ex<'t>) -> Ex<'t> {
                other.constant(self).with(&super::$op, &[other])
            }
        }
    )*};
}
symbol_traits!(Add add => Add, Sub sub => Sub, Mul mul => Mul, Div div => Div);

impl Neg for Ex<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.with(&super::Neg, &[])
    }
}
