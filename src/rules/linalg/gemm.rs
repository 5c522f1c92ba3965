//! Products of two matrices, by some threads.
//!
//! A large result is split into parts along its longer side. A thread goes through its part in blocks, whose
//! operands are packed so that they stay in a cache (Goto and van de Geijn, "Anatomy of high-performance
//! matrix multiplication", ACM Transactions on Mathematical Software 34, 2008); small operands are read as
//! they are. [`crate::simd::product`] multiplies blocks. A product of few numbers is done before any of this is
//! chosen.
//!
//! An element of the result is a sum in the order of the inner axis, whatever part of the result is
//! computed (or, where rows of both operands lie side by side and one has few, an inner product of
//! [`mod@crate::simd::dot`]): the bits do not depend on the number of threads.

use std::cell::Cell;
use std::mem::MaybeUninit;

use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, s};

use crate::array::{Real, filled};
use crate::error::Result;
use crate::interrupt::Poller;
use crate::simd::product::{self, BlockProduct, Left, Right, TALL, pack};
use crate::simd::{self, Isa, multiversion};
use crate::split;

/// Parts of a large result are multiples of this, so that registers are full.
pub(super) const UNIT: usize = 32;

/// Length of the inner axis that is gone through at once: a panel of either operand stays in a cache.
const INNER: usize = 256;
/// Rows of the left operand that are packed at once: with [`INNER`] a quarter of a megabyte at most.
const ROWS: usize = 128;
/// Columns of the right operand that are packed at once: with [`INNER`] two megabytes at most.
const COLUMNS: usize = 1024;
/// Rows of B that are gone through at once where B is large and not packed: they are read in sequence.
const STREAMED: usize = 32;
/// Rows of A that make packing B pay; four times as many columns of B make packing A pay.
const FEW: usize = 48;
/// Elements of a right operand that is multiplied by dot products of its rows: by one thread.
const DOTS: usize = 1 << 18;
/// Elements of a matrix that is small.
const SMALL: usize = 1 << 12;
/// Multiplications of a product that is done before a tile would be chosen.
const TINY: usize = 1 << 8;
/// Rows, and columns, of a tiny product's result are fewer, so that no factor is looked through for subnormal numbers.
const NARROW: usize = super::subnormal::USES;
/// Rows, and columns, that a tiny product computes at once.
const FOUR: usize = 4;
/// Bytes of an operand that are read as they are.
const NEAR: usize = 1 << 17;

/// A matrix in C order, transposed on request.
fn matrix<T>(x: &[T], rows: usize, columns: usize, transpose: bool) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((rows, columns).set_f(transpose), x)
        .expect("operands have the sizes that were inferred")
}

/// Writes the product of an `m` × `k` and a `k` × `n` matrix, by some threads. Either operand is given
/// transposed on request; all are in C order.
pub(super) fn multiply<T: Real>(
    [m, k, n]: [usize; 3],
    (a, transpose_a): (&[T], bool),
    (b, transpose_b): (&[T], bool),
    out: &mut [T],
    threads: usize,
) -> Result<()> {
    // Packing B would take longer.
    let few_rows = m > 0 && m <= FEW / 4 && k >= 8 * m && k * n <= DOTS;
    if few_rows && transpose_b && !transpose_a {
        dots(a, b, out, k);
        return Ok(());
    }
    if (m * k).max(k * n).max(m * n) <= SMALL {
        small([m, k, n], (a, transpose_a), (b, transpose_b), out);
        return Ok(());
    }
    let a = matrix(a, m, k, transpose_a);
    let b = matrix(b, k, n, transpose_b);
    let mut out = ArrayViewMut2::from_shape((m, n), out).expect("the result has m·n elements");
    let width = split::part(m.max(n), threads, UNIT);
    if width >= m.max(n) {
        return blocked(a, b, out);
    }
    let axis = Axis(usize::from(n >= m));
    let parts = out.axis_chunks_iter_mut(axis, width).enumerate();
    split::try_each(threads, parts, |(number, out)| {
        let start = number * width;
        match axis {
            Axis(0) => blocked(a.slice(s![start..start + out.nrows(), ..]), b, out),
            _ => blocked(a, b.slice(s![.., start..start + out.ncols()]), out),
        }
    })
}

