//! Linear systems and inverses, by the LU decomposition.
//!
//! The rules are Giles 2008, "Collected matrix derivative results for forward and reverse mode
//! algorithmic differentiation", section 2.2: for Y = A⁻¹B the gradient of B is A⁻ᵀG, and that
//! of A is minus the product of it with Yᵀ.

use crate::array::{Real, Type, View, ViewMut, element_count, show_shape, with_real};
use crate::error::{Error, Result};

use super::batch::{each, instead, joint, sides, square};
use super::dense::largest;
use super::lu::Lu;
use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, arity, rows_and_columns, same_dtype,
};

fn singular(name: &str) -> Error {
    Error::LinAlg(format!("{name}: the matrix is singular"))
}

/// The solution of A X = B for matrices; leading axes broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Solve {
    /// Use the transpose of A.
    pub transpose: bool,
}

impl Operator for Solve {
    fn name(&self) -> &str {
        "solve"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [a, b] = arity::<2>("solve", args)?;
        same_dtype("solve", a, b)?;
        let (n, [rows, columns]) = (square("solve", a)?, sides("solve", b)?);
        if n != rows {
            return Err(Error::Shape(format!(
                "solve: shapes {} and {} do not fit",
                show_shape(&a.shape),
                show_shape(&b.shape)
            )));
        }
        let mut shape = joint("solve", &[a, b])?;
        shape.extend([n, columns]);
        element_count(&shape)?;
        Ok(Type::new(a.dtype, &shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [n, columns] = rows_and_columns(out.shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            let lu = Lu::new(x[0], n, self.transpose)?;
            if lu.singular() {
                return Err(singular("solve"));
            }
            lu.solve(x[1], columns, out)
        }))
    }

    fn transposes(&self, i: usize) -> bool {
        i == 0 && self.transpose
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let back = Solve {
            transpose: !self.transpose,
        };
        let b = x[0].with_new(back, &[g]);
        let gradient = match (i, self.transpose) {
            (1, _) => b,
            (_, false) => -b.matmul(y, false, true),
            (_, true) => -y.matmul(b, false, true),
        };
        Some(gradient.sum_to(x[i]))
    }
}

/// What an inverse is for, which says what of a singular matrix is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It is what was asked for.
    Itself,
    /// The gradient of the logarithm of a determinant.
    LogDeterminant,
    /// Some other derivative, where the inverse is no longer what one looks at: a matrix is
    /// refused that is singular to the precision of its element type, and not only one with a
    /// pivot of zero.
    Derivative,
}

/// The inverse of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inverse {
    /// What it is for.
    pub purpose: Purpose,
}

impl Inverse {
    /// Writes the inverse of one matrix.
    fn invert<T: Real>(&self, x: &[T], n: usize, out: &mut [T]) -> Result<()> {
        let lu = Lu::new(x, n, false)?;
        if !lu.singular() {
            lu.inverse(out)?;
            let condition = Real::to(largest(x)) * Real::to(largest(out));
            let most = Real::to(<T as num_traits::Float>::epsilon()).recip();
            if !(condition > most && self.purpose == Purpose::Derivative) {
                return Ok(());
            }
        }
        let none = "there is no derivative: the matrix is singular";
        Err(match self.purpose {
            Purpose::Itself => singular("inverse"),
            Purpose::LogDeterminant => Error::LinAlg(format!("slogdet: {none}")),
            Purpose::Derivative => Error::LinAlg(format!("{none}, or as good as")),
        })
    }
}

impl Operator for Inverse {
    fn name(&self) -> &str {
        "inverse"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("inverse", args)?;
        let n = square("inverse", x)?;
        instead(x, &[n, n])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [_, n] = rows_and_columns(out.shape);
        with_real!(out.data.dtype(), T => each::<T>(args, &mut out, 2, |x, out| {
            self.invert(x[0], n, out)
        }))
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(-y.matmul(g, true, false).matmul(y, false, true))
    }
}

const ANY: &[(f64, f64)] = &[(-1.0, 1.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "solve",
        formula: "x⁻¹ y",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [(&[usize], &[usize]); 6] = [
                (&[3, 3], &[3, 2]),
                (&[2, 3, 3], &[3, 1]),
                (&[2, 2], &[3, 2, 2]),
                (&[2, 1, 2, 2], &[3, 2, 1]),
                (&[0, 0], &[0, 2]),
                (&[0, 2, 2], &[2, 3]),
            ];
            let case = |(a, b)| {
                [false, true].map(|transpose| {
                    let args = vec![Argument::dominant(a), Argument::real(b, ANY)];
                    Case::new(OpRef::new(Solve { transpose }), args)
                })
            };
            shapes.into_iter().flat_map(case).collect()
        },
    },
    Entry {
        name: "inverse",
        formula: "x⁻¹",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [(Purpose, &[usize]); 4] = [
                (Purpose::Itself, &[3, 3]),
                (Purpose::Derivative, &[2, 2, 2]),
                (Purpose::LogDeterminant, &[0, 0]),
                (Purpose::Itself, &[1, 1]),
            ];
            let case = |(purpose, x)| {
                Case::new(OpRef::new(Inverse { purpose }), vec![Argument::dominant(x)])
            };
            shapes.map(case).into()
        },
    },
];
