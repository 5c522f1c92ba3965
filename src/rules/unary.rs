//! Elementwise operators of one operand.
//!
//! Derivatives are those of any calculus text (Abramowitz & Stegun, ch. 4); where
//! the obvious formula loses accuracy the stable one is used and said.

use crate::array::{DType, Real, Type, Typed, View, ViewMut, with_real};
use crate::error::Result;

use super::elementwise::elementwise;
use super::{Argument, Case, Entry, Ex, OpRef, Operator, arity, real};

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Away from zero, on both sides.
const NONZERO: &[(f64, f64)] = &[(-2.0, -0.3), (0.3, 2.0)];
/// Above zero.
const POSITIVE: &[(f64, f64)] = &[(0.3, 3.0)];

elementwise! {
    /// Negation.
    Neg = "neg", "-x",
    (x) => -x,
    vjp(g, y) = [Some(-g)],
    domain = [ALL];

    /// Exponential.
    Exp = "exp", "exp(x)",
    (x) => x.v_exp(),
    vjp(g, y) = [Some(g * y)],
    domain = [ALL];

    /// Natural logarithm.
    Log = "log", "ln(x)",
    (x) => x.v_ln(),
    vjp(g, y) = [Some(g / x)],
    domain = [POSITIVE];

    /// Logarithm of 1 + x, accurate near zero.
    Log1p = "log1p", "ln(1 + x)",
    (x) => x.v_ln_1p(),
    vjp(g, y) = [Some(g / (x + 1.0))],
    domain = [&[(-0.6, 2.0)]];

    /// Exponential minus 1, accurate near zero.
    Expm1 = "expm1", "exp(x) - 1",
    (x) => x.v_exp_m1(),
    vjp(g, y) = [Some(g * (y + 1.0))],
    domain = [ALL];

    /// Square root.
    Sqrt = "sqrt", "x^(1/2)",
    (x) => x.sqrt(),
    vjp(g, y) = [Some(g * 0.5 / y)],
    domain = [POSITIVE];

    /// Square.
    Square = "square", "x^2",
    (x) => x * x,
    vjp(g, y) = [Some(g * (x * 2.0))],
    domain = [ALL];

    /// Absolute value; the gradient at 0 is 0.
    Abs = "abs", "|x|",
    (x) => x.abs(),
    vjp(g, y) = [Some(g * x.sign())],
    domain = [NONZERO];

    /// Sign: -1, 0 or 1, and NaN of NaN; its gradient is zero.
    Sign = "sign", "sign(x)",
    (x) => if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        x
    },
    vjp(g, y) = [None],
    domain = [NONZERO];

    /// Reciprocal.
    Reciprocal = "reciprocal", "1 / x",
    (x) => x.recip(),
    vjp(g, y) = [Some(-(g * (y * y)))],
    domain = [NONZERO];

    /// Sine, of radians.
    Sin = "sin", "sin(x)",
    (x) => x.v_sin(),
    vjp(g, y) = [Some(g * x.cos())],
    domain = [ALL];

    /// Cosine, of radians.
    Cos = "cos", "cos(x)",
    (x) => x.v_cos(),
    vjp(g, y) = [Some(-(g * x.sin()))],
    domain = [ALL];

    /// Tangent, of radians.
    Tan = "tan", "tan(x)",
    (x) => x.tan(),
    vjp(g, y) = [Some(g * (y * y + 1.0))],
    domain = [&[(-1.0, 1.0)]];

    /// Hyperbolic tangent.
    Tanh = "tanh", "tanh(x)",
    (x) => x.v_tanh(),
    vjp(g, y) = [Some(g * (1.0 - y * y))],
    domain = [ALL];

    /// Logistic function.
    Sigmoid = "sigmoid", "1 / (1 + exp(-x))",
    (x) => x.v_sigmoid(),
    vjp(g, y) = [Some(g * (y * (1.0 - y)))],
    domain = [ALL];

    /// Logarithm of the logistic function, without overflow for any x.
    LogSigmoid = "logsigmoid", "min(x, 0) - ln(1 + exp(-|x|))",
    (x) => x.v_log_sigmoid(),
    vjp(g, y) = [Some(g * (-x).sigmoid())],
    domain = [ALL];

    /// Smooth rectifier, without overflow for any x.
    Softplus = "softplus", "max(x, 0) + ln(1 + exp(-|x|))",
    (x) => x.v_softplus(),
    vjp(g, y) = [Some(g * x.sigmoid())],
    domain = [ALL];

    /// Rectifier; the gradient at 0 is 0.
    Relu = "relu", "max(x, 0)",
    (x) => if x > T::zero() || x.is_nan() { x } else { T::zero() },
    vjp(g, y) = [Some(g * x.greater(x.constant(0.0)))],
    domain = [NONZERO];
}

/// Conversion to another floating-point type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cast {
    /// The result's element type.
    pub dtype: DType,
}

impl Operator for Cast {
    fn name(&self) -> &str {
        "cast"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("cast", args)?;
        real("cast", x)?;
        let ty = Type::new(self.dtype, &x.shape);
        real("cast", &ty)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let from = match args[0].data {
            crate::array::Slice::F32(_) => DType::F32,
            _ => DType::F64,
        };
        with_real!(from, S => with_real!(self.dtype, T => {
            let x = args[0].real::<S>();
            for (o, &x) in T::slice_mut(&mut out.data).iter_mut().zip(x) {
                *o = T::of(x.to());
            }
        }));
        Ok(())
    }

    fn vjp<'t>(&self, _i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with_new(
            Cast {
                dtype: x[0].dtype(),
            },
            &[],
        ))
    }

    fn aliases(&self, args: &[&Type], out: &Type) -> bool {
        args[0] == out
    }
}

/// The entry of [`Cast`].
pub(super) const CAST: &[Entry] = &[Entry {
    name: "cast",
    formula: "x as another floating-point type",
    cases: || {
        [DType::F32, DType::F64]
            .map(|dtype| {
                Case::new(
                    OpRef::new(Cast { dtype }),
                    vec![Argument::real(&[2, 3], &[(-2.0, 2.0)])],
                )
            })
            .into()
    },
}];
