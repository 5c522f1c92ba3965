//! Assignment of a row by an index that is known only at run time.
//!
//! A program that fills an array element by element assigns to one array after the other, each of
//! which differs from the last in a row. Where the old array is not
//! needed any more, the new one gets its memory ([`Operator::update`]), so that an assignment costs what it
//! writes.

use super::lookup::{check_indices, follow, index};
use crate::array::{Shape, SliceMut, Type, Typed, View, ViewMut, size, with_real};
use crate::error::{Error, Result};
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, real, same_shape};

/// Operand 0 with the row (along its first axis) at the index of operand 2, one number, replaced by
/// operand 1; or with the rows at the indices of operand 2, an array of one axis that ascends, replaced by
/// those of operand 1. The rows may hold indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplaceRow;

/// Copies elements of one type.
fn copy(from: View<'_>, to: &mut SliceMut<'_>) {
    if let SliceMut::U32(to) = to {
        to.copy_from_slice(from.indices());
        return;
    }
    with_real!(to.dtype(), T => T::slice_mut(to).copy_from_slice(from.real::<T>()));
}

/// Writes `values` over the rows.
fn write(values: View<'_>, at: View<'_>, out: ViewMut<'_>) -> Result<()> {
    let indices = at.indices();
    check_indices(|| "replace_row".into(), indices, out.shape[0])?;
    if let Some(k) = indices.windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(Error::Index(format!(
            "replace_row: expected indices that ascend, got {} after {} at position {k}",
            indices[k + 1],
            indices[k]
        )));
    }
    let (width, mut data) = (size(&out.shape[1..]), out.data);
    // Rows that follow one another are one run.
    let run = if follow(indices) { indices.len() } else { 1 };
    for (k, run) in indices.chunks(run.max(1)).enumerate() {
        let count = run.len() * width;
        let rows = View::new(values.shape, values.data.part(k * count, count));
        copy(rows, &mut data.part(run[0] as usize * width, count));
    }
    Ok(())
}

impl Operator for ReplaceRow {
    fn name(&self) -> &str {
        "replace_row"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, values, at] = arity::<3>("replace_row", args)?;
        index("replace_row", at)?;
        if at.ndim() > 1 {
            return Err(Error::Shape(format!(
                "replace_row: expected one index, or an array of one axis of them, got {at}"
            )));
        }
        let Some((_, row)) = x.shape.split_first() else {
            return Err(Error::Shape(
                "replace_row: a single number has no rows to replace".into(),
            ));
        };
        if x.dtype != values.dtype {
            real("replace_row", x)?;
            crate::rules::same_dtype("replace_row", x, values)?;
        }
        let expected: Shape = at.shape.iter().chain(row).copied().collect();
        same_shape("replace_row: values", &expected, &values.shape)?;
        Ok((*x).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        copy(args[0], &mut out.data);
        write(args[1], args[2], out)
    }

    fn update(&self, others: &[View<'_>], out: ViewMut<'_>) -> Option<Result<()>> {
        Some(write(others[0], others[1], out))
    }

    // The gradient is replaced by zeros, not multiplied with them: what was overwritten may be NaN. They
    // have the lengths of the gradient's own row, so that the new one is not kept for its lengths.
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        match i {
            0 => {
                let like = match x[1].ndim() {
                    0 => x[1],
                    _ => g.gather(x[2]),
                };
                Some(g.with(&ReplaceRow, &[like.zeros_like(), x[2]]))
            }
            1 => Some(g.gather(x[2])),
            _ => None,
        }
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 2).then(|| args[0].shape.first().copied())?
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "replace_row",
    formula: "x with x[i] = values",
    source: "definition",
    reference: None,
    internal: Some("assignments in functions that are read"),
    cases: || {
        let case = |(shape, at): (&[usize], &[usize])| {
            let rows: Shape = at.iter().chain(&shape[1..]).copied().collect();
            let args = vec![
                Argument::real(shape, ANY),
                Argument::real(&rows, ANY),
                Argument::index(at, shape[0]),
            ];
            Case::new(OpRef::Static(&ReplaceRow), args)
        };
        // Any one index ascends.
        let cases: [(&[usize], &[usize]); 7] = [
            (&[5], &[]),
            (&[4, 3], &[]),
            (&[3, 2, 2], &[]),
            (&[1, 0], &[]),
            (&[5], &[1]),
            (&[4, 3], &[1]),
            (&[4, 3], &[0]),
        ];
        cases.map(case).into()
    },
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, Dense, View};

    fn replaced(indices: &[u32]) -> Result<Vec<f64>> {
        let (shape, rows) = ([4, 2], [indices.len(), 2]);
        let x = Dense::new(&shape, (0..8).map(f64::from).collect())?;
        let values = (0..indices.len() * 2).map(|k| -1.0 - k as f64).collect();
        let values = Dense::new(&rows, values)?;
        let at = Array::from(Dense::from(indices.to_vec()));
        let (x, values) = (Array::from(x), Array::from(values));
        let args: [View<'_>; 3] = [x.view(), values.view(), at.view()];
        let mut out = vec![0.0; 8];
        let data = SliceMut::F64(&mut out);
        ReplaceRow.eval(
            &args,
            ViewMut {
                shape: &shape,
                data,
            },
        )?;
        Ok(out)
    }

    #[test]
    fn rows_are_replaced_whether_they_follow_one_another_or_not() {
        let run = [0.0, 1.0, -1.0, -2.0, -3.0, -4.0, 6.0, 7.0];
        assert_eq!(replaced(&[1, 2]).unwrap(), run);
        let apart = [-1.0, -2.0, 2.0, 3.0, -3.0, -4.0, 6.0, 7.0];
        assert_eq!(replaced(&[0, 2]).unwrap(), apart);
        assert_eq!(replaced(&[]).unwrap()[..3], [0.0, 1.0, 2.0]);
    }

    #[test]
    fn indices_that_do_not_ascend_are_refused() {
        for indices in [[1, 1], [2, 0]] {
            let error = replaced(&indices).unwrap_err().to_string();
            assert!(error.contains("expected indices that ascend"), "{error}");
        }
        assert!(replaced(&[3, 4]).is_err());
    }
}
