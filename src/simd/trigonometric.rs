//! Sine and cosine without branches, of angles that are not too large.
//!
//! Method. `x = n·π/2 + r` with `|r| ≤ π/4` (Cody and Waite, *Software Manual for the Elementary
//! Functions*, 1980), where π/2 stands in parts so short that the products with `n` are exact; then
//! the polynomials of fdlibm's `k_sin.c` and `k_cos.c` (Sun Microsystems, 1993) of `r`, exchanged
//! and negated by the quarter that `n` names, and evaluated by Estrin's scheme, which has fewer steps that
//! wait for each other than Horner's. `f64` keeps what rounding takes from `r`. `f32` is
//! computed in `f64`, with the polynomials of FreeBSD's `k_sinf.c` and `k_cosf.c`.
//!
//! Accuracy: within 1 ulp; 0.82 is the most that was found, 0.501 for `f32`.
//!
//! Limits: [`FARTHEST`], well within the 2^20 quarters from which the products round. Angles beyond
//! need hundreds of bits of π, which the standard library has.

use std::f64::consts::FRAC_2_PI;
use std::ops::{Add, Mul, Sub};

/// The largest angle, in radians, that the functions here take in either direction.
pub const FARTHEST: f64 = 1e5;

/// Adding this rounds to an integer, which the low bits then hold.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
/// The first 33 bits of π/2.
const FIRST: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
/// The next 33 bits.
const SECOND: f64 = f64::from_bits(0x3dd0_b461_1a60_0000);
/// What follows.
const THIRD: f64 = f64::from_bits(0x3ba3_198a_2e03_7073);
/// What follows the first part, all in one.
const REST: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);

/// What the formulas here compute with: numbers, or values of a program that is being written, which then
/// computes what they do.
pub trait FormulaNumber:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// A number, where `self` is computed.
    fn number(self, x: f64) -> Self;
}

impl FormulaNumber for f64 {
    #[inline(always)]
    fn number(self, x: f64) -> f64 {
        x
    }
}

/// `x - n·π/2` as `r + tail`, for an integer `n`. The tail keeps what rounding takes from `r`; it is
/// not larger than an error of `r` is, but for the smallest `r`.
#[inline(always)]
pub fn remainder<T: FormulaNumber>(x: T, n: T) -> (T, T) {
    let first = x - n * x.number(FIRST);
    let part = n * x.number(SECOND);
    // The difference, and what rounding took from it (Knuth's two-sum).
    let r = first - part;
    let moved = r - first;
    let lost = (first - (r - moved)) - (part + moved);
    (r, lost - n * x.number(THIRD))
}

/// The integer nearest to `x / (π/2)`: in the low bits of the sum that rounded it, and as a number.
#[inline(always)]
pub fn quarters<T: FormulaNumber>(x: T) -> (T, T) {
    let n = x * x.number(FRAC_2_PI) + x.number(ROUND);
    (n, n - x.number(ROUND))
}

/// `x = n·π/2 + r + tail`: returns the low bits of `n`, `r` and `tail`.
#[inline(always)]
fn reduce(x: f64) -> (u64, f64, f64) {
    let (quarter, n) = quarters(x);
    let (r, tail) = remainder(x, n);
    // As it is, so that zero keeps its sign.
    (quarter.to_bits(), if n == 0.0 { x } else { r }, tail)
}

/// The sine of `r + tail`, at most π/4 in either direction. The polynomial is split in halves, and what
/// does not need it is added up first: half of the time is one operation waiting for another.
#[inline(always)]
pub fn sine_of<T: FormulaNumber>(r: T, tail: T) -> T {
    let k = |x: f64| r.number(x);
    let z = r * r;
    let square = z * z;
    let cube = z * r;
    let rest = (z * k(-1.984_126_982_985_795e-4) + k(8.333_333_333_322_49e-3))
        + square
            * ((z * k(-2.505_076_025_340_686_3e-8) + k(2.755_731_370_707_006_8e-6))
                + square * k(1.589_690_995_211_55e-10));
    let known = (cube * k(1.666_666_666_666_663_2e-1) - tail) + (z * k(0.5)) * tail;
    r - (known - (z * cube) * rest)
}

