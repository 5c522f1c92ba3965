//! The beta function, its logarithm, and its partial derivatives of any order.
//!
//! Partial derivatives are coefficients of a Taylor series in two variables, that of the exponential of the
//! logarithm; where its terms would cancel, and next to poles, other formulas take its place.

use std::f64::consts::PI;

use super::gamma::{
    gamma, gammaln, pole, polygamma, polygamma_difference, polygamma_of_sum, sign, stirling,
};
use super::riemann::riemann_zeta;
use super::trigonometric::{cospi, sine_and_cosine_of_sum, sinpi};
use super::{jet, partial};

/// `ln √(2π)`.
const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_8;

/// `ζ(k) - 1` from k = 2 on.
#[rustfmt::skip]
const ZETA_LESS_ONE: [f64; 28] = [
    0.644_934_066_848_226_4,
    0.202_056_903_159_594_3,
    0.082_323_233_711_138_19,
    0.036_927_755_143_369_93,
    0.017_343_061_984_449_14,
    0.008_349_277_381_922_827,
    0.004_077_356_197_944_34,
    0.002_008_392_826_082_214_3,
    0.000_994_575_127_818_085_3,
    0.000_494_188_604_119_464_5,
    0.000_246_086_553_308_048_3,
    0.000_122_713_347_578_489_15,
    6.124_813_505_870_483e-5,
    3.058_823_630_702_049e-5,
    1.528_225_940_865_187e-5,
    7.637_197_637_899_763e-6,
    3.817_293_264_999_84e-6,
    1.908_212_716_553_939e-6,
    9.539_620_338_727_962e-7,
    4.769_329_867_878_064e-7,
    2.384_505_027_277_33e-7,
    1.192_199_259_653_110_6e-7,
    5.960_818_905_125_948e-8,
    2.980_350_351_465_228e-8,
    1.490_155_482_836_504_3e-8,
    7.450_711_789_835_43e-9,
    3.725_334_024_788_457e-9,
    1.862_659_723_513_049e-9,
];

