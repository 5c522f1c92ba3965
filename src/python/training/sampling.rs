//! Samplers, for inputs that `fit` draws anew for every sample.

use std::sync::Arc;

use pyo3::PyVisit;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::custom_sampler::PythonSampler;
use super::program::input_id;
use crate::array::DType;
use crate::error::Error;
use crate::python::interop::argument::{Given, Integer, RealNumber};
use crate::python::interop::convert::{self, type_name};
use crate::python::interop::items::items;
use crate::python::interop::long_call::patiently;
use crate::train::{Sampler, Source};

/// A column that a sampler uses.
pub(in crate::python) enum UsedColumn {
    /// That of an input of a graph: its number, and its object.
    Input(u64, Py<PyAny>),
    /// That of a name, for a loss that is a function.
    Argument(String),
}

impl UsedColumn {
    pub(in crate::python) fn new(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match given.cast::<PyString>() {
            Ok(name) => UsedColumn::Argument(name.to_str()?.to_owned()),
            Err(_) => UsedColumn::Input(input_id(what, given)?, given.clone().unbind()),
        })
    }

    /// As Python has it.
    pub(in crate::python) fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self {
            UsedColumn::Input(_, input) => input.bind(py).clone(),
            UsedColumn::Argument(name) => PyString::new(py, name).into_any(),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            UsedColumn::Argument(name) => Some(name),
            UsedColumn::Input(..) => None,
        }
    }
}

/// The length of one axis of what a sampler draws for a sample.
pub(in crate::python) enum SampledLength {
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
    pub(in crate::python) fn all(shape: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Self>> {
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

/// What draws.
pub(in crate::python) enum Draws {
    /// Items by their weights.
    Items,
    /// Items that this column has in other samples of the batch.
    InBatch(UsedColumn),
    /// A function of the caller's own, of these columns.
    Custom(Arc<PythonSampler>, Vec<UsedColumn>),
}

/// What all samplers share; make one by ``Uniform``, ``Popularity``, ``InBatch`` or ``Custom``.
#[pyclass(name = "Sampler", module = "wyrmling.sampling", subclass, frozen)]
pub(in crate::python) struct PySampler {
    /// What all items are drawn from, and what users know.
    pub(in crate::python) inner: Arc<Sampler>,
    pub(in crate::python) draws: Draws,
    pub(in crate::python) given: Option<UsedColumn>,
    /// The shape of what is drawn for a sample; empty for one item.
    pub(in crate::python) shape: Vec<SampledLength>,
}

/// A shape as Python has it.
pub(in crate::python) fn shape_object<'py>(
    py: Python<'py>,
    shape: &[SampledLength],
) -> PyResult<Bound<'py, PyTuple>> {
    let lengths = shape.iter().map(|length| match length {
        SampledLength::Fixed(n) => Ok(n.into_pyobject(py)?.into_any()),
        SampledLength::Of(name) => Ok(PyString::new(py, name).into_any()),
    });
    PyTuple::new(py, lengths.collect::<PyResult<Vec<_>>>()?)
}

/// The columns that a shape names.
pub(in crate::python) fn named_in(shape: &[SampledLength]) -> impl Iterator<Item = &str> {
    shape.iter().filter_map(|length| match length {
        SampledLength::Of(name) => Some(&**name),
        SampledLength::Fixed(_) => None,
    })
}

impl PySampler {
    /// The columns, named as arguments are, that it needs for what it draws for a sample: last those of
    /// its shape.
    pub(in crate::python) fn used_columns(&self) -> Vec<&str> {
        let drawn: &[UsedColumn] = match &self.draws {
            Draws::Items => &[],
            Draws::InBatch(column) => std::slice::from_ref(column),
            Draws::Custom(_, columns) => columns,
        };
        let columns = drawn.iter().chain(&self.given);
        let columns = columns.filter_map(UsedColumn::name);
        columns.chain(named_in(&self.shape)).collect()
    }

