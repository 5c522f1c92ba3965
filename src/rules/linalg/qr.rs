//! The QR decomposition of matrices that are not wide.
//!
//! An operator has one result, so Q and R are one array, one below the other;
//! [`PackedRows`](super::PackedRows) takes it apart. The rule is Walter and Lehmann 2010,
//! "Algorithmic differentiation of linear algebra functions", <https://arxiv.org/abs/1001.1654>,
//! section 4.3. It needs R⁻¹, and is refused for matrices whose columns depend on each other, where
//! there is no derivative.

use crate::array::{Type, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};

use super::batch::{each, instead, sides};
use super::factor;
use crate::rules::{
    Argument, Case, Entry, Ex, Inverse, OpRef, Operator, Purpose, Tril, Triu, arity,
    rows_and_columns,
};

/// Q and below it R, of m × n matrices with m >= n: (m + n) × n, with LAPACK's signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Qr;

impl Operator for Qr {
    fn name(&self) -> &str {
        "qr"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("qr", args)?;
        let [m, n] = sides("qr", x)?;
        if m < n {
            return Err(Error::Shape(format!(
                "qr: expected at least as many rows as columns, got shape {}",
                show_shape(&x.shape)
            )));
        }
        instead(x, &[m.saturating_add(n), n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [m, n] = rows_and_columns(args[0].shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            let (q, r) = out.split_at_mut(m * n);
            factor::qr(x[0], m, n, q, r)
        }))
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let ([q, r], [by_q, by_r]) = (y.halves(x[0]), g.halves(x[0]));
        let by_r = by_r.with_new(Triu { k: 0 }, &[]);
        let m = r.matmul(by_r, false, true) - by_q.matmul(q, true, false);
        let below = m.with_new(Tril { k: -1 }, &[]);
        let symmetric = m.with_new(Tril { k: 0 }, &[]) + below.matrix_transpose();
        let purpose = Purpose::Derivative;
        let inverse = r.with_new(Inverse { purpose }, &[]);
        let by_x = by_q + q.matmul(symmetric, false, false);
        Some(by_x.matmul(inverse, false, true))
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "qr",
    formula: "Q and R, with Q R = x, Qᵀ Q = 1, R upper triangular",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let shapes: [&[usize]; 6] = [&[3, 3], &[4, 2], &[2, 3, 2], &[1, 1], &[0, 0], &[2, 0]];
        let case = |x| Case::new(OpRef::Static(&Qr), vec![Argument::dominant(x)]);
        shapes.map(case).into()
    },
}];
