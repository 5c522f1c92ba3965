//! One element of an array by an index for each axis: read, added to, and replaced.
//!
//! The indices are numbers that are known only at run time. By rows, one axis after the other, the same is
//! a lookup in a copy of a row, and an assignment copies the row twice; these cost what they touch.

use super::accumulate::zero;
use super::lookup::{check_indices, index};
use crate::array::{SliceMut, Type, Typed, View, ViewMut, with_real};
use crate::error::{Error, Result};
use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, Scatter, linear, same_dtype, same_shape,
};

/// Checks that there is one index for each axis of an array, at least one.
fn check_axes(name: &str, array: &Type, indices: &[&Type]) -> Result<()> {
    if array.ndim() == 0 || array.ndim() != indices.len() {
        return Err(Error::Shape(format!(
            "{name}: expected an index for each axis of {array}, got {} indices",
            indices.len()
        )));
    }
    indices.iter().try_for_each(|at| {
        index(name, at)?;
        same_shape(&format!("{name}: an index"), &[], &at.shape)
    })
}

/// The position in C order of the element at these indices.
fn position(name: &str, shape: &[usize], indices: &[View<'_>]) -> Result<usize> {
    let mut found = 0;
    for (&length, at) in shape.iter().zip(indices) {
        let at = at.indices();
        check_indices(|| name.into(), at, length)?;
        found = found * length + at[0] as usize;
    }
    Ok(found)
}

/// The number that an index along an axis must stay below. `first` is the operand that is the first index.
fn axis_limit(i: usize, first: usize, array: &Type) -> Option<usize> {
    array.shape.get(i.checked_sub(first)?).copied()
}

/// Copies one element.
fn copy_element(from: &View<'_>, at: usize, to: &mut SliceMut<'_>, to_at: usize) {
    if let SliceMut::U32(to) = to {
        to[to_at] = from.indices()[at];
        return;
    }
    with_real!(to.dtype(), T => T::slice_mut(to)[to_at] = from.real::<T>()[at]);
}

/// The element of operand 0 at the indices that are the other operands, one for each axis. It may be an
/// index itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TakeElement;

impl Operator for TakeElement {
    linear!("take_element", |_, g, x| g.with(&AddElement, x));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [array, indices @ ..] = args else {
            return Err(Error::Type("take_element: expected an array".into()));
        };
        check_axes("take_element", array, indices)?;
        Ok(Type::new(array.dtype, &[]))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let at = position("take_element", args[0].shape, &args[1..])?;
        copy_element(&args[0], at, &mut out.data, 0);
        Ok(())
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(i, 1, args[0])
    }
}

/// Zeros shaped as operand 1 with operand 0, a number, added at the indices that are the operands from 2
/// on, one for each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddElement;

impl Operator for AddElement {
    linear!("add_element", |_, g, x| g.with(&TakeElement, &x[2..]));

    fn reads(&self, i: usize) -> bool {
        i != 1
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [number, like, indices @ ..] = args else {
            return Err(Error::Type(
                "add_element: expected a number and an array".into(),
            ));
        };
        same_dtype("add_element", number, like)?;
        same_shape("add_element: what is added", &[], &number.shape)?;
        check_axes("add_element", like, indices)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(i, 2, args[1])
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for AddElement {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let at = position("add_element", out.shape, &args[2..])?;
        with_real!(out.data.dtype(), T => T::slice_mut(&mut out.data)[at] += args[0].real::<T>()[0]);
        Ok(())
    }

    fn like(&self) -> Option<usize> {
        Some(1)
    }
}

/// Operand 0 with the element at the indices that are the operands from 2 on, one for each axis, replaced
/// by operand 1. The elements may be indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplaceElement;

impl Operator for ReplaceElement {
    fn name(&self) -> &str {
        "replace_element"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [array, value, indices @ ..] = args else {
            return Err(Error::Type(
                "replace_element: expected an array and a number".into(),
            ));
        };
        if array.dtype != value.dtype {
            same_dtype("replace_element", array, value)?;
        }
        same_shape("replace_element: the new element", &[], &value.shape)?;
        check_axes("replace_element", array, indices)?;
        Ok((*array).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::U32(out) = &mut out.data {
            out.copy_from_slice(args[0].indices());
        } else {
            with_real!(out.data.dtype(), T => {
                T::slice_mut(&mut out.data).copy_from_slice(args[0].real::<T>());
            });
        }
        self.update(&args[1..], out).unwrap_or(Ok(()))
    }

    fn update(&self, others: &[View<'_>], mut out: ViewMut<'_>) -> Option<Result<()>> {
        let at = position("replace_element", out.shape, &others[1..]);
        Some(at.map(|at| copy_element(&others[0], 0, &mut out.data, at)))
    }

    // The gradient is replaced by zero, not multiplied with it: what was overwritten may be NaN.
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        match i {
            0 => {
                let operands = std::iter::once(x[1].zeros_like()).chain(x[2..].iter().copied());
                Some(g.with(&ReplaceElement, &operands.collect::<Vec<_>>()))
            }
            1 => Some(g.with(&TakeElement, &x[2..])),
            _ => None,
        }
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        axis_limit(i, 2, args[0])
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Shapes of arrays.
const SHAPES: [&[usize]; 4] = [&[5], &[4, 3], &[1, 6], &[2, 3, 4]];

/// An index for each axis of an array.
fn indices(shape: &[usize]) -> impl Iterator<Item = Argument> {
    shape.iter().map(|&length| Argument::index(&[], length))
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "take_element",
        formula: "x[i, j, …]",
        source: "definition",
        reference: None,
        internal: Some("elements in functions that are read"),
        cases: || {
            let array = |shape| vec![Argument::real(shape, ANY)];
            let case = |mut args: Vec<Argument>, shape| {
                args.extend(indices(shape));
                Case::new(OpRef::Static(&TakeElement), args)
            };
            let mut cases: Vec<Case> = SHAPES.map(|shape| case(array(shape), shape)).into();
            // A table of indices.
            cases.push(case(vec![Argument::index(&[5, 3], 7)], &[5, 3]));
            cases
        },
    },
    Entry {
        name: "add_element",
        formula: "zeros with g added at [i, j, …]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of element"),
        cases: || {
            let case = |shape: &[usize]| {
                let mut args = vec![Argument::real(&[], ANY), Argument::shape_only(shape)];
                args.extend(indices(shape));
                Case::new(OpRef::Static(&AddElement), args)
            };
            SHAPES.map(case).into()
        },
    },
    Entry {
        name: "replace_element",
        formula: "x with x[i, j, …] = value",
        source: "definition",
        reference: None,
        internal: Some("assignments in functions that are read"),
        cases: || {
            let case = |shape: &[usize]| {
                let mut args = vec![Argument::real(shape, ANY), Argument::real(&[], ANY)];
                args.extend(indices(shape));
                Case::new(OpRef::Static(&ReplaceElement), args)
            };
            SHAPES.map(case).into()
        },
    },
];
