//! Ranking, as Python sees it: sets of interactions, the best items, metrics.
//!
//! Everything is computed by [`crate::rank`]; this file only converts.

use std::sync::atomic::AtomicBool;

use ndarray::Array2;
use numpy::{IntoPyArray, Ix1, Ix2, PyArray1, PyArray2, PyReadonlyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::vec_for;
use crate::error::Error;
use crate::python::interop::argument::{borrowed, copied, count};
use crate::python::interop::long_call::long_call;
use crate::rank::{self, Factors, HeldOut, HeldOutRank};

/// From so many users on a selection may take long.
const LONG_SELECTION: usize = 1 << 10;

/// A set of (user, item) pairs, grouped by user.
///
/// Pair n is ``(users[n], items[n])``; a pair that occurs more than once counts once. Both are
/// uint32 arrays of shape (s,), below ``n_users`` and ``n_items``.
///
/// Raises ValueError if the lengths differ, IndexError for a number that is not below its
/// limit.
///
/// >>> import numpy as np
/// >>> pairs = Csr(np.array([0, 2, 2], np.uint32), np.array([1, 0, 1], np.uint32), 3, 2)
/// >>> pairs.shape, len(pairs), pairs.counts
/// ((3, 2), 3, array([1, 0, 2], dtype=uint64))
#[pyclass(name = "Csr", module = "wyrmling._core", frozen)]
pub(in crate::python) struct PyCsr(pub(in crate::python) rank::Csr);

#[pymethods]
impl PyCsr {
    #[new]
    fn new(
        py: Python<'_>,
        users: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        n_users: &Bound<'_, PyAny>,
        n_items: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let users = borrowed::<u32, Ix1>("users", users)?;
        let items = borrowed::<u32, Ix1>("items", items)?;
        let (n_users, n_items) = (count("n_users", n_users)?, count("n_items", n_items)?);
        // Copies: other threads may write to the arrays during the call, between one look at a
        // number and the next.
        let (users, items) = (copied(users.as_slice()?)?, copied(items.as_slice()?)?);
        let pairs = long_call(py, |_| {
            rank::Csr::from_pairs(&users, &items, n_users, n_items)
        });
        Ok(PyCsr(pairs?))
    }

    /// Pairs that are grouped already, as ``indptr`` and ``indices`` give them.
    ///
    /// Raises ValueError unless ``indptr`` (uint64) starts with 0, never falls and ends with the
    /// length of ``indices`` (uint32), and each row rises strictly; IndexError for an item that is
    /// not below ``n_items``.
    ///
    /// >>> import numpy as np
    /// >>> pairs = Csr.from_parts(np.array([0, 1, 3], np.uint64), np.array([1, 0, 1], np.uint32), 2)
    /// >>> pairs.row(1)
    /// array([0, 1], dtype=uint32)
    #[staticmethod]
    fn from_parts(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        n_items: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let indptr = borrowed::<u64, Ix1>("indptr", indptr)?;
        let indices = borrowed::<u32, Ix1>("indices", indices)?;
        let n_items = count("n_items", n_items)?;
        // Copies, as above. What no address can be is beyond any length.
        let mut ends = vec_for(&[indptr.as_slice()?.len()])?;
        let as_usize = |&at: &u64| usize::try_from(at).unwrap_or(usize::MAX);
        ends.extend(indptr.as_slice()?.iter().map(as_usize));
        let indices = copied(indices.as_slice()?)?;
        let pairs = long_call(py, |_| rank::Csr::from_parts(ends, indices, n_items));
        Ok(PyCsr(pairs?))
    }

    /// Numbers of users and items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.n_users(), self.0.n_items())
    }

    /// How many items each user has.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let ends = self.0.indptr().windows(2);
        PyArray1::from_iter(py, ends.map(|ends| (ends[1] - ends[0]) as u64))
    }

    /// Where the items of each user begin in ``indices``, and where the last user's end: uint64, of
    /// shape (n_users + 1,). A new array each time.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.0.indptr().iter().map(|&at| at as u64))
    }

    /// The items of all users, one user after the other, rising for each: uint32, of shape (len,). A
    /// new array each time.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.indices())
    }

    /// The items of one user, rising: uint32.
    ///
    /// Raises IndexError for a user that is not below their number.
    fn row<'py>(
        &self,
        py: Python<'py>,
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (user, n_users) = (count("user", user)?, self.0.n_users());
        if user >= n_users {
            return Err(
                Error::Index(format!("user is {user}, expected less than {n_users}")).into(),
            );
        }
        Ok(PyArray1::from_slice(py, self.0.row(user)))
    }

    /// Number of pairs.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let (n_users, n_items) = self.shape();
        format!(
            "Csr({} pairs of {n_users} users, {n_items} items)",
            self.0.len()
        )
    }

    /// The rows of some users (uint32), in that order.
    ///
    /// Raises IndexError for a user that is not below their number.
    fn select(&self, py: Python<'_>, users: &Bound<'_, PyAny>) -> PyResult<Self> {
        let users = borrowed::<u32, Ix1>("users", users)?;
        // A copy: other threads may write to the array.
        let users = copied(users.as_slice()?)?;
        if users.len() < LONG_SELECTION {
            return Ok(PyCsr(self.0.select(&users)?));
        }
        Ok(PyCsr(long_call(py, |_| self.0.select(&users))?))
    }
}

/// The arrays that [`Factors`] borrow.
struct Arrays<'py> {
    users: PyReadonlyArray<'py, f32, Ix2>,
    items: PyReadonlyArray<'py, f32, Ix2>,
    bias: Option<PyReadonlyArray<'py, f32, Ix1>>,
}

