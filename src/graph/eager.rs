//! The eager algebra: rules run on values and compute at once.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::value::{Value, apply};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{Algebra, Ex, Id, OpRef, Operator};

/// A value of a rule: one that a node holds, or one that the rule computed.
enum Slot<'v> {
    Held(&'v Value),
    New(Value),
}

impl Slot<'_> {
    #[inline]
    fn get(&self) -> &Value {
        match self {
            Slot::Held(value) => value,
            Slot::New(value) => value,
        }
    }
}

/// Values by name, for the length of one rule.
struct Eager<'v> {
    values: RefCell<SmallVec<[Slot<'v>; 8]>>,
    error: RefCell<Option<Error>>,
}

impl<'v> Eager<'v> {
    fn push(&self, slot: Slot<'v>) -> Id {
        let mut values = self.values.borrow_mut();
        values.push(slot);
        (values.len() - 1) as Id
    }
}

/// The gradients of `op`'s operands for which `wanted` says so, from the gradient `g` of its
/// result `y`: `give(i, gradient)`.
///
/// # Errors
/// Whatever the operators of the rule report.
pub(super) fn vjp<O: Operator + ?Sized>(
    op: &O,
    g: Value,
    y: &Value,
    args: &[&Value],
    wanted: impl Fn(usize) -> bool,
    mut give: impl FnMut(usize, Value),
) -> Result<()> {
    let eager = Eager {
        values: RefCell::default(),
        error: RefCell::default(),
    };
    let g = Ex::new(&eager, eager.push(Slot::New(g)));
    let y = Ex::new(&eager, eager.push(Slot::Held(y)));
    let args = args.iter().map(|a| eager.push(Slot::Held(a)));
    let args: SmallVec<[Ex<'_>; 3]> = args.map(|id| Ex::new(&eager, id)).collect();
    for i in (0..args.len()).filter(|&i| wanted(i)) {
        let grad = op.vjp(i, g, y, &args);
        if let Some(error) = eager.error.borrow_mut().take() {
            return Err(error);
        }
        if let Some(grad) = grad {
            give(i, eager.values.borrow()[grad.id() as usize].get().clone());
        }
    }
    Ok(())
}

impl Algebra for Eager<'_> {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        let value = {
            let values = self.values.borrow();
            let args: SmallVec<[&Value; 3]> =
                args.iter().map(|&a| values[a as usize].get()).collect();
            apply(&*op, &args, None)
        };
        match value {
            Ok(value) => self.push(Slot::New(value)),
            Err(e) => {
                self.error.borrow_mut().get_or_insert(e);
                args[0]
            }
        }
    }

    fn ty(&self, id: Id) -> Type {
        self.values.borrow()[id as usize].get().ty()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.push(Slot::New(Value::Dense(Array::scalar(dtype, value))))
    }
}
