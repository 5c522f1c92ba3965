//! The Euclidean norm along axes, and the direction of a vector.
//!
//! The norm's value is the root of the sum of squares, as NumPy's, and so it is infinite or 0 where squares
//! overflow or vanish. Its gradient, the direction `x / |x|`, is right there too: it is computed from numbers
//! times a power of two where that is needed (as the accumulators of Blue, ACM TOMS 4 (1978), and of Anderson,
//! ACM TOMS 44 (2017), algorithm 978).

use num_traits::Float;

use super::reduce::{by_halves, fold, kept, reduced, restore};
use crate::array::{Broadcast, Real, Shape, Type, Typed, View, ViewMut, filled, with_real};
use crate::error::Result;
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, one_further};
use crate::simd;

/// The root of the sum of squares along axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Norm {
    /// Axes to reduce, ascending.
    pub axes: Shape,
    /// Keep them with length 1.
    pub keepdims: bool,
}

/// Vectors along axes divided by their norms, 0 where they are 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnitVector {
    /// The axes along which the vectors lie, ascending.
    pub axes: Shape,
}

/// Writes the norms. The shape is that with reduced axes kept.
#[inline(never)]
fn norms<T: Real>(x: &[T], x_shape: &[usize], out: &mut [T], shape: &[usize]) -> Result<()> {
    out.fill(T::zero());
    by_halves(x, x_shape, out, shape, &|x, x_shape, out, shape| {
        let squares = |sum: T, x: &[T]| sum + simd::dot(x, x);
        fold(x, x_shape, out, shape, squares, |sum, x| sum + x * x);
    })?;
    out.iter_mut().for_each(|o| *o = o.sqrt());
    Ok(())
}

/// Writes vectors divided by numbers.
#[inline(never)]
fn quotients<T: Real>(
    x: &[T],
    x_shape: &[usize],
    (divisors, shape): (&[T], &[usize]),
    out: &mut [T],
) {
    let walk = Broadcast::new(x_shape, [x_shape, shape].into_iter());
    let run = walk.run();
    walk.for_each(|offsets, _| {
        let x = &x[offsets[0]..][..run];
        let out = out[offsets[0]..][..run].iter_mut().zip(x);
        if walk.is_splat(1) {
            let y = divisors[offsets[1]];
            out.for_each(|(o, &x)| *o = x / y);
        } else {
            let divisors = &divisors[offsets[1]..][..run];
            out.zip(divisors).for_each(|((o, &x), &y)| *o = x / y);
        }
    });
}

/// Replaces each element by a function of it and of the norm of its vector.
#[inline(never)]
fn change(
    x: &mut [f64],
    x_shape: &[usize],
    (norms, shape): (&[f64], &[usize]),
    by: &dyn Fn(f64, f64) -> f64,
) {
    let walk = Broadcast::new(x_shape, [x_shape, shape].into_iter());
    let (run, step) = (walk.run(), usize::from(!walk.is_splat(1)));
    walk.for_each(|offsets, _| {
        for (k, x) in x[offsets[0]..][..run].iter_mut().enumerate() {
            *x = by(*x, norms[offsets[1] + k * step]);
        }
    });
}

/// Divides vectors by their norms. The shape is that of the norms with reduced axes kept.
fn divide(x: &mut [f64], x_shape: &[usize], shape: &[usize]) -> Result<()> {
    // Any number times the power, or divided by it, has a square that neither overflows nor vanishes beside
    // the others, if the norm is as small, or as large, as it was found to be.
    let power = 2f64.powi(600);
    // Of less than this squares may have lost digits.
    let is_small = |y: f64| y < 1e-145;
    let is_large = |y: f64| y == f64::INFINITY;
    let mut lengths = filled(shape.iter().product(), 0.0)?;
    norms(x, x_shape, &mut lengths, shape)?;
    let cases: [(&dyn Fn(f64) -> bool, f64); 2] = [(&is_small, power), (&is_large, power.recip())];
    for (is_wrong, factor) in cases {
        if lengths.iter().any(|&y| is_wrong(y)) {
            let scale = |x, y| if is_wrong(y) { x * factor } else { x };
            change(x, x_shape, (&lengths, shape), &scale);
            norms(x, x_shape, &mut lengths, shape)?;
        }
    }
    let quotient = |x, y| if y == 0.0 { 0.0 } else { x / y };
    change(x, x_shape, (&lengths, shape), &quotient);
    Ok(())
}

