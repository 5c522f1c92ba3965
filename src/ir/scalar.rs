//! Operators on integers and truth, comparisons of numbers, and conversions: what control flow is
//! decided by, and what has no gradient.
//!
//! They follow Python: division and remainder round to minus infinity, shifts count bits of an
//! integer of any size. Integers are of 64 bits, so an operator whose result does not fit fails, and
//! the run ends there, at an exit. It fails as well where Python raises.

use std::fmt;

use super::kind::{Datum, ValueKind};
use crate::array::{Array, DType, Type};

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Comparison; 6] = [
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
    ];

    /// Whether two values compare so.
    pub fn holds<T: PartialOrd>(self, x: T, y: T) -> bool {
        match self {
            Comparison::Less => x < y,
            Comparison::LessEqual => x <= y,
            Comparison::Equal => x == y,
            Comparison::NotEqual => x != y,
            Comparison::Greater => x > y,
            Comparison::GreaterEqual => x >= y,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Comparison::Less => "less",
            Comparison::LessEqual => "less_equal",
            Comparison::Equal => "equal",
            Comparison::NotEqual => "not_equal",
            Comparison::Greater => "greater",
            Comparison::GreaterEqual => "greater_equal",
        }
    }
}

/// What a scalar operator takes or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    /// True or false.
    Bool,
    /// An integer.
    Int,
    /// One floating-point number.
    Number,
    /// One index.
    Index,
    /// An array of any type and any number of axes.
    Array,
    /// An array of indices with one axis.
    Indices,
}

impl fmt::Display for ScalarKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScalarKind::Bool => "bool",
            ScalarKind::Int => "int",
            ScalarKind::Number => "a number",
            ScalarKind::Index => "an index",
            ScalarKind::Array => "an array",
            ScalarKind::Indices => "indices",
        })
    }
}

impl ScalarKind {
    /// Whether a value of this kind is meant.
    pub fn accepts(self, kind: &ValueKind) -> bool {
        match self {
            ScalarKind::Bool => *kind == ValueKind::Bool,
            ScalarKind::Int => *kind == ValueKind::Int,
            ScalarKind::Number => kind.as_number().is_some_and(DType::is_real),
            ScalarKind::Index => kind.as_number() == Some(DType::U32),
            ScalarKind::Array => kind.array().is_some(),
            ScalarKind::Indices => kind
                .array()
                .is_some_and(|ty| ty.dtype == DType::U32 && ty.ndim() == 1),
        }
    }
}

/// An operator on integers, truth and single numbers. See the [module documentation](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarOperator {
    /// Sum of two integers.
    IntAdd,
    /// Difference of two integers.
    IntSub,
    /// Product of two integers.
    IntMul,
    /// Negated integer.
    IntNeg,
    /// Absolute value of an integer.
    IntAbs,
    /// Quotient of two integers, rounded to minus infinity. Fails for a divisor of 0.
    IntFloorDiv,
    /// What floor division leaves, with the sign of the divisor. Fails for a divisor of 0.
    IntMod,
    /// Integer to the power of another. Fails for a negative exponent.
    IntPow,
    /// Bits that both integers have.
    IntAnd,
    /// Bits that either integer has.
    IntOr,
    /// Bits that one of two integers has.
    IntXor,
    /// `-1 - x`.
    IntInvert,
    /// Integer times a power of two. Fails for a negative exponent.
    IntShiftLeft,
    /// Integer divided by a power of two, rounded to minus infinity. Fails for a negative exponent.
    IntShiftRight,
    /// Comparison of two integers.
    CompareInt(Comparison),
    /// Comparison of two numbers of one type; NaN as IEEE 754 has it.
    CompareNumber(Comparison),
    /// Whether both are true.
    BoolAnd,
    /// Whether one is true.
    BoolOr,
    /// Whether exactly one is true.
    BoolXor,
    /// Whether it is false.
    BoolNot,
    /// Whether both are the same.
    BoolEqual,
    /// The float64 number next to an integer.
    IntToFloat,
    /// A number without its fraction. Fails for NaN, and where the result does not fit.
    FloatToInt,
    /// The largest integer that is not above a number. Fails as `FloatToInt`.
    Floor,
    /// The smallest integer that is not below a number. Fails as `FloatToInt`.
    Ceil,
    /// The integer next to a number, the even one of two. Fails as `FloatToInt`.
    Round,
    /// 1 for true, 0 for false.
    BoolToInt,
    /// Whether an integer is not 0.
    IntToBool,
    /// Whether a number is not 0; NaN is not.
    FloatToBool,
    /// An integer as an index. Fails for a negative one and from 2^32 on.
    IntToIndex,
    /// An index as an integer.
    IndexToInt,
    /// The integer whose 32 bits an index has, from -2^31 to 2^31 - 1: what an array of integers holds.
    IndexToSigned,
    /// The length of an axis of an array. Fails if there is no such axis.
    Length(u8),
    /// As many indices as operand 1, one after the other from operand 0 on, with operand 2 in the place
    /// of those above it: by them an array is cut, or made longer, to a length that is computed. The
    /// number is how many were seen when the function was built. Fails for an index below 0 or from 2^32
    /// on, for a negative count, and if there is no memory.
    Rows(u32),
}

