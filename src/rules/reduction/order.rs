//! Where things stand in order: indices that sort, those of the largest and smallest, and places in
//! what is sorted.
//!
//! The results are indices and have no gradient; what is looked up by them has. They are
//! operators all the same, so that a graph or program follows the order of whatever values it
//! is given. As in NumPy, equal elements keep their order (the sort is stable, the first of the
//! largest counts), NaN is sorted behind all numbers and is the largest and smallest.

use crate::array::{
    DType, Number, Real, Shape, Type, Typed, View, ViewMut, show_shape, vec_for, with_real,
};
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::order;
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real};

use super::lanes::{Lanes, SHAPES, has_axis};

/// Checks that the operand is of real type, has the axis, and is no longer along it than 32-bit
/// indices reach.
fn ordered(name: &str, args: &[&Type], axis: usize) -> Result<()> {
    let [x] = arity::<1>(name, args)?;
    real(name, x)?;
    has_axis(name, x, axis)?;
    if u32::try_from(x.shape[axis]).is_err() {
        return Err(Error::Shape(format!(
            "{name}: indices are 32 bits wide; axis {axis} of shape {} is longer",
            show_shape(&x.shape)
        )));
    }
    Ok(())
}

/// The indices that sort an array along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArgSort {
    /// The axis.
    pub axis: usize,
}

/// An integer for a number, in NumPy's order: zeros are equal, and NaN comes after all numbers.
fn rank(x: f64) -> u64 {
    match x.is_nan() {
        true => u64::MAX,
        // -0 + 0 is 0.
        false => order::of_number(x + 0.0),
    }
}

