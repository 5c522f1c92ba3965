//! `SGD`, `Adagrad` and `Adam`, and their base `Optimizer`, as Python sees them; [`crate::optim`] has the rules.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::graph::Parameter;
use crate::optim::{L2Per, Optimizer, Penalized, Rule, Settings};
use crate::python::interop::argument::{Given, RealNumber};
use crate::python::interop::convert::type_name;
use crate::python::interop::items::items;
use crate::python::interop::long_call::long_call;
use crate::python::variables::registry;
use crate::python::variables::variable::PyVariable;
use crate::table::Param;

/// Numbers in parameters from which on a step may take so long that somebody wants it to end.
const LONG_STEP: usize = 1 << 22;

/// What all optimizers share; make one by ``SGD``, ``Adagrad`` or ``Adam``.
///
/// An optimizer is pickled and copied with its state (momentum, sums of squares, moments), which
/// stays tied to the parameters that are in the same pickle or deep copy, and is of no use without
/// them: ``pickle.dumps((optimizer, parameters))``.
#[pyclass(name = "Optimizer", module = "wyrmling", subclass, frozen)]
pub(in crate::python) struct PyOptimizer {
    pub(in crate::python) inner: Arc<Optimizer>,
}

fn number(name: &str, given: Given<RealNumber>) -> PyResult<f64> {
    Ok(given.named(name, "a number")?.0)
}

/// ``l2``: the weight of the penalty on all parameters, or on each of some.
struct Penalty {
    all: f64,
    own: Vec<(Penalized, f64)>,
}

impl Penalty {
    /// None at all, once a step if it were.
    const NONE: Given<Self> = Given::default(Penalty {
        all: 0.0,
        own: Vec::new(),
    });
}

impl<'py> FromPyObject<'_, 'py> for Penalty {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(by_parameter) = object.cast::<PyDict>() else {
            let (RealNumber(all), own) = (object.extract()?, Vec::new());
            return Ok(Penalty { all, own });
        };
        let one = |(key, l2): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let RealNumber(l2) = l2.extract()?;
            if let Ok(name) = key.cast::<PyString>() {
                return Ok((Penalized::Named(name.to_str()?.to_owned()), l2));
            }
            let variable = key.cast::<PyVariable>().ok();
            let Some(param) = variable.and_then(|v| v.get().handle.param()) else {
                return Err(PyTypeError::new_err("no Parameter"));
            };
            Ok((Penalized::Table(Arc::downgrade(param.table())), l2))
        };
        let own = by_parameter.iter().map(one).collect::<PyResult<_>>()?;
        Ok(Penalty { all: 0.0, own })
    }
}

/// How often the penalty counts, by its name.
struct PenaltyPer(L2Per);

impl PenaltyPer {
    const STEP: Given<Self> = Given::default(PenaltyPer(L2Per::Step));
}

impl FromPyObject<'_, '_> for PenaltyPer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "step" => Ok(PenaltyPer(L2Per::Step)),
            "sample" => Ok(PenaltyPer(L2Per::Sample)),
            other => Err(PyValueError::new_err(format!(
                "l2_per: expected 'step' or 'sample', got '{other}'"
            ))),
        }
    }
}

/// Sets up a subclass.
fn create<S: pyo3::PyClass<BaseType = PyOptimizer>>(
    class: S,
    rule: Rule,
    lr: Given<RealNumber>,
    l2: (Given<Penalty>, Given<PenaltyPer>),
    clip: Option<Given<RealNumber>>,
) -> PyResult<PyClassInitializer<S>> {
    let lr = number("lr", lr)?;
    let kind = "a number, or a dict with a number for each of some Parameters or their names";
    let Penalty { all, own } = l2.0.named("l2", kind)?;
    let PenaltyPer(l2_per) = l2.1.named("l2_per", "'step' or 'sample'")?;
    let settings = Settings {
        lr,
        l2: all,
        l2_per,
        clip: clip
            .map(|clip| clip.named("clip", "a number or None"))
            .transpose()?
            .map(|RealNumber(clip)| clip),
    };
    let mut optimizer = Optimizer::new(rule, settings)?;
    for (parameters, l2) in own {
        optimizer = optimizer.with_l2(parameters, l2)?;
    }
    let inner = Arc::new(optimizer);
    Ok(PyClassInitializer::from(PyOptimizer { inner }).add_subclass(class))
}

#[pymethods]
impl PyOptimizer {
    /// Learning rate.
    #[getter]
    fn lr(&self) -> f64 {
        self.inner.settings().lr
    }

    /// Changes the learning rate and keeps the state. It counts from the next step, and in ``fit``,
    /// where a callback may set it, from the next epoch.
    ///
    /// Raises TypeError for what is no number, ValueError if it is negative or not finite. At 0, where
    /// a schedule may end, parameters stay as they are.
    #[setter]
    fn set_lr(&self, lr: Given<RealNumber>) -> PyResult<()> {
        Ok(self.inner.set_lr(number("lr", lr)?)?)
    }