/// [`multiply`] by this thread.
#[cfg(feature = "linalg")]
pub(super) fn product<T: Real>(
    sides: [usize; 3],
    a: (&[T], bool),
    b: (&[T], bool),
    out: &mut [T],
) -> Result<()> {
    multiply(sides, a, b, out, 1)
}

/// Writes a product of small matrices, of which none is packed in memory that outlives the call.
fn small<T: Real>(
    [m, k, n]: [usize; 3],
    (a, transpose_a): (&[T], bool),
    (b, transpose_b): (&[T], bool),
    out: &mut [T],
) {
    assert!(a.len() == m * k && b.len() == k * n && out.len() == m * n && b.len() <= SMALL);
    if k == 0 {
        out.fill(T::zero());
    }
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    let (row, column) = if transpose_a { (1, m) } else { (k, 1) };
    let left = Left {
        at: a.as_ptr(),
        row,
        column,
        is_packed: false,
    };
    let mut right = Right {
        at: b.as_ptr(),
        row: n,
        is_packed: transpose_b,
    };
    let mut packed = MaybeUninit::<[T; SMALL]>::uninit();
    if transpose_b {
        let (from, to) = ((b.as_ptr(), k, 1), packed.as_mut_ptr().cast());
        // SAFETY: `b` has n vectors of k elements, one after the other, and `packed` room for as many.
        unsafe { pack([n, k], from, to, product::panel::<T>()) };
        right.at = to;
    }
    // SAFETY: the lengths were compared, and what was packed has all elements of `b`.
    product::multiply(unsafe {
        BlockProduct::new([m, k, n], left, right, (out.as_mut_ptr(), n), false)
    });
}

/// Writes a product of few numbers, by [`FOUR`] rows and columns of the result at a time, if these sizes and this
/// processor are fit for it; whether they are. Elements have the bits that a tile would give them.
#[inline]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_variables, reason = "it does none there")
)]
pub(super) fn tiny<T: Real>(
    sides: [usize; 3],
    a: (&[T], bool),
    b: (&[T], bool),
    out: &mut [T],
) -> bool {
    let [m, k, n] = sides;
    let fits = |length: usize| length.is_multiple_of(FOUR) && length < NARROW;
    let is_tiny = fits(m) && fits(n) && k <= TINY && m * k * n <= TINY;
    #[cfg(target_arch = "x86_64")]
    if is_tiny && Isa::active() >= Isa::Avx2 {
        // SAFETY: `Isa::active` is `Avx2` or more only if the CPU was found to have AVX2 and FMA.
        unsafe { by_four(sides, a, b, out) };
        return true;
    }
    false
}

/// See [`tiny`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn by_four<T: Real>(
    sides: [usize; 3],
    (a, transpose_a): (&[T], bool),
    (b, transpose_b): (&[T], bool),
    out: &mut [T],
) {
    let [m, k, n] = sides;
    assert!(a.len() == m * k && b.len() == k * n && out.len() == m * n);
    assert!(m.is_multiple_of(FOUR) && n.is_multiple_of(FOUR));
    let (a_row, a_column) = if transpose_a { (1, m) } else { (k, 1) };
    let (b_row, b_column) = if transpose_b { (1, k) } else { (n, 1) };
    for i in (0..m).step_by(FOUR) {
        for j in (0..n).step_by(FOUR) {
            let mut sums = [[T::zero(); FOUR]; FOUR];
            for l in 0..k {
                // SAFETY: `m` and `n` are multiples of four, so that there are four rows from i and four columns
                // from j, and l < k. The slices have all m·k and k·n elements. Where a step between columns is 1
                // the four are side by side.
                let (x, y) = unsafe {
                    let x = a.as_ptr().add(i * a_row + l * a_column);
                    let y = b.as_ptr().add(l * b_row + j * b_column);
                    let y = match b_column {
                        1 => y.cast::<[T; FOUR]>().read(),
                        _ => [0, 1, 2, 3].map(|c| y.add(c * b_column).read()),
                    };
                    ([0, 1, 2, 3].map(|r| x.add(r * a_row).read()), y)
                };
                for r in 0..FOUR {
                    for c in 0..FOUR {
                        sums[r][c] = x[r].mul_add(y[c], sums[r][c]);
                    }
                }
            }
            for r in 0..FOUR {
                out[(i + r) * n + j..][..FOUR].copy_from_slice(&sums[r]);
            }
        }
    }
}

