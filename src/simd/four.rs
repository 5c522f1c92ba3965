//! Dot products of four rows with one vector, and four rows added to one vector.
//!
//! Loops over many rows and one vector, as `Xᵀ(X p)`, read the vector once for four rows where
//! [`dot`](super::dot::dot) and [`axpy`](super::dot::axpy) read it for each, and have four sums under
//! way where those wait for one.
//!
//! Like the functions of [`mod@super::dot`] these are to be inlined into a body of `multiversion!`. The
//! order of every sum is fixed by the length alone, so results are bit-reproducible per instruction set.
//!
//! Limits: lengths are multiples of [`UNIT`], so that every register is whole.

use super::Real;
use crate::simd::dot::with_register;
use crate::simd::vector::Vector;
use crate::simd::{Isa, Machine};

/// What lengths are multiples of: the most elements that a register of numbers has.
pub(crate) const UNIT: usize = 16;

/// The length of the shortest, up to a multiple of [`UNIT`].
#[inline(always)]
fn common_length<T>(rows: [&[T]; 4], other: usize) -> usize {
    let shorter = |a: usize, b: usize| if a < b { a } else { b };
    let two = shorter(rows[0].len(), rows[1].len());
    let others = shorter(rows[2].len(), rows[3].len());
    let least = shorter(shorter(two, others), other);
    debug_assert_eq!(least % UNIT, 0);
    least / UNIT * UNIT
}

/// `Σ rows[k][i]·x[i]` for each k. Elements beyond the shortest slice are not looked at.
#[inline(always)]
pub(crate) fn dot_four<M: Machine, T: Real>(_: M, rows: [&[T]; 4], x: &[T]) -> [T; 4] {
    with_register!(M, T, dots(rows, x))
}

/// `y[i] += Σ alphas[k]·rows[k][i]`. Elements beyond the shortest slice are not touched.
#[inline(always)]
pub(crate) fn axpy_four<M: Machine, T: Real>(_: M, alphas: [T; 4], rows: [&[T]; 4], y: &mut [T]) {
    with_register!(M, T, add(alphas, rows, y))
}

/// See [`dot_four`].
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn dots<V: Vector<T>, T: Real>(rows: [&[T]; 4], x: &[T]) -> [T; 4] {
    let length = common_length(rows, x.len());
    let [a, b, c, d] = rows;
    let (a, b, c, d, x) = (a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr(), x.as_ptr());
    // SAFETY: the instruction set of `V` is available, by the condition of this function. Every load is
    // of a register's worth from `at` on, which is a multiple of that, as is `length`: no slice is
    // shorter than `length`.
    unsafe {
        let zero = V::splat(T::zero());
        let (mut first, mut second, mut third, mut fourth) = (zero, zero, zero, zero);
        for at in (0..length).step_by(V::LANES) {
            let x = V::load(x.add(at));
            first = V::load(a.add(at)).mul_add(x, first);
            second = V::load(b.add(at)).mul_add(x, second);
            third = V::load(c.add(at)).mul_add(x, third);
            fourth = V::load(d.add(at)).mul_add(x, fourth);
        }
        [first.sum(), second.sum(), third.sum(), fourth.sum()]
    }
}

/// See [`axpy_four`].
///
/// # Safety
///
/// The instruction set of `V` is available.
#[inline(always)]
unsafe fn add<V: Vector<T>, T: Real>(alphas: [T; 4], rows: [&[T]; 4], y: &mut [T]) {
    let length = common_length(rows, y.len());
    let [a, b, c, d] = rows;
    let (a, b, c, d, y) = (
        a.as_ptr(),
        b.as_ptr(),
        c.as_ptr(),
        d.as_ptr(),
        y.as_mut_ptr(),
    );
    // SAFETY: the instruction set of `V` is available, by the condition of this function. What is loaded
    // or stored is a register's worth from `at` on, which is a multiple of that, as is `length`: no
    // slice is shorter than `length`.
    unsafe {
        let (alpha, beta) = (V::splat(alphas[0]), V::splat(alphas[1]));
        let (gamma, delta) = (V::splat(alphas[2]), V::splat(alphas[3]));
        for at in (0..length).step_by(V::LANES) {
            // Two sums beside each other, so that the next four rows need not wait long for `y`.
            let first = alpha.mul_add(V::load(a.add(at)), beta.mul(V::load(b.add(at))));
            let second = gamma.mul_add(V::load(c.add(at)), delta.mul(V::load(d.add(at))));
            V::load(y.add(at)).add(first.add(second)).store(y.add(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{axpy_four, dot_four};
    use crate::simd::multiversion;

    multiversion! {
        fn dots(machine: M, rows: [&[f32]; 4], x: &[f32]) -> [f32; 4] {
            dot_four(machine, rows, x)
        }
    }

    multiversion! {
        fn added(machine: M, alphas: [f32; 4], rows: [&[f32]; 4], y: &mut [f32]) {
            axpy_four(machine, alphas, rows, y);
        }
    }

    #[test]
    fn they_equal_plain_loops_on_integers() {
        for n in (0..=96u16).step_by(16) {
            let row = |k: u16| (0..n).map(|i| f32::from((i * 7 + k * 5) % 11)).collect();
            let rows: [Vec<f32>; 4] = std::array::from_fn(|k| row(k as u16));
            let x: Vec<f32> = row(9);
            let rows: [&[f32]; 4] = std::array::from_fn(|k| &rows[k][..]);
            let dot = |row: &[f32]| row.iter().zip(&x).map(|(a, b)| a * b).sum::<f32>();
            assert_eq!(dots(rows, &x), rows.map(dot), "length {n}");
            let alphas = [1.0, -2.0, 3.0, 0.5];
            let mut y = x.clone();
            added(alphas, rows, &mut y);
            for i in 0..usize::from(n) {
                let sum: f32 = (0..4).map(|k| alphas[k] * rows[k][i]).sum();
                assert_eq!(y[i], x[i] + sum, "length {n}, element {i}");
            }
        }
    }

    #[test]
    fn what_is_beyond_the_shortest_is_left_alone() {
        let (long, short) = ([1.0; 48], [1.0; 16]);
        assert_eq!(dots([&long, &short, &long, &long], &long), [16.0; 4]);
        let mut y = [0.0; 48];
        added([1.0; 4], [&long, &long, &short, &long], &mut y);
        assert_eq!(y[15..17], [4.0, 0.0]);
    }
}