/// B(a, b) = Γ(a)·Γ(b) / Γ(a + b) (DLMF 5.12.1).
pub(crate) fn beta(a: f64, b: f64) -> f64 {
    if pole(a) || pole(b) {
        return match at_pole(a, b) {
            Ok((a, b)) if b % 2.0 == 0.0 => beta(a, b),
            Ok((a, b)) => -beta(a, b),
            Err(value) => value,
        };
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let sum = a + b;
    if small < 0.0 && sum <= 0.5 {
        reflected(small, large, 0, 0)
    } else if sum < 170.0 && large < 170.0 {
        // The larger factor first, so that nothing overflows unless the quotient does. Where all three
        // overflow, so does the quotient.
        gamma(large) / gamma(sum).min(f64::MAX) * gamma(small)
    } else {
        sign(small) * betaln(a, b).exp()
    }
}

/// ln |B(a, b)|; for large arguments by Stirling's formula, whose leading terms cancel here
/// before they are rounded (Didonato and Morris, ACM TOMS 18 (1992), algorithm 708).
pub(crate) fn betaln(a: f64, b: f64) -> f64 {
    if pole(a) || pole(b) {
        return at_pole(a, b).map_or_else(|value| value, |(a, b)| betaln(a, b));
    }
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if b == f64::INFINITY {
        return if a > 0.0 { -b } else { b };
    }
    if a >= 10.0 {
        let correction = stirling(a) + stirling(b) - stirling(a + b);
        let h = a / b;
        let u = (a - 0.5) * (h / (1.0 + h)).ln();
        return LN_SQRT_2_PI - 0.5 * b.ln() + correction + u - b * h.ln_1p();
    }
    if b >= 11.0 && a > -1.0 {
        let correction = stirling(b) - stirling(a + b);
        let sum = a + b;
        return gammaln(a) + correction + a - a * sum.ln() + (b - 0.5) * (-a / sum).ln_1p();
    }
    if a >= 0.75 && b <= 1.25 {
        return betaln_near_one(a - 1.0, b - 1.0);
    }
    if a > 0.0 {
        let value = beta(a, b);
        return match value.is_normal() {
            true => value.ln(),
            false => gammaln(a) + gammaln(b) - gammaln(a + b),
        };
    }
    // By the reflection of Γ (DLMF 5.5.3) to positive arguments: logarithms of Γ would cancel.
    let rest = 1.0 - (a + b);
    let sine = sine_and_cosine_of_sum(a, b).0;
    let (factor, logarithm) = if rest < 0.5 {
        (PI / b, -betaln(1.0 - a, a + b))
    } else if b > 0.5 {
        (sine, betaln(b, rest))
    } else {
        let logarithm = betaln(1.0 - a, 1.0 - b) + sinpi(b).abs().ln();
        (PI / rest * sine, -logarithm)
    };
    factor.abs().ln() - sinpi(a).abs().ln() + logarithm
}

/// ln B(1 + s, 1 + t), which is 0 at s = t = 0, by the Taylor series of `ln Γ` (DLMF 5.7.3). The
/// linear terms of the three series cancel, and are left out.
fn betaln_near_one(s: f64, t: f64) -> f64 {
    let sum = s + t;
    let (mut p, mut q, mut r) = (-s, -t, -sum);
    let mut rest = 0.0;
    for (k, zeta) in ZETA_LESS_ONE.iter().enumerate() {
        p *= -s;
        q *= -t;
        r *= -sum;
        // The squares are the largest terms: s² + t² - (s + t)² is computed without their cancellation.
        let powers = if k == 0 { -2.0 * s * t } else { p + q - r };
        rest += zeta / (k + 2) as f64 * powers;
    }
    rest - (sum + s * t).ln_1p()
}

/// Partial derivative number `n` of ln |B|.
pub(crate) fn betaln_derivative(n: i32, a: f64, b: f64) -> f64 {
    let orders = partial::orders(n).map(|(m, k)| (m as i32, k as i32));
    match orders {
        None => f64::NAN,
        Some((0, 0)) => betaln(a, b),
        Some((m, 0)) => polygamma_difference(m - 1, a, b),
        Some((0, k)) => polygamma_difference(k - 1, b, a),
        Some((m, k)) => -polygamma_of_sum(m + k - 1, a, b),
    }
}

/// B where an argument is a pole of Γ. If the other is an integer that cancels the pole, B is finite:
/// B(a, b) = (-1)^b B(1 - a - b, b), and the result is `Ok` of the arguments on the right. Else it is
/// `Err` of the value, which is infinite or NaN.
fn at_pole(a: f64, b: f64) -> Result<(f64, f64), f64> {
    let (a, b) = if pole(a) { (a, b) } else { (b, a) };
    let rest = 1.0 - a - b;
    if a.is_infinite() || a.is_nan() || b.is_nan() {
        Err(f64::NAN)
    } else if b == b.floor() && rest > 0.0 && b > 0.0 {
        Ok((rest, b))
    } else {
        Err(f64::INFINITY)
    }
}

/// A Taylor series in two variables: the coefficient of `δ^i·ε^j` is number `i·width + j`.
struct Series {
    width: usize,
    entries: Vec<f64>,
}

impl Series {
    /// Coefficients up to order `m` in the first variable and `k` in the second.
    fn new(m: usize, k: usize, coefficient: impl Fn(usize, usize) -> f64) -> Self {
        Series::of(m, k, &coefficient)
    }

    /// As [`new`](Self::new), compiled once for all functions.
    #[inline(never)]
    fn of(m: usize, k: usize, coefficient: &dyn Fn(usize, usize) -> f64) -> Self {
        let width = k + 1;
        let entries = (0..(m + 1) * width).map(|at| coefficient(at / width, at % width));
        Series {
            width,
            entries: entries.collect(),
        }
    }

    fn orders(&self) -> (usize, usize) {
        (self.entries.len() / self.width - 1, self.width - 1)
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.width + j]
    }

    fn product(&self, other: &Series) -> Series {
        let (m, k) = self.orders();
        Series::new(m, k, |i, j| {
            let mut sum = 0.0;
            for p in 0..=i {
                for q in 0..=j {
                    sum += self.at(p, q) * other.at(i - p, j - q);
                }
            }
            sum
        })
    }

    /// `e` to this series, which begins with 0: `E = e^L` satisfies `E' = L'·E` in either variable.
    fn exponential(&self) -> Series {
        let (m, k) = self.orders();
        let mut exponential = Series::new(m, k, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
        for i in 0..=m {
            for j in 0..=k {
                if i + j == 0 {
                    continue;
                }
                // In a variable that occurs.
                let mut sum = 0.0;
                for p in 0..=i {
                    for q in 0..=j {
                        let weight = if i > 0 { p } else { q };
                        if weight > 0 {
                            let term = self.at(p, q) * exponential.at(i - p, j - q);
                            sum += weight as f64 * term;
                        }
                    }
                }
                let number = if i > 0 { i } else { j };
                exponential.entries[i * exponential.width + j] = sum / number as f64;
            }
        }
        exponential
    }

    /// The derivative of the highest order in both variables.
    fn derivative(&self) -> f64 {
        let (m, k) = self.orders();
        self.at(m, k) * factorial(m) * factorial(k)
    }
}

/// Partial derivative number `n` (see [`partial`]) of B, by Taylor's series of its logarithm. Where an
/// argument is small the coefficients of that would cancel, and [`small`] or [`one_small`] computes it; where
/// `a + b` is next to a pole of Γ, [`reflected`].
pub(crate) fn beta_derivative(n: i32, a: f64, b: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return beta(a, b);
    }
    let (m, k) = (m as usize, k as usize);
    if a.abs() + b.abs() < 0.25 {
        return small(a, b, m, k);
    }
    if is_small_beside(b, a) {
        return one_small(a, b, m, k);
    }
    if is_small_beside(a, b) {
        return one_small(b, a, k, m);
    }
    if a.min(b) < 0.0 && a + b <= 0.5 {
        return if a < b {
            reflected(a, b, m, k)
        } else {
            reflected(b, a, k, m)
        };
    }
    let value = beta(a, b);
    if value == 0.0 && (a > 1.0 || b > 1.0) && a > 0.0 && b > 0.0 {
        // B underflows, and so do its derivatives.
        return 0.0;
    }
    // The series of ln B without its first coefficient, whose exponential is `value`.
    let logarithm = Series::new(m, k, |i, j| {
        let derivative = match (i, j) {
            (0, 0) => 0.0,
            (i, 0) => polygamma_difference(i as i32 - 1, a, b),
            (0, j) => polygamma_difference(j as i32 - 1, b, a),
            (i, j) => -polygamma((i + j) as i32 - 1, a + b),
        };
        derivative / factorial(i) / factorial(j)
    });
    value * logarithm.exponential().derivative()
}

