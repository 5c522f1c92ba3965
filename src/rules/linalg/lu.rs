//! The LU decomposition of a matrix, with partial pivoting, by the crate `faer`.
//!
//! See [`super::factor`] for what holds of all decompositions. Rows are exchanged as LAPACK does, so
//! that a matrix is singular, with a pivot of zero, where it is to NumPy (but for rounding).
//!
//! `faer` multiplies with reciprocals of pivots, and the reciprocal of a subnormal pivot is infinite. Matrices
//! with such pivots are rare, and are decomposed and solved here, by division.

use faer::dyn_stack::MemStack;
use faer::linalg::lu::partial_pivoting as lu;
use faer::perm::PermRef;
use faer::{MatMut, MatRef, Par};

use super::dense::{converted, run, scratch, transpose, transposed};
use crate::array::{Real, filled};
use crate::error::Result;

/// The LU decomposition of a matrix.
pub(super) struct Lu {
    n: usize,
    /// Below the diagonal L, whose diagonal is 1; the rest is U; column by column.
    factors: Vec<f64>,
    /// Row `i` of the factors is row `order[i]` of the matrix.
    order: Vec<usize>,
    /// Where that row of the matrix went.
    places: Vec<usize>,
    odd: bool,
    /// Whether a pivot has no finite reciprocal.
    divides: bool,
}

