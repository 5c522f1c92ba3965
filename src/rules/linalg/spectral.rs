//! What eigenvalues of symmetric matrices and singular values have in common: differences that the
//! derivatives of vectors divide by, and what becomes of those where values coincide.
//!
//! Values coincide if they do to the precision of their type. Then
//!
//! - vectors have no derivative. [`Distinct`] is the operator by which vectors are taken out of a
//!   decomposition, and its derivatives in either mode are an error where values coincide;
//! - in forward mode the direction is known. The vectors within the space of values that coincide are
//!   chosen so that the tangent, seen in them, is diagonal there
//!   ([`realigned`](Operator::realigned)): then first-order perturbation theory holds, the terms that
//!   would be divided by zero are zero themselves, and a function of the values that is smooth and
//!   symmetric has the right second derivatives (Kato, "Perturbation theory for linear operators",
//!   chapter II). A gradient that is not symmetric in values that coincide has none:
//!   [`SymmetricGradientCheck`] refuses;
//! - in reverse mode no direction is known. The gradient of values needs the vectors, but not their
//!   derivative; a gradient of that gradient does, and is refused ([`Distinct`] again).

use crate::array::{Real, Type, Typed, View, ViewMut, element_count, with_real};
use crate::error::{Error, Result};

use crate::rules::{
    Argument, BasicSlice, Case, DiagonalMatrix, Entry, Ex, Key, OpRef, Operator, SliceItem, arity,
    real, same_dtype, same_shape,
};

fn range(start: Option<i64>, stop: Option<i64>) -> SliceItem {
    SliceItem::Range {
        start,
        stop,
        step: 1,
    }
}

fn taken<'t>(x: Ex<'t>, item: SliceItem) -> Ex<'t> {
    let mut items = vec![range(None, None); x.ndim() - 1];
    items[x.ndim() - 2] = item;
    x.with_new(BasicSlice { items }, &[])
}

/// The rows before the last, or after the first, of matrices.
pub(super) fn rows<'t>(x: Ex<'t>, start: Option<i64>, stop: Option<i64>) -> Ex<'t> {
    taken(x, range(start, stop))
}

/// One row of matrices.
pub(super) fn row(x: Ex<'_>, at: i64) -> Ex<'_> {
    taken(x, SliceItem::At(at))
}

/// x / y, 0 where y is zero: x is zero there, or the result is not used.
pub(super) fn ratio<'t>(x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    x.with(&Ratio, &[y])
}

pub(super) fn antisymmetric(x: Ex<'_>) -> Ex<'_> {
    x - x.matrix_transpose()
}

pub(super) fn diagonal_matrix(x: Ex<'_>) -> Ex<'_> {
    x.with_new(DiagonalMatrix { k: 0 }, &[])
}

/// Below this a number counts as zero beside values of this size: a few times the error of an algorithm.
fn nothing<T: Real>(values: &[T]) -> T {
    let largest = values.iter().fold(T::zero(), |m, x| m.max(x.abs()));
    largest * T::epsilon() * T::of(8.0 * values.len() as f64)
}

/// Runs of values in order that coincide, each with its neighbour; those of one included.
pub(super) fn runs<T: Real>(values: &[T]) -> Vec<std::ops::Range<usize>> {
    let nothing = nothing(values);
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for i in 0..values.len() {
        match runs.last_mut() {
            Some(run) if (values[i] - values[i - 1]).abs() <= nothing => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// How many of the values, from the end, are zero.
pub(super) fn zeros<T: Real>(values: &[T]) -> usize {
    let nothing = nothing(values);
    let zero = values.iter().rev().take_while(|x| x.abs() <= nothing);
    zero.count()
}

/// xⱼ - xᵢ for all pairs of the last axis, with ones along the diagonal; or xⱼ + xᵢ. What is
/// zero to the precision of the largest is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pairs {
    /// Sums in place of differences.
    pub sum: bool,
}

fn pairs<T: Real>(x: &[T], sum: bool, out: &mut [T]) {
    let n = x.len();
    let nothing = nothing(x);
    for (i, out) in out.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, o) in out.iter_mut().enumerate() {
            let pair = if sum { x[j] + x[i] } else { x[j] - x[i] };
            *o = if i == j && !sum {
                T::one()
            } else if pair.abs() <= nothing {
                T::zero()
            } else {
                pair
            };
        }
    }
}

impl Operator for Pairs {
    fn name(&self) -> &str {
        "pairs"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("pairs", args)?;
        let n = values_of("pairs", x)?;
        let mut ty = x.clone();
        ty.shape.push(n);
        element_count(&ty.shape)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = out.shape[out.shape.len() - 1].max(1);
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n * n)) {
                pairs(x, self.sum, out);
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let over = |axis: usize| g.sum([axis][..].into(), false);
        let (by_j, by_i) = (over(g.ndim() - 2), over(g.ndim() - 1));
        Some(if self.sum { by_j + by_i } else { by_j - by_i })
    }
}

/// x / y, and 0 where y is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio;

fn divide<T: Real>(x: &[T], y: &[T], out: &mut [T]) {
    for ((o, &x), &y) in out.iter_mut().zip(x).zip(y) {
        *o = if y == T::zero() { y } else { x / y };
    }
}

impl Operator for Ratio {
    fn name(&self) -> &str {
        "ratio"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, y] = arity::<2>("ratio", args)?;
        same_dtype("ratio", x, y)?;
        same_shape("ratio", &x.shape, &y.shape)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            divide::<T>(args[0].real(), args[1].real(), T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(match i {
            0 => ratio(g, x[1]),
            _ => -ratio(g * y, x[1]),
        })
    }
}

/// The number of values, the last axis.
fn values_of(name: &str, values: &Type) -> Result<usize> {
    real(name, values)?;
    values.shape.last().copied().ok_or_else(|| {
        Error::Shape(format!(
            "{name}: expected at least one axis, got a single number"
        ))
    })
}

/// The vectors that a gradient of their values is made of.
pub(super) fn undifferentiated<'t>(vectors: Ex<'t>, values: Ex<'t>, from_zero: bool) -> Ex<'t> {
    let check = Check::Gradient;
    vectors.with_new(Distinct { from_zero, check }, &[values])
}

/// Operand 0, with a derivative only where the values, operand 1, differ from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Distinct {
    /// Whether they must differ from zero, too.
    pub from_zero: bool,
    /// What raises where they do not.
    pub check: Check,
}