use ScalarKind as K;
use ScalarOperator as S;

/// An integer between these, as f64, fits 64 bits: the upper one does not.
const LIMITS: (f64, f64) = (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0);

/// A number without fraction as an integer.
fn exact(x: f64) -> Option<i64> {
    (x >= LIMITS.0 && x < LIMITS.1).then_some(x as i64)
}

fn floor_div(x: i64, y: i64) -> Option<i64> {
    let quotient = x.checked_div(y)?;
    let inexact = x.wrapping_rem(y) != 0;
    Some(quotient - i64::from(inexact && (x < 0) != (y < 0)))
}

fn floor_mod(x: i64, y: i64) -> Option<i64> {
    if y == 0 {
        return None;
    }
    let rest = x.wrapping_rem(y);
    let other_sign = rest != 0 && (rest < 0) != (y < 0);
    Some(if other_sign { rest + y } else { rest })
}

fn shift_left(x: i64, by: i64) -> Option<i64> {
    if by < 0 {
        return None;
    }
    if x == 0 {
        return Some(0);
    }
    let factor = 1i64.checked_shl(u32::try_from(by).ok()?)?;
    // The factor of 63 bits is negative, and only -1 times it fits.
    if factor < 0 {
        return (x == -1).then_some(i64::MIN);
    }
    x.checked_mul(factor)
}

fn shift_right(x: i64, by: i64) -> Option<i64> {
    (by >= 0).then(|| x >> by.min(63))
}

/// So many indices from `first` on, none above `last`.
pub(crate) fn rows(first: i64, count: i64, last: i64) -> Option<Array> {
    let count = u32::try_from(count).ok()?;
    let mut found: Vec<u32> = Vec::new();
    found.try_reserve_exact(count as usize).ok()?;
    if count > 0 {
        let (first, last) = (u32::try_from(first).ok()?, u32::try_from(last).ok()?);
        first.checked_add(count - 1)?;
        found.extend((0..count).map(|k| (first + k).min(last)));
    }
    Some(found.into())
}

impl ScalarOperator {
    /// The kinds of the operands and of the result. A number may be of either floating-point type,
    /// two are of one; the number of [`IntToFloat`](Self::IntToFloat) is float64.
    pub fn signature(self) -> (&'static [ScalarKind], ScalarKind) {
        match self {
            S::IntAdd
            | S::IntSub
            | S::IntMul
            | S::IntFloorDiv
            | S::IntMod
            | S::IntPow
            | S::IntAnd
            | S::IntOr
            | S::IntXor
            | S::IntShiftLeft
            | S::IntShiftRight => (&[K::Int, K::Int], K::Int),
            S::IntNeg | S::IntAbs | S::IntInvert => (&[K::Int], K::Int),
            S::CompareInt(_) => (&[K::Int, K::Int], K::Bool),
            S::CompareNumber(_) => (&[K::Number, K::Number], K::Bool),
            S::BoolAnd | S::BoolOr | S::BoolXor | S::BoolEqual => (&[K::Bool, K::Bool], K::Bool),
            S::BoolNot => (&[K::Bool], K::Bool),
            S::IntToFloat => (&[K::Int], K::Number),
            S::FloatToInt | S::Floor | S::Ceil | S::Round => (&[K::Number], K::Int),
            S::BoolToInt => (&[K::Bool], K::Int),
            S::IntToBool => (&[K::Int], K::Bool),
            S::FloatToBool => (&[K::Number], K::Bool),
            S::IntToIndex => (&[K::Int], K::Index),
            S::IndexToInt | S::IndexToSigned => (&[K::Index], K::Int),
            S::Length(_) => (&[K::Array], K::Int),
            S::Rows(_) => (&[K::Int, K::Int, K::Int], K::Indices),
        }
    }

