//! Samplers that read the model, for losses that are functions.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::argument::{Given, Integer};
use super::convert::{self, type_name};
use super::long_call::patiently;
use super::variable::PyVariable;
use crate::table::Table;
use crate::train::{Choice, Sampler, ScoredSampler};

/// What users know: users and items, a pair an entry.
type KnownPairs<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// What samplers that read the model share; make one by ``WARP`` or ``Dynamic``.
#[pyclass(name = "ScoredSampler", module = "wyrmling.sampling", subclass, frozen)]
pub(super) struct PyScoredSampler {
    pub(super) inner: Arc<ScoredSampler>,
    /// The columns that hold each sample's user and item.
    pub(super) user: String,
    pub(super) item: String,
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

    fn __repr__(&self) -> String {
        let n = self.inner.base().item_count();
        match self.inner.choice() {
            Choice::Warp { margin, most } => {
                format!("<WARP of {n} items, margin {margin:?}, at most {most} draws>")
            }
            Choice::Hardest(of) => format!("<Dynamic of {n} items, the hardest of {of}>"),
        }
    }
}

/// What ``WARP.rank`` is: it fills an argument with the ranks of what the sampler draws for another.
#[pyclass(name = "Rank", module = "wyrmling.sampling", frozen)]
pub(super) struct PyRank {
    pub(super) of: Arc<ScoredSampler>,
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
    item: String,
}

impl Setting<'_, '_> {
    fn sampler(self, choice: Choice) -> PyResult<PyScoredSampler> {
        let (users, items) = (table("users", self.users)?, table("items", self.items)?);
        let bias = self.item_bias.map(|bias| table("item_bias", bias));
        let bias = bias.transpose()?;
        let n = items.rows();
        let mut base = Sampler::uniform(n)?;
        if let Some((of, known)) = &self.positives {
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
        })
    }
}

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
pub(super) struct PyWarp;

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
            margin=Given::default(1.0),
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
        margin: Given<f64>,
        most: Integer,
    ) -> PyResult<PyClassInitializer<Self>> {
        let choice = Choice::Warp {
            margin: margin.named("margin", "a number")?,
            most: count("most", &most)?,
        };
        let setting = Setting {
            users,
            items,
            item_bias,
            positives,
            given,
            item,
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
/// Scores and the other arguments are those of ``WARP``.
///
/// >>> from wyrmling import Parameter
/// >>> users, items = Parameter([[1.0], [2.0]]), Parameter([[1.0], [2.0], [0.0]])
/// >>> Dynamic(users, items, of=8)
/// <Dynamic of 3 items, the hardest of 8>
#[pyclass(name = "Dynamic", module = "wyrmling.sampling", extends = PyScoredSampler, frozen)]
pub(super) struct PyDynamic;

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
            item="item".into(),
            of=Integer::Fits(5)
        ),
        text_signature = "(users, items, item_bias=None, *, positives=None, given='user', item='item', of=5)"
    )]
    fn new(
        users: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        item_bias: Option<&Bound<'_, PyAny>>,
        positives: Option<KnownPairs<'_>>,
        given: String,
        item: String,
        of: Integer,
    ) -> PyResult<PyClassInitializer<Self>> {
        let setting = Setting {
            users,
            items,
            item_bias,
            positives,
            given,
            item,
        };
        let choice = Choice::Hardest(count("of", &of)?);
        Ok(PyClassInitializer::from(setting.sampler(choice)?).add_subclass(PyDynamic))
    }
}