/// The partial derivative `m` times by `a` and `k` times by `b` where `a` is negative, not above `b`, and
/// `a + b ≤ 1/2`, by the reflection of Γ (DLMF 5.5.3): poles are those of cotangents, and the zeros, where
/// `a + b` is a pole of Γ, those of a sine.
///
/// For `b ≤ 1/2` it is `B = π·Γ(1-a-b) / (Γ(1-a)·Γ(1-b)) · (cot(πa) + cot(πb))`, for larger ones
/// `B = Γ(b)·Γ(1-a-b) / Γ(1-a) · (cos(πb) + cot(πa)·sin(πb))`. The value of the last factor is
/// `sin(π(a+b)) / sin(πa)` without cancellation (and `/ sin(πb)` in the first formula); each derivative of
/// it by `a` has one term.
fn reflected(a: f64, b: f64, m: usize, k: usize) -> f64 {
    let rest = 1.0 - (a + b);
    let (sine_a, cosine_a, sine_b, cosine_b) = (sinpi(a), cospi(a), sinpi(b), cospi(b));
    let (sine, cosine) = sine_and_cosine_of_sum(a, b);
    let cotangent = jet::cotangent(sine_a, cosine_a, PI, m);
    // The logarithm of the first factor without its first coefficient.
    let logarithm = |i: usize, j: usize| {
        let order = (i + j) as i32 - 1;
        let sign = if order % 2 == 0 { 1.0 } else { -1.0 };
        let derivative = match (i, j) {
            (0, 0) => 0.0,
            (_, 0) => sign * polygamma_difference(order, 1.0 - a, -b),
            (0, _) if b <= 0.5 => sign * polygamma_difference(order, 1.0 - b, -a),
            (0, _) => polygamma(order, b) - sign * polygamma(order, rest),
            _ => -sign * polygamma(order, rest),
        };
        derivative / factorial(i) / factorial(j)
    };
    let logarithm = Series::new(m, k, logarithm).exponential();
    if b <= 0.5 {
        let other = jet::cotangent(sine_b, cosine_b, PI, k);
        let cotangents = Series::new(m, k, |i, j| match (i, j) {
            (0, 0) => sine / sine_a / sine_b,
            (i, 0) => cotangent[i],
            (0, j) => other[j],
            _ => 0.0,
        });
        let value = PI / rest / beta(1.0 - a, 1.0 - b);
        return value * logarithm.product(&cotangents).derivative();
    }
    // Where `b` is an integer, poles by `a` cancel.
    let quotient = match (sine_a == 0.0, sine_b == 0.0) {
        (true, true) => cosine_b,
        _ => sine / sine_a,
    };
    // By `b` there is no limit at a pole.
    let slope = if sine_a == 0.0 {
        f64::NAN
    } else {
        cosine / sine_a
    };
    let by_b = jet::sine(quotient, slope, PI, k);
    let factor = jet::sine(sine_b, cosine_b, PI, k);
    let cotangents = Series::new(m, k, |i, j| match i {
        0 => by_b[j],
        _ if factor[j] == 0.0 => 0.0,
        _ => cotangent[i] * factor[j],
    });
    beta(b, rest) * logarithm.product(&cotangents).derivative()
}

/// The product of the integers up to `n`.
fn factorial(n: usize) -> f64 {
    (1..=n).map(|n| n as f64).product()
}

/// The binomial coefficient.
fn binomial(n: usize, k: usize) -> f64 {
    (1..=k).fold(1.0, |product, i| product * (n + 1 - i) as f64 / i as f64)
}

