//! Solvers of models, as Python sees them: sparse matrices, least squares, weights and neighbours of items.
//!
//! Everything is computed by [`crate::solvers`]; this file only converts. Arrays are copied before work
//! begins, for other threads may write to them meanwhile.

use numpy::{IntoPyArray, Ix1, Ix2, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::rank::PyCsr;
use crate::error::Error;
use crate::python::interop::argument::{borrowed, copied, count};
use crate::python::interop::long_call::long_call;
use crate::solvers::{self, LeastSquares, Similarity, Solver, Weights};

/// A sparse matrix with values, in compressed rows.
///
/// Entry n is ``values[n]`` at row ``rows[n]`` and column ``columns[n]`` (float32 and uint32 arrays of
/// shape (s,)); entries of one place are added up. It never changes.
///
/// Raises ValueError if the lengths differ or a value is not finite, IndexError for a number that is
/// not below ``n_rows`` or ``n_columns``.
///
/// >>> import numpy as np
/// >>> places = np.array([1, 0, 1], np.uint32), np.array([2, 1, 2], np.uint32)
/// >>> matrix = CsrMatrix(*places, np.array([1, 2, 3], np.float32), 2, 3)
/// >>> matrix.indptr, matrix.indices, matrix.values
/// (array([0, 1, 2], dtype=uint64), array([1, 2], dtype=uint32), array([2., 4.], dtype=float32))
#[pyclass(name = "CsrMatrix", module = "wyrmling._core", frozen)]
pub(in crate::python) struct PyCsrMatrix(pub(in crate::python) solvers::CsrMatrix);

#[pymethods]
impl PyCsrMatrix {
    #[new]
    fn new(
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        n_rows: &Bound<'_, PyAny>,
        n_columns: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let rows = copied(borrowed::<u32, Ix1>("rows", rows)?.as_slice()?)?;
        let columns = copied(borrowed::<u32, Ix1>("columns", columns)?.as_slice()?)?;
        let values = copied(borrowed::<f32, Ix1>("values", values)?.as_slice()?)?;
        let (n_rows, n_columns) = (count("n_rows", n_rows)?, count("n_columns", n_columns)?);
        let matrix = long_call(py, |_| {
            solvers::CsrMatrix::from_entries(&rows, &columns, &values, n_rows, n_columns)
        });
        Ok(PyCsrMatrix(matrix?))
    }

    /// The matrix with rows as columns.
    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(PyCsrMatrix(long_call(py, |_| self.0.transposed())?))
    }

    /// Numbers of rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.n_rows(), self.0.n_columns())
    }

    /// Where each row begins in ``indices``, and where the last ends: uint64, of shape (n_rows + 1,). A
    /// new array each time, as are the others.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.0.indptr().iter().map(|&at| at as u64))
    }

    /// The columns of all rows, one row after the other, rising in each: uint32, of shape (len,).
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.indices())
    }

    /// The value of each: float32, of shape (len,).
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.0.values())
    }

    /// Number of entries.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let (n_rows, n_columns) = self.shape();
        format!(
            "CsrMatrix({} entries, shape ({n_rows}, {n_columns}))",
            self.0.len()
        )
    }
}

/// Solves least squares of implicit feedback for all rows of one side of a factorisation.
///
/// Row u of the result is the x that makes ``Σ c (p - x·y)² + l2[u] |x|²`` least, summed over all rows y
/// of ``fixed``; an entry v of row u of the matrix has p = 1 and c = 1 + v, all else p = 0 and c = 1.
///
/// Args:
///     matrix: values of at least 0, a CsrMatrix of shape (n, m).
///     fixed: the other side, float32, shape (m, d).
///     start: what the rows are now, float32, shape (n, d).
///     l2: the penalty of each row, float32, shape (n,).
///     steps: of conjugate gradients from ``start``; None to solve by Cholesky's decomposition.
///     threads: at most so many; 0 for all. The result is the same.
///
/// Returns:
///     The rows, float32, shape (n, d), 0 where there is no entry, and the sum of what was made least.
///
/// Raises:
///     TypeError: another element type.
///     ValueError: shapes that do not fit together.
///     FloatingPointError: a row without a finite solution in single precision.
#[pyfunction]
fn least_squares<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyCsrMatrix>,
    fixed: &Bound<'py, PyAny>,
    start: &Bound<'py, PyAny>,
    l2: &Bound<'py, PyAny>,
    steps: Option<&Bound<'py, PyAny>>,
    threads: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray2<f32>>, f64)> {
    let (fixed, start) = (
        borrowed::<f32, Ix2>("fixed", fixed)?,
        borrowed::<f32, Ix2>("start", start)?,
    );
    let l2 = copied(borrowed::<f32, Ix1>("l2", l2)?.as_slice()?)?;
    let shape = start.as_array().dim();
    if fixed.as_array().ncols() != shape.1 {
        return Err(Error::Shape(format!(
            "fixed and start must have the same number of columns, found {} and {}",
            fixed.as_array().ncols(),
            shape.1
        ))
        .into());
    }
    let (fixed, start) = (copied(fixed.as_slice()?)?, copied(start.as_slice()?)?);
    let solver = match steps {
        Some(steps) => Solver::ConjugateGradient(count("steps", steps)?),
        None => Solver::Cholesky,
    };
    let problem = LeastSquares {
        matrix: &matrix.get().0,
        fixed: &fixed,
        start: &start,
        width: shape.1,
        l2: &l2,
        solver,
        threads: count("threads", threads)?,
    };
    let solved = long_call(py, |_| solvers::least_squares(problem))?;
    let rows = solved.rows.into_pyarray(py).reshape([shape.0, shape.1])?;
    Ok((rows, solved.objective))
}

