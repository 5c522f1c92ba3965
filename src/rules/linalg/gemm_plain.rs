//! Products of matrices where the feature `linalg` is off.
//!
//! The kernel is `ndarray`'s (crate matrixmultiply), which the threads of `split` run on parts
//! of a large result. It packs its operands into memory of its own; products too small to be worth
//! that are vectorised loops and allocate nothing.

use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, linalg::general_mat_mul, s};

use crate::array::Real;
use crate::error::Result;
use crate::simd::{self, multiversion};
use crate::split;

/// An element type of matrices.
pub(super) trait Field: Real + ndarray::LinalgScalar {}
impl Field for f32 {}
impl Field for f64 {}

/// Below this many multiplications the packing of a blocked product costs more
/// than it saves (measured on x86-64 with AVX2 and AVX-512).
const SMALL: usize = 4096;

/// As [`SMALL`], for products that can be computed tile by tile in registers.
const TILED: usize = 1 << 16;

/// Rows, inner length and columns of a product.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
}

/// Parts of a large result are multiples of this, so that registers are full.
pub(super) const UNIT: usize = 32;

/// Writes the product of an `m` × `k` and a `k` × `n` matrix, by some threads. Either operand is given
/// transposed on request; all are in C order.
pub(super) fn multiply<T: Field>(
    [m, k, n]: [usize; 3],
    (a, ta): (&[T], bool),
    (b, tb): (&[T], bool),
    out: &mut [T],
    threads: usize,
) -> Result<()> {
    let s = Sizes { m, k, n };
    let work = m.saturating_mul(k).saturating_mul(n);
    if work <= TILED && !tb && s.m >= TILE.0 && s.n >= TILE.1 {
        tiled(a, b, out, s, ta);
    } else if work <= SMALL {
        small(a, b, out, s, ta, tb);
    } else {
        blocked(s, (a, ta), (b, tb), out, threads);
    }
    Ok(())
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

/// A product by the blocked kernel, by parts of the result's rows or columns.
fn blocked<T: Field>(
    s: Sizes,
    (a, ta): (&[T], bool),
    (b, tb): (&[T], bool),
    out: &mut [T],
    threads: usize,
) {
    /// A matrix, transposed on request.
    fn matrix<T>(x: &[T], rows: usize, columns: usize, transpose: bool) -> ArrayView2<'_, T> {
        let shape = (rows, columns);
        let shape = shape.set_f(transpose);
        ArrayView2::from_shape(shape, x).expect("operands have the sizes that were inferred")
    }
    let Sizes { m, k, n } = s;
    let a = matrix(a, m, k, ta);
    let b = matrix(b, k, n, tb);
    let mut out = ArrayViewMut2::from_shape((m, n), out).expect("the result has m·n elements");
    // Along the longer side, since the other operand is packed for every part; by columns if
    // there is none, since the kernel keeps more of the second operand in the cache.
    let axis = Axis(usize::from(n >= m));
    let width = split::part(m.max(n), threads, UNIT);
    let parts = out.axis_chunks_iter_mut(axis, width).enumerate();
    split::each(threads, parts, |(number, mut out)| {
        let start = number * width;
        let (a, b) = match axis {
            Axis(0) => (a.slice(s![start..start + out.nrows(), ..]), b),
            _ => (a, b.slice(s![.., start..start + out.ncols()])),
        };
        general_mat_mul(T::one(), &a, &b, T::zero(), &mut out);
    });
}
