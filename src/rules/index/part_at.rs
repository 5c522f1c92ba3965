//! The part of an array at an index along some axes: read, added to, and replaced. With an index for each
//! axis it is one element.
//!
//! The indices are numbers that are known only at run time. By rows, one axis after the other, the same is
//! a lookup in a copy of a row, and an assignment copies the row twice; these cost what they touch. Along the
//! first axis alone `gather` and `replace_row` do the same, by which tables have rows and gradients of rows.

use smallvec::SmallVec;

use super::accumulate::zero;
use super::lookup::{check_indices, index};
use crate::array::{Shape, SliceMut, Type, Typed, View, ViewMut, size, with_real};
use crate::error::{Error, Result};
use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, Scatter, linear, real, same_dtype, same_shape,
};

/// The shape of the part of an array at an index along each of some axes, which ascend.
fn part_shape(name: &str, array: &Type, axes: &[usize], indices: &[&Type]) -> Result<Shape> {
    let ascend = axes.windows(2).all(|pair| pair[0] < pair[1]);
    let there = axes.last().is_some_and(|&last| last < array.ndim());
    if !ascend || !there || axes.len() != indices.len() {
        return Err(Error::Shape(format!(
            "{name}: expected an index for each of the axes {axes:?}, ascending, of {array}, got {} \
             indices",
            indices.len()
        )));
    }
    for at in indices {
        index(name, at)?;
        same_shape(&format!("{name}: an index"), &[], &at.shape)?;
    }
    let lengths = array.shape.iter().enumerate();
    let others = lengths.filter(|(axis, _)| !axes.contains(axis));
    Ok(others.map(|(_, &length)| length).collect())
}

/// Where runs of the part begin, in C order, and how many elements each has.
type PartRuns = (SmallVec<[usize; 4]>, usize);

fn runs(name: &str, shape: &[usize], axes: &[usize], indices: &[View<'_>]) -> Result<PartRuns> {
    let end = axes.last().map_or(0, |last| last + 1);
    let run = size(&shape[end..]);
    let mut starts: SmallVec<[usize; 4]> = SmallVec::from_elem(0, 1);
    for (axis, &length) in shape[..end].iter().enumerate() {
        match axes.iter().position(|&one| one == axis) {
            Some(k) => {
                let at = indices[k].indices();
                check_indices(|| name.into(), at, length)?;
                let at = at[0] as usize;
                starts.iter_mut().for_each(|s| *s = *s * length + at);
            }
            None => {
                let all = |&s: &usize| (0..length).map(move |k| s * length + k);
                starts = starts.iter().flat_map(all).collect();
            }
        }
    }
    starts.iter_mut().for_each(|start| *start *= run);
    Ok((starts, run))
}

/// Changes the elements of the part by those of `values`, one after the other.
fn change<T: Copy>(runs: &PartRuns, part: &[T], whole: &mut [T], by: impl Fn(&mut T, T)) {
    let run = runs.1;
    for (start, values) in runs.0.iter().zip(part.chunks_exact(run.max(1))) {
        let there = whole[*start..*start + run].iter_mut();
        there.zip(values).for_each(|(to, &value)| by(to, value));
    }
}

/// Copies a part over that of another array.
fn write(runs: &PartRuns, part: View<'_>, out: &mut SliceMut<'_>) {
    if let SliceMut::U32(out) = out {
        change(runs, part.indices(), out, |to, value| *to = value);
        return;
    }
    with_real!(out.dtype(), T => {
        change(runs, part.real::<T>(), T::slice_mut(out), |to, value| *to = value);
    });
}

/// Copies the part out of an array.
fn read<T: Copy>(runs: &PartRuns, whole: &[T], out: &mut [T]) {
    let run = runs.1;
    for (start, out) in runs.0.iter().zip(out.chunks_exact_mut(run.max(1))) {
        out.copy_from_slice(&whole[*start..*start + run]);
    }
}

/// The number that the index along an axis must stay below. `first` is the operand that is the first index.
fn axis_limit(axes: &[usize], i: usize, first: usize, array: &Type) -> Option<usize> {
    let axis = *axes.get(i.checked_sub(first)?)?;
    array.shape.get(axis).copied()
}

/// The part of operand 0 at an index along each of `axes`, which are the other operands. It may hold
/// indices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TakeAt {
    /// The axes that the part has not, ascending.
    pub axes: Shape,
}

