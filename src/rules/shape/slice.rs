//! Basic slices, and strided copies.
//!
//! A slice is kept as the caller wrote it (open ends, negative positions) and is
//! resolved against the operand's shape each time, so that `x[-1]` stays the last
//! row when a frozen program runs on a longer batch.

use std::fmt;

use smallvec::SmallVec;

use crate::array::{
    Number, Real, Shape, SliceMut, Type, Typed, View, ViewMut, show_shape, with_real,
};
use crate::error::{Error, Result};

use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, Scatter, ScatteredRows, arity, linear, real,
    same_dtype, same_shape,
};

type Steps = SmallVec<[isize; 4]>;

/// Elements to move per step along each axis of a contiguous array.
pub(super) fn strides(shape: &[usize]) -> Steps {
    let mut steps: Steps = SmallVec::from_elem(0, shape.len());
    let mut step = 1;
    for axis in (0..shape.len()).rev() {
        steps[axis] = step;
        step *= shape[axis] as isize;
    }
    steps
}

/// Visits a strided block in C order as rows: `f(start, step, row_number)`.
fn for_each_row(
    start: isize,
    steps: &[isize],
    shape: &[usize],
    mut f: impl FnMut(isize, isize, usize),
) {
    if shape.contains(&0) {
        return;
    }
    let Some((&last, outer)) = steps.split_last() else {
        f(start, 0, 0);
        return;
    };
    let lengths = &shape[..outer.len()];
    let mut at: Shape = SmallVec::from_elem(0, outer.len());
    let mut offset = start;
    for row in 0..lengths.iter().product() {
        f(offset, last, row);
        for axis in (0..outer.len()).rev() {
            at[axis] += 1;
            offset += outer[axis];
            if at[axis] < lengths[axis] {
                break;
            }
            offset -= outer[axis] * at[axis] as isize;
            at[axis] = 0;
        }
    }
}

/// Copies a strided block of `x` into `out`, C order.
pub(super) fn copy_strided<T: Copy>(
    x: &[T],
    start: isize,
    steps: &[isize],
    shape: &[usize],
    out: &mut [T],
) {
    let n = shape.last().copied().unwrap_or(1);
    for_each_row(start, steps, shape, |from, step, row| {
        let out = &mut out[row * n..(row + 1) * n];
        if step == 1 {
            out.copy_from_slice(&x[from as usize..from as usize + n]);
        } else {
            for (i, o) in out.iter_mut().enumerate() {
                *o = x[(from + i as isize * step) as usize];
            }
        }
    });
}

/// One position of a basic slice. Its `Debug` is what Python's brackets hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum SliceItem {
    /// One index; removes the axis.
    At(i64),
    /// `start:stop:step` with Python's meaning.
    Range {
        /// First index.
        start: Option<i64>,
        /// Index to stop before.
        stop: Option<i64>,
        /// Step, not 0.
        step: i64,
    },
    /// `None` in Python: a new axis of length 1.
    NewAxis,
}

impl fmt::Debug for SliceItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SliceItem::At(i) => write!(f, "{i}"),
            SliceItem::NewAxis => f.write_str("None"),
            SliceItem::Range { start, stop, step } => {
                start.map_or(Ok(()), |i| write!(f, "{i}"))?;
                f.write_str(":")?;
                stop.map_or(Ok(()), |i| write!(f, "{i}"))?;
                if step == 1 {
                    Ok(())
                } else {
                    write!(f, ":{step}")
                }
            }
        }
    }
}

/// A basic slice. Axes without an item are taken whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BasicSlice {
    /// One item an axis, and new axes between them.
    pub items: Vec<SliceItem>,
}

/// A slice resolved against a shape.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    start: isize,
    steps: Steps,
    pub(super) shape: Shape,
}

