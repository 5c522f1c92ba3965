//! Views: variables that share their elements with others, as NumPy's arrays share memory.
//!
//! Nodes of a graph never change, so what is shared is which node a name stands for. A name that
//! was sliced, or assigned to, has a [`Slot`], which holds its node. The slot of a view knows the
//! slot that it was taken of, and the operators between them: it applies these anew where the
//! other's node was replaced since, and what is assigned to it goes through their inverses to the
//! other, and so on to the one that is no view. All that have memory in common in NumPy see it then.
//!
//! Slices, transposes and axes of length 1 are views in NumPy whatever the array; diagonals and
//! broadcasts are read-only ones. Whether a reshaped array is a view or a copy depends on its
//! layout in memory, which a graph has not, unless it has one axis alone: to assign to such a view,
//! and to read it after its array was assigned to, is an error that says so.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use smallvec::SmallVec;

use super::elements::Elements;
use super::holders::{Holding, What};
use crate::error::{Error, Result};
use crate::graph::{Kind, Variable, ops};
use crate::rules::{
    self, BasicSlice, BroadcastLike, BroadcastTo, Diagonal, ExpandDims, FixedLengths, Identity,
    LongAxes, OpRef, Reshape, ReshapeLike, SliceItem, Squeeze, Transpose,
};

/// The error of an assignment during which code of the caller's has assigned to the same array.
pub(in crate::python) fn assigned_meanwhile() -> Error {
    Error::State(
        "x[key] = v: x was assigned to while key or v was read, and that would be lost; make both \
         before"
            .into(),
    )
}

/// Which node a name stands for. See the [module documentation](self).
pub(in crate::python) struct Slot {
    node: RefCell<Variable>,
    /// Elements that the node lacks, of a slot that is no view.
    elements: RefCell<Elements>,
    /// How often the node was replaced, counted in slots that are no views.
    changes: Cell<u64>,
    origin: ViewOrigin,
}

enum ViewOrigin {
    /// It shares what it holds with its views only.
    Own,
    /// It is a view of a leaf, which cannot be assigned to in part.
    Leaf,
    /// It is a view.
    PartOf(PartOf),
}

struct PartOf {
    /// What it was taken of.
    base: Rc<Slot>,
    /// What that is a view of in the end.
    root: Rc<Slot>,
    /// The operators from the node of `base` to its own, first to last.
    links: SmallVec<[ViewStep; 1]>,
    /// The changes of `root` that the node has seen.
    seen: Cell<u64>,
    /// Whether NumPy shares memory here only for some layouts.
    unsure: bool,
}

/// An operator of a view, with its operands after the first.
struct ViewStep {
    op: OpRef,
    others: SmallVec<[Variable; 1]>,
}

/// What an operator gives in NumPy, of its first operand.
#[derive(PartialEq)]
enum Sharing {
    /// The same memory.
    Surely,
    /// The same memory, or a copy.
    Maybe,
    /// Memory that is not to be written.
    ReadOnly,
    /// Another array.
    Not,
}

/// What an operator gives of an array of this shape.
fn sharing(op: &OpRef, shape: &[usize]) -> Sharing {
    let long = shape.iter().filter(|&&n| n != 1).count();
    if op.downcast::<BasicSlice>().is_some()
        || op.downcast::<Transpose>().is_some()
        || op.downcast::<Squeeze>().is_some()
        || op.downcast::<ExpandDims>().is_some()
        || op.downcast::<FixedLengths>().is_some()
        || op.downcast::<LongAxes>().is_some()
    {
        Sharing::Surely
    } else if op.downcast::<Reshape>().is_some() {
        match long < 2 {
            true => Sharing::Surely,
            false => Sharing::Maybe,
        }
    } else if op.downcast::<Diagonal>().is_some()
        || op.downcast::<BroadcastTo>().is_some()
        || op.downcast::<BroadcastLike>().is_some()
    {
        Sharing::ReadOnly
    } else {
        Sharing::Not
    }
}

