//! Determinants, and what their derivatives are made of.
//!
//! The gradient of det A is the matrix of cofactors, which exists and is finite for singular
//! matrices too; it is computed from the singular values, A = U S Vᵀ, as
//! det U · det V · U cof(S) Vᵀ, where cof(S)ᵢᵢ is the product of the others. The derivative of
//! the cofactors is found in the same way, from the products without two of the values
//! ([`CofactorSlope`]). Only the third derivative of a determinant needs the inverse, and is
//! refused where there is none. Of NaN and infinite elements all of them are NaN. Products of pivots
//! and of singular values are computed in double precision, since they easily overflow.

use crate::array::{Real, Type, View, ViewMut, filled, with_real};
use crate::error::{Error, Result};

use super::batch::{each, each_in_double, instead, square};
use super::factor::{self, Singular};
use super::gemm;
use super::lu::Lu;
use crate::rules::{
    Argument, Case, Entry, Ex, Inverse, Key, OpRef, Operator, Purpose, arity, rows_and_columns,
    same_dtype, same_shape,
};

/// One number for each matrix, as factors of all its elements.
fn each_element<'t>(g: Ex<'t>, x: Ex<'t>) -> Ex<'t> {
    let n = x.ndim();
    g.expand_dims(&[n - 2, n - 1])
}

/// The sums of products of the elements of matrices, as factors of all elements.
fn inner<'t>(x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    let n = x.ndim();
    (x * y).sum([n - 2, n - 1][..].into(), true)
}

macro_rules! number {
    ($(#[$doc:meta])* $op:ident = $name:literal, $of:ident, $vjp:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $op;

        impl Operator for $op {
            fn name(&self) -> &str {
                $name
            }

            fn key(&self) -> Option<&dyn Key> {
                Some(self)
            }

            fn infer(&self, args: &[&Type]) -> Result<Type> {
                let [x] = arity::<1>($name, args)?;
                square($name, x)?;
                instead(x, &[])
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                let [_, n] = rows_and_columns(args[0].shape);
                with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 0, |x, out| {
                    out[0] = T::of(Lu::new(x[0], n, false)?.$of());
                    Ok(())
                }))
            }

            fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
                let vjp: fn(Ex<'t>, Ex<'t>) -> Option<Ex<'t>> = $vjp;
                vjp(g, x[0])
            }
        }
    };
}

number!(
    /// Determinants.
    Det = "det",
    determinant,
    |g, x| Some(each_element(g, x) * x.with(&Cofactor, &[]))
);
number!(
    /// Natural logarithms of the absolute values of determinants.
    LogAbsDet = "log_abs_det",
    log_abs_determinant,
    |g, x| {
        let purpose = Purpose::LogDeterminant;
        let inverse = x.with_new(Inverse { purpose }, &[]);
        Some(each_element(g, x) * inverse.matrix_transpose())
    }
);
number!(
    /// Signs of determinants, 0 of singular matrices.
    DetSign = "det_sign",
    determinant_sign,
    |_, _| None
);

/// The products of all `values` but one each; and of all but `without`.
fn products_of_others(values: &[f64], without: Option<usize>) -> Vec<f64> {
    let value = |i: usize| if Some(i) == without { 1.0 } else { values[i] };
    let mut out = vec![1.0; values.len()];
    let (mut before, mut after) = (1.0, 1.0);
    for (i, o) in out.iter_mut().enumerate() {
        *o *= before;
        before *= value(i);
    }
    for (i, o) in out.iter_mut().enumerate().rev() {
        *o *= after;
        after *= value(i);
    }
    out
}

/// det U · det V, which is 1 or -1, of the singular vectors of a matrix.
fn orientation(x: &Singular<f64>, n: usize) -> Result<f64> {
    let sign = |x| Ok(Lu::new(x, n, false)?.determinant_sign());
    Ok(sign(&x.left)? * sign(&x.right)?)
}

/// What is raised where a matrix has no decomposition.
pub(super) fn not_finite(name: &str) -> Error {
    Error::LinAlg(format!("{name}: the matrix has NaN or infinite elements"))
}

