//! Scores as sums of rows: those of the items that a user had.
//!
//! `score[u, j] = Σ weights[i, j]` over the items i of user u, in their order. Weights are a matrix of items
//! by items, dense or sparse. Rows of the result are computed by one thread each.

use super::csr_matrix::CsrMatrix;
use crate::array::filled;
use crate::error::{Error, Result};
use crate::rank::Csr;
use crate::simd;
use crate::split;

/// What having one item adds to the scores of all.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// A matrix in C order.
    Dense(&'a [f32]),
    /// A matrix of which most elements are 0.
    Sparse(&'a CsrMatrix),
}

/// The scores of all items for each user, one user after the other.
///
/// # Errors
///
/// [`Error::Shape`] unless the weights are a matrix of items by items, [`Error::Memory`],
/// [`Error::Interrupted`].
pub fn sums_of_rows(histories: &Csr, weights: Weights<'_>) -> Result<Vec<f32>> {
    let (n, m) = (histories.n_users(), histories.n_items());
    let fits = match weights {
        Weights::Dense(weights) => Some(weights.len()) == m.checked_mul(m),
        Weights::Sparse(weights) => (weights.n_rows(), weights.n_columns()) == (m, m),
    };
    if !fits {
        return Err(Error::Shape(format!(
            "histories are about {m} items, expected weights of shape ({m}, {m})"
        )));
    }
    let mut scores = filled(n.saturating_mul(m), 0.0)?;
    if m == 0 {
        return Ok(scores);
    }
    let rows = scores.chunks_mut(m).enumerate();
    let entries = match weights {
        Weights::Dense(_) => m / 8,
        Weights::Sparse(weights) => weights.len() / m + 1,
    };
    let threads = split::threads(histories.len().saturating_mul(entries)).min(n);
    split::try_each(threads, rows, |(user, scores)| {
        for &item in histories.row(user) {
            let item = item as usize;
            match weights {
                Weights::Dense(weights) => {
                    simd::axpy(1.0, &weights[item * m..(item + 1) * m], scores);
                }
                Weights::Sparse(weights) => {
                    let (others, values) = weights.row(item);
                    for (&other, &value) in others.iter().zip(values) {
                        scores[other as usize] += value;
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_weights_add_up_to_the_same() {
        let histories = Csr::from_pairs(&[0, 0, 2], &[0, 2, 1], 3, 3).unwrap();
        let dense = [0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0];
        let (rows, columns): (Vec<u32>, Vec<u32>) = (0..9).map(|k| (k / 3, k % 3)).unzip();
        let sparse = CsrMatrix::from_entries(&rows, &columns, &dense, 3, 3).unwrap();
        let expected = [5.0, 7.0, 2.0, 0.0, 0.0, 0.0, 3.0, 0.0, 4.0];
        for weights in [Weights::Dense(&dense), Weights::Sparse(&sparse)] {
            assert_eq!(sums_of_rows(&histories, weights).unwrap(), expected);
        }
        assert!(sums_of_rows(&histories, Weights::Dense(&dense[1..])).is_err());
    }
}
