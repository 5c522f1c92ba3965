//! Values that machine code has in registers: truth, integers, single numbers and indices.
//!
//! In memory each takes a slot of 8 bytes, of which it fills the lower ones: arguments, results, and
//! the records of tapes.

use cranelift_codegen::ir::Type;
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64};

use crate::array::{Array, DType};
use crate::ir::{Datum, ValueKind};

/// A slot of 8 bytes. Those of arguments, results and operands are initialised as a whole; of a tape's
/// only the bytes are that a value fills, and only these are read.
pub(crate) type RawSlot = u64;

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// 0 or 1, in 8 bits.
    Bool,
    /// An integer of 64 bits.
    Int,
    /// A number of double precision.
    F64,
    /// A number of single precision.
    F32,
    /// An index, in 32 bits.
    U32,
}

impl Word {
    /// What holds a value of a kind; `None` for arrays with axes.
    pub(super) fn of(kind: &ValueKind) -> Option<Self> {
        match kind {
            ValueKind::Bool => Some(Word::Bool),
            ValueKind::Int => Some(Word::Int),
            ValueKind::Array(_) => kind.as_number().map(|dtype| match dtype {
                DType::F64 => Word::F64,
                DType::F32 => Word::F32,
                DType::U32 => Word::U32,
            }),
        }
    }

    /// Its type in Cranelift's words.
    pub(super) fn ty(self) -> Type {
        match self {
            Word::Bool => I8,
            Word::Int => I64,
            Word::F64 => F64,
            Word::F32 => F32,
            Word::U32 => I32,
        }
    }

    /// The element type of a floating-point number.
    pub(super) fn real(self) -> Option<DType> {
        match self {
            Word::F64 => Some(DType::F64),
            Word::F32 => Some(DType::F32),
            Word::Bool | Word::Int | Word::U32 => None,
        }
    }

    /// The element type of a number that operators of the rule table take.
    pub(super) fn dtype(self) -> Option<DType> {
        match self {
            Word::U32 => Some(DType::U32),
            other => other.real(),
        }
    }

    /// A value as a slot; `None` if it is of another kind.
    pub(super) fn slot(self, value: &Datum) -> Option<RawSlot> {
        match (self, value) {
            (Word::Bool, Datum::Bool(b)) => Some(RawSlot::from(*b)),
            (Word::Int, Datum::Int(i)) => Some(*i as RawSlot),
            (Word::F64, Datum::Array(Array::F64(a))) => match (a.shape(), a.as_slice()) {
                ([], [x]) => Some(x.to_bits()),
                _ => None,
            },
            (Word::F32, Datum::Array(Array::F32(a))) => match (a.shape(), a.as_slice()) {
                ([], [x]) => Some(RawSlot::from(x.to_bits())),
                _ => None,
            },
            (Word::U32, Datum::Array(Array::U32(a))) => match (a.shape(), a.as_slice()) {
                ([], [x]) => Some(RawSlot::from(*x)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value in a slot.
    pub(super) fn datum(self, slot: RawSlot) -> Datum {
        match self {
            Word::Bool => Datum::Bool(slot & 1 == 1),
            Word::Int => Datum::Int(slot as i64),
            Word::F64 => Array::from(f64::from_bits(slot)).into(),
            Word::F32 => Array::from(f32::from_bits(slot as u32)).into(),
            Word::U32 => Array::from(slot as u32).into(),
        }
    }
}
