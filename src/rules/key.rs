//! Telling operators apart: by type and attributes, never by how they print.
//!
//! A program computes an operator once where it is applied to the same operands twice. Two are the
//! same if they are of one type and their [keys](Operator::key) are equal. An operator without
//! fields needs no key. One that has fields and gives no key is the same as no other, so that no
//! attribute can be lost by being left out.

use std::any::Any;
use std::hash::{Hash, Hasher};

use super::{OpRef, Operator};

/// What tells operators of one type apart: anything that can be compared and hashed.
pub trait Key: Any {
    /// Whether the other is of the same type and equal.
    fn equals(&self, other: &dyn Key) -> bool;
    /// Feeds a hasher.
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Eq + Hash> Key for T {
    fn equals(&self, other: &dyn Key) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>() == Some(self)
    }

    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl dyn Operator {
    /// Whether the other is the same operator, attributes included.
    pub fn same(&self, other: &dyn Operator) -> bool {
        let types = [self as &dyn Any, other].map(Any::type_id);
        if types[0] != types[1] {
            return false;
        }
        match (self.key(), other.key()) {
            (Some(key), Some(other)) => key.equals(other),
            (None, None) => size_of_val(self) == 0 || std::ptr::addr_eq(self, other),
            _ => false,
        }
    }
}

impl PartialEq for OpRef {
    fn eq(&self, other: &Self) -> bool {
        (**self).same(&**other)
    }
}

impl Eq for OpRef {}

impl Hash for OpRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let op: &dyn Operator = &**self;
        (op as &dyn Any).type_id().hash(state);
        if let Some(key) = op.key() {
            key.feed(state);
        }
    }
}
