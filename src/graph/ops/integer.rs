//! Integers: which nodes hold them, and how they become numbers and indices.
//!
//! A node holds integers ([`Variable::is_integer`]) if it holds indices, or if
//! [`AsInteger`](rules::AsInteger) made it, or if it has the elements of such a node in another shape or
//! order. Their arithmetic is that of float64, whose results are marked again.

use super::{binary, unary};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::graph::{Constant, Variable};
use crate::rules::{self, OpRef, is_one_of};

/// A node as numbers to calculate with: indices as float64, any other as it is.
///
/// # Errors
/// See the [module documentation](super).
pub fn numbers(x: &Variable) -> Result<Variable> {
    match x.dtype() {
        DType::U32 => unary(&rules::FromIndex, x),
        _ => Ok(x.clone()),
    }
}

/// Numbers rounded towards zero and marked as integers; integers as they are.
///
/// # Errors
/// [`Error::Value`] for NaN and for what is not below 2^53.
pub fn whole(x: &Variable) -> Result<Variable> {
    match x.is_integer() {
        true => Ok(x.clone()),
        false => unary(&rules::AsInteger, x),
    }
}

/// Whether elements are not zero.
///
/// # Errors
/// See the [module documentation](super).
pub fn truth(x: &Variable) -> Result<Variable> {
    let x = numbers(x)?;
    let zero = Constant::new(Array::scalar(x.dtype(), 0.0)).boxed();
    binary(&rules::NotEqual, &x, &zero)
}

/// Integers as indices along an axis of `like`; those that are indices already, which are never
/// negative, as they are.
///
/// # Errors
/// [`Error::Type`] if `x` holds no integers, [`Error::Index`] for one out of range.
pub fn to_index(x: &Variable, like: &Variable, axis: usize) -> Result<Variable> {
    if x.dtype() == DType::U32 {
        return Ok(x.clone());
    }
    if !x.is_integer() {
        let Type { dtype, .. } = x.ty()?;
        return Err(Error::Type(format!(
            "an index is integers, got numbers of type {dtype}; .astype(int) makes integers of them"
        )));
    }
    Variable::apply(
        OpRef::new(rules::ToIndex { axis }),
        &[x.clone(), like.clone()],
    )
}

/// Whether the results of an operator are integers where all operands are.
fn keeps_integers(op: &dyn rules::Operator) -> bool {
    is_one_of!(op: Abs, Add, Ceil, Floor, FloorDivide, Fmax, Fmin, Fmod, Maximum, Minimum, Mul, Neg, Positive,
        Pow, Remainder, Sign, Square, Sub, Trunc)
}

/// The result of an operator on operands of which some hold booleans, and `all` if it is so; where
/// others are numbers, they are as they must be. NumPy's meaning: a sum is `or`, a product is `and`, and
/// other arithmetic is that of integers.
///
/// # Errors
/// [`Error::Type`] for what NumPy refuses, as the difference; see the [module documentation](super).
pub fn of_booleans(
    op: &'static dyn rules::Operator,
    operands: &[Variable],
    all: bool,
) -> Result<Variable> {
    if !all {
        return match operands {
            [x, y] => binary(op, x, y),
            _ => Variable::apply(OpRef::Static(op), operands),
        };
    }
    let instead: &'static dyn rules::Operator = match () {
        () if is_one_of!(op: Add, Maximum, Fmax) => &rules::LogicalOr,
        () if is_one_of!(op: Mul, Minimum, Fmin) => &rules::LogicalAnd,
        () if is_one_of!(op: Sub, Neg, Positive, Sign) => {
            return Err(Error::Type(format!(
                "{}: booleans have none, as in NumPy; use ^ or ~, or .astype(float)",
                op.name()
            )));
        }
        () if is_one_of!(op: Where) => op,
        () if operands.len() == 1 && is_one_of!(op: Abs, Floor, Ceil, Trunc) => {
            return Ok(operands[0].clone());
        }
        () => return of_integers(op, operands, true),
    };
    match operands {
        [x] => unary(instead, x),
        [x, y] => binary(instead, x, y),
        _ => Variable::apply(OpRef::Static(instead), operands),
    }
}

/// The result of an operator on operands of which some hold integers; marked as integers if
/// `all` operands hold them and the operator gives integers then.
///
/// # Errors
/// See the [module documentation](super). [`Error::Value`] if a result that must be an integer is
/// none: what was divided by 0, or is a power by a negative number.
pub fn of_integers(
    op: &'static dyn rules::Operator,
    operands: &[Variable],
    all: bool,
) -> Result<Variable> {
    let operands = operands.iter().map(numbers).collect::<Result<Vec<_>>>()?;
    let result = match operands.as_slice() {
        [x] => unary(op, x)?,
        [x, y] => binary(op, x, y)?,
        _ => Variable::apply(OpRef::Static(op), &operands)?,
    };
    match all && keeps_integers(op) {
        true => whole(&result),
        false => Ok(result),
    }
}
