//! Gradients of parameters: an array, or rows of one.
//!
//! The gradient of a lookup touches a few rows of a table that may have millions.
//! [`Rows`] keeps just those, in parts in the order they arose: indices with their rows, or a slice
//! with its elements. The same row may occur many times. [`Rows::coalesce`] sorts and sums them for
//! whoever reads them; optimizers group them in their own order.

use crate::array::{
    Array, Dense, Number, Shape, SliceMut, Type, Typed, element_count, equal_shapes, show_shape,
    size, vec_for, with_real,
};
use crate::error::{Error, Result};
use crate::order;
use crate::rules::{Region, check_indices};

/// Where the values of a part stand.
#[derive(Debug, Clone)]
enum At {
    /// A row at each index.
    Index(Dense<u32>),
    /// An element at each place of a slice.
    Slice(Box<Region>),
}

#[derive(Debug, Clone)]
struct Placed {
    at: At,
    values: Array,
    /// Rows in this part and in those before it.
    end: usize,
}

impl Placed {
    /// Number of rows.
    fn len(&self) -> usize {
        match &self.at {
            At::Index(indices) => indices.as_slice().len(),
            At::Slice(region) => region.count(),
        }
    }
}

/// Rows of an array that is zero elsewhere; equal indices add up.
#[derive(Debug, Clone)]
pub struct Rows {
    ty: Type,
    // Nothing else: every value of a graph has room for this, and is moved with it.
    parts: Vec<Placed>,
}

