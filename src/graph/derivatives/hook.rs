//! Hooks: what sees the gradient of a node as it passes, and may change it.
//!
//! A hook of a node is called once a backward pass, when the gradient of the node is complete
//! and before its parents see it; at a leaf, before the gradient is added to what is there. What
//! it gives back takes the gradient's place. Gradients that are graphs pass the same hooks as
//! nodes. In nested transforms a hook is shown the gradient of the innermost one, as a rule of the
//! function's own: `hessian` is the derivative of the gradient that the hook has made, in either
//! mode. `backward()` of a gradient that is a graph is a pass of its own, which is shown. A frozen
//! program has none, so a graph with hooks is not frozen; forward mode has no gradients, so it refuses
//! nodes with hooks ([`check_forward`]).

use std::cell::Cell;
use std::rc::Rc;

use crate::array::{Type, show_shape};
use crate::error::{Error, Result};
use crate::graph::node::{Core, Hook, Hooks, IntoDyn, Variable};
use crate::graph::value::Value;

thread_local! {
    static HOOKS: Cell<u64> = const { Cell::new(0) };
}

/// How many hooks this thread has registered so far.
pub(in crate::graph) fn registered() -> u64 {
    HOOKS.get()
}

/// The hooks of a node; they are called while nothing is borrowed.
fn list(core: &Core) -> Vec<Rc<dyn Hook>> {
    let hooks = core.hooks().borrow();
    let hooks = hooks.iter().flat_map(|hooks| &hooks.list);
    hooks.filter_map(|(_, hook)| hook.clone()).collect()
}

/// Whether a node has hooks.
#[inline]
pub(in crate::graph) fn any(core: &Core) -> bool {
    core.hooks().borrow().is_some()
}

/// Fails for a node whose hooks would be passed over by forward mode, which has no gradient to show
/// them. Hooks that a gradient has passed are no hindrance: the derivative of that gradient, as
/// `hessian` takes it, has what they made of it.
///
/// # Errors
/// [`Error::State`].
pub(super) fn check_forward(core: &Core) -> Result<()> {
    match core.hooks().borrow().as_deref() {
        Some(Hooks { passed: None, .. }) => Err(Error::State(
            "forward mode: a variable has a hook on its gradient, which jvp and jacfwd would pass \
             over; use vjp or jacrev, or remove the hook"
                .into(),
        )),
        _ => Ok(()),
    }
}

/// What a hook gave has the type and shape of the gradient.
///
/// # Errors
/// [`Error::Type`] for another element type, [`Error::Shape`] for another shape alone.
fn check(expected: &Type, found: &Type) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let message = format!(
        "hook: expected a gradient of {} and shape {}, got {} and shape {}",
        expected.dtype,
        show_shape(&expected.shape),
        found.dtype,
        show_shape(&found.shape)
    );
    Err(match expected.dtype == found.dtype {
        true => Error::Shape(message),
        false => Error::Type(message),
    })
}

/// The run of a function whose arguments a gradient is asked for, if it is one: the serial number of
/// the oldest. Runs within it have larger ones.
pub(super) type TransformRun = Option<u64>;

/// The run that has these arguments.
pub(super) fn run<'a>(wrt: impl Iterator<Item = &'a Core> + Clone) -> TransformRun {
    let traced = wrt.clone().all(Core::traced);
    traced.then(|| wrt.map(Core::serial).min()).flatten()
}

/// Whether the hooks of a node have made the gradient of a run within this one already.
fn have_seen(core: &Core, run: TransformRun) -> bool {
    let hooks = core.hooks().borrow();
    let inner = hooks.as_deref().and_then(|hooks| hooks.passed);
    run.zip(inner).is_some_and(|(run, inner)| run < inner)
}

/// A gradient after the hooks of its node.
pub(super) fn passed(core: &Core, g: Value, run: TransformRun) -> Result<Value> {
    if have_seen(core, run) {
        return Ok(g);
    }
    let ty = core.ty();
    list(core).into_iter().try_fold(g, |g, hook| {
        let g = g.into_gradient()?;
        match hook.gradient(g.clone())? {
            None => Ok(g.into()),
            Some(changed) => {
                check(&ty, &changed.ty())?;
                Ok(changed.into())
            }
        }
    })
}

/// A gradient that is a node, after the hooks of its node.
pub(super) fn passed_node(core: &Core, g: Variable, run: TransformRun) -> Result<Variable> {
    if have_seen(core, run) {
        return Ok(g);
    }
    let ty = core.ty();
    if let Some(hooks) = core.hooks().borrow_mut().as_mut() {
        hooks.passed = Some(run.unwrap_or(0));
    }
    list(core).into_iter().try_fold(g, |g, hook| {
        Ok(match hook.node(g.clone())? {
            None => g,
            Some(changed) => {
                check(&ty, &changed.ty()?)?;
                changed
            }
        })
    })
}

impl<N: ?Sized + IntoDyn> Variable<N> {
    /// Shows the gradient of this node to `hook` in every backward pass; the number is for
    /// [`remove_hook`](Self::remove_hook).
    ///
    /// # Errors
    /// [`Error::Type`] if no gradient flows through the node.
    pub fn register_hook(&self, hook: Rc<dyn Hook>) -> Result<u64> {
        let core = self.0.core();
        if !core.differentiable() {
            return Err(Error::Type(
                "register_hook: no gradient flows through this variable".into(),
            ));
        }
        let id = HOOKS.replace(HOOKS.get() + 1);
        let mut hooks = core.hooks().borrow_mut();
        let hooks = hooks.get_or_insert_default();
        hooks.list.push((id, Some(hook)));
        Ok(id)
    }

    /// The hooks; none if they are being changed.
    #[cfg(feature = "python")]
    pub(crate) fn hooks(&self) -> Vec<Rc<dyn Hook>> {
        let hooks = self.0.core().hooks().try_borrow();
        let hooks = hooks.iter().filter_map(|hooks| hooks.as_deref());
        let hooks = hooks.flat_map(|hooks| &hooks.list);
        hooks.filter_map(|(_, hook)| hook.clone()).collect()
    }

    /// How many hold this node, this variable included.
    #[cfg(feature = "python")]
    pub(crate) fn owners(&self) -> usize {
        Rc::strong_count(&self.0)
    }

    /// Takes a hook away, if it is there.
    pub fn remove_hook(&self, id: u64) {
        let mut slot = self.0.core().hooks().borrow_mut();
        let Some(hooks) = slot.as_mut() else {
            return;
        };
        let at = hooks.list.binary_search_by_key(&id, |&(id, _)| id);
        let removed = at.ok().and_then(|at| hooks.list[at].1.take());
        hooks.gone += usize::from(removed.is_some());
        // The places that were left are given up when they are half of all, so that each costs little.
        if 2 * hooks.gone >= hooks.list.len() {
            hooks.list.retain(|(_, hook)| hook.is_some());
            hooks.gone = 0;
        }
        if hooks.list.is_empty() {
            *slot = None;
        }
        // Nothing is borrowed when the hook is dropped, which may look at this node.
        drop(slot);
        drop(removed);
    }
}
