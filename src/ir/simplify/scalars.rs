//! Exact identities of operators on integers and truth.
//!
//! An identity may take the place of an operator that can fail where it does not: `x * 0` is 0 for
//! all integers, and `x + 0` fits if `x` does.

use super::known::Known;
use crate::ir::function::ValueId;
use crate::ir::scalar::{Comparison, ScalarOperator as S};

/// What an operator's result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Same {
    /// The value that one operand is.
    Value(ValueId),
    /// This one.
    Constant(Known),
}

/// What `op` of some operands is, of which one or none is known, if it computes nothing.
/// `inverse` names, for a value that another operator made of one operand, these two.
pub(super) fn identity(
    op: S,
    args: &[ValueId],
    known: impl Fn(ValueId) -> Option<Known>,
    inverse: impl Fn(ValueId) -> Option<(S, ValueId)>,
) -> Option<Same> {
    let &x = args.first()?;
    let value = Some(Same::Value(x));
    let int = |i: i64| Some(Same::Constant(Known::Int(i)));
    let truth = |b: bool| Some(Same::Constant(Known::Bool(b)));
    let Some(&y) = args.get(1) else {
        let (made, of) = inverse(x)?;
        let undone = match op {
            S::BoolNot => S::BoolNot,
            S::IntNeg => S::IntNeg,
            S::IntInvert => S::IntInvert,
            S::IntToBool => S::BoolToInt,
            S::IndexToInt => S::IntToIndex,
            _ => return None,
        };
        return (made == undone).then_some(Same::Value(of));
    };
    if x == y {
        return match op {
            S::IntSub | S::IntXor => int(0),
            S::IntAnd | S::IntOr | S::BoolAnd | S::BoolOr => value,
            S::BoolXor => truth(false),
            S::BoolEqual => truth(true),
            S::CompareInt(c) => truth(c.holds(0, 0)),
            // Only NaN is not what it is.
            S::CompareNumber(Comparison::Less | Comparison::Greater) => truth(false),
            _ => None,
        };
    }
    // Operators that commute have what is known second.
    let (x, y) = match (known(x), known(y)) {
        (Some(k), None) if commutes(op) => (y, k),
        (_, Some(k)) => (x, k),
        _ => return None,
    };
    let value = Some(Same::Value(x));
    match (op, y) {
        (S::IntAdd | S::IntSub | S::IntOr | S::IntXor, Known::Int(0)) => value,
        (S::IntShiftLeft | S::IntShiftRight, Known::Int(0)) => value,
        (S::IntMul | S::IntFloorDiv | S::IntPow, Known::Int(1)) => value,
        (S::IntMul | S::IntAnd, Known::Int(0)) => int(0),
        (S::IntMod, Known::Int(1)) => int(0),
        (S::IntPow, Known::Int(0)) => int(1),
        (S::IntAnd, Known::Int(-1)) => value,
        (S::IntOr, Known::Int(-1)) => int(-1),
        (S::BoolAnd | S::BoolEqual, Known::Bool(true)) => value,
        (S::BoolOr | S::BoolXor, Known::Bool(false)) => value,
        (S::BoolAnd, Known::Bool(false)) => truth(false),
        (S::BoolOr, Known::Bool(true)) => truth(true),
        _ => None,
    }
}

/// Whether the operands may change places.
fn commutes(op: S) -> bool {
    matches!(
        op,
        S::IntAdd
            | S::IntMul
            | S::IntAnd
            | S::IntOr
            | S::IntXor
            | S::BoolAnd
            | S::BoolOr
            | S::BoolXor
            | S::BoolEqual
            | S::CompareInt(Comparison::Equal | Comparison::NotEqual)
            | S::CompareNumber(Comparison::Equal | Comparison::NotEqual)
    )
}

/// The same operation in the one form of several that it has: operands that commute in order, and
/// comparisons the one way round.
pub(super) fn in_order(op: S, args: &mut [ValueId]) -> S {
    let turned = |c| match c {
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        other => other,
    };
    let other = match op {
        S::CompareInt(c) => S::CompareInt(turned(c)),
        S::CompareNumber(c) => S::CompareNumber(turned(c)),
        other => other,
    };
    if other != op {
        args.reverse();
    } else if commutes(op) {
        args.sort_unstable();
    }
    other
}
