//! Operators of the rule table on single numbers, as machine code.
//!
//! Those that are an instruction or a few are written here, by the formula of their scalar function.
//! Any other elementwise operator is a call of that function. Either way the result has the bits that the
//! kernel gives for one element (`elementwise_operators_have_the_bits_of_their_kernels` compares); of a
//! NaN, sign and payload may be others. Operators that move elements about leave a single number as it is.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32, F64, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::array::DType;
use crate::exec::native::translate::Translator;
use crate::exec::native::unsupported::{Translated, Unsupported};
use crate::exec::native::word::Word;
use crate::ir::ValueId;
use crate::rules::{
    Abs, Add, BroadcastLike, Cast, Ceil, Cos, Div, ElementFunction, Equal, Floor, Greater,
    GreaterEqual, Internal, Less, LessEqual, Maximum, Minimum, Mul, Neg, NotEqual, Operator,
    Positive, Reciprocal, Relu, Rint, ScalarFunction, Sign, Sin, Sqrt, Square, Sub, Trunc, Where,
    is_one_of,
};

/// Estimated nanoseconds of a function with a vectorised form.
const SHORT_CALL: i64 = 20;

/// Estimated nanoseconds of a special function; some take more, and signals are then polled later.
const LONG_CALL: i64 = 200;

#[expect(
    improper_ctypes_definitions,
    reason = "a pointer is passed as any other"
)]
extern "C" fn one(f: fn(f64) -> f64, x: f64) -> f64 {
    f(x)
}

#[expect(
    improper_ctypes_definitions,
    reason = "a pointer is passed as any other"
)]
extern "C" fn two(f: fn(f64, f64) -> f64, x: f64, y: f64) -> f64 {
    f(x, y)
}

#[expect(
    improper_ctypes_definitions,
    reason = "a pointer is passed as any other"
)]
extern "C" fn ordered(f: fn(i32, f64) -> f64, n: i32, x: f64) -> f64 {
    f(n, x)
}

#[expect(
    improper_ctypes_definitions,
    reason = "a pointer is passed as any other"
)]
extern "C" fn ordered_two(f: fn(i32, f64, f64) -> f64, n: i32, x: f64, y: f64) -> f64 {
    f(n, x, y)
}

impl Translator<'_> {
    /// Writes an operator whose operands and result are single numbers: its value, and what it is
    /// estimated to cost in nanoseconds.
    pub(in crate::exec::native) fn apply(
        &mut self,
        op: &dyn Operator,
        args: &[ValueId],
        result: ValueId,
    ) -> Translated<(Value, i64)> {
        apply(self, op, args, result)
    }
}

fn apply(
    to: &mut Translator<'_>,
    op: &dyn Operator,
    args: &[ValueId],
    result: ValueId,
) -> Translated<(Value, i64)> {
    let words = args.iter().map(|&id| to.word(id));
    let words: Vec<Word> = words.collect::<Translated<_>>()?;
    let values = args.iter().map(|&id| to.read(id));
    let values: Vec<Value> = values.collect::<Translated<_>>()?;
    let result = to.word(result)?;
    if let Some((definition, n)) = op.definition(Internal) {
        let dtype = result.real().ok_or(Unsupported("an index computed"))?;
        if words.iter().any(|&word| word != result) {
            return Err(Unsupported("operands of several types"));
        }
        if let Some(value) = inline(to, op, &values, result) {
            return Ok((value, 1));
        }
        let is_sine = op.downcast::<Sin>().is_some();
        if result == Word::F64 && (is_sine || op.downcast::<Cos>().is_some()) {
            return Ok((to.angle(args[0], values[0], is_sine), SHORT_CALL));
        }
        let single = definition.single(n, dtype, values.len());
        let single = single.ok_or(Unsupported("an operator of other operands"))?;
        return Ok(call(to, single, &values, result));
    }
    // What moves elements about, or adds them up, of one number.
    let moves = is_one_of!(op: Identity, StopGradient);
    let broadcasts = op.downcast::<BroadcastLike>();
    let reshapes =
        is_one_of!(op: ReshapeLike, ShapedLike, SumTo) || broadcasts.is_some_and(|op| op.core == 0);
    match (values.as_slice(), op.downcast::<Cast>()) {
        _ if result.real().is_none() => Err(Unsupported("an operator that gives no number")),
        (&[x], Some(cast)) => Ok((converted(to, x, words[0], cast.dtype)?, 1)),
        (&[x], None) if moves => Ok((x, 0)),
        (&[x, _], None) if reshapes => Ok((x, 0)),
        _ => Err(Unsupported("an operator without a function of numbers")),
    }
}

/// A number as another floating-point type.
fn converted(to: &mut Translator<'_>, x: Value, from: Word, dtype: DType) -> Translated<Value> {
    Ok(match (from, dtype) {
        (Word::F32, DType::F32) | (Word::F64, DType::F64) => x,
        (Word::F32, DType::F64) => to.cursor.ins().fpromote(F64, x),
        (Word::F64, DType::F32) => to.cursor.ins().fdemote(F32, x),
        _ => return Err(Unsupported("a conversion of what is no number")),
    })
}

