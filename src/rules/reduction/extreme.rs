//! The largest and the smallest element over axes.
//!
//! NaN is kept rather than any number, as in NumPy, and equal elements share the gradient.

use super::reduce::{cases, fold, kept, reduced, restore};
use crate::array::{Real, Shape, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::rules::{Entry, Ex, Key, OpRef, Operator, arity, one_further};
use crate::simd::multiversion;

/// Which of two numbers a reduction keeps.
trait Extreme {
    /// Whether `a` is kept rather than `b`; false if either is NaN.
    fn wins<T: Real>(a: T, b: T) -> bool;
}

/// The one of two numbers that is kept. NaN wins over every number, as in NumPy.
#[inline(always)]
fn pick<T: Real, O: Extreme>(a: T, b: T) -> T {
    if O::wins(a, b) || a.is_nan() { a } else { b }
}

multiversion! {
    @avx2
    /// The one of several numbers that is kept.
    #[inline(never)]
    fn extreme<T: Real, O: Extreme>(first: T, x: &[T]) -> T {
        // One comparison waits for the result of the one before; so 32 run side by side.
        const LANES: usize = 32;
        let (blocks, rest) = x.as_chunks::<LANES>();
        let mut lanes = [first; LANES];
        for x in blocks {
            for l in 0..LANES {
                lanes[l] = pick::<T, O>(lanes[l], x[l]);
            }
        }
        let mut kept = first;
        for &x in &lanes {
            kept = pick::<T, O>(kept, x);
        }
        for &x in rest {
            kept = pick::<T, O>(kept, x);
        }
        kept
    }
}

macro_rules! extreme {
    ($(#[$doc:meta])* $op:ident, $name:literal, $start:expr, $wins:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $op {
            /// Axes to reduce, ascending.
            pub axes: Shape,
            /// Keep them with length 1.
            pub keepdims: bool,
        }

        impl Extreme for $op {
            #[inline(always)]
            fn wins<T: Real>(a: T, b: T) -> bool {
                let wins: fn(T, T) -> bool = $wins;
                wins(a, b)
            }
        }

        impl Operator for $op {
            fn name(&self) -> &str {
                $name
            }

            fn key(&self) -> Option<&dyn Key> {
                Some(self)
            }

            fn infer(&self, args: &[&Type]) -> Result<Type> {
                let [x] = arity::<1>($name, args)?;
                let shape = reduced($name, x, &self.axes, self.keepdims)?;
                if self.axes.iter().any(|&a| x.shape[a] == 0) {
                    return Err(Error::Value(format!(
                        "{} of no elements is not defined (shape {})",
                        $name,
                        show_shape(&x.shape)
                    )));
                }
                Ok(Type { dtype: x.dtype, shape })
            }

            fn over_batch(&self) -> Option<OpRef> {
                Some(OpRef::new($op {
                    axes: one_further(&self.axes),
                    keepdims: self.keepdims,
                }))
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                let shape = kept(args[0].shape, &self.axes);
                with_real!(out.data.dtype(), T => {
                    let out = T::slice_mut(&mut out.data);
                    out.fill($start);
                    fold(
                        args[0].real::<T>(), args[0].shape, out, &shape,
                        extreme::<T, $op>,
                        pick::<T, $op>,
                    );
                });
                Ok(())
            }

            fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
                let y = restore(y, &self.axes, self.keepdims);
                let g = restore(g, &self.axes, self.keepdims);
                let mask = x[0].equal(y);
                let share = g / mask.sum(self.axes.clone(), true);
                // Selected and not multiplied by zero, for `g` may be infinite.
                let rest = y.isnan().select(y, y.constant(0.0));
                Some(mask.select(share, rest))
            }
        }
    };
}
extreme!(
    /// Largest element along axes; equal largest elements share the gradient.
    Max, "max", T::NEG_INFINITY, |a, b| a > b
);
extreme!(
    /// Smallest element along axes; equal smallest elements share the gradient.
    Min, "min", T::INFINITY, |a, b| a < b
);

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "max",
        formula: "max x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axes, keepdims| OpRef::new(Max { axes, keepdims }), false),
    },
    Entry {
        name: "min",
        formula: "min x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axes, keepdims| OpRef::new(Min { axes, keepdims }), false),
    },
];
