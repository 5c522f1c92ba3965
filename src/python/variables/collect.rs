//! Graphs as Python's garbage collector sees them.
//!
//! A hook or an operator of the caller's own is a Python object that a node holds, and it may refer
//! to variables of that graph: a circle that the collector must see through to free it. But nodes
//! are shared by `Rc`, and the collector needs to know, of each reference to an object, which
//! object holds it.
//!
//! So for the time of a full collection the graph is shown as objects. When one starts, all
//! variables that there are walk down their graphs once. What nodes hold of Python's ([`Held`])
//! moves to objects that the collector traverses ([`Link`]); a variable refers to the link of its
//! node, and a link to those of the nodes below. An operator has a link of its own, to which all
//! nodes and programs that hold it refer. When the collection ends, links that are still
//! there give back what they hold, and go. A circle that nobody else refers to is cleared by the
//! collector meanwhile.
//!
//! A node that something else holds too, such as a walk that is under way, keeps what it has, and so
//! do the nodes below it; an operator that something else holds, such as a run of a program that is
//! under way, keeps what it has: nothing of theirs is freed in that collection. To find that out,
//! references are counted.
//!
//! Limits: only full collections free such circles (`gc.collect()`, and those that Python makes by
//! itself when many objects survive), and only they pay for the walk, if there is a hook or operator
//! of the caller's own at all. A collection that has no memory for the walk frees none of them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use pyo3::PyVisit;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyWeakrefMethods, PyWeakrefReference};

use super::holders::{Holders, What};
use crate::error::Result;
use crate::graph::Variable;
use crate::process;
use crate::python::interop::once::intern;
use crate::reserve;
use crate::rules::OpRef;

/// A mutex that is locked with the interpreter's lock held, while no Python code runs.
pub(in crate::python) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many [`Held`] there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

enum HeldAt {
    Here(Py<PyAny>),
    /// In a link, at a place among what it holds.
    Away(Py<PyWeakrefReference>, usize),
}

/// A Python object that a node holds. See the [module documentation](self).
pub(in crate::python) struct Held(Arc<Mutex<HeldAt>>);

impl Held {
    pub(in crate::python) fn new(object: Py<PyAny>) -> Self {
        COUNT.fetch_add(1, Relaxed);
        Held(Arc::new(Mutex::new(HeldAt::Here(object))))
    }

    /// The object.
    ///
    /// # Errors
    /// RuntimeError if the collector has freed it, which only code that runs while a circle is
    /// being freed can see.
    pub(in crate::python) fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (link, at) = match &*locked(&self.0) {
            HeldAt::Here(object) => return Ok(object.bind(py).clone()),
            HeldAt::Away(link, at) => (link.clone_ref(py), *at),
        };
        let link = link.bind(py).upgrade_as::<Link>()?;
        let object = link.and_then(|link| {
            let held = locked(&link.get().held);
            held.get(at).map(|(object, _)| object.bind(py).clone())
        });
        object.ok_or_else(|| {
            PyRuntimeError::new_err("a hook or operator of this graph has been freed with it")
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Relaxed);
    }
}

/// An object, and where it is to go when the collection ends.
type Moved = (Py<PyAny>, Weak<Mutex<HeldAt>>);

/// What a node holds during a collection.
#[pyclass(module = "wyrmling._core", frozen, weakref)]
pub(in crate::python) struct Link {
    held: Mutex<Vec<Moved>>,
    below: Mutex<Vec<Py<Link>>>,
}

#[pymethods]
impl Link {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for (object, _) in &*locked(&self.held) {
            visit.call(object)?;
        }
        locked(&self.below)
            .iter()
            .try_for_each(|link| visit.call(link))
    }

    fn __clear__(&self) {
        let held = std::mem::take(&mut *locked(&self.held));
        drop(held);
        self.let_go_below();
    }
}

