//! Samplers that read the model, for losses that are functions.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::sampling::{KnownPairs, SampledLength, named_in, shape_object};
use crate::python::interop::argument::{Given, Integer, RealNumber};
use crate::python::interop::convert::{self, type_name};
use crate::python::interop::long_call::patiently;
use crate::python::variables::variable::PyVariable;
use crate::table::Table;
use crate::train::{Choice, Sampler, ScoredSampler};

/// What samplers that read the model share; make one by ``WARP``, ``Dynamic`` or ``Adaptive``.
#[pyclass(name = "ScoredSampler", module = "wyrmling.sampling", subclass, frozen)]
pub(in crate::python) struct PyScoredSampler {
    pub(in crate::python) inner: Arc<ScoredSampler>,
    /// The columns that hold each sample's user, and its item if that counts.
    pub(in crate::python) user: String,
    pub(in crate::python) item: Option<String>,
    /// The shape of what is drawn for a sample; empty for one item.
    pub(in crate::python) shape: Vec<SampledLength>,
}

impl PyScoredSampler {
    /// The columns that it needs for what it draws for a sample: last those of its shape.
    pub(in crate::python) fn used_columns(&self) -> Vec<&str> {
        let columns = [Some(&self.user), self.item.as_ref()];
        let columns = columns.into_iter().flatten().map(|name| &**name);
        columns.chain(named_in(&self.shape)).collect()
    }
}

#[pymethods]
impl PyScoredSampler {
    /// The number of items; those drawn are below.
    #[getter]
    fn n(&self) -> u32 {
        self.inner.base().item_count()
    }

    /// Raises TypeError: it reads parameters, which a copy would not train.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a sampler that reads parameters cannot be copied or pickled: make another of the parameters",
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let n = self.inner.base().item_count();
        let shape = match self.shape.is_empty() {
            true => String::new(),
            false => format!(", shape {}", shape_object(py, &self.shape)?.repr()?),
        };
        Ok(match self.inner.choice() {
            Choice::Warp { margin, most } => {
                format!("<WARP of {n} items, margin {margin:?}, at most {most} draws>")
            }
            Choice::Hardest(of) => format!("<Dynamic of {n} items, the hardest of {of}{shape}>"),
            Choice::Adaptive(scale) => {
                format!("<Adaptive of {n} items, rank scale {scale:?}{shape}>")
            }
        })
    }
}

/// What ``WARP.rank`` is: it fills an argument with the ranks of what the sampler draws for another.
#[pyclass(name = "Rank", module = "wyrmling.sampling", frozen)]
pub(in crate::python) struct PyRank {
    pub(in crate::python) of: Arc<ScoredSampler>,
}

#[pymethods]
impl PyRank {
    /// Raises TypeError: it belongs to its sampler.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a rank cannot be copied or pickled: take that of another sampler",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Rank among {} items>", self.of.base().item_count())
    }
}

