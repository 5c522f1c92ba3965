//! The lanes of an array along one axis, for operators that act on each alone.
//!
//! A lane is what an array holds along the axis, everything else fixed. Lanes are interleaved
//! unless the axis is the last, so kernels walk an array as blocks of `length` rows of `inner`
//! elements.

use crate::array::{Type, show_shape, size};
use crate::error::{Error, Result};
use crate::rules::{Argument, Case, OpRef};

/// How the lanes of an array lie.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Lanes {
    /// Blocks of lanes.
    pub outer: usize,
    /// Elements of a lane.
    pub length: usize,
    /// Lanes of a block, which is also the distance between neighbours of a lane.
    pub inner: usize,
}

impl Lanes {
    pub(in crate::rules) fn new(shape: &[usize], axis: usize) -> Self {
        Lanes {
            outer: size(&shape[..axis]),
            length: shape[axis],
            inner: size(&shape[axis + 1..]),
        }
    }
}

impl Lanes {
    /// The index of every lane's first element, in the order of the result of a reduction.
    pub(in crate::rules) fn starts(self) -> impl Iterator<Item = usize> {
        let blocks = (0..self.outer).map(move |block| block * self.length * self.inner);
        blocks.flat_map(move |start| (0..self.inner).map(move |lane| start + lane))
    }
}

/// Checks that an array has an axis.
pub(in crate::rules) fn has_axis(name: &str, x: &Type, axis: usize) -> Result<()> {
    if axis < x.ndim() {
        return Ok(());
    }
    Err(Error::Axis(format!(
        "{name}: axis {axis} is out of range for shape {}",
        show_shape(&x.shape)
    )))
}

/// Shapes with an axis each, on which operators of an axis are tested.
pub(super) const SHAPES: [(&[usize], usize); 5] = [
    (&[5], 0),
    (&[3, 4], 0),
    (&[3, 4], 1),
    (&[2, 3, 2], 1),
    (&[0, 3], 1),
];

/// Test cases, on all these shapes, of an operator along an axis from either end, which takes `count` arrays
/// of one shape. `operator` makes it of the axis and of whether it begins at the last element.
pub(super) fn cases_from_both_ends(
    count: usize,
    operator: impl Fn(usize, bool) -> OpRef,
) -> Vec<Case> {
    let case = |&(shape, axis): &(&[usize], usize), reverse| {
        let argument = || Argument::real(shape, &[(-2.0, 2.0)]);
        Case::new(
            operator(axis, reverse),
            (0..count).map(|_| argument()).collect(),
        )
    };
    let both = [false, true].into_iter();
    both.flat_map(|reverse| SHAPES.iter().map(move |s| (s, reverse)))
        .map(|(s, reverse)| case(s, reverse))
        .collect()
}
