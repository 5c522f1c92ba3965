//! Elementary functions without branches, so that a loop over them vectorises.
//!
//! The functions of the C library are calls: one element at a time, 5 to 20 ns
//! each. These are short sequences of additions, multiplications, one or two
//! divisions, selections and shifts of the bit pattern, all `#[inline(always)]`;
//! in a body of `multiversion!` LLVM computes 4 to 16 elements at once.
//!
//! Accuracy, over all arguments including subnormal ones and results: `v_exp`,
//! `v_ln`, `v_ln_1p` and `v_exp_m1` are within 2 ulp, the others within 4. Zeros
//! keep their sign, infinities and NaN go where the limit says. No product is
//! fused with a sum, so results are the same on every instruction set.
//!
//! Method. `exp` and `exp_m1` split `x = n·ln 2 + r` with `ln 2` in two parts
//! (Cody and Waite, *Software Manual for the Elementary Functions*, 1980) and
//! take a polynomial of `|r| ≤ ln 2 / 2`: Taylor's to degree 13 for `f64`, that
//! of Cephes' `expf.c` (Moshier, 1989) for `f32`. `ln` writes `x = 2^k·(1 + f)`
//! and uses the series in `s = f / (2 + f)` of fdlibm's `e_log.c` and
//! FreeBSD's `e_logf.c` (Sun Microsystems, 1993); `ln_1p` adds the rounding
//! error of `1 + x` back, as `s_log1p.c` does. Coefficients are rounded to the type.
//!
//! Limits: `v_sin` and `v_cos` are right to [`FARTHEST`](trigonometric::FARTHEST) only.

use super::VectorMath;
use super::trigonometric;

/// Evaluates `c[0] + x·(c[1] + x·(c[2] + …))`.
macro_rules! horner {
    ($x:expr, $last:expr) => { $last };
    ($x:expr, $first:expr, $($rest:expr),+) => { $first + $x * horner!($x, $($rest),+) };
}

/// Evaluates a polynomial from its even and its odd coefficients: two chains of
/// half the length, for the processor to run side by side.
macro_rules! polynomial {
    ($x:ident, [$($even:expr),+ $(,)?], [$($odd:expr),+ $(,)?]) => {{
        let square = $x * $x;
        horner!(square, $($even),+) + $x * horner!(square, $($odd),+)
    }};
}

