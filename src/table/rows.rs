//! Gradients of parameters: an array, or rows of one.
//!
//! The gradient of a lookup touches a few rows of a table that may have millions.
//! [`Rows`] keeps just those, as (indices, rows) pairs in the order they arose; the
//! same row may occur many times. [`Rows::coalesce`] sorts and sums them for
//! whoever reads them; optimizers group them in their own order.

use crate::array::{
    Array, Dense, Real, Shape, Type, Typed, element_count, room, show_shape, size, with_real,
};
use crate::error::{Error, Result};

/// Rows of an array that is zero elsewhere; equal indices add up.
#[derive(Debug, Clone)]
pub struct Rows {
    ty: Type,
    parts: Vec<(Dense<u32>, Array)>,
}

impl Rows {
    /// Rows `values` at `indices` of an array of type `ty`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the array would be too large for any memory, [`Error::Shape`] or
    /// [`Error::Type`] if `values` is not one row an index,
    /// [`Error::Index`] if an index is out of range.
    pub fn new(ty: Type, indices: Dense<u32>, values: Array) -> Result<Self> {
        let Some((&n, row)) = ty.shape.split_first() else {
            return Err(Error::Shape("a single number has no rows".into()));
        };
        element_count(&ty.shape)?;
        let expected: Shape = [indices.shape(), row].concat().into();
        if values.shape() != &expected[..] {
            return Err(Error::Shape(format!(
                "rows: expected values of shape {}, got {}",
                show_shape(&expected),
                show_shape(values.shape())
            )));
        }
        if values.dtype() != ty.dtype {
            return Err(Error::Type(format!(
                "rows: expected values of {}, got {}",
                ty.dtype,
                values.dtype()
            )));
        }
        crate::rules::check_indices(|| "rows".into(), indices.as_slice(), n)?;
        Ok(Rows {
            ty,
            parts: vec![(indices, values)],
        })
    }

