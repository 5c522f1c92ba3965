//! Passes over a row, a register's worth of numbers at a time.
//!
//! Registers are explicit ([`Vector`]), since LLVM vectorises loops over short rows badly if their
//! length is no constant. What does not fill a register is done number by number.

use crate::array::Real;
use crate::simd::vector::{One, Vector};
use crate::simd::{Isa, Machine};

/// What is done with numbers, a register's worth at a time.
pub(super) trait Pass<T> {
    /// # Safety
    /// The instruction set of `V` is available, and there are numbers to fill it from `at` on.
    unsafe fn at<V: Vector<T>>(&self, at: usize);
}

/// Makes a pass over `length` numbers, which is `WIDTH` if that is not 0.
///
/// # Safety
/// The pass has so many numbers.
#[inline(always)]
pub(super) unsafe fn each<const WIDTH: usize, M: Machine, T: Real>(
    _: M,
    length: usize,
    pass: &impl Pass<T>,
) {
    let mut at = 0;
    macro_rules! by {
        ($register:ty, $lanes:expr) => {
            while length - at >= <$register as Vector<T>>::LANES {
                // SAFETY: a value of `M` was passed, hence the CPU has its features; those of
                // AVX-512 include AVX2. The condition shows that there are numbers left.
                unsafe { pass.at::<$register>(at) };
                at += $lanes;
            }
        };
    }
    match M::ISA {
        Isa::Scalar => by!(T::Scalar, <T::Scalar as Vector<T>>::LANES),
        _ => by!(T::Avx2, <T::Avx2 as Vector<T>>::LANES),
    }
    // The rest is at most 7 numbers. `black_box` hides from LLVM that the step is 1: it would
    // vectorise this loop.
    by!(One<M, T>, std::hint::black_box(1));
}

/// `sum += factor x`, or `sum = factor x` if there is `NONE` yet.
pub(super) struct Add<T, const NONE: bool> {
    pub factor: T,
    pub x: *const T,
    pub sum: *mut T,
}

impl<T: Real, const NONE: bool> Pass<T> for Add<T, NONE> {
    #[inline(always)]
    unsafe fn at<V: Vector<T>>(&self, at: usize) {
        // SAFETY: `Pass::at` is called where the instruction set of `V` is available and the pass has
        // `V::LANES` numbers from `at` on. Whoever makes an `Add` (`grouped::gradient`) gives pointers
        // to as many numbers as it passes to `each`: `x` to read, `sum` its own to read and write.
        unsafe {
            let (x, to) = (V::load(self.x.add(at)), self.sum.add(at));
            let factor = V::splat(self.factor);
            match NONE {
                true => factor.mul(x).store(to),
                false => factor.mul_add(x, V::load(to)).store(to),
            }
        }
    }
}
