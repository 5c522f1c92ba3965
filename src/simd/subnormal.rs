//! Loops over numbers that are, or whose products are, subnormal: finding them, and moving them out of that
//! range and back ([`Scaled`](super::scaled::Scaled)).

use super::Real;
use crate::simd::multiversion;

/// How many times the least normal number is small: as many times as the other factor's numbers may be less
/// than 1, or nearly.
const ABOVE: f64 = (1u64 << 40) as f64;

multiversion! {
    /// Whether a number is so small that its products may be subnormal, and is not 0.
    pub(crate) fn any_tiny<T: Real>(_machine: M, x: &[T]) -> bool {
        let least = T::min_positive_value() * T::of(ABOVE);
        for x in x.chunks(256) {
            // Without a branch for each number, so that LLVM vectorises the loop.
            let mut any = false;
            for &x in x {
                any |= (x != T::zero()) & (x.abs() < least);
            }
            if any {
                return true;
            }
        }
        false
    }
}

multiversion! {
    /// Whether no number is larger than this, or NaN.
    pub(crate) fn all_at_most<T: Real>(_machine: M, x: &[T], most: T) -> bool {
        for x in x.chunks(256) {
            let mut all = true;
            for &x in x {
                all &= x.abs() <= most;
            }
            if !all {
                return false;
            }
        }
        true
    }
}

multiversion! {
    /// Writes each number times the power to `out`.
    pub(crate) fn raise<T: Real>(_machine: M, x: &[T], out: &mut [T]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x.raised();
        }
    }
}

multiversion! {
    /// Divides each number by the power.
    pub(crate) fn lower<T: Real>(_machine: M, x: &mut [T]) {
        for x in x {
            *x = x.lowered();
        }
    }
}
