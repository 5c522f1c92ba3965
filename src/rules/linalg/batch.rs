//! Kernels on matrices, run on arrays of them.
//!
//! The decompositions ([`super::factor`]) work on one matrix. Here is what takes them to arrays with
//! leading axes, which broadcast.

use smallvec::SmallVec;

use crate::array::{
    Broadcast, DType, Shape, Type, Typed, View, ViewMut, broadcast, element_count, filled,
    show_shape,
};
use crate::error::{Error, Result};
use crate::interrupt::Poller;

use crate::rules::real;

/// Rows and columns of the matrices that an operand holds.
pub(super) fn sides(name: &str, x: &Type) -> Result<[usize; 2]> {
    real(name, x)?;
    match x.shape[..] {
        [.., m, n] => Ok([m, n]),
        _ => Err(Error::LinAlg(format!(
            "{name}: expected a matrix, or several, got shape {}",
            show_shape(&x.shape)
        ))),
    }
}

/// As [`sides`], of square matrices.
pub(super) fn square(name: &str, x: &Type) -> Result<usize> {
    match sides(name, x)? {
        [m, n] if m == n => Ok(n),
        _ => Err(Error::LinAlg(format!(
            "{name}: expected square matrices, got shape {}",
            show_shape(&x.shape)
        ))),
    }
}

/// The type of arrays that have other matrices, or vectors, or numbers in the places of those
/// of `x`.
pub(super) fn instead(x: &Type, tail: &[usize]) -> Result<Type> {
    let mut ty = Type::new(x.dtype, &x.shape[..x.ndim() - 2]);
    ty.shape.extend_from_slice(tail);
    element_count(&ty.shape)?;
    Ok(ty)
}

/// An array of arrays: how many trailing axes one has.
type Axes = usize;

fn lead(shape: &[usize], axes: Axes) -> &[usize] {
    &shape[..shape.len().saturating_sub(axes)]
}

fn inner(shape: &[usize], axes: Axes) -> usize {
    shape[shape.len().saturating_sub(axes)..].iter().product()
}

/// The leading axes of operands together.
pub(super) fn joint(name: &str, operands: &[&Type]) -> Result<Shape> {
    broadcast(name, operands.iter().map(|x| lead(&x.shape, 2)))
}

/// Calls `f` with where the matrix of each operand lies, and that of the result, counted in matrices,
/// for each place of the leading axes.
fn walk(
    args: &[View<'_>],
    out: &[usize],
    axes: Axes,
    f: &mut dyn FnMut(&[usize], usize) -> Result<()>,
) -> Result<()> {
    let space = lead(out, axes);
    if space.is_empty() {
        return f(&[0; MOST][..args.len()], 0);
    }
    let walk = Broadcast::new(space, args.iter().map(|a| lead(a.shape, 2)));
    let mut outcome = Ok(());
    let mut places = [0; MOST];
    walk.for_each(|offsets, number| {
        for step in 0..walk.run() {
            if outcome.is_ok() {
                for k in 0..args.len() {
                    places[k] = offsets[k] + if walk.is_splat(k) { 0 } else { step };
                }
                outcome = f(&places[..args.len()], number * walk.run() + step);
            }
        }
    });
    outcome
}

/// The most operands that an operator here has.
const MOST: usize = 3;

/// From the matrices of the operands to one result.
type EachMatrix<'a, T> = dyn FnMut(&[&[T]], &mut [T]) -> Result<()> + 'a;

/// Calls `f` with the matrices of the operands at each place of the leading axes, and where to write
/// the result, which has so many trailing axes.
pub(super) fn each<T: Typed>(
    args: &[View<'_>],
    out: &mut ViewMut<'_>,
    axes: Axes,
    mut f: impl FnMut(&[&[T]], &mut [T]) -> Result<()>,
) -> Result<()> {
    each_of(args, out, axes, &mut f)
}

/// As [`each`], compiled once for an element type and not for each operator.
fn each_of<T: Typed>(
    args: &[View<'_>],
    out: &mut ViewMut<'_>,
    axes: Axes,
    f: &mut EachMatrix<'_, T>,
) -> Result<()> {
    let size = inner(out.shape, axes);
    let shape = out.shape;
    let to = T::slice_mut(&mut out.data);
    let mut poller = Poller::default();
    walk(args, shape, axes, &mut |places, place| {
        let matrices = args.iter().zip(places).map(|(arg, at)| {
            let n = inner(arg.shape, 2);
            &arg.real::<T>()[at * n..(at + 1) * n]
        });
        let matrices: SmallVec<[&[T]; MOST]> = matrices.collect();
        poller.step(matrices.iter().map(|x| x.len() * 64).sum())?;
        f(&matrices, &mut to[place * size..(place + 1) * size])
    })
}

/// As [`each`], in double precision whatever the operands' is.
pub(super) fn each_in_double(
    args: &[View<'_>],
    out: &mut ViewMut<'_>,
    axes: Axes,
    f: &mut EachMatrix<'_, f64>,
) -> Result<()> {
    if out.data.dtype() == DType::F64 {
        return each(args, out, axes, f);
    }
    let mut copies = Vec::with_capacity(args.len());
    for arg in args {
        copies.push(filled(inner(arg.shape, 2), 0.0)?);
    }
    let mut result = filled(inner(out.shape, axes), 0.0)?;
    each(args, out, axes, |x: &[&[f32]], out| {
        for (copy, x) in copies.iter_mut().zip(x) {
            copy.iter_mut().zip(*x).for_each(|(c, &x)| *c = x.into());
        }
        let read: SmallVec<[&[f64]; MOST]> = copies.iter().map(|x| &x[..]).collect();
        f(&read, &mut result)?;
        out.iter_mut()
            .zip(&result)
            .for_each(|(o, &x)| *o = x as f32);
        Ok(())
    })
}

/// Shapes of which tests draw matrices of any sides: square, tall, wide, of one element, and empty.
pub(super) const SHAPES: [&[usize]; 7] = [
    &[3, 3],
    &[4, 2],
    &[2, 2, 3],
    &[1, 1],
    &[0, 0],
    &[2, 0],
    &[0, 2, 2],
];
