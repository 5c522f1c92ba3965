//! `SparseGrad`: a gradient that is a few rows of a table.

use numpy::PyArrayDescr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Array, Dense, Type, element_count, show_shape};
use crate::error::Error;
use crate::python::interop::convert;
use crate::python::interop::items;
use crate::python::interop::long_call::patiently;
use crate::table::{Gradient, Rows};

/// A gradient as Python sees it.
pub(in crate::python) fn gradient(
    py: Python<'_>,
    gradient: Gradient,
) -> PyResult<Bound<'_, PyAny>> {
    match gradient {
        Gradient::Dense(array) => convert::to_numpy(py, array),
        Gradient::Rows(rows) => Ok(Bound::new(py, SparseGrad { rows })?.into_any()),
    }
}

/// Rows of an array that is zero elsewhere: the gradient of a lookup.
///
/// ``SparseGrad(indices, values, shape)``: row ``values[k]`` is added at ``indices[k]``. The
/// same index may occur several times. Raises IndexError if an index is out of range,
/// ValueError if the shapes do not fit.
///
/// >>> g = SparseGrad([2, 0, 2], [[1.0], [2.0], [3.0]], (4, 1))
/// >>> g.to_dense().ravel()
/// array([2., 0., 4., 0.])
/// >>> g.coalesce().indices
/// array([0, 2], dtype=uint32)
#[pyclass(module = "wyrmling", frozen)]
pub(in crate::python) struct SparseGrad {
    rows: Rows,
}

impl SparseGrad {
    /// The rows.
    pub(in crate::python) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How many numbers it holds.
    fn size(&self) -> usize {
        self.rows.len() * self.rows.ty().shape[1..].iter().product::<usize>()
    }
}

#[pymethods]
impl SparseGrad {
    #[new]
    fn create(
        indices: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let shape = items::integers("shape", Some(shape))?.unwrap_or_default();
        let length = |&n: &i64| {
            let refuse = || Error::Value(format!("shape: a length cannot be {n}"));
            usize::try_from(n).map_err(|_| refuse())
        };
        let shape = shape.iter().map(length).collect::<Result<Vec<_>, _>>()?;
        element_count(&shape)?;
        let (values, _) = convert::array("values", values)?;
        let rows = shape.first().copied();
        let indices = convert::indices("indices", indices, &|| rows)?;
        Ok(SparseGrad {
            rows: Rows::new(Type::new(values.dtype(), &shape), indices, values)?,
        })
    }

    /// The row that each of ``values`` belongs to, a new array of uint32.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_numpy(py, Array::from(Dense::from(self.rows.try_concat()?.0)))
    }

    /// The rows, a new array.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_numpy(py, self.rows.try_concat()?.1)
    }

    /// The shape of the whole array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.rows.ty().shape.iter())
    }

    /// Element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        convert::numpy_dtype(py, self.rows.ty().dtype)
    }

    /// The same gradient with ascending indices, each once.
    fn coalesce(&self) -> PyResult<Self> {
        let rows = self.rows.clone();
        let rows = patiently(self.size(), move || rows.try_coalesce())?;
        Ok(SparseGrad { rows })
    }

    /// The whole array, zeros included.
    fn to_dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows.clone();
        let dense = patiently(self.size(), move || rows.try_to_dense())?;
        convert::to_numpy(py, dense)
    }

    /// Number of rows held, counting repeats.
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(
        &self,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(PyTypeError::new_err(
            "a SparseGrad may stand for a very large array; use .to_dense() if you want it",
        ))
    }

    fn __repr__(&self) -> String {
        format!(
            "SparseGrad({} rows of shape {}, dtype={})",
            self.rows.len(),
            show_shape(&self.rows.ty().shape),
            self.rows.ty().dtype
        )
    }
}