impl PartOf {
    /// The place in its base of a row or element that this is, and by how many axes that counts, if such a value
    /// may [wait](Slot::assign) there.
    fn place(&self, value: &Variable) -> Option<(u32, usize)> {
        let [ViewStep { op, .. }] = self.links.as_slice() else {
            return None;
        };
        let BasicSlice { items } = op.downcast::<BasicSlice>()?;
        let node = self.base.without_elements()?;
        let ty = node.ty().ok()?;
        if !(1..=ty.ndim()).contains(&items.len())
            || u32::try_from(ty.size()).is_err()
            || !self.base.takes_elements(items.len())
            || !Elements::fit(&node)
            || node.dtype() != value.dtype()
            || value.input_below()
        {
            return None;
        }
        let place = items.iter().zip(&ty.shape).try_fold(0, |at, (item, &n)| {
            let SliceItem::At(k) = *item else {
                return None;
            };
            Some(at * n as i64 + if k < 0 { k + n as i64 } else { k })
        });
        Some((u32::try_from(place?).ok()?, items.len()))
    }
}

impl ViewStep {
    /// The view of an array.
    fn read(&self, base: &Variable) -> Result<Variable> {
        let mut args: SmallVec<[Variable; 2]> = SmallVec::new();
        args.push(base.clone());
        args.extend(self.others.iter().cloned());
        Variable::apply(self.op.clone(), &args)
    }

    /// The array, after another value was assigned to the view.
    fn write(&self, base: &Variable, value: &Variable) -> Result<Variable> {
        if let Some(BasicSlice { items }) = self.op.downcast::<BasicSlice>() {
            return ops::slice_replace(base, items.clone(), value);
        }
        if let Some(Transpose { axes }) = self.op.downcast::<Transpose>() {
            let mut back = axes.clone();
            for (to, &from) in axes.iter().enumerate() {
                back[from] = to;
            }
            let op = OpRef::new(Transpose { axes: back });
            return Variable::apply(op, std::slice::from_ref(value));
        }
        if sharing(&self.op, &[]) == Sharing::ReadOnly {
            return Err(Error::Value(
                "assignment destination is read-only: diagonals and broadcasts are views that \
                 NumPy does not write through; assign to the array itself, or to a .copy()"
                    .into(),
            ));
        }
        Variable::apply(OpRef::Static(&ReshapeLike), &[value.clone(), base.clone()])
    }
}

impl Slot {
    fn of(node: Variable, origin: ViewOrigin) -> Self {
        Slot {
            node: RefCell::new(node),
            elements: RefCell::default(),
            changes: Cell::new(0),
            origin,
        }
    }

    /// That of what is no view.
    pub(in crate::python) fn new(node: Variable) -> Self {
        Slot::of(node, ViewOrigin::Own)
    }

    /// That of a view of a leaf.
    pub(in crate::python) fn of_leaf(node: &Variable) -> Self {
        Slot::of(node.clone(), ViewOrigin::Leaf)
    }

    /// That of `node`, made from the node `from` of `base`; `None` if NumPy makes another array.
    pub(in crate::python) fn view(
        base: &Rc<Slot>,
        from: &Variable,
        node: &Variable,
    ) -> Option<Self> {
        let mut links: SmallVec<[ViewStep; 1]> = SmallVec::new();
        let mut unsure = false;
        let mut at = node.clone();
        while at.address() != from.address() {
            let Kind::Operation(op) = at.kind() else {
                return None;
            };
            let mut parents = at.parents().into_iter();
            let parent = parents.next()?;
            if op.downcast::<Identity>().is_some() {
                return None;
            }
            match sharing(&op, &parent.ty().ok()?.shape) {
                Sharing::Not => return None,
                Sharing::Maybe => unsure = true,
                Sharing::Surely | Sharing::ReadOnly => {}
            }
            links.push(ViewStep {
                op,
                others: parents.collect(),
            });
            at = parent;
        }
        links.reverse();
        if matches!(base.origin, ViewOrigin::Leaf) {
            return Some(Slot::of_leaf(node));
        }
        Some(Slot::part(base, links, unsure, node))
    }

    /// That of a view of `base` by some operators, which give `node` now.
    fn part(
        base: &Rc<Slot>,
        links: SmallVec<[ViewStep; 1]>,
        unsure: bool,
        node: &Variable,
    ) -> Self {
        let (root, of_unsure) = match &base.origin {
            ViewOrigin::PartOf(view) => (Rc::clone(&view.root), view.unsure),
            ViewOrigin::Own | ViewOrigin::Leaf => (Rc::clone(base), false),
        };
        let view = PartOf {
            base: Rc::clone(base),
            seen: Cell::new(root.changes.get()),
            root,
            links,
            unsure: unsure || of_unsure,
        };
        Slot::of(node.clone(), ViewOrigin::PartOf(view))
    }

