//! A graph's node inside a Python object, bound to the thread that built it.
//!
//! A graph shares its nodes by `Rc` and stays where it was built, as a database connection
//! does in `sqlite3`: using it in another thread raises `RuntimeError`. pyo3's `unsendable`
//! would panic there and leak what is dropped there; a [`Handle`] does neither.
//!
//! Parameters are the exception. What they hold is shared by threads anyway, so another
//! thread gets a node of its own for the same parameter.
//!
//! # Why it may be sent
//!
//! A handle lives inside a Python object, so it is created, used and dropped by threads that hold
//! the interpreter lock; the module declares `gil_used`, so that free-threaded builds of Python
//! bring the lock back. Reference counts and cells of a graph are therefore touched by one thread at
//! a time, with the lock's release and acquisition between threads, if two things hold: what runs
//! without the lock touches no node, and what another thread does to a graph while a function of this
//! one borrows its nodes harms neither.
//!
//! What runs without the lock is closures given to `Python::detach`. Its bound `Send` keeps nodes out
//! of them, but not a `&Handle`, which is `Send` since a `Handle` is `Sync`: no closure in
//! `src/python` may capture one, nor anything with one inside, such as a `&PyVariable` or a `Py` of it.
//! They are given what is shared by threads anyway (parameters, programs, optimizers), and owned arrays.
//!
//! While nodes are borrowed the lock is released in two ways. Polling and waiting
//! ([`crate::interrupt`]) detach for a slice within a walk (`long_call::attend_once`), with a closure
//! that looks at a flag or a lock. Evaluation calls Python (an operator or hook of the caller's,
//! handlers of signals), which releases the lock when it likes. Other threads may run meanwhile, but
//! of this graph they can only drop handles, or read what never changes in a leaf (`param`, `leaf_id`,
//! `input_id`, `name`); `node`, `original`, `elements` and with them `replace` refuse them all else. A
//! drop touches reference counts and, where one becomes zero, a node that nobody else holds, so none
//! that the walk under way will see; the walk holds every node that it visits.
//! The garbage collector runs in any thread that holds the lock; it reads who holds which node
//! ([`super::collect`]), and what references it copies it drops again. A node has no tie to its thread
//! but the numbers of walks over it (`mark`) and its own (`serial`), which `node` keeps from being used
//! in another thread.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::collect::Links;
use super::holders::What;
use super::view::Slot;
use crate::error::{Error, Result};
use crate::graph::{Kind, Parameter, Variable};
use crate::reserve;
use crate::rules::{BasicSlice, Identity, SliceItem};
use crate::table::Param;

/// A number that no other thread of this process has or had.
#[inline]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static ID: Cell<u64> = const { Cell::new(0) };
    }
    ID.with(|id| {
        if id.get() == 0 {
            id.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        id.get()
    })
}

/// A node and the thread that may use it. See the [module documentation](self).
pub(in crate::python) struct Handle {
    owner: u64,
    node: Variable,
    /// What takes its place once something is assigned to it (`x[i] = v`, `x += v`), and what its
    /// views share; made when it is first needed.
    slot: OnceCell<Rc<Slot>>,
    /// What the garbage collector sees of the graph.
    links: Links,
}

// SAFETY: whoever creates, uses or drops a handle holds the interpreter lock, so that reference
// counts and cells of a graph are touched by one thread at a time. Where the lock is released while
// nodes are borrowed, other threads do no more than the module's documentation lists.
unsafe impl Send for Handle {}
// SAFETY: as for `Send`: whoever uses a handle through a reference holds the interpreter lock, so that
// two threads never do at once. That a `&Handle` could be sent to where the lock is not held is up to
// `src/python` alone, since the type is private to it: no closure given to `Python::detach` has one.
unsafe impl Sync for Handle {}

impl Handle {
    /// A node of this thread.
    #[inline]
    pub(in crate::python) fn new(node: Variable) -> Self {
        Handle {
            owner: this_thread(),
            node,
            slot: OnceCell::new(),
            links: Links::default(),
        }
    }

    /// Whether this is the thread that built the node.
    #[inline]
    pub(in crate::python) fn is_here(&self) -> bool {
        self.owner == this_thread()
    }

