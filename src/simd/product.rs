//! Products of small matrices, added to a matrix: `out += A·B`, with any strides of A.
//!
//! Four rows by some registers of the result are held in registers while the inner axis is gone
//! through, without packing anything. For matrices that are in the cache already, such as a block of
//! vectors times a matrix of a few hundred rows, or `XᵀX` of a block of rows X: a transpose is a matter
//! of strides. `matrixmultiply` and `faer` pack operands first, which pays for larger ones.
//!
//! An element is summed in the order of the inner axis, whatever part of the result is computed: a row
//! alone has the bits that it has among others.
//!
//! Limits: columns are a multiple of [`UNIT`], so that every register is whole.

use crate::simd::dot::with_register;
use crate::simd::four::UNIT;
use crate::simd::multiversion;
use crate::simd::vector::Vector;
use crate::simd::{Isa, Real};

/// A matrix within a slice.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    /// The elements.
    pub(crate) of: &'a [T],
    /// From a row to the next.
    pub(crate) row: usize,
    /// From a column to the next.
    pub(crate) column: usize,
}

multiversion! {
    /// Adds the product of A, of shape (rows, inner), and B, (inner, columns), to `out`, (rows, columns).
    /// A row of `b` and of `out` is contiguous, and begins `stride` elements after the last.
    ///
    /// # Panics
    /// If a matrix is not within its slice, or columns are not a multiple of [`UNIT`].
    pub(crate) fn add_product<T: Real>(
        _machine: M,
        sizes: [usize; 3],
        a: Strided<'_, T>,
        b: &[T],
        out: &mut [T],
        stride: usize,
    ) {
        let [rows, inner, columns] = sizes;
        if rows == 0 || inner == 0 || columns == 0 {
            return;
        }
        assert!(columns <= stride && columns.is_multiple_of(UNIT));
        assert!((rows - 1) * a.row + (inner - 1) * a.column < a.of.len());
        assert!((inner - 1) * stride + columns <= b.len());
        assert!((rows - 1) * stride + columns <= out.len());
        let tile = Tile {
            a: a.of.as_ptr(),
            row: a.row,
            column: a.column,
            b: b.as_ptr(),
            out: out.as_mut_ptr(),
            stride,
            inner,
        };
        with_register!(M, T, strips(rows, columns, tile));
    }
}

/// The result, or the part of it that begins at the pointers.
#[derive(Clone, Copy)]
struct Tile<T> {
    a: *const T,
    row: usize,
    column: usize,
    b: *const T,
    out: *mut T,
    stride: usize,
    inner: usize,
}

/// Adds the product to so many rows and columns.
///
/// # Safety
///
/// The instruction set of `V` is available; columns are a multiple of [`UNIT`], and all rows and columns
/// of the three matrices are valid for reading, those of `out` for writing.
#[inline(always)]
unsafe fn strips<V: Vector<T>, T: Real>(rows: usize, columns: usize, mut tile: Tile<T>) {
    // SAFETY: by the conditions of this function. A register has 4, 8 or 16 elements, so that two or
    // four of them are a multiple of 16, as is one of 16.
    unsafe {
        if V::LANES == UNIT {
            let wide = columns / (4 * UNIT);
            for _ in 0..wide {
                tile.strip::<V, 4>(rows);
                tile = tile.columns_on(4 * UNIT);
            }
            for _ in 0..columns / UNIT - 4 * wide {
                tile.strip::<V, 1>(rows);
                tile = tile.columns_on(UNIT);
            }
        } else {
            for _ in 0..columns / (2 * V::LANES) {
                tile.strip::<V, 2>(rows);
                tile = tile.columns_on(2 * V::LANES);
            }
        }
    }
}

impl<T: Real> Tile<T> {
    /// What is so many columns on.
    #[inline(always)]
    fn columns_on(mut self, columns: usize) -> Self {
        self.b = self.b.wrapping_add(columns);
        self.out = self.out.wrapping_add(columns);
        self
    }

    /// What is so many rows on.
    #[inline(always)]
    fn rows_on(mut self, rows: usize) -> Self {
        self.a = self.a.wrapping_add(rows * self.row);
        self.out = self.out.wrapping_add(rows * self.stride);
        self
    }

    /// Adds the product to so many rows and C registers.
    ///
    /// # Safety
    ///
    /// As for [`add`](Self::add).
    #[inline(always)]
    unsafe fn strip<V: Vector<T>, const C: usize>(mut self, rows: usize) {
        for _ in 0..rows / 4 {
            // SAFETY: by the conditions of this function.
            unsafe { self.add::<V, 4, C>() };
            self = self.rows_on(4);
        }
        for _ in 0..rows % 4 {
            // SAFETY: by the conditions of this function.
            unsafe { self.add::<V, 1, C>() };
            self = self.rows_on(1);
        }
    }

    /// Adds the product to R rows and C registers.
    ///
    /// # Safety
    ///
    /// The instruction set of `V` is available; so many rows and columns of the three matrices are valid
    /// for reading, of `out` for writing.
    #[expect(
        clippy::needless_range_loop,
        reason = "loops of constant length are unrolled, those over iterators not always inlined"
    )]
    #[inline(always)]
    unsafe fn add<V: Vector<T>, const R: usize, const C: usize>(self) {
        // SAFETY: by the conditions of this function.
        unsafe {
            let mut sums = [[V::splat(T::zero()); C]; R];
            for k in 0..self.inner {
                let mut b = [V::splat(T::zero()); C];
                for c in 0..C {
                    b[c] = V::load(self.b.add(k * self.stride + c * V::LANES));
                }
                for r in 0..R {
                    let a = V::splat(self.a.add(r * self.row + k * self.column).read());
                    for c in 0..C {
                        sums[r][c] = a.mul_add(b[c], sums[r][c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..C {
                    let at = self.out.add(r * self.stride + c * V::LANES);
                    V::load(at).add(sums[r][c]).store(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Strided, add_product};

    fn integers(count: usize, seed: usize) -> Vec<f32> {
        (0..count)
            .map(|i| ((i * 7 + seed) % 5) as f32 - 2.0)
            .collect()
    }

    #[test]
    fn it_equals_plain_loops_on_integers_of_all_shapes() {
        for rows in [0, 1, 3, 4, 5, 9] {
            for inner in [0, 1, 6] {
                for columns in [16, 32, 48, 64, 80, 128, 144] {
                    let stride = columns + 16;
                    let (a, b) = (integers(rows * inner, 1), integers(inner * stride, 2));
                    for (row, column) in [(inner, 1), (1, rows)] {
                        let mut out = integers(rows * stride, 3);
                        let mut expected = out.clone();
                        for (r, c, k) in (0..rows).flat_map(|r| {
                            (0..columns).flat_map(move |c| (0..inner).map(move |k| (r, c, k)))
                        }) {
                            expected[r * stride + c] += a[r * row + k * column] * b[k * stride + c];
                        }
                        let a = Strided {
                            of: &a,
                            row,
                            column,
                        };
                        add_product([rows, inner, columns], a, &b, &mut out, stride);
                        assert_eq!(out, expected, "{rows} x {inner} x {columns}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "b.len()")]
    fn a_matrix_beyond_its_slice_is_refused() {
        let a = Strided {
            of: &[1.0; 2],
            row: 2,
            column: 1,
        };
        add_product([1, 2, 16], a, &[0.0; 31], &mut [0.0; 16], 16);
    }
}