/// Everything but the constants and the two polynomials is the same in both
/// precisions.
macro_rules! implement {
    ($type:ident, $bits:ident, $constants:ident, $sine:ident) => {
        impl $constants {
            /// Adding this rounds to an integer, which the low bits then hold in
            /// two's complement: one and a half times 2 to the mantissa's length.
            const ROUND: $type = 1.5 * (1u64 << Self::MANTISSA) as $type;
            /// Below this magnitude `e^x - 1` and `ln(1 + x)` are `x`.
            const TINY: $type = $type::EPSILON / 4.0;
            const MANTISSA: u32 = $type::MANTISSA_DIGITS - 1;
            const BIAS: $bits = ($type::MAX_EXP - 1) as $bits;

            /// `x = n·ln 2 + r` with `|r| ≤ ln 2 / 2`: returns `n`, `r`.
            #[inline(always)]
            fn reduce(x: $type) -> ($type, $type) {
                let n = (x * std::$type::consts::LOG2_E + Self::ROUND) - Self::ROUND;
                (n, (x - n * Self::LN_2_HIGH) - n * Self::LN_2_LOW)
            }

            /// `2^n` for an integer `n` that is a normal number's exponent.
            #[inline(always)]
            fn power_of_two(n: $type) -> $type {
                let n = (n + Self::ROUND).to_bits();
                // The shift drops all of `n` but its lowest bits.
                $type::from_bits(n.wrapping_add(Self::BIAS) << Self::MANTISSA)
            }

            /// `ln x` for `x` positive and finite.
            #[inline(always)]
            fn ln_positive(x: $type) -> $type {
                const SUBNORMAL: $type = (1u64 << $constants::MANTISSA) as $type;
                let subnormal = x < $type::MIN_POSITIVE;
                let scaled = if subnormal { x * SUBNORMAL } else { x };
                let shift = if subnormal {
                    $constants::MANTISSA as $type
                } else {
                    0.0
                };

                // x = 2^k·m with m in [√½, √2): moving √½'s bits to 1's makes the
                // exponent field switch where it should.
                let offset = (1.0 as $type).to_bits() - Self::SQRT_HALF;
                let moved = scaled.to_bits().wrapping_add(offset);
                // An integer in the mantissa of 2^MANTISSA is a number, less that power.
                let integer = SUBNORMAL.to_bits() | (moved >> Self::MANTISSA);
                let k = $type::from_bits(integer) - (SUBNORMAL + Self::BIAS as $type) - shift;
                let mantissa = moved & ((1 << Self::MANTISSA) - 1);
                let f = $type::from_bits(mantissa + Self::SQRT_HALF) - 1.0;

                Self::ln_reduced(k, f)
            }

            /// `ln(1 + y)` for `0 ≤ y ≤ 1`, where no rounding comes before the
            /// series: `(1 + y) / 2 - 1 = (y - 1) / 2` is exact.
            #[inline(always)]
            fn ln_1p_unit(y: $type) -> $type {
                let halve = y > std::$type::consts::SQRT_2 - 1.0;
                let f = if halve { 0.5 * (y - 1.0) } else { y };
                let k = if halve { 1.0 } else { 0.0 };
                Self::ln_reduced(k, f)
            }

            /// `k·ln 2 + ln(1 + f)` for `1 + f` between √½ and √2.
            #[inline(always)]
            fn ln_reduced(k: $type, f: $type) -> $type {
                let s = f / (2.0 + f);
                let half_square = 0.5 * f * f;
                let series = s * (half_square + Self::ln_series(s * s));
                k * Self::LN_2_HIGH - ((half_square - (series + k * Self::LN_2_LOW)) - f)
            }
        }

        impl VectorMath for $type {
            #[inline(always)]
            fn v_exp(self) -> Self {
                // Beyond these the result is 0 or infinite. NaN passes through.
                let x = if self > $constants::EXP_MAX {
                    $constants::EXP_MAX
                } else {
                    self
                };
                let x = if x < $constants::EXP_MIN {
                    $constants::EXP_MIN
                } else {
                    x
                };
                let (n, r) = $constants::reduce(x);
                // 2^n in two steps, so that each is a normal number, and only the
                // last one rounds if the result is subnormal.
                let half = (0.5 * n + $constants::ROUND) - $constants::ROUND;
                (1.0 + $constants::exp_m1_reduced(r))
                    * $constants::power_of_two(half)
                    * $constants::power_of_two(n - half)
            }

            #[inline(always)]
            fn v_exp_m1(self) -> Self {
                let x = if self > $constants::EXP_MAX {
                    $constants::EXP_MAX
                } else {
                    self
                };
                // Below the logarithm of a quarter ulp the result is -1.
                let x = if x < $constants::EXP_M1_MIN {
                    $constants::EXP_M1_MIN
                } else {
                    x
                };
                let (n, r) = $constants::reduce(x);
                // Half of the result, so that 2^n may be as large as the largest result.
                let scale = $constants::power_of_two(n - 1.0);
                let result = 2.0 * (scale * $constants::exp_m1_reduced(r) + (scale - 0.5));
                if self.abs() < $constants::TINY {
                    self
                } else {
                    result
                }
            }

            #[inline(always)]
            fn v_ln(self) -> Self {
                let result = $constants::ln_positive(self);
                let result = if self == $type::INFINITY {
                    self
                } else {
                    result
                };
                let result = if self == 0.0 {
                    $type::NEG_INFINITY
                } else {
                    result
                };
                if self >= 0.0 { result } else { $type::NAN }
            }

            #[inline(always)]
            fn v_ln_1p(self) -> Self {
                let u = 1.0 + self;
                // What rounding took from u, seen through the logarithm's slope.
                let lost = (self - (u - 1.0)) / u;
                let result = $constants::ln_positive(u) + lost;
                let result = if u == $type::INFINITY { u } else { result };
                let result = if u == 0.0 {
                    $type::NEG_INFINITY
                } else {
                    result
                };
                let result = if u >= 0.0 { result } else { $type::NAN };
                if self.abs() < $constants::TINY {
                    self
                } else {
                    result
                }
            }

            #[inline(always)]
            fn v_tanh(self) -> Self {
                let t = (-2.0 * self.abs()).v_exp_m1();
                (-t / (t + 2.0)).copysign(self)
            }

            #[inline(always)]
            fn v_sigmoid(self) -> Self {
                let e = (-self.abs()).v_exp();
                let numerator = if self >= 0.0 { 1.0 } else { e };
                numerator / (1.0 + e)
            }

            #[inline(always)]
            fn v_log_sigmoid(self) -> Self {
                let low = if self < 0.0 { self } else { 0.0 };
                low - $constants::ln_1p_unit((-self.abs()).v_exp())
            }

            #[inline(always)]
            fn v_softplus(self) -> Self {
                let high = if self > 0.0 { self } else { 0.0 };
                high + $constants::ln_1p_unit((-self.abs()).v_exp())
            }

            #[inline(always)]
            fn v_sin(self) -> Self {
                trigonometric::$sine(self, 0)
            }

            #[inline(always)]
            fn v_cos(self) -> Self {
                trigonometric::$sine(self, 1)
            }
        }
    };
}

