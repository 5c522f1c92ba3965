//! Kernels on matrices, run on arrays of them.
//!
//! The decompositions ([`crate::decompose`]) work on one matrix in double precision. Here is what
//! takes them to arrays with leading axes, which broadcast, and to single precision.

use crate::array::{
    Broadcast, Shape, Slice, SliceMut, Type, View, ViewMut, broadcast, element_count, show_shape,
};
use crate::error::{Error, Result};

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

/// Room for so many numbers.
fn room(n: usize) -> Result<Vec<f64>> {
    let mut out = Vec::new();
    out.try_reserve_exact(n)
        .map_err(|_| Error::Memory(format!("no memory for {n} numbers")))?;
    Ok(out)
}

/// The leading axes of operands together.
pub(super) fn joint(name: &str, operands: &[&Type]) -> Result<Shape> {
    broadcast(name, operands.iter().map(|x| lead(&x.shape, 2)))
}

/// From the matrices of the operands to one result.
type Kernel<'a> = dyn FnMut(&[&[f64]], &mut [f64]) -> Result<()> + 'a;

/// Calls `f` with the matrices at each place of the leading axes, and where to write the result,
/// which has so many trailing axes.
pub(super) fn each(
    args: &[View<'_>],
    out: &mut ViewMut<'_>,
    axes: Axes,
    f: &mut Kernel<'_>,
) -> Result<()> {
    let size = inner(out.shape, axes);
    let mut result = room(size)?;
    result.resize(size, 0.0);
    let sizes: Vec<usize> = args.iter().map(|a| inner(a.shape, 2)).collect();
    let mut matrices = sizes.iter().map(|&n| room(n)).collect::<Result<Vec<_>>>()?;
    let mut one = |places: &[usize], place: usize| -> Result<()> {
        for (((arg, matrix), &n), &at) in args.iter().zip(&mut matrices).zip(&sizes).zip(places) {
            matrix.clear();
            match arg.data {
                Slice::F64(x) => matrix.extend_from_slice(&x[at * n..(at + 1) * n]),
                Slice::F32(x) => {
                    matrix.extend(x[at * n..(at + 1) * n].iter().map(|&x| f64::from(x)))
                }
                Slice::U32(_) => {}
            }
        }
        let read: smallvec::SmallVec<[&[f64]; 2]> = matrices.iter().map(|m| &m[..]).collect();
        f(&read, &mut result)?;
        match &mut out.data {
            SliceMut::F64(x) => x[place * size..(place + 1) * size].copy_from_slice(&result),
            SliceMut::F32(x) => {
                let x = &mut x[place * size..(place + 1) * size];
                x.iter_mut().zip(&result).for_each(|(o, &x)| *o = x as f32);
            }
            SliceMut::U32(_) => {}
        }
        Ok(())
    };
    let space = lead(out.shape, axes);
    if space.is_empty() {
        return one(&vec![0; args.len()], 0);
    }
    let walk = Broadcast::new(space, args.iter().map(|a| lead(a.shape, 2)));
    let mut outcome = Ok(());
    let mut places = vec![0; args.len()];
    walk.for_each(|offsets, number| {
        for step in 0..walk.run() {
            if outcome.is_ok() {
                for (k, place) in places.iter_mut().enumerate() {
                    *place = offsets[k] + if walk.is_splat(k) { 0 } else { step };
                }
                outcome = one(&places, number * walk.run() + step);
            }
        }
    });
    outcome
}
