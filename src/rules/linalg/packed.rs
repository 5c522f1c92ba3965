//! Two results of an operator as one array, one below the other, and taken apart.
//!
//! An operator has one result; a decomposition gives two or three. Those of all matrices lie in
//! one array, where the shape of another operand says how many rows belong to the first.

use crate::array::{Type, Typed, View, ViewMut, element_count, show_shape, with_real};
use crate::error::{Error, Result};
use crate::rules::{
    Argument, Case, Entry, Ex, OpRef, Operator, arity, linear, same_dtype, same_shape,
};

use super::batch::{instead, sides};

/// The rows of the matrices of operand 0 down to where those of operand 1 would end, or those
/// from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackedRows {
    /// Whether it is the rows from there on.
    pub rest: bool,
}

/// Zeros shaped as operand 1, with operand 0 in the place of its [`PackedRows`] by operand 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackedRowsAdjoint {
    /// As in [`PackedRows`].
    pub rest: bool,
}

/// The part of each matrix: where it starts, and how many elements it has.
fn part(whole: &[usize], like: &[usize], rest: bool) -> (usize, usize) {
    let ([.., rows, columns], [.., first, _]) = (whole, like) else {
        return (0, 0);
    };
    match rest {
        true => (first * columns, (rows - first) * columns),
        false => (0, first * columns),
    }
}

/// The type of the rows of `whole`.
fn rows_of(name: &str, whole: &Type, like: &Type, rest: bool) -> Result<Type> {
    let ([rows, columns], [first, _]) = (sides(name, whole)?, sides(name, like)?);
    if first > rows {
        return Err(Error::Shape(format!(
            "{name}: shape {} has not the rows of shape {}",
            show_shape(&whole.shape),
            show_shape(&like.shape)
        )));
    }
    element_count(&like.shape)?;
    element_count(&whole.shape)?;
    instead(whole, &[if rest { rows - first } else { first }, columns])
}

impl Operator for PackedRows {
    linear!(
        "packed_rows",
        |op, g, x| g.with_new(PackedRowsAdjoint { rest: op.rest }, x),
        reads 1
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, like] = arity::<2>("packed_rows", args)?;
        rows_of("packed_rows", x, like, self.rest)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (start, n) = part(args[0].shape, args[1].shape, self.rest);
        let area: usize = args[0].shape.iter().rev().take(2).product();
        if n == 0 {
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (x, out) in x.chunks_exact(area).zip(out.chunks_exact_mut(n)) {
                out.copy_from_slice(&x[start..start + n]);
            }
        });
        Ok(())
    }
}

impl Operator for PackedRowsAdjoint {
    linear!(
        "packed_rows_adjoint",
        |op, g, x| g.with_new(PackedRows { rest: op.rest }, &[x[2]]),
        reads 1
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, whole, like] = arity::<3>("packed_rows_adjoint", args)?;
        same_dtype("packed_rows_adjoint", g, whole)?;
        let rows = rows_of("packed_rows_adjoint", whole, like, self.rest)?;
        same_shape("packed_rows_adjoint", &rows.shape, &g.shape)?;
        Ok(whole.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (start, n) = part(out.shape, args[2].shape, self.rest);
        let area: usize = out.shape.iter().rev().take(2).product();
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            out.fill(T::default());
            if n > 0 {
                for (g, out) in g.chunks_exact(n).zip(out.chunks_exact_mut(area)) {
                    out[start..start + n].copy_from_slice(g);
                }
            }
        });
        Ok(())
    }
}

impl<'t> Ex<'t> {
    /// The parts of a packed result: the rows down to as many as `like` has, and the others.
    pub(super) fn halves(self, like: Ex<'t>) -> [Ex<'t>; 2] {
        [false, true].map(|rest| self.with_new(PackedRows { rest }, &[like]))
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Matrices, by which they are parted, and the shapes of the parts.
type Parted = [&'static [usize]; 4];
const PARTED: [Parted; 4] = [
    [&[5, 2], &[3, 4], &[3, 2], &[2, 2]],
    [&[2, 3, 2], &[2, 1, 1], &[2, 1, 2], &[2, 2, 2]],
    [&[2, 3], &[2, 2], &[2, 3], &[0, 3]],
    [&[2, 0], &[1, 2], &[1, 0], &[1, 0]],
];

fn parted(case: impl Fn(bool, Parted) -> Case) -> Vec<Case> {
    let both = |shapes| [case(false, shapes), case(true, shapes)];
    PARTED.into_iter().flat_map(both).collect()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "packed_rows",
        formula: "the first rows of x, or the others",
        source: "definition",
        reference: None,
        internal: Some("takes apart what a decomposition gives as one array"),
        cases: || {
            parted(|rest, [whole, like, ..]| {
                let args = vec![Argument::real(whole, ANY), Argument::shape_only(like)];
                Case::new(OpRef::new(PackedRows { rest }), args)
            })
        },
    },
    Entry {
        name: "packed_rows_adjoint",
        formula: "zeros with g in the first rows, or the others",
        source: "definition",
        reference: None,
        internal: Some("the gradient of rows"),
        cases: || {
            parted(|rest, shapes| {
                let [whole, like, first, others] = shapes;
                let g = if rest { others } else { first };
                let args = vec![
                    Argument::real(g, ANY),
                    Argument::shape_only(whole),
                    Argument::shape_only(like),
                ];
                Case::new(OpRef::new(PackedRowsAdjoint { rest }), args)
            })
        },
    },
];