    /// Element type and shape of the whole array.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        size(&self.ty.shape[1..])
    }

    /// Number of rows held, counting repeats.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(i, _)| i.as_slice().len()).sum()
    }

    /// Whether no row is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds rows of an array of the same type.
    pub(crate) fn extend(&mut self, other: Rows) {
        debug_assert_eq!(self.ty, other.ty);
        self.parts.extend(other.parts);
        // Keep a gradient that is never cleared from growing without bound.
        if self.len() > 2 * self.ty.shape[0].max(1024) {
            *self = self.coalesce();
        }
    }

    /// Indices and rows in one piece each, in the order they arose.
    ///
    /// # Panics
    /// If there is not the memory; see [`Rows::try_concat`].
    pub fn concat(&self) -> (Vec<u32>, Array) {
        self.try_concat().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Indices and rows in one piece each, in the order they arose.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub fn try_concat(&self) -> Result<(Vec<u32>, Array)> {
        let shape: Shape = [&[self.len()], &self.ty.shape[1..]].concat().into();
        let mut indices = room(&shape[..1])?;
        for (part, _) in &self.parts {
            indices.extend_from_slice(part.as_slice());
        }
        let values = with_real!(self.ty.dtype, T => {
            let mut all = room::<T>(&shape)?;
            for (_, part) in &self.parts {
                all.extend_from_slice(part.view().real::<T>());
            }
            Dense::from_vec(shape, all).into()
        });
        Ok((indices, values))
    }

    /// The same gradient with ascending indices, each once.
    ///
    /// # Panics
    /// If there is not the memory; see [`Rows::try_coalesce`].
    pub fn coalesce(&self) -> Rows {
        self.try_coalesce().unwrap_or_else(|e| panic!("{e}"))
    }

    /// The same gradient with ascending indices, each once.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory for a copy in one piece. That for its sorted
    /// form, which is no larger, is not asked for in advance.
    pub fn try_coalesce(&self) -> Result<Rows> {
        let (indices, values) = self.try_concat()?;
        let (indices, values) = with_real!(self.ty.dtype, T => {
            let (i, v) = sum_by_index(&indices, values.view().real::<T>(), self.width());
            let shape: Shape = [&[i.len()], &self.ty.shape[1..]].concat().into();
            (i, Array::from(Dense::from_vec(shape, v)))
        });
        Ok(Rows {
            ty: self.ty.clone(),
            parts: vec![(
                Dense::from_vec(Shape::from_slice(&[indices.len()]), indices),
                values,
            )],
        })
    }

    /// The whole array, if there is memory for it.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not.
    pub fn try_to_dense(&self) -> Result<Array> {
        let mut out = Array::zeros(&self.ty)?;
        self.add_to(&mut out)?;
        Ok(out)
    }

    /// The whole array.
    ///
    /// # Panics
    /// If there is not the memory; see [`Rows::try_to_dense`].
    pub fn to_dense(&self) -> Array {
        self.try_to_dense().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Adds the rows to an array of the same type.
    ///
    /// # Errors
    /// [`Error::Memory`] if the array is shared and there is not the memory for a copy.
    pub(crate) fn add_to(&self, out: &mut Array) -> Result<()> {
        let width = self.width();
        with_real!(self.ty.dtype, T => {
            let mut data = match out {
                Array::F32(d) => f32::tag_mut(d.make_mut()?),
                Array::F64(d) => f64::tag_mut(d.make_mut()?),
                Array::U32(_) => return Ok(()),
            };
            let out = T::slice_mut(&mut data);
            for (indices, values) in &self.parts {
                let rows = values.view().real::<T>().chunks_exact(width.max(1));
                for (&i, row) in indices.as_slice().iter().zip(rows) {
                    let at = i as usize * width;
                    for (o, &r) in out[at..at + width].iter_mut().zip(row) {
                        *o += r;
                    }
                }
            }
        });
        Ok(())
    }
}

/// Ascending distinct indices and the sums of their rows, added in order of arrival.
fn sum_by_index<T: Real>(indices: &[u32], rows: &[T], width: usize) -> (Vec<u32>, Vec<T>) {
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order.sort_by_key(|&k| indices[k]);
    let (mut distinct, mut sums): (Vec<u32>, Vec<T>) = (Vec::new(), Vec::new());
    for k in order {
        let row = &rows[k * width..(k + 1) * width];
        if distinct.last() == Some(&indices[k]) {
            let at = sums.len() - width;
            for (s, &r) in sums[at..].iter_mut().zip(row) {
                *s += r;
            }
        } else {
            distinct.push(indices[k]);
            sums.extend_from_slice(row);
        }
    }
    (distinct, sums)
}

/// A parameter's gradient.
#[derive(Debug, Clone)]
pub enum Gradient {
    /// An array of the parameter's shape.
    Dense(Array),
    /// Some rows.
    Rows(Rows),
}

impl Gradient {
    /// Element type and shape.
    pub fn ty(&self) -> Type {
        match self {
            Gradient::Dense(a) => a.ty(),
            Gradient::Rows(r) => r.ty().clone(),
        }
    }

    /// Checks that this is a gradient of something of type `ty`.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] naming what `label` gives, and both types.
    pub(crate) fn check(&self, ty: &Type, label: impl FnOnce() -> String) -> Result<()> {
        let (dtype, shape) = match self {
            Gradient::Dense(a) => (a.dtype(), a.shape()),
            Gradient::Rows(r) => (r.ty.dtype, &r.ty.shape[..]),
        };
        if dtype == ty.dtype && shape == &ty.shape[..] {
            return Ok(());
        }
        let message = format!(
            "{}: expected a gradient of {} and shape {}, got {dtype} and shape {}",
            label(),
            ty.dtype,
            show_shape(&ty.shape),
            show_shape(shape)
        );
        Err(match dtype == ty.dtype {
            true => Error::Shape(message),
            false => Error::Type(message),
        })
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Gradient::Dense(a) => a.is_finite(),
            Gradient::Rows(r) => r.parts.iter().all(|(_, rows)| rows.is_finite()),
        }
    }

    /// The gradient as an array.
    pub fn to_dense(&self) -> Array {
        match self {
            Gradient::Dense(a) => a.clone(),
            Gradient::Rows(r) => r.to_dense(),
        }
    }

    /// As [`to_dense`](Self::to_dense), where there may be too little memory for it.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is.
    pub fn try_to_dense(&self) -> Result<Array> {
        match self {
            Gradient::Dense(a) => Ok(a.clone()),
            Gradient::Rows(r) => r.try_to_dense(),
        }
    }

    /// Adds another gradient of the same type; rows stay rows if both are.
    ///
    /// # Errors
    /// [`Error::Memory`] if an array is shared and there is not the memory for a copy. Nothing is
    /// changed then.
    pub(crate) fn add(&mut self, other: Gradient) -> Result<()> {
        match (&mut *self, other) {
            (Gradient::Rows(a), Gradient::Rows(b)) => a.extend(b),
            (Gradient::Dense(a), Gradient::Rows(r)) => r.add_to(a)?,
            (Gradient::Dense(a), Gradient::Dense(b)) => add_into(a, &b)?,
            (Gradient::Rows(r), Gradient::Dense(mut a)) => {
                r.add_to(&mut a)?;
                *self = Gradient::Dense(a);
            }
        }
        Ok(())
    }
}

/// `a += b` for arrays of the same type.
///
/// # Errors
/// [`Error::Memory`] if `a` is shared and there is not the memory for a copy.
pub(crate) fn add_into(a: &mut Array, b: &Array) -> Result<()> {
    fn each<T: Real>(a: &mut [T], b: &[T]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a += b;
        }
    }
    match (a, b) {
        (Array::F32(a), Array::F32(b)) => each(a.make_mut()?, b.as_slice()),
        (Array::F64(a), Array::F64(b)) => each(a.make_mut()?, b.as_slice()),
        _ => {}
    }
    Ok(())
}
