//! Operators that take long: they are applied in a thread that can be left behind, so that a signal
//! ends the wait for them.

use std::any::TypeId;

use smallvec::SmallVec;

use super::value::{Places, Value, apply};
use crate::array::{Array, Type};
use crate::error::Result;
use crate::interrupt;
use crate::rules::{ArgSort, Internal, MatMul, OpRef, Operator};
use crate::table::Rows;

/// Elements below which no operator takes long.
const LARGE: usize = 1 << 16;

/// Multiplications, or elements, from which on an operator may take so long (some 20 ms) that its
/// caller wants to leave.
const LONG_PRODUCT: usize = 1 << 28;
const LONG: usize = 1 << 25;

/// The operands, if they are arrays and the operator may take long on them.
#[inline]
pub(super) fn long<O: Operator + ?Sized>(op: &O, args: &[&Value]) -> Option<Vec<Array>> {
    let size = |arg: &&Value| match arg {
        Value::Dense(array) => array.view().data.len(),
        _ => 0,
    };
    let elements: usize = args.iter().map(size).sum();
    if elements < LARGE {
        return None;
    }
    long_operands(op, args, elements)
}

/// As [`long`], of many elements.
#[cold]
fn long_operands<O: Operator + ?Sized>(
    op: &O,
    args: &[&Value],
    elements: usize,
) -> Option<Vec<Array>> {
    let is = |id| op.type_key(Internal) == id;
    // A sort takes some 60 ns an element, others about one.
    let elements = match is(TypeId::of::<ArgSort>()) {
        true => elements.saturating_mul(32),
        false => elements,
    };
    let product = match args {
        [x, _] if is(TypeId::of::<MatMul>()) => {
            // Both have the summed axis: the result has at most the product of the others.
            let summed = x.shape().last().copied().unwrap_or(1).max(1);
            let others = args.iter().map(|x| x.ty().size() / summed);
            others.fold(summed, usize::saturating_mul)
        }
        _ => 0,
    };
    if (elements < LONG && product < LONG_PRODUCT) || op.stays_in_thread() {
        return None;
    }
    let arrays = args.iter().map(|arg| match arg {
        Value::Dense(array) => Some(array.clone()),
        _ => None,
    });
    arrays.collect()
}

/// Applies an operator in a thread that can be left behind.
pub(super) fn apply_long(op: OpRef, operands: Vec<Array>) -> Result<Value> {
    // Values are of one thread, and arrays are not.
    enum Computed {
        Dense(Array),
        Rows(Rows),
        Repeated(Places, f64, Type),
    }
    let made = interrupt::leave(move || {
        let values: Vec<Value> = operands.into_iter().map(Value::Dense).collect();
        let args: SmallVec<[&Value; 4]> = values.iter().collect();
        Ok(match apply(&*op, &args, None)? {
            Value::Dense(array) => Computed::Dense(array),
            Value::Rows(rows) => Computed::Rows(rows),
            Value::Repeated(places, x, ty) => Computed::Repeated(places, x, ty),
            table @ Value::Table(_) => Computed::Dense(table.dense()?),
        })
    })??;
    Ok(match made {
        Computed::Dense(array) => Value::Dense(array),
        Computed::Rows(rows) => Value::Rows(rows),
        Computed::Repeated(places, x, ty) => Value::Repeated(places, x, ty),
    })
}
