//! Outer products, added in place.

use crate::array::Real;
use crate::simd::{self, multiversion};

/// Elements of a row that are computed side by side.
pub(super) const BLOCK: usize = 16;

/// Blocks of a row up to which a matrix is gone through once for each.
pub(super) const FEW: usize = 4;

multiversion! {
    /// `out[i, j] += x[i]·y[j]`. A product is added to 0 and rounded before it is added to the sum, as
    /// where it is an array of its own first, which is summed from 0 on: so it is -0 only if it is too small
    /// for another number. What is beyond the shorter of rows and factors is not touched.
    pub(crate) fn add_outer<T: Real>(_machine: M, x: &[T], y: &[T], out: &mut [T]) {
        if y.is_empty() {
            return;
        }
        let n = y.len();
        if let (blocks, []) = y.as_chunks::<BLOCK>()
            && blocks.len() <= FEW
        {
            // Their number is known when this is compiled: they stay in registers for all rows.
            for (at, &block) in (0..n).step_by(BLOCK).zip(blocks) {
                for (&x, row) in x.iter().zip(out.chunks_exact_mut(n)) {
                    if let Some(row) = row[at..].first_chunk_mut::<BLOCK>() {
                        // A copy shares no memory with the factors, so that LLVM computes it at once.
                        let mut sums = *row;
                        for l in 0..BLOCK {
                            sums[l] += simd::mul_add::<M, T>(x, block[l], T::zero());
                        }
                        *row = sums;
                    }
                }
            }
            return;
        }
        for (&x, row) in x.iter().zip(out.chunks_exact_mut(y.len())) {
            for (o, &y) in row.iter_mut().zip(y) {
                *o += simd::mul_add::<M, T>(x, y, T::zero());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::add_outer;

    /// Element by element.
    fn expected(x: &[f64], y: &[f64], start: &[f64]) -> Vec<u64> {
        let n = y.len();
        let sums = start.iter().enumerate();
        sums.map(|(k, s)| (s + (0.0 + x[k / n] * y[k % n])).to_bits())
            .collect()
    }

    #[test]
    fn it_is_the_sum_of_rounded_products_at_all_sizes() {
        for m in [0, 1, 2, 3, 5, 8, 17] {
            for n in [1, 2, 3, 4, 7, 8, 9, 16, 31, 33, 64, 65] {
                let number = |k: usize| ((k * 7919 + 13) % 101) as f64 / 7.0 - 6.0;
                let x: Vec<f64> = (0..m).map(number).collect();
                let y: Vec<f64> = (m..m + n).map(number).collect();
                let mut out: Vec<f64> = (0..m * n).map(|k| number(3 * k)).collect();
                let expected = expected(&x, &y, &out);
                add_outer(&x, &y, &mut out);
                let found: Vec<u64> = out.iter().map(|o| o.to_bits()).collect();
                assert_eq!(found, expected, "{m} x {n}");
            }
        }
        add_outer(&[1.0f32], &[], &mut []);
    }

    #[test]
    fn nothing_is_skipped_for_a_zero() {
        let mut out = [1.0f32; 6];
        add_outer(&[0.0, 1.0], &[f32::INFINITY, f32::NAN, -0.0], &mut out);
        assert!(out[0].is_nan() && out[1].is_nan() && out[2] == 1.0);
        assert!(out[3] == f32::INFINITY && out[4].is_nan() && out[5] == 1.0);
    }
}
