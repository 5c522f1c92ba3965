//! The pseudo-inverse of Moore and Penrose.
//!
//! The rule is Golub and Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear
//! least squares problems whose variables separate", <https://doi.org/10.1137/0710036>, equation
//! 4.12. It holds as long as the rank stays the same; where the rank can change the pseudo-inverse
//! jumps, and the derivative is that among matrices of the same rank.
//!
//! Limit: singular values that count as zero are taken for zero by the rule. Where they are not, as with a
//! `rcond` that cuts off a part of the matrix, the derivative is off by about their ratio to those kept.

use std::hash::{Hash, Hasher};

use crate::array::{Type, View, ViewMut};
use crate::error::Result;

use super::batch::{SHAPES, each_in_double, instead, sides};
use super::determinant::not_finite;
use super::{factor, gemm};
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, rows_and_columns};

/// Pseudo-inverses of matrices.
#[derive(Debug, Clone, Copy)]
pub struct Pinv {
    /// Singular values that are not above so much of the largest count as zero.
    pub rcond: f64,
}

impl PartialEq for Pinv {
    fn eq(&self, other: &Self) -> bool {
        self.rcond.to_bits() == other.rcond.to_bits()
    }
}

impl Eq for Pinv {}

impl Hash for Pinv {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rcond.to_bits().hash(state);
    }
}

impl Pinv {
    /// Writes the pseudo-inverse of one matrix.
    fn invert(&self, x: &[f64], m: usize, n: usize, out: &mut [f64]) -> Result<()> {
        let mut svd = factor::svd(x, m, n)?.ok_or_else(|| not_finite("pinv"))?;
        let first = svd.values.first().copied().unwrap_or_default();
        let least = self.rcond * first;
        let kept = svd.values.iter().take_while(|s| **s > least).count();
        // V S⁻¹ Uᵀ, of those that are kept.
        for (u, &s) in svd.left.chunks_exact_mut(m.max(1)).zip(&svd.values[..kept]) {
            u.iter_mut().for_each(|u| *u /= s);
        }
        let (u, v) = (&svd.left[..kept * m], &svd.right[..kept * n]);
        gemm::product([n, kept, m], (v, true), (u, false), out)
    }
}

impl Operator for Pinv {
    fn name(&self) -> &str {
        "pinv"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("pinv", args)?;
        let [m, n] = sides("pinv", x)?;
        instead(x, &[n, m])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [m, n] = rows_and_columns(args[0].shape);
        each_in_double(args, &mut out, 2, &mut |x, out| {
            self.invert(x[0], m, n, out)
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, p: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let a = x[0];
        let plain = |x: Ex<'t>, y: Ex<'t>| x.matmul(y, false, false);
        let through = plain(p.matmul(g, true, false), p.matrix_transpose());
        // Gᵀ P Pᵀ outside of the range of A, Pᵀ P Gᵀ outside of that of Aᵀ: what is outside is found first, since
        // the product with another P would vanish or overflow.
        let g = g.matrix_transpose();
        let above = plain(g - plain(plain(a, p), g), p).matmul(p, false, true);
        let beside = plain(p.matmul(p, true, false), g - plain(plain(g, p), a));
        Some(above + beside - through)
    }
}

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "pinv",
    formula: "x⁺",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let op = Pinv { rcond: 1e-15 };
        let case = |x| Case::new(OpRef::new(op), vec![Argument::dominant(x)]);
        SHAPES.map(case).into()
    },
}];
