//! Elementwise operators on single numbers, as machine code calls them.
//!
//! A kernel takes slices by address. Machine code has its operands in registers, so it calls a function
//! of numbers by the C calling convention: the scalar function that the kernel's loops are made of
//! ([`Map1`], [`Map2`], [`Map3`]) for one element type, or a [`ScalarFunction`] of `f64`. The result has the
//! bits that the kernel gives for one element; of a NaN, sign and payload may be others.
//!
//! Only operators of the table have one: their scalar functions do not panic, which would end the process
//! here, and reach no memory of anybody's.

use super::ScalarFunction;
use super::elementwise::{Map1, Map2, Map3, anywhere};
use crate::array::{DType, Real, with_real};

/// What computes one element of an operator.
#[allow(
    dead_code,
    reason = "machine code alone reads it, which is a cargo feature"
)]
#[derive(Debug, Clone, Copy)]
pub(crate) enum ElementFunction {
    /// The address of a function `extern "C" fn(T, ..) -> T` of the element type that was asked for and of
    /// as many numbers as the operator has operands.
    Address(usize),
    /// A function of `f64`, through which single precision goes too.
    Function(ScalarFunction),
}

extern "C" fn of_one<T: Real, O: Map1>(x: T) -> T {
    anywhere::<T, O>(x)
}

extern "C" fn of_two<T: Real, O: Map2>(x: T, y: T) -> T {
    O::f(x, y)
}

extern "C" fn of_three<T: Real, O: Map3>(x: T, y: T, z: T) -> T {
    O::f(x, y, z)
}

impl ElementFunction {
    pub(super) fn one<O: Map1>(dtype: DType) -> Self {
        ElementFunction::Address(with_real!(dtype, T => of_one::<T, O> as *const () as usize))
    }

    pub(super) fn two<O: Map2>(dtype: DType) -> Self {
        ElementFunction::Address(with_real!(dtype, T => of_two::<T, O> as *const () as usize))
    }

    pub(super) fn three<O: Map3>(dtype: DType) -> Self {
        ElementFunction::Address(with_real!(dtype, T => of_three::<T, O> as *const () as usize))
    }
}
