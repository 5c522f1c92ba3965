//! The model in Python.

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::model;

/// Predicts ratings, some of which are wrong.
///
/// ``ratings`` are (user, item, number), ids being strings. Raises ValueError if there are none, or one is
/// NaN or infinite.
#[pyclass(frozen)]
struct Ratings(model::Ratings);

#[pymethods]
impl Ratings {
    #[new]
    #[pyo3(signature = (ratings, *, epochs = 50, seed = 0))]
    fn new(
        py: Python<'_>,
        ratings: Vec<(String, String, f32)>,
        epochs: usize,
        seed: u64,
    ) -> PyResult<Self> {
        // Other threads of Python's run meanwhile.
        let fitted = py.detach(|| model::Ratings::fit(&ratings, epochs, seed));
        fitted
            .map(Ratings)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The rating that a user would give an item. Raises KeyError for an unknown id.
    fn predict(&self, user: &str, item: &str) -> PyResult<f32> {
        let unknown = || PyKeyError::new_err(format!("{user:?} or {item:?} is unknown"));
        self.0.predict(user, item).ok_or_else(unknown)
    }

    /// The n best items of a user as (item, rating), the best first. Raises KeyError for an unknown user.
    #[pyo3(signature = (user, n = 10))]
    fn best(&self, user: &str, n: usize) -> PyResult<Vec<(String, f32)>> {
        let unknown = || PyKeyError::new_err(format!("user {user:?} is unknown"));
        let best = self.0.best(user, n).ok_or_else(unknown)?;
        Ok(best
            .into_iter()
            .map(|(id, score)| (id.to_owned(), score))
            .collect())
    }
}

#[pymodule]
mod robust_ratings {
    #[pymodule_export]
    use super::Ratings;
}