    /// Weight of the penalty ``l2/2 · |w|²``; if parameters have their own, a dict of them by
    /// Parameter or name.
    #[getter]
    pub(in crate::python) fn l2<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let own = self.inner.own_l2();
        if own.is_empty() {
            return Ok(self.inner.settings().l2.into_pyobject(py)?.into_any());
        }
        let weights = PyDict::new(py);
        for (penalized, l2) in own {
            match penalized {
                Penalized::Named(name) => weights.set_item(name, l2)?,
                Penalized::Table(table) => {
                    if let Some(table) = table.upgrade()
                        && let Some(object) =
                            registry::object(py, &Parameter::shared(table).boxed())?
                    {
                        weights.set_item(object, l2)?;
                    }
                }
            }
        }
        Ok(weights.into_any())
    }

    /// ``"step"`` or ``"sample"``: how often the penalty counts.
    #[getter]
    pub(in crate::python) fn l2_per(&self) -> &'static str {
        match self.inner.settings().l2_per {
            L2Per::Step => "step",
            L2Per::Sample => "sample",
        }
    }

    /// Bound on each element of the gradient, or None.
    #[getter]
    fn clip(&self) -> Option<f64> {
        self.inner.settings().clip
    }

    /// Applies the gradient of every parameter that has one. Gradients are kept until
    /// ``zero_grad``.
    ///
    /// Raises TypeError if something else than a Parameter is given, FloatingPointError if a
    /// gradient holds NaN or infinity or the step leads there, RuntimeError if a parameter is
    /// being trained; no parameter is changed then.
    fn step(&self, py: Python<'_>, parameters: &Bound<'_, PyAny>) -> PyResult<()> {
        let refuse = |got: String| {
            let message = format!("parameters: expected a list of Parameters, got {got}");
            Err(PyTypeError::new_err(message))
        };
        if parameters.is_instance_of::<PyVariable>() {
            return refuse(format!("a {} by itself", type_name(parameters)));
        }
        if parameters.try_iter().is_err() {
            return refuse(type_name(parameters));
        }
        let params = items("parameters", parameters, None, |object| {
            let variable = object.cast::<PyVariable>().ok();
            let param = variable.and_then(|v| v.get().handle.param());
            param.map(Arc::clone).ok_or_else(|| {
                PyTypeError::new_err(format!(
                    "parameters: expected Parameters, got {}",
                    type_name(&object)
                ))
            })
        })?;
        let step = || {
            let refs: Vec<&Param> = params.iter().map(|p| &**p).collect();
            self.inner.step(&refs)
        };
        let sizes = params.iter().map(|param| param.table().size());
        if sizes.fold(0, usize::saturating_add) >= LONG_STEP {
            return long_call(py, |_| step());
        }
        // It may wait for a thread that uses the parameters, so the interpreter's lock is released.
        Ok(py.detach(step)?)
    }

    fn __repr__(&self) -> String {
        let Settings {
            lr,
            l2,
            l2_per,
            clip,
        } = self.inner.settings();
        let (name, own) = self.inner.rule().settings();
        // Debug writes floats as Python's repr does: 0.0, 1e308.
        let own = own.iter().map(|(name, x)| format!(", {name}={x:?}"));
        let own = own.collect::<String>();
        let clip = clip.map_or("None".to_owned(), |c| format!("{c:?}"));
        let weights = self.inner.own_l2().iter().filter_map(|(penalized, l2)| {
            let whose = match penalized {
                Penalized::Named(name) => format!("'{name}'"),
                Penalized::Table(table) => table.upgrade()?.label(),
            };
            Some(format!("{whose}: {l2:?}"))
        });
        let l2 = match self.inner.own_l2() {
            [] => format!("{l2:?}"),
            _ => format!("{{{}}}", weights.collect::<Vec<_>>().join(", ")),
        };
        let per = match l2_per {
            L2Per::Step => "",
            L2Per::Sample => ", l2_per='sample'",
        };
        format!("{name}(lr={lr:?}{own}, l2={l2}, clip={clip}{per})")
    }
}