    /// That of a row of `base`, of which `node` is the value now, whether the node of `base` has it or not.
    pub(in crate::python) fn row(base: &Rc<Slot>, items: Vec<SliceItem>, node: &Variable) -> Self {
        let link = ViewStep {
            op: OpRef::new(BasicSlice { items }),
            others: SmallVec::new(),
        };
        Slot::part(base, SmallVec::from_iter([link]), false, node)
    }

    /// The node without the elements that [were assigned](Self::assign) since; `None` for a view.
    pub(in crate::python) fn without_elements(&self) -> Option<Variable> {
        matches!(self.origin, ViewOrigin::Own).then(|| self.node.borrow().clone())
    }

    /// Whether some [elements](Self::assign) are not in the node yet.
    pub(in crate::python) fn lacks_elements(&self) -> bool {
        !self.elements.borrow().is_empty()
    }

    /// Whether what the node lacks, if anything, are elements or rows by so many axes.
    pub(in crate::python) fn takes_elements(&self, axes: usize) -> bool {
        self.elements.borrow().takes(axes)
    }

    /// What was assigned to a place by so many axes, if the node lacks it.
    pub(in crate::python) fn element(&self, place: u32, axes: usize) -> Option<Variable> {
        self.elements.borrow().get(place, axes).cloned()
    }

    /// Assigns something of its type to one element or row, by the first `axes`, of what is no view.
    ///
    /// # Errors
    /// As [`node`](Self::node).
    pub(in crate::python) fn assign(&self, place: u32, axes: usize, value: Variable) -> Result<()> {
        while !self.elements.borrow().takes(axes) {
            self.write_elements()?;
        }
        let old = self.elements.borrow_mut().set(place, axes, value)?;
        self.changes.set(self.changes.get() + 1);
        // Nothing is borrowed when a node is dropped.
        drop(old);
        Ok(())
    }

    /// Makes a node that has all elements.
    ///
    /// # Errors
    /// As [`Elements::written`]; the elements are kept then.
    fn write_elements(&self) -> Result<()> {
        while self.lacks_elements() {
            let (now, node) = (self.changes.get(), self.node.borrow().clone());
            let node = Elements::written(&self.elements, &node)?;
            // Operators and handlers of signals of the caller's may have assigned more.
            if self.changes.get() == now {
                let old = (self.node.replace(node), self.elements.take());
                drop(old);
            }
        }
        Ok(())
    }

    /// The node as it is now.
    ///
    /// # Errors
    /// [`Error::Value`] if its array was assigned to, and it depends on memory whether that is to
    /// be seen, and as [`Elements::written`].
    pub(in crate::python) fn node(&self) -> Result<Variable> {
        // From here towards the root those that have not seen its last change. A loop: there may
        // be many.
        let mut stale: SmallVec<[&Slot; 4]> = SmallVec::new();
        let mut at = self;
        while let ViewOrigin::PartOf(view) = &at.origin {
            let now = view.root.changes.get();
            if view.seen.get() == now {
                break;
            }
            if view.unsure {
                return Err(Error::Value(
                    "the array that this was reshaped from was assigned to since, and in NumPy it \
                     depends on the layout in memory whether that is seen here: reshape it again, \
                     or .copy() it before"
                        .into(),
                ));
            }
            stale.push(at);
            at = &view.base;
        }
        at.write_elements()?;
        // What is assigned while operators are applied is not seen yet.
        let now = self.root_changes();
        for slot in stale.into_iter().rev() {
            if let ViewOrigin::PartOf(view) = &slot.origin {
                let mut node = view.base.node.borrow().clone();
                for link in &view.links {
                    node = link.read(&node)?;
                }
                slot.node.replace(node);
                view.seen.set(now);
            }
        }
        Ok(self.node.borrow().clone())
    }

    /// How often what it is a view of in the end was changed, or it itself if it is none.
    fn root_changes(&self) -> u64 {
        match &self.origin {
            ViewOrigin::PartOf(view) => view.root.changes.get(),
            ViewOrigin::Own | ViewOrigin::Leaf => self.changes.get(),
        }
    }