/// Resolves the items of a slice against a shape.
pub(super) fn resolve(items: &[SliceItem], shape: &[usize]) -> Result<Resolved> {
    let used = items.iter().filter(|i| **i != SliceItem::NewAxis);
    if used.count() > shape.len() {
        return Err(Error::Index(format!(
            "too many indices for an array of shape {}",
            show_shape(shape)
        )));
    }
    let full = strides(shape);
    let mut out = Resolved {
        start: 0,
        steps: SmallVec::new(),
        shape: SmallVec::new(),
    };
    let mut axis = 0;
    for item in items {
        match *item {
            SliceItem::NewAxis => {
                out.steps.push(0);
                out.shape.push(1);
                continue;
            }
            SliceItem::At(i) => {
                let n = shape[axis] as i64;
                let at = if i < 0 { i + n } else { i };
                if !(0..n).contains(&at) {
                    return Err(Error::Index(format!(
                        "index {i} is out of range for axis {axis} of length {n}"
                    )));
                }
                out.start += full[axis] * at as isize;
            }
            SliceItem::Range { step: 0, .. } => {
                return Err(Error::Value("slice: the step cannot be 0".into()));
            }
            SliceItem::Range { start, stop, step } => {
                let (first, count) = range(start, stop, step, shape[axis] as i64);
                if count > 0 {
                    out.start += full[axis] * first as isize;
                }
                // A step is only taken if there are two elements, so it fits.
                out.steps.push(if count > 1 {
                    full[axis] * step as isize
                } else {
                    full[axis]
                });
                out.shape.push(count as usize);
            }
        }
        axis += 1;
    }
    for axis in axis..shape.len() {
        out.steps.push(full[axis]);
        out.shape.push(shape[axis]);
    }
    Ok(out)
}

/// First index and number of elements of `start:stop:step` over `n` elements, as
/// Python's `slice.indices` computes them.
pub(super) fn range(start: Option<i64>, stop: Option<i64>, step: i64, n: i64) -> (i64, i64) {
    let (low, high) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let clip = |i: i64| {
        let i = if i < 0 { i.saturating_add(n) } else { i };
        i.clamp(low, high)
    };
    let first = start.map_or(if step < 0 { high } else { low }, clip);
    let last = stop.map_or(if step < 0 { low } else { high }, clip);
    let distance = if step < 0 { first - last } else { last - first };
    let step = step.saturating_abs();
    let count = if distance <= 0 {
        0
    } else {
        (distance - 1) / step + 1
    };
    (first, count)
}

impl Operator for BasicSlice {
    linear!("slice", |op, g, x| {
        let items = op.items.clone();
        g.with_new(SliceAdjoint { items }, &[x[0]])
    });

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("slice", args)?;
        Ok(Type {
            dtype: x.dtype,
            shape: resolve(&self.items, &x.shape)?.shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let r = resolve(&self.items, args[0].shape)?;
        if let SliceMut::U32(out) = &mut out.data {
            copy_strided(args[0].indices(), r.start, &r.steps, &r.shape, out);
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            copy_strided(args[0].real::<T>(), r.start, &r.steps, &r.shape, out);
        });
        Ok(())
    }

    fn slice(&self) -> Option<&[SliceItem]> {
        Some(&self.items)
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        // It has all elements, so an axis of which it has one index has no other.
        let in_order = |i: &SliceItem| match i {
            SliceItem::Range { step, .. } => *step == 1,
            SliceItem::NewAxis | SliceItem::At(_) => true,
        };
        args[0].size() == out.size() && self.items.iter().all(in_order)
    }
}

/// Adds `x`, in C order, to a strided block of `out`.
pub(super) fn add_into<T: Number>(x: &[T], to: &Resolved, out: &mut [T]) {
    let n = to.shape.last().copied().unwrap_or(1);
    for_each_row(to.start, &to.steps, &to.shape, |start, step, row| {
        let x = &x[row * n..(row + 1) * n];
        if step == 1 {
            let out = &mut out[start as usize..start as usize + n];
            out.iter_mut().zip(x).for_each(|(o, &x)| *o += x);
        } else {
            for (i, &x) in x.iter().enumerate() {
                out[(start + i as isize * step) as usize] += x;
            }
        }
    });
}

/// Copies `x`, in C order, to a strided block of `out`.
fn copy_into<T: Real>(x: &[T], to: &Resolved, out: &mut [T]) {
    let n = to.shape.last().copied().unwrap_or(1);
    for_each_row(to.start, &to.steps, &to.shape, |start, step, row| {
        for (i, &x) in x[row * n..(row + 1) * n].iter().enumerate() {
            out[(start + i as isize * step) as usize] = x;
        }
    });
}

/// Zeros shaped as operand 1 with operand 0 where the slice was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceAdjoint {
    /// The slice.
    pub items: Vec<SliceItem>,
}

