//! Who holds what of graphs: nodes, operators of the caller's own, and what views share, each with
//! how often it is held and by whom.
//!
//! [`super::collect`] shows this to Python's collector. The walk begins at what Python objects hold,
//! and counts every reference that it comes by. What is referred to more often than that is held by
//! something else, too, and so may be what lies below it.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::error::Result;
use crate::graph::{Kind, Variable};
use crate::reserve;
use crate::rules::OpRef;

/// Something that holds other things.
pub(in crate::python) enum What {
    Node(Variable),
    /// An operator of the caller's own.
    Operator(OpRef),
    /// Something else that holds nodes.
    Other(Rc<dyn Holding>),
}

/// Something else that holds nodes, and that several may hold.
pub(in crate::python) trait Holding {
    /// What it holds itself, each as often as it does.
    fn held(&self) -> Vec<What>;
}

impl What {
    /// What tells it from all others.
    fn address(&self) -> usize {
        match self {
            What::Node(node) => node.address(),
            What::Operator(OpRef::Shared(op)) => Arc::as_ptr(op).cast::<()>() as usize,
            What::Operator(OpRef::Static(op)) => std::ptr::from_ref(*op).cast::<()>() as usize,
            What::Other(other) => Rc::as_ptr(other).cast::<()>() as usize,
        }
    }

    /// How many hold it, this value included.
    fn owners(&self) -> usize {
        match self {
            What::Node(node) => node.owners(),
            What::Operator(OpRef::Shared(op)) => Arc::strong_count(op),
            // Everybody may have it.
            What::Operator(OpRef::Static(_)) => usize::MAX,
            What::Other(other) => Rc::strong_count(other),
        }
    }

    /// What it holds, each as often as it does, and of operators only the caller's own.
    fn below(&self, is_primitive: fn(&OpRef) -> bool) -> Vec<What> {
        match self {
            What::Node(node) => {
                let parents = node.parents().into_iter().map(What::Node);
                let operator = match node.kind() {
                    Kind::Operation(op) => Some(op).filter(is_primitive).map(What::Operator),
                    _ => None,
                };
                parents.chain(operator).collect()
            }
            What::Operator(_) => Vec::new(),
            What::Other(other) => other.held(),
        }
    }
}

/// Something that was come by.
pub(in crate::python) struct Holder {
    pub what: What,
    /// References that were found.
    found: usize,
    /// What it holds, by number.
    pub below: Vec<usize>,
    /// Whether something that was not come by holds it, or something above it.
    pub is_shared: bool,
}

/// All that is held by some roots. See the [module documentation](self).
pub(in crate::python) struct Holders {
    is_primitive: fn(&OpRef) -> bool,
    numbers: HashMap<usize, usize>,
    all: Vec<Holder>,
    /// Numbers, what is held before what holds it.
    order: Vec<usize>,
}

impl Holders {
    /// Of nothing yet; `is_primitive` says which operators are the caller's own.
    pub(in crate::python) fn new(is_primitive: fn(&OpRef) -> bool) -> Self {
        Holders {
            is_primitive,
            numbers: HashMap::new(),
            all: Vec::new(),
            order: Vec::new(),
        }
    }

    /// The number of something to which one more reference was found, and whether it is new.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    fn number(&mut self, what: What) -> Result<(usize, bool)> {
        reserve::check()?;
        reserve::grow(&mut self.all, 1)?;
        reserve::grow(&mut self.numbers, 1)?;
        let next = self.all.len();
        let number = *self.numbers.entry(what.address()).or_insert(next);
        if number == next {
            self.all.push(Holder {
                what,
                found: 0,
                below: Vec::new(),
                is_shared: false,
            });
        }
        self.all[number].found += 1;
        Ok((number, number == next))
    }

    /// Walks down from something to which a root refers: its number. The stack is its own: graphs are
    /// deep.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is none for a list of what is below.
    pub(in crate::python) fn add(&mut self, root: What) -> Result<usize> {
        let (root, is_new) = self.number(root)?;
        let mut stack: Vec<(usize, Option<IntoIter<What>>)> = Vec::new();
        if is_new {
            stack.push((root, None));
        }
        while let Some((number, below)) = stack.pop() {
            let mut below =
                below.unwrap_or_else(|| self.all[number].what.below(self.is_primitive).into_iter());
            let Some(next) = below.next() else {
                reserve::grow(&mut self.order, 1)?;
                self.order.push(number);
                continue;
            };
            let (place, is_new) = self.number(next)?;
            self.all[number].below.push(place);
            reserve::grow(&mut stack, 2)?;
            stack.push((number, Some(below)));
            if is_new {
                stack.push((place, None));
            }
        }
        Ok(root)
    }

    /// Finds out what is held by something that was not come by. All roots have been added.
    pub(in crate::python) fn find_shared(&mut self) {
        for &number in self.order.iter().rev() {
            let holder = &self.all[number];
            // One reference is that of this walk.
            if holder.is_shared || holder.what.owners() != holder.found + 1 {
                self.all[number].is_shared = true;
                for k in 0..self.all[number].below.len() {
                    let below = self.all[number].below[k];
                    self.all[below].is_shared = true;
                }
            }
        }
    }

    /// Numbers and what they stand for, what is held before what holds it.
    pub(in crate::python) fn in_order(&self) -> impl Iterator<Item = (usize, &Holder)> {
        self.order.iter().map(|&number| (number, &self.all[number]))
    }

    /// How many there are.
    pub(in crate::python) fn len(&self) -> usize {
        self.all.len()
    }
}
