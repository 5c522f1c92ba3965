//! Samplers, for inputs that `fit` draws anew for every sample.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::argument::{Given, Integer};
use super::convert::{self, items, type_name};
use super::long_call::patiently;
use super::program::input_id;
use crate::array::DType;
use crate::error::Error;
use crate::train::Sampler;

/// Where a sampler finds each sample's user.
pub(super) enum SampledUser {
    /// In an input of a graph: its number, and its object.
    Input(u64, Py<PyAny>),
    /// In an argument of a function.
    Argument(String),
}

/// The length of one axis of what a sampler draws for a sample.
pub(super) enum SampledLength {
    /// The same for every sample.
    Fixed(usize),
    /// That of the sample's entry for this argument.
    Of(String),
}

impl SampledLength {
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = || {
            PyTypeError::new_err(format!(
                "shape: expected integers and names of arguments, got {}",
                type_name(given)
            ))
        };
        if let Ok(name) = given.cast::<PyString>() {
            return Ok(SampledLength::Of(name.to_str()?.to_owned()));
        }
        if given.is_instance_of::<PyBool>() {
            return Err(expected());
        }
        let length: Integer = given.extract()?;
        if matches!(length, Integer::Other(_)) {
            return Err(expected());
        }
        let length = length.within("shape", 0..=MOST_LENGTH)?;
        Ok(SampledLength::Fixed(length as usize))
    }

    /// One length, or several in a tuple or list.
    fn all(shape: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Self>> {
        let Some(shape) = shape else {
            return Ok(Vec::new());
        };
        if shape.is_instance_of::<PyString>() || shape.try_iter().is_err() {
            return Ok(vec![SampledLength::new(shape)?]);
        }
        items("shape", shape, Some(MOST_AXES), |one| {
            SampledLength::new(&one)
        })
    }
}

/// Axes that a draw may have, as arrays of NumPy's may.
const MOST_AXES: usize = 32;
/// Items that an axis may have.
const MOST_LENGTH: i128 = u32::MAX as i128;

/// What all samplers share; make one by ``Uniform`` or ``Popularity``.
#[pyclass(name = "Sampler", module = "wyrmling.sampling", subclass, frozen)]
pub(super) struct PySampler {
    pub(super) inner: Arc<Sampler>,
    pub(super) given: Option<SampledUser>,
    /// The shape of what is drawn for a sample; empty for one item.
    pub(super) shape: Vec<SampledLength>,
}

impl PySampler {
    /// The shape as Python has it.
    pub(super) fn shape_object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let lengths = self.shape.iter().map(|length| match length {
            SampledLength::Fixed(n) => Ok(n.into_pyobject(py)?.into_any()),
            SampledLength::Of(name) => Ok(PyString::new(py, name).into_any()),
        });
        PyTuple::new(py, lengths.collect::<PyResult<Vec<_>>>()?)
    }

    /// The columns, named as arguments are, that it needs for what it draws for a sample.
    pub(super) fn used_columns(&self) -> Vec<&str> {
        let user = self.given.iter().filter_map(|given| match given {
            SampledUser::Argument(name) => Some(name),
            SampledUser::Input(..) => None,
        });
        let lengths = self.shape.iter().filter_map(|length| match length {
            SampledLength::Of(name) => Some(name),
            SampledLength::Fixed(_) => None,
        });
        user.chain(lengths).map(|name| &**name).collect()
    }

    /// The sampler for an input of a graph, and the number of the input that holds the users.
    ///
    /// # Errors
    /// ValueError if it is for an argument of a function.
    pub(super) fn for_input(&self) -> PyResult<(Arc<Sampler>, Option<u64>)> {
        let refused = |what: &str| {
            PyValueError::new_err(format!(
                "sample: a sampler with {what} is for a loss that is a function; in a graph it draws \
                 one item a sample, and given is an input"
            ))
        };
        if !self.shape.is_empty() {
            return Err(refused("a shape"));
        }
        match &self.given {
            None => Ok((Arc::clone(&self.inner), None)),
            Some(SampledUser::Input(id, _)) => Ok((Arc::clone(&self.inner), Some(*id))),
            Some(SampledUser::Argument(_)) => Err(refused("given as a name")),
        }
    }
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
        let shape = match slf.get().shape.is_empty() {
            true => String::new(),
            false => format!(", shape {}", slf.get().shape_object(slf.py())?.repr()?),
        };
        let class = slf.get_type().name()?;
        Ok(format!("<{class} of {n} items{known}{shape}>"))
    }
}

/// Adds what users know to a sampler.
fn create<S: pyo3::PyClass<BaseType = PySampler>>(
    class: S,
    sampler: Sampler,
    positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    given: Option<&Bound<'_, PyAny>>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyClassInitializer<S>> {
    let user = |given: &Bound<'_, PyAny>| -> PyResult<SampledUser> {
        Ok(match given.cast::<PyString>() {
            Ok(name) => SampledUser::Argument(name.to_str()?.to_owned()),
            Err(_) => SampledUser::Input(input_id("given", given)?, given.clone().unbind()),
        })
    };
    let given = given.map(user).transpose()?;
    let inner = match (positives, &given) {
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
                "given: with positives, name the input or argument that holds each sample's user",
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
        shape: SampledLength::all(shape)?,
    };
    Ok(PyClassInitializer::from(base).add_subclass(class))
}

/// Items ``0 … n-1``, all equally likely.
///
/// ``Uniform(n, positives=(users, items), given=u)`` never draws an item that the user of the same
/// sample knows: user ``users[k]`` knows item ``items[k]``, and the input ``u``, which needs a
/// column, holds the user. For a loss that is a function, ``given`` is the name of a column, be it
/// an argument or not.
///
/// For such a loss ``shape`` is the shape of what is drawn for a sample: an integer, the name of a
/// column whose values are arrays, which stands for their length, or a tuple of these. So
/// ``shape="items"`` draws an item for each element of a sample's ``items``, ``shape=("items", 5)`` five of
/// them. Without it one item is drawn.
///
/// Raises ValueError if ``n`` is 0, a user knows every item, or a length is negative, IndexError if an
/// item is not below ``n``, TypeError for what is no shape.
///
/// >>> Uniform(1000)
/// <Uniform of 1000 items>
/// >>> Uniform(1000, shape=("items", 5))
/// <Uniform of 1000 items, shape ('items', 5)>
#[pyclass(name = "Uniform", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(super) struct PyUniform;

#[pymethods]
impl PyUniform {
    #[new]
    #[pyo3(signature = (n, *, positives=None, given=None, shape=None))]
    fn new(
        n: Integer,
        positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        given: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let sampler = Sampler::uniform(n.within("n", 1..=u32::MAX.into())? as usize)?;
        create(PyUniform, sampler, positives, given, shape)
    }
}

/// Item ``i`` with probability proportional to ``counts[i] ** power``.
///
/// The default power is word2vec's (Mikolov et al., 2013). ``positives``, ``given`` and ``shape`` as for
/// ``Uniform``. Raises ValueError if counts are empty, negative, not finite or all 0.
///
/// >>> Popularity([5, 1, 2])
/// <Popularity of 3 items>
#[pyclass(name = "Popularity", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(super) struct PyPopularity;

#[pymethods]
impl PyPopularity {
    #[new]
    #[pyo3(signature = (counts, power=Given::default(0.75), *, positives=None, given=None, shape=None),
        text_signature = "(counts, power=0.75, *, positives=None, given=None, shape=None)")]
    fn new(
        counts: &Bound<'_, PyAny>,
        power: Given<f64>,
        positives: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        given: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
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
        create(PyPopularity, sampler, positives, given, shape)
    }
}