impl Operator for TakeAt {
    linear!("take_at", |op, g, x| {
        let axes = op.axes.clone();
        g.with_new(AddAt { axes }, x)
    });

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [array, indices @ ..] = args else {
            return Err(Error::Type("take_at: expected an array".into()));
        };
        let shape = part_shape("take_at", array, &self.axes, indices)?;
        Ok(Type::new(array.dtype, &shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let runs = runs("take_at", args[0].shape, &self.axes, &args[1..])?;
        if let SliceMut::U32(out) = &mut out.data {
            read(&runs, args[0].indices(), out);
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            read(&runs, args[0].real::<T>(), T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(&self.axes, i, 1, args[0])
    }
}

/// Zeros shaped as operand 1 with operand 0 added to the part at an index along each of `axes`, which are
/// the operands from 2 on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AddAt {
    /// The axes that the part has not, ascending.
    pub axes: Shape,
}

impl Operator for AddAt {
    linear!("add_at", |op, g, x| {
        let axes = op.axes.clone();
        g.with_new(TakeAt { axes }, &x[2..])
    });

    fn reads(&self, i: usize) -> bool {
        i != 1
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [part, like, indices @ ..] = args else {
            return Err(Error::Type("add_at: expected a part and an array".into()));
        };
        same_dtype("add_at", part, like)?;
        let shape = part_shape("add_at", like, &self.axes, indices)?;
        same_shape("add_at: the part", &shape, &part.shape)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(&self.axes, i, 2, args[1])
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for AddAt {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let runs = runs("add_at", out.shape, &self.axes, &args[2..])?;
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            change(&runs, args[0].real::<T>(), out, |to, value| *to += value);
        });
        Ok(())
    }

    fn like(&self) -> Option<usize> {
        Some(1)
    }
}

/// Operand 0 with the part at an index along each of `axes`, which are the operands from 2 on, replaced by
/// operand 1. They may hold indices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplaceAt {
    /// The axes that the part has not, ascending.
    pub axes: Shape,
}