impl Operator for SliceAdjoint {
    linear!(
        "slice_adjoint",
        |op, g, _| {
            let items = op.items.clone();
            g.with_new(BasicSlice { items }, &[])
        },
        reads 1
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, like] = arity::<2>("slice_adjoint", args)?;
        real("slice_adjoint", g)?;
        let part = resolve(&self.items, &like.shape)?;
        same_shape("slice_adjoint", &part.shape, &g.shape)?;
        Ok(Type::new(g.dtype, &like.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let r = resolve(&self.items, out.shape)?;
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            out.fill(T::default());
            copy_into(args[0].real::<T>(), &r, out);
        });
        Ok(())
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for SliceAdjoint {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let r = resolve(&self.items, out.shape)?;
        with_real!(out.data.dtype(), T => {
            add_into(args[0].real::<T>(), &r, T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn like(&self) -> Option<usize> {
        Some(1)
    }

    fn rows(&self) -> Option<ScatteredRows<'_>> {
        let items = &self.items;
        Some(ScatteredRows::Slice { values: 0, items })
    }
}

/// Operand 0 with operand 1 where the slice was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceReplace {
    /// The slice.
    pub items: Vec<SliceItem>,
}

impl Operator for SliceReplace {
    fn name(&self) -> &str {
        "slice_replace"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, values] = arity::<2>("slice_replace", args)?;
        same_dtype("slice_replace", x, values)?;
        let part = resolve(&self.items, &x.shape)?;
        same_shape("slice_replace: values", &part.shape, &values.shape)?;
        Ok((*x).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let r = resolve(&self.items, out.shape)?;
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            out.copy_from_slice(args[0].real::<T>());
            copy_into(args[1].real::<T>(), &r, out);
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let items = self.items.clone();
        Some(match i {
            0 => g.with_new(SliceReplace { items }, &[x[1].zeros_like()]),
            _ => g.with_new(BasicSlice { items }, &[]),
        })
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Items to test and the shape they leave of (4, 3).
fn examples() -> Vec<(Vec<SliceItem>, &'static [usize])> {
    use SliceItem::{At, NewAxis, Range};
    let range = |start, stop, step| Range { start, stop, step };
    vec![
        (vec![At(-1)], &[3]),
        (vec![range(Some(1), None, 2)], &[2, 3]),
        (vec![range(None, None, -1), At(0)], &[4]),
        (vec![NewAxis, range(Some(-3), Some(-1), 1)], &[1, 2, 3]),
        (vec![At(2), At(1)], &[]),
        (vec![range(Some(3), Some(1), 1)], &[0, 3]),
        (vec![], &[4, 3]),
    ]
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "slice",
        formula: "x[start:stop:step, …]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |(items, _)| {
                let x = Argument::real(&[4, 3], ANY);
                Case::new(OpRef::new(BasicSlice { items }), vec![x])
            };
            examples().into_iter().map(case).collect()
        },
    },
    Entry {
        name: "slice_adjoint",
        formula: "zeros with g at [start:stop:step, …]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of a slice, among zeros"),
        cases: || {
            let case = |(items, shape): (_, &[usize])| {
                let args = vec![Argument::real(shape, ANY), Argument::shape_only(&[4, 3])];
                Case::new(OpRef::new(SliceAdjoint { items }), args)
            };
            examples().into_iter().map(case).collect()
        },
    },
    Entry {
        name: "slice_replace",
        formula: "x with others at [start:stop:step, …]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |(items, shape): (_, &[usize])| {
                let args = vec![Argument::real(&[4, 3], ANY), Argument::real(shape, ANY)];
                Case::new(OpRef::new(SliceReplace { items }), args)
            };
            examples().into_iter().map(case).collect()
        },
    },
];

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_pythons() {
        // (start, stop, step, n) -> list(range(*slice(start, stop, step).indices(n)))
        assert_eq!(range(None, None, 1, 5), (0, 5));
        assert_eq!(range(Some(-2), None, 1, 5), (3, 2));
        assert_eq!(range(None, None, -2, 5), (4, 3));
        assert_eq!(range(Some(10), Some(-10), -1, 3), (2, 3));
        assert_eq!(range(Some(i64::MIN), Some(i64::MAX), i64::MAX, 3), (0, 1));
        assert_eq!(range(None, None, i64::MIN, 3), (2, 1));
        assert_eq!(range(None, None, 1, 0), (0, 0));
        assert_eq!(range(None, None, -1, 0).1, 0);
    }
}
