//! Building graphs from boxed variables: NumPy's functions over the operators of the table.
//!
//! An operator is strict: one element type, shapes that fit, axes in range. The functions
//! here do what callers expect around that: operands of float32 and float64 meet in
//! float64, axes count from the end, products accept vectors, shapes broadcast. They
//! compose operators and hold no rule of their own, so whatever they build can be
//! differentiated and frozen. Where a length is needed it is taken from another operand
//! ([`BroadcastLike`](rules::BroadcastLike)), so that a program can be planned again for another
//! batch length; what is computed from a length goes through [`fixed`], so that a program whose
//! input then gets another length fails and does not compute something else.
//!
//! Here belongs what Rust is to have too, and what needs to see the graph or an operator: axes, types
//! that meet, lengths that may change. NumPy's functions that are only made of these, with its
//! arguments, names and defaults, belong to `python/wyrmling/arrays`, in Python.
//!
//! All of them fail with [`Error::Shape`], [`Error::Type`], [`Error::Value`] or
//! [`Error::Index`], naming the operator and the shapes or types that do not fit.

mod diagonal;
mod index;
mod integer;
mod join;
mod length;
#[cfg(feature = "linalg")]
mod linalg;
mod order;
mod product;
mod reduce;
mod shape;

use smallvec::SmallVec;

use super::{Constant, Variable};
use crate::array::{Array, DType, Shape, normalize_axis};
use crate::error::{Error, Result};
use crate::rules::{self, OpRef, Operator};

pub use diagonal::*;
pub use index::*;
pub use integer::*;
pub use join::*;
pub use length::*;
#[cfg(feature = "linalg")]
pub use linalg::*;
pub use order::*;
pub use product::*;
pub use reduce::*;
pub(super) use shape::new_lengths;
pub use shape::*;

/// Operands of one operator.
pub(super) type Args = SmallVec<[Variable; 2]>;

/// Applies an operator with attributes.
fn apply(op: impl Operator, args: &[&Variable]) -> Result<Variable> {
    let args: Args = args.iter().map(|&x| x.clone()).collect();
    Variable::apply(OpRef::new(op), &args)
}

/// Applies an operator without attributes to one operand.
///
/// # Errors
/// See the [module documentation](self).
pub fn unary(op: &'static dyn Operator, x: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(op), std::slice::from_ref(x))
}

/// Applies an operator without attributes to two operands of any floating-point type.
///
/// # Errors
/// See the [module documentation](self).
pub fn binary(op: &'static dyn Operator, x: &Variable, y: &Variable) -> Result<Variable> {
    if x.dtype() == y.dtype() {
        Variable::apply(OpRef::Static(op), &[x.clone(), y.clone()])
    } else {
        Variable::apply(OpRef::Static(op), &promote(&[x, y])?)
    }
}

/// 1 where two operands differ, 0 where they are equal; NaN differs from itself.
///
/// # Errors
/// See the [module documentation](self).
pub fn not_equal(x: &Variable, y: &Variable) -> Result<Variable> {
    binary(&rules::NotEqual, x, y)
}

/// Casts float32 operands to float64 if any operand is float64. Indices stay as they are, and
/// booleans beside booleans.
pub(super) fn promote(args: &[&Variable]) -> Result<Args> {
    let double = args.iter().any(|x| x.dtype() == DType::F64);
    let booleans = args.iter().all(|x| x.is_boolean());
    let mut promoted = Args::new();
    for &x in args {
        promoted.push(match x.dtype() {
            DType::F32 if double => match apply(rules::Cast { dtype: DType::F64 }, &[x])? {
                cast if booleans => integer::truth(&cast)?,
                cast => cast,
            },
            _ => x.clone(),
        });
    }
    Ok(promoted)
}

/// Elements of `x` where `mask` is not zero, elsewhere of `y`. The mask's type does not
/// matter to the result's.
///
/// # Errors
/// See the [module documentation](self).
pub fn select(mask: &Variable, x: &Variable, y: &Variable) -> Result<Variable> {
    if mask.dtype() == DType::F64 && x.dtype() == DType::F32 && y.dtype() == DType::F32 {
        // A tiny number would become zero in float32, so compare first.
        let zero = Constant::new(0.0f64).boxed();
        let off = binary(&rules::Equal, mask, &zero)?;
        let off = apply(rules::Cast { dtype: DType::F32 }, &[&off])?;
        return Variable::apply(OpRef::Static(&rules::Where), &[off, y.clone(), x.clone()]);
    }
    Variable::apply(OpRef::Static(&rules::Where), &promote(&[mask, x, y])?)
}

/// `x` to the power of a number that is not differentiated.
///
/// # Errors
/// See the [module documentation](self).
pub fn power(x: &Variable, exponent: f64) -> Result<Variable> {
    if exponent == 2.0 {
        unary(&rules::Square, x)
    } else if exponent == 0.5 {
        unary(&rules::Sqrt, x)
    } else {
        let exponent = Constant::new(Array::scalar(x.dtype(), exponent));
        binary(&rules::Pow, x, &exponent.boxed())
    }
}

/// Axes of an array of `ndim` dimensions, each once, ascending; `None` means all.
fn axes(name: &str, axes: Option<&[i64]>, ndim: usize) -> Result<Shape> {
    let Some(axes) = axes else {
        return Ok((0..ndim).collect());
    };
    let mut sorted = Shape::new();
    for &axis in axes {
        let axis = normalize_axis(name, axis, ndim)?;
        let Err(at) = sorted.binary_search(&axis) else {
            return Err(Error::Value(format!("{name}: an axis is given twice")));
        };
        sorted.insert(at, axis);
    }
    Ok(sorted)
}

fn axis_of(name: &str, x: &Variable, axis: i64) -> Result<usize> {
    normalize_axis(name, axis, x.ty()?.ndim())
}

/// `x` as numbers of a floating-point type.
///
/// # Errors
/// See the [module documentation](self).
pub fn cast(x: &Variable, dtype: DType) -> Result<Variable> {
    if x.dtype() != dtype {
        return apply(rules::Cast { dtype }, &[x]);
    }
    match x.is_discrete() {
        true => unary(&rules::Positive, x),
        false => Ok(x.clone()),
    }
}