/// The cosine of `r + tail`, as [`sine_of`].
#[inline(always)]
pub fn cosine_of<T: FormulaNumber>(r: T, tail: T) -> T {
    let k = |x: f64| r.number(x);
    let z = r * r;
    let square = z * z;
    let rest = (z * k(-1.388_888_888_887_411e-3) + k(4.166_666_666_666_66e-2))
        + square
            * ((z * k(-2.755_731_435_139_066_3e-7) + k(2.480_158_728_947_673e-5))
                + square * (k(2.087_572_321_298_175e-9) - z * k(1.135_964_755_778_819_5e-11)));
    let half = z * k(0.5);
    let first = k(1.0) - half;
    first + (square * rest + (((k(1.0) - first) - half) - r * tail))
}

/// The sine of an angle so many quarters further: 1 makes it the cosine.
#[inline(always)]
pub(super) fn sine_f64(x: f64, turned: u64) -> f64 {
    let (quarter, r, tail) = reduce(x);
    let (sine, cosine) = (sine_of(r, tail), cosine_of(r, tail));
    signed(quarter.wrapping_add(turned), sine, cosine)
}

/// Angles up to here are less than half a quarter.
pub const NEAR: f64 = 0.785;
/// Angles from here to [`LAST`] are nearest to one quarter.
pub const NEXT: f64 = 0.786;
/// See [`NEXT`].
pub const LAST: f64 = 2.356;

/// Sine and cosine of any angle, with the bits that each has in vectors. Of one angle that the next
/// step waits for, small ones are told apart by branches, which the processor predicts, so that
/// nothing waits to know the quarter.
#[inline(always)]
pub fn sine_and_cosine(x: f64) -> (f64, f64) {
    let angle = x.abs();
    if angle <= NEAR {
        (sine_of(x, 0.0), cosine_of(x, 0.0))
    } else if (NEXT..=LAST).contains(&angle) {
        let (r, tail) = remainder(angle, 1.0);
        (cosine_of(r, tail).copysign(x), -sine_of(r, tail))
    } else if angle <= FARTHEST {
        let (quarter, r, tail) = reduce(x);
        let (sine, cosine) = (sine_of(r, tail), cosine_of(r, tail));
        let next = quarter.wrapping_add(1);
        (signed(quarter, sine, cosine), signed(next, sine, cosine))
    } else {
        (x.sin(), x.cos())
    }
}

/// As [`sine_f64`], of single precision.
#[inline(always)]
pub(super) fn sine_f32(x: f32, turned: u64) -> f32 {
    let x = f64::from(x);
    let (quarter, n) = quarters(x);
    let r = (x - n * FIRST) - n * REST;
    let r = if n == 0.0 { x } else { r };
    let z = r * r;
    let sine = r
        * (1.0
            + z * (-1.666_666_664_162_655e-1
                + z * (8.333_329_385_889_463e-3
                    + z * (-1.983_933_483_609_663_2e-4 + z * 2.718_311_493_989_822e-6))));
    let cosine = 1.0
        + z * (-4.999_999_972_510_31e-1
            + z * (4.166_662_332_373_906e-2
                + z * (-1.388_676_377_460_993e-3 + z * 2.439_044_879_627_741e-5)));
    signed(quarter.to_bits().wrapping_add(turned), sine, cosine) as f32
}

/// The sine of an angle in a quarter, from sine and cosine of what is left.
#[inline(always)]
fn signed(quarter: u64, sine: f64, cosine: f64) -> f64 {
    let y = if quarter & 1 == 0 { sine } else { cosine };
    if quarter & 2 == 0 { y } else { -y }
}
