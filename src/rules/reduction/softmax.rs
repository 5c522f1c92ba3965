//! Softmax and its relatives, shifted by the largest element so that nothing
//! overflows (Blanchard, Higham & Higham, "Accurately computing the log-sum-exp
//! and softmax functions", 2021).

use smallvec::SmallVec;

use crate::array::{Real, Shape, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::simd::dot::LONG;
use crate::simd::{self, multiversion};

use super::lanes::{Lanes, has_axis};

use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real};

/// Numbers that are compared or added side by side. One that waits for the result of the one before
/// would take as long as a few instructions.
const SIDE_BY_SIDE: usize = 16;

/// The larger of two numbers; the first if one is NaN.
#[inline(always)]
fn larger<T: Real>(m: T, v: T) -> T {
    if v > m { v } else { m }
}

/// The largest element of a lane whose elements are side by side; -∞ if it has none but NaN.
#[inline(always)]
fn maximum<T: Real>(x: &[T]) -> T {
    let (blocks, rest) = x.as_chunks::<SIDE_BY_SIDE>();
    let mut most = [T::neg_infinity(); SIDE_BY_SIDE];
    for block in blocks {
        for (m, &v) in most.iter_mut().zip(block) {
            *m = larger(*m, v);
        }
    }
    let mut found = T::neg_infinity();
    for &v in &most {
        found = larger(found, v);
    }
    for &v in rest {
        found = larger(found, v);
    }
    found
}

/// What is subtracted before exponentials are taken: the largest element, or 0 if that is not finite (so
/// that a lane of -inf gives -inf and not NaN).
#[inline(always)]
fn shift_of<T: Real>(largest: T) -> T {
    if largest.is_finite() {
        largest
    } else {
        T::zero()
    }
}

multiversion! {
    /// The softmax of a lane whose elements are side by side; NaN throughout if the largest is infinite, as
    /// SciPy's.
    fn softmax_of<T: Real>(machine: M, x: &[T], out: &mut [T]) {
        let shift = maximum(x);
        for (out, &v) in out.iter_mut().zip(x) {
            *out = (v - shift).v_exp();
        }
        let total = simd::dot::sum(machine, out);
        out.iter_mut().for_each(|e| *e /= total);
    }
}

multiversion! {
    /// The sum of the exponentials of what is more than `shift`, by halves where there are many.
    fn exponentials<T: Real>(x: &[T], shift: T) -> T {
        if x.len() > LONG {
            let (first, second) = x.split_at(x.len() / 2);
            return exponentials(first, shift) + exponentials(second, shift);
        }
        let (blocks, rest) = x.as_chunks::<SIDE_BY_SIDE>();
        let mut sums = [T::zero(); SIDE_BY_SIDE];
        for block in blocks {
            for (sum, &v) in sums.iter_mut().zip(block) {
                *sum += (v - shift).v_exp();
            }
        }
        let mut total = T::zero();
        for &v in rest {
            total += (v - shift).v_exp();
        }
        if blocks.is_empty() {
            return total;
        }
        let mut all = T::zero();
        for &sum in &sums {
            all += sum;
        }
        all + total
    }
}

multiversion! {
    /// The largest element of a lane whose elements are side by side.
    fn largest<T: Real>(x: &[T]) -> T {
        maximum(x)
    }
}

/// The shift of a lane whose elements are side by side, and the logarithm of the sum of its exponentials.
fn log_of_sum<T: Real>(x: &[T]) -> (T, T) {
    let shift = shift_of(largest(x));
    (shift, exponentials(x, shift).ln())
}

/// Calls `f` with the elements of each lane, one after the other, and the same of `out`.
fn each_lane<T: Real>(x: &[T], out: &mut [T], a: Lanes, f: impl Fn(&[T], &mut [T])) {
    if a.length == 0 {
        return;
    }
    if a.inner == 1 {
        let lanes = x.chunks_exact(a.length).zip(out.chunks_exact_mut(a.length));
        return lanes.for_each(|(x, out)| f(x, out));
    }
    // Elements that are apart are copied: to compute them in vectors takes less than to gather them.
    let mut lane: SmallVec<[T; 64]> = SmallVec::from_elem(T::zero(), a.length);
    let mut result = lane.clone();
    for at in a.starts() {
        for (j, v) in lane.iter_mut().enumerate() {
            *v = x[at + j * a.inner];
        }
        f(&lane, &mut result);
        for (j, &v) in result.iter().enumerate() {
            out[at + j * a.inner] = v;
        }
    }
}

fn softmax<T: Real>(x: &[T], out: &mut [T], a: Lanes) {
    each_lane(x, out, a, softmax_of);
}

fn log_softmax<T: Real>(x: &[T], out: &mut [T], a: Lanes) {
    each_lane(x, out, a, |x, out| {
        let (shift, log) = log_of_sum(x);
        for (out, &v) in out.iter_mut().zip(x) {
            // Subtract the two in turn: their sum would round away the log.
            *out = v - shift - log;
        }
    });
}

fn logsumexp<T: Real>(x: &[T], out: &mut [T], a: Lanes) {
    let mut lane: SmallVec<[T; 64]> = SmallVec::new();
    for (o, at) in out.iter_mut().zip(a.starts()) {
        let x = if a.inner == 1 {
            &x[at..at + a.length]
        } else {
            lane.clear();
            lane.extend((0..a.length).map(|j| x[at + j * a.inner]));
            &lane
        };
        let (shift, log) = log_of_sum(x);
        // An infinite element decides the result on its own.
        *o = log + shift;
    }
}