    /// What fills an input with what is drawn; `place` gives the number of the input that holds a column,
    /// which is `given`, `column` or `columns` to the sampler.
    pub(in crate::python) fn source(
        &self,
        place: impl Fn(&str, &UsedColumn) -> PyResult<u64>,
    ) -> PyResult<Source> {
        let sampler = Arc::clone(&self.inner);
        let given = self.given.as_ref().map(|given| place("given", given));
        let given = given.transpose()?;
        Ok(match &self.draws {
            Draws::Items => Source::Sampled { sampler, given },
            Draws::InBatch(column) => Source::InBatch {
                column: place("column", column)?,
                sampler,
                given,
            },
            Draws::Custom(sampler, columns) => {
                let columns = columns.iter().map(|column| place("columns", column));
                Source::Custom {
                    sampler: sampler.clone(),
                    columns: columns.collect::<PyResult<_>>()?,
                }
            }
        })
    }

    /// What fills an input of a graph.
    ///
    /// # Errors
    /// ValueError if it is for an argument of a function.
    pub(in crate::python) fn for_input(&self) -> PyResult<Source> {
        let refused = |what: &str| {
            PyValueError::new_err(format!(
                "sample: a sampler with {what} is for a loss that is a function; in a graph it draws \
                 one item a sample, and columns are those of inputs"
            ))
        };
        if !self.shape.is_empty() {
            return Err(refused("a shape"));
        }
        self.source(|what, column| match column {
            UsedColumn::Input(id, _) => Ok(*id),
            UsedColumn::Argument(_) => Err(refused(&format!("{what} as a name"))),
        })
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
            false => format!(
                ", shape {}",
                shape_object(slf.py(), &slf.get().shape)?.repr()?
            ),
        };
        let by = match &slf.get().draws {
            Draws::Custom(sampler, _) => format!(", {}", sampler.name()),
            Draws::Items | Draws::InBatch(_) => String::new(),
        };
        let class = slf.get_type().name()?;
        Ok(format!("<{class} of {n} items{known}{by}{shape}>"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.draws {
            Draws::Custom(sampler, _) => sampler.traverse(&visit),
            Draws::Items | Draws::InBatch(_) => Ok(()),
        }
    }
}

/// What users know: users and items, a pair an entry; any sequence of the two columns.
pub(in crate::python) struct KnownPairs<'py>(
    pub(in crate::python) Bound<'py, PyAny>,
    pub(in crate::python) Bound<'py, PyAny>,
);

impl<'py> FromPyObject<'_, 'py> for KnownPairs<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = "positives: expected a pair of columns (users, items), got";
        match object.len() {
            Ok(2) => Ok(KnownPairs(object.get_item(0)?, object.get_item(1)?)),
            Ok(count) => Err(PyValueError::new_err(format!("{expected} {count}"))),
            Err(_) => {
                let kind = type_name(&object);
                Err(PyTypeError::new_err(format!("{expected} {kind}")))
            }
        }
    }
}

