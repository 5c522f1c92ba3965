//! The lanes of an array along one axis, for operators that act on each alone.
//!
//! A lane is what an array holds along the axis, everything else fixed. Lanes are interleaved
//! unless the axis is the last, so kernels walk an array as blocks of `length` rows of `inner`
//! elements.

use crate::array::{Type, show_shape, size};
use crate::error::{Error, Result};

/// How the lanes of an array lie.
pub(in crate::rules) struct Lanes {
    /// Blocks of lanes.
    pub outer: usize,
    /// Elements of a lane.
    pub length: usize,
    /// Lanes of a block, and the distance of a lane's elements.
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

/// Checks that an array has an axis.
pub(in crate::rules) fn has_axis(name: &str, x: &Type, axis: usize) -> Result<()> {
    if axis < x.ndim() {
        return Ok(());
    }
    Err(Error::Shape(format!(
        "{name}: axis {axis} is out of range for shape {}",
        show_shape(&x.shape)
    )))
}

/// Shapes to test operators of an axis on, each with one.
pub(super) const SHAPES: [(&[usize], usize); 5] = [
    (&[5], 0),
    (&[3, 4], 0),
    (&[3, 4], 1),
    (&[2, 3, 2], 1),
    (&[0, 3], 1),
];