/// Constants of `f32`.
struct Single;

impl Single {
    /// `e^x` is infinite here and above.
    const EXP_MAX: f32 = 89.0;
    /// `e^x` is 0 here and below.
    const EXP_MIN: f32 = -104.0;
    const EXP_M1_MIN: f32 = -18.0;
    /// The upper bits of ln 2, so few that their product with an exponent is exact.
    const LN_2_HIGH: f32 = f32::from_bits(0x3f31_7200);
    const LN_2_LOW: f32 = f32::from_bits(0x35bf_be8e);
    /// The bits of √½.
    const SQRT_HALF: u32 = 0x3f35_04f3;

    /// `e^r - 1` for `|r| ≤ ln 2 / 2`.
    #[inline(always)]
    fn exp_m1_reduced(r: f32) -> f32 {
        let q = polynomial!(
            r,
            [5e-1, 4.166_579_6e-2, 1.398_199_9e-3],
            [1.666_666_6e-1, 8.333_452e-3, 1.987_569_1e-4]
        );
        r + r * r * q
    }

    /// `(ln(1 + f) - 2s) / s` with `f = 2s / (1 - s)`, given `z = s²`.
    #[inline(always)]
    fn ln_series(z: f32) -> f32 {
        z * polynomial!(z, [0.666_666_6, 0.284_987_87], [0.400_009_72, 0.242_790_79])
    }
}

/// Constants of `f64`.
struct Double;

impl Double {
    /// `e^x` is infinite here and above.
    const EXP_MAX: f64 = 710.0;
    /// `e^x` is 0 here and below.
    const EXP_MIN: f64 = -746.0;
    const EXP_M1_MIN: f64 = -40.0;
    /// The upper bits of ln 2, so few that their product with an exponent is exact.
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// The bits of √½, rounded down to its upper half.
    const SQRT_HALF: u64 = 0x3fe6_a09e_0000_0000;

    /// `e^r - 1` for `|r| ≤ ln 2 / 2`.
    #[inline(always)]
    fn exp_m1_reduced(r: f64) -> f64 {
        let q = polynomial!(
            r,
            [
                1.0 / 2.0,
                1.0 / 24.0,
                1.0 / 720.0,
                1.0 / 40_320.0,
                1.0 / 3_628_800.0,
                1.0 / 479_001_600.0
            ],
            [
                1.0 / 6.0,
                1.0 / 120.0,
                1.0 / 5_040.0,
                1.0 / 362_880.0,
                1.0 / 39_916_800.0,
                1.0 / 6_227_020_800.0
            ]
        );
        r + r * r * q
    }

    /// `(ln(1 + f) - 2s) / s` with `f = 2s / (1 - s)`, given `z = s²`.
    #[inline(always)]
    fn ln_series(z: f64) -> f64 {
        z * polynomial!(
            z,
            [
                6.666_666_666_666_735e-1,
                2.857_142_874_366_239e-1,
                1.818_357_216_161_805e-1,
                1.479_819_860_511_658_6e-1
            ],
            [
                3.999_999_999_940_942e-1,
                2.222_219_843_214_978_4e-1,
                1.531_383_769_920_937_3e-1
            ]
        )
    }
}

implement!(f32, u32, Single, sine_f32);
implement!(f64, u64, Double, sine_f64);

#[cfg(test)]
mod tests;
