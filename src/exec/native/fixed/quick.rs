//! Steps that need less than asking an operator each time: all that it would find out of lengths
//! alone is found out when they are written. They compute what the operator does, in the same
//! order.

use smallvec::{SmallVec, smallvec};

use super::step::{ElementStep, FixedOperand, FixedSource, FixedStep, FixedTarget, FixedWay};
use crate::array::{Slice, SliceMut, Type, View, ViewMut};
use crate::rules::{
    Accumulate, BasicSlice, Kernel, MatMul, Mul, OpRef, Operator, RowScale, SliceAdjoint,
    SliceItem, VectorProduct,
};

/// The kernel of an operator on operands that have the lengths of the result or one element.
pub(super) fn kernel(op: &OpRef, types: &[&Type], ty: &Type) -> Option<Kernel> {
    let fits = |of: &&Type| of.dtype == ty.dtype && (of.shape == ty.shape || of.size() == 1);
    if !types.iter().all(fits) {
        return None;
    }
    match op.downcast::<RowScale>() {
        // One row, all of which is multiplied by a number.
        Some(_) if types[0].size() == 1 => Kernel::of(&Mul, ty.dtype, 2),
        _ => Kernel::of(&**op, ty.dtype, types.len()),
    }
}

/// The steps that an operator is, if there are any.
pub(super) fn quick(
    op: &OpRef,
    way: FixedWay,
    operands: &[FixedOperand],
    types: &[&Type],
    ty: &Type,
    to: FixedTarget,
) -> Option<SmallVec<[FixedStep; 1]>> {
    let FixedTarget::Memory(to) = to else {
        return None;
    };
    let is_framed = |o: &FixedOperand| matches!(o.source, FixedSource::Frame(_));
    if operands.iter().any(is_framed) {
        return None;
    }
    if let FixedWay::Elements(kernel) = way {
        return Some(smallvec![FixedStep::Elements(Box::new(ElementStep {
            kernel,
            dtype: ty.dtype,
            operands: operands.iter().map(|o| (o.source, o.count)).collect(),
            count: ty.size(),
            to,
            is_apart: operands.iter().all(|o| o.source != FixedSource::Memory(to)),
        }))]);
    }
    if let Some(accumulate) = op.downcast::<Accumulate>() {
        return sums(accumulate, operands, types, ty, to);
    }
    let (from, count) = in_memory(operands.first()?)?;
    if let Some(slice) = op.downcast::<BasicSlice>() {
        return Some(smallvec![FixedStep::Part {
            from,
            start: first_element(&slice.items, types[0], ty)?,
            count: ty.size(),
            to,
        }]);
    }
    if let Some(adjoint) = op.downcast::<SliceAdjoint>() {
        return Some(smallvec![FixedStep::Pad {
            from,
            count,
            start: first_element(&adjoint.items, ty, types[0])?,
            all: ty.size(),
            to,
        }]);
    }
    let product = VectorProduct::of(op.downcast::<MatMul>()?, &types[0].shape, &types[1].shape)?;
    let factors = [(from, count), in_memory(&operands[1])?];
    let (vector, matrix) = (factors[product.vector], factors[1 - product.vector]);
    let is_real = ty.dtype.is_real();
    is_real.then(|| smallvec![FixedStep::Product(product, [vector, matrix], to)])
}

/// Where an operand is, and how many elements it has.
fn in_memory(operand: &FixedOperand) -> Option<(usize, usize)> {
    match operand.source {
        FixedSource::Memory(place) => Some((place, operand.count)),
        FixedSource::Frame(_) | FixedSource::Slot(..) => None,
    }
}

/// The steps that a sum of slices is, each of which takes elements that follow one another: they are added to
/// the base where the sum goes, from where none of them is read.
fn sums(
    op: &Accumulate,
    operands: &[FixedOperand],
    types: &[&Type],
    ty: &Type,
    to: usize,
) -> Option<SmallVec<[FixedStep; 1]>> {
    if !op.has_base() || *types[0] != *ty || !ty.dtype.is_real() {
        return None;
    }
    let mut steps = SmallVec::new();
    let (base, all) = in_memory(&operands[0])?;
    if base != to {
        steps.push(FixedStep::Move(vec![(FixedSource::Memory(base), all, to)]));
    }
    for (part, own) in op.parts() {
        let adjoint = part.downcast::<SliceAdjoint>()?;
        let (from, count) = in_memory(&operands[own.start])?;
        if from == to {
            return None;
        }
        steps.push(FixedStep::AddPart {
            from,
            count,
            start: first_element(&adjoint.items, ty, types[own.start])?,
            to,
        });
    }
    Some(steps)
}

/// The number of the first element that a slice takes, if it takes elements that follow one another. The
/// operator says so itself, of an array of numbers that count.
fn first_element(items: &[SliceItem], of: &Type, ty: &Type) -> Option<usize> {
    if ty.size() == 0 {
        return None;
    }
    let counted: Vec<f64> = (0..of.size()).map(|i| i as f64).collect();
    let mut taken = vec![0.0; ty.size()];
    let view = View::new(&of.shape, Slice::F64(&counted));
    let out = ViewMut {
        shape: &ty.shape,
        data: SliceMut::F64(&mut taken),
    };
    let items = items.to_vec();
    BasicSlice { items }.eval(&[view], out).ok()?;
    let start = taken[0];
    let follow = taken
        .iter()
        .enumerate()
        .all(|(k, &x)| x == start + k as f64);
    follow.then_some(start as usize)
}