fn table(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Arc<Table>> {
    let variable = object.cast::<PyVariable>().ok();
    match variable.and_then(|v| v.get().handle.param()) {
        Some(param) => Ok(Arc::clone(param.table())),
        None => Err(PyTypeError::new_err(format!(
            "{name}: expected a Parameter, got {}",
            type_name(object)
        ))),
    }
}

/// The parameters, what users know, and where a sample has its user and item.
struct Setting<'a, 'py> {
    users: &'a Bound<'py, PyAny>,
    items: &'a Bound<'py, PyAny>,
    item_bias: Option<&'a Bound<'py, PyAny>>,
    positives: Option<KnownPairs<'py>>,
    given: String,
    item: Option<String>,
    shape: Option<&'a Bound<'py, PyAny>>,
}

impl Setting<'_, '_> {
    fn sampler(self, choice: Choice) -> PyResult<PyScoredSampler> {
        let (users, items) = (table("users", self.users)?, table("items", self.items)?);
        let bias = self.item_bias.map(|bias| table("item_bias", bias));
        let bias = bias.transpose()?;
        let n = items.rows();
        let mut base = Sampler::uniform(n)?;
        if let Some(KnownPairs(of, known)) = &self.positives {
            let of = convert::indices("positives: users", of, &|| None)?;
            let known = convert::indices("positives: items", known, &|| Some(n))?;
            base = patiently(of.as_slice().len(), move || {
                base.reject(of.as_slice(), known.as_slice())
            })?;
        }
        Ok(PyScoredSampler {
            inner: Arc::new(ScoredSampler::new(base, users, items, bias, choice)?),
            user: self.given,
            item: self.item,
            shape: SampledLength::all(self.shape)?,
        })
    }
}

/// The number of items over the scale of ranks that adaptive sampling has by default.
const RANKS: f64 = 4.0;

fn count(name: &str, n: &Integer) -> PyResult<u32> {
    Ok(n.within(name, 1..=u32::MAX.into())? as u32)
}

/// The first item of several drawn whose score comes within ``margin`` of that of the sample's item, as
/// WSABIE and WARP draw it (Weston, Bengio and Usunier, 2011); the last of ``most`` if none does.
///
/// A score is ``users[u] @ items[i] + item_bias[i]``, of the parameters as the batch before has left them:
/// shapes (n, d), (m, d) and (m,). ``given`` and ``item`` are the names of the columns with a sample's user
/// and item, and with ``positives=(users, items)`` nothing is drawn that the user knows. ``rank`` beside it
/// fills another argument with the rank that the item has by the number of draws, ``(m - 1) // draws``, at
/// least 1, as a float; it is 1 where no item was found.
///
/// ``fit`` raises ValueError for a column that is not there, IndexError for one beyond the parameters. Raises
/// TypeError for what is no Parameter, ValueError for shapes that do not fit, ``most`` below 1, a margin that
/// is not finite, or a user who knows every item.
///
/// >>> from wyrmling import Parameter
/// >>> users, items = Parameter([[1.0], [2.0]]), Parameter([[1.0], [2.0], [0.0]])
/// >>> drawn = WARP(users, items)
/// >>> drawn, drawn.rank      # fit(…, sample={"negative": drawn, "rank": drawn.rank})
/// (<WARP of 3 items, margin 1.0, at most 100 draws>, <Rank among 3 items>)
#[pyclass(name = "WARP", module = "wyrmling.sampling", extends = PyScoredSampler, frozen)]
pub(in crate::python) struct PyWarp;

#[pymethods]
impl PyWarp {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python class"
    )]
    #[pyo3(
        signature = (
            users,
            items,
            item_bias=None,
            *,
            positives=None,
            given="user".into(),
            item="item".into(),
            margin=Given::default(RealNumber(1.0)),
            most=Integer::Fits(100)
        ),
        text_signature = "(users, items, item_bias=None, *, positives=None, given='user', item='item', margin=1.0, most=100)"
    )]
    fn new(
        users: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        item_bias: Option<&Bound<'_, PyAny>>,
        positives: Option<KnownPairs<'_>>,
        given: String,
        item: String,
        margin: Given<RealNumber>,
        most: Integer,
    ) -> PyResult<PyClassInitializer<Self>> {
        let choice = Choice::Warp {
            margin: margin.named("margin", "a number")?.0,
            most: count("most", &most)?,
        };
        let setting = Setting {
            users,
            items,
            item_bias,
            positives,
            given,
            item: Some(item),
            shape: None,
        };
        Ok(PyClassInitializer::from(setting.sampler(choice)?).add_subclass(PyWarp))
    }

    /// What fills another argument with the rank of what is drawn.
    #[getter]
    fn rank(slf: &Bound<'_, Self>) -> PyRank {
        PyRank {
            of: Arc::clone(&slf.as_super().get().inner),
        }
    }
}

/// The item with the highest score of ``of`` that are drawn (Zhang, Chen, Wang and Yu, 2013).
///
/// Scores are those of ``WARP``, as are ``users``, ``items``, ``item_bias``, ``positives`` and ``given``;
/// ``shape`` is that of ``Uniform``. Raises as ``WARP`` for these, and ValueError for ``of`` below 1.
///
/// >>> from wyrmling import Parameter
/// >>> users, items = Parameter([[1.0], [2.0]]), Parameter([[1.0], [2.0], [0.0]])
/// >>> Dynamic(users, items, of=8)
/// <Dynamic of 3 items, the hardest of 8>
#[pyclass(name = "Dynamic", module = "wyrmling.sampling", extends = PyScoredSampler, frozen)]
pub(in crate::python) struct PyDynamic;

