//! Sums of products of two vectors that slide along each other: convolutions, and correlations,
//! which are their gradients. None needs more memory than its operands and its result.

use std::ops::Range;

use crate::array::{Real, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::rules::{Argument, Case, Entry, Ex, OpRef, Operator, arity, same_dtype};
use crate::simd::multiversion;

/// Elements of a vector that are combined with all of the other before the next: they stay in the
/// processor's first cache.
const BLOCK: usize = 1024;

/// The lengths of two vectors that have elements.
fn lengths(name: &str, args: &[&Type]) -> Result<(usize, usize)> {
    let [x, y] = arity::<2>(name, args)?;
    same_dtype(name, x, y)?;
    match (&x.shape[..], &y.shape[..]) {
        (&[n], &[m]) if n > 0 && m > 0 => Ok((n, m)),
        _ => Err(Error::Shape(format!(
            "{name}: expected two vectors with elements, got shapes {} and {}",
            show_shape(&x.shape),
            show_shape(&y.shape)
        ))),
    }
}

/// Calls `f` with each block of `n` elements and each of `m`, and polls in between.
fn each_block(n: usize, m: usize, mut f: impl FnMut(Range<usize>, Range<usize>)) -> Result<()> {
    let blocks = |n: usize| (0..n).step_by(BLOCK).map(move |at| at..n.min(at + BLOCK));
    let mut poller = Poller::default();
    for a in blocks(n) {
        for b in blocks(m) {
            let products = a.len() * b.len();
            f(a.clone(), b);
            poller.step(products)?;
        }
    }
    Ok(())
}

/// The convolution of two vectors, wherever they overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Convolve;

multiversion! {
    /// Adds the product of each element of `x` with each of `y` to the sum that both lead to.
    fn spread<T: Real>(x: &[T], y: &[T], out: &mut [T]) {
        for (k, &y) in y.iter().enumerate() {
            for (o, &x) in out[k..k + x.len()].iter_mut().zip(x) {
                *o += y * x;
            }
        }
    }
}

multiversion! {
    /// Adds to each sum the products of `y` with the elements of `x` from the sum's place on.
    fn collect<T: Real>(x: &[T], y: &[T], out: &mut [T]) {
        let n = out.len();
        for (k, &y) in y.iter().enumerate() {
            for (o, &x) in out.iter_mut().zip(&x[k..k + n]) {
                *o += y * x;
            }
        }
    }
}

impl Operator for Convolve {
    fn name(&self) -> &str {
        "convolve"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let (n, m) = lengths("convolve", args)?;
        let length = n
            .checked_add(m - 1)
            .ok_or_else(|| Error::Shape(format!("convolve: lengths {n} and {m} are too large")))?;
        Ok(Type::new(args[0].dtype, &[length]))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            let (x, y) = (args[0].real::<T>(), args[1].real::<T>());
            out.fill(T::default());
            each_block(x.len(), y.len(), |a, b| {
                let sums = a.start + b.start..a.end + b.end - 1;
                spread(&x[a], &y[b], &mut out[sums]);
            })
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.with(&Correlate, &[x[1 - i]]))
    }
}

/// The sums of products of a vector with one that is no longer, wherever that lies within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Correlate;

impl Operator for Correlate {
    fn name(&self) -> &str {
        "correlate"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let (n, m) = lengths("correlate", args)?;
        if n < m {
            return Err(Error::Shape(format!(
                "correlate: a vector of {m} elements does not lie within one of {n}"
            )));
        }
        Ok(Type::new(args[0].dtype, &[n - m + 1]))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            let (x, y) = (args[0].real::<T>(), args[1].real::<T>());
            out.fill(T::default());
            each_block(out.len(), y.len(), |a, b| {
                let among = a.start + b.start..a.end + b.end - 1;
                collect(&x[among], &y[b], &mut out[a]);
            })
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(match i {
            0 => g.with(&Convolve, &[x[1]]),
            _ => x[0].with(&Correlate, &[g]),
        })
    }
}

fn cases(op: &'static dyn Operator, shapes: &[(usize, usize)]) -> Vec<Case> {
    let vector = |n| Argument::real(&[n], &[(-2.0, 2.0)]);
    shapes
        .iter()
        .map(|&(n, m)| Case::new(OpRef::Static(op), vec![vector(n), vector(m)]))
        .collect()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "convolve",
        formula: "Σ_j x_(k-j) y_j",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(&Convolve, &[(4, 3), (3, 4), (1, 1), (5, 1), (1, 4)]),
    },
    Entry {
        name: "correlate",
        formula: "Σ_j x_(k+j) y_j",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(&Correlate, &[(5, 3), (3, 3), (1, 1), (4, 1)]),
    },
];
