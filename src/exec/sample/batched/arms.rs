//! Branches that depend on a sample: both arms are computed for all samples, and what they give is chosen
//! by a mask (if-conversion: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to
//! data dependence", 1983).
//!
//! A sample has no part in the arm that it does not take. Its values there may be infinite or NaN, and
//! are not chosen. Its gradients there are 0 until they come to an operator whose derivative is not
//! finite, and 0 times that is NaN. So what goes into such an operator is chosen by the mask too: then its
//! gradient is 0 for that sample, whatever it was.
//!
//! Limits: an arm looks no rows up, for they would count as read by all samples; and it raises nothing.

use std::mem;
use std::rc::Rc;

use super::{BatchValue, Follower};
use crate::array::{Array, DType, Type};
use crate::ir::{Comparison, Datum, Target, ValueId, ValueKind};
use crate::rules::{
    Add, Cast, Equal, Greater, GreaterEqual, Less, LessEqual, Mul, Neg, NotEqual, OpRef, Reshape,
    Sub, Where,
};

/// Arms that stand in one another, at most.
const DEEPEST: usize = 16;

impl Follower<'_> {
    /// Follows both arms of the branch that ends a block, to the block in which they meet, and chooses
    /// what that is given.
    ///
    /// An arm that goes around a loop gives the values of the loop anew. The other arm has those from
    /// before, and so has what follows, for the samples that did not go around.
    pub(super) fn arms(
        &mut self,
        block: usize,
        condition: &BatchValue,
        [then, otherwise]: [&Target; 2],
        join: usize,
    ) -> Option<Vec<BatchValue>> {
        if self.masks.len() == DEEPEST {
            return None;
        }
        let mask = self.mask(condition)?;
        let inverse = self.mask(&by_mask(mask, false))?;
        let given = (self.arguments(then)?, self.arguments(otherwise)?);
        let needed = self.live.live_out(block).iter();
        let before: Vec<_> = needed
            .map(|&id| (id, self.values[id as usize].clone()))
            .collect();
        let first = self.arm(mask, then.block, given.0, join)?;
        let after = before
            .into_iter()
            .map(|(id, value)| (id, mem::replace(&mut self.values[id as usize], value)));
        let after: Vec<_> = after.collect();
        let second = self.arm(inverse, otherwise.block, given.1, join)?;
        for (id, x) in after {
            if self.live.live_in(join).binary_search(&id).is_err() {
                continue;
            }
            let (x, y) = (x?, self.values[id as usize].clone()?);
            if !Rc::ptr_eq(&x, &y) {
                let (x, y) = ((*x).clone(), (*y).clone());
                let chosen = self.chosen(mask, x, y, self.function.kind(id))?;
                self.values[id as usize] = Some(Rc::new(chosen));
            }
        }
        let kinds = self.function.blocks[join].parameters.iter();
        let kinds: Vec<&ValueKind> = kinds.map(|&p| self.function.kind(p)).collect();
        let pairs = first.into_iter().zip(second).zip(kinds);
        pairs
            .map(|((x, y), kind)| self.chosen(mask, x, y, kind))
            .collect()
    }

    /// Follows the arm that the samples with a mask of 1 take, from a block, given values.
    fn arm(
        &mut self,
        mask: ValueId,
        block: usize,
        given: Vec<BatchValue>,
        join: usize,
    ) -> Option<Vec<BatchValue>> {
        let within = match self.masks.last() {
            Some(&outer) => {
                let outer = self.as_dtype(outer, self.dtype(mask)?)?;
                self.write(OpRef::Static(&Mul), &[outer, mask])?
            }
            None => mask,
        };
        self.masks.push(within);
        let given = self.walk(block, given, join)?;
        self.masks.pop();
        Some(given)
    }

    /// Truth as a mask of one number a sample.
    fn mask(&self, truth: &BatchValue) -> Option<ValueId> {
        let BatchValue::Choice(mask, x, y) = truth else {
            return None;
        };
        match (&**x, &**y) {
            (BatchValue::Known(Datum::Bool(true)), BatchValue::Known(Datum::Bool(false))) => {
                Some(*mask)
            }
            (x, y) => {
                let ty = Type::scalar(self.dtype(*mask)?);
                let number = |truth: &BatchValue| match truth {
                    BatchValue::Known(Datum::Bool(b)) => {
                        let one = Array::scalar(ty.dtype, f64::from(u8::from(*b)));
                        Some(BatchValue::Known(one.into()))
                    }
                    other => {
                        let inner = self.mask(other)?;
                        Some(BatchValue::Each(self.as_dtype(inner, ty.dtype)?))
                    }
                };
                let (x, y) = (number(x)?, number(y)?);
                self.select(*mask, x, y, &ty)
            }
        }
    }

    /// Truth by comparing two numbers of a type, of which one at least differs between samples.
    pub(super) fn compared_numbers(
        &self,
        comparison: Comparison,
        args: &[BatchValue],
        ty: &Type,
    ) -> Option<BatchValue> {
        let op = OpRef::Static(match comparison {
            Comparison::Less => &Less,
            Comparison::LessEqual => &LessEqual,
            Comparison::Greater => &Greater,
            Comparison::GreaterEqual => &GreaterEqual,
            Comparison::Equal => &Equal,
            Comparison::NotEqual => &NotEqual,
        });
        if !args.iter().any(|x| matches!(x, BatchValue::Each(_))) {
            return None;
        }
        Some(by_mask(self.elementwise(&op, args, &[ty, ty])?, true))
    }

    /// One of two values of a kind, by a mask.
    pub(super) fn chosen(
        &self,
        mask: ValueId,
        x: BatchValue,
        y: BatchValue,
        kind: &ValueKind,
    ) -> Option<BatchValue> {
        match (&x, &y) {
            (BatchValue::Known(Datum::Int(a)), BatchValue::Known(Datum::Int(b))) if a == b => {
                return Some(x);
            }
            (BatchValue::Known(Datum::Bool(a)), BatchValue::Known(Datum::Bool(b))) if a == b => {
                return Some(x);
            }
            (BatchValue::Each(a), BatchValue::Each(b))
            | (BatchValue::Same(a), BatchValue::Same(b))
            | (BatchValue::Int(.., Some(a)), BatchValue::Int(.., Some(b)))
                if a == b =>
            {
                return Some(x);
            }
            _ => {}
        }
        match kind {
            ValueKind::Array(ty) => Some(BatchValue::Each(self.select(mask, x, y, ty)?)),
            _ => Some(BatchValue::Choice(mask, Box::new(x), Box::new(y))),
        }
    }

    /// Elements of the first array where the mask is 1, else of the second.
    fn select(&self, mask: ValueId, x: BatchValue, y: BatchValue, ty: &Type) -> Option<ValueId> {
        let mask = self.as_dtype(mask, ty.dtype)?;
        let types = [&Type::scalar(ty.dtype), ty, ty];
        let operands = [BatchValue::Each(mask), x, y];
        self.elementwise(&OpRef::Static(&Where), &operands, &types)
    }

    /// Operands as an operator may have them within the arms that are followed.
    pub(super) fn within_arms(
        &self,
        op: &OpRef,
        args: Vec<BatchValue>,
        types: &[&Type],
    ) -> Option<Vec<BatchValue>> {
        let Some(&mask) = self.masks.last() else {
            return Some(args);
        };
        if is_linear(op, &args) {
            return Some(args);
        }
        let masked = |(value, ty): (BatchValue, &&Type)| match value {
            BatchValue::Same(_) | BatchValue::Each(_) if ty.dtype.is_real() => {
                let zero = BatchValue::Known(Array::full(ty, 0.0).into());
                Some(BatchValue::Each(self.select(mask, value, zero, ty)?))
            }
            other => Some(other),
        };
        args.into_iter().zip(types).map(masked).collect()
    }

    /// The element type of an array of the new function.
    pub(super) fn dtype(&self, id: ValueId) -> Option<DType> {
        match self.builder.kind(id) {
            Ok(ValueKind::Array(ty)) => Some(ty.dtype),
            _ => None,
        }
    }

    /// An array of the new function with elements of a floating-point type.
    pub(super) fn as_dtype(&self, id: ValueId, dtype: DType) -> Option<ValueId> {
        match self.dtype(id)? == dtype {
            true => Some(id),
            false => self.write(OpRef::new(Cast { dtype }), &[id]),
        }
    }
}

/// Truth that is `ones` for the samples whose mask is 1, and not for the others.
pub(super) fn by_mask(mask: ValueId, ones: bool) -> BatchValue {
    let known = |truth: bool| Box::new(BatchValue::Known(truth.into()));
    BatchValue::Choice(mask, known(ones), known(!ones))
}

/// Whether the gradients of an operator's operands are 0 where that of its result is, whatever the
/// operands are.
fn is_linear(op: &OpRef, args: &[BatchValue]) -> bool {
    let is_finite =
        |value: &BatchValue| matches!(value, BatchValue::Known(Datum::Array(a)) if a.is_finite());
    let moves = op.downcast::<Add>().is_some()
        || op.downcast::<Sub>().is_some()
        || op.downcast::<Neg>().is_some()
        || op.downcast::<Cast>().is_some()
        || op.downcast::<Reshape>().is_some();
    moves || (op.downcast::<Mul>().is_some() && args.iter().any(is_finite))
}
