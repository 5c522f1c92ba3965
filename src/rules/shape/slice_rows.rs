//! The rows that a slice takes of a table.
//!
//! `w[5]`, `w[5:8]` and `w[5, 2:4]` touch a few rows of `w` along its first axis, and so do their
//! gradients. A [`Region`] says which rows, and where in them.
//!
//! Limit: a slice of more than half of the rows counts as one of all: its gradient is an array.

use super::slice::{BasicSlice, Resolved, SliceItem, add_into, range, resolve};
use crate::array::{Number, Shape, Type, Typed, View, ViewMut, element_count, size, with_real};
use crate::error::Result;
use crate::rules::index::zero;
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real, same_shape};

/// Everything along an axis.
const ALL: SliceItem = SliceItem::Range {
    start: None,
    stop: None,
    step: 1,
};

/// A slice of an array of a given shape: where its elements lie.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    /// The shape of the array.
    array: Shape,
    places: Resolved,
    /// The first row, the step to the next, and how many there are; `None` if it counts as all.
    rows: Option<(i64, i64, usize)>,
    /// The same elements of an array that has these rows alone.
    within: Vec<SliceItem>,
}

impl Region {
    /// A slice of an array of this shape.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index) or [`Error::Value`](crate::Error::Value) if it does not
    /// fit.
    pub(crate) fn new(items: &[SliceItem], shape: &[usize]) -> Result<Self> {
        let places = resolve(items, shape)?;
        let mut within = items.to_vec();
        let first = within.iter_mut().find(|item| **item != SliceItem::NewAxis);
        let n = shape.first().map_or(0, |&n| n as i64);
        let rows = match first {
            None => None,
            Some(first) => match std::mem::replace(first, ALL) {
                SliceItem::At(i) if n > 1 => {
                    *first = SliceItem::At(0);
                    Some((if i < 0 { i + n } else { i }, 1, 1))
                }
                SliceItem::At(_) => {
                    // The only row is all of them.
                    *first = SliceItem::At(0);
                    None
                }
                SliceItem::Range { start, stop, step } => {
                    let (start_row, count) = range(start, stop, step, n);
                    let is_few = count <= n / 2;
                    if !is_few {
                        // It is a slice of all rows as they are.
                        *first = SliceItem::Range { start, stop, step };
                    }
                    is_few.then_some((start_row, step, count as usize))
                }
                SliceItem::NewAxis => None,
            },
        };
        Ok(Region {
            array: shape.into(),
            places,
            rows,
            within,
        })
    }

    /// The shape of the slice.
    pub(crate) fn shape(&self) -> &Shape {
        &self.places.shape
    }

    /// The numbers of the rows, in the order of the slice, if they are no more than half of all.
    pub(crate) fn rows(&self) -> Option<impl ExactSizeIterator<Item = u32>> {
        let (first, step, count) = self.rows?;
        Some((0..count).map(move |k| (first + k as i64 * step) as u32))
    }

    /// How many rows hold elements of the slice.
    pub(crate) fn count(&self) -> usize {
        let all = self.array.first().copied().unwrap_or(1);
        self.rows.map_or(all, |(_, _, count)| count)
    }

    /// The shape of an array of these rows alone.
    pub(crate) fn rows_shape(&self) -> Shape {
        let mut shape = self.array.clone();
        shape.iter_mut().take(1).for_each(|n| *n = self.count());
        shape
    }

    /// The operator that takes the elements of the slice out of an array of these rows alone.
    pub(crate) fn within(&self) -> BasicSlice {
        BasicSlice {
            items: self.within.clone(),
        }
    }

    /// Whether the elements are all those of the rows, in their order.
    pub(crate) fn is_whole(&self) -> bool {
        let whole = |item: &SliceItem| match item {
            SliceItem::At(i) => *i == 0,
            SliceItem::Range { step, .. } => *step == 1,
            SliceItem::NewAxis => true,
        };
        self.within.iter().all(whole) && size(&self.places.shape) == size(&self.rows_shape())
    }

    /// Adds the elements of the slice to the array.
    pub(crate) fn add<T: Number>(&self, values: &[T], to: &mut [T]) {
        add_into(values, &self.places, to);
    }

    /// Adds the elements of the slice to an array of these rows alone.
    ///
    /// # Errors
    /// None: the items were resolved before.
    pub(crate) fn add_within<T: Number>(&self, values: &[T], to: &mut [T]) -> Result<()> {
        add_into(values, &resolve(&self.within, &self.rows_shape())?, to);
        Ok(())
    }
}