    /// The kind of the result for operands of these kinds; `None` if they do not fit.
    pub fn result(self, args: &[&ValueKind]) -> Option<ValueKind> {
        let (operands, result) = self.signature();
        let fits = operands.len() == args.len()
            && operands.iter().zip(args).all(|(k, arg)| k.accepts(arg));
        let same = !matches!(self, S::CompareNumber(_))
            || args.windows(2).all(|pair| pair[0].accepts(pair[1]));
        (fits && same).then_some(match result {
            K::Bool => ValueKind::Bool,
            K::Int => ValueKind::Int,
            K::Index => ValueKind::number(DType::U32),
            K::Number | K::Array => ValueKind::number(DType::F64),
            K::Indices => match self {
                S::Rows(seen) => Type::new(DType::U32, &[seen as usize]).into(),
                _ => return None,
            },
        })
    }

    /// Whether there are operands for which there is no result.
    pub fn can_fail(self) -> bool {
        matches!(
            self,
            S::IntAdd
                | S::IntSub
                | S::IntMul
                | S::IntNeg
                | S::IntAbs
                | S::IntFloorDiv
                | S::IntMod
                | S::IntPow
                | S::IntShiftLeft
                | S::IntShiftRight
                | S::FloatToInt
                | S::Floor
                | S::Ceil
                | S::Round
                | S::IntToIndex
                | S::Length(_)
                | S::Rows(_)
        )
    }

    /// All operators that give one number, for tables and tests; of lengths the first axis.
    pub fn all() -> impl Iterator<Item = ScalarOperator> {
        let plain = [
            S::IntAdd,
            S::IntSub,
            S::IntMul,
            S::IntNeg,
            S::IntAbs,
            S::IntFloorDiv,
            S::IntMod,
            S::IntPow,
            S::IntAnd,
            S::IntOr,
            S::IntXor,
            S::IntInvert,
            S::IntShiftLeft,
            S::IntShiftRight,
            S::BoolAnd,
            S::BoolOr,
            S::BoolXor,
            S::BoolNot,
            S::BoolEqual,
            S::IntToFloat,
            S::FloatToInt,
            S::Floor,
            S::Ceil,
            S::Round,
            S::BoolToInt,
            S::IntToBool,
            S::FloatToBool,
            S::IntToIndex,
            S::IndexToInt,
            S::IndexToSigned,
            S::Length(0),
        ];
        let compare = Comparison::ALL.into_iter();
        let numbers = compare.clone().map(S::CompareNumber);
        plain
            .into_iter()
            .chain(compare.map(S::CompareInt))
            .chain(numbers)
    }

    /// The name, as it is printed and as [`named`](Self::named) takes it.
    pub fn name(self) -> String {
        let name = match self {
            S::CompareInt(c) => return format!("{}_int", c.name()),
            S::CompareNumber(c) => return format!("{}_number", c.name()),
            S::Length(axis) => return format!("length{axis}"),
            S::Rows(seen) => return format!("rows{seen}"),
            S::IntAdd => "int_add",
            S::IntSub => "int_sub",
            S::IntMul => "int_mul",
            S::IntNeg => "int_neg",
            S::IntAbs => "int_abs",
            S::IntFloorDiv => "int_floor_div",
            S::IntMod => "int_mod",
            S::IntPow => "int_pow",
            S::IntAnd => "int_and",
            S::IntOr => "int_or",
            S::IntXor => "int_xor",
            S::IntInvert => "int_invert",
            S::IntShiftLeft => "int_shift_left",
            S::IntShiftRight => "int_shift_right",
            S::BoolAnd => "bool_and",
            S::BoolOr => "bool_or",
            S::BoolXor => "bool_xor",
            S::BoolNot => "bool_not",
            S::BoolEqual => "bool_equal",
            S::IntToFloat => "int_to_float",
            S::FloatToInt => "float_to_int",
            S::Floor => "floor_to_int",
            S::Ceil => "ceil_to_int",
            S::Round => "round_to_int",
            S::BoolToInt => "bool_to_int",
            S::IntToBool => "int_to_bool",
            S::FloatToBool => "float_to_bool",
            S::IntToIndex => "int_to_index",
            S::IndexToInt => "index_to_int",
            S::IndexToSigned => "index_to_signed",
        };
        name.to_owned()
    }