    /// The node, for use in this thread.
    ///
    /// # Errors
    /// [`Error::State`] if another thread built it and it is not a parameter, [`Error::Memory`] while
    /// there is no reserve, so that whatever uses a variable begins with one.
    #[inline]
    pub(in crate::python) fn node(&self) -> Result<Cow<'_, Variable>> {
        reserve::check()?;
        if !self.is_here() {
            return self.elsewhere();
        }
        match self.slot.get() {
            None => Ok(Cow::Borrowed(&self.node)),
            Some(slot) => slot.node().map(Cow::Owned),
        }
    }

    /// The slot of something that is no leaf and no view, in the thread that built it, if elements of it
    /// [may be assigned](Slot::assign) one by one, and its node without those that were.
    ///
    /// # Errors
    /// As [`node`](Self::node).
    pub(in crate::python) fn elements(&self) -> Result<Option<(&Slot, Variable)>> {
        reserve::check()?;
        if !self.is_here() || leaf_id(&self.node).is_some() {
            return Ok(None);
        }
        let slot = self.slot();
        Ok(slot.without_elements().map(|node| (&**slot, node)))
    }

    /// Whether [elements](Self::elements) were assigned that the node lacks.
    #[inline]
    pub(in crate::python) fn lacks_elements(&self) -> bool {
        let slot = self.slot.get().filter(|_| self.is_here());
        slot.is_some_and(|slot| slot.lacks_elements())
    }

    /// The node, or one of the same type and shape that lacks [elements](Self::elements).
    ///
    /// # Errors
    /// As [`node`](Self::node).
    pub(in crate::python) fn node_for_type(&self) -> Result<Cow<'_, Variable>> {
        if self.lacks_elements()
            && let Some((_, node)) = self.elements()?
        {
            return Ok(Cow::Owned(node));
        }
        self.node()
    }

    /// Whether it is what an operator gave, and no view. Without axes that is a number in NumPy, while
    /// what was given as an array stays one, and `x[...]` makes one of a number.
    pub(in crate::python) fn is_result(&self) -> bool {
        let is_view = self.slot.get().is_some_and(|slot| slot.is_view());
        !is_view
            && match self.node.kind() {
                Kind::Operation(op) => {
                    let whole = |slice: &BasicSlice| slice.items.is_empty();
                    let is_array = op.downcast::<Identity>().is_some()
                        || op.downcast::<BasicSlice>().is_some_and(whole);
                    !is_array
                }
                _ => false,
            }
    }

    /// A handle on `node`, which was made from `base`, the node of this handle: a view of it, if
    /// that is what the operators between them give in NumPy.
    pub(in crate::python) fn view(&self, base: &Variable, node: Variable) -> Self {
        self.shared(base, node, false)
    }

    /// As [`view`](Self::view), of its elements along one axis: of a view that is a view too if they
    /// lie one behind the other in memory, which is not known.
    pub(in crate::python) fn raveled(&self, base: &Variable, node: Variable) -> Self {
        self.shared(base, node, self.is_view())
    }

    fn shared(&self, base: &Variable, node: Variable, unsure: bool) -> Self {
        let of_leaf = leaf_id(&self.node).is_some();
        let mut slot = match of_leaf {
            true => Some(Slot::of_leaf(&node)),
            false => Slot::view(self.slot(), base, &node),
        };
        if let Some(slot) = slot.as_mut().filter(|_| unsure) {
            slot.doubt();
        }
        let handle = Handle::new(node);
        if let Some(slot) = slot {
            // Nobody else has it yet.
            let _ = handle.slot.set(Rc::new(slot));
        }
        handle
    }

    /// A handle on `node`, which is the row that `items` name of what is no view and no leaf.
    pub(in crate::python) fn row(&self, items: Vec<SliceItem>, node: Variable) -> Self {
        let slot = Slot::row(self.slot(), items, &node);
        let handle = Handle::new(node);
        // Nobody else has it yet.
        let _ = handle.slot.set(Rc::new(slot));
        handle
    }

    /// What the views share, made if there is none yet.
    fn slot(&self) -> &Rc<Slot> {
        self.slot
            .get_or_init(|| Rc::new(Slot::new(self.node.clone())))
    }

    /// Whether this is a view of another.
    pub(in crate::python) fn is_view(&self) -> bool {
        self.slot.get().is_some_and(|slot| slot.is_view())
    }

    /// Whether this is a view of `other`, which is none.
    pub(in crate::python) fn is_view_of(&self, other: &Handle) -> bool {
        match (self.slot.get(), other.slot.get()) {
            (Some(slot), Some(root)) => slot.is_view_of(root),
            _ => false,
        }
    }

    /// Whether this is the view of `other` by just these items of a slice, as it is now.
    pub(in crate::python) fn is_slice_of(&self, other: &Handle, items: &[SliceItem]) -> bool {
        match (self.slot.get(), other.slot.get()) {
            (Some(slot), Some(base)) => slot.is_slice_of(base, items),
            _ => false,
        }
    }

    /// The node as it was made, whatever took its place.
    ///
    /// # Errors
    /// [`Error::State`] if another thread built it.
    pub(in crate::python) fn original(&self) -> Result<&Variable> {
        match self.is_here() {
            true => Ok(&self.node),
            false => Err(foreign()),
        }
    }

    /// Puts another node in the place of this one, for all later reads, in views of it
    /// and in what it is a view of: `false` for a leaf, which keeps its own, and for its views.
    ///
    /// # Errors
    /// [`Error::State`] if another thread built it, [`Error::Value`] for a view that NumPy makes
    /// read-only, or of which it depends on memory whether it is one.
    pub(in crate::python) fn replace(&self, node: Variable) -> Result<bool> {
        // A parameter may be one of another thread.
        if self.leaf_id().is_some() {
            return Ok(false);
        }
        self.original()?;
        self.slot().replace(node)
    }

    /// What the garbage collector sees of the graph.
    pub(in crate::python) fn links(&self) -> &Links {
        &self.links
    }

    /// What it holds, for the garbage collector alone.
    pub(in crate::python) fn held(&self) -> Vec<What> {
        let slot = self
            .slot
            .get()
            .map(|slot| What::Other(Rc::<Slot>::clone(slot)));
        std::iter::once(What::Node(self.node.clone()))
            .chain(slot)
            .collect()
    }

    #[cold]
    fn elsewhere(&self) -> Result<Cow<'_, Variable>> {
        match self.node.kind() {
            Kind::Parameter(param) => {
                Ok(Cow::Owned(Parameter::from_param(Arc::clone(param)).boxed()))
            }
            _ => Err(foreign()),
        }
    }

    /// The parameter, if the node is one.
    pub(in crate::python) fn param(&self) -> Option<&Arc<Param>> {
        match self.node.kind() {
            Kind::Parameter(param) => Some(param),
            _ => None,
        }
    }

    /// The number that tells leaves apart, if the node is one.
    pub(in crate::python) fn leaf_id(&self) -> Option<u64> {
        leaf_id(&self.node)
    }

    /// The number that tells inputs apart, if the node is one.
    pub(in crate::python) fn input_id(&self) -> Option<u64> {
        match self.node.kind() {
            Kind::Input(id, _) => Some(id),
            _ => None,
        }
    }

    /// The name given to the leaf.
    pub(in crate::python) fn name(&self) -> Option<&str> {
        match self.node.kind() {
            // The table outlives the borrow: the node holds it.
            Kind::Parameter(param) => param.table().name(),
            Kind::Input(_, name) => name,
            _ => None,
        }
    }
}

/// What is raised for a graph of another thread.
fn foreign() -> Error {
    Error::State(
        "this graph belongs to another thread; build the graph in the thread that uses it, or \
         freeze it: a Program and its Parameters work in every thread"
            .into(),
    )
}

/// The number that tells leaves apart.
pub(in crate::python) fn leaf_id(node: &Variable) -> Option<u64> {
    match node.kind() {
        Kind::Parameter(param) => Some(param.table().id()),
        Kind::Independent(id, _) | Kind::Input(id, _) => Some(id),
        Kind::Operation(_) | Kind::Constant => None,
    }
}