impl Operator for ArgSort {
    fn name(&self) -> &str {
        "argsort"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        ordered("argsort", args, self.axis)?;
        Ok(Type::new(DType::U32, &args[0].shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let lanes = Lanes::new(out.shape, self.axis);
        let (n, inner) = (lanes.length, lanes.inner);
        // Ranks stand beside their indices: looked up by these, most would be far away in memory. Equal
        // elements are ordered by index, so the result is stable; a stable sort would need memory.
        let mut ranked: Vec<(u64, u32)> = vec_for(&[n])?;
        let out = u32::slice_mut(&mut out.data);
        let mut poller = Poller::default();
        for number in 0..lanes.outer * inner {
            poller.step(n.saturating_mul(64))?;
            let start = number / inner * n * inner + number % inner;
            ranked.clear();
            with_real!(args[0].data.dtype(), T => {
                let x = args[0].real::<T>();
                let element = |k: u32| (rank(x[start + k as usize * inner].to()), k);
                ranked.extend((0..n as u32).map(element));
            });
            ranked.sort_unstable();
            for (k, &(_, i)) in ranked.iter().enumerate() {
                out[start + k * inner] = i;
            }
        }
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// Writes for each lane the first index whose element no other wins over.
fn first<T: Number>(x: &View<'_>, axis: usize, out: &mut [u32], wins: fn(T, T) -> bool) {
    let Lanes { length, inner, .. } = Lanes::new(x.shape, axis);
    let x = x.real::<T>();
    for (number, o) in out.iter_mut().enumerate() {
        let start = number / inner * length * inner + number % inner;
        let mut best = 0;
        for k in 1..length {
            let (a, b) = (x[start + best * inner], x[start + k * inner]);
            if !a.is_nan() && (wins(b, a) || b.is_nan()) {
                best = k;
            }
        }
        *o = best as u32;
    }
}

macro_rules! arg_extreme {
    ($(#[$doc:meta])* $op:ident, $name:literal, $wins:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $op {
            /// The axis.
            pub axis: usize,
            /// Keep it with length 1.
            pub keepdims: bool,
        }

        impl Operator for $op {
            fn name(&self) -> &str {
                $name
            }

            fn key(&self) -> Option<&dyn Key> {
                Some(self)
            }

            fn infer(&self, args: &[&Type]) -> Result<Type> {
                ordered($name, args, self.axis)?;
                let mut shape: Shape = args[0].shape.clone();
                if shape[self.axis] == 0 {
                    return Err(Error::Value(format!(
                        "{} of no elements is not defined (shape {})",
                        $name,
                        show_shape(&shape)
                    )));
                }
                if self.keepdims {
                    shape[self.axis] = 1;
                } else {
                    shape.remove(self.axis);
                }
                Ok(Type::new(DType::U32, &shape))
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                with_real!(args[0].data.dtype(), T => {
                    let out = u32::slice_mut(&mut out.data);
                    first::<T>(&args[0], self.axis, out, $wins);
                });
                Ok(())
            }

            fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
                None
            }
        }
    };
}
arg_extreme!(
    /// The index of the largest element along an axis.
    ArgMax, "argmax", |a, b| a > b
);
arg_extreme!(
    /// The index of the smallest element along an axis.
    ArgMin, "argmin", |a, b| a < b
);

/// For each element of operand 1 the number of elements of operand 0, a vector in rising order, that come
/// before it, and of those equal to it if `right`. NaN comes last and is equal to itself, as NumPy sorts. It is
/// found by bisection, so of a vector in another order it is some number up to its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SearchSorted {
    /// Whether equal elements count.
    pub right: bool,
}

impl Operator for SearchSorted {
    fn name(&self) -> &str {
        "searchsorted"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [sorted, x] = arity::<2>("searchsorted", args)?;
        real("searchsorted", x)?;
        if sorted.ndim() != 1 {
            return Err(Error::Shape(format!(
                "searchsorted: expected a vector to search in, got shape {}",
                show_shape(&sorted.shape)
            )));
        }
        ordered("searchsorted", &args[..1], 0)?;
        Ok(Type::new(DType::U32, &x.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let out = u32::slice_mut(&mut out.data);
        let mut poller = Poller::default();
        with_real!(args[0].data.dtype(), S => {
            let sorted = args[0].real::<S>();
            with_real!(args[1].data.dtype(), T => {
                for (o, x) in out.iter_mut().zip(args[1].real::<T>()) {
                    poller.step(64)?;
                    let x: f64 = x.to();
                    let before = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
                    let counts = |s: f64| match self.right {
                        true => !before(x, s),
                        false => before(s, x),
                    };
                    *o = sorted.partition_point(|s| counts(s.to())) as u32;
                }
            });
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// Cases of an operator of an axis, on numbers that differ, so that their order is certain.
fn cases(build: impl Fn(usize, bool) -> OpRef) -> Vec<Case> {
    let case = |&(shape, axis): &(&[usize], usize)| {
        let x = Argument::distinct(shape, &[(-2.0, 2.0)]);
        Case::new(build(axis, shape.len() == 2), vec![x])
    };
    SHAPES.iter().map(case).collect()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "argsort",
        formula: "the indices that sort x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axis, _| OpRef::new(ArgSort { axis })),
    },
    Entry {
        name: "argmax",
        formula: "the index of max x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axis, keepdims| OpRef::new(ArgMax { axis, keepdims })),
    },
    Entry {
        name: "argmin",
        formula: "the index of min x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axis, keepdims| OpRef::new(ArgMin { axis, keepdims })),
    },
    Entry {
        name: "searchsorted",
        formula: "how many of a sorted vector are below x, or not above it",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |n: usize, shape: &[usize], right| {
                let args = [&[n], shape].map(|shape| Argument::distinct(shape, &[(-2.0, 2.0)]));
                Case::new(OpRef::new(SearchSorted { right }), args.into())
            };
            vec![
                case(3, &[2, 3], true),
                case(4, &[], false),
                case(0, &[2], true),
            ]
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_one_rank_and_nan_the_last() {
        assert_eq!(rank(-0.0), rank(0.0));
        assert_eq!(rank(-f64::NAN), rank(f64::NAN));
        assert!(rank(-f64::NAN) > rank(f64::INFINITY));
    }
}
