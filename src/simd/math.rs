//! Elementary functions without branches, so that a loop over them vectorises.
//!
//! The functions of the C library are calls: one element at a time, 5 to 20 ns
//! each. These are short sequences of additions, multiplications, one division
//! at most two, selections and shifts of the bit pattern, all
//! `#[inline(always)]`; in a body of `multiversion!` LLVM computes 4 to 16
//! elements at once.
//!
//! Accuracy, over all arguments including subnormal ones and results: `v_exp`,
//! `v_ln`, `v_ln_1p`, `v_exp_m1` are within 2 ulp; `v_tanh`, `v_sigmoid`,
//! `v_softplus`, `v_log_sigmoid` within 4. Zeros keep their sign, infinities and NaN go
//! where the limit says. No product is fused with a sum, so results are the same
//! on every instruction set.
//!
//! Method. `exp` and `exp_m1` split `x = n·ln 2 + r` with `ln 2` in two parts
//! (Cody and Waite, *Software Manual for the Elementary Functions*, 1980) and
//! take a polynomial of `|r| ≤ ln 2 / 2`: Taylor's to degree 13 for `f64`, that
//! of Cephes' `expf.c` (Moshier, 1989) for `f32`. `ln` writes `x = 2^k·(1 + f)`
//! and uses the series in `s = f / (2 + f)` of fdlibm's `e_log.c` and
//! FreeBSD's `e_logf.c` (Sun Microsystems, 1993); `ln_1p` adds the rounding
//! error of `1 + x` back, as `s_log1p.c` does.
//!
//! Limits: `v_sin` and `v_cos` call the standard library and do not vectorise.
//! For large arguments they need hundreds of bits of π, which only a branch can
//! spare the small ones.

/// The elementary functions of one floating-point type.
pub trait VectorMath: Sized {
    /// `e^x`.
    fn v_exp(self) -> Self;
    /// `e^x - 1`, accurate near 0.
    fn v_exp_m1(self) -> Self;
    /// The natural logarithm; `-inf` at 0, NaN below.
    fn v_ln(self) -> Self;
    /// `ln(1 + x)`, accurate near 0; `-inf` at -1, NaN below.
    fn v_ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn v_tanh(self) -> Self;
    /// `1 / (1 + e^-x)`, accurate in both tails.
    fn v_sigmoid(self) -> Self;
    /// `ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|)`, finite for finite `x`.
    fn v_log_sigmoid(self) -> Self;
    /// `ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)`, finite for finite `x`.
    fn v_softplus(self) -> Self;
    /// The sine of an angle in radians (the standard library's).
    fn v_sin(self) -> Self;
    /// The cosine of an angle in radians (the standard library's).
    fn v_cos(self) -> Self;
}

/// Evaluates `c[0] + x·(c[1] + x·(c[2] + …))`.
macro_rules! horner {
    ($x:expr, $last:expr) => { $last };
    ($x:expr, $first:expr, $($rest:expr),+) => { $first + $x * horner!($x, $($rest),+) };
}

/// Everything but the constants and the two polynomials is the same in both
/// precisions.
macro_rules! implement {
    ($type:ident, $bits:ident, $constants:ident) => {
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
                low - (-self.abs()).v_exp().v_ln_1p()
            }

            #[inline(always)]
            fn v_softplus(self) -> Self {
                let high = if self > 0.0 { self } else { 0.0 };
                high + (-self.abs()).v_exp().v_ln_1p()
            }

            #[inline(always)]
            fn v_sin(self) -> Self {
                self.sin()
            }

            #[inline(always)]
            fn v_cos(self) -> Self {
                self.cos()
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
        let q = horner!(
            r,
            5e-1,
            1.666_666_6e-1,
            4.166_579_6e-2,
            8.333_452e-3,
            1.398_199_9e-3,
            1.987_569_1e-4
        );
        r + r * r * q
    }

    /// `(ln(1 + f) - 2s) / s` with `f = 2s / (1 - s)`, given `z = s²`.
    #[inline(always)]
    fn ln_series(z: f32) -> f32 {
        z * horner!(z, 0.666_666_6, 0.400_009_72, 0.284_987_87, 0.242_790_79)
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
        let q = horner!(
            r,
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5_040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
            1.0 / 479_001_600.0,
            1.0 / 6_227_020_800.0
        );
        r + r * r * q
    }

    /// `(ln(1 + f) - 2s) / s` with `f = 2s / (1 - s)`, given `z = s²`.
    #[inline(always)]
    fn ln_series(z: f64) -> f64 {
        z * horner!(
            z,
            6.666_666_666_666_735e-1,
            3.999_999_999_940_942e-1,
            2.857_142_874_366_239e-1,
            2.222_219_843_214_978_4e-1,
            1.818_357_216_161_805e-1,
            1.531_383_769_920_937_3e-1,
            1.479_819_860_511_658_6e-1
        )
    }
}

