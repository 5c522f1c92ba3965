//! Integers and truth of a batch: what is known of them for all samples.

use super::{BatchValue, Follower};
use crate::array::{Array, DType, Type};
use crate::ir::{Comparison, Datum, ScalarOperator, ValueId, ValueKind};

impl Follower<'_> {
    /// A value of an operator on integers and truth.
    pub(super) fn compute(
        &mut self,
        op: ScalarOperator,
        args: &[ValueId],
        result: ValueId,
    ) -> Option<BatchValue> {
        if let ScalarOperator::Length(axis) = op {
            let length = *self.function.ty(args[0]).shape.get(usize::from(axis))?;
            return Some(BatchValue::Known(Datum::Int(i64::try_from(length).ok()?)));
        }
        if let ScalarOperator::Rows(_) = op {
            return None;
        }
        let operands: Option<Vec<BatchValue>> = args.iter().map(|&a| self.value(a)).collect();
        let mut operands = operands?;
        let is_known = |x: &BatchValue| matches!(x, BatchValue::Known(_));
        let comparison = match op {
            ScalarOperator::CompareNumber(comparison) => Some(comparison),
            ScalarOperator::FloatToBool => Some(Comparison::NotEqual),
            _ => None,
        };
        if let (Some(comparison), ValueKind::Array(ty)) = (comparison, self.function.kind(args[0]))
            && !operands.iter().all(is_known)
        {
            if op == ScalarOperator::FloatToBool {
                operands.push(BatchValue::Known(Array::scalar(ty.dtype, 0.0).into()));
            }
            return self.compared_numbers(comparison, &operands, ty);
        }
        self.computed(op, operands, result)
    }

    /// The result of an operator, which is a choice where an operand is.
    fn computed(
        &mut self,
        op: ScalarOperator,
        args: Vec<BatchValue>,
        result: ValueId,
    ) -> Option<BatchValue> {
        self.left = self.left.checked_sub(1)?;
        let choice = args.iter().enumerate().find_map(|(k, value)| match value {
            BatchValue::Choice(mask, x, y) => Some((k, *mask, (**x).clone(), (**y).clone())),
            _ => None,
        });
        if let Some((k, mask, x, y)) = choice {
            let mut one = |value: BatchValue| {
                let mut args = args.clone();
                args[k] = value;
                self.computed(op, args, result)
            };
            let (x, y) = (one(x)?, one(y)?);
            return self.chosen(mask, x, y, self.function.kind(result));
        }
        let known: Option<Vec<&Datum>> = args
            .iter()
            .map(|value| match value {
                BatchValue::Known(datum) => Some(datum),
                _ => None,
            })
            .collect();
        if let Some(known) = known {
            return op.eval(&known).map(BatchValue::Known);
        }
        match (op, &args[..]) {
            (ScalarOperator::IntToIndex, &[BatchValue::Int(low, high, index)]) => {
                u32::try_from(low).ok()?;
                u32::try_from(high).ok()?;
                debug_assert!(self.function.ty(result).dtype == DType::U32);
                Some(BatchValue::Each(
                    index.filter(|&id| self.dtype(id) == Some(DType::U32))?,
                ))
            }
            (ScalarOperator::IntToFloat, [x @ BatchValue::Int(..)]) => self.float(x),
            (ScalarOperator::IntToBool, [x @ BatchValue::Int(..)]) => {
                let zero = BatchValue::Known(Datum::Int(0));
                let not_zero = ScalarOperator::CompareInt(Comparison::NotEqual);
                self.computed(not_zero, vec![x.clone(), zero], result)
            }
            (ScalarOperator::CompareInt(comparison), [x, y]) => {
                match compared(comparison, range(x)?, range(y)?) {
                    Some(holds) => Some(BatchValue::Known(holds.into())),
                    None => {
                        let args = [self.float(x)?, self.float(y)?];
                        self.compared_numbers(comparison, &args, &Type::scalar(DType::F64))
                    }
                }
            }
            _ => None,
        }
    }

    /// An integer as the float64 number that is it.
    fn float(&self, value: &BatchValue) -> Option<BatchValue> {
        match value {
            BatchValue::Known(Datum::Int(k)) if i32::try_from(*k).is_ok() => Some(
                BatchValue::Known(Array::scalar(DType::F64, *k as f64).into()),
            ),
            BatchValue::Int(.., Some(id)) => {
                Some(BatchValue::Each(self.as_dtype(*id, DType::F64)?))
            }
            _ => None,
        }
    }
}

/// The least and the largest integer that a value is.
fn range(value: &BatchValue) -> Option<(i64, i64)> {
    match value {
        BatchValue::Known(Datum::Int(k)) => Some((*k, *k)),
        BatchValue::Int(low, high, _) => Some((*low, *high)),
        _ => None,
    }
}

/// Whether a comparison holds of all integers in two ranges, or of none; `None` if of some.
fn compared(comparison: Comparison, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<bool> {
    let less = match (b < c, a >= d) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let greater = match (a > d, b <= c) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let equal = match (a == b && c == d && a == c, b < c || a > d) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    match comparison {
        Comparison::Less => less,
        Comparison::GreaterEqual => less.map(|holds| !holds),
        Comparison::Greater => greater,
        Comparison::LessEqual => greater.map(|holds| !holds),
        Comparison::Equal => equal,
        Comparison::NotEqual => equal.map(|holds| !holds),
    }
}

/// The least and the largest of some integers.
///
/// # Panics
/// If the array holds something else.
pub fn range_of(indices: &Array) -> Option<(i64, i64)> {
    let view = indices.view();
    let indices = view.indices();
    let (low, high) = (indices.iter().min()?, indices.iter().max()?);
    Some((i64::from(*low), i64::from(*high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is said of two ranges holds for all pairs of integers in them.
        #[test]
        fn ranges_compare_as_their_integers(
            a in -4i64..5, b in 0i64..4, c in -4i64..5, d in 0i64..4,
        ) {
            let (b, d) = (a + b, c + d);
            for comparison in Comparison::ALL {
                let pairs = (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y)));
                let held: Vec<bool> = pairs.map(|(x, y)| comparison.holds(x, y)).collect();
                let all = held.iter().all(|&h| h).then_some(true);
                let none = held.iter().all(|&h| !h).then_some(false);
                prop_assert_eq!(compared(comparison, (a, b), (c, d)), all.or(none));
            }
        }
    }
}
