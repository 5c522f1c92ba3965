//! Axes in another order.

use crate::array::{Real, Shape, SliceMut, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::rules::{Argument, Case, Entry, OpRef, Operator, arity, linear};

use super::slice::{copy_strided, strides};

/// Writes the transpose of a matrix of so many columns, by rows of four: each cache line of
/// the result is then visited few times.
fn transpose_matrix<T: Real>(x: &[T], columns: usize, out: &mut [T]) {
    let rows = x.len() / columns;
    let four = x.chunks_exact(4 * columns);
    let left = four.remainder();
    for (i, group) in four.enumerate() {
        let (a, rest) = group.split_at(columns);
        let (b, rest) = rest.split_at(columns);
        let (c, d) = rest.split_at(columns);
        let columns = a.iter().zip(b).zip(c).zip(d);
        for ((((&a, &b), &c), &d), out) in columns.zip(out.chunks_exact_mut(rows)) {
            out[4 * i..4 * i + 4].copy_from_slice(&[a, b, c, d]);
        }
    }
    for (i, row) in left.chunks_exact(columns).enumerate() {
        let i = rows - rows % 4 + i;
        for (&x, out) in row.iter().zip(out.chunks_exact_mut(rows)) {
            out[i] = x;
        }
    }
}

/// Permutes the axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Transpose {
    /// Axis `i` of the result is axis `axes[i]` of the operand.
    pub axes: Shape,
}

impl Operator for Transpose {
    linear!("transpose", |op, g, _| {
        let mut axes = op.axes.clone();
        for (i, &a) in op.axes.iter().enumerate() {
            axes[a] = i;
        }
        g.with_new(Transpose { axes }, &[])
    });

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("transpose", args)?;
        let each_once = (0..x.ndim()).all(|axis| self.axes.contains(&axis));
        if self.axes.len() != x.ndim() || !each_once {
            return Err(Error::Shape(format!(
                "transpose: axes {} are not a permutation of the axes of shape {}",
                show_shape(&self.axes),
                show_shape(&x.shape)
            )));
        }
        let mut shape = Shape::from_slice(&x.shape);
        for (n, &axis) in shape.iter_mut().zip(&self.axes) {
            *n = x.shape[axis];
        }
        Ok(Type {
            dtype: x.dtype,
            shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let from = strides(args[0].shape);
        let steps: smallvec::SmallVec<[isize; 4]> = self.axes.iter().map(|&a| from[a]).collect();
        if let SliceMut::U32(to) = &mut out.data {
            copy_strided(args[0].indices(), 0, &steps, out.shape, to);
            return Ok(());
        }
        if let &[_, columns] = args[0].shape
            && columns > 0
            && self.axes[..] == [1, 0]
        {
            with_real!(out.data.dtype(), T => {
                transpose_matrix(args[0].real::<T>(), columns, T::slice_mut(&mut out.data));
            });
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            copy_strided(args[0].real::<T>(), 0, &steps, out.shape, T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn aliases(&self, args: &[&Type], _out: &Type) -> bool {
        // Moving axes of length 1 moves no element.
        let long = |&&a: &&usize| args[0].shape[a] != 1;
        self.axes.iter().filter(long).is_sorted()
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "transpose",
    formula: "x with axes permuted",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let case = |axes: &[usize], shape: &[usize]| {
            let op = Transpose { axes: axes.into() };
            Case::new(OpRef::new(op), vec![Argument::real(shape, &[(-2.0, 2.0)])])
        };
        vec![
            case(&[1, 0], &[2, 3]),
            case(&[2, 0, 1], &[2, 3, 4]),
            case(&[1, 0], &[1, 3]),
            case(&[1, 0], &[0, 3]),
        ]
    },
}];