/// Which use of [`Distinct`] raises where values coincide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Its derivatives: operand 0 is vectors that the caller asked for.
    Derivatives,
    /// Its gradient: operand 0 is vectors that a gradient of the values is made of.
    Gradient,
    /// Itself: operand 0 is such a derivative.
    Itself,
}

impl Distinct {
    fn derivative<'t>(self, x: Ex<'t>, values: Ex<'t>) -> Ex<'t> {
        let checked = Distinct {
            check: Check::Itself,
            ..self
        };
        x.with_new(checked, &[values])
    }
}

/// What is raised where values coincide.
fn no_derivative() -> Error {
    Error::LinAlg(
        "there is no derivative: eigenvectors or singular vectors cannot be differentiated where \
         two of their values coincide, or a singular value is 0 (second derivatives of functions \
         of the values alone are found by forward mode over reverse mode: hvp, hessian, or jvp of \
         grad)"
            .into(),
    )
}

impl Operator for Distinct {
    fn name(&self) -> &str {
        "distinct"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, values] = arity::<2>("distinct", args)?;
        same_dtype("distinct", x, values)?;
        values_of("distinct", values)?;
        Ok(x.clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = args[1].shape.last().copied().unwrap_or(0).max(1);
        let fine = with_real!(out.data.dtype(), T => {
            T::slice_mut(&mut out.data).copy_from_slice(args[0].real::<T>());
            let apart = |values: &[T]| {
                runs(values).len() == values.len() && !(self.from_zero && zeros(values) > 0)
            };
            self.check != Check::Itself || args[1].real::<T>().chunks_exact(n).all(apart)
        });
        fine.then_some(()).ok_or_else(no_derivative)
    }

    fn aliases(&self, _args: &[&Type], _out: &Type) -> bool {
        self.check != Check::Itself
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| self.derivative(g, x[1]))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| match self.check {
            Check::Gradient => t,
            _ => self.derivative(t, x[1]),
        })
    }
}

/// A gradient of values, operand 0, with a derivative by the values, operand 1, only if its elements
/// are equal where the values are equal, and zero where they are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymmetricGradientCheck {
    /// Whether it must be zero where a value is zero.
    pub zero: bool,
}

/// The tangent of [`SymmetricGradientCheck`]: zeros of the shape of the gradient of values, or
/// [`Error::LinAlg`] where there is no derivative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymmetricGradientCheckSlope {
    /// As in [`SymmetricGradientCheck`].
    pub zero: bool,
}

/// Checks the operands of both.
fn checked_type(name: &str, args: &[&Type]) -> Result<Type> {
    let [gradient, values] = arity::<2>(name, args)?;
    same_dtype(name, gradient, values)?;
    values_of(name, values)?;
    same_shape(name, &values.shape, &gradient.shape)?;
    Ok(gradient.clone())
}

/// Whether numbers are equal wherever values coincide, to half of their digits: they are functions of
/// values that differ by rounding.
fn is_symmetric<T: Real>(numbers: &[T], values: &[T], zero: bool) -> bool {
    let largest = numbers.iter().fold(T::zero(), |m, x| m.max(x.abs()));
    let near = largest * T::epsilon().sqrt();
    let equal = |run: std::ops::Range<usize>| {
        let first = numbers[run.start];
        numbers[run].iter().all(|x| (*x - first).abs() <= near)
    };
    let last = &numbers[numbers.len() - zeros(values)..];
    runs(values).into_iter().all(equal) && !(zero && last.iter().any(|x| x.abs() > near))
}

