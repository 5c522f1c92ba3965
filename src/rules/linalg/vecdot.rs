//! Dot products of rows, and rows times a number each: one is the gradient of the other.

use crate::array::{Real, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::simd::{self, by_width, multiversion, rows};

use crate::rules::{Argument, Case, Entry, Ex, Form, OpRef, Operator, arity, same_dtype};

/// Dot products of the rows (last axis) of two arrays of the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VecDot;

multiversion! {
    fn dot_rows<T: Real>(m: M, a: &[T], b: &[T], n: usize, out: &mut [T]) {
        by_width!(M, T, n, [32, 64], N => {
            for ((o, a), b) in out.iter_mut().zip(rows(a, N)).zip(rows(b, N)) {
                *o = simd::dot::dot(m, a, b);
            }
        })
    }
}

impl Operator for VecDot {
    fn name(&self) -> &str {
        "vecdot"
    }

    fn form(&self) -> Form {
        Form::RowDot
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [a, b] = arity::<2>("vecdot", args)?;
        same_dtype("vecdot", a, b)?;
        if a.shape != b.shape || a.ndim() == 0 {
            return Err(Error::Shape(format!(
                "vecdot: expected two arrays of one shape with a last axis, got shapes {} and {}",
                show_shape(&a.shape),
                show_shape(&b.shape)
            )));
        }
        Ok(Type::new(a.dtype, &a.shape[..a.ndim() - 1]))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = args[0].shape[args[0].shape.len() - 1];
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            if n == 0 {
                out.fill(T::default());
            } else {
                dot_rows(args[0].real::<T>(), args[1].real::<T>(), n, out);
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.row_scale(x[1 - i]))
    }
}

/// Each row (last axis) of operand 1 times one element of operand 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowScale;

multiversion! {
    fn scale_rows<T: Real>(s: &[T], rows: &[T], n: usize, out: &mut [T]) {
        for ((o, &s), r) in out.chunks_exact_mut(n).zip(s).zip(rows.chunks_exact(n)) {
            for (o, &r) in o.iter_mut().zip(r) {
                *o = s * r;
            }
        }
    }
}

impl Operator for RowScale {
    fn name(&self) -> &str {
        "row_scale"
    }

    fn form(&self) -> Form {
        Form::RowProduct
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [s, rows] = arity::<2>("row_scale", args)?;
        same_dtype("row_scale", s, rows)?;
        if rows.ndim() == 0 || s.shape[..] != rows.shape[..rows.ndim() - 1] {
            return Err(Error::Shape(format!(
                "row_scale: shape {} is not one number a row of shape {}",
                show_shape(&s.shape),
                show_shape(&rows.shape)
            )));
        }
        Ok(rows.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = args[1].shape[args[1].shape.len() - 1];
        with_real!(out.data.dtype(), T => {
            if n > 0 {
                scale_rows(args[0].real::<T>(), args[1].real::<T>(), n, T::slice_mut(&mut out.data));
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(if i == 0 {
            g.vecdot(x[1])
        } else {
            x[0].row_scale(g)
        })
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

fn pairs(op: OpRef, shapes: &[(&[usize], &[usize])]) -> Vec<Case> {
    let case = |&(a, b): &(&[usize], &[usize])| {
        Case::new(
            op.clone(),
            vec![Argument::real(a, ANY), Argument::real(b, ANY)],
        )
    };
    shapes.iter().map(case).collect()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "vecdot",
        formula: "Σ_k a_…k b_…k",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: &[(&[usize], &[usize])] = &[
                (&[5], &[5]),
                (&[3, 4], &[3, 4]),
                (&[2, 3, 40], &[2, 3, 40]),
                (&[3, 0], &[3, 0]),
                (&[0, 3], &[0, 3]),
            ];
            pairs(OpRef::Static(&VecDot), shapes)
        },
    },
    Entry {
        name: "row_scale",
        formula: "s_… r_…k",
        source: "definition",
        reference: None,
        internal: Some("the gradient of vecdot"),
        cases: || {
            let shapes: &[(&[usize], &[usize])] = &[
                (&[], &[5]),
                (&[3], &[3, 4]),
                (&[2, 3], &[2, 3, 4]),
                (&[0], &[0, 4]),
            ];
            pairs(OpRef::Static(&RowScale), shapes)
        },
    },
];
