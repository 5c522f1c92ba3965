//! Offloading: an operator that may take over 20 ms runs in a helper thread, which a signal abandons.
//!
//! One kernel cannot look for signals, and a graph must stay in its thread. So the calling thread hands
//! copies of the operands (arrays are shared, no element is copied) to the helper and polls for signals
//! until the result is there. Only arrays are offloaded: tables and rows belong to their graph's thread.
//! Whether an operator takes long is estimated by its operands' sizes, at about 1 ns an element or a
//! multiplication and 60 ns for each element of a sort.

use std::any::TypeId;

use smallvec::SmallVec;

use super::value::{Pattern, Value, apply};
use crate::array::{Array, Type};
use crate::error::Result;
use crate::interrupt;
use crate::rules::{ArgSort, Internal, MatMul, OpRef, Operator};
use crate::table::Rows;

/// Elements below which no operator takes long.
const LARGE: usize = 1 << 16;

/// Multiplications, and elements, from which on an operator is taken to need over 20 ms.
const LONG_PRODUCT: usize = 1 << 28;
const LONG: usize = 1 << 25;

/// The operands, if they are arrays and the operator may take long on them: what to [`offload`] it with.
#[inline]
pub(super) fn offload_operands<O: Operator + ?Sized>(
    op: &O,
    args: &[&Value],
) -> Option<Vec<Array>> {
    let size = |arg: &&Value| match arg {
        Value::Dense(array) => array.view().data.len(),
        _ => 0,
    };
    let elements: usize = args.iter().map(size).sum();
    if elements < LARGE {
        return None;
    }
    operands_if_long(op, args, elements)
}

/// As [`offload_operands`], for many elements.
#[cold]
fn operands_if_long<O: Operator + ?Sized>(
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

/// Applies an operator in a helper thread.
///
/// # Errors
/// Those of the operator and of [`interrupt::run_abandonable`].
pub(super) fn offload(op: OpRef, operands: Vec<Array>) -> Result<Value> {
    // A `Value` cannot cross threads, since it may hold an `Rc`; arrays and rows can.
    enum Computed {
        Dense(Array),
        Rows(Rows),
        Repeated(Pattern, f64, Type),
    }
    let made = interrupt::run_abandonable(move || {
        let values: Vec<Value> = operands.into_iter().map(Value::Dense).collect();
        let args: SmallVec<[&Value; 4]> = values.iter().collect();
        Ok(match apply(&*op, &args, None)? {
            Value::Dense(array) => Computed::Dense(array),
            Value::Rows(rows) => Computed::Rows(rows),
            Value::Repeated(pattern, x, ty) => Computed::Repeated(pattern, x, ty),
            table @ Value::Table(_) => Computed::Dense(table.dense()?),
        })
    })??;
    Ok(match made {
        Computed::Dense(array) => Value::Dense(array),
        Computed::Rows(rows) => Value::Rows(rows),
        Computed::Repeated(pattern, x, ty) => Value::Repeated(pattern, x, ty),
    })
}
