//! Shapes, and how shapes broadcast.
//!
//! Arrays here are always contiguous in C order, so a shape says everything
//! about the layout. [`Broadcast`] turns NumPy's broadcasting into runs: it
//! finds the longest trailing block in which every operand is either contiguous
//! or constant, and walks the remaining dimensions with an odometer. Elementwise
//! kernels and reductions see nothing but runs.

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The lengths of an array's axes; up to four are stored without allocating.
pub type Shape = SmallVec<[usize; 4]>;

/// Number of elements of a shape.
///
/// # Errors
/// [`Error::Shape`] if the lengths other than 0 multiply to more than memory can address.
pub fn element_count(shape: &[usize]) -> Result<usize> {
    let mut count: usize = 1;
    let mut empty = false;
    for &n in shape {
        if n == 0 {
            empty = true;
        } else {
            count = count
                .checked_mul(n)
                .filter(|&c| c <= (isize::MAX as usize) / 16)
                .ok_or_else(|| Error::Shape(format!("shape {} is too large", show(shape))))?;
        }
    }
    Ok(if empty { 0 } else { count })
}

/// Number of elements of a shape; the largest number there is if they are more than that.
pub(crate) fn size(shape: &[usize]) -> usize {
    shape.iter().fold(1, |count, &n| count.saturating_mul(n))
}

/// Whether two shapes are equal. Slices are compared by a call of the C library's `memcmp`, which
/// takes longer than these few numbers do.
#[inline]
pub(crate) fn equal_shapes(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// A shape as Python writes it: `(3, 4)`, `(3,)`, `()`.
pub fn show(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => {
            let parts: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", parts.join(", "))
        }
    }
}

/// The common shape of operands under NumPy's broadcasting rule.
///
/// # Errors
/// [`Error::Shape`] with all shapes if two axes differ and neither has length 1, or if the
/// common shape is too large.
pub fn broadcast<'a>(
    name: &str,
    shapes: impl Iterator<Item = &'a [usize]> + Clone,
) -> Result<Shape> {
    let ndim = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    if ndim == 0 {
        return Ok(Shape::new());
    }
    let mut out: Shape = SmallVec::from_elem(1, ndim);
    for shape in shapes.clone() {
        for (o, &n) in out.iter_mut().rev().zip(shape.iter().rev()) {
            if *o == 1 {
                *o = n;
            } else if n != 1 && n != *o {
                let all: Vec<String> = shapes.map(show).collect();
                return Err(Error::Shape(format!(
                    "{name}: shapes {} do not broadcast together",
                    all.join(" and ")
                )));
            }
        }
    }
    element_count(&out)?;
    Ok(out)
}

/// Resolves a possibly negative axis.
///
/// # Errors
/// [`Error::Axis`] if `axis` is not in `-ndim..ndim`.
pub fn normalize_axis(name: &str, axis: i64, ndim: usize) -> Result<usize> {
    let n = ndim as i64;
    let a = if axis < 0 { axis + n } else { axis };
    if (0..n).contains(&a) {
        Ok(a as usize)
    } else {
        Err(Error::Axis(format!(
            "{name}: axis {axis} is out of range for an array of {ndim} dimension(s)"
        )))
    }
}

/// One operand's walk over a broadcast space.
#[derive(Debug, Clone)]
struct OperandWalk {
    /// Elements to move per step of each outer axis.
    strides: Shape,
    /// Whether the operand is constant within a run.
    splat: bool,
}

/// A broadcast iteration space cut into runs.
#[derive(Debug, Clone)]
pub struct Broadcast {
    run: usize,
    outer: Shape,
    walks: SmallVec<[OperandWalk; 3]>,
}

