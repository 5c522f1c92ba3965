//! Products of factors that hold subnormal numbers, or numbers whose products may be subnormal.
//!
//! Gradients get there that shrink from step to step of a long sequence, and a processor takes a hundred
//! times as long for such products ([`crate::simd::subnormal`]). To have these numbers taken for zeros is a
//! mode of the processor that Rust code may not run in, and would be wrong where the other factor is large. So
//! a factor is multiplied with a power of two first, exactly, and the product is divided by it in the end.
//! Sums are rounded as they were or, where they were subnormal, to more digits before they are divided.
//!
//! Limits: a factor is looked through if each of its numbers is multiplied often enough to pay for it, and if
//! it fits in a cache. Where a number of either factor is so large that a sum could overflow, the product is
//! the plain one.

use crate::array::{Real, filled};
use crate::simd::subnormal::{any_tiny, lower, raise};

/// What no number may exceed: a million products of two, times 2^60, are below the largest number.
const MOST: f64 = (1u64 << 20) as f64;

/// How often each number is multiplied, at least, in a factor that is looked through.
const USES: usize = 32;

/// Bytes of the largest factor that is looked through.
const NEAR: usize = 1 << 20;

/// Calls `multiply` with two factors, each given with how often its numbers are multiplied, and its result.
/// If one holds small numbers, it is multiplied with a power of two, and then the result is divided by it.
pub(super) fn multiplied<T: Real, R>(
    (a, uses_of_a): (&[T], usize),
    (b, uses_of_b): (&[T], usize),
    out: &mut [T],
    multiply: impl Fn(&[T], &[T], &mut [T]) -> R,
) -> R {
    let is_tiny = |x: &[T], uses| uses >= USES && size_of_val(x) <= NEAR && any_tiny(x);
    let raised = if is_tiny(a, uses_of_a) {
        raised(a, b).map(|a| (a, true))
    } else if is_tiny(b, uses_of_b) {
        raised(b, a).map(|b| (b, false))
    } else {
        None
    };
    let Some((raised, is_first)) = raised else {
        return multiply(a, b, out);
    };
    let result = match is_first {
        true => multiply(&raised, b, out),
        false => multiply(a, &raised, out),
    };
    lower(out);
    result
}

/// A factor times the power of two, if no product with the other overflows, and there is the memory.
#[cold]
fn raised<T: Real>(x: &[T], other: &[T]) -> Option<Vec<T>> {
    let is_small = |x: &[T]| x.len() <= NEAR && x.iter().all(|x| x.abs() <= T::of(MOST));
    if !(is_small(x) && is_small(other)) {
        return None;
    }
    let mut raised = filled(x.len(), T::zero()).ok()?;
    raise(x, &mut raised);
    Some(raised)
}
