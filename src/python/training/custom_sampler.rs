//! Samplers that are Python functions.
//!
//! A run calls the function from its workers, for a block of samples at a time. It works for the run then: it may
//! read the run's parameters, and is refused to change them, as operators of the caller's own are
//! ([`crate::table::lock`]).

use std::fmt;

use numpy::PyArray1;
use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Array, Dense, Shape, Slice, show_shape, vec_for};
use crate::error::Result;
use crate::process;
use crate::python::interop::convert;
use crate::python::interop::depth::deeper;
use crate::python::interop::error::raised;
use crate::python::interop::long_call::end_in_child;
use crate::python::interop::once::intern;
use crate::python::variables::integers::to_int64;
use crate::train::{CustomSampler, SampleBlock};

/// A Python function that draws items. See the [module documentation](self).
pub(in crate::python) struct PythonSampler {
    draw: Py<PyAny>,
    name: String,
    n: u32,
}

impl fmt::Debug for PythonSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PythonSampler {
    pub(in crate::python) fn new(draw: &Bound<'_, PyAny>, n: u32) -> PyResult<Self> {
        let py = draw.py();
        let named = draw.getattr_opt(intern!(py, "__qualname__"))?;
        let name = match named.and_then(|name| name.extract().ok()) {
            Some(name) => name,
            None => draw.get_type().qualname()?.to_string(),
        };
        Ok(PythonSampler {
            draw: draw.clone().unbind(),
            name,
            n,
        })
    }

    pub(in crate::python) fn name(&self) -> &str {
        &self.name
    }

    /// The function.
    pub(in crate::python) fn function<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.draw.bind(py).clone()
    }

    pub(in crate::python) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.draw)
    }

    /// Calls the function for a block of samples, and writes what it drew.
    fn call(&self, py: Python<'_>, block: &SampleBlock<'_>, items: &mut [u32]) -> PyResult<()> {
        let count = block.len();
        let mut shape = Shape::from_slice(&[items.len()]);
        let mut repeats = None;
        if let Some(of_sample) = block.item_shape() {
            shape = Shape::from_slice(&[count]);
            shape.extend_from_slice(of_sample);
        } else {
            let lengths = (0..count).map(|k| block.items(k).len() as i64);
            repeats = Some(PyArray1::from_iter(py, lengths));
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        let random = numpy.getattr(intern!(py, "random"))?;
        let rng = random.call_method1(intern!(py, "default_rng"), (block.seed(),))?;
        let mut args = vec![rng, PyTuple::new(py, shape.iter())?.into_any()];
        for k in 0..block.column_count() {
            let Some((values, of_sample)) = block.column(k) else {
                continue;
            };
            let mut array = column(py, count, values, of_sample)?;
            if let Some(repeats) = &repeats {
                array = numpy.call_method1(intern!(py, "repeat"), (array, repeats, 0))?;
            }
            args.push(array);
        }
        let drawn = self.draw.bind(py).call1(PyTuple::new(py, args)?)?;
        let what = format!("sample: what {} drew", self.name);
        let drawn = convert::indices(&what, &drawn, &|| Some(self.n as usize))?;
        if *drawn.shape() != *shape {
            return Err(PyValueError::new_err(format!(
                "{what}: expected shape {}, got {}",
                show_shape(&shape),
                show_shape(drawn.shape())
            )));
        }
        items.copy_from_slice(drawn.as_slice());
        Ok(())
    }
}

/// What samples have in a column, as an array with a row for each. Integers become int64.
fn column<'py>(
    py: Python<'py>,
    count: usize,
    values: Slice<'_>,
    of_sample: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let mut shape = Shape::from_slice(&[count]);
    shape.extend_from_slice(of_sample);
    match values {
        Slice::F32(x) => convert::to_numpy(py, Array::F32(Dense::copy_of(&shape, x)?)),
        Slice::F64(x) => convert::to_numpy(py, Array::F64(Dense::copy_of(&shape, x)?)),
        Slice::U32(x) if of_sample.is_empty() => {
            let mut numbers: Vec<i64> = vec_for(&[count])?;
            numbers.extend(x.iter().map(|&index| i64::from(index)));
            Ok(PyArray1::from_vec(py, numbers).into_any())
        }
        Slice::U32(x) => Ok(to_int64(py, &Dense::copy_of(&shape, x)?)?.into_bound(py)),
    }
}

impl CustomSampler for PythonSampler {
    fn item_count(&self) -> u32 {
        self.n
    }

    fn draw(&self, block: &SampleBlock<'_>, items: &mut [u32]) -> Result<()> {
        let call = |py: Python<'_>| {
            let forks = process::forks();
            let drawn = deeper(&self.name, || self.call(py, block, items));
            end_in_child(py, forks)?;
            drawn
        };
        Python::attach(call).map_err(raised)
    }

    fn stays_in_thread(&self) -> bool {
        true
    }
}