impl Lu {
    /// Decomposes an `n` × `n` matrix, or its transpose.
    pub(super) fn new<T: Real>(a: &[T], n: usize, transpose: bool) -> Result<Self> {
        let factors = || match transpose {
            true => converted(a),
            false => transposed(a, n),
        };
        let mut lu = Lu {
            n,
            factors: factors()?,
            order: filled(n, 0)?,
            places: filled(n, 0)?,
            odd: false,
            divides: false,
        };
        let lu = run([n; 3], move || {
            let params = Default::default();
            let needed = lu::factor::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, params);
            let mut memory = scratch(needed)?;
            let (found, _) = lu::factor::lu_in_place(
                MatMut::from_column_major_slice_mut(&mut lu.factors, n, n),
                &mut lu.order,
                &mut lu.places,
                Par::Seq,
                MemStack::new(&mut memory),
                params,
            );
            lu.odd = found.transposition_count % 2 == 1;
            Ok(lu)
        })?;
        let divides = lu.pivots().any(|p| p != 0.0 && p.recip().is_infinite());
        match divides {
            true => lu.by_division(factors()?),
            false => Ok(lu),
        }
    }

    /// The decomposition of a matrix, column by column, by division.
    #[cold]
    fn by_division(mut self, factors: Vec<f64>) -> Result<Self> {
        let n = self.n;
        run([n; 3], move || {
            (self.factors, self.odd, self.divides) = (factors, false, true);
            self.order.iter_mut().enumerate().for_each(|(k, o)| *o = k);
            for k in 0..n {
                let column = &self.factors[k * n..][..n];
                let larger = |i: usize, j: usize| match column[j].abs() > column[i].abs() {
                    true => j,
                    false => i,
                };
                let row = (k..n).fold(k, larger);
                let pivot = column[row];
                if row != k {
                    self.factors
                        .chunks_exact_mut(n)
                        .for_each(|column| column.swap(k, row));
                    self.order.swap(k, row);
                    self.odd = !self.odd;
                }
                if pivot == 0.0 {
                    break;
                }
                let (left, right) = self.factors.split_at_mut((k + 1) * n);
                let below = &mut left[k * n + k + 1..];
                below.iter_mut().for_each(|l| *l /= pivot);
                for column in right.chunks_exact_mut(n) {
                    let first = column[k];
                    for (x, l) in column[k + 1..].iter_mut().zip(&*below) {
                        *x -= l * first;
                    }
                }
            }
            for (i, &row) in self.order.iter().enumerate() {
                self.places[row] = i;
            }
            Ok(self)
        })
    }

    /// Solves for columns in place, by division.
    fn substitute(&self, x: &mut [f64]) -> Result<()> {
        let n = self.n;
        let mut exchanged = filled(n, 0.0)?;
        for x in x.chunks_exact_mut(n) {
            for (to, &row) in exchanged.iter_mut().zip(&self.order) {
                *to = x[row];
            }
            x.copy_from_slice(&exchanged);
            for (k, column) in self.factors.chunks_exact(n).enumerate() {
                let first = x[k];
                for (x, l) in x[k + 1..].iter_mut().zip(&column[k + 1..]) {
                    *x -= l * first;
                }
            }
            for (k, column) in self.factors.chunks_exact(n).enumerate().rev() {
                x[k] /= column[k];
                let last = x[k];
                for (x, u) in x[..k].iter_mut().zip(column) {
                    *x -= u * last;
                }
            }
        }
        Ok(())
    }

    fn factors(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.factors, self.n, self.n)
    }

    fn order(&self) -> PermRef<'_, usize> {
        PermRef::new_checked(&self.order, &self.places, self.n)
    }

    /// The pivots down to the first that is zero: after it the factors mean nothing.
    fn pivots(&self) -> impl Iterator<Item = f64> {
        let pivots = self.factors.iter().step_by(self.n + 1);
        let mut zero = false;
        pivots
            .copied()
            .take_while(move |p| !std::mem::replace(&mut zero, *p == 0.0))
    }

    /// Whether a pivot is zero.
    pub(super) fn singular(&self) -> bool {
        self.pivots().any(|p| p == 0.0)
    }

    /// The sign of the determinant, 0 of a singular matrix.
    pub(super) fn determinant_sign(&self) -> f64 {
        let sign = if self.odd { -1.0 } else { 1.0 };
        let of = |p: f64| if p == 0.0 { 0.0 } else { p.signum() };
        self.pivots().fold(sign, |sign, p| sign * of(p))
    }

    /// The logarithm of the determinant's absolute value.
    pub(super) fn log_abs_determinant(&self) -> f64 {
        // From 0: an iterator's own sum of no numbers is -0.
        self.pivots().fold(0.0, |sum, p| sum + p.abs().ln())
    }

    /// The determinant.
    pub(super) fn determinant(&self) -> f64 {
        let sign = if self.odd { -1.0 } else { 1.0 };
        let product = self.pivots().fold(sign, |d, p| d * p);
        let log = self.log_abs_determinant();
        if product.is_normal() || !log.is_finite() {
            return product;
        }
        // A part of the product may overflow or vanish where the whole does not.
        self.determinant_sign() * log.exp()
    }

    /// Writes the solution of `matrix · out = b`, of so many columns.
    pub(super) fn solve<T: Real>(self, b: &[T], columns: usize, out: &mut [T]) -> Result<()> {
        let n = self.n;
        if columns == 0 || n == 0 {
            return Ok(());
        }
        let mut x = transposed(b, columns)?;
        let x = run([n, n, columns], move || {
            if self.divides {
                self.substitute(&mut x)?;
                return Ok(x);
            }
            let needed = lu::solve::solve_in_place_scratch::<usize, f64>(n, columns, Par::Seq);
            let mut memory = scratch(needed)?;
            lu::solve::solve_in_place(
                self.factors(),
                self.factors(),
                self.order(),
                MatMut::from_column_major_slice_mut(&mut x, n, columns),
                Par::Seq,
                MemStack::new(&mut memory),
            );
            Ok(x)
        })?;
        transpose(&x, n, out);
        Ok(())
    }

    /// Writes the inverse.
    pub(super) fn inverse<T: Real>(self, out: &mut [T]) -> Result<()> {
        let n = self.n;
        let mut x = filled(n * n, 0.0)?;
        let x = run([n; 3], move || {
            if self.divides {
                x.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
                self.substitute(&mut x)?;
                return Ok(x);
            }
            let needed = lu::inverse::inverse_scratch::<usize, f64>(n, Par::Seq);
            let mut memory = scratch(needed)?;
            lu::inverse::inverse(
                MatMut::from_column_major_slice_mut(&mut x, n, n),
                self.factors(),
                self.factors(),
                self.order(),
                Par::Seq,
                MemStack::new(&mut memory),
            );
            Ok(x)
        })?;
        transpose(&x, n, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_determinant_whose_partial_products_overflow() {
        let a = [1e200, 0.0, 0.0, 0.0, 1e200, 0.0, 0.0, 0.0, 1e-300];
        let d = Lu::new(&a, 3, false).unwrap().determinant();
        assert!((d / 1e100 - 1.0).abs() < 1e-12, "{d}");
    }
}
