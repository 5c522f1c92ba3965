//! The linear autoencoder EASE: item weights of zero diagonal, in closed form.
//!
//! The B with a zero diagonal that makes `|X - XB|² + l2 |B|²` least, where X has a row for each user and 1
//! where they had an item, is `B = I - P diag(P)⁻¹` with `P = (XᵀX + l2 I)⁻¹` (Steck, "Embarrassingly shallow
//! autoencoders for sparse data", WWW 2019).
//!
//! `XᵀX` is counted row by row, and inverted in double precision, in place of the counts. Memory is 12
//! bytes for each pair of items while this goes on, of which 4 remain.

use super::csr_matrix::CsrMatrix;
use crate::array::filled;
use crate::error::{Error, Result};
use crate::rules::PositiveDefinite;
use crate::split;

/// Side of the squares in which pairs of items are gone through, so that both are in the cache.
const SQUARE: usize = 32;

/// B in C order: how much having item i adds to the score of item j.
///
/// # Errors
///
/// [`Error::Shape`] if `by_user` is not the transpose's size of `by_item`; [`Error::Value`] unless `l2` is
/// positive and finite; [`Error::NotFinite`] if the matrix to invert is not positive definite in double
/// precision; [`Error::Memory`]; [`Error::Interrupted`].
pub fn item_weights(
    by_item: &CsrMatrix,
    by_user: &CsrMatrix,
    l2: f64,
    threads: usize,
) -> Result<Vec<f32>> {
    let m = by_item.n_rows();
    if (by_user.n_columns(), by_user.n_rows()) != (m, by_item.n_columns()) {
        return Err(Error::Shape(format!(
            "by_item has shape ({m}, {}), and by_user ({}, {}), expected its transpose",
            by_item.n_columns(),
            by_user.n_rows(),
            by_user.n_columns()
        )));
    }
    if l2 <= 0.0 || !l2.is_finite() {
        return Err(Error::Value(format!(
            "l2 is {l2}, expected a positive finite number"
        )));
    }
    let size = m.saturating_mul(m);
    let mut gram = filled(size, 0.0)?;
    let mut weights: Vec<f32> = filled(size, 0.0)?;
    if m == 0 {
        return Ok(weights);
    }
    let rows = gram.chunks_mut(m).enumerate();
    let most = split::at_most(threads, rows.len());
    split::try_each(most, rows, |(item, row)| {
        let (users, values) = by_item.row(item);
        for (&user, &value) in users.iter().zip(values) {
            let (others, values) = by_user.row(user as usize);
            // The upper triangle is enough.
            let from = others.partition_point(|&other| (other as usize) < item);
            for (&other, &v) in others[from..].iter().zip(&values[from..]) {
                row[other as usize] += f64::from(value) * f64::from(v);
            }
        }
        row[item] += l2;
        Ok(())
    })?;
    PositiveDefinite::new(gram, m).invert(&mut weights, threads)?;
    divide(&mut weights, m);
    if !weights.iter().all(|weight| weight.is_finite()) {
        return Err(Error::NotFinite(format!(
            "the weights are not finite: a larger l2 than {l2} may help"
        )));
    }
    Ok(weights)
}

/// Makes B of the upper triangle of P, in place.
fn divide(p: &mut [f32], m: usize) {
    let diagonal: Vec<f32> = p.iter().step_by(m + 1).copied().collect();
    for i in (0..m).step_by(SQUARE) {
        for j in (i..m).step_by(SQUARE) {
            for row in i..m.min(i + SQUARE) {
                for column in j.max(row + 1)..m.min(j + SQUARE) {
                    let own = p[row * m + column];
                    p[row * m + column] = -own / diagonal[column];
                    p[column * m + row] = -own / diagonal[row];
                }
            }
        }
    }
    p.iter_mut().step_by(m + 1).for_each(|x| *x = 0.0);
}
