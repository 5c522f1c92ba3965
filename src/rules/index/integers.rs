//! Integers that are computed: between indices, which address rows, and numbers, which are
//! calculated with.
//!
//! Indices are 32 bits wide and never negative, and arithmetic is for floats, which hold every
//! integer up to 2^53. So `argmax(x) - 1` is computed in float64 and marked as integers by
//! [`AsInteger`], and becomes indices again where it looks something up ([`ToIndex`]), which counts
//! negative ones from the end and compares all with the length. Nothing wraps around: what is no
//! integer, or too large to be exact, is an error. No gradient passes through any of them.

use crate::array::{DType, SliceMut, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::rules::{Argument, Case, Entry, Ex, Form, Key, OpRef, Operator, arity, real};

use super::lookup::index;

/// The largest magnitude below which float64 holds every integer: 2^53.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Indices as numbers of type float64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FromIndex;

impl Operator for FromIndex {
    fn name(&self) -> &str {
        "from_index"
    }

    fn form(&self) -> Form {
        Form::Integers
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("from_index", args)?;
        index("from_index", x)?;
        Ok(Type::new(DType::F64, &x.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let out = f64::slice_mut(&mut out.data);
        for (o, &i) in out.iter_mut().zip(args[0].indices()) {
            *o = f64::from(i);
        }
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// Numbers as integers, rounded towards zero, in float64: the result of arithmetic on integers,
/// and of `astype(int)`. NaN and what is not below 2^53 are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AsInteger;

impl Operator for AsInteger {
    fn name(&self) -> &str {
        "whole"
    }

    fn form(&self) -> Form {
        Form::Integers
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("whole", args)?;
        real("whole", x)?;
        Ok(Type::new(DType::F64, &x.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        use crate::array::Real;
        let out = f64::slice_mut(&mut out.data);
        with_real!(args[0].data.dtype(), T => {
            for (o, &x) in out.iter_mut().zip(args[0].real::<T>()) {
                let x = x.to();
                // Written so that NaN is refused.
                let fits = x.abs() < LARGEST;
                if !fits {
                    return Err(Error::Value(format!(
                        "integers: {x} is none, or too large to be exact (2^53 or more)"
                    )));
                }
                // Integers have no -0.0, of which the reciprocal has another sign.
                *o = x.trunc() + 0.0;
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// The integers of operand 0 as indices along an axis of operand 1: negative ones count from its
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToIndex {
    /// The axis.
    pub axis: usize,
}

impl Operator for ToIndex {
    fn name(&self) -> &str {
        "to_index"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, like] = arity::<2>("to_index", args)?;
        real("to_index", x)?;
        if self.axis >= like.ndim() {
            return Err(Error::Index(format!(
                "too many indices for an array of shape {}",
                show_shape(&like.shape)
            )));
        }
        Ok(Type::new(DType::U32, &x.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        use crate::array::Real;
        let n = args[1].shape[self.axis];
        let SliceMut::U32(out) = &mut out.data else {
            return Ok(());
        };
        with_real!(args[0].data.dtype(), T => {
            for (at, (o, &x)) in out.iter_mut().zip(args[0].real::<T>()).enumerate() {
                let x = x.to();
                let place = if x < 0.0 { x + n as f64 } else { x };
                // Written so that NaN is refused.
                let fits = place >= 0.0 && place < n as f64 && place.fract() == 0.0;
                let fits = fits && place <= f64::from(u32::MAX);
                if !fits {
                    return Err(Error::Index(format!(
                        "index {x} at position {at} is out of range for {n} rows"
                    )));
                }
                *o = place as u32;
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }

    fn reads(&self, i: usize) -> bool {
        i == 0
    }
}

/// Integers, which the tests do not move.
const WHOLE: &[(f64, f64)] = &[(2.0, 2.0), (-1.0, -1.0), (0.0, 0.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "from_index",
        formula: "indices, as numbers",
        source: "definition",
        reference: None,
        internal: Some("what arithmetic on indices is computed of"),
        cases: || {
            let case = |shape: &[usize]| {
                Case::new(OpRef::Static(&FromIndex), vec![Argument::index(shape, 7)])
            };
            vec![case(&[2, 3]), case(&[])]
        },
    },
    Entry {
        name: "whole",
        formula: "x, rounded towards 0",
        source: "definition",
        reference: None,
        internal: Some("marks the results of arithmetic on integers, and of astype(int)"),
        cases: || {
            let case = |shape: &[usize]| {
                Case::new(
                    OpRef::Static(&AsInteger),
                    vec![Argument::real(shape, WHOLE)],
                )
            };
            vec![case(&[2, 3]), case(&[])]
        },
    },
    Entry {
        name: "to_index",
        formula: "integers, as indices",
        source: "definition",
        reference: None,
        internal: Some("looks up rows by integers that were computed"),
        cases: || {
            let args = vec![Argument::real(&[2, 3], WHOLE), Argument::shape_only(&[4])];
            vec![Case::new(OpRef::new(ToIndex { axis: 0 }), args)]
        },
    },
];
