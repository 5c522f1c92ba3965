//! Sums and means over axes, and what reductions share.
//!
//! All of them walk the operand as runs that fall on one element of the result or
//! on as many; see [`Broadcast`]. Sums use several accumulators in a fixed order, and those of many
//! summands are pairwise.

use std::iter;

use crate::array::{
    Broadcast, Number, Real, Shape, Type, Typed, View, ViewMut, broadcast, filled, show_shape,
    with_real,
};
use crate::error::{Error, Result};
use crate::simd;

use super::lanes::has_axis;
use crate::rules::shape::broadcast::REPEATED;
use crate::rules::{
    Argument, Case, Entry, Ex, Form, Key, OpRef, Operator, arity, linear, one_further, real,
};

/// The shape left after reducing, with reduced axes kept at length 1.
pub(super) fn kept(shape: &[usize], axes: &[usize]) -> Shape {
    let one = |(i, &n)| if axes.contains(&i) { 1 } else { n };
    shape.iter().enumerate().map(one).collect()
}

/// The shape left after reducing.
pub(super) fn reduced(name: &str, x: &Type, axes: &[usize], keepdims: bool) -> Result<Shape> {
    real(name, x)?;
    axes.iter().try_for_each(|&axis| has_axis(name, x, axis))?;
    if !axes.is_sorted_by(|a, b| a < b) {
        return Err(Error::Value(format!(
            "{name}: axes {} do not ascend",
            show_shape(axes)
        )));
    }
    if keepdims {
        return Ok(kept(&x.shape, axes));
    }
    let left = x.shape.iter().enumerate();
    Ok(left
        .filter(|(i, _)| !axes.contains(i))
        .map(|(_, &n)| n)
        .collect())
}

/// Restores reduced axes as axes of length 1.
pub(super) fn restore<'t>(g: Ex<'t>, axes: &[usize], keepdims: bool) -> Ex<'t> {
    if keepdims || axes.is_empty() {
        g
    } else {
        g.expand_dims(axes)
    }
}

/// Reduces `x` into `out`, whose shape with reduced axes kept is `shape`: `all`
/// folds a run into one element, `each` folds element by element.
pub(super) fn fold<T: Real>(
    x: &[T],
    x_shape: &[usize],
    out: &mut [T],
    shape: &[usize],
    all: impl Fn(T, &[T]) -> T,
    each: impl Fn(T, T) -> T,
) {
    let walk = Broadcast::new(x_shape, [x_shape, shape].into_iter());
    let run = walk.run();
    walk.for_each(|offsets, _| {
        let x = &x[offsets[0]..offsets[0] + run];
        if walk.is_splat(1) {
            let o = &mut out[offsets[1]];
            *o = all(*o, x);
        } else {
            let out = &mut out[offsets[1]..offsets[1] + run];
            for (o, &x) in out.iter_mut().zip(x) {
                *o = each(*o, x);
            }
        }
    });
}

#[inline(never)]
fn sum_into<T: Number>(x: &View<'_>, out: &mut [T], shape: &dyn Fn() -> Shape) -> Result<()> {
    let elements = x.real::<T>();
    if elements.len() == out.len() {
        // Each sum is of one number, also of -0, which 0 plus it is not.
        out.copy_from_slice(elements);
        return Ok(());
    }
    if let [out] = out {
        *out = simd::sum(elements);
        return Ok(());
    }
    out.fill(T::default());
    let shape = shape();
    let ones = iter::repeat_n(1, x.shape.len() - shape.len());
    let shape: Shape = ones.chain(shape.iter().copied()).collect();
    by_halves(elements, x.shape, out, &shape, &|x, x_shape, out, shape| {
        let all = |sum, run: &[T]| sum + simd::sum(run);
        fold(x, x_shape, out, shape, all, |sum, x| sum + x);
    })
}

/// Adds sums of elements to others: the elements, their shape, the sums, and the shape of these with
/// reduced axes kept.
type AddSums<'a, T> = dyn Fn(&[T], &[usize], &mut [T], &[usize]) + 'a;

/// Summands of one sum that are added one after the other where they do not lie side by side.
const LONG: usize = 1024;

/// Has `add` add the sums of `x` to `out`, which holds zeros. An axis of many summands is cut in half and the
/// sums of the halves are added, so that the rounding error grows with the logarithm of its length. Of the
/// last axis alone they lie side by side, and kernels cut it themselves.
pub(super) fn by_halves<T: Real>(
    x: &[T],
    x_shape: &[usize],
    out: &mut [T],
    shape: &[usize],
    add: &AddSums<'_, T>,
) -> Result<()> {
    let is_long = x_shape.len() > 1 && x.len() > LONG * out.len();
    let (true, Some((&length, x_inner)), Some((&kept, inner))) =
        (is_long, x_shape.split_first(), shape.split_first())
    else {
        add(x, x_shape, out, shape);
        return Ok(());
    };
    if kept == length {
        let parts = out.chunks_exact_mut(out.len() / length);
        let mut parts = x.chunks_exact(x.len() / length).zip(parts);
        return parts.try_for_each(|(x, out)| by_halves(x, x_inner, out, inner, add));
    }
    let half = length / 2;
    let (first, second) = x.split_at(half * (x.len() / length));
    let part = |length| -> Shape { iter::once(length).chain(x_inner.iter().copied()).collect() };
    by_halves(first, &part(half), out, shape, add)?;
    let mut sums = filled(out.len(), T::zero())?;
    by_halves(second, &part(length - half), &mut sums, shape, add)?;
    for (out, &sum) in out.iter_mut().zip(&sums) {
        *out += sum;
    }
    Ok(())
}

