//! What the values of a function are, and the values themselves.
//!
//! The rule table computes on arrays of numbers; a number is an array without axes. Control flow
//! needs integers that are exact and truth, which no rule differentiates: they are kinds of their own.
//!
//! The lengths in a kind are those that were seen when the function was built. They are no part of
//! what a value is: a function holds for other lengths, as far as its operators do.

use std::fmt;

use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};

/// What a value of a function is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// An array of numbers, or of indices; without axes, one number.
    Array(Type),
    /// True or false.
    Bool,
    /// An integer of 64 bits.
    Int,
}

impl ValueKind {
    /// One number of floating-point type `dtype`, or one index.
    pub fn number(dtype: DType) -> Self {
        ValueKind::Array(Type::scalar(dtype))
    }

    /// Whether a value of the other kind can stand for one of this kind: the same, whatever its
    /// lengths.
    pub fn accepts(&self, other: &ValueKind) -> bool {
        match (self, other) {
            (ValueKind::Array(a), ValueKind::Array(b)) => {
                a.dtype == b.dtype && a.ndim() == b.ndim()
            }
            (ValueKind::Bool, ValueKind::Bool) | (ValueKind::Int, ValueKind::Int) => true,
            _ => false,
        }
    }

    /// Element type and lengths, of an array.
    pub fn array(&self) -> Option<&Type> {
        match self {
            ValueKind::Array(ty) => Some(ty),
            ValueKind::Bool | ValueKind::Int => None,
        }
    }

    /// Element type of one number or index; `None` for all else.
    pub fn as_number(&self) -> Option<DType> {
        self.array()
            .and_then(|ty| (ty.ndim() == 0).then_some(ty.dtype))
    }

    /// Whether a gradient can flow through a value: whether it holds floating-point numbers.
    pub fn is_differentiable(&self) -> bool {
        self.array().is_some_and(|ty| ty.dtype.is_real())
    }
}

impl From<Type> for ValueKind {
    fn from(ty: Type) -> Self {
        ValueKind::Array(ty)
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueKind::Array(ty) => ty.fmt(f),
            ValueKind::Bool => f.write_str("bool"),
            ValueKind::Int => f.write_str("int"),
        }
    }
}

/// A value of a function while it runs, or a constant.
#[derive(Debug, Clone)]
pub enum Datum {
    /// An array, or one number.
    Array(Array),
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
}

impl Datum {
    /// What it is.
    pub fn kind(&self) -> ValueKind {
        match self {
            Datum::Array(a) => ValueKind::Array(a.ty()),
            Datum::Bool(_) => ValueKind::Bool,
            Datum::Int(_) => ValueKind::Int,
        }
    }

    /// The array.
    ///
    /// # Errors
    /// [`Error::Type`] if it is none.
    pub fn array(&self) -> Result<&Array> {
        match self {
            Datum::Array(a) => Ok(a),
            other => Err(other.is_no("an array")),
        }
    }

    /// The only element, true as 1 and false as 0.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not exactly one element.
    pub fn item(&self) -> Result<f64> {
        match self {
            Datum::Array(a) => a.item(),
            Datum::Bool(b) => Ok(f64::from(u8::from(*b))),
            Datum::Int(i) => Ok(*i as f64),
        }
    }

    /// The error for a value that is not what is needed.
    pub(crate) fn is_no(&self, what: &str) -> Error {
        Error::Type(format!("expected {what}, got {}", self.kind()))
    }
}

impl<A: Into<Array>> From<A> for Datum {
    fn from(a: A) -> Self {
        Datum::Array(a.into())
    }
}

impl From<bool> for Datum {
    fn from(b: bool) -> Self {
        Datum::Bool(b)
    }
}

impl From<i64> for Datum {
    fn from(i: i64) -> Self {
        Datum::Int(i)
    }
}
