//! The beta function, its logarithm, and its partial derivatives of any order.

use std::f64::consts::PI;

use super::gamma::{gamma, gammaln, pole, polygamma, polygamma_difference, sign, stirling};
use super::partial;
use super::riemann::riemann_zeta;
use super::trigonometric::sinpi;

/// `ln √(2π)`.
const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_8;

/// B(a, b) = Γ(a)·Γ(b) / Γ(a + b) (DLMF 5.12.1).
pub(crate) fn beta(a: f64, b: f64) -> f64 {
    if pole(a) || pole(b) {
        return match at_pole(a, b) {
            Ok((a, b)) if b % 2.0 == 0.0 => beta(a, b),
            Ok((a, b)) => -beta(a, b),
            Err(value) => value,
        };
    }
    let sum = a + b;
    if sum.abs() < 170.0 && a.abs() < 170.0 && b.abs() < 170.0 {
        return if pole(sum) {
            0.0
        } else {
            // The larger factor first, so that nothing overflows unless the quotient does.
            let (large, small) = if a > b { (a, b) } else { (b, a) };
            gamma(large) / gamma(sum) * gamma(small)
        };
    }
    sign(a) * sign(b) * sign(sum) * betaln(a, b).exp()
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
    if b >= 10.0 && a > 0.0 {
        let correction = stirling(b) - stirling(a + b);
        let sum = a + b;
        return gammaln(a) + correction + a - a * sum.ln() + (b - 0.5) * (-a / sum).ln_1p();
    }
    if a.abs() < 80.0 && b.abs() < 80.0 && !pole(a + b) {
        return (gamma(a) / gamma(a + b) * gamma(b)).abs().ln();
    }
    gammaln(a) + gammaln(b) - gammaln(a + b)
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
/// argument is small the coefficients of that would cancel, and [`small`] or [`one_small`] computes it.
pub(crate) fn beta_derivative(n: i32, a: f64, b: f64) -> f64 {
    let Some((m, k)) = partial::orders(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return beta(a, b);
    }
    let (m, k) = (m as usize, k as usize);
    if a > 0.0 && b > 0.0 && a + b < 0.25 {
        return small(a, b, m, k);
    }
    if is_small_beside(b, a) {
        return one_small(a, b, m, k);
    }
    if is_small_beside(a, b) {
        return one_small(b, a, k, m);
    }
    if let Some(derivative) = at_zero(a, b, m, k) {
        return derivative;
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

/// The partial derivative `m` times by `a` and `k` times by `b` where B is zero, since `a + b` is a pole `-n`
/// of Γ with `n` up to 1,000 and the arguments are none; `None` elsewhere. `1/Γ(-n + x)` is
/// `x·(x - 1)⋯(x - n) / Γ(1 + x)`, and `Γ(a)·Γ(b)` is `π / sin(πa)` over `b·(b + 1)⋯(b + n)`, so that each factor
/// of the one meets one of the other (DLMF 5.5.1, 5.5.3).
fn at_zero(a: f64, b: f64, m: usize, k: usize) -> Option<f64> {
    const MOST: f64 = 1000.0;
    let n = -(a + b);
    if !pole(-n) || n > MOST || pole(a) || pole(b) {
        return None;
    }
    let order = m + k;
    let roots = (0..=n as usize).map(|root| {
        let root = root as f64;
        Series::new(order, 0, |i, _| linear(-root, i) / (b + n - root))
    });
    let logarithm = Series::new(order, 0, |i, _| match i {
        0 => 0.0,
        i => -polygamma(i as i32 - 1, 1.0) / factorial(i),
    });
    let reciprocal = roots.fold(logarithm.exponential(), |product, root| {
        product.product(&root)
    });
    let reciprocal = Series::new(m, k, |i, j| reciprocal.at(i + j, 0) * binomial(i + j, i));
    let logarithm = Series::new(m, k, |i, j| match (i, j) {
        (0, 0) => 0.0,
        (i, 0) => polygamma(i as i32 - 1, a) / factorial(i),
        (0, j) => polygamma(j as i32 - 1, b) / factorial(j),
        _ => 0.0,
    });
    let series = logarithm.exponential().product(&reciprocal);
    Some(PI / sinpi(a) * series.derivative())
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

/// Whether [`one_small`] converges.
fn is_small_beside(b: f64, a: f64) -> bool {
    a > 0.0
        && b != 0.0
        && b.abs() < 0.05 * a.min(1.0)
        && b.abs() * (1.0 + polygamma(0, a).abs()) < 0.25
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

/// The partial derivative `m` times by `a` and `k` times by `b` for small positive arguments.
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
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// Compares partial derivatives with what mpmath gives from differences in 400 digits.
    #[track_caller]
    fn check(cases: &[(i32, f64, f64, f64)], tolerance: f64) {
        for &(n, a, b, expected) in cases {
            let found = beta_derivative(n, a, b);
            let error = ((found - expected) / expected).abs();
            assert!(error < tolerance, "{n} {a} {b}: {found} {expected}");
        }
    }

    #[test]
    fn derivatives_where_one_argument_is_small() {
        let cases = [
            (1, 1.0, 1e-20, -1.6449340668482264),
            (4, 1.0, 1e-20, 1.2020569031595942),
            (8, 1.0, 1e-20, -2.1646464674222763),
            (11, 1.0, 1e-20, 0.5793069599366624),
            (1, 2.0, 1e-12, -0.6449340668473794),
            (4, 2.0, 1e-12, 0.8469909700059621),
            (8, 2.0, 1e-12, -1.8586284074321204),
            (11, 2.0, 1e-12, 0.15519218225032086),
            (1, 0.5, 1e-08, -4.934802184811581),
            (4, 0.5, 1e-08, 1.573309834370594),
            (8, 0.5, 1e-08, -2.388944909845389),
            (11, 0.5, 1e-08, 1.5591031500720982),
            (1, 1.0, 0.01, -1.6330207032858364),
            (4, 1.0, 0.01, 1.180717497261619),
            (8, 1.0, 0.01, -2.1036317438726235),
            (11, 1.0, 0.01, 0.5772155727665408),
            (1, 3.7, 0.04, -0.287677707947387),
            (4, 3.7, 0.04, 0.5307814710777514),
            (8, 3.7, 0.04, -1.3491605979197907),
            (11, 3.7, 0.04, 0.03798730265438206),
            (1, 50.0, 0.001, -0.020110862861302925),
            (4, 50.0, 0.001, 0.09025115645370513),
            (8, 50.0, 0.001, -0.4376484075482663),
            (11, 50.0, 0.001, 4.945896366234881e-05),
            (1, 1.0, -1e-10, -1.644934066968432),
            (4, 1.0, -1e-10, 1.2020569033760589),
            (8, 1.0, -1e-10, -2.164646468044433),
            (11, 1.0, -1e-10, 0.5793069599576502),
            (1, 1e-20, 1.0, -1.0000000000000002e+40),
            (4, 1e-20, 1.0, 1.2020569031595942),
            (8, 1e-20, 1.0, -0.5411616168555691),
            (11, 1e-20, 1.0, 6.22156653086022),
            (1, 0.3, 1e-40, -12.245364546107732),
            (4, 0.3, 1e-40, 1.8147986003931829),
            (8, 0.3, 1e-40, -2.5012424056892955),
            (11, 0.3, 1e-40, 2.5963617995467585),
            (1, 1e-09, 7.5, -9.999999999999999e+17),
            (4, 1e-09, 7.5, 0.3701113189964588),
            (8, 1e-09, 7.5, -0.03379683646005356),
            (11, 1e-09, 7.5, 4.5103532336469945),
            (1, 0.9, -0.03, -1.9613382331406854),
            (4, 0.9, -0.03, 1.3283084401551328),
            (8, 0.9, -0.03, -2.4040777390837307),
            (11, 0.9, -0.03, 0.6957461280522826),
        ];
        check(&cases, 5e-13);
        // Either argument may be the small one.
        for (n, mirrored) in [(1, 2), (4, 4), (8, 7)] {
            assert_eq!(
                beta_derivative(n, 2.5, 1e-7),
                beta_derivative(mirrored, 1e-7, 2.5)
            );
        }
    }

    #[test]
    fn derivatives_at_zeros() {
        let cases = [
            (1, 0.5, -0.5, -TAU),
            (2, 0.5, -0.5, -TAU),
            (4, 0.5, -0.5, 4.854318108069644),
            (3, 0.5, -0.5, 17.420688722428817),
            (8, 0.5, -0.5, -16.808031381813333),
            (1, 1.5, -1.5, 2.0943951023931957),
            (2, 1.5, -1.5, 2.0943951023931957),
            (4, 1.5, -1.5, 3.96694757035864),
            (3, 1.5, -1.5, 2.5706841687631763),
            (8, 1.5, -1.5, 16.03330889194232),
            (1, 0.25, -1.25, -14.217225402106772),
            (2, 0.25, -1.25, -14.217225402106772),
            (4, 0.25, -1.25, 19.319547091234302),
            (3, 0.25, -1.25, 132.22695989903565),
            (8, 0.25, -1.25, 121.28816717668873),
            (1, 2.5, -3.5, -0.35903916041026207),
            (2, 2.5, -3.5, -0.35903916041026207),
            (4, 2.5, -3.5, -0.44752755579578757),
            (3, 2.5, -3.5, -0.20132927437160789),
            (8, 2.5, -3.5, -1.134968832548919),
            (1, -0.5, -3.5, -22.978506266256773),
            (2, -0.5, -3.5, -22.978506266256773),
            (4, -0.5, -3.5, 36.464004183463786),
            (3, -0.5, -3.5, 67.53969837211581),
            (8, -0.5, -3.5, -17.776371927816115),
        ];
        check(&cases, 1e-13);
        // From hundreds of factors, whose terms are up to a thousand times as large as the result.
        let cases = [
            (1, 0.5, -200.5, -0.393003903202373),
            (4, 0.5, -200.5, 2.8539293630703093),
            (3, 0.5, -200.5, 5.709816401327259),
            (8, 0.5, -200.5, 0.01029364525997813),
            (1, 300.25, -500.25, -2.576873938283225e-147),
            (4, 300.25, -500.25, -1.1490328525623097e-146),
            (3, 300.25, -500.25, -2.072497116774374e-147),
            (8, 300.25, -500.25, -7.628501352157948e-146),
            (1, -700.5, -2.5, -38810784.82514206),
            (4, -700.5, -2.5, 211769933.878838),
            (3, -700.5, -2.5, 276331.92777481675),
            (8, -700.5, -2.5, -1142860137.0508144),
            (1, 1000.5, -1001.5, -3.135319662774497e-06),
            (4, 1000.5, -1001.5, -4.067117846354968e-05),
            (3, 1000.5, -1001.5, -4.0664914087036114e-05),
            (8, 1000.5, -1001.5, -0.00040179178601412827),
        ];
        check(&cases, 1e-11);
    }
}