impl Link {
    /// Lets go of the links below, and of those below them that nobody else has: one after the other,
    /// since graphs are deep.
    fn let_go_below(&self) {
        let mut below = std::mem::take(&mut *locked(&self.below));
        while let Some(link) = below.pop() {
            // SAFETY: `link` owns a reference, so the object is there. The interpreter's lock is held,
            // as it is wherever a link is made, cleared or freed, so that nobody changes the count.
            if unsafe { pyo3::ffi::Py_REFCNT(link.as_ptr()) } == 1 {
                below.append(&mut locked(&link.get().below));
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.let_go_below();
    }
}

/// The links of a handle, during a collection. Few handles ever have any, so there is no room for
/// them before.
#[derive(Default)]
pub(in crate::python) struct Links(OnceLock<Box<Mutex<Vec<Py<Link>>>>>);

impl Links {
    fn set(&self, links: Vec<Py<Link>>) {
        let old = std::mem::replace(&mut *locked(self.0.get_or_init(Box::default)), links);
        drop(old);
    }

    pub(in crate::python) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.get() {
            Some(links) => locked(links).iter().try_for_each(|link| visit.call(link)),
            None => Ok(()),
        }
    }

    pub(in crate::python) fn clear(&self) {
        if self.0.get().is_some() {
            self.set(Vec::new());
        }
    }
}

/// A Python object that holds parts of graphs.
pub(in crate::python) trait Root {
    /// Calls `f` with all that it holds, in parts, each with the links that show it.
    fn each(&self, f: &mut dyn FnMut(&Links, Vec<What>));
}

/// Finds what the hooks of a node hold.
type HeldHooks = fn(&Variable, &mut dyn FnMut(&Held));

/// What an operator holds, if it is one of the caller's own.
type HeldDefinition = for<'a> fn(&'a OpRef) -> Option<&'a Held>;

/// Adds a link, once if it comes twice in turn.
fn add(py: Python<'_>, link: Option<&Py<Link>>, links: &mut Vec<Py<Link>>) {
    if let Some(link) = link
        && !links.last().is_some_and(|last| last.is(link))
    {
        links.push(link.clone_ref(py));
    }
}

/// Makes a link that holds what is in some places.
fn link(
    py: Python<'_>,
    places: Vec<Arc<Mutex<HeldAt>>>,
    below: Vec<Py<Link>>,
    shown: &mut Shown,
) -> PyResult<Py<Link>> {
    let link = Link {
        held: Mutex::default(),
        below: Mutex::new(below),
    };
    let link = Bound::new(py, link)?;
    let weak = PyWeakrefReference::new(&link)?.unbind();
    for place in places {
        let mut held = locked(&link.get().held);
        let away = HeldAt::Away(weak.clone_ref(py), held.len());
        let mut place_now = locked(&place);
        match std::mem::replace(&mut *place_now, away) {
            HeldAt::Here(object) => held.push((object, Arc::downgrade(&place))),
            // No collection begins within another.
            other => *place_now = other,
        }
    }
    shown.links.push(weak);
    Ok(link.unbind())
}

/// What a collection that is under way has shown: links, and objects whose handles have some.
#[derive(Default)]
struct Shown {
    links: Vec<Py<PyWeakrefReference>>,
    roots: Vec<Py<PyWeakrefReference>>,
}

