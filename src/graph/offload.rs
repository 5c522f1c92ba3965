//! Offloading: an operator that may take over 20 ms runs in a helper thread, which a signal abandons.
//!
//! One kernel cannot look for signals, and a graph must stay in its thread. So the calling thread hands
//! copies of the operands (arrays are shared, no element is copied) to the helper and polls for signals
//! until the result is there. Only arrays are offloaded: tables and rows belong to their graph's thread.
//! An operator is taken to need over 20 ms from 2^25 elements on, a matrix product from 2^28
//! multiplications (many run in one instruction), a sort from 2^20 elements.

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
const LONG_ELEMENTS: usize = 1 << 25;

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
    // An element of a sort takes at least as long as 32 of another operator.
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
    if (elements < LONG_ELEMENTS && product < LONG_PRODUCT) || op.stays_in_thread() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, View, ViewMut};
    use crate::rules::{Add, Ex};

    /// An operator that is not offloaded.
    #[derive(Debug, Clone)]
    struct Staying;

    impl Operator for Staying {
        fn name(&self) -> &str {
            "staying"
        }
        fn infer(&self, args: &[&Type]) -> Result<Type> {
            Ok(args[0].clone())
        }
        fn eval(&self, _: &[View<'_>], _: ViewMut<'_>) -> Result<()> {
            Ok(())
        }
        fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
            None
        }
        fn stays_in_thread(&self) -> bool {
            true
        }
    }

    #[test]
    fn operators_are_offloaded_from_a_number_of_elements_or_products_on() -> Result<()> {
        let product = MatMul {
            transpose_a: false,
            transpose_b: false,
        };
        let sort = ArgSort { axis: 0 };
        let half = LONG_ELEMENTS / 2;
        let cases: &[(&dyn Operator, [&[usize]; 2], bool)] = &[
            (&Add, [&[half], &[half]], true),
            (&Add, [&[half], &[half - 1]], false),
            (&Add, [&[half + 1], &[half]], true),
            (&Staying, [&[half], &[half]], false),
            (&sort, [&[LONG_ELEMENTS / 32], &[]], true),
            (&sort, [&[LONG_ELEMENTS / 32 - 2], &[]], false),
            (&Add, [&[LONG_ELEMENTS / 32], &[]], false),
            (&product, [&[512, 1024], &[1024, 512]], true),
            (&product, [&[511, 1024], &[1024, 512]], false),
            (&product, [&[1024, 512], &[512, 1024]], true),
            // Few operands of a large result: at least so many that they are looked at.
            (&product, [&[LARGE / 2, 1], &[1, LARGE / 2]], true),
            (&product, [&[LARGE / 2, 1], &[1, LARGE / 2 - 1]], false),
            (&product, [&[LARGE / 2 + 1, 1], &[1, LARGE / 2]], true),
            (&Add, [&[512, 1024], &[1024, 512]], false),
        ];
        for (op, shapes, long) in cases {
            let [x, y] = shapes.map(|shape| Array::zeros(&Type::new(DType::F32, shape)));
            let [x, y] = [Value::Dense(x?), Value::Dense(y?)];
            let operands = offload_operands(*op, &[&x, &y]);
            assert_eq!(operands.is_some(), *long, "{} {shapes:?}", op.name());
            assert!(operands.is_none_or(|all| all.len() == 2));
        }
        // Tables and rows belong to their graph.
        let [x, y] = [half, half].map(|n| Array::zeros(&Type::new(DType::F32, &[n])));
        let one = Value::Repeated(Pattern::All, 1.0, Type::new(DType::F32, &[half]));
        let args = [&Value::Dense(x?), &Value::Dense(y?), &one];
        assert!(offload_operands(&Add, &args).is_none());
        Ok(())
    }
}
