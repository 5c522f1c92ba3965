//! The Cholesky decomposition.
//!
//! As NumPy's it reads the lower triangle. Its gradient is that of what is read, and so zero
//! above the diagonal; it has the sum of both triangles of the symmetric gradient, of Murray
//! 2016, "Differentiation of the Cholesky decomposition", <https://arxiv.org/abs/1602.07527>,
//! equation 10. For a matrix that is symmetric by how it was computed it makes no difference.

use crate::array::{Type, View, ViewMut, with_real};
use crate::error::{Error, Result};

use super::batch::{each, instead, square};
use super::factor;
use crate::rules::{
    Argument, Case, Entry, Ex, OpRef, Operator, Solve, Tril, arity, rows_and_columns,
};

/// The lower triangular L of x = L Lᵀ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cholesky;

/// The gradient of the lower triangle, from that of a symmetric matrix.
pub(super) fn lower_triangle(symmetric: Ex<'_>) -> Ex<'_> {
    symmetric.with_new(Tril { k: 0 }, &[]) + symmetric.with_new(Tril { k: -1 }, &[])
}

impl Operator for Cholesky {
    fn name(&self) -> &str {
        "cholesky"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cholesky", args)?;
        let n = square("cholesky", x)?;
        instead(x, &[n, n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [_, n] = rows_and_columns(out.shape);
        let none = || Error::LinAlg("cholesky: the matrix is not positive definite".into());
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            factor::cholesky(x[0], n, out)?.then_some(()).ok_or_else(none)
        }))
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let back = |x: Ex<'t>| y.with_new(Solve { transpose: true }, &[x]);
        let p = y.matmul(g, true, false);
        let p = lower_triangle(p) * 0.5;
        let half = back(back(p).matrix_transpose());
        Some(lower_triangle((half + half.matrix_transpose()) * 0.5))
    }
}

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "cholesky",
    formula: "L with L Lᵀ = x",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let shapes: [&[usize]; 5] = [&[3, 3], &[2, 2, 2], &[1, 1], &[0, 0], &[0, 2, 2]];
        let case = |x| Case::new(OpRef::Static(&Cholesky), vec![Argument::dominant(x)]);
        shapes.map(case).into()
    },
}];
