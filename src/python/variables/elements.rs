//! Elements and rows that were assigned one by one (`y[i] = v`), and are not in their array's node yet.
//!
//! A node never changes, so each assignment would make another of all elements: an array that a loop fills
//! would take memory and time by the square of its length. So what is assigned by plain integers waits here
//! until the array is read, which then gets one node for all of it. A single element that is read meanwhile, as
//! in `y[i] = a * y[i - 1]`, is found here. A row that is read is a view ([`view`](super::view)) of the row that
//! waits, or else of that of the node, and what is assigned to the view waits here: so do `y[i] *= a`, and
//! `row *= a` of each row of `y`.
//!
//! Limits: arrays of floating-point numbers alone, and none that depends on an input, whose lengths may be others
//! later.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::array::{Dense, Shape, size};
use crate::error::Result;
use crate::graph::{Variable, ops};
use crate::reserve;
use crate::rules::SliceItem;

/// Parts of an array by their places. See the [module documentation](self).
#[derive(Default)]
pub(in crate::python) struct Elements {
    /// By how many axes, the first ones, a place counts: all name single elements, fewer rows.
    axes: usize,
    /// In the order in which places were first assigned to. The last of their axes runs fastest.
    assigned: Vec<(u32, Variable)>,
    /// Where in `assigned` a place is.
    at: HashMap<u32, usize>,
}

impl Elements {
    /// Whether there are none.
    pub(in crate::python) fn is_empty(&self) -> bool {
        self.assigned.is_empty()
    }

    /// Whether places count by so many axes, or none is there yet.
    pub(in crate::python) fn takes(&self, axes: usize) -> bool {
        self.is_empty() || self.axes == axes
    }

    /// Whether elements of `x` may wait: they are floating-point numbers, and no length may change.
    pub(in crate::python) fn fit(x: &Variable) -> bool {
        !x.is_discrete() && x.dtype().is_real() && !x.input_below()
    }

    /// What was assigned.
    pub(in crate::python) fn values(&self) -> impl Iterator<Item = &Variable> {
        self.assigned.iter().map(|(_, value)| value)
    }

    /// What was last assigned to a place by so many axes.
    pub(in crate::python) fn get(&self, place: u32, axes: usize) -> Option<&Variable> {
        let at = *self.at.get(&place).filter(|_| self.axes == axes)?;
        Some(&self.assigned[at].1)
    }

    /// Assigns to a place by axes that it [takes](Self::takes), and gives back what was there.
    ///
    /// # Errors
    /// That there is no memory; nothing is assigned then.
    pub(in crate::python) fn set(
        &mut self,
        place: u32,
        axes: usize,
        value: Variable,
    ) -> Result<Option<Variable>> {
        if let Some(&at) = self.at.get(&place) {
            return Ok(Some(std::mem::replace(&mut self.assigned[at].1, value)));
        }
        reserve::grow(&mut self.at, 1)?;
        reserve::grow(&mut self.assigned, 1)?;
        self.axes = axes;
        self.at.insert(place, self.assigned.len());
        self.assigned.push((place, value));
        Ok(None)
    }

    /// By how many axes places count, and what was assigned to them.
    fn copied(&self) -> Result<(usize, Vec<(u32, Variable)>)> {
        let mut assigned = Vec::new();
        reserve::grow(&mut assigned, self.assigned.len())?;
        assigned.extend_from_slice(&self.assigned);
        Ok((self.axes, assigned))
    }

    /// `x` with the elements that there are now. None is borrowed while operators are applied, which may run
    /// code of the caller's that reads the array or assigns to it.
    ///
    /// # Errors
    /// What ends long work, and that there is no memory.
    pub(in crate::python) fn written(
        elements: &RefCell<Elements>,
        x: &Variable,
    ) -> Result<Variable> {
        let (axes, assigned) = elements.borrow().copied()?;
        let shape = x.ty()?.shape;
        let (first, row) = shape.split_at(axes);
        if let [(place, value)] = assigned.as_slice() {
            let mut items = Vec::new();
            let mut rest = *place as usize;
            for &n in first.iter().rev() {
                items.push(SliceItem::At((rest % n) as i64));
                rest /= n;
            }
            items.reverse();
            return ops::slice_replace(x, items, value);
        }
        // All elements are fewer than 2^32.
        let width = size(row) as u32;
        let count = assigned.len();
        let (mut places, mut values) = (Vec::new(), Vec::new());
        reserve::grow(&mut places, count * size(row))?;
        reserve::grow(&mut values, count)?;
        for (place, value) in assigned {
            places.extend(place * width..(place + 1) * width);
            values.push(value);
        }
        let shape: Shape = std::iter::once(count).chain(row.iter().copied()).collect();
        ops::replace(x, &Dense::new(&shape, places)?, &ops::stack(&values, 0)?)
    }
}