/// Coefficient `i` of Taylor's series of the function `x` itself.
fn linear(x: f64, i: usize) -> f64 {
    match i {
        0 => x,
        1 => 1.0,
        _ => 0.0,
    }
}

/// The derivative of order `n` of 1/x.
fn reciprocal(x: f64, n: usize) -> f64 {
    (1..=n).fold(1.0 / x, |power, i| -power * i as f64 / x)
}

/// `(e^t - 1) / t` for a small `t`, by its power series.
fn phi(t: &Series) -> Series {
    let (m, k) = t.orders();
    let mut power = Series::new(m, k, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
    let mut phi = Series::new(m, k, |_, _| 0.0);
    let mut factorial = 1.0;
    for number in 1..16 {
        factorial *= f64::from(number);
        for (sum, entry) in phi.entries.iter_mut().zip(&power.entries) {
            *sum += entry / factorial;
        }
        power = power.product(t);
    }
    phi
}

/// Whether [`one_small`] converges: `b` is much smaller than the distance of `a` to the nearest pole. Next to a
/// pole below 0 its terms cancel, in mixed derivatives by that distance, where those of [`reflected`] cancel by
/// its square over `b`.
fn is_small_beside(b: f64, a: f64) -> bool {
    let most = if a > 0.0 {
        0.05 * a.min(1.0)
    } else {
        0.4 * (a - a.round()).abs().powi(3)
    };
    b.abs() < most && b.abs() * (1.0 + polygamma(0, a).abs()) < 0.25
}

/// The partial derivative `m` times by `a` and `k` times by `b` for `b` much smaller than `a`.
/// `B = Γ(a)·Γ(1+b) / Γ(a+b) / b`, and the logarithm of the first quotient is `b·q` with a power series
/// in `b`, `q = Σ (ψ^(n)(1) - ψ^(n)(a))·b^n / (n+1)!`. So `B = 1/b + q·φ(b·q)`, with the `φ` of
/// [`small`], where nothing is divided by `b` that `a` moves.
fn one_small(a: f64, b: f64, m: usize, k: usize) -> f64 {
    const TERMS: usize = 16;
    let q = Series::new(m, k, |i, j| {
        let mut sum = 0.0;
        for n in j..j + TERMS {
            let at_one = match i {
                0 => polygamma(n as i32, 1.0),
                _ => 0.0,
            };
            let coefficient = (at_one - polygamma((n + i) as i32, a)) / factorial(n + 1);
            sum += coefficient / factorial(i) * binomial(n, j) * b.powi((n - j) as i32);
        }
        sum
    });
    let t = Series::new(m, k, |i, j| match i {
        0 => linear(b, j),
        _ => 0.0,
    });
    let rest = q.product(&phi(&t.product(&q))).derivative();
    match m {
        0 => reciprocal(b, k) + rest,
        _ => rest,
    }
}

/// The partial derivative `m` times by `a` and `k` times by `b` for small arguments.
/// `B = (1/a + 1/b)·Γ(1+a)·Γ(1+b) / Γ(1+a+b)`, and the logarithm of the last three factors is `a·b·g`
/// with a power series `g` (DLMF 5.7.3). So with `φ(t) = (e^t - 1) / t`
/// `B = 1/a + 1/b + (a + b)·g·φ(a·b·g)`.
fn small(a: f64, b: f64, m: usize, k: usize) -> f64 {
    const TERMS: usize = 40;
    let g = Series::new(m, k, |i, j| {
        let mut sum = 0.0;
        for power in 2..TERMS {
            let sign = if power % 2 == 0 { -1.0 } else { 1.0 };
            let zeta = sign * riemann_zeta(0, power as f64) / power as f64;
            // Coefficient (i, j) of Taylor's series of C(power, l)·a^(l-1)·b^(power-l-1).
            for l in 1..power {
                let (p, q) = (l - 1, power - l - 1);
                if p >= i && q >= j {
                    sum += zeta
                        * binomial(power, l)
                        * (binomial(p, i) * a.powi((p - i) as i32))
                        * (binomial(q, j) * b.powi((q - j) as i32));
                }
            }
        }
        sum
    });
    let t = Series::new(m, k, |i, j| linear(a, i) * linear(b, j)).product(&g);
    let sum = Series::new(m, k, |i, j| match (i, j) {
        (0, 0) => a + b,
        (1, 0) | (0, 1) => 1.0,
        _ => 0.0,
    });
    let rest = sum.product(&g).product(&phi(&t)).derivative();
    match (m, k) {
        (m, 0) => reciprocal(a, m) + rest,
        (0, k) => reciprocal(b, k) + rest,
        _ => rest,
    }
}

#[cfg(test)]
mod tests;