#[pymethods]
impl PyDynamic {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python class"
    )]
    #[pyo3(
        signature = (
            users,
            items,
            item_bias=None,
            *,
            positives=None,
            given="user".into(),
            of=Integer::Fits(5),
            shape=None
        ),
        text_signature = "(users, items, item_bias=None, *, positives=None, given='user', of=5, shape=None)"
    )]
    fn new(
        users: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        item_bias: Option<&Bound<'_, PyAny>>,
        positives: Option<KnownPairs<'_>>,
        given: String,
        of: Integer,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let setting = Setting {
            users,
            items,
            item_bias,
            positives,
            given,
            item: None,
            shape,
        };
        let choice = Choice::Hardest(count("of", &of)?);
        Ok(PyClassInitializer::from(setting.sampler(choice)?).add_subclass(PyDynamic))
    }
}

/// An item that is likely to have a high score, at the cost of a few random numbers and of no score
/// (Rendle and Freudenthaler, 2014).
///
/// A draw takes a rank ``r``, from 0 on, with a probability proportional to ``exp(-r / rank_scale)``, a factor
/// ``f`` with one proportional to ``abs(users[u, f]) * items[:, f].std()``, and the item at that rank from the top in
/// the order of ``items[:, f]``, or from the bottom if ``users[u, f]`` is negative. ``item_bias`` is one factor
/// more, for which all users have 1. The orders are made anew when an epoch begins, and after every
/// ``m * log(m)`` items that a thread has drawn, of m.
///
/// ``rank_scale`` is a number above 0: the lower, the higher the items that are drawn. None is a quarter of
/// the number of items. ``users``, ``items``, ``item_bias``, ``positives`` and ``given`` are those of
/// ``WARP``, ``shape`` is that of ``Uniform``. Raises as ``WARP`` for these, and ValueError for a
/// ``rank_scale`` that is not finite and above 0. An item that the user knows is drawn again, and after 16 times the next
/// in the order is taken that they do not know. If they know the next 1,024 too, or all their factors are 0, they get
/// what ``Uniform`` draws.
///
/// >>> from wyrmling import Parameter
/// >>> users, items = Parameter([[1.0], [2.0]]), Parameter([[1.0], [2.0], [0.0]])
/// >>> Adaptive(users, items, rank_scale=1.5, shape=4)
/// <Adaptive of 3 items, rank scale 1.5, shape (4,)>
#[pyclass(name = "Adaptive", module = "wyrmling.sampling", extends = PyScoredSampler, frozen)]
pub(in crate::python) struct PyAdaptive;

#[pymethods]
impl PyAdaptive {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python class"
    )]
    #[pyo3(
        signature = (
            users,
            items,
            item_bias=None,
            *,
            positives=None,
            given="user".into(),
            rank_scale=None,
            shape=None
        ),
        text_signature = "(users, items, item_bias=None, *, positives=None, given='user', rank_scale=None, shape=None)"
    )]
    fn new(
        users: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        item_bias: Option<&Bound<'_, PyAny>>,
        positives: Option<KnownPairs<'_>>,
        given: String,
        rank_scale: Option<Given<RealNumber>>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let rank_scale = rank_scale.map(|given| given.named("rank_scale", "a number or None"));
        let scale = match rank_scale.transpose()? {
            Some(RealNumber(scale)) => scale,
            None => table("items", items)?.rows() as f64 / RANKS,
        };
        let setting = Setting {
            users,
            items,
            item_bias,
            positives,
            given,
            item: None,
            shape,
        };
        let sampler = setting.sampler(Choice::Adaptive(scale))?;
        Ok(PyClassInitializer::from(sampler).add_subclass(PyAdaptive))
    }
}