impl<'py> Arrays<'py> {
    fn new(
        users: &Bound<'py, PyAny>,
        items: &Bound<'py, PyAny>,
        bias: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Arrays {
            users: borrowed("users", users)?,
            items: borrowed("items", items)?,
            bias: bias.map(|bias| borrowed("bias", bias)).transpose()?,
        })
    }

    fn factors(&self) -> PyResult<Factors<'_>> {
        let bias = self.bias.as_ref().map(|bias| bias.as_array());
        Ok(Factors::new(
            self.users.as_array(),
            self.items.as_array(),
            bias,
        )?)
    }
}

/// Products that are added up in about a millisecond.
const SHORT_SEARCH: usize = 1 << 22;

/// Item numbers and scores.
type Best<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<f32>>);

/// The items with the highest scores for each user, the best first.
///
/// The score of user u and item i is ``users[u] @ items[i] + bias[i]``. Items in the user's
/// row of ``seen`` are left out; equal scores rank by item number.
///
/// Args:
///     users: factors of users, float32, shape (n, d).
///     items: factors of items, float32, shape (m, d).
///     bias: float32, shape (m,), or None for none.
///     seen: pairs of n users and m items, or None for none.
///     k: how many items, at least 1.
///
/// Returns:
///     Item numbers and scores, both of shape (n, min(k, m)). A user who has fewer items to
///     rank gets NO_ITEM, with a score of -inf, after the last.
///
/// Raises:
///     TypeError: another element type.
///     ValueError: shapes that do not fit together, or k of 0.
///     FloatingPointError: a score that is not a number.
#[pyfunction]
fn top_k<'py>(
    py: Python<'py>,
    users: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    seen: Option<&Bound<'py, PyCsr>>,
    k: &Bound<'py, PyAny>,
) -> PyResult<Best<'py>> {
    let arrays = Arrays::new(users, items, bias)?;
    let factors = arrays.factors()?;
    let seen = seen.map(|seen| &seen.get().0);
    let k = count("k", k)?;
    let width = arrays.items.as_array().ncols() + 1;
    let scores = factors.n_users().saturating_mul(factors.n_items());
    let best = if scores.saturating_mul(width) <= SHORT_SEARCH {
        // No signal would interrupt so short a search, and starting a thread would take longer.
        let never = AtomicBool::new(false);
        py.detach(|| rank::top_k(&factors, seen, k, &never))?
    } else {
        long_call(py, |caller| rank::top_k(&factors, seen, k, caller.stop()))?
    };
    let shape = (factors.n_users(), best.k);
    Ok((rows(py, shape, best.ids)?, rows(py, shape, best.scores)?))
}

/// Numbers that lie row by row, as an array of NumPy's.
fn rows<T: numpy::Element>(
    py: Python<'_>,
    shape: (usize, usize),
    numbers: Vec<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let array = Array2::from_shape_vec(shape, numbers);
    let array = array.map_err(|error| Error::Shape(error.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// The best items of each user, and where held-out ones stand: what ranking metrics are made of.
///
/// ``wyrmling.evaluation.metrics`` defines these. Users who have nothing held out but pairs of ``train``
/// are not looked at.
///
/// Args:
///     users: factors of users, float32, shape (n, d).
///     items: factors of items, float32, shape (m, d).
///     bias: float32, shape (m,), or None for none.
///     train: pairs left out of every ranking, of n users and m items, or None for none.
///     test: pairs held out, of n users and m items; those of ``train`` do not count.
///     k: how many of the best items, at least 1.
///     ranked: whether to find ``best_rank`` and ``auc``, which takes longer.
///
/// Returns:
///     Columns with an entry for each user: ``items`` and ``scores`` as :func:`top_k` has them, ``hits``
///     (bool), which of these were held out; ``held_out`` (uint32), how many were; and, if asked for,
///     ``best_rank`` (uint32), how many competitors score at least as high as the best held-out item, itself
///     included, and ``auc`` (float64): 0 and NaN of a user who is not looked at.
///
/// Raises:
///     TypeError: another element type.
///     ValueError: shapes that do not fit together, or k of 0.
///     FloatingPointError: a score that is not a number.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "as many as a ranking has")]
fn evaluate_ranking<'py>(
    py: Python<'py>,
    users: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    train: Option<&Bound<'py, PyCsr>>,
    test: &Bound<'py, PyCsr>,
    k: &Bound<'py, PyAny>,
    ranked: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = Arrays::new(users, items, bias)?;
    let factors = arrays.factors()?;
    let train = train.map(|train| &train.get().0);
    let pairs = &test.get().0;
    let k = count("k", k)?;
    let found = long_call(py, |caller| {
        let held_out = HeldOut { pairs, ranked };
        rank::search(&factors, train, Some(held_out), k, caller.stop())
    })?;
    let columns = PyDict::new(py);
    let shape = (factors.n_users(), found.best.k);
    let of = |number: fn(&HeldOutRank) -> u32| found.ranks.iter().map(number);
    columns.set_item("held_out", PyArray1::from_iter(py, of(|at| at.held_out)))?;
    if ranked {
        columns.set_item("best_rank", PyArray1::from_iter(py, of(|at| at.best_rank)))?;
        let auc = found.ranks.iter().map(|at| at.auc);
        columns.set_item("auc", PyArray1::from_iter(py, auc))?;
    }
    columns.set_item("items", rows(py, shape, found.best.ids)?)?;
    columns.set_item("scores", rows(py, shape, found.best.scores)?)?;
    columns.set_item("hits", rows(py, shape, found.hits)?)?;
    Ok(columns)
}

/// Adds all of this to the module.
pub(in crate::python) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("NO_ITEM", rank::NO_ITEM)?;
    m.add_class::<PyCsr>()?;
    m.add_function(wrap_pyfunction!(top_k, m)?)?;
    m.add_function(wrap_pyfunction!(evaluate_ranking, m)?)
}