/// Adds what users know to a sampler.
fn create<S: pyo3::PyClass<BaseType = PySampler>>(
    class: S,
    sampler: Sampler,
    draws: Draws,
    positives: Option<KnownPairs<'_>>,
    given: Option<&Bound<'_, PyAny>>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyClassInitializer<S>> {
    let given = given.map(|given| UsedColumn::new("given", given));
    let given = given.transpose()?;
    let inner = match (positives, &given) {
        (None, None) => sampler,
        (Some(KnownPairs(users, items)), Some(_)) => {
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
        draws,
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
pub(in crate::python) struct PyUniform;

#[pymethods]
impl PyUniform {
    #[new]
    #[pyo3(signature = (n, *, positives=None, given=None, shape=None))]
    fn new(
        n: Integer,
        positives: Option<KnownPairs<'_>>,
        given: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let sampler = Sampler::uniform(n.within("n", 1..=u32::MAX.into())? as usize)?;
        create(PyUniform, sampler, Draws::Items, positives, given, shape)
    }
}

/// What a column has in the other samples of the same batch: items below ``n``, as often as they are popular.
///
/// ``column`` is the input or the name of a column with one item a sample. Each draw is by itself: all other
/// samples of the batch are as likely (Hidasi et al., 2016). ``positives``, ``given`` and ``shape`` as for
/// ``Uniform``. Where a user knows what all other samples have (of many, 1,024 side by side), and in a last batch of
/// a single sample, an item is drawn as ``Uniform`` draws it.
///
/// ``fit`` raises ValueError for ``batch_size=1`` and for a column that is not there, IndexError for an item of it
/// that is not below ``n``. Else it raises as ``Uniform``.
///
/// >>> InBatch("item", 1000, shape=8)
/// <InBatch of 1000 items, shape (8,)>
#[pyclass(name = "InBatch", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(in crate::python) struct PyInBatch;

#[pymethods]
impl PyInBatch {
    #[new]
    #[pyo3(signature = (column, n, *, positives=None, given=None, shape=None))]
    fn new(
        column: &Bound<'_, PyAny>,
        n: Integer,
        positives: Option<KnownPairs<'_>>,
        given: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let draws = Draws::InBatch(UsedColumn::new("column", column)?);
        let sampler = Sampler::uniform(n.within("n", 1..=u32::MAX.into())? as usize)?;
        create(PyInBatch, sampler, draws, positives, given, shape)
    }
}

/// Items below ``n``, drawn by a function of your own.
///
/// ``draw(rng, shape, *columns)`` is called for a block of samples at a time, about a thousand, and returns
/// integers from 0 to ``n - 1`` of that shape: ``(samples,)``, or with ``shape=k`` ``(samples, k)``. ``rng`` is a
/// ``numpy.random.Generator``, whose seed depends on the seed of the run, the epoch, the worker and the block. So
/// a function that draws by it alone draws the same in a run that is repeated, or that goes on.
///
/// ``columns`` are names of columns, or inputs of a graph, with a number or an array a sample: the function gets of
/// each what the samples of the block have, integers as int64. Where ``shape`` names a column of arrays, the items
/// of all samples are drawn end to end: the shape is their number, and what a sample has in a column is there for
/// each of its items.
///
/// The function runs under the interpreter's lock, in the threads that train. What it raises ends the run, as
/// do IndexError for an item that is not below ``n``, ValueError for another shape, TypeError for no integers: the
/// batches of the block are not applied. It may read the parameters of the run, and change none (RuntimeError).
/// Ctrl-C ends a run when the function has returned.
///
/// Raises TypeError for what is no function, ValueError if ``n`` is 0.
///
/// >>> def near(rng, shape, item):
/// ...     return (item + rng.integers(1, 6, shape)) % 1000
/// >>> Custom(near, 1000, columns=["item"])
/// <Custom of 1000 items, near>
#[pyclass(name = "Custom", module = "wyrmling.sampling", extends = PySampler, frozen)]
pub(in crate::python) struct PyCustom;

#[pymethods]
impl PyCustom {
    #[new]
    #[pyo3(signature = (draw, n, *, columns=None, shape=None),
        text_signature = "(draw, n, *, columns=(), shape=None)")]
    fn new(
        draw: &Bound<'_, PyAny>,
        n: Integer,
        columns: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        if !draw.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "draw: expected a function of a generator, a shape and columns, got {}",
                type_name(draw)
            )));
        }
        let n = n.within("n", 1..=u32::MAX.into())? as u32;
        let columns = match columns {
            Some(names) if names.is_instance_of::<PyString>() => {
                return Err(PyTypeError::new_err(
                    "columns: expected a sequence of names or inputs, got one str",
                ));
            }
            Some(columns) => items("columns", columns, None, |column| {
                UsedColumn::new("columns", &column)
            })?,
            None => Vec::new(),
        };
        let draws = Draws::Custom(Arc::new(PythonSampler::new(draw, n)?), columns);
        let sampler = Sampler::uniform(n as usize)?;
        create(PyCustom, sampler, draws, None, None, shape)
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
pub(in crate::python) struct PyPopularity;

#[pymethods]
impl PyPopularity {
    #[new]
    #[pyo3(signature = (counts, power=Given::default(RealNumber(0.75)), *, positives=None, given=None, shape=None),
        text_signature = "(counts, power=0.75, *, positives=None, given=None, shape=None)")]
    fn new(
        counts: &Bound<'_, PyAny>,
        power: Given<RealNumber>,
        positives: Option<KnownPairs<'_>>,
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
        let RealNumber(power) = power.named("power", "a number")?;
        let sampler = patiently(counts.size(), move || {
            let counts = counts.try_to_dtype(DType::F64)?;
            Sampler::popularity(counts.view().real::<f64>(), power)
        })?;
        create(PyPopularity, sampler, Draws::Items, positives, given, shape)
    }
}