static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// Shows what some objects refer to, to the collector.
///
/// # Errors
/// MemoryError; `shown` then has what is to be taken back.
fn show(
    py: Python<'_>,
    roots: &[(Bound<'_, PyAny>, &dyn Root)],
    finder: Finder,
    shown: &mut Shown,
) -> PyResult<()> {
    let mut holders = Holders::new(finder.is_primitive);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (_, root) in roots {
        let mut result = Ok(());
        root.each(&mut |_, held| {
            let numbers: Result<_> = held.into_iter().map(|what| holders.add(what)).collect();
            match numbers {
                Ok(numbers) => parts.push(numbers),
                Err(error) => result = Err(error),
            }
        });
        result?;
    }
    holders.find_shared();
    reserve::ahead(holders.len(), reserve::bytes::LISTED)?;
    let mut links: Vec<Option<Py<Link>>> = Vec::new();
    links.resize_with(holders.len(), || None);
    for (number, holder) in holders.in_order() {
        if holder.is_shared {
            continue;
        }
        let mut below: Vec<Py<Link>> = Vec::new();
        for &at in &holder.below {
            add(py, links[at].as_ref(), &mut below);
        }
        let mut places: Vec<Arc<Mutex<HeldAt>>> = Vec::new();
        let mut hold = |held: &Held| places.push(Arc::clone(&held.0));
        match &holder.what {
            What::Node(node) => (finder.hooks)(node, &mut hold),
            What::Operator(op) => (finder.definition)(op).into_iter().for_each(hold),
            What::Other(_) => {}
        }
        links[number] = match places.is_empty() && below.len() <= 1 {
            true => below.pop(),
            false => Some(link(py, places, below, shown)?),
        };
    }
    let mut parts = parts.into_iter();
    for (object, root) in roots {
        let mut any = false;
        root.each(&mut |to, _| {
            let mut found = Vec::new();
            for number in parts.next().into_iter().flatten() {
                add(py, links[number].as_ref(), &mut found);
            }
            if !found.is_empty() {
                any = true;
                to.set(found);
            }
        });
        if any {
            let weak = PyWeakrefReference::new(object);
            let weak = weak.inspect_err(|_| root.each(&mut |links, _| links.clear()))?;
            shown.roots.push(weak.unbind());
        }
    }
    Ok(())
}

/// Has links that are still there give back what they hold, and ends them.
fn take_back(py: Python<'_>, shown: Shown, finder: Finder) {
    for weak in &shown.links {
        let Ok(Some(link)) = weak.bind(py).upgrade_as::<Link>() else {
            continue;
        };
        let held = std::mem::take(&mut *locked(&link.get().held));
        for (object, place) in held {
            if let Some(place) = place.upgrade() {
                *locked(&place) = HeldAt::Here(object);
            }
        }
    }
    for weak in &shown.roots {
        if let Some(object) = weak.bind(py).upgrade()
            && let Some(root) = (finder.root)(&object)
        {
            root.each(&mut |links, _| links.clear());
        }
    }
}

/// How the collector finds what refers to nodes, and what nodes hold.
#[derive(Clone, Copy)]
pub(in crate::python) struct Finder {
    /// The object as a root, if it is one.
    pub root: for<'a> fn(&'a Bound<'_, PyAny>) -> Option<&'a dyn Root>,
    pub hooks: HeldHooks,
    pub definition: HeldDefinition,
    /// Whether an operator has a definition.
    pub is_primitive: fn(&OpRef) -> bool,
}

static FINDER: Mutex<Option<Finder>> = Mutex::new(None);

/// Called by Python when a collection starts and stops.
#[pyfunction]
fn collecting(py: Python<'_>, phase: &str, info: &Bound<'_, PyDict>) -> PyResult<()> {
    let Some(finder) = *locked(&FINDER) else {
        return Ok(());
    };
    if phase == "stop" {
        let shown = locked(&SHOWN).take();
        if let Some(shown) = shown {
            take_back(py, shown, finder);
        }
        return Ok(());
    }
    let generation = info.get_item(intern!(py, "generation"))?;
    let is_full = generation.is_some_and(|g| g.extract().is_ok_and(|g: u32| g == 2));
    if !is_full || COUNT.load(Relaxed) == 0 || process::is_forking() {
        return Ok(());
    }
    let gc = py.import(intern!(py, "gc"))?;
    let objects = gc.call_method0(intern!(py, "get_objects"))?;
    let objects: Vec<Bound<'_, PyAny>> = objects
        .cast::<PyList>()?
        .iter()
        .filter(|object| (finder.root)(object).is_some())
        .collect();
    let roots: Vec<_> = objects
        .iter()
        .filter_map(|object| Some((object.clone(), (finder.root)(object)?)))
        .collect();
    let mut shown = Shown::default();
    match show(py, &roots, finder, &mut shown) {
        Ok(()) => *locked(&SHOWN) = Some(shown),
        // This collection frees none of these circles.
        Err(error) if error.is_instance_of::<PyMemoryError>(py) => take_back(py, shown, finder),
        Err(error) => {
            take_back(py, shown, finder);
            return Err(error);
        }
    }
    Ok(())
}

/// Has Python announce collections.
pub(in crate::python) fn register(module: &Bound<'_, PyModule>, finder: Finder) -> PyResult<()> {
    let py = module.py();
    *locked(&FINDER) = Some(finder);
    let callbacks = py.import(intern!(py, "gc"))?.getattr("callbacks")?;
    callbacks.call_method1("append", (wrap_pyfunction!(collecting, module)?,))?;
    Ok(())
}