    /// Assigns another node of the same shape; `false` for a view of a leaf.
    ///
    /// # Errors
    /// [`Error::Value`] for views that are not to be written, [`Error::State`] if it was assigned to
    /// meanwhile. Nothing is changed then.
    pub(in crate::python) fn replace(&self, node: Variable) -> Result<bool> {
        let mut written: SmallVec<[(&Slot, Variable); 2]> = SmallVec::new();
        let (before, mut at) = (self.root_changes(), self);
        let mut value = node;
        while let ViewOrigin::PartOf(view) = &at.origin {
            if view.unsure {
                return Err(Error::Value(
                    "assignment to a reshaped array: in NumPy it depends on the layout in memory \
                     whether that changes the array, too; assign to the array itself, by an index \
                     of its own shape, or to a .copy()"
                        .into(),
                ));
            }
            if let Some((place, axes)) = view.place(&value) {
                if view.base.changes.get() != before {
                    return Err(assigned_meanwhile());
                }
                view.base.assign(place, axes, value.clone())?;
                written.push((at, value));
                Slot::confirm(written, before + 1);
                return Ok(true);
            }
            let mut on_the_way = vec![view.base.node()?];
            for link in &view.links[..view.links.len().saturating_sub(1)] {
                let next = link.read(&on_the_way[on_the_way.len() - 1])?;
                on_the_way.push(next);
            }
            let mut changed = value.clone();
            for (link, base) in view.links.iter().zip(&on_the_way).rev() {
                changed = link.write(base, &changed)?;
            }
            written.push((at, value));
            value = changed;
            at = &view.base;
        }
        if matches!(at.origin, ViewOrigin::Leaf) {
            return Ok(false);
        }
        if at.lacks_elements() || at.changes.get() != before {
            return Err(assigned_meanwhile());
        }
        let now = at.changes.get() + 1;
        at.changes.set(now);
        // Old nodes are dropped when nothing is borrowed.
        let old = at.node.replace(value);
        drop(old);
        Slot::confirm(written, now);
        Ok(true)
    }

    /// Gives views the nodes that were assigned to them, with the number of that change.
    fn confirm(written: SmallVec<[(&Slot, Variable); 2]>, now: u64) {
        for (slot, value) in written {
            if let ViewOrigin::PartOf(view) = &slot.origin {
                view.seen.set(now);
            }
            let old = slot.node.replace(value);
            drop(old);
        }
    }

    /// Makes it a view of which NumPy shares memory only for some layouts.
    pub(in crate::python) fn doubt(&mut self) {
        if let ViewOrigin::PartOf(view) = &mut self.origin {
            view.unsure = true;
        }
    }

    /// Whether this is a view, of a leaf or of something else.
    pub(in crate::python) fn is_view(&self) -> bool {
        !matches!(self.origin, ViewOrigin::Own)
    }

    /// Whether this is a view of `root`, or of a view of it.
    pub(in crate::python) fn is_view_of(&self, root: &Rc<Slot>) -> bool {
        matches!(&self.origin, ViewOrigin::PartOf(view) if Rc::ptr_eq(&view.root, root))
    }

    /// Whether this is the view of `base` by one slice of these items, and has seen all changes.
    pub(in crate::python) fn is_slice_of(&self, base: &Rc<Slot>, items: &[SliceItem]) -> bool {
        let ViewOrigin::PartOf(view) = &self.origin else {
            return false;
        };
        let [link] = view.links.as_slice() else {
            return false;
        };
        Rc::ptr_eq(&view.base, base)
            && view.seen.get() == view.root.changes.get()
            && link
                .op
                .downcast::<rules::BasicSlice>()
                .is_some_and(|take| take.items == items)
    }
}

impl Holding for Slot {
    fn held(&self) -> Vec<What> {
        let mut held = vec![What::Node(self.node.borrow().clone())];
        held.extend(self.elements.borrow().values().cloned().map(What::Node));
        if let ViewOrigin::PartOf(view) = &self.origin {
            let others = view.links.iter().flat_map(|link| &link.others);
            held.extend(others.cloned().map(What::Node));
            held.extend([&view.base, &view.root].map(|slot| What::Other(Rc::<Slot>::clone(slot))));
        }
        held
    }
}

impl Drop for Slot {
    /// Lets go of what it is a view of, view after view: a chain of them may be long.
    fn drop(&mut self) {
        let mut next = match std::mem::replace(&mut self.origin, ViewOrigin::Own) {
            ViewOrigin::PartOf(view) => Some(view),
            ViewOrigin::Own | ViewOrigin::Leaf => None,
        };
        while let Some(view) = next {
            next = match Rc::try_unwrap(view.base) {
                Ok(mut base) => match std::mem::replace(&mut base.origin, ViewOrigin::Own) {
                    ViewOrigin::PartOf(view) => Some(view),
                    ViewOrigin::Own | ViewOrigin::Leaf => None,
                },
                Err(_) => None,
            };
        }
    }
}
