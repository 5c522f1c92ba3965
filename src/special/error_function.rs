//! Relatives of the error function: scaled, imaginary and inverse ones, Dawson's integral, the
//! normal distribution, and their derivatives, in forms that do not cancel.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2};

use super::jet::{self, Jet};
use super::{exp_square, polynomial, series};

/// Up to here Dawson's integral is computed by a power series, beyond by an asymptotic one.
const SERIES_END: f64 = 6.5;

/// `e^(x²)·erfc(x)` (DLMF 7.2.3): the product up to 25, and beyond, where `erfc` soon underflows, the
/// asymptotic series (DLMF 7.12.1).
pub(crate) fn erfcx(x: f64) -> f64 {
    if x <= 25.0 {
        // Below zero too: erfc is between 1 and 2 there, and loses nothing.
        return exp_square(1.0, x) * libm::erfc(x);
    }
    let t = 0.5 / x / x;
    0.5 * FRAC_2_SQRT_PI / x * series(1.0, |term, k| -term * (2.0 * k - 1.0) * t)
}

/// Σ x^(2k+1) / (k!·(2k+1)) = √π/2·erfi(x) (DLMF 7.6.1), whose terms have one sign.
fn imaginary_series(x: f64) -> f64 {
    let square = x * x;
    x * series(1.0, |term, k| {
        term * square / k * (2.0 * k - 1.0) / (2.0 * k + 1.0)
    })
}

/// erfi(x) = -i·erf(i·x).
pub(crate) fn erfi(x: f64) -> f64 {
    if x.abs() <= SERIES_END || x.is_nan() {
        FRAC_2_SQRT_PI * imaginary_series(x)
    } else if x.is_infinite() {
        x
    } else {
        // e^(x²) overflows before the product does.
        let root = exp_square(0.5, x);
        root * (FRAC_2_SQRT_PI * dawsn(x) * root)
    }
}

/// Dawson's integral, `e^(-x²)·∫_0^x e^(t²) dt` (DLMF 7.2.5).
pub(crate) fn dawsn(x: f64) -> f64 {
    if x.abs() <= SERIES_END || x.is_nan() {
        exp_square(-1.0, x) * imaginary_series(x)
    } else {
        dawsn_asymptotic(0, x)
    }
}

/// The derivative of order `n` of Dawson's integral for large `x`, by the asymptotic series (DLMF
/// 7.12.1 by 7.5.1), each term differentiated.
fn dawsn_asymptotic(n: i32, x: f64) -> f64 {
    let first = (1..=n).fold(0.5 / x, |p, k| p * (-f64::from(k) / x));
    series(first, |term, k| {
        let power = 2.0 * k + f64::from(n);
        term * (power / x) * ((power - 1.0) / x) / (4.0 * k)
    })
}

/// The derivative of order `n` of a function `f` with `f' = 2s·x·f + rest` and `s` of 1 or -1: by
/// `f^(k+1) = 2s·(x·f^(k) + k·f^(k-1))`.
fn climb(n: i32, s: f64, x: f64, f: f64, rest: f64) -> f64 {
    let (mut below, mut here, mut rest) = (0.0, f, rest);
    for k in 0..n {
        let next = 2.0 * s * (x * here + f64::from(k) * below) + rest;
        (below, here, rest) = (here, next, 0.0);
    }
    if n < 0 { f64::NAN } else { here }
}

/// The derivative of order `n` of `e^(-x²)` (DLMF 18.5.5), which is 0 where that is.
pub(crate) fn bell_derivative(n: i32, x: f64) -> f64 {
    let bell = exp_square(-1.0, x);
    if bell == 0.0 {
        return bell;
    }
    climb(n, -1.0, x, bell, 0.0)
}