impl Operator for Norm {
    fn name(&self) -> &str {
        "norm"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("norm", args)?;
        let shape = reduced("norm", x, &self.axes, self.keepdims)?;
        Ok(Type {
            dtype: x.dtype,
            shape,
        })
    }

    fn over_batch(&self) -> Option<OpRef> {
        Some(OpRef::new(Norm {
            axes: one_further(&self.axes),
            keepdims: self.keepdims,
        }))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = kept(args[0].shape, &self.axes);
        with_real!(out.data.dtype(), T => {
            norms(args[0].real::<T>(), args[0].shape, T::slice_mut(&mut out.data), &shape)
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let unit = UnitVector {
            axes: self.axes.clone(),
        };
        let g = restore(g, &self.axes, self.keepdims);
        Some(g * x[0].with_new(unit, &[]))
    }
}

impl Operator for UnitVector {
    fn name(&self) -> &str {
        "unit_vector"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("unit_vector", args)?;
        reduced("unit_vector", x, &self.axes, true)?;
        Ok(x.clone())
    }

    fn over_batch(&self) -> Option<OpRef> {
        Some(OpRef::new(UnitVector {
            axes: one_further(&self.axes),
        }))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = kept(args[0].shape, &self.axes);
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            let mut lengths = filled(shape.iter().product(), T::default())?;
            norms(x, args[0].shape, &mut lengths, &shape)?;
            // The root of what is below this may be of squares that lost digits.
            let least = (T::min_positive_value() / <T as Float>::epsilon()).sqrt();
            if lengths.iter().all(|&y| y >= least && y.is_finite()) {
                quotients(x, args[0].shape, (&lengths, &shape), out);
                return Ok(());
            }
            // In double precision, in which squares of single precision neither overflow nor vanish.
            let mut wide = filled(x.len(), 0.0)?;
            wide.iter_mut().zip(x).for_each(|(wide, &x)| *wide = Real::to(x));
            divide(&mut wide, args[0].shape, &shape)?;
            out.iter_mut().zip(&wide).for_each(|(o, &x)| *o = T::of(x));
            Ok(())
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let dot = |a: Ex<'t>, b: Ex<'t>| (a * b).sum(self.axes.clone(), true);
        // The length, of which nothing is squared.
        let length = dot(x[0], y);
        let zero = length.equal(length.constant(0.0));
        let divisor = zero.select(length.constant(1.0), length);
        let across = g - y * dot(g, y);
        Some(zero.select(g.constant(0.0), across / divisor))
    }
}

/// Shapes, and axes to reduce.
const SHAPES: [(&[usize], &[usize]); 6] = [
    (&[], &[]),
    (&[4], &[0]),
    (&[3, 4], &[0]),
    (&[3, 4], &[0, 1]),
    (&[2, 3, 4], &[1]),
    (&[0, 3], &[0]),
];
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.5), (0.5, 2.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "norm",
        formula: "(Σ x²)^(1/2)",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |(shape, axes): (&[usize], &[usize])| {
                [false, true].map(|keepdims| {
                    let axes = axes.into();
                    let op = OpRef::new(Norm { axes, keepdims });
                    Case::new(op, vec![Argument::real(shape, NONZERO)])
                })
            };
            SHAPES.into_iter().flat_map(case).collect()
        },
    },
    Entry {
        name: "unit_vector",
        formula: "x / (Σ x²)^(1/2)",
        source: "ACM TOMS algorithm 978",
        reference: None,
        internal: Some("the gradients of norms, also where squares overflow or vanish"),
        cases: || {
            let case = |(shape, axes): (&[usize], &[usize])| {
                let op = OpRef::new(UnitVector { axes: axes.into() });
                Case::new(op, vec![Argument::real(shape, NONZERO)])
            };
            SHAPES.map(case).into()
        },
    },
];
