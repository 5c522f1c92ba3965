//! The beta function, its logarithm, and its partial derivatives of any order.

use super::gamma::{gamma, gammaln, pole, polygamma, polygamma_difference, sign, stirling};
use super::partial;
use super::riemann::riemann_zeta;

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

    /// The derivative of the highest order in both variables.
    fn derivative(&self) -> f64 {
        let (m, k) = self.orders();
        let factorial = |n: usize| (1..=n).map(|n| n as f64).product::<f64>();
        self.at(m, k) * factorial(m) * factorial(k)
    }
}

/// Partial derivative number `n` (see [`partial`]) of B, by Taylor's series of its logarithm. Where both
/// arguments are small the coefficients of that would cancel, and [`small`] computes it.
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
    let value = beta(a, b);
    if value == 0.0 && (a > 1.0 || b > 1.0) && a > 0.0 && b > 0.0 {
        // B underflows, and so do its derivatives.
        return 0.0;
    }
    // The series of ln B without its first coefficient, whose exponential is `value`.
    let factorial = |n: usize| (1..=n).map(|n| n as f64).product::<f64>();
    let logarithm = Series::new(m, k, |i, j| {
        let derivative = match (i, j) {
            (0, 0) => 0.0,
            (i, 0) => polygamma_difference(i as i32 - 1, a, b),
            (0, j) => polygamma_difference(j as i32 - 1, b, a),
            (i, j) => -polygamma((i + j) as i32 - 1, a + b),
        };
        derivative / factorial(i) / factorial(j)
    });
    let mut exponential = Series::new(m, k, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
    for i in 0..=m {
        for j in 0..=k {
            if i + j == 0 {
                continue;
            }
            // E = e^L satisfies E' = L'·E in either variable; one is taken that occurs.
            let mut sum = 0.0;
            for p in 0..=i {
                for q in 0..=j {
                    let weight = if i > 0 { p } else { q };
                    if weight > 0 {
                        let term = logarithm.at(p, q) * exponential.at(i - p, j - q);
                        sum += weight as f64 * term;
                    }
                }
            }
            let number = if i > 0 { i } else { j };
            exponential.entries[i * (k + 1) + j] = sum / number as f64;
        }
    }
    value * exponential.derivative()
}

/// The partial derivative `m` times by `a` and `k` times by `b` for small positive arguments.
/// `B = (1/a + 1/b)·Γ(1+a)·Γ(1+b) / Γ(1+a+b)`, and the logarithm of the last three factors is `a·b·g`
/// with a power series `g` (DLMF 5.7.3). So with `φ(t) = (e^t - 1) / t`
/// `B = 1/a + 1/b + (a + b)·g·φ(a·b·g)`.
fn small(a: f64, b: f64, m: usize, k: usize) -> f64 {
    const TERMS: usize = 40;
    let binomial = |n: usize, k: usize| {
        (1..=k).fold(1.0, |product, i| product * (n + 1 - i) as f64 / i as f64)
    };
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
    let linear = |x: f64, i: usize| match i {
        0 => x,
        1 => 1.0,
        _ => 0.0,
    };
    let t = Series::new(m, k, |i, j| linear(a, i) * linear(b, j)).product(&g);
    let mut power = Series::new(m, k, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
    let mut phi = Series::new(m, k, |_, _| 0.0);
    let mut factorial = 1.0;
    for number in 1..16 {
        factorial *= f64::from(number);
        for (sum, entry) in phi.entries.iter_mut().zip(&power.entries) {
            *sum += entry / factorial;
        }
        power = power.product(&t);
    }
    let sum = Series::new(m, k, |i, j| match (i, j) {
        (0, 0) => a + b,
        (1, 0) | (0, 1) => 1.0,
        _ => 0.0,
    });
    let rest = sum.product(&g).product(&phi).derivative();
    let reciprocal = |x: f64, n: usize| (1..=n).fold(1.0 / x, |power, i| -power * i as f64 / x);
    match (m, k) {
        (m, 0) => reciprocal(a, m) + rest,
        (0, k) => reciprocal(b, k) + rest,
        _ => rest,
    }
}
