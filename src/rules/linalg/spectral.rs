//! Eigenvalues of symmetric matrices, and singular values, with their vectors.
//!
//! An operator has one result, so values and vectors are rows of one array. The rules are Giles
//! 2008, "Collected matrix derivative results", section 3.1, and Townsend 2016, "Differentiating
//! the singular value decomposition". Both divide by differences of values. Where two values
//! coincide, to the precision of their type, vectors have no derivative: [`Ratio`] then refuses,
//! unless nothing was asked of the vectors. So the derivatives of values exist everywhere (of one
//! that is repeated, as one of the generalised gradients, as that of `max` is where elements are
//! equal); those of vectors are numbers or an error. That holds also for what would be smooth
//! there, such as `(V * w) @ V.T`: its derivative is not to be had from those of its parts. (Where
//! also the values are all zero nothing is asked of the vectors there, and the result, zero, is not
//! that function's derivative.)

use crate::array::{Real, Type, Typed, View, ViewMut, element_count, show_shape, with_real};
use crate::decompose::{self, Svd as Decomposed};
use crate::error::{Error, Result};

use super::batch::{each, instead, sides, square};
use super::cholesky::lower_triangle;
use super::determinant::not_finite;
use crate::rules::{
    Argument, Case, Diagonal, DiagonalMatrix, Entry, Ex, Key, OpRef, Operator, SliceItem, Take,
    arity, real, rows_and_columns, same_dtype,
};

/// The rows before the last, or after the first, of matrices.
fn rows<'t>(x: Ex<'t>, start: Option<i64>, stop: Option<i64>) -> Ex<'t> {
    let all = SliceItem::Range {
        start: None,
        stop: None,
        step: 1,
    };
    let mut items = vec![all; x.ndim() - 1];
    items[x.ndim() - 2] = SliceItem::Range {
        start,
        stop,
        step: 1,
    };
    x.with_new(Take { items }, &[])
}

/// One row of matrices.
fn row(x: Ex<'_>, at: i64) -> Ex<'_> {
    let all = SliceItem::Range {
        start: None,
        stop: None,
        step: 1,
    };
    let mut items = vec![all; x.ndim() - 1];
    items[x.ndim() - 2] = SliceItem::At(at);
    x.with_new(Take { items }, &[])
}

fn ratio<'t>(x: Ex<'t>, y: Ex<'t>, asked: Ex<'t>) -> Ex<'t> {
    x.with(&Ratio, &[y, asked])
}