implement!(f32, u32, Single);
implement!(f64, u64, Double);

#[cfg(test)]
mod tests {
    use super::VectorMath;
    use proptest::prelude::*;

    /// How many representable numbers lie between two, 0 for two NaNs.
    trait Ulps {
        fn ulps(self, other: Self) -> u64;
    }
    impl Ulps for f32 {
        fn ulps(self, other: f32) -> u64 {
            let place = |x: f32| {
                let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
                if x.is_sign_negative() {
                    -magnitude
                } else {
                    magnitude
                }
            };
            match (self.is_nan(), other.is_nan()) {
                (true, true) => 0,
                (false, false) => place(self).abs_diff(place(other)),
                _ => u64::MAX,
            }
        }
    }
    impl Ulps for f64 {
        fn ulps(self, other: f64) -> u64 {
            let place = |x: f64| {
                let magnitude = i128::from(x.to_bits() & !(1 << 63));
                if x.is_sign_negative() {
                    -magnitude
                } else {
                    magnitude
                }
            };
            match (self.is_nan(), other.is_nan()) {
                (true, true) => 0,
                (false, false) => place(self).abs_diff(place(other)) as u64,
                _ => u64::MAX,
            }
        }
    }

    // References in f64, from the standard library and the definitions.
    fn sigmoid(x: f64) -> f64 {
        if x < 0.0 {
            x.exp() / (1.0 + x.exp())
        } else {
            1.0 / (1.0 + (-x).exp())
        }
    }
    fn log_sigmoid(x: f64) -> f64 {
        -softplus(-x)
    }
    fn softplus(x: f64) -> f64 {
        if x > 0.0 {
            x + (-x).exp().ln_1p()
        } else {
            x.exp().ln_1p()
        }
    }

    struct Function {
        name: &'static str,
        single: fn(f32) -> f32,
        double: fn(f64) -> f64,
        reference: fn(f64) -> f64,
        /// Allowed distance from the reference, which itself may be 1 off in `f64`.
        ulps: u64,
    }

    macro_rules! functions {
        ($($method:ident, $reference:expr, $ulps:literal;)+) => {
            [$(Function {
                name: stringify!($method),
                single: <f32 as VectorMath>::$method,
                double: <f64 as VectorMath>::$method,
                reference: $reference,
                ulps: $ulps,
            }),+]
        };
    }

    const FUNCTIONS: [Function; 10] = functions! {
        v_exp, f64::exp, 2;
        v_exp_m1, f64::exp_m1, 2;
        v_ln, f64::ln, 2;
        v_ln_1p, f64::ln_1p, 2;
        v_tanh, f64::tanh, 4;
        v_sigmoid, sigmoid, 4;
        v_log_sigmoid, log_sigmoid, 4;
        v_softplus, softplus, 4;
        v_sin, f64::sin, 1;
        v_cos, f64::cos, 1;
    };