/// The softmax, but where the largest elements are infinite they have equal shares.
fn shares<T: Real>(x: &[T], out: &mut [T], a: Lanes) {
    each_lane(x, out, a, |x, out| {
        let m = largest(x);
        if m.is_finite() {
            return softmax_of(x, out);
        }
        let mut total = T::zero();
        for (out, &v) in out.iter_mut().zip(x) {
            *out = match v {
                nan if nan.is_nan() => nan,
                v if v == m => T::one(),
                _ => T::zero(),
            };
            total += *out;
        }
        out.iter_mut().for_each(|e| *e /= total);
    });
}

fn has_lanes(name: &str, x: &Type, axis: usize) -> Result<()> {
    real(name, x)?;
    has_axis(name, x, axis)
}

fn has_no_empty_lanes(name: &str, x: &Type, axis: usize) -> Result<()> {
    has_lanes(name, x, axis)?;
    match x.shape[axis] {
        0 => Err(Error::Value(format!(
            "{name}: axis {axis} of shape {} is empty",
            show_shape(&x.shape)
        ))),
        _ => Ok(()),
    }
}

macro_rules! along_axis {
    ($(#[$doc:meta])* $op:ident, $name:literal, $kernel:ident, $check:ident,
     |$axes:ident, $g:ident, $y:ident, $x:ident| $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $op {
            /// The axis to normalise along.
            pub axis: usize,
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
                $check($name, x, self.axis)?;
                Ok(x.clone())
            }

            fn over_batch(&self) -> Option<OpRef> {
                Some(OpRef::new($op { axis: self.axis + 1 }))
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                let lanes = Lanes::new(args[0].shape, self.axis);
                with_real!(out.data.dtype(), T => {
                    $kernel(args[0].real::<T>(), T::slice_mut(&mut out.data), lanes);
                });
                Ok(())
            }

            fn vjp<'t>(
                &self, _i: usize, $g: Ex<'t>, $y: Ex<'t>, $x: &[Ex<'t>],
            ) -> Option<Ex<'t>> {
                let $axes = Shape::from_slice(&[self.axis]);
                Some($rule)
            }
        }
    };
}
along_axis!(
    /// Exponentials along an axis, scaled to sum to 1.
    Softmax, "softmax", softmax, has_no_empty_lanes,
    |axes, g, y, _x| y * (g - (g * y).sum(axes, true))
);
along_axis!(
    /// Logarithm of the softmax.
    LogSoftmax, "log_softmax", log_softmax, has_no_empty_lanes,
    |axes, g, y, _x| g - y.exp() * g.sum(axes, true)
);

along_axis!(
    /// Shares in a sum of exponentials: the softmax, but where infinite elements are the largest they
    /// share equally, and constantly, as they do in a maximum and in `logaddexp`.
    Shares, "shares", shares, has_lanes, |axes, g, y, x| {
        // An infinite element that has a share is the largest.
        y * x[0].isfinite() * (g - (g * y).sum(axes, true))
    }
);

/// Logarithm of the sum of exponentials along an axis; that of no elements is -∞.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogSumExp {
    /// The axis to sum along.
    pub axis: usize,
    /// Keep it with length 1.
    pub keepdims: bool,
}

impl Operator for LogSumExp {
    fn name(&self) -> &str {
        "logsumexp"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("logsumexp", args)?;
        has_lanes("logsumexp", x, self.axis)?;
        let mut shape = x.shape.clone();
        if self.keepdims {
            shape[self.axis] = 1;
        } else {
            shape.remove(self.axis);
        }
        Ok(Type {
            dtype: x.dtype,
            shape,
        })
    }

    fn over_batch(&self) -> Option<OpRef> {
        Some(OpRef::new(LogSumExp {
            axis: self.axis + 1,
            keepdims: self.keepdims,
        }))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let lanes = Lanes::new(args[0].shape, self.axis);
        with_real!(out.data.dtype(), T => {
            logsumexp(args[0].real::<T>(), T::slice_mut(&mut out.data), lanes);
        });
        Ok(())
    }

    // Not exp(x - y): y is the largest x plus a logarithm, which is rounded away if that x is large.
    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let shares = x[0].with_new(Shares { axis: self.axis }, &[]);
        let g = if self.keepdims {
            g
        } else {
            g.expand_dims(&[self.axis])
        };
        Some(g * shares)
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

fn cases(build: fn(usize) -> Vec<OpRef>) -> Vec<Case> {
    let shapes: &[(&[usize], usize)] = &[
        (&[4], 0),
        (&[3, 4], 0),
        (&[3, 4], 1),
        (&[2, 3, 2], 1),
        (&[1], 0),
        (&[0, 3], 1),
    ];
    let mut cases = Vec::new();
    for &(shape, axis) in shapes {
        for op in build(axis) {
            cases.push(Case::new(op, vec![Argument::real(shape, ANY)]));
        }
    }
    cases
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "softmax",
        formula: "exp(x_i) / Σ_j exp(x_j)",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axis| vec![OpRef::new(Softmax { axis })]),
    },
    Entry {
        name: "shares",
        formula: "exp(x_i) / Σ_j exp(x_j)",
        source: "definition",
        reference: None,
        internal: Some("gradient of `logsumexp`"),
        cases: || cases(|axis| vec![OpRef::new(Shares { axis })]),
    },
    Entry {
        name: "log_softmax",
        formula: "x_i - ln Σ_j exp(x_j)",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axis| vec![OpRef::new(LogSoftmax { axis })]),
    },
    Entry {
        name: "logsumexp",
        formula: "ln Σ_j exp(x_j)",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            cases(|axis| {
                [false, true]
                    .map(|keepdims| OpRef::new(LogSumExp { axis, keepdims }))
                    .into()
            })
        },
    },
];