/// Calls the function of an operator.
fn call(
    to: &mut Translator<'_>,
    single: ElementFunction,
    values: &[Value],
    word: Word,
) -> (Value, i64) {
    let function = match single {
        ElementFunction::Address(address) => {
            let call = to.call(address, values, &[word.ty()]);
            return (to.result_of(call), SHORT_CALL);
        }
        ElementFunction::Function(function) => function,
    };
    let order = |to: &mut Translator<'_>, n: i32| {
        let narrow = i64::from(n);
        to.cursor
            .ins()
            .iconst(cranelift_codegen::ir::types::I32, narrow)
    };
    let pointer = |to: &mut Translator<'_>, f: usize| to.cursor.ins().iconst(I64, f as i64);
    let (address, mut operands) = match function {
        ScalarFunction::One(f) => (one as *const () as usize, vec![pointer(to, f as usize)]),
        ScalarFunction::Two(f) => (two as *const () as usize, vec![pointer(to, f as usize)]),
        ScalarFunction::Ordered(f, n) => (
            ordered as *const () as usize,
            vec![pointer(to, f as usize), order(to, n)],
        ),
        ScalarFunction::OrderedTwo(f, n) => (
            ordered_two as *const () as usize,
            vec![pointer(to, f as usize), order(to, n)],
        ),
    };
    // Single precision goes through double, as in the kernel.
    for &x in values {
        operands.push(match word {
            Word::F32 => to.cursor.ins().fpromote(F64, x),
            _ => x,
        });
    }
    let call = to.call(address, &operands, &[F64]);
    let value = to.result_of(call);
    let value = match word {
        Word::F32 => to.cursor.ins().fdemote(F32, value),
        _ => value,
    };
    (value, LONG_CALL)
}

/// The number `x`.
fn number(to: &mut Translator<'_>, word: Word, x: f64) -> Value {
    match word {
        Word::F32 => to.cursor.ins().f32const(x as f32),
        _ => to.cursor.ins().f64const(x),
    }
}

/// Writes an operator that is a few instructions.
fn inline(
    to: &mut Translator<'_>,
    op: &dyn Operator,
    values: &[Value],
    word: Word,
) -> Option<Value> {
    match *values {
        [x] => of_one(to, op, x, word),
        [x, y] => of_two(to, op, x, y, word),
        [mask, x, y] if op.downcast::<Where>().is_some() => {
            let zero = to.zero(word);
            let chosen = to.cursor.ins().fcmp(FloatCC::NotEqual, mask, zero);
            Some(to.cursor.ins().select(chosen, x, y))
        }
        _ => None,
    }
}

/// The first of these types that an operator is of, with what stands beside it.
macro_rules! by_type {
    ($op:expr; $($type:ident => $value:expr),+ $(,)?) => {
        $(if $op.downcast::<$type>().is_some() { Some($value) } else)+ { None }
    };
}

fn of_one(to: &mut Translator<'_>, op: &dyn Operator, x: Value, word: Word) -> Option<Value> {
    by_type! { op;
        Neg => to.cursor.ins().fneg(x),
        Abs => to.cursor.ins().fabs(x),
        Sqrt => to.cursor.ins().sqrt(x),
        Square => to.cursor.ins().fmul(x, x),
        Positive => x,
        Floor => to.cursor.ins().floor(x),
        Ceil => to.cursor.ins().ceil(x),
        Trunc => to.cursor.ins().trunc(x),
        Rint => to.cursor.ins().nearest(x),
        Reciprocal => {
            let one = number(to, word, 1.0);
            to.cursor.ins().fdiv(one, x)
        },
        Sign => {
            // -0.0 becomes 0.0, and NaN stays.
            let (zero, one) = (to.zero(word), number(to, word, 1.0));
            let less = number(to, word, -1.0);
            let rest = to.cursor.ins().fadd(x, zero);
            let negative = to.cursor.ins().fcmp(FloatCC::LessThan, x, zero);
            let rest = to.cursor.ins().select(negative, less, rest);
            let positive = to.cursor.ins().fcmp(FloatCC::GreaterThan, x, zero);
            to.cursor.ins().select(positive, one, rest)
        },
        Relu => {
            let zero = to.zero(word);
            first_if(to, FloatCC::GreaterThan, x, zero)
        },
    }
}

fn of_two(
    to: &mut Translator<'_>,
    op: &dyn Operator,
    x: Value,
    y: Value,
    word: Word,
) -> Option<Value> {
    let arithmetic = by_type! { op;
        Add => to.cursor.ins().fadd(x, y),
        Sub => to.cursor.ins().fsub(x, y),
        Mul => to.cursor.ins().fmul(x, y),
        Div => to.cursor.ins().fdiv(x, y),
        Maximum => first_if(to, FloatCC::GreaterThan, x, y),
        Minimum => first_if(to, FloatCC::LessThan, x, y),
    };
    if arithmetic.is_some() {
        return arithmetic;
    }
    let how = by_type! { op;
        Greater => FloatCC::GreaterThan,
        GreaterEqual => FloatCC::GreaterThanOrEqual,
        Less => FloatCC::LessThan,
        LessEqual => FloatCC::LessThanOrEqual,
        Equal => FloatCC::Equal,
        NotEqual => FloatCC::NotEqual,
    }?;
    let holds = to.cursor.ins().fcmp(how, x, y);
    let (one, zero) = (number(to, word, 1.0), to.zero(word));
    Some(to.cursor.ins().select(holds, one, zero))
}

/// `x` if it compares so with `y` or is NaN, else `y`.
fn first_if(to: &mut Translator<'_>, how: FloatCC, x: Value, y: Value) -> Value {
    let wins = to.cursor.ins().fcmp(how, x, y);
    let nan = to.cursor.ins().fcmp(FloatCC::Unordered, x, x);
    let first = to.cursor.ins().bor(wins, nan);
    to.cursor.ins().select(first, x, y)
}
