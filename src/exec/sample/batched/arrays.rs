//! Arrays of a batch: operators on one sample's arrays, with a first axis for samples.

use super::{BatchValue, Follower, LIKE};
use crate::array::Type;
use crate::ir::{Datum, ValueId, ValueKind};
use crate::rules::{Cast, ExpandDims, Gather, MatMul, Mul, OpRef, Reshape, Sum, VecDot};

impl Follower<'_> {
    /// The value in the new function of an array that is the same for all samples.
    fn same(&self, value: &BatchValue) -> Option<ValueId> {
        match value {
            BatchValue::Same(id) => Some(*id),
            BatchValue::Known(datum @ Datum::Array(_)) => Some(self.builder.literal(datum.clone())),
            _ => None,
        }
    }

    /// Appends an operator to the new function; `None` if it does not take these types.
    pub(super) fn write(&self, op: OpRef, args: &[ValueId]) -> Option<ValueId> {
        self.builder.try_apply(op, args).ok()
    }

    /// The value of an operator on arrays.
    pub(super) fn apply(
        &mut self,
        op: &OpRef,
        ids: &[ValueId],
        result: ValueId,
    ) -> Option<BatchValue> {
        let args: Option<Vec<BatchValue>> = ids.iter().map(|&a| self.value(a)).collect();
        let args = args?;
        if op.stays_in_thread() {
            return None;
        }
        let types: Vec<&Type> = ids.iter().map(|&id| self.function.ty(id)).collect();
        if op.downcast::<Gather>().is_some() && !self.masks.is_empty() {
            return None;
        }
        let args = self.within_arms(op, args, &types)?;
        if !args
            .iter()
            .any(|value| matches!(value, BatchValue::Each(_)))
        {
            let args: Option<Vec<ValueId>> = args.iter().map(|value| self.same(value)).collect();
            let args = args?;
            // The only row is all that there is: each sample uses it, and its penalty counts as often.
            let one_row = types.first().is_some_and(|ty| ty.shape.first() == Some(&1));
            if op.downcast::<Gather>().is_some() && one_row && types[1].ndim() == 0 {
                let shape = types[0].shape[1..].iter().map(|&n| Some(n)).collect();
                let row = self.write(OpRef::new(Reshape { shape }), &args[..1])?;
                return Some(BatchValue::Same(row));
            }
            return Some(BatchValue::Same(self.write(op.clone(), &args)?));
        }
        let each = |k: usize| match args.get(k)? {
            BatchValue::Each(id) => Some(*id),
            _ => None,
        };
        let id = if let ([x], Some(over)) = (&args[..], op.over_batch()) {
            let BatchValue::Each(x) = x else { return None };
            self.write(over, &[*x])?
        } else if op.downcast::<Reshape>().is_some() {
            let one = &self.function.ty(result).shape;
            let shape = one.iter().map(|&n| Some(n));
            let shape = std::iter::once(None).chain(shape).collect();
            self.write(OpRef::new(Reshape { shape }), &[each(0)?])?
        } else if op.downcast::<Cast>().is_some() {
            self.write(op.clone(), &[each(0)?])?
        } else if op.downcast::<Gather>().is_some() {
            // Rows of an array that all samples have.
            let table = self.same(&args[0])?;
            self.write(op.clone(), &[table, each(1)?])?
        } else if op.downcast::<VecDot>().is_some() {
            match (each(0), each(1)) {
                (Some(x), Some(y)) => self.write(op.clone(), &[x, y])?,
                _ => {
                    let product = self.elementwise(&OpRef::Static(&Mul), &args, &types)?;
                    let axes = [types[0].ndim()].into_iter().collect();
                    let sum = Sum {
                        axes,
                        keepdims: false,
                    };
                    self.write(OpRef::new(sum), &[product])?
                }
            }
        } else if op.downcast::<MatMul>().is_some() {
            let operand = |value: &BatchValue| match value {
                BatchValue::Each(id) => Some(*id),
                other => self.same(other),
            };
            if types.iter().any(|ty| ty.ndim() != 2) {
                return None;
            }
            self.write(op.clone(), &[operand(&args[0])?, operand(&args[1])?])?
        } else if op.kernel(types[0].dtype).is_some() {
            self.elementwise(op, &args, &types)?
        } else {
            return None;
        };
        // What an operator makes of a batch is what it makes of a sample, for each.
        let Ok(ValueKind::Array(found)) = self.builder.kind(id) else {
            return None;
        };
        let one = self.function.ty(result);
        let fits = found.dtype == one.dtype
            && found.shape.first() == Some(&LIKE)
            && found.shape[1..] == one.shape[..];
        fits.then_some(BatchValue::Each(id))
    }

    /// An operator on each element alone.
    pub(super) fn elementwise(
        &self,
        op: &OpRef,
        args: &[BatchValue],
        types: &[&Type],
    ) -> Option<ValueId> {
        let ndim = types.iter().map(|ty| ty.ndim()).max()?;
        let operand = |(value, ty): (&BatchValue, &&Type)| match value {
            BatchValue::Each(id) if ty.ndim() < ndim => {
                let axes = (1..=ndim - ty.ndim()).collect();
                self.write(OpRef::new(ExpandDims { axes }), &[*id])
            }
            BatchValue::Each(id) => Some(*id),
            other => self.same(other),
        };
        let operands: Option<Vec<ValueId>> = args.iter().zip(types).map(operand).collect();
        self.write(op.clone(), &operands?)
    }
}