/// The rows that a slice touches, zero but for the elements of operand 0, which are those of the
/// slice. The array that it is a slice of has a given shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceRows {
    /// The slice.
    pub items: Vec<SliceItem>,
    /// The shape of the array.
    pub shape: Shape,
}

impl Operator for SliceRows {
    fn name(&self) -> &str {
        "slice_rows"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g] = arity::<1>("slice_rows", args)?;
        real("slice_rows", g)?;
        element_count(&self.shape)?;
        let region = Region::new(&self.items, &self.shape)?;
        same_shape("slice_rows", region.shape(), &g.shape)?;
        Ok(Type::new(g.dtype, &region.rows_shape()))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let region = Region::new(&self.items, &self.shape)?;
        zero(&mut out);
        with_real!(out.data.dtype(), T => {
            region.add_within(args[0].real::<T>(), T::slice_mut(&mut out.data))
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let region = Region::new(&self.items, &self.shape).ok()?;
        Some(g.with_new(region.within(), &[]))
    }

    fn aliases(&self, _args: &[&Type], _out: &Type) -> bool {
        Region::new(&self.items, &self.shape).is_ok_and(|region| region.is_whole())
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "slice_rows",
    formula: "the rows of zeros with g at [start:stop:step, …] that g is in",
    source: "definition",
    reference: None,
    internal: Some("the gradient of a slice, as rows"),
    cases: || {
        use SliceItem::{At, NewAxis, Range};
        let range = |start, stop, step| Range { start, stop, step };
        let case = |items: Vec<SliceItem>, slice: &[usize]| {
            let shape = Shape::from_slice(&[6, 3]);
            let args = vec![Argument::real(slice, ANY)];
            Case::new(OpRef::new(SliceRows { items, shape }), args)
        };
        vec![
            case(vec![At(-1)], &[3]),
            case(vec![range(Some(1), Some(4), 2)], &[2, 3]),
            case(vec![range(None, None, -3), At(0)], &[2]),
            case(vec![NewAxis, At(2), range(None, None, -2)], &[1, 2]),
            case(vec![At(2), NewAxis, At(1)], &[1]),
            case(vec![range(Some(3), Some(1), 1)], &[0, 3]),
            case(vec![ALL, At(1)], &[6]),
            // More than half of the rows, and not all of them.
            case(vec![range(Some(1), None, 1)], &[5, 3]),
            case(vec![range(None, Some(1), -1), At(0)], &[4]),
        ]
    },
}];

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows, and whether they are whole.
    fn rows(items: &[SliceItem], n: usize) -> (Option<Vec<u32>>, bool) {
        let region = Region::new(items, &[n, 3]).expect("a slice that fits");
        (region.rows().map(Iterator::collect), region.is_whole())
    }

    #[test]
    fn a_slice_names_the_rows_that_it_touches() {
        use SliceItem::{At, NewAxis};
        let range = |start, stop, step| SliceItem::Range { start, stop, step };
        assert_eq!(rows(&[At(5)], 8), (Some(vec![5]), true));
        assert_eq!(rows(&[At(-1)], 8), (Some(vec![7]), true));
        assert_eq!(rows(&[NewAxis, At(-1)], 8), (Some(vec![7]), true));
        assert_eq!(
            rows(&[range(Some(5), Some(8), 1)], 8),
            (Some(vec![5, 6, 7]), true)
        );
        assert_eq!(
            rows(&[range(None, None, 3)], 8),
            (Some(vec![0, 3, 6]), true)
        );
        assert_eq!(
            rows(&[range(None, Some(-4), -1)], 8),
            (Some(vec![7, 6, 5]), true)
        );
        assert_eq!(rows(&[range(Some(9), None, 1)], 8), (Some(vec![]), true));
        let part = range(Some(1), Some(3), 1);
        assert_eq!(rows(&[At(5), part], 8), (Some(vec![5]), false));
        assert_eq!(
            rows(&[At(5), range(None, None, -1)], 8),
            (Some(vec![5]), false)
        );
        // Of all rows, or of more than half.
        assert_eq!(rows(&[At(-1)], 1), (None, true));
        assert_eq!(rows(&[], 8).0, None);
        assert_eq!(rows(&[ALL, At(1)], 8).0, None);
        assert_eq!(rows(&[range(Some(1), None, 1)], 8), (None, false));
        assert_eq!(rows(&[range(Some(-8), None, 1)], 8), (None, true));
    }
}