/// The weights of the linear autoencoder EASE: how much having item i adds to the score of item j.
///
/// Args:
///     by_item: who had what, a CsrMatrix of shape (m, n).
///     by_user: its transpose.
///     l2: the penalty, above 0.
///     threads: at most so many; 0 for all. The result is the same.
///
/// Returns:
///     float32, shape (m, m), with zeros on the diagonal.
///
/// Raises:
///     ValueError: shapes that do not fit together, or l2 out of range.
///     FloatingPointError: weights that are not finite.
///     MemoryError: there is no memory for 12 bytes for each pair of items.
#[pyfunction]
fn item_weights<'py>(
    py: Python<'py>,
    by_item: &Bound<'py, PyCsrMatrix>,
    by_user: &Bound<'py, PyCsrMatrix>,
    l2: f64,
    threads: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (by_item, by_user) = (&by_item.get().0, &by_user.get().0);
    let threads = count("threads", threads)?;
    let weights = long_call(py, |_| solvers::item_weights(by_item, by_user, l2, threads))?;
    weights
        .into_pyarray(py)
        .reshape([by_item.n_rows(), by_item.n_rows()])
}

/// The k items that are most similar to each item, itself left out.
///
/// Args:
///     by_item: who had how much of what, a CsrMatrix of shape (m, n).
///     by_user: its transpose.
///     similarity: ``"cosine"``, ``"jaccard"`` or ``"product"``.
///     k: how many at most; only similarities above 0 count, and of equal ones the lower number.
///     shrink: added to what products of items are divided by, if they are, at least 0.
///     threads: at most so many; 0 for all. The result is the same.
///
/// Returns:
///     Similarities, a CsrMatrix of shape (m, m).
///
/// Raises:
///     ValueError: shapes that do not fit together, another similarity, or shrink out of range.
///     FloatingPointError: a similarity that is not finite.
#[pyfunction]
fn nearest_items<'py>(
    py: Python<'py>,
    by_item: &Bound<'py, PyCsrMatrix>,
    by_user: &Bound<'py, PyCsrMatrix>,
    similarity: &str,
    k: &Bound<'py, PyAny>,
    shrink: f64,
    threads: &Bound<'py, PyAny>,
) -> PyResult<PyCsrMatrix> {
    let (by_item, by_user) = (&by_item.get().0, &by_user.get().0);
    let similarity = match similarity {
        "cosine" => Similarity::Cosine,
        "jaccard" => Similarity::Jaccard,
        "product" => Similarity::Product,
        other => {
            return Err(Error::Value(format!(
                "similarity is {other:?}, expected \"cosine\", \"jaccard\" or \"product\""
            ))
            .into());
        }
    };
    let (k, threads) = (count("k", k)?, count("threads", threads)?);
    let found = long_call(py, |_| {
        solvers::nearest_items(by_item, by_user, similarity, k, shrink, threads)
    });
    Ok(PyCsrMatrix(found?))
}

/// The sums of the rows of a matrix that belong to the items which each user had.
///
/// Args:
///     histories: the items of n users, a Csr of shape (n, m).
///     weights: an array, float32, or a CsrMatrix, of shape (m, m).
///
/// Returns:
///     float32, shape (n, m).
///
/// Raises:
///     TypeError: another element type.
///     ValueError: shapes that do not fit together.
///     MemoryError: there is no memory for n by m numbers.
#[pyfunction]
fn sums_of_rows<'py>(
    py: Python<'py>,
    histories: &Bound<'py, PyCsr>,
    weights: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let histories = &histories.get().0;
    let sums = match weights.cast::<PyCsrMatrix>() {
        Ok(matrix) => {
            let weights = Weights::Sparse(&matrix.get().0);
            long_call(py, |_| solvers::sums_of_rows(histories, weights))?
        }
        Err(_) => {
            let array = borrowed::<f32, Ix2>("weights", weights)?;
            let weights = Weights::Dense(array.as_slice()?);
            long_call(py, |_| solvers::sums_of_rows(histories, weights))?
        }
    };
    let shape = [histories.n_users(), histories.n_items()];
    sums.into_pyarray(py).reshape(shape)
}

/// Adds all of this to the module.
pub(in crate::python) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyCsrMatrix>()?;
    m.add_function(wrap_pyfunction!(least_squares, m)?)?;
    m.add_function(wrap_pyfunction!(item_weights, m)?)?;
    m.add_function(wrap_pyfunction!(nearest_items, m)?)?;
    m.add_function(wrap_pyfunction!(sums_of_rows, m)?)
}