/// Checks that values are of a type and shape.
fn check_values(values: &Array, ty: &Type, expected: &[usize]) -> Result<()> {
    if values.shape() != expected {
        return Err(Error::Shape(format!(
            "rows: expected values of shape {}, got {}",
            show_shape(expected),
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
    Ok(())
}

impl Rows {
    /// Rows `values` at `indices` of an array of type `ty`.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if `values` is not one row of numbers an index,
    /// [`Error::Index`] if an index is out of range.
    pub fn new(ty: Type, indices: Dense<u32>, values: Array) -> Result<Self> {
        let Some((&n, row)) = ty.shape.split_first() else {
            return Err(Error::Shape("a single number has no rows".into()));
        };
        if !ty.dtype.is_real() {
            return Err(Error::Type(
                "rows: these are integers, which have no gradient".into(),
            ));
        }
        element_count(&ty.shape)?;
        if values.dtype() != ty.dtype || values.shape().strip_prefix(indices.shape()) != Some(row) {
            let expected = [indices.shape(), row].concat();
            check_values(&values, &ty, &expected)?;
        }
        check_indices(|| "rows".into(), indices.as_slice(), n)?;
        Ok(Rows::of(ty, At::Index(indices), values))
    }

    /// Values in the places of a slice of an array of type `ty`.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the values are not of the slice's type.
    pub(crate) fn sliced(ty: Type, region: Region, values: Array) -> Result<Self> {
        check_values(&values, &ty, region.shape())?;
        Ok(Rows::of(ty, At::Slice(Box::new(region)), values))
    }

    fn of(ty: Type, at: At, values: Array) -> Self {
        let mut part = Placed { at, values, end: 0 };
        part.end = part.len();
        Rows {
            ty,
            parts: vec![part],
        }
    }

    /// Element type and shape of the whole array.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        size(self.ty.shape.get(1..).unwrap_or_default())
    }

    /// Number of rows held, counting repeats.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Whether no row is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are as many rows as in the whole array, or more.
    pub(crate) fn is_many(&self) -> bool {
        self.len() >= self.ty.shape.first().copied().unwrap_or(1)
    }

    /// Whether a part is a slice of all rows, whose gradient is an array.
    pub(crate) fn has_all(&self) -> bool {
        let all = |part: &Placed| matches!(&part.at, At::Slice(region) if region.rows().is_none());
        self.parts.iter().any(all)
    }

    /// Whether a part is a slice.
    pub(crate) fn has_slice(&self) -> bool {
        let slice = |part: &Placed| matches!(&part.at, At::Slice(_));
        self.parts.iter().any(slice)
    }

    /// Adds rows of an array of the same type. How many there are may grow without bound.
    pub(crate) fn append(&mut self, other: Rows) {
        debug_assert_eq!(self.ty, other.ty);
        let start = self.len();
        self.parts
            .extend(other.parts.into_iter().map(|part| Placed {
                end: start + part.end,
                ..part
            }));
    }

    /// Adds rows of an array of the same type, and sums equal ones when they get many, so that a
    /// gradient that is never cleared does not grow without bound.
    pub(crate) fn extend(&mut self, other: Rows) {
        self.append(other);
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
        let rows = self.ty.shape.get(1..).unwrap_or_default();
        let shape: Shape = [&[self.len()], rows].concat().into();
        let mut indices = vec_for(&shape[..1])?;
        for part in &self.parts {
            match &part.at {
                At::Index(at) => indices.extend_from_slice(at.as_slice()),
                At::Slice(region) => match region.rows() {
                    Some(rows) => indices.extend(rows),
                    None => indices.extend(0..region.count() as u32),
                },
            }
        }
        let values = with_real!(self.ty.dtype, T => {
            let mut all = vec_for::<T>(&shape)?;
            for part in &self.parts {
                let values = part.values.view().real::<T>();
                match &part.at {
                    At::Slice(region) if !region.is_whole() => {
                        let start = all.len();
                        all.resize(start + part.len() * self.width(), T::default());
                        region.add_within(values, &mut all[start..])?;
                    }
                    _ => all.extend_from_slice(values),
                }
            }
            Dense::from_vec(shape, all).into()
        });
        Ok((indices, values))
    }

    /// The same with indices and rows in one piece each, in the order they arose.
    ///
    /// # Errors
    /// As [`try_concat`](Self::try_concat).
    pub(crate) fn joined(&self) -> Result<Self> {
        let (indices, values) = self.try_concat()?;
        Ok(Rows::of(self.ty.clone(), At::Index(indices.into()), values))
    }

    /// Indices and rows, if they are in one piece each.
    pub(crate) fn in_one_piece(&self) -> Option<(&[u32], &Array)> {
        match &self.parts[..] {
            [
                Placed {
                    at: At::Index(indices),
                    values,
                    ..
                },
            ] => Some((indices.as_slice(), values)),
            _ => None,
        }
    }

    /// Indices and rows for writing, if they are so many, in one piece each, and nobody else has them.
    pub(crate) fn in_place(&mut self, count: usize) -> Option<(&mut [u32], SliceMut<'_>)> {
        match &mut self.parts[..] {
            [
                Placed {
                    at: At::Index(indices),
                    values,
                    end,
                },
            ] if *end == count => {
                let (_, indices) = indices.parts_mut()?;
                Some((indices, values.view_mut()?.data))
            }
            _ => None,
        }
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
            let rows = self.ty.shape.get(1..).unwrap_or_default();
            let shape: Shape = [&[i.len()], rows].concat().into();
            (i, Array::from(Dense::from_vec(shape, v)))
        });
        let indices = Dense::from_vec(Shape::from_slice(&[indices.len()]), indices);
        Ok(Rows::of(self.ty.clone(), At::Index(indices), values))
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

    /// Whether every number is finite.
    fn is_finite(&self) -> bool {
        self.parts.iter().all(|part| part.values.is_finite())
    }

    /// Adds the rows to an array of the same type, in place.
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
            for part in &self.parts {
                let values = part.values.view().real::<T>();
                let indices = match &part.at {
                    At::Slice(region) => {
                        region.add(values, out);
                        continue;
                    }
                    At::Index(indices) => indices.as_slice(),
                };
                for (&i, row) in indices.iter().zip(values.chunks_exact(width.max(1))) {
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
fn sum_by_index<T: Number>(indices: &[u32], rows: &[T], width: usize) -> (Vec<u32>, Vec<T>) {
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order::sort_by_key(&mut order, |&k| indices[k] as usize);
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
        if dtype == ty.dtype && equal_shapes(shape, &ty.shape) {
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

    /// How many numbers are held.
    pub(super) fn size(&self) -> usize {
        match self {
            Gradient::Dense(a) => a.size(),
            Gradient::Rows(r) => r.len().saturating_mul(r.width()),
        }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Gradient::Dense(a) => a.is_finite(),
            Gradient::Rows(r) => r.is_finite(),
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
    fn each<T: Number>(a: &mut [T], b: &[T]) {
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

#[cfg(test)]
mod tests;