impl Operator for SymmetricGradientCheck {
    fn name(&self) -> &str {
        "symmetric_gradient_check"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        checked_type("symmetric_gradient_check", args)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            T::slice_mut(&mut out.data).copy_from_slice(args[0].real::<T>());
        });
        Ok(())
    }

    fn aliases(&self, _args: &[&Type], _out: &Type) -> bool {
        true
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then_some(g)
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(match i {
            0 => t,
            _ => x[0].with_new(SymmetricGradientCheckSlope { zero: self.zero }, &[x[1]]),
        })
    }
}

impl Operator for SymmetricGradientCheckSlope {
    fn name(&self) -> &str {
        "symmetric_gradient_check_slope"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        checked_type("symmetric_gradient_check_slope", args)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let n = args[1].shape.last().copied().unwrap_or(0).max(1);
        let fine = with_real!(out.data.dtype(), T => {
            T::slice_mut(&mut out.data).fill(T::default());
            let numbers = args[0].real::<T>().chunks_exact(n);
            let values = args[1].real::<T>().chunks_exact(n);
            numbers.zip(values).all(|(numbers, values)| is_symmetric(numbers, values, self.zero))
        });
        fine.then_some(()).ok_or_else(|| {
            Error::LinAlg(
                "there is no second derivative: the function is not smooth where eigenvalues or \
                 singular values coincide, or a singular value is 0"
                    .into(),
            )
        })
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "pairs",
        formula: "x_j ∓ x_i",
        source: "definition",
        reference: None,
        internal: Some("what the gradients of eigenvectors and singular vectors divide by"),
        cases: || {
            let shapes: [&[usize]; 4] = [&[3], &[2, 2], &[0], &[0, 2]];
            let case = |x: &[usize]| {
                [false, true].map(|sum| {
                    let args = vec![Argument::distinct(x, &[(0.5, 3.0)])];
                    Case::new(OpRef::new(Pairs { sum }), args)
                })
            };
            shapes.into_iter().flat_map(case).collect()
        },
    },
    Entry {
        name: "ratio",
        formula: "x / y, 0 where y = 0",
        source: "definition",
        reference: None,
        internal: Some("divides in them"),
        cases: || {
            let shapes: [&[usize]; 4] = [&[3], &[2, 3], &[], &[0]];
            let case = |x: &[usize]| {
                let args = vec![
                    Argument::real(x, &[(-2.0, 2.0)]),
                    Argument::real(x, &[(-2.0, -0.5), (0.5, 2.0)]),
                ];
                Case::new(OpRef::Static(&Ratio), args)
            };
            shapes.map(case).into()
        },
    },
    Entry {
        name: "distinct",
        formula: "x",
        source: "definition",
        reference: None,
        internal: Some("refuses derivatives of vectors where their values coincide"),
        cases: || {
            let shapes: [(&[usize], &[usize]); 3] =
                [(&[3, 3], &[3]), (&[2, 4, 2], &[2, 2]), (&[0, 0], &[0])];
            let checks = [Check::Derivatives, Check::Gradient, Check::Itself];
            let case = |(x, values)| {
                checks.map(|check| {
                    let args = vec![
                        Argument::real(x, &[(-2.0, 2.0)]),
                        Argument::distinct(values, &[(0.5, 3.0)]),
                    ];
                    let from_zero = check == Check::Itself;
                    Case::new(OpRef::new(Distinct { from_zero, check }), args)
                })
            };
            shapes.into_iter().flat_map(case).collect()
        },
    },
    Entry {
        name: "symmetric_gradient_check",
        formula: "x",
        source: "definition",
        reference: None,
        internal: Some("refuses second derivatives where a function of values is not smooth"),
        cases: || of_checks(|zero| OpRef::new(SymmetricGradientCheck { zero })),
    },
    Entry {
        name: "symmetric_gradient_check_slope",
        formula: "0",
        source: "definition",
        reference: None,
        internal: Some("the tangent of symmetric_gradient_check"),
        cases: || of_checks(|zero| OpRef::new(SymmetricGradientCheckSlope { zero })),
    },
];

fn of_checks(op: fn(bool) -> OpRef) -> Vec<Case> {
    let shapes: [&[usize]; 3] = [&[3], &[2, 2], &[0]];
    let case = |x: &[usize]| {
        [false, true].map(|zero| {
            let args = vec![
                Argument::real(x, &[(-2.0, 2.0)]),
                Argument::distinct(x, &[(0.5, 3.0)]),
            ];
            Case::new(op(zero), args)
        })
    };
    shapes.into_iter().flat_map(case).collect()
}
