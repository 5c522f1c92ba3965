//! A sparse matrix in compressed rows, with values: how much each user had of each item.
//!
//! [`crate::rank::Csr`] is the set of its places. Columns rise within a row, and entries of one place are
//! added up. It is made by counting sorts, by column and then by row, in time proportional to entries,
//! rows and columns.

use crate::array::filled;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::rank::check_below;

/// A sparse matrix whose entries are finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    /// Row r is from `indptr[r]` to `indptr[r + 1]`; starts with 0, never falls.
    indptr: Vec<usize>,
    /// Columns, rising strictly within a row.
    indices: Vec<u32>,
    /// The value of each.
    values: Vec<f32>,
    n_columns: usize,
}

/// Entries by some key: where those of each begin, the other coordinate, and the values.
struct Grouped {
    indptr: Vec<usize>,
    others: Vec<u32>,
    values: Vec<f32>,
}

/// A stable counting sort of entries, which are (key, other, value), by keys below `count`.
fn grouped(
    entries: impl Iterator<Item = (u32, u32, f32)> + Clone,
    len: usize,
    count: usize,
) -> Result<Grouped> {
    let mut next: Vec<usize> = filled(count.saturating_add(2), 0)?;
    // Two places on, so that the places where the next entries go become where rows begin.
    for (key, _, _) in entries.clone() {
        next[key as usize + 2] += 1;
    }
    for k in 2..next.len() {
        next[k] += next[k - 1];
    }
    let (mut others, mut values) = (filled(len, 0)?, filled(len, 0.0)?);
    interrupt::check()?;
    for (key, other, value) in entries {
        let place = &mut next[key as usize + 1];
        others[*place] = other;
        values[*place] = value;
        *place += 1;
    }
    next.pop();
    Ok(Grouped {
        indptr: next,
        others,
        values,
    })
}

/// The entries of rows, one after the other, as (row, column, value).
fn entries(matrix: &Grouped) -> impl Iterator<Item = (u32, u32, f32)> + Clone {
    matrix.indptr.windows(2).enumerate().flat_map(|(k, ends)| {
        let places = ends[0]..ends[1];
        let others = matrix.others[places.clone()].iter();
        let pairs = others.zip(&matrix.values[places]);
        pairs.map(move |(&other, &value)| (k as u32, other, value))
    })
}

