//! Running sums.

use crate::array::{Type, Typed, View, ViewMut, with_real};
use crate::error::Result;
use crate::rules::{Entry, OpRef, Operator, arity, linear, real};

use super::lanes::{Lanes, cases_from_both_ends, has_axis};

/// Sums of the elements up to each, along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CumSum {
    /// The axis.
    pub axis: usize,
    /// From each element to the end instead of from the start to each.
    pub reverse: bool,
}

impl CumSum {
    /// The transpose: each summand counts in all sums from its own on.
    fn adjoint(self) -> Self {
        CumSum {
            axis: self.axis,
            reverse: !self.reverse,
        }
    }
}

impl Operator for CumSum {
    linear!("cumsum", |op, g, _| g.with_new(op.adjoint(), &[]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cumsum", args)?;
        real("cumsum", x)?;
        has_axis("cumsum", x, self.axis)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let Lanes { length, inner, .. } = Lanes::new(out.shape, self.axis);
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            out.copy_from_slice(args[0].real::<T>());
            let add = |to: &mut [T], from: &[T]| {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to += from;
                }
            };
            for block in out.chunks_exact_mut((length * inner).max(1)) {
                for k in 1..length {
                    if self.reverse {
                        let (to, from) = block.split_at_mut((length - k) * inner);
                        let start = to.len() - inner;
                        add(&mut to[start..], &from[..inner]);
                    } else {
                        let (from, to) = block.split_at_mut(k * inner);
                        add(&mut to[..inner], &from[(k - 1) * inner..]);
                    }
                }
            }
        });
        Ok(())
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "cumsum",
    formula: "x₁ + … + xₖ for each k",
    source: "definition",
    reference: None,
    internal: None,
    cases: || cases_from_both_ends(1, |axis, reverse| OpRef::new(CumSum { axis, reverse })),
}];