/// Stochastic gradient descent, with momentum if asked: ``v ← momentum v + g; w ← w - lr v``
/// (Polyak, 1964; in the form of Sutskever et al., 2013, without dampening).
///
/// ``clip`` bounds each element of a gradient, then ``l2`` times the parameter is added, the gradient
/// of ``l2/2 · |w|²``; both, and momentum, act on the rows that have a gradient and leave the others as
/// they are. ``l2`` is a number, or a dict with a number for each of some Parameters or their names;
/// the others then have none. It counts once for each row that a step uses, so that larger batches
/// weaken it, or with ``l2_per="sample"`` each time that a row is looked up (a lookup that a sample
/// repeats, as in each turn of a loop, counts once), as if it was added to the loss of each sample; a
/// parameter that is used whole is used by each sample. Without momentum and clip a row then shrinks
/// by ``1 - lr * l2`` for each time, one after the other.
/// Raises ValueError naming an argument that is out of range. ``fit`` raises it for the name of no
/// parameter of its loss.
///
/// >>> SGD(lr=0.1)
/// SGD(lr=0.1, momentum=0.0, l2=0.0, clip=None)
/// >>> SGD(lr=0.1, l2={"users": 0.01, "items": 0.02}, l2_per="sample")
/// SGD(lr=0.1, momentum=0.0, l2={'users': 0.01, 'items': 0.02}, clip=None, l2_per='sample')
#[pyclass(name = "SGD", module = "wyrmling", extends = PyOptimizer, frozen)]
pub(in crate::python) struct PySgd;

#[pymethods]
impl PySgd {
    #[new]
    #[pyo3(
        signature = (
            lr,
            momentum=Given::default(RealNumber(0.0)),
            l2=Penalty::NONE,
            clip=None,
            l2_per=PenaltyPer::STEP
        ),
        text_signature = "(lr, momentum=0.0, l2=0.0, clip=None, l2_per='step')"
    )]
    fn new(
        lr: Given<RealNumber>,
        momentum: Given<RealNumber>,
        l2: Given<Penalty>,
        clip: Option<Given<RealNumber>>,
        l2_per: Given<PenaltyPer>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let momentum = number("momentum", momentum)?;
        create(PySgd, Rule::Sgd { momentum }, lr, (l2, l2_per), clip)
    }
}

/// Steps that shrink with the sum of squared gradients, element by element:
/// ``s ← s + g²; w ← w - lr g / (√s + eps)`` (Duchi, Hazan and Singer, 2011).
///
/// ``l2``, ``l2_per``, ``clip`` and errors as for ``SGD``.
///
/// >>> Adagrad(lr=0.1)
/// Adagrad(lr=0.1, eps=1e-10, l2=0.0, clip=None)
#[pyclass(name = "Adagrad", module = "wyrmling", extends = PyOptimizer, frozen)]
pub(in crate::python) struct PyAdagrad;

#[pymethods]
impl PyAdagrad {
    #[new]
    #[pyo3(
        signature = (
            lr,
            l2=Penalty::NONE,
            clip=None,
            eps=Given::default(RealNumber(1e-10)),
            l2_per=PenaltyPer::STEP
        ),
        text_signature = "(lr, l2=0.0, clip=None, eps=1e-10, l2_per='step')"
    )]
    fn new(
        lr: Given<RealNumber>,
        l2: Given<Penalty>,
        clip: Option<Given<RealNumber>>,
        eps: Given<RealNumber>,
        l2_per: Given<PenaltyPer>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let eps = number("eps", eps)?;
        create(PyAdagrad, Rule::Adagrad { eps }, lr, (l2, l2_per), clip)
    }
}

/// Steps scaled by running averages of the gradient and its square (Kingma and Ba, 2015):
/// ``m ← beta1 m + (1 - beta1) g; v ← beta2 v + (1 - beta2) g²; w ← w - lr m̂ / (√v̂ + eps)``, with
/// ``m̂ = m / (1 - beta1ᵗ)`` and ``v̂ = v / (1 - beta2ᵗ)``.
///
/// ``t`` counts the updates of each row, so that a row that is first looked up late in training is
/// treated as on its first step. ``l2``, ``l2_per`` and ``clip`` as for ``SGD``.
///
/// >>> Adam()
/// Adam(lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, l2=0.0, clip=None)
#[pyclass(name = "Adam", module = "wyrmling", extends = PyOptimizer, frozen)]
pub(in crate::python) struct PyAdam;

#[pymethods]
impl PyAdam {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python class"
    )]
    #[pyo3(
        signature = (
            lr=Given::default(RealNumber(1e-3)),
            beta1=Given::default(RealNumber(0.9)),
            beta2=Given::default(RealNumber(0.999)),
            eps=Given::default(RealNumber(1e-8)),
            l2=Penalty::NONE,
            clip=None,
            l2_per=PenaltyPer::STEP
        ),
        text_signature = "(lr=0.001, beta1=0.9, beta2=0.999, eps=1e-08, l2=0.0, clip=None, l2_per='step')"
    )]
    fn new(
        lr: Given<RealNumber>,
        beta1: Given<RealNumber>,
        beta2: Given<RealNumber>,
        eps: Given<RealNumber>,
        l2: Given<Penalty>,
        clip: Option<Given<RealNumber>>,
        l2_per: Given<PenaltyPer>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let rule = Rule::Adam {
            beta1: number("beta1", beta1)?,
            beta2: number("beta2", beta2)?,
            eps: number("eps", eps)?,
        };
        create(PyAdam, rule, lr, (l2, l2_per), clip)
    }
}
