//! Matrix products, batched, with either operand transposed.
//!
//! Transposition is an attribute, so that gradients need no transposed copies.
//! The kernel is `ndarray`'s (crate matrixmultiply); products too small to be
//! worth packing run as vectorised loops and allocate nothing.

use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul};

use crate::array::{
    Broadcast, Real, Shape, Type, Typed, View, ViewMut, broadcast, show_shape, size, with_real,
};
use crate::error::{Error, Result};
use crate::simd::{self, multiversion};

use super::{Argument, Case, Entry, Ex, OpRef, Operator, arity, same_dtype};

/// Below this many multiplications the packing of a blocked product costs more
/// than it saves (measured on x86-64 with AVX2 and AVX-512).
const SMALL: usize = 4096;

/// As [`SMALL`], for products that can be computed tile by tile in registers.
const TILED: usize = 1 << 16;

/// Matrix product over the last two axes; leading axes broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatMul {
    /// Use the transpose of operand 0.
    pub transpose_a: bool,
    /// Use the transpose of operand 1.
    pub transpose_b: bool,
}

/// Rows, inner length and columns of one product.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
}

impl MatMul {
    /// Sizes of the product, or `None` if the inner lengths differ.
    fn sizes(self, a: &[usize], b: &[usize]) -> Option<Sizes> {
        let [.., a0, a1] = *a else { return None };
        let [.., b0, b1] = *b else { return None };
        let (m, k) = if self.transpose_a { (a1, a0) } else { (a0, a1) };
        let (l, n) = if self.transpose_b { (b1, b0) } else { (b0, b1) };
        (k == l).then_some(Sizes { m, k, n })
    }
}

/// Rows and columns of the result that are kept in registers at once.
const TILE: (usize, usize) = (4, 16);

multiversion! {
    /// A product whose second operand is not transposed and whose result holds at least one
    /// tile. The last tiles overlap the ones before, so that all are whole.
    fn tiled<T: Real>(a: &[T], b: &[T], out: &mut [T], s: Sizes, ta: bool) {
        const ROWS: usize = TILE.0;
        const COLUMNS: usize = TILE.1;
        let Sizes { m, k, n } = s;
        // Where a row of the first operand starts, and the step along it.
        let (start, step) = if ta { (1, m) } else { (k, 1) };
        for j in (0..n).step_by(COLUMNS) {
            let j = j.min(n - COLUMNS);
            for i in (0..m).step_by(ROWS) {
                let i = i.min(m - ROWS);
                let mut sums = [[T::zero(); COLUMNS]; ROWS];
                for (l, b) in b.chunks_exact(n).enumerate() {
                    let Some(b) = b[j..].first_chunk::<COLUMNS>() else {
                        return;
                    };
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = a[(i + r) * start + l * step];
                        for c in 0..COLUMNS {
                            sums[c] = simd::mul_add::<M, T>(x, b[c], sums[c]);
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    let at = (i + r) * n + j;
                    out[at..at + COLUMNS].copy_from_slice(sums);
                }
            }
        }
        debug_assert_eq!(b.len(), k * n);
    }
}

multiversion! {
    fn small<T: Real>(machine: M, a: &[T], b: &[T], out: &mut [T], s: Sizes, ta: bool, tb: bool) {
        let Sizes { m, k, n } = s;
        if tb && !ta {
            for (a, out) in a.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
                for (b, o) in b.chunks_exact(k).zip(out) {
                    *o = simd::dot::dot(machine, a, b);
                }
            }
            return;
        }
        out.fill(T::default());
        for (i, out) in out.chunks_exact_mut(n).enumerate() {
            for l in 0..k {
                let x = if ta { a[l * m + i] } else { a[i * k + l] };
                if tb {
                    for (j, o) in out.iter_mut().enumerate() {
                        *o += x * b[j * k + l];
                    }
                } else {
                    simd::dot::axpy(machine, x, &b[l * n..(l + 1) * n], out);
                }
            }
        }
    }
}

/// One product of contiguous matrices.
fn product<T: Real + ndarray::LinalgScalar>(
    op: MatMul,
    s: Sizes,
    a: &[T],
    b: &[T],
    out: &mut [T],
) -> Result<()> {
    let Sizes { m, k, n } = s;
    if m * n == 0 {
        return Ok(());
    }
    if k == 0 {
        out.fill(T::default());
        return Ok(());
    }
    let work = m.saturating_mul(k).saturating_mul(n);
    if work <= TILED && !op.transpose_b && m >= TILE.0 && n >= TILE.1 {
        tiled(a, b, out, s, op.transpose_a);
        return Ok(());
    }
    if work <= SMALL {
        small(a, b, out, s, op.transpose_a, op.transpose_b);
        return Ok(());
    }
    let bug = |e: ndarray::ShapeError| Error::Shape(format!("matmul: {e}"));
    let a = if op.transpose_a {
        ArrayView2::from_shape((k, m), a)
            .map_err(bug)?
            .reversed_axes()
    } else {
        ArrayView2::from_shape((m, k), a).map_err(bug)?
    };
    let b = if op.transpose_b {
        ArrayView2::from_shape((n, k), b)
            .map_err(bug)?
            .reversed_axes()
    } else {
        ArrayView2::from_shape((k, n), b).map_err(bug)?
    };
    let mut out = ArrayViewMut2::from_shape((m, n), out).map_err(bug)?;
    general_mat_mul(T::one(), &a, &b, T::zero(), &mut out);
    Ok(())
}