impl Broadcast {
    /// Plans the walk of operands of the given shapes over `space`, to which each must broadcast.
    ///
    /// # Panics
    /// If an operand has more axes than `space`.
    pub fn new<'a>(space: &[usize], operands: impl Iterator<Item = &'a [usize]>) -> Self {
        let ndim = space.len();
        let mut full: SmallVec<[Shape; 3]> = SmallVec::new();
        for shape in operands {
            let lead = ndim - shape.len();
            let mut strides: Shape = SmallVec::from_elem(0, ndim);
            let mut step = 1;
            for axis in (0..shape.len()).rev() {
                if shape[axis] != 1 || space[lead + axis] == 1 {
                    strides[lead + axis] = step;
                }
                step *= shape[axis];
            }
            full.push(strides);
        }
        // Grow the run over trailing axes while each operand stays contiguous or constant.
        let mut run = 1;
        let mut axis = ndim;
        let mut mode: SmallVec<[Option<bool>; 3]> = SmallVec::from_elem(None, full.len());
        while axis > 0 {
            let n = space[axis - 1];
            if n != 1 {
                let mut next = mode.clone();
                let fits = full.iter().zip(next.iter_mut()).all(|(strides, mode)| {
                    let stride = strides[axis - 1];
                    let here = if stride == run {
                        Some(false)
                    } else if stride == 0 {
                        Some(true)
                    } else {
                        return false;
                    };
                    let fits = mode.is_none() || *mode == here;
                    *mode = here;
                    fits
                });
                if !fits {
                    break;
                }
                mode = next;
                run *= n;
            }
            axis -= 1;
        }
        let walks = full
            .into_iter()
            .zip(mode)
            .map(|(strides, mode)| OperandWalk {
                strides: strides[..axis].into(),
                splat: mode.unwrap_or(true),
            })
            .collect();
        Broadcast {
            run,
            outer: space[..axis].into(),
            walks,
        }
    }

    /// Elements in one run.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Whether operand `k` is constant within each run.
    pub fn is_splat(&self, k: usize) -> bool {
        self.walks[k].splat
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.outer.iter().product()
    }

    /// Length of the scratch that [`for_each_in`](Self::for_each_in) needs.
    pub fn scratch(&self) -> usize {
        self.walks.len() + self.outer.len()
    }

    /// Calls `f(offsets, run_number)` for every run, in C order; `offsets[k]` is where
    /// operand `k` starts.
    #[inline]
    pub fn for_each(&self, f: impl FnMut(&[usize], usize)) {
        let mut scratch: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.scratch());
        self.for_each_in(&mut scratch, f);
    }

    /// As [`for_each`](Self::for_each), with the caller's scratch.
    #[inline]
    pub fn for_each_in(&self, scratch: &mut [usize], mut f: impl FnMut(&[usize], usize)) {
        let runs = self.runs();
        if runs == 0 || self.run == 0 {
            return;
        }
        scratch.fill(0);
        let (offsets, at) = scratch.split_at_mut(self.walks.len());
        for number in 0..runs {
            f(offsets, number);
            for axis in (0..self.outer.len()).rev() {
                at[axis] += 1;
                for (offset, walk) in offsets.iter_mut().zip(&self.walks) {
                    *offset += walk.strides[axis];
                }
                if at[axis] < self.outer[axis] {
                    break;
                }
                for (offset, walk) in offsets.iter_mut().zip(&self.walks) {
                    *offset -= walk.strides[axis] * at[axis];
                }
                at[axis] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(space: &[usize], operands: &[&[usize]]) -> Vec<Vec<usize>> {
        let b = Broadcast::new(space, operands.iter().copied());
        let mut seen = vec![Vec::new(); operands.len()];
        b.for_each(|offsets, _| {
            for (k, seen) in seen.iter_mut().enumerate() {
                for i in 0..b.run() {
                    seen.push(offsets[k] + if b.is_splat(k) { 0 } else { i });
                }
            }
        });
        seen
    }

    fn naive(space: &[usize], operand: &[usize]) -> Vec<usize> {
        (0..size(space))
            .map(|flat| {
                let (mut rest, mut at, mut step) = (flat, 0, 1);
                for axis in (0..space.len()).rev() {
                    let i = rest % space[axis];
                    rest /= space[axis];
                    if axis + operand.len() >= space.len() {
                        let n = operand[axis + operand.len() - space.len()];
                        if n != 1 {
                            at += i * step;
                        }
                        step *= n;
                    }
                }
                at
            })
            .collect()
    }

    #[test]
    fn runs_cover_the_space_in_order() {
        let cases: &[(&[usize], &[&[usize]])] = &[
            (&[], &[&[], &[]]),
            (&[3, 4], &[&[3, 4], &[4], &[3, 1], &[]]),
            (&[2, 3, 4], &[&[2, 1, 4], &[3, 1], &[1, 1, 1]]),
            (&[2, 1, 4], &[&[2, 1, 4], &[1, 4], &[1]]),
            (&[5, 1], &[&[5, 1], &[1, 1]]),
            (&[2, 0, 3], &[&[2, 0, 3], &[3]]),
            (&[1, 1, 1], &[&[1, 1, 1], &[]]),
        ];
        for (space, operands) in cases {
            let expected: Vec<_> = operands.iter().map(|o| naive(space, o)).collect();
            assert_eq!(walk(space, operands), expected, "{space:?} {operands:?}");
        }
    }

    #[test]
    fn shapes_are_shown_as_python_shows_them() {
        assert_eq!(show(&[]), "()");
        assert_eq!(show(&[3]), "(3,)");
        assert_eq!(show(&[3, 4]), "(3, 4)");
    }

    #[test]
    fn a_shape_that_overflows_is_an_error() {
        assert!(element_count(&[usize::MAX, 2]).is_err());
        assert!(element_count(&[0, usize::MAX]).is_err());
        assert_eq!(element_count(&[3, 0]).unwrap(), 0);
    }
}