impl Operator for ReplaceAt {
    fn name(&self) -> &str {
        "replace_at"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [array, part, indices @ ..] = args else {
            return Err(Error::Type(
                "replace_at: expected an array and a part".into(),
            ));
        };
        if array.dtype != part.dtype {
            real("replace_at", array)?;
            same_dtype("replace_at", array, part)?;
        }
        let shape = part_shape("replace_at", array, &self.axes, indices)?;
        same_shape("replace_at: the part", &shape, &part.shape)?;
        Ok((*array).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let whole = (SmallVec::from_elem(0, 1), out.data.len());
        write(&whole, args[0], &mut out.data);
        self.update(&args[1..], out).unwrap_or(Ok(()))
    }

    fn update(&self, others: &[View<'_>], mut out: ViewMut<'_>) -> Option<Result<()>> {
        let runs = runs("replace_at", out.shape, &self.axes, &others[1..]);
        Some(runs.map(|runs| write(&runs, others[0], &mut out.data)))
    }

    // The gradient is replaced by zeros, not multiplied with them: what was overwritten may be NaN. They
    // have the lengths of the gradient's own part, so that the new one is not kept for its lengths.
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let axes = self.axes.clone();
        let part = || g.with_new(TakeAt { axes: axes.clone() }, &x[2..]);
        match i {
            0 => {
                let like = if x[1].ndim() == 0 { x[1] } else { part() };
                let operands = std::iter::once(like.zeros_like()).chain(x[2..].iter().copied());
                let operands: SmallVec<[Ex<'t>; 4]> = operands.collect();
                Some(g.with_new(ReplaceAt { axes }, &operands))
            }
            1 => Some(part()),
            _ => None,
        }
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(&self.axes, i, 2, args[0])
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Shapes of arrays, and axes of parts.
const PARTS: [(&[usize], &[usize]); 8] = [
    (&[5], &[0]),
    (&[4, 3], &[0, 1]),
    (&[4, 3], &[1]),
    (&[1, 6], &[0]),
    (&[2, 3, 4], &[0, 1, 2]),
    (&[2, 3, 4], &[1]),
    (&[2, 3, 4], &[0, 2]),
    (&[3, 0, 2], &[2]),
];

/// An index along each of these axes of an array.
fn indices(shape: &[usize], axes: &[usize]) -> Vec<Argument> {
    let index = |&axis: &usize| Argument::index(&[], shape[axis]);
    axes.iter().map(index).collect()
}

/// The part, as numbers.
fn part(shape: &[usize], axes: &[usize]) -> Argument {
    let others = (0..shape.len()).filter(|axis| !axes.contains(axis));
    let others: Shape = others.map(|axis| shape[axis]).collect();
    Argument::real(&others, ANY)
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "take_at",
        formula: "x[i, …, j]",
        source: "definition",
        reference: None,
        internal: Some("elements, rows and columns in functions that are read"),
        cases: || {
            let case = |first: Argument, shape, axes: &[usize]| {
                let args = [vec![first], indices(shape, axes)].concat();
                Case::new(OpRef::new(TakeAt { axes: axes.into() }), args)
            };
            let numbers = PARTS.map(|(shape, axes)| case(Argument::real(shape, ANY), shape, axes));
            let mut cases: Vec<Case> = numbers.into();
            // A table of indices.
            cases.push(case(Argument::index(&[5, 3], 7), &[5, 3], &[0, 1]));
            cases
        },
    },
    Entry {
        name: "add_at",
        formula: "zeros with g added at [i, …, j]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of take_at"),
        cases: || {
            let case = |(shape, axes): (&[usize], &[usize])| {
                let first = vec![part(shape, axes), Argument::shape_only(shape)];
                let args = [first, indices(shape, axes)].concat();
                Case::new(OpRef::new(AddAt { axes: axes.into() }), args)
            };
            PARTS.map(case).into()
        },
    },
    Entry {
        name: "replace_at",
        formula: "x with x[i, …, j] = values",
        source: "definition",
        reference: None,
        internal: Some("assignments in functions that are read"),
        cases: || {
            let case = |(shape, axes): (&[usize], &[usize])| {
                let first = vec![Argument::real(shape, ANY), part(shape, axes)];
                let args = [first, indices(shape, axes)].concat();
                Case::new(OpRef::new(ReplaceAt { axes: axes.into() }), args)
            };
            PARTS.map(case).into()
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, Dense};

    #[test]
    fn parts_of_tables_of_indices_are_replaced() {
        let table = Array::from(Dense::new(&[2, 3], (0..6_u32).collect()).unwrap());
        let column = Array::from(Dense::from(vec![8_u32, 9]));
        let at = Array::from(1_u32);
        let args = [table.view(), column.view(), at.view()];
        let types = [table.ty(), column.ty(), at.ty()];
        let op = ReplaceAt {
            axes: [1].as_slice().into(),
        };
        assert_eq!(op.infer(&types.each_ref()).unwrap(), table.ty());
        let mut out = vec![7_u32; 6];
        let data = SliceMut::U32(&mut out);
        let shape = &[2, 3];
        op.eval(&args, ViewMut { shape, data }).unwrap();
        assert_eq!(out, [0, 8, 2, 3, 9, 5]);
    }

    #[test]
    fn axes_that_do_not_ascend_or_are_not_there_are_refused() {
        let array = Type::new(crate::array::DType::F64, &[2, 3]);
        let at = Type::new(crate::array::DType::U32, &[]);
        for axes in [[1, 0], [0, 0], [0, 2]] {
            let op = TakeAt {
                axes: axes.as_slice().into(),
            };
            let error = op.infer(&[&array, &at, &at]).unwrap_err().to_string();
            assert!(error.contains("ascending, of"), "{error}");
        }
        let none = TakeAt { axes: Shape::new() };
        assert!(none.infer(&[&array]).is_err());
    }
}