impl CsrMatrix {
    /// The matrix with `values[n]` at row `rows[n]` and column `columns[n]`; values of one place are
    /// added up, in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] when the lengths differ, [`Error::Index`] when a number is not below `n_rows` or
    /// `n_columns`, [`Error::Value`] for a value that is not finite, or values of one place whose sum is
    /// not; [`Error::Memory`].
    pub fn from_entries(
        rows: &[u32],
        columns: &[u32],
        values: &[f32],
        n_rows: usize,
        n_columns: usize,
    ) -> Result<CsrMatrix> {
        if rows.len() != columns.len() || rows.len() != values.len() {
            return Err(Error::Shape(format!(
                "rows, columns and values must have the same length, found {}, {} and {}",
                rows.len(),
                columns.len(),
                values.len()
            )));
        }
        check_below("rows", rows, n_rows)?;
        check_below("columns", columns, n_columns)?;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Value(format!(
                "values[{at}] is {}, expected a finite number",
                values[at]
            )));
        }
        let given = columns.iter().zip(rows).zip(values);
        let given = given.map(|((&column, &row), &value)| (column, row, value));
        let by_column = grouped(given, rows.len(), n_columns)?;
        let turned = entries(&by_column).map(|(column, row, value)| (row, column, value));
        let mut by_row = grouped(turned, rows.len(), n_rows)?;
        add_up(&mut by_row)?;
        Ok(CsrMatrix {
            indptr: by_row.indptr,
            indices: by_row.others,
            values: by_row.values,
            n_columns,
        })
    }

    /// Takes rows that are in order.
    pub(super) fn from_rows(
        indptr: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f32>,
        n_columns: usize,
    ) -> CsrMatrix {
        CsrMatrix {
            indptr,
            indices,
            values,
            n_columns,
        }
    }

    /// Rows as columns.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn transposed(&self) -> Result<CsrMatrix> {
        let turned = (0..self.n_rows()).flat_map(|row| {
            let (columns, values) = self.row(row);
            let pairs = columns.iter().zip(values);
            pairs.map(move |(&column, &value)| (column, row as u32, value))
        });
        let by_column = grouped(turned, self.len(), self.n_columns)?;
        Ok(CsrMatrix {
            indptr: by_column.indptr,
            indices: by_column.others,
            values: by_column.values,
            n_columns: self.n_rows(),
        })
    }

    /// The columns of a row, rising, and their values.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let places = self.indptr[row]..self.indptr[row + 1];
        (&self.indices[places.clone()], &self.values[places])
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Where each row begins, and where the last ends.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// The columns of all rows, one row after the other.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all rows, one row after the other.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// Adds up the entries of one place, which follow each other.
fn add_up(matrix: &mut Grouped) -> Result<()> {
    let (mut kept, mut start) = (0, 0);
    for row in 0..matrix.indptr.len() - 1 {
        let (first, end) = (kept, matrix.indptr[row + 1]);
        for at in start..end {
            let (column, value) = (matrix.others[at], matrix.values[at]);
            if kept > first && matrix.others[kept - 1] == column {
                let sum = matrix.values[kept - 1] + value;
                if !sum.is_finite() {
                    return Err(Error::Value(format!(
                        "the values at row {row} and column {column} add up to {sum}"
                    )));
                }
                matrix.values[kept - 1] = sum;
            } else {
                matrix.others[kept] = column;
                matrix.values[kept] = value;
                kept += 1;
            }
        }
        start = end;
        matrix.indptr[row + 1] = kept;
    }
    matrix.others.truncate(kept);
    matrix.values.truncate(kept);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_added_up() {
        let (rows, columns) = ([2, 0, 2, 2, 0], [1, 3, 0, 1, 2]);
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let matrix = CsrMatrix::from_entries(&rows, &columns, &values, 4, 4).unwrap();
        assert_eq!(matrix.indptr(), [0, 2, 2, 4, 4]);
        assert_eq!(matrix.row(0), (&[2, 3][..], &[5.0, 2.0][..]));
        assert_eq!(matrix.row(1), (&[][..], &[][..]));
        assert_eq!(matrix.row(2), (&[0, 1][..], &[3.0, 5.0][..]));
        let turned = matrix.transposed().unwrap();
        assert_eq!(turned.row(1), (&[2][..], &[5.0][..]));
        assert_eq!(
            (turned.n_rows(), turned.n_columns(), turned.len()),
            (4, 4, 4)
        );
        assert_eq!(turned.transposed().unwrap(), matrix);
    }

    #[test]
    fn a_matrix_may_be_empty() {
        let matrix = CsrMatrix::from_entries(&[], &[], &[], 0, 3).unwrap();
        assert!(matrix.is_empty());
        assert_eq!(matrix.transposed().unwrap().n_rows(), 3);
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        let refused = |rows: &[u32], columns: &[u32], values: &[f32]| {
            let error = CsrMatrix::from_entries(rows, columns, values, 2, 2).unwrap_err();
            error.to_string()
        };
        assert!(refused(&[0], &[0], &[]).contains("found 1, 1 and 0"));
        assert!(refused(&[0, 2], &[0, 0], &[1.0; 2]).contains("rows[1] is 2"));
        assert!(refused(&[0], &[7], &[1.0]).contains("columns[0] is 7"));
        assert!(refused(&[0], &[0], &[f32::NAN]).contains("values[0] is NaN"));
        let most = refused(&[1, 1], &[0, 0], &[f32::MAX; 2]);
        assert!(most.contains("row 1 and column 0 add up to inf"));
    }
}