/// Writes det U · det V · U K Vᵀ for matrices U S Vᵀ, operand 0. `f` is given the decomposition,
/// the number of rows, the operands and zeros to write K on. Where there is no decomposition the
/// result is NaN.
fn from_singular_values(
    args: &[View<'_>],
    out: &mut ViewMut<'_>,
    f: impl Fn(&Singular<f64>, usize, &[&[f64]], &mut [f64]) -> Result<()>,
) -> Result<()> {
    let [_, n] = rows_and_columns(out.shape);
    each_in_double(args, out, 2, &mut |x, out| {
        let Some(svd) = factor::svd(x[0], n, n)? else {
            out.fill(f64::NAN);
            return Ok(());
        };
        let mut k = filled(n * n, 0.0)?;
        f(&svd, n, x, &mut k)?;
        let sign = orientation(&svd, n)?;
        k.iter_mut().for_each(|k| *k *= sign);
        // The vectors are rows, so that U is the transpose of the left ones.
        let mut half = filled(n * n, 0.0)?;
        gemm::product([n; 3], (&svd.left, true), (&k, false), &mut half)?;
        gemm::product([n; 3], (&half, false), (&svd.right, false), out)
    })
}

/// The cofactors of matrices: det(x) x⁻ᵀ where there is an inverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cofactor;

impl Operator for Cofactor {
    fn name(&self) -> &str {
        "cofactor"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cofactor", args)?;
        let n = square("cofactor", x)?;
        instead(x, &[n, n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        from_singular_values(args, &mut out, |svd, n, _, k| {
            let others = products_of_others(&svd.values, None);
            for (i, p) in others.into_iter().enumerate() {
                k[i * n + i] = p;
            }
            Ok(())
        })
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0].with(&CofactorSlope, &[g]))
    }
}

/// The derivative of the [`Cofactor`]s of operand 0 in the direction of operand 1. As the second
/// derivative of the determinant it is symmetric, and so its own transpose.
///
/// In the basis of the singular vectors, with pᵢⱼ the product of the singular values without two:
/// Kᵢᵢ = Σ pᵢⱼ Gⱼⱼ, and Kᵢⱼ = -pᵢⱼ Gⱼᵢ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CofactorSlope;

impl Operator for CofactorSlope {
    fn name(&self) -> &str {
        "cofactor_slope"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, g] = arity::<2>("cofactor_slope", args)?;
        same_dtype("cofactor_slope", x, g)?;
        let n = square("cofactor_slope", x)?;
        // Shapes may be guesses; the rule counts axes from the end, which the direction has to have.
        square("cofactor_slope", g)?;
        same_shape("cofactor_slope", &x.shape, &g.shape)?;
        instead(x, &[n, n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        from_singular_values(args, &mut out, |svd, n, x, k| {
            let (mut half, mut g) = (filled(n * n, 0.0)?, filled(n * n, 0.0)?);
            gemm::product([n; 3], (&svd.left, false), (x[1], false), &mut half)?;
            gemm::product([n; 3], (&half, false), (&svd.right, true), &mut g)?;
            for i in 0..n {
                let others = products_of_others(&svd.values, Some(i));
                for j in (0..n).filter(|&j| j != i) {
                    k[i * n + i] += others[j] * g[j * n + j];
                    k[i * n + j] = -others[j] * g[j * n + i];
                }
            }
            Ok(())
        })
    }

    fn vjp<'t>(&self, i: usize, e: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if i == 1 {
            return Some(x[0].with(&CofactorSlope, &[e]));
        }
        // The gradient of ⟨G, C⟩ W - C Gᵀ W, where C are the cofactors of A and W is A⁻ᵀ.
        let g = x[1];
        let c = x[0].with(&Cofactor, &[]);
        let purpose = Purpose::Derivative;
        let w = x[0].with_new(Inverse { purpose }, &[]).matrix_transpose();
        let by_c = g * inner(e, w) - e.matmul(w, false, true).matmul(g, false, false);
        let by_w = e * inner(g, c) - g.matmul(c, false, true).matmul(e, false, false);
        let through_w = w.matmul(by_w, false, true).matmul(w, false, false);
        Some(x[0].with(&CofactorSlope, &[by_c]) - through_w)
    }
}

fn cases(op: &'static dyn Operator) -> Vec<Case> {
    let shapes: [&[usize]; 5] = [&[3, 3], &[2, 2, 2], &[1, 1], &[0, 0], &[0, 2, 2]];
    let case = |x| Case::new(OpRef::Static(op), vec![Argument::dominant(x)]);
    shapes.map(case).into()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "det",
        formula: "det x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(&Det),
    },
    Entry {
        name: "log_abs_det",
        formula: "ln |det x|",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(&LogAbsDet),
    },
    Entry {
        name: "det_sign",
        formula: "sign det x",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(&DetSign),
    },
    Entry {
        name: "cofactor",
        formula: "(-1)^(i+j) det x without row i and column j",
        source: "definition",
        reference: None,
        internal: Some("the gradient of det, also where there is no inverse"),
        cases: || cases(&Cofactor),
    },
    Entry {
        name: "cofactor_slope",
        formula: "Σ_kl g_kl ∂ cofactor(x)_kl / ∂ x_ij",
        source: "definition",
        reference: None,
        internal: Some("the gradient of cofactor"),
        cases: || {
            let shapes: [&[usize]; 3] = [&[3, 3], &[2, 2, 2], &[1, 1]];
            let case = |x| {
                let args = vec![Argument::dominant(x), Argument::real(x, &[(-1.0, 1.0)])];
                Case::new(OpRef::Static(&CofactorSlope), args)
            };
            shapes.map(case).into()
        },
    },
];