/// The derivative of order `n` of [`erfcx`], which is `(-2)^n·n!·e^(x²)` times a repeated integral of
/// `erfc` (DLMF 7.18.4). The recurrence in `n` (DLMF 7.18.7) cancels for large positive `x`. There the
/// ratio of neighbouring orders is a continued fraction of positive terms, evaluated from an order
/// so high that neighbouring ratios are nearly equal.
pub(crate) fn erfcx_derivative(n: i32, x: f64) -> f64 {
    let value = erfcx(x);
    if x < 3.0 || x.is_nan() || n <= 0 {
        return climb(n, 1.0, x, value, -FRAC_2_SQRT_PI);
    }
    let last = n + 8 + (200.0 / x / x) as i32;
    let from = 2.0 * f64::from(last);
    let mut ratio = -from / (x + (x * x + from).sqrt());
    let mut product = value;
    for k in (1..=last).rev() {
        ratio = -2.0 * f64::from(k) / (2.0 * x - ratio);
        product *= if k <= n { ratio } else { 1.0 };
    }
    product
}

/// The derivative of order `n` of [`dawsn`]: for small `x` by its recurrence in `n`, which cancels for
/// larger ones; for large `x` by the asymptotic series; in between by a sum of Gaussians (Rybicki,
/// Computers in Physics 3 (1989)), whose error is `e^(-(π/2h)²)`.
pub(crate) fn dawsn_derivative(n: i32, x: f64) -> f64 {
    const H: f64 = 0.2;
    const REACH: f64 = 7.0;
    let size = x.abs();
    if size <= 2.0 || x.is_nan() || n <= 0 {
        return climb(n, -1.0, x, dawsn(x), 1.0);
    }
    if size > SERIES_END + 0.3 * f64::from(n) {
        return dawsn_asymptotic(n, x);
    }
    let reach = REACH + 0.3 * f64::from(n);
    let first = (0.5 * (x - reach) / H).floor() as i32;
    let last = (0.5 * (x + reach) / H).ceil() as i32;
    let term = |k| {
        let odd = 2.0 * f64::from(k) + 1.0;
        bell_derivative(n, x - odd * H) / odd
    };
    0.5 * FRAC_2_SQRT_PI * (first..=last).map(term).sum::<f64>()
}

/// The normal quantile of probability `p = 1/2 + q`, where `log_tail` gives the logarithm of the
/// smaller of `p` and `1 - p`. The caller gives both, since computing one from the other would round
/// it: `q` matters near 1/2, the logarithm in the tails. The rational approximations are Wichura's,
/// Applied Statistics 37 (1988), algorithm AS 241 (PPND16).
fn quantile(q: f64, log_tail: impl FnOnce() -> f64) -> f64 {
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = [
            3.387_132_872_796_366_6,
            1.331_416_678_917_843_8e2,
            1.971_590_950_306_551_3e3,
            1.373_169_376_550_946e4,
            4.592_195_393_154_987e4,
            6.726_577_092_700_87e4,
            3.343_057_558_358_813e4,
            2.509_080_928_730_122_7e3,
        ];
        let below = [
            1.0,
            4.231_333_070_160_091e1,
            6.871_870_074_920_579e2,
            5.394_196_021_424_751e3,
            2.121_379_430_158_659_7e4,
            3.930_789_580_009_271e4,
            2.872_908_573_572_194_3e4,
            5.226_495_278_852_854e3,
        ];
        return q * polynomial(r, &above) / polynomial(r, &below);
    }
    let r = (-log_tail()).sqrt();
    if r == f64::INFINITY {
        return r.copysign(q);
    }
    let size = if r <= 5.0 {
        let above = [
            1.423_437_110_749_683_6,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            2.417_807_251_774_506e-1,
            2.272_384_498_926_918_4e-2,
            7.745_450_142_783_414e-4,
        ];
        let below = [
            1.0,
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            6.897_673_349_851e-1,
            1.481_039_764_274_800_8e-1,
            1.519_866_656_361_645_7e-2,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ];
        polynomial(r - 1.6, &above) / polynomial(r - 1.6, &below)
    } else {
        let above = [
            6.657_904_643_501_103,
            5.463_784_911_164_114,
            1.784_826_539_917_291_3,
            2.965_605_718_285_048_7e-1,
            2.653_218_952_657_612_4e-2,
            1.242_660_947_388_078_4e-3,
            2.711_555_568_743_487_6e-5,
            2.010_334_399_292_288_1e-7,
        ];
        let below = [
            1.0,
            5.998_322_065_558_88e-1,
            1.369_298_809_227_358e-1,
            1.487_536_129_085_061_5e-2,
            7.868_691_311_456_133e-4,
            1.846_318_317_510_054_8e-5,
            1.421_511_758_316_446e-7,
            2.044_263_103_389_939_8e-15,
        ];
        polynomial(r - 5.0, &above) / polynomial(r - 5.0, &below)
    };
    size.copysign(q)
}

