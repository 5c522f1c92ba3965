//! Special functions of `f64`, for the operators of the rule table that are named as they are.
//!
//! The crate `libm` computes `erf`, `erfc`, `tgamma`, `lgamma`, the Bessel functions of the first
//! and second kind and inverse hyperbolic functions; the others are here, each with its source.
//! float32 arguments are computed in `f64`, so each function is written once. Operators call it
//! for each element; no loop over it is compiled for an instruction set, since it branches on its
//! argument.
//!
//! Accuracy: relative errors of about 1e-14, away from zeros of the function; next to a zero the
//! error is absolute. At poles and ends of domains the values are those of `scipy.special`,
//! except where SciPy gives NaN and the function has a limit, or gives zero and it has none.

pub(crate) mod airy;
pub(crate) mod algebraic;
pub(crate) mod angle;
pub(crate) mod bessel;
mod bessel_integral;
pub(crate) mod beta;
pub(crate) mod entropy;
pub(crate) mod error_function;
mod euler_maclaurin;
pub(crate) mod gamma;
pub(crate) mod hyperbolic;
pub(crate) mod incomplete_gamma;
pub(crate) mod integral;
mod jet;
pub(crate) mod partial;
pub(crate) mod power;
pub(crate) mod riemann;
pub(crate) mod scaled_bessel;
pub(crate) mod trigonometric;
pub(crate) mod zeta;

/// `c[0] + x·(c[1] + x·(c[2] + …))`.
fn polynomial(x: f64, c: &[f64]) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Sums a series until its terms no longer matter: `next` makes a term from the one before and
/// its number, which counts from 1.
fn series(first: f64, next: impl Fn(f64, f64) -> f64) -> f64 {
    const MOST: u32 = 500;
    let (mut term, mut sum) = (first, first);
    for k in 1..MOST {
        term = next(term, f64::from(k));
        sum += term;
        if term.abs() <= f64::EPSILON / 8.0 * sum.abs() || !sum.is_finite() {
            break;
        }
    }
    sum
}

/// `e^(s·x²)` for `s` of 1, -1 or ½. The square is split into a part that is exact and a small rest,
/// as `s_erf.c` of fdlibm does (Sun Microsystems, 1993): the relative error of the exponential is
/// the absolute error of its argument, and a rounded square has one that grows with `x²`.
fn exp_square(s: f64, x: f64) -> f64 {
    let high = f64::from_bits(x.to_bits() & 0xffff_ffff_f800_0000);
    let (square, rest) = (high * high, (x - high) * (x + high));
    if square > 750.0 {
        return if s > 0.0 { f64::INFINITY } else { 0.0 };
    }
    (s * square).exp() * (s * rest).exp()
}

/// `x - ln(1 + x)` for `|x| ≤ 1/2`, by the series of `ln((1 + r) / (1 - r))` for `r = x / (2 + x)`.
fn less_log(x: f64) -> f64 {
    let r = x / (2.0 + x);
    let square = r * r;
    let tail = series(1.0 / 3.0, |term, k| {
        term * square * (2.0 * k + 1.0) / (2.0 * k + 3.0)
    });
    r * (x - 2.0 * square * tail)
}
