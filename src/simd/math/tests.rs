//! Every function against the standard library, in ulps.

use super::VectorMath;
use crate::simd::trigonometric::{FARTHEST, sine_and_cosine};
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

struct Tested {
    name: &'static str,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
    reference: fn(f64) -> f64,
    /// Allowed distance from the reference, which itself may be 1 off in `f64`.
    ulps: u64,
}

macro_rules! functions {
    ($($method:ident, $reference:expr, $ulps:literal;)+) => {
        [$(Tested {
            name: stringify!($method),
            single: <f32 as VectorMath>::$method,
            double: <f64 as VectorMath>::$method,
            reference: $reference,
            ulps: $ulps,
        }),+]
    };
}

const FUNCTIONS: [Tested; 8] = functions! {
    v_exp, f64::exp, 2;
    v_exp_m1, f64::exp_m1, 2;
    v_ln, f64::ln, 2;
    v_ln_1p, f64::ln_1p, 2;
    v_tanh, f64::tanh, 4;
    v_sigmoid, sigmoid, 4;
    v_log_sigmoid, log_sigmoid, 4;
    v_softplus, softplus, 4;
};

/// The functions of angles, on angles that are not too large.
const ANGLES: [Tested; 2] = functions! {
    v_sin, f64::sin, 1;
    v_cos, f64::cos, 1;
};

fn check(x: f64) {
    check_each(x, &FUNCTIONS);
    // The nearest `f32` of it too.
    if x.abs() <= FARTHEST {
        check_each(x, &ANGLES);
    }
}

/// By branches and in vectors, an angle has the same sine and cosine.
fn check_both(x: f64) {
    let (sine, cosine) = sine_and_cosine(x);
    let expected = match x.abs() <= FARTHEST {
        true => (x.v_sin(), x.v_cos()),
        false => (x.sin(), x.cos()),
    };
    let bits = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
    assert_eq!(bits(sine), bits(expected.0), "sin({x:e})");
    assert_eq!(bits(cosine), bits(expected.1), "cos({x:e})");
}

fn check_each(x: f64, functions: &[Tested]) {
    for f in functions {
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
        std::f64::consts::FRAC_PI_4,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
        355.0,
        FARTHEST,
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
    edges().into_iter().for_each(check_both);
    for place in [0.785, 0.786, 2.356, 0.5, 1.0, 1.5, 2.0] {
        for x in [place, place * std::f64::consts::FRAC_PI_2] {
            for x in [x, x.next_up(), x.next_down()] {
                check_both(x);
                check_both(-x);
            }
        }
    }
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
        fn exp_ln<T: crate::simd::Real>(x: &[T], out: &mut [T]) {
            for (out, x) in out.iter_mut().zip(x) {
                *out = x.v_exp() + x.abs().v_ln() + x.v_tanh() + x.v_log_sigmoid() + x.v_sin();
            }
        }
    }
    let x: Vec<f64> = edges();
    let mut out = vec![0.0; x.len()];
    exp_ln(&x, &mut out);
    for (x, out) in x.iter().zip(out) {
        let want = x.v_exp() + x.abs().v_ln() + x.v_tanh() + x.v_log_sigmoid() + x.v_sin();
        assert_eq!(out.ulps(want), 0, "at {x:e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bits_are_within_ulps(bits in any::<u64>(), short in any::<u32>()) {
        check(f64::from_bits(bits));
        check_both(f64::from_bits(bits));
        check(f64::from(f32::from_bits(short)));
    }

    #[test]
    fn common_arguments_are_within_ulps(x in -2.0..2.0, wide in -750.0..750.0, middle in -110.0..110.0) {
        check(x);
        check(wide);
        check(middle);
    }

    #[test]
    fn angles_are_within_ulps(quarters in 0..63_661_i32, x in -FARTHEST..FARTHEST) {
        check_each(x, &ANGLES);
        // Next to zeros of either function, where the quotient has all its digits yet.
        let x = f64::from(quarters) * std::f64::consts::FRAC_PI_2;
        check_each(x, &ANGLES);
        check_each(-x.next_up(), &ANGLES);
        [x, -x.next_up(), x.next_down(), x * 0.5, 1e-4 * x].into_iter().for_each(check_both);
    }
}
