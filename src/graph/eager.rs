//! The eager algebra: rules run on values and compute at once.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::value::{Value, apply};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::rules::{Algebra, Ex, Id, OpRef, Operator};

/// Values by name, for the length of one rule.
#[derive(Default)]
pub struct Eager {
    values: RefCell<Vec<Value>>,
    error: RefCell<Option<Error>>,
}

impl Eager {
    fn push(&self, value: Value) -> Id {
        let mut values = self.values.borrow_mut();
        values.push(value);
        (values.len() - 1) as Id
    }

    /// The gradients of `op`'s operands for which `wanted` says so, from the gradient
    /// `g` of its result `y`: `give(i, gradient)`.
    ///
    /// # Errors
    /// Whatever the operators of the rule report.
    pub(super) fn vjp<O: Operator + ?Sized>(
        &self,
        op: &O,
        g: Value,
        y: Value,
        args: SmallVec<[Value; 3]>,
        wanted: impl Fn(usize) -> bool,
        mut give: impl FnMut(usize, Value),
    ) -> Result<()> {
        self.values.borrow_mut().clear();
        let g = Ex::new(self, self.push(g));
        let y = Ex::new(self, self.push(y));
        let args: SmallVec<[Ex<'_>; 3]> = args
            .into_iter()
            .map(|a| Ex::new(self, self.push(a)))
            .collect();
        for i in (0..args.len()).filter(|&i| wanted(i)) {
            let grad = op.vjp(i, g, y, &args);
            if let Some(error) = self.error.borrow_mut().take() {
                return Err(error);
            }
            if let Some(grad) = grad {
                give(i, self.values.borrow()[grad.id() as usize].clone());
            }
        }
        self.values.borrow_mut().clear();
        Ok(())
    }
}

impl Algebra for Eager {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        let operands: SmallVec<[Value; 3]> = {
            let values = self.values.borrow();
            args.iter().map(|&a| values[a as usize].clone()).collect()
        };
        let value = apply(&*op, &operands, None).unwrap_or_else(|e| {
            self.error.borrow_mut().get_or_insert(e);
            operands[0].clone()
        });
        self.push(value)
    }

    fn ty(&self, id: Id) -> Type {
        self.values.borrow()[id as usize].ty()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.push(Value::Dense(Array::scalar(dtype, value)))
    }
}
