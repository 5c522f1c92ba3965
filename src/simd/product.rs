//! Products of matrices that are in a cache: `out = A·B`, or `out += A·B`.
//!
//! Some rows by some registers of the result are held in registers while the inner axis is gone through
//! ([`Tile`]). Operands are read as they are laid out, or packed in panels of as many rows or columns as a
//! tile has ([`pack`]), so that a tile reads memory in sequence.
//!
//! An element is summed in the order of the inner axis, whatever part of the result is computed, and
//! whether something is packed: a row alone has the bits that it has among others.
//!
//! Limits: sums are in the precision of the elements, one after the other.

use crate::simd::four::UNIT;
use crate::simd::multiversion;
use crate::simd::vector::Vector;
use crate::simd::{Isa, Real};

/// Rows of a tile, and of a packed panel of A.
pub(crate) const TALL: usize = 6;

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

/// Adds the product of A, of shape (rows, inner), and B, (inner, columns), to `out`, (rows, columns).
/// A row of `b` and of `out` is contiguous, and begins `stride` elements after the last.
///
/// # Panics
/// If a matrix is not within its slice, or columns are not a multiple of [`UNIT`].
pub(crate) fn add_product<T: Real>(
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
    let a = Left {
        at: a.of.as_ptr(),
        row: a.row,
        column: a.column,
        is_packed: false,
    };
    let b = Right {
        at: b.as_ptr(),
        row: stride,
        is_packed: false,
    };
    // SAFETY: the assertions say that all elements are within the slices.
    multiply(unsafe { BlockProduct::new(sizes, a, b, (out.as_mut_ptr(), stride), true) });
}

/// Copies vectors, of `inner` elements each, in panels of so many vectors: a panel has the first elements
/// of its vectors, then the second ones, and so on. The last panel has what is left.
///
/// # Safety
/// `from` is valid for reading the first element of a vector every `vector` elements and an element of each
/// every `step`, `to` for writing them all.
pub(crate) unsafe fn pack<T: Real>(
    [count, inner]: [usize; 2],
    (from, vector, step): (*const T, usize, usize),
    mut to: *mut T,
    panel: usize,
) {
    /// Elements of a vector that are on one line of a cache.
    const NEIGHBOURS: usize = 16;
    for first in (0..count).step_by(panel) {
        let width = panel.min(count - first);
        // SAFETY: all places are in range, by the condition of the function: `first + v < count`, and
        // `at < inner`; the panel before was full.
        unsafe {
            let from = from.add(first * vector);
            if vector == 1 {
                for at in 0..inner {
                    from.add(at * step)
                        .copy_to_nonoverlapping(to.add(at * width), width);
                }
            } else {
                for start in (0..inner).step_by(NEIGHBOURS) {
                    for v in 0..width {
                        for at in start..inner.min(start + NEIGHBOURS) {
                            *to.add(at * width + v) = *from.add(v * vector + at * step);
                        }
                    }
                }
            }
            to = to.add(width * inner);
        }
    }
}

/// The left operand of a block.
#[derive(Clone, Copy)]
pub(crate) struct Left<T> {
    pub(crate) at: *const T,
    /// From a row to the next, and from a column, if it is not packed.
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// In panels of as many rows as a tile has.
    pub(crate) is_packed: bool,
}

/// The right operand of a block: columns are side by side.
#[derive(Clone, Copy)]
pub(crate) struct Right<T> {
    pub(crate) at: *const T,
    /// From a row to the next, if it is not packed.
    pub(crate) row: usize,
    /// In panels of [`panel`] columns.
    pub(crate) is_packed: bool,
}

/// A product of blocks, whose elements may be read, and those of the result written.
#[derive(Clone, Copy)]
pub(crate) struct BlockProduct<T> {
    /// Rows, inner length and columns.
    sizes: [usize; 3],
    a: Left<T>,
    b: Right<T>,
    out: *mut T,
    /// From a row of the result to the next.
    row: usize,
    /// Whether the product is added to what stands there.
    adds: bool,
}

impl<T> BlockProduct<T> {
    /// A product of blocks that is written to the result, or added to it; a row of the result begins so
    /// many elements after the last.
    ///
    /// # Safety
    ///
    /// Until the last use of the block, all rows and columns of the three matrices are valid for reading,
    /// and those of the result for writing; nothing else writes to them.
    pub(crate) unsafe fn new(
        sizes: [usize; 3],
        a: Left<T>,
        b: Right<T>,
        (out, row): (*mut T, usize),
        adds: bool,
    ) -> Self {
        BlockProduct {
            sizes,
            a,
            b,
            out,
            row,
            adds,
        }
    }
}

/// Registers side by side in a tile, by instruction set: with [`TALL`] rows and a row of B they are as
/// many as there are.
const WIDE: [usize; 3] = [1, 2, 4];

/// Columns of a tile, and of a packed panel of B.
pub(crate) fn panel<T: Real>() -> usize {
    match Isa::active() {
        Isa::Scalar => WIDE[0] * T::Scalar::LANES,
        Isa::Avx2 => WIDE[1] * T::Avx2::LANES,
        Isa::Avx512 => WIDE[2] * T::Avx512::LANES,
    }
}

multiversion! {
    /// Computes a block.
    pub(crate) fn multiply<T: Real>(_machine: M, block: BlockProduct<T>) {
        // SAFETY: a value of `M` was passed, which is made only where the CPU was found to have its
        // instruction set; whoever made the block promised the rest.
        unsafe {
            match M::ISA {
                Isa::Scalar => panels::<T::Scalar, T, { WIDE[0] }>(block),
                Isa::Avx2 => panels::<T::Avx2, T, { WIDE[1] }>(block),
                Isa::Avx512 => panels::<T::Avx512, T, { WIDE[2] }>(block),
            }
        }
    }
}

