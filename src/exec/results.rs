//! Copies of what a run has computed, which outlast the next run.
//!
//! A gradient is written in the memory of one that was forgotten, if it fits there: that of another run of the same
//! plan does, unless somebody kept it.

use super::executor::Executor;
use super::plan::{Place, Sink};
use crate::array::{
    Array, Dense, Number, Shape, Shared, Slice, Type, Typed, View, equal_shapes, filled, size,
    with_real,
};
use crate::error::Result;
use crate::optim::gradient::{GradientRows, Term};
use crate::rules::check_indices;
use crate::table::{Gradient, Rows};

impl Executor {
    fn view<'a>(&'a self, place: &'a Place) -> View<'a> {
        View {
            shape: &place.ty.shape,
            data: self.read(place),
        }
    }

    /// A copy of a value.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if there is not the memory.
    pub(crate) fn copy(&self, place: &Place) -> Result<Array> {
        let view = self.view(place);
        match view.data {
            // A single number is written where the result goes.
            Slice::F32(&[x]) if view.shape.is_empty() => Ok(Array::from(x)),
            Slice::F64(&[x]) if view.shape.is_empty() => Ok(Array::from(x)),
            _ => Array::copy_of(view),
        }
    }

    /// A copy of the result.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if there is not the memory.
    #[inline(always)]
    pub(crate) fn value(&self) -> Result<Array> {
        self.copy(&self.plan().result)
    }

    /// A copy of gradient number `k`; `None` if it is zero.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if there is not the memory.
    #[inline(always)]
    pub(crate) fn gradient(&self, k: usize) -> Result<Option<Gradient>> {
        Ok(match &self.plan().sinks[k] {
            None => None,
            Some(Sink::Dense(place)) => Some(Gradient::Dense(self.copy(place)?)),
            Some(Sink::Rows(_)) => Some(Gradient::Rows(self.copy_rows(k)?)),
        })
    }

    /// Writes the result over another value, in its memory if it fits there and nobody else has that.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub(crate) fn value_into(&self, old: &mut Array) -> Result<()> {
        old.assign(self.view(&self.plan().result))
    }

    /// Writes gradient number `k` over another, in its memory if it fits there and nobody else has that.
    ///
    /// # Errors
    /// As [`gradient`](Self::gradient).
    pub(crate) fn gradient_into(&self, k: usize, old: &mut Option<Gradient>) -> Result<()> {
        let is_written = match old {
            Some(old) => self.overwrite(k, old)?,
            None => false,
        };
        if !is_written {
            *old = self.gradient(k)?;
        }
        Ok(())
    }

    /// As [`gradient`](Self::gradient), in the memory of `spare` if it fits there and nobody else has it.
    ///
    /// # Errors
    /// As [`gradient`](Self::gradient).
    pub(crate) fn gradient_in(
        &self,
        k: usize,
        spare: Option<Shared<Gradient>>,
    ) -> Result<Option<Shared<Gradient>>> {
        if let Some(mut spare) = spare
            && let Some(old) = spare.get_mut()
            && self.overwrite(k, old)?
        {
            return Ok(Some(spare));
        }
        Ok(self.gradient(k)?.map(Shared::new))
    }

    /// Writes gradient number `k` over another; whether it fits there and nobody else has that.
    fn overwrite(&self, k: usize, old: &mut Gradient) -> Result<bool> {
        match (&self.plan().sinks[k], old) {
            (Some(Sink::Dense(place)), Gradient::Dense(old)) => {
                let fits = equal_shapes(old.shape(), &place.ty.shape);
                Ok(fits && old.overwrite(self.read(place)))
            }
            (Some(Sink::Rows(_)), Gradient::Rows(old)) => {
                // Rows of another type say of which array they are, whatever is written over them.
                let of = self.type_of(k);
                if old.ty() != of {
                    return Ok(false);
                }
                let Some((indices, mut values)) = old.in_place(self.row_count(k)) else {
                    return Ok(false);
                };
                with_real!(of.dtype, T => {
                    write_rows(&self.rows(k), indices, T::slice_mut(&mut values));
                });
                check_indices(|| "rows".into(), indices, of.shape[0])?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The type of the leaf that gradient number `k` is of.
    fn type_of(&self, k: usize) -> &Type {
        let plan = self.plan();
        &plan.leaves()[plan.gradients[k]]
    }

    /// A copy of gradient number `k`, which is rows.
    fn copy_rows(&self, k: usize) -> Result<Rows> {
        let (ty, count) = (self.type_of(k), self.row_count(k));
        let mut shape = Shape::from_slice(&[count]);
        shape.extend_from_slice(&ty.shape[1..]);
        let (indices, values): (Dense<u32>, Array) = with_real!(ty.dtype, T => {
            let mut indices = filled(count, 0)?;
            let mut values = filled(size(&shape), T::default())?;
            write_rows(&self.rows(k), &mut indices, &mut values);
            (indices.into(), Dense::from_vec(shape, values).into())
        });
        Rows::new(ty.clone(), indices, values)
    }
}

/// Writes rows, each the sum of its terms, and their indices.
fn write_rows<T: Number>(
    rows: &dyn GradientRows<T>,
    mut indices: &mut [u32],
    mut values: &mut [T],
) {
    let width = values.len().checked_div(indices.len()).unwrap_or(0);
    for part in 0..rows.count() {
        let at = rows.indices(part);
        let (own, others) = indices.split_at_mut(at.len());
        own.copy_from_slice(at);
        indices = others;
        let (own, others) = values.split_at_mut(at.len() * width);
        values = others;
        if rows.terms(part) == 0 {
            own.fill(T::zero());
        }
        for number in 0..rows.terms(part) {
            let Term {
                scale,
                rows: numbers,
                ..
            } = rows.term(part, number);
            if number == 0 && scale.is_none() {
                own.copy_from_slice(numbers);
                continue;
            }
            let of = numbers.chunks_exact(width.max(1));
            for (k, (to, row)) in own.chunks_exact_mut(width.max(1)).zip(of).enumerate() {
                let scale = scale.map_or(T::one(), |scale| scale[k]);
                let scaled = to.iter_mut().zip(row);
                match number {
                    0 => scaled.for_each(|(to, &x)| *to = scale * x),
                    _ => scaled.for_each(|(to, &x)| *to += scale * x),
                }
            }
        }
    }
}