    /// The operator of a name.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(axis) = name.strip_prefix("length") {
            return axis.parse().ok().map(S::Length);
        }
        if let Some(seen) = name.strip_prefix("rows") {
            return seen.parse().ok().map(S::Rows);
        }
        Self::all().find(|op| op.name() == name)
    }

    /// The result; `None` if it fails, or the operands are of other kinds than it takes.
    pub fn eval(self, args: &[&Datum]) -> Option<Datum> {
        let int = |k: usize| match args.get(k)? {
            Datum::Int(i) => Some(*i),
            _ => None,
        };
        let truth = |k: usize| match args.get(k)? {
            Datum::Bool(b) => Some(*b),
            _ => None,
        };
        let array = |k: usize| args.get(k)?.array().ok();
        let number = |k: usize| array(k).filter(|a| a.shape().is_empty())?.item().ok();
        let ints = || Some((int(0)?, int(1)?));
        let truths = || Some((truth(0)?, truth(1)?));
        Some(match self {
            S::IntAdd => int(0)?.checked_add(int(1)?)?.into(),
            S::IntSub => int(0)?.checked_sub(int(1)?)?.into(),
            S::IntMul => int(0)?.checked_mul(int(1)?)?.into(),
            S::IntNeg => int(0)?.checked_neg()?.into(),
            S::IntAbs => int(0)?.checked_abs()?.into(),
            S::IntFloorDiv => ints().and_then(|(x, y)| floor_div(x, y))?.into(),
            S::IntMod => ints().and_then(|(x, y)| floor_mod(x, y))?.into(),
            S::IntPow => {
                let (x, y) = ints()?;
                match (x, u32::try_from(y)) {
                    (_, Ok(n)) => x.checked_pow(n)?.into(),
                    (0 | 1, _) if y > 0 => x.into(),
                    (-1, _) if y > 0 => (1 - 2 * (y & 1)).into(),
                    _ => return None,
                }
            }
            S::IntAnd => ints().map(|(x, y)| x & y)?.into(),
            S::IntOr => ints().map(|(x, y)| x | y)?.into(),
            S::IntXor => ints().map(|(x, y)| x ^ y)?.into(),
            S::IntInvert => (!int(0)?).into(),
            S::IntShiftLeft => ints().and_then(|(x, y)| shift_left(x, y))?.into(),
            S::IntShiftRight => ints().and_then(|(x, y)| shift_right(x, y))?.into(),
            S::CompareInt(c) => ints().map(|(x, y)| c.holds(x, y))?.into(),
            S::CompareNumber(c) => c.holds(number(0)?, number(1)?).into(),
            S::BoolAnd => truths().map(|(x, y)| x & y)?.into(),
            S::BoolOr => truths().map(|(x, y)| x | y)?.into(),
            S::BoolXor => truths().map(|(x, y)| x ^ y)?.into(),
            S::BoolNot => (!truth(0)?).into(),
            S::BoolEqual => truths().map(|(x, y)| x == y)?.into(),
            S::IntToFloat => (int(0)? as f64).into(),
            S::FloatToInt => exact(number(0)?.trunc())?.into(),
            S::Floor => exact(number(0)?.floor())?.into(),
            S::Ceil => exact(number(0)?.ceil())?.into(),
            S::Round => exact(number(0)?.round_ties_even())?.into(),
            S::BoolToInt => i64::from(truth(0)?).into(),
            S::IntToBool => (int(0)? != 0).into(),
            S::FloatToBool => (number(0)? != 0.0).into(),
            S::IntToIndex => Array::from(u32::try_from(int(0)?).ok()?).into(),
            S::IndexToInt => (number(0)? as i64).into(),
            S::IndexToSigned => i64::from(number(0)? as u32 as i32).into(),
            S::Length(axis) => {
                let length = *array(0)?.shape().get(usize::from(axis))?;
                i64::try_from(length).ok()?.into()
            }
            S::Rows(_) => rows(int(0)?, int(1)?, int(2)?)?.into(),
        })
    }
}

#[cfg(test)]
mod tests;