/// Multiplies by panels of C registers; the last may have fewer, and the last of these be filled in part.
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn panels<V: Vector<T>, T: Real, const C: usize>(block: BlockProduct<T>) {
    let [rows, inner, columns] = block.sizes;
    let mut tile = Tile {
        a: block.a.at,
        row: block.a.row,
        column: block.a.column,
        b: block.b.at,
        b_row: block.b.row,
        out: block.out,
        out_row: block.row,
        inner,
        adds: block.adds,
        last: V::LANES,
    };
    let mut left = columns;
    while left > 0 {
        let width = left.min(C * V::LANES);
        let registers = width.div_ceil(V::LANES);
        tile.last = width - (registers - 1) * V::LANES;
        // Of a full last register there is code of its own with AVX2 (C is 2), and with AVX-512 (4) for whole panels.
        // Masks of AVX-512 cost nothing for the few columns that are left, and without such instructions (1) numbers
        // are moved one by one anyway.
        let is_whole = (C == 2 || C == 4 && registers == C) && tile.last == V::LANES;
        if block.b.is_packed {
            tile.b_row = width;
        }
        let packed = block.a.is_packed;
        // SAFETY: by the conditions of this function.
        unsafe {
            match (registers, is_whole) {
                (1, true) if C == 2 => tile.strip::<V, 1, true>(rows, packed),
                (1, _) => tile.strip::<V, 1, false>(rows, packed),
                (2, true) if C == 2 => tile.strip::<V, 2, true>(rows, packed),
                (2, _) if C >= 2 => tile.strip::<V, 2, false>(rows, packed),
                (3, _) if C >= 3 => tile.strip::<V, 3, false>(rows, packed),
                (4, true) if C >= 4 => tile.strip::<V, 4, true>(rows, packed),
                (_, _) if C >= 4 => tile.strip::<V, 4, false>(rows, packed),
                (_, _) => {}
            }
        }
        let next = if block.b.is_packed {
            width * inner
        } else {
            width
        };
        tile.b = tile.b.wrapping_add(next);
        tile.out = tile.out.wrapping_add(width);
        left -= width;
    }
}

/// The result, or the part of it that begins at the pointers.
#[derive(Clone, Copy)]
struct Tile<T> {
    a: *const T,
    row: usize,
    column: usize,
    b: *const T,
    b_row: usize,
    out: *mut T,
    out_row: usize,
    inner: usize,
    adds: bool,
    /// Columns of the last register.
    last: usize,
}

impl<T: Real> Tile<T> {
    /// Computes so many rows of C registers.
    ///
    /// # Safety
    ///
    /// As for [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn strip<V: Vector<T>, const C: usize, const WHOLE: bool>(
        mut self,
        rows: usize,
        packed: bool,
    ) {
        // SAFETY: by the conditions of this function.
        unsafe {
            for _ in 0..rows / TALL {
                self.rows::<V, TALL, C, WHOLE>(packed, TALL);
            }
            let rest = rows % TALL;
            if rest >= 4 {
                self.rows::<V, 4, C, WHOLE>(packed, rest);
            }
            if rest % 4 >= 2 {
                self.rows::<V, 2, C, WHOLE>(packed, rest);
            }
            if rest % 2 == 1 {
                self.rows::<V, 1, C, WHOLE>(packed, rest);
            }
        }
    }

    /// Computes R rows, and goes on to those after them. A packed panel has so many rows.
    ///
    /// # Safety
    ///
    /// As for [`compute`](Self::compute).
    #[inline(always)]
    unsafe fn rows<V: Vector<T>, const R: usize, const C: usize, const WHOLE: bool>(
        &mut self,
        packed: bool,
        panel: usize,
    ) {
        if packed {
            (self.row, self.column) = (1, panel);
        }
        // SAFETY: by the conditions of this function.
        unsafe { self.compute::<V, R, C, WHOLE>() };
        let next = match packed && R == panel {
            true => R * self.inner,
            false => R * self.row,
        };
        self.a = self.a.wrapping_add(next);
        self.out = self.out.wrapping_add(R * self.out_row);
    }

    /// Computes R rows and C registers, the last of which is not whole unless `WHOLE`.
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
    unsafe fn compute<V: Vector<T>, const R: usize, const C: usize, const WHOLE: bool>(&self) {
        let load = |from: *const T, c: usize| {
            // SAFETY: by the conditions of this function.
            unsafe {
                match WHOLE || c + 1 < C {
                    true => V::load(from.add(c * V::LANES)),
                    false => V::load_first(from.add(c * V::LANES), self.last),
                }
            }
        };
        // SAFETY: by the conditions of this function.
        unsafe {
            let mut sums = [[V::splat(T::zero()); C]; R];
            if self.adds {
                for r in 0..R {
                    for c in 0..C {
                        sums[r][c] = load(self.out.add(r * self.out_row), c);
                    }
                }
            }
            for k in 0..self.inner {
                let mut b = [V::splat(T::zero()); C];
                for c in 0..C {
                    b[c] = load(self.b.add(k * self.b_row), c);
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
                    let to = self.out.add(r * self.out_row + c * V::LANES);
                    match WHOLE || c + 1 < C {
                        true => sums[r][c].store(to),
                        false => sums[r][c].store_first(to, self.last),
                    }
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