/// Sum over axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sum {
    /// Axes to sum over, ascending.
    pub axes: Shape,
    /// Keep them with length 1.
    pub keepdims: bool,
}

impl Operator for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("sum", args)?;
        Ok(Type {
            dtype: x.dtype,
            shape: reduced("sum", x, &self.axes, self.keepdims)?,
        })
    }

    fn over_batch(&self) -> Option<OpRef> {
        Some(OpRef::new(Sum {
            axes: one_further(&self.axes),
            keepdims: self.keepdims,
        }))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = || kept(args[0].shape, &self.axes);
        with_real!(out.data.dtype(), T => {
            sum_into(&args[0], T::slice_mut(&mut out.data), &shape)
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(restore(g, &self.axes, self.keepdims).broadcast_like(x[0]))
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0].size() == out.size() && args[0].size() == 1
    }
}

/// Arithmetic mean over axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mean {
    /// Axes to average over, ascending.
    pub axes: Shape,
    /// Keep them with length 1.
    pub keepdims: bool,
}

impl Operator for Mean {
    fn name(&self) -> &str {
        "mean"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("mean", args)?;
        Ok(Type {
            dtype: x.dtype,
            shape: reduced("mean", x, &self.axes, self.keepdims)?,
        })
    }

    fn over_batch(&self) -> Option<OpRef> {
        Some(OpRef::new(Mean {
            axes: one_further(&self.axes),
            keepdims: self.keepdims,
        }))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = || kept(args[0].shape, &self.axes);
        let count: usize = self.axes.iter().map(|&a| args[0].shape[a]).product();
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            sum_into(&args[0], out, &shape)?;
            for o in out {
                *o /= T::of(count as f64);
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let each = restore(g, &self.axes, self.keepdims) / x[0].count(self.axes.clone());
        Some(each.broadcast_like(x[0]))
    }
}

/// Sums operand 0 to the shape of operand 1, from which it was broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SumTo;

impl Operator for SumTo {
    linear!("sum_to", |_, g, x| g.broadcast_like(x[0]), reads 1);

    fn form(&self) -> Form {
        Form::Shaped
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, like] = arity::<2>("sum_to", args)?;
        real("sum_to", x)?;
        let back = broadcast("sum_to", [&x.shape[..], &like.shape[..]].into_iter())?;
        if back != x.shape {
            return Err(Error::Shape(format!(
                "sum_to: shape {} is not a broadcast of shape {}",
                show_shape(&x.shape),
                show_shape(&like.shape)
            )));
        }
        Ok(Type::new(x.dtype, &like.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shape = || out.shape.into();
        with_real!(out.data.dtype(), T => {
            sum_into(&args[0], T::slice_mut(&mut out.data), &shape)
        })
    }

    fn aliases(&self, args: &[&Type], _out: &Type) -> bool {
        args[0].size() == args[1].size()
    }
}

/// The number of elements of operand 0 along axes, as a single number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountLike {
    /// Axes to count along.
    pub axes: Shape,
}

impl Operator for CountLike {
    fn name(&self) -> &str {
        "count_like"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("count_like", args)?;
        reduced("count_like", x, &self.axes, false)?;
        Ok(Type::scalar(x.dtype))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let count: usize = self.axes.iter().map(|&a| args[0].shape[a]).product();
        with_real!(out.data.dtype(), T => T::slice_mut(&mut out.data).fill(T::of(count as f64)));
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }

    fn reads(&self, _i: usize) -> bool {
        false
    }
}

type Build = fn(Shape, bool) -> OpRef;

/// Cases over several axes, shapes and an empty array.
pub(super) fn cases(build: Build, empty: bool) -> Vec<Case> {
    let shapes: &[(&[usize], &[usize])] = &[
        (&[], &[]),
        (&[4], &[0]),
        (&[3, 4], &[0]),
        (&[3, 4], &[1]),
        (&[3, 4], &[0, 1]),
        (&[2, 3, 4], &[1]),
        (&[2, 3, 4], &[0, 2]),
        (&[40], &[0]),
        (&[0, 3], &[0]),
    ];
    let mut cases = Vec::new();
    for &(shape, axes) in shapes {
        if shape.contains(&0) && !empty {
            continue;
        }
        for keepdims in [false, true] {
            let x = Argument::distinct(shape, &[(-2.0, 2.0)]);
            cases.push(Case::new(build(axes.into(), keepdims), vec![x]));
        }
    }
    cases
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "sum",
        formula: "Σ x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axes, keepdims| OpRef::new(Sum { axes, keepdims }), true),
    },
    Entry {
        name: "mean",
        formula: "Σ x / n",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|axes, keepdims| OpRef::new(Mean { axes, keepdims }), false),
    },
    Entry {
        name: "sum_to",
        formula: "Σ x over broadcast axes",
        source: "definition",
        reference: None,
        internal: Some("sums a gradient over the axes that broadcasting repeated"),
        cases: || {
            let case = |(x, like): (&[usize], &[usize])| {
                let args = vec![
                    Argument::real(x, &[(-2.0, 2.0)]),
                    Argument::shape_only(like),
                ];
                Case::new(OpRef::Static(&SumTo), args)
            };
            REPEATED.map(case).into()
        },
    },
    Entry {
        name: "count_like",
        formula: "n",
        source: "definition",
        reference: None,
        internal: Some("the number of elements that a mean divides by"),
        cases: || {
            vec![Case::new(
                OpRef::new(CountLike {
                    axes: Shape::from_slice(&[1]),
                }),
                vec![Argument::shape_only(&[2, 3])],
            )]
        },
    },
];