    fn check(x: f64) {
        for f in &FUNCTIONS {
            let (got, want) = ((f.double)(x), (f.reference)(x));
            assert!(
                got.ulps(want) <= f.ulps,
                "{}({x:e}f64) = {got:e}, not {want:e}",
                f.name
            );
            let x = x as f32;
            let (got, want) = ((f.single)(x), (f.reference)(f64::from(x)) as f32);
            assert!(
                got.ulps(want) <= f.ulps,
                "{}({x:e}f32) = {got:e}, not {want:e}",
                f.name
            );
        }
    }

    /// Every place where something ends or changes, and its neighbours.
    fn edges() -> Vec<f64> {
        let places = [
            0.0,
            f64::MIN_POSITIVE,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
            f64::EPSILON,
            1.0,
            2.0,
            0.5,
            std::f64::consts::LN_2,
            0.5 * std::f64::consts::LN_2,
            std::f64::consts::SQRT_2,
            std::f64::consts::FRAC_1_SQRT_2,
            3.5 * std::f64::consts::LN_2,
            709.782_712_893_384,
            745.133_219_101_941_1,
            708.396_418_532_264_1,
            710.0,
            746.0,
            88.722_839,
            103.972_08,
            87.336_54,
            89.0,
            104.0,
            17.0,
            18.0,
            37.0,
            38.0,
            40.0,
            1000.0,
            1e-8,
            1e-16,
            1e-40,
            1e-310,
            f64::from_bits(1),
            f64::from(f32::from_bits(1)),
            f64::from(f32::MIN_POSITIVE),
            f64::from(f32::MAX),
            f64::from(f32::EPSILON),
        ];
        let mut edges = Vec::new();
        for place in places {
            for sign in [1.0, -1.0] {
                let x: f64 = sign * place;
                let single = x as f32;
                edges.extend([x, x.next_up(), x.next_down()]);
                edges.extend([f64::from(single.next_up()), f64::from(single.next_down())]);
            }
        }
        edges
    }

    #[test]
    fn edges_are_right() {
        edges().into_iter().for_each(check);
    }

    #[test]
    fn zeros_keep_their_sign() {
        for x in [0.0f64, -0.0] {
            for f in [f64::v_exp_m1, f64::v_ln_1p, f64::v_tanh, f64::v_sin] {
                assert_eq!(f(x).to_bits(), x.to_bits());
            }
            let x = x as f32;
            for f in [f32::v_exp_m1, f32::v_ln_1p, f32::v_tanh, f32::v_sin] {
                assert_eq!(f(x).to_bits(), x.to_bits());
            }
        }
    }

    #[test]
    fn far_out_is_stable() {
        assert_eq!(1000f64.v_log_sigmoid(), 0.0);
        assert_eq!((-1000f64).v_log_sigmoid(), -1000.0);
        assert_eq!(1000f32.v_softplus(), 1000.0);
        assert_eq!((-1000f32).v_softplus(), 0.0);
        assert_eq!(((-1000f64).v_sigmoid(), 1000f64.v_sigmoid()), (0.0, 1.0));
        assert_eq!(((-1000f32).v_tanh(), 1000f32.v_tanh()), (-1.0, 1.0));
    }

    #[test]
    fn every_instruction_set_agrees() {
        crate::simd::multiversion! {
            fn exp_ln<T: crate::array::dtype::Real>(x: &[T], out: &mut [T]) {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = x.v_exp() + x.abs().v_ln() + x.v_tanh() + x.v_log_sigmoid();
                }
            }
        }
        let x: Vec<f64> = edges();
        let mut out = vec![0.0; x.len()];
        exp_ln(&x, &mut out);
        for (x, out) in x.iter().zip(out) {
            let want = x.v_exp() + x.abs().v_ln() + x.v_tanh() + x.v_log_sigmoid();
            assert_eq!(out.ulps(want), 0, "at {x:e}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn any_bits_are_within_ulps(bits in any::<u64>(), short in any::<u32>()) {
            check(f64::from_bits(bits));
            check(f64::from(f32::from_bits(short)));
        }

        #[test]
        fn common_arguments_are_within_ulps(x in -2.0..2.0, wide in -750.0..750.0, middle in -110.0..110.0) {
            check(x);
            check(wide);
            check(middle);
        }
    }
}