multiversion! {
    /// Writes the inner product of each row of `a` and each row of `b`, of so many elements.
    fn dots<T: Real>(machine: M, a: &[T], b: &[T], out: &mut [T], length: usize) {
        let n = b.len() / length;
        for (j, b) in b.chunks_exact(length).enumerate() {
            for (i, a) in a.chunks_exact(length).enumerate() {
                out[i * n + j] = simd::dot::dot(machine, a, b);
            }
        }
    }
}

/// Memory of a cache line, so that packed panels begin with one.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct CacheLine([u8; 64]);

thread_local! {
    /// What operands are packed into: a thread keeps it.
    static PACKED: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// Writes the product of A and B to `out`, whose rows are contiguous.
///
/// # Errors
/// [`Error::Memory`](crate::error::Error::Memory) if there is none for packed operands; what ends long work.
///
/// # Panics
/// If the shapes do not fit, or the elements of a row of `out` are not side by side.
fn blocked<T: Real>(
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    mut out: ArrayViewMut2<'_, T>,
) -> Result<()> {
    let ([m, inner], [k, n]) = ([a.nrows(), a.ncols()], [b.nrows(), b.ncols()]);
    assert!(inner == k && out.dim() == (m, n));
    if k == 0 {
        out.fill(T::zero());
    }
    if m == 0 || n == 0 || k == 0 {
        return Ok(());
    }
    assert!(n < 2 || out.strides()[1] == 1);
    let stride = |view: &ArrayView2<'_, T>, axis: usize| view.strides()[axis] as usize;
    let (a_row, a_column) = (stride(&a, 0), stride(&a, 1));
    let (b_row, b_column) = (stride(&b, 0), stride(&b, 1));
    let bytes = |count: usize| count.saturating_mul(size_of::<T>());
    let is_far = bytes(k * n) > NEAR;
    let packs_b = (n > 1 && b_column != 1) || (m >= FEW && is_far);
    let packs_a = a_column != 1 && n >= 4 * FEW && bytes(m * k) > NEAR;
    let step = match (packs_a || packs_b, is_far) {
        (true, _) => INNER.min(k),
        (false, true) => STREAMED.min(k),
        (false, false) => k,
    };
    let row = out.strides()[0] as usize;
    let (left, right) = (
        if packs_a { ROWS.min(m) * step } else { 0 },
        if packs_b { COLUMNS.min(n) * step } else { 0 },
    );
    let lines = bytes(left).div_ceil(64) + bytes(right).div_ceil(64);
    let mut packed = match lines {
        0 => Vec::new(),
        _ => PACKED.take(),
    };
    if packed.len() < lines {
        packed = filled(lines, CacheLine([0; 64]))?;
    }
    let packed_b: *mut T = packed.as_mut_ptr().cast();
    let packed_a = packed_b.wrapping_byte_add(bytes(right).next_multiple_of(64));

    let panel = product::panel::<T>();
    let mut poller = Poller::default();
    let steps = |length: usize, step: usize| (0..length).step_by(step);
    for (j, l) in steps(n, COLUMNS).flat_map(|j| steps(k, step).map(move |l| (j, l))) {
        let (columns, inner) = (COLUMNS.min(n - j), step.min(k - l));
        // SAFETY: row l and column j are within the matrix.
        let b = unsafe { b.as_ptr().add(l * b_row + j * b_column) };
        let mut right = Right {
            at: b,
            row: b_row,
            is_packed: packs_b,
        };
        if packs_b {
            // SAFETY: `inner` rows and `columns` columns on are within the matrix, and the memory has
            // room for as many elements.
            unsafe { pack([columns, inner], (b, b_column, b_row), packed_b, panel) };
            right.at = packed_b;
        }
        for i in steps(m, ROWS) {
            let rows = ROWS.min(m - i);
            // SAFETY: row i and column l are within the matrix.
            let a = unsafe { a.as_ptr().add(i * a_row + l * a_column) };
            let mut left = Left {
                at: a,
                row: a_row,
                column: a_column,
                is_packed: packs_a,
            };
            if packs_a {
                // SAFETY: as above; the room begins after that for the other operand.
                unsafe { pack([rows, inner], (a, a_row, a_column), packed_a, TALL) };
                left.at = packed_a;
            }
            let sizes = [rows, inner, columns];
            // SAFETY: row i and column j are within the result, as so many rows and columns on are;
            // the blocks are within the matrices, or were packed just now.
            let block = unsafe {
                let out = out.as_mut_ptr().add(i * row + j);
                BlockProduct::new(sizes, left, right, (out, row), l > 0)
            };
            product::multiply(block);
            if m > ROWS || n > COLUMNS || k > step {
                poller.step(rows * inner * columns / 32)?;
            }
        }
    }
    if lines > 0 {
        PACKED.set(packed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Isa, Real, multiply, tiny};

    fn integers<T: Real>(count: usize, seed: usize) -> Vec<T> {
        let number = |i: usize| T::of(((i * 7 + i / 3 + seed) % 5) as f64 - 2.0);
        (0..count).map(number).collect()
    }

    fn check<T: Real>(sides: [usize; 3], threads: usize) {
        let [m, k, n] = sides;
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let (a, b) = (integers::<T>(m * k, 1), integers::<T>(k * n, 2));
            let mut out = vec![T::of(f64::NAN); m * n];
            multiply(sides, (&a, ta), (&b, tb), &mut out, threads).unwrap();
            for (at, &x) in out.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let a = |l: usize| a[if ta { l * m + i } else { i * k + l }];
                let b = |l: usize| b[if tb { j * k + l } else { l * n + j }];
                let sum = (0..k).fold(T::zero(), |sum, l| sum + a(l) * b(l));
                assert!(x == sum, "{sides:?} {ta} {tb}: {x} at {i}, {j}, not {sum}");
            }
        }
    }

    #[test]
    fn it_equals_plain_loops_on_integers_of_all_shapes() {
        for m in [0, 1, 2, 3, 4, 7, 17] {
            for k in [0, 1, 5, 33] {
                for n in [0, 1, 2, 7, 8, 15, 16, 17, 31, 47, 63, 64, 65, 100, 130] {
                    check::<f32>([m, k, n], 1);
                    check::<f64>([m, k, n], 1);
                }
            }
        }
    }

    /// Whether a tiny product is done.
    fn check_tiny<T: Real>(sides: [usize; 3]) -> bool {
        let [m, k, n] = sides;
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let third = |x: T| x / T::of(3.0);
            let (a, b) = (integers::<T>(m * k, 1), integers::<T>(k * n, 2));
            let (a, b): (Vec<T>, Vec<T>) = (
                a.into_iter().map(third).collect(),
                b.into_iter().map(third).collect(),
            );
            let [mut out, mut expected] = [(); 2].map(|()| vec![T::of(f64::NAN); m * n]);
            if !tiny(sides, (&a, ta), (&b, tb), &mut out) {
                return false;
            }
            multiply(sides, (&a, ta), (&b, tb), &mut expected, 1).unwrap();
            let bits = |x: &[T]| x.iter().map(|x| x.to().to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&out), bits(&expected), "{sides:?} {ta} {tb}");
        }
        true
    }

    #[test]
    fn tiny_products_have_the_bits_of_others() {
        let is_there = Isa::active() >= Isa::Avx2;
        assert!(check_tiny::<f32>([4, 4, 4]) == is_there && !check_tiny::<f32>([4, 4, 6]));
        for m in [0, 4, 8, 12, 28] {
            for k in [0, 1, 2, 4, 7, 16] {
                for n in [0, 4, 8, 12, 28] {
                    assert!(m * k * n > 256 || check_tiny::<f32>([m, k, n]) == is_there);
                    assert!(m * k * n > 256 || check_tiny::<f64>([m, k, n]) == is_there);
                }
            }
        }
    }

    #[test]
    fn blocks_and_threads_change_nothing() {
        for sides in [[131, 259, 67], [20, 600, 1030], [260, 17, 20], [1030, 3, 5]] {
            for threads in [1, 3] {
                check::<f32>(sides, threads);
                check::<f64>(sides, threads);
            }
        }
    }
}
