//! First-order linear recurrences along an axis: moving averages with weights of their own at each step.
//!
//! A loop over steps makes operators of each; this is one pass. Its transpose is the recurrence from the
//! end, which takes a factor from the step after: so neither needs the arrays moved by a step. Blelloch,
//! "Prefix sums and their applications" (1990), has the recurrence as a scan.
//!
//! Limit: steps follow one another in one thread.

use num_traits::Zero;

use crate::array::{Real, Type, Typed, View, ViewMut, with_real};
use crate::error::{Error, Result};
use crate::rules::{Entry, Ex, Key, OpRef, Operator, arity, linear, real, same_dtype};
use crate::simd::multiversion;

use super::lanes::{Lanes, cases_from_both_ends, has_axis};

/// `y_t = x_t + a_t y_(t-1)` along an axis, of `x` and `a` of one shape; nothing is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinearRecurrence {
    /// The axis of the steps.
    pub axis: usize,
    /// The transpose, from the end: `y_t = x_t + a_(t+1) y_(t+1)`.
    pub reverse: bool,
}

/// The elements of the step before, along an axis; 0 at the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delay {
    /// The axis of the steps.
    pub axis: usize,
    /// The step after instead; 0 at the last.
    pub reverse: bool,
}

multiversion! {
    /// Adds to each step the one before, or after if `reverse`, times its factors. Steps have `inner`
    /// numbers.
    fn recur<T: Real>(block: &mut [T], factors: &[T], inner: usize, reverse: bool) {
        let length = block.len() / inner.max(1);
        for k in 1..length {
            // The factors are those of the later of the two steps.
            let at = if reverse { length - k } else { k };
            let (before, after) = block.split_at_mut(at * inner);
            let (earlier, after) = (&mut before[(at - 1) * inner..], &mut after[..inner]);
            let (to, from) = if reverse { (earlier, after) } else { (after, earlier) };
            let factors = &factors[at * inner..][..inner];
            for ((to, &mut from), &a) in to.iter_mut().zip(from).zip(factors) {
                *to += a * from;
            }
        }
    }
}

impl Operator for LinearRecurrence {
    fn name(&self) -> &str {
        "linear_recurrence"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, factors] = arity::<2>("linear_recurrence", args)?;
        same_dtype("linear_recurrence", x, factors)?;
        if x.shape != factors.shape {
            return Err(Error::Shape(format!(
                "linear_recurrence: expected a factor for each element, got {x} and factors {factors}"
            )));
        }
        has_axis("linear_recurrence", x, self.axis)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let Lanes { length, inner, .. } = Lanes::new(out.shape, self.axis);
        let size = (length * inner).max(1);
        with_real!(out.data.dtype(), T => {
            let (x, factors) = (args[0].real::<T>(), args[1].real::<T>());
            let out = T::slice_mut(&mut out.data);
            out.copy_from_slice(x);
            for (block, factors) in out.chunks_exact_mut(size).zip(factors.chunks_exact(size)) {
                recur(block, factors, inner, self.reverse);
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let LinearRecurrence { axis, reverse } = *self;
        let transpose = LinearRecurrence {
            axis,
            reverse: !reverse,
        };
        // What each step's x counts for in all results.
        let of_x = g.with_new(transpose, &x[1..]);
        if i == 0 {
            return Some(of_x);
        }
        let delay = |reverse| Delay { axis, reverse };
        // A factor is multiplied by what counts at the later step and what is at the earlier one. The products
        // are delayed: the first factor, which nothing uses, has 0 and not the product of 0 and infinity.
        let (earlier, later) = if reverse { (of_x, y) } else { (y, of_x) };
        let products = later.with_new(delay(true), &[]) * earlier;
        Some(products.with_new(delay(false), &[]))
    }
}

impl Operator for Delay {
    linear!("delay", |op, g, _| g.with_new(
        Delay {
            axis: op.axis,
            reverse: !op.reverse
        },
        &[]
    ));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("delay", args)?;
        has_axis("delay", x, self.axis)?;
        real("delay", x)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let Lanes { length, inner, .. } = Lanes::new(out.shape, self.axis);
        let size = length * inner;
        if size == 0 {
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            let blocks = out.chunks_exact_mut(size).zip(args[0].real::<T>().chunks_exact(size));
            for (to, from) in blocks {
                if self.reverse {
                    to[..size - inner].copy_from_slice(&from[inner..]);
                    to[size - inner..].fill(T::zero());
                } else {
                    to[inner..].copy_from_slice(&from[..size - inner]);
                    to[..inner].fill(T::zero());
                }
            }
        });
        Ok(())
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "linear_recurrence",
        formula: "y_t = x_t + a_t y_(t-1)",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let operator = |axis, reverse| OpRef::new(LinearRecurrence { axis, reverse });
            cases_from_both_ends(2, operator)
        },
    },
    Entry {
        name: "delay",
        formula: "x_(t-1)",
        source: "definition",
        reference: None,
        internal: Some("the derivative of linear_recurrence is made of it"),
        cases: || cases_from_both_ends(1, |axis, reverse| OpRef::new(Delay { axis, reverse })),
    },
];