impl Operator for MatMul {
    fn name(&self) -> &str {
        "matmul"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [a, b] = arity::<2>("matmul", args)?;
        same_dtype("matmul", a, b)?;
        let Some(Sizes { m, n, .. }) = self.sizes(&a.shape, &b.shape) else {
            return Err(Error::Shape(format!(
                "matmul: shapes {}{} and {}{} do not fit",
                show_shape(&a.shape),
                if self.transpose_a {
                    " (transposed)"
                } else {
                    ""
                },
                show_shape(&b.shape),
                if self.transpose_b {
                    " (transposed)"
                } else {
                    ""
                },
            )));
        };
        let lead = [&a.shape[..a.ndim() - 2], &b.shape[..b.ndim() - 2]];
        let mut shape = broadcast("matmul", lead.into_iter())?;
        shape.extend([m, n]);
        crate::array::element_count(&shape)?;
        Ok(Type {
            dtype: a.dtype,
            shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (a, b) = (args[0].shape, args[1].shape);
        let Some(s) = self.sizes(a, b) else {
            unreachable!("infer admits matching sizes only");
        };
        // Walk the leading axes with the matrices as runs of one element.
        let lead = |shape: &[usize]| Shape::from_slice(&shape[..shape.len() - 2]);
        let (la, lb, lo) = (lead(a), lead(b), lead(out.shape));
        let (ma, mb, mo) = (s.m * s.k, s.k * s.n, s.m * s.n);
        with_real!(out.data.dtype(), T => {
            let (x, y) = (args[0].real::<T>(), args[1].real::<T>());
            let out = T::slice_mut(&mut out.data);
            if lo.is_empty() {
                return product(*self, s, x, y, out);
            }
            let walk = Broadcast::new(&lo, [&la[..], &lb[..]].into_iter());
            let mut result = Ok(());
            walk.for_each(|offsets, number| {
                for r in 0..walk.run() {
                    let i = offsets[0] + if walk.is_splat(0) { 0 } else { r };
                    let j = offsets[1] + if walk.is_splat(1) { 0 } else { r };
                    let o = number * walk.run() + r;
                    let one = product(
                        *self,
                        s,
                        &x[i * ma..(i + 1) * ma],
                        &y[j * mb..(j + 1) * mb],
                        &mut out[o * mo..(o + 1) * mo],
                    );
                    if one.is_err() {
                        result = one;
                    }
                }
            });
            debug_assert_eq!(size(&lo) * mo, out.len());
            result
        })
    }

    fn transposes(&self, i: usize) -> bool {
        [self.transpose_a, self.transpose_b][i]
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (ta, tb) = (self.transpose_a, self.transpose_b);
        let grad = match (i, ta, tb) {
            (0, false, _) => g.matmul(x[1], false, !tb),
            (0, true, _) => x[1].matmul(g, tb, true),
            (_, _, false) => x[0].matmul(g, !ta, false),
            (_, _, true) => g.matmul(x[0], true, ta),
        };
        Some(grad.sum_to(x[i]))
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "matmul",
    formula: "Σ_k a_ik b_kj",
    source: "definition",
    reference: None,
    cases: || {
        let mut cases = Vec::new();
        let sizes: [([usize; 3], &[usize], &[usize]); 6] = [
            ([2, 3, 4], &[], &[]),
            ([1, 5, 1], &[], &[]),
            ([2, 0, 3], &[], &[]),
            ([20, 18, 17], &[], &[]),
            ([2, 3, 2], &[3], &[]),
            ([2, 3, 2], &[2, 1], &[3]),
        ];
        for ([m, k, n], lead_a, lead_b) in sizes {
            for (transpose_a, transpose_b) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let join = |lead: &[usize], r, c, t| {
                    let tail = if t { [c, r] } else { [r, c] };
                    [lead, &tail].concat()
                };
                let a = join(lead_a, m, k, transpose_a);
                let b = join(lead_b, k, n, transpose_b);
                cases.push(Case::new(
                    OpRef::new(MatMul {
                        transpose_a,
                        transpose_b,
                    }),
                    vec![Argument::real(&a, ANY), Argument::real(&b, ANY)],
                ));
            }
        }
        cases
    },
}];
