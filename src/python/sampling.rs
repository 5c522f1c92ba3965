//! Samplers, for inputs that `fit` draws anew for every sample.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::argument::{Given, Integer};
use super::convert;
use super::long_call::patiently;
use super::program::input_id;
use crate::array::DType;
use crate::error::Error;
use crate::train::Sampler;

/// What all samplers share; make one by ``Uniform`` or ``Popularity``.
#[pyclass(name = "Sampler", module = "wyrmling.sampling", subclass, frozen)]
pub(super) struct PySampler {
    pub(super) inner: Arc<Sampler>,
    /// The input that holds each sample's user.
    pub(super) given: Option<u64>,
    /// That input's object.
    pub(super) input: Option<Py<PyAny>>,
}

#[pymethods]
impl PySampler {
    /// The number of items; those drawn are below.
    #[getter]
    fn n(&self) -> u32 {
        self.inner.item_count()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let known = match slf.get().given {
            Some(_) => ", without a user's positives",
            None => "",
        };
        let n = slf.get().inner.item_count();
        Ok(format!("<{} of {n} items{known}>", slf.get_type().name()?))
    }
}

/// Adds what users know to a sampler.
fn create<S: pyo3::PyClass<BaseType = PySampler>>(
    class: S,
    sampler: Sampler,
    positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyClassInitializer<S>> {
    let input = given.map(|given| given.clone().unbind());
    let given = given.map(|g| input_id("given", g)).transpose()?;
    let inner = match (positives, given) {
        (None, None) => sampler,
        (Some((users, items)), Some(_)) => {
            let users = convert::indices("positives: users", &users, &|| None)?;
            let n = sampler.item_count() as usize;
            let items = convert::indices("positives: items", &items, &|| Some(n))?;
            patiently(users.as_slice().len(), move || {
                sampler.reject(users.as_slice(), items.as_slice())
            })?
        }
        (Some(_), None) => {
            return Err(PyTypeError::new_err(
                "given: with positives, name the input that holds each sample's user",
            ));
        }
        (None, Some(_)) => {
            return Err(PyTypeError::new_err(
                "positives: with given, give the pairs (users, items) to avoid",
            ));
        }
    };
    let base = PySampler {
        inner: Arc::new(inner),
        given,
        input,
    };
    Ok(PyClassInitializer::from(base).add_subclass(class))
}

/// Items ``0 … n-1``, all equally likely.
///
/// ``Uniform(n, positives=(users, items), given=u)`` never draws an item that the user of the
/// same sample knows: user ``users[k]`` knows item ``items[k]``, and the input ``u``, which
/// needs a column, holds the user. Raises ValueError if ``n`` is 0 or a user knows every item,
/// IndexError if an item is not below ``n``.
///
/// >>> Uniform(1000)
/// <Uniform of 1000 items>
#[pyclass(name = "Uniform", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(super) struct PyUniform;

#[pymethods]
impl PyUniform {
    #[new]
    #[pyo3(signature = (n, *, positives=None, given=None))]
    fn new(
        n: Integer,
        positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let sampler = Sampler::uniform(n.within("n", 1..=u32::MAX.into())? as usize)?;
        create(PyUniform, sampler, positives, given)
    }
}

/// Item ``i`` with probability proportional to ``counts[i] ** power``.
///
/// The default power is word2vec's (Mikolov et al., 2013). ``positives`` and ``given`` as for
/// ``Uniform``. Raises ValueError if counts are empty, negative, not finite or all 0.
///
/// >>> Popularity([5, 1, 2])
/// <Popularity of 3 items>
#[pyclass(name = "Popularity", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(super) struct PyPopularity;

#[pymethods]
impl PyPopularity {
    #[new]
    #[pyo3(signature = (counts, power=Given::default(0.75), *, positives=None, given=None),
        text_signature = "(counts, power=0.75, *, positives=None, given=None)")]
    fn new(
        counts: &Bound<'_, PyAny>,
        power: Given<f64>,
        positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (counts, _) = convert::array("counts", counts)?;
        if counts.shape().len() != 1 {
            return Err(Error::Shape(format!(
                "counts: expected one number an item, got shape {}",
                crate::array::show_shape(counts.shape())
            ))
            .into());
        }
        let power = power.named("power", "a number")?;
        let sampler = patiently(counts.size(), move || {
            let counts = counts.try_to_dtype(DType::F64)?;
            Sampler::popularity(counts.view().real::<f64>(), power)
        })?;
        create(PyPopularity, sampler, positives, given)
    }
}