fn antisymmetric(x: Ex<'_>) -> Ex<'_> {
    x - x.matrix_transpose()
}

fn diagonal_matrix(x: Ex<'_>) -> Ex<'_> {
    x.with_new(DiagonalMatrix { k: 0 }, &[])
}

/// Eigenvectors as columns, and the eigenvalues, ascending, as a last row: (n + 1) × n. The lower
/// triangle is read, as by NumPy, and has the gradient (see [`super::Cholesky`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Eigh;

impl Operator for Eigh {
    fn name(&self) -> &str {
        "eigh"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("eigh", args)?;
        let n = square("eigh", x)?;
        instead(x, &[n.saturating_add(1), n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [_, n] = rows_and_columns(out.shape);
        each(args, &mut out, 2, &mut |x, out| {
            let found = decompose::eigh(x[0], n);
            let (values, vectors) = found.ok_or_else(|| not_finite("eigh"))?;
            let (to, last) = out.split_at_mut(n * n);
            to.copy_from_slice(&decompose::transposed(&vectors, n));
            last.copy_from_slice(&values);
            Ok(())
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (v, w) = (rows(y, None, Some(-1)), row(y, -1));
        let (by_v, by_w) = (rows(g, None, Some(-1)), row(g, -1));
        let turn = antisymmetric(v.matmul(by_v, true, false)) * 0.5;
        let gaps = w.with_new(Pairs { sum: false }, &[]);
        let inner = ratio(turn, gaps, by_v) + diagonal_matrix(by_w);
        let full = v.matmul(inner, false, false).matmul(v, false, true);
        Some(lower_triangle(full))
    }
}

/// The k = min(m, n) singular values, descending, as a row; below it the left singular vectors
/// as m × k, below them the right ones as n × k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Svd;

impl Operator for Svd {
    fn name(&self) -> &str {
        "svd"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("svd", args)?;
        let [m, n] = sides("svd", x)?;
        let rows = m.saturating_add(n).saturating_add(1);
        instead(x, &[rows, m.min(n)])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [m, n] = rows_and_columns(args[0].shape);
        each(args, &mut out, 2, &mut |x, out| {
            let found = decompose::svd(x[0], m, n);
            let Decomposed {
                values,
                left,
                right,
            } = found.ok_or_else(|| not_finite("svd"))?;
            let (first, vectors) = out.split_at_mut(m.min(n));
            let (u, v) = vectors.split_at_mut(left.len());
            first.copy_from_slice(&values);
            u.copy_from_slice(&decompose::transposed(&left, m));
            v.copy_from_slice(&decompose::transposed(&right, n));
            Ok(())
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (s, by_s) = (row(y, 0), row(g, 0));
        let [u, v] = rows(y, Some(1), None).halves(x[0]);
        let asked = rows(g, Some(1), None);
        let [by_u, by_v] = asked.halves(x[0]);
        let (inside_u, inside_v) = (u.matmul(by_u, true, false), v.matmul(by_v, true, false));
        let (turn_u, turn_v) = (antisymmetric(inside_u), antisymmetric(inside_v));
        let gaps = s.with_new(Pairs { sum: false }, &[]);
        let sums = s.with_new(Pairs { sum: true }, &[]);
        // (Aᵢⱼ sⱼ + sᵢ Bᵢⱼ) / (sⱼ² - sᵢ²), by partial fractions.
        let turns = ratio(turn_u + turn_v, gaps, asked) + ratio(turn_u - turn_v, sums, asked);
        let inner = turns * 0.5 + diagonal_matrix(by_s);
        let inside = u.matmul(inner, false, false).matmul(v, false, true);
        // Values that count as zero are zero in the sums.
        let s = sums.with_new(Diagonal { k: 0 }, &[]) * 0.5;
        let lengths = s.expand_dims(&[s.ndim() - 1]);
        let divided = |x: Ex<'t>| ratio(x, lengths.broadcast_like(x), asked);
        let outside_u = divided(by_u - u.matmul(inside_u, false, false));
        let outside_v = divided(by_v - v.matmul(inside_v, false, false));
        Some(inside + outside_u.matmul(v, false, true) + u.matmul(outside_v, false, true))
    }
}

/// xⱼ - xᵢ for all pairs of the last axis, with ones along the diagonal; or xⱼ + xᵢ. What is
/// zero to the precision of the largest is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pairs {
    /// Sums in place of differences.
    pub sum: bool,
}

fn pairs<T: Real>(x: &[T], sum: bool, out: &mut [T]) {
    let n = x.len();
    let largest = x.iter().fold(T::zero(), |m, x| m.max(x.abs()));
    let zero = largest * T::epsilon() * T::of(n as f64);
    for (i, out) in out.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, o) in out.iter_mut().enumerate() {
            let pair = if sum { x[j] + x[i] } else { x[j] - x[i] };
            *o = if i == j && !sum {
                T::one()
            } else if pair.abs() <= zero {
                T::zero()
            } else {
                pair
            };
        }
    }
}

impl Operator for Pairs {
    fn name(&self) -> &str {
        "pairs"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("pairs", args)?;
        real("pairs", x)?;
        let Some(&n) = x.shape.last() else {
            return Err(Error::Shape(
                "pairs: expected at least one axis, got a single number".into(),
            ));
        };
        let mut ty = x.clone();
        ty.shape.push(n);
        element_count(&ty.shape)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = out.shape[out.shape.len() - 1].max(1);
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n * n)) {
                pairs(x, self.sum, out);
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let over = |axis: usize| g.sum([axis][..].into(), false);
        let (by_j, by_i) = (over(g.ndim() - 2), over(g.ndim() - 1));
        Some(if self.sum { by_j + by_i } else { by_j - by_i })
    }
}

/// x / y; where y is 0, it is 0 if a third operand is zero everywhere, and else an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio;

/// Whether the ratios exist, which they do wherever nothing is divided by 0.
fn divide<T: Real>(x: &[T], y: &[T], out: &mut [T]) -> bool {
    let mut exists = true;
    for ((o, &x), &y) in out.iter_mut().zip(x).zip(y) {
        exists &= y != T::zero();
        *o = if y == T::zero() { y } else { x / y };
    }
    exists
}

impl Operator for Ratio {
    fn name(&self) -> &str {
        "ratio"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, y, asked] = arity::<3>("ratio", args)?;
        same_dtype("ratio", x, y)?;
        same_dtype("ratio", x, asked)?;
        if x.shape != y.shape {
            return Err(Error::Shape(format!(
                "ratio: shapes {} and {} differ",
                show_shape(&x.shape),
                show_shape(&y.shape)
            )));
        }
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let exists = with_real!(out.data.dtype(), T => {
            let to = T::slice_mut(&mut out.data);
            divide::<T>(args[0].real(), args[1].real(), to)
                || args[2].real::<T>().iter().all(|&asked| asked == T::default())
        });
        exists.then_some(()).ok_or_else(|| {
            Error::LinAlg(
                "there is no derivative: eigenvectors or singular vectors cannot be \
                 differentiated where two of their values coincide, or a singular value is 0"
                    .into(),
            )
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        match i {
            0 => Some(ratio(g, x[1], x[2])),
            1 => Some(-ratio(g * y, x[1], x[2])),
            _ => None,
        }
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "eigh",
        formula: "V and w, with x = V diag(w) Vᵀ",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [&[usize]; 5] = [&[3, 3], &[2, 2, 2], &[1, 1], &[0, 0], &[0, 2, 2]];
            let case = |x| Case::new(OpRef::Static(&Eigh), vec![Argument::dominant(x)]);
            shapes.map(case).into()
        },
    },
    Entry {
        name: "svd",
        formula: "s, U and V, with x = U diag(s) Vᵀ",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [&[usize]; 7] = [
                &[3, 3],
                &[4, 2],
                &[2, 2, 3],
                &[1, 1],
                &[0, 0],
                &[2, 0],
                &[0, 2, 2],
            ];
            let case = |x| Case::new(OpRef::Static(&Svd), vec![Argument::dominant(x)]);
            shapes.map(case).into()
        },
    },
    Entry {
        name: "pairs",
        formula: "x_j ∓ x_i",
        source: "definition",
        reference: None,
        internal: Some("what the gradients of eigenvectors and singular vectors divide by"),
        cases: || {
            let shapes: [&[usize]; 4] = [&[3], &[2, 2], &[0], &[0, 2]];
            let case = |x: &[usize]| {
                [false, true].map(|sum| {
                    let args = vec![Argument::distinct(x, &[(0.5, 3.0)])];
                    Case::new(OpRef::new(Pairs { sum }), args)
                })
            };
            shapes.into_iter().flat_map(case).collect()
        },
    },
    Entry {
        name: "ratio",
        formula: "x / y, 0 where y = 0 if nothing is asked",
        source: "definition",
        reference: None,
        internal: Some("divides in them, and refuses where there is no derivative"),
        cases: || {
            let shapes: [&[usize]; 4] = [&[3], &[2, 3], &[], &[0]];
            let case = |x: &[usize]| {
                let args = vec![
                    Argument::real(x, &[(-2.0, 2.0)]),
                    Argument::real(x, &[(-2.0, -0.5), (0.5, 2.0)]),
                    Argument::real(&[2], &[(1.0, 1.0)]),
                ];
                Case::new(OpRef::Static(&Ratio), args)
            };
            shapes.map(case).into()
        },
    },
];