/// The inverse of `erf`, by the normal quantile.
pub(crate) fn erfinv(x: f64) -> f64 {
    if x.abs() <= 1.0 {
        quantile(0.5 * x, || (0.5 * (1.0 - x.abs())).ln()) * FRAC_1_SQRT_2
    } else {
        f64::NAN
    }
}

/// The inverse of `erfc`, by the normal quantile.
pub(crate) fn erfcinv(x: f64) -> f64 {
    if (0.0..=2.0).contains(&x) {
        // Half of the smallest number would be 0.
        let log_tail = || x.min(2.0 - x).ln() - LN_2;
        quantile(0.5 * (1.0 - x), log_tail) * FRAC_1_SQRT_2
    } else {
        f64::NAN
    }
}

/// The normal distribution: `erfc(-x / √2) / 2`.
pub(crate) fn ndtr(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The logarithm of [`ndtr`], also where `ndtr` underflows.
pub(crate) fn log_ndtr(x: f64) -> f64 {
    let t = x * FRAC_1_SQRT_2;
    if x < -1.0 {
        (0.5 * erfcx(-t)).ln() - t * t
    } else {
        (-0.5 * libm::erfc(t)).ln_1p()
    }
}

/// The derivative of order `n` of [`log_ndtr`]. Below zero `ln Φ(x)` is `ln(erfcx(t) / 2) - t²` with
/// `t = -x / √2`: the large part is `t²`, whose derivatives from the third on are zero.
pub(crate) fn log_ndtr_derivative(n: i32, x: f64) -> f64 {
    let Ok(order) = usize::try_from(n) else {
        return f64::NAN;
    };
    if n == 0 {
        return log_ndtr(x);
    }
    if x < -1e60 {
        // ln erfcx(t) is -ln t and a constant, whose derivatives are negligible.
        return match n {
            1 => -x,
            2 => -1.0,
            _ => 0.0,
        };
    }
    let below = x < 0.0;
    let t = -x * FRAC_1_SQRT_2;
    let mut factorial = 1.0;
    let mut scale = 1.0;
    let series = (0..=order).map(|k| {
        if k > 0 {
            factorial *= k as f64;
            scale *= -FRAC_1_SQRT_2;
        }
        let derivative = match (below, k) {
            (true, k) => scale * 0.5 * erfcx_derivative(k as i32, t),
            (false, 0) => ndtr(x),
            // The derivative of Φ is the Gaussian density.
            (false, k) => {
                let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
                let power = scale / -FRAC_1_SQRT_2;
                density * power * bell_derivative(k as i32 - 1, t)
            }
        };
        derivative / factorial
    });
    let value = jet::derivative(&jet::logarithm(&series.collect::<Jet>()));
    match n {
        1 if below => value - x,
        2 if below => value - 1.0,
        _ => value,
    }
}

/// The normal quantile, the inverse of [`ndtr`].
pub(crate) fn ndtri(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) {
        quantile(p - 0.5, || p.min(1.0 - p).ln())
    } else {
        f64::NAN
    }
}
