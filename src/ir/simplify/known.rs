//! Single values that are known while a function is simplified.

use std::hash::{Hash, Hasher};

use crate::array::Array;
use crate::ir::kind::{Datum, ValueKind};

/// A number, an integer or a truth. Two are equal if their bits are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    Number(f64),
    Int(i64),
    Bool(bool),
}

impl Known {
    /// The value, if it is one element.
    pub(super) fn of(datum: &Datum) -> Option<Known> {
        Some(match datum {
            Datum::Array(a) => Known::Number(a.item().ok()?),
            Datum::Int(i) => Known::Int(*i),
            Datum::Bool(b) => Known::Bool(*b),
        })
    }

    /// The value as one of a kind, which it has.
    pub(super) fn datum(self, kind: &ValueKind) -> Datum {
        match (self, kind) {
            (Known::Number(x), ValueKind::Array(ty)) => Array::full(ty, x).into(),
            (Known::Number(x), _) => x.into(),
            (Known::Int(i), _) => i.into(),
            (Known::Bool(b), _) => b.into(),
        }
    }

    pub(super) fn bits(self) -> u64 {
        match self {
            Known::Number(x) => x.to_bits(),
            Known::Int(i) => i as u64,
            Known::Bool(b) => b.into(),
        }
    }

    /// Whether it is this number, with its sign.
    pub(super) fn is_number(self, number: f64) -> bool {
        matches!(self, Known::Number(x) if x.to_bits() == number.to_bits())
    }

    /// Whether a condition of this value holds.
    pub(super) fn holds(self) -> bool {
        match self {
            Known::Number(x) => x != 0.0,
            Known::Int(i) => i != 0,
            Known::Bool(b) => b,
        }
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.bits() == other.bits()
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}
