//! A graph's node inside a Python object, bound to the thread that built it.
//!
//! A graph shares its nodes by `Rc` and stays where it was built, as a database connection
//! does in `sqlite3`: using it in another thread raises `RuntimeError`. pyo3's `unsendable`
//! would panic there and leak what is dropped there; a [`Handle`] does neither.
//!
//! Parameters are the exception. What they hold is shared by threads anyway, so another
//! thread gets a node of its own for the same parameter.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::graph::{Kind, Parameter, Variable};
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
pub(super) struct Handle {
    owner: u64,
    node: Variable,
}

// SAFETY: a handle lives inside a Python object, so it is created, used and dropped by
// threads that hold the interpreter lock; the module declares `gil_used`, so that
// free-threaded builds of Python bring the lock back. Nothing in `src/python` releases the
// lock while it borrows a node (`Python::detach` takes closures that are `Send`, which nodes
// are not), and evaluation calls no Python. Reference counts and cells of a graph are
// therefore touched by one thread at a time, with the lock's release and acquisition between
// threads. That covers a drop in another thread: a node has no tie to its thread but the
// numbers of walks over it (`mark`), which `node` keeps from being used in another thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// A node of this thread.
    #[inline]
    pub(super) fn new(node: Variable) -> Self {
        let owner = this_thread();
        Handle { owner, node }
    }

    /// Whether this is the thread that built the node.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.owner == this_thread()
    }

    /// The node, for use in this thread.
    ///
    /// # Errors
    /// [`Error::State`] if another thread built it and it is not a parameter.
    #[inline]
    pub(super) fn node(&self) -> Result<Cow<'_, Variable>> {
        if self.is_here() {
            Ok(Cow::Borrowed(&self.node))
        } else {
            self.elsewhere()
        }
    }

    #[cold]
    fn elsewhere(&self) -> Result<Cow<'_, Variable>> {
        match self.node.kind() {
            Kind::Parameter(param) => {
                Ok(Cow::Owned(Parameter::from_param(Arc::clone(param)).boxed()))
            }
            _ => Err(Error::State(
                "this graph belongs to another thread; build the graph in the thread that uses \
                 it, or freeze it: a Program and its Parameters work in every thread"
                    .into(),
            )),
        }
    }

    /// The parameter, if the node is one.
    pub(super) fn param(&self) -> Option<&Arc<Param>> {
        match self.node.kind() {
            Kind::Parameter(param) => Some(param),
            _ => None,
        }
    }

    /// The number that tells leaves apart, if the node is one.
    pub(super) fn leaf_id(&self) -> Option<u64> {
        leaf_id(&self.node)
    }

    /// The number that tells inputs apart, if the node is one.
    pub(super) fn input_id(&self) -> Option<u64> {
        match self.node.kind() {
            Kind::Input(id, _) => Some(id),
            _ => None,
        }
    }

    /// The name given to the leaf.
    pub(super) fn name(&self) -> Option<&str> {
        match self.node.kind() {
            // The table outlives the borrow: the node holds it.
            Kind::Parameter(param) => param.table().name(),
            Kind::Input(_, name) => name,
            _ => None,
        }
    }
}

/// The number that tells leaves apart.
pub(super) fn leaf_id(node: &Variable) -> Option<u64> {
    match node.kind() {
        Kind::Parameter(param) => Some(param.table().id()),
        Kind::Variable(id, _) | Kind::Input(id, _) => Some(id),
        Kind::Operation(_) | Kind::Constant => None,
    }
}
