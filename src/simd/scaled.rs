//! Multiplying with a power of two, and dividing by it, without arithmetic on subnormal numbers (those below
//! the smallest normal one, 1.2e-38 in single precision).
//!
//! A processor computes with a subnormal factor or product by microcode, which takes it about a hundred times
//! as long (Intel, "64 and IA-32 Architectures Optimization Reference Manual", on floating-point exceptions).
//! So the bits of these numbers are converted here as the integers that they are.
//!
//! Limits: the power is fixed, large enough that every number times it is normal or 0.

/// The exponent of the power of two: between the least subnormal and the least normal number are 2^23 in
/// single precision, and 2^52 in double.
const POWER: u32 = 60;

/// A number that can be multiplied with 2^[`POWER`] and divided by it.
pub trait Scaled: Copy {
    /// The number times the power, exactly. It must not be beyond the largest number.
    fn raised(self) -> Self;
    /// The number divided by the power, rounded to the nearest.
    fn lowered(self) -> Self;
}

macro_rules! scaled {
    ($type:ident, $bits:ident) => {
        impl Scaled for $type {
            #[inline(always)]
            fn raised(self) -> Self {
                const DIGITS: u32 = $type::MANTISSA_DIGITS - 1;
                // The integer n as the lowest digits of 2^DIGITS + n.
                const INTEGER: $type = (1u64 << DIGITS) as $type;
                // The least subnormal number, times the power.
                const UNIT: $type = $type::MIN_POSITIVE * $type::EPSILON * (1u64 << POWER) as $type;
                let sign = self.to_bits() & (-0.0 as $type).to_bits();
                let size = self.to_bits() ^ sign;
                let subnormal = ($type::from_bits(size | INTEGER.to_bits()) - INTEGER) * UNIT;
                let normal = size.wrapping_add((POWER as $bits) << DIGITS);
                let is_normal = size >= $type::MIN_POSITIVE.to_bits();
                $type::from_bits(
                    sign | if is_normal {
                        normal
                    } else {
                        subnormal.to_bits()
                    },
                )
            }

            #[inline(always)]
            fn lowered(self) -> Self {
                const DIGITS: u32 = $type::MANTISSA_DIGITS - 1;
                const INTEGER: $type = (1u64 << DIGITS) as $type;
                // What becomes the least subnormal number, as a factor that makes it 1.
                const UNITS: $type =
                    1.0 / $type::MIN_POSITIVE / (1u64 << POWER) as $type / $type::EPSILON;
                const LEAST: $type = $type::MIN_POSITIVE * (1u64 << POWER) as $type;
                let sign = self.to_bits() & (-0.0 as $type).to_bits();
                let size = self.to_bits() ^ sign;
                // The sum is rounded to an integer, to the even one if two are as near.
                let units = $type::from_bits(size) * UNITS + INTEGER;
                let subnormal = units.to_bits().wrapping_sub(INTEGER.to_bits());
                let normal = size.wrapping_sub((POWER as $bits) << DIGITS);
                // Also of what is infinite or NaN.
                let is_finite = size < $type::INFINITY.to_bits();
                let normal = if is_finite { normal } else { size };
                $type::from_bits(
                    sign | if size >= LEAST.to_bits() {
                        normal
                    } else {
                        subnormal
                    },
                )
            }
        }
    };
}

scaled!(f32, u32);
scaled!(f64, u64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_multiplication_and_division(bits in any::<u64>()) {
            let power = (1u64 << POWER) as f64;
            let x = f64::from_bits(bits);
            prop_assert!(x.lowered().to_bits() == (x / power).to_bits() || x.is_nan());
            if (x * power).is_finite() {
                prop_assert_eq!(x.raised().to_bits(), (x * power).to_bits());
            }
            let (x, power) = (f32::from_bits(bits as u32), power as f32);
            prop_assert!(x.lowered().to_bits() == (x / power).to_bits() || x.is_nan());
            if (x * power).is_finite() {
                prop_assert_eq!(x.raised().to_bits(), (x * power).to_bits());
            }
        }
    }

    #[test]
    fn so_it_is_at_the_edges() {
        let power = (1u64 << POWER) as f32;
        let edge = f32::MIN_POSITIVE * power;
        let near = |x: f32| (-3..=3).map(move |k| f32::from_bits((x.to_bits() as i32 + k) as u32));
        for x in near(edge)
            .chain(near(edge / 2.0))
            .chain(near(edge * f32::EPSILON / 2.0))
        {
            assert_eq!(x.lowered().to_bits(), (x / power).to_bits(), "{x:e}");
            assert_eq!((-x).lowered().to_bits(), (-x / power).to_bits(), "{x:e}");
        }
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
        assert_eq!(special.map(f32::lowered), special);
        assert!(f32::NAN.lowered().is_nan());
        let small = [0.0, -0.0, 1e-45, -1e-45, f32::MIN_POSITIVE, 1.0];
        for x in small
            .into_iter()
            .chain((0..4).map(|k| f32::from_bits(0x7F_FFFE + k)))
        {
            assert_eq!(x.raised().to_bits(), (x * power).to_bits(), "{x:e}");
        }
    }
}
