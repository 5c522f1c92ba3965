//! Loops over scalar functions, compiled once per instruction set and chosen at run time.
//!
//! A loop takes blocks of a fixed length, which becomes straight vector code. Fewer elements are
//! filled up to a block, so that no loop is compiled for what is left over. What an element's
//! value is does not depend on its neighbours.

use crate::array::Real;
use crate::simd::multiversion;

/// A scalar function of one number, for which a loop is compiled for each instruction set.
pub trait Map1: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T) -> T;

    /// Whether [`f`](Self::f) is right at `x`.
    #[inline(always)]
    fn within<T: Real>(_x: T) -> bool {
        true
    }

    /// The function's value where [`f`](Self::f) is not right.
    #[inline(always)]
    fn beyond<T: Real>(x: T) -> T {
        Self::f(x)
    }
}

/// The function's value, by whichever of its two forms is right at `x`.
#[inline(always)]
pub(in crate::rules) fn anywhere<T: Real, O: Map1>(x: T) -> T {
    if O::within(x) { O::f(x) } else { O::beyond(x) }
}

/// A function of two numbers.
pub trait Map2: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T, y: T) -> T;
}

/// A function of three numbers.
pub trait Map3: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T, y: T, z: T) -> T;
}

/// Elements per step of an elementwise loop. A loop of fixed length becomes straight vector
/// code, also for arrays far shorter than those for which LLVM's own vector loops pay.
pub(in crate::rules) const LANES: usize = 16;

/// Computes a block in which some elements are outside of the bound, so that each element chooses
/// the form of the function that is right for it.
#[inline(never)]
fn one_by_one<T: Real, O: Map1>(x: &[T], out: &mut [T]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o = anywhere::<T, O>(*x);
    }
}

multiversion! {
    /// Computes `f` of at least [`LANES`] elements, in blocks of [`LANES`]. The last block ends with
    /// the array and may overlap the one before, so that no second loop is compiled for a remainder.
    #[inline(never)]
    fn each<T: Real, O: Map1>(x: &[T], out: &mut [T]) {
        let n = out.len();
        for start in (0..n).step_by(LANES) {
            let at = start.min(n - LANES);
            let (x, out) = (x[at..].first_chunk::<LANES>(), out[at..].first_chunk_mut::<LANES>());
            if let (Some(x), Some(o)) = (x, out) {
                let mut all = true;
                for &x in x {
                    all &= O::within(x);
                }
                if all {
                    for l in 0..LANES {
                        o[l] = O::f(x[l]);
                    }
                } else {
                    one_by_one::<T, O>(x, o);
                }
            }
        }
    }
}

multiversion! {
    /// Computes `f` of pairs of elements, in blocks as [`each`] does.
    #[inline(never)]
    fn pairs<T: Real, O: Map2>(x: &[T], y: &[T], out: &mut [T]) {
        let n = out.len();
        for start in (0..n).step_by(LANES) {
            let at = start.min(n - LANES);
            let (x, y) = (x[at..].first_chunk::<LANES>(), y[at..].first_chunk::<LANES>());
            if let (Some(x), Some(y), Some(o)) = (x, y, out[at..].first_chunk_mut::<LANES>()) {
                for l in 0..LANES {
                    o[l] = O::f(x[l], y[l]);
                }
            }
        }
    }
}

/// `x`, filled up to a block with zeros.
fn padded<T: Real>(x: &[T]) -> [T; LANES] {
    let mut block = [T::zero(); LANES];
    block[..x.len()].copy_from_slice(x);
    block
}

/// Writes one value to all elements. A single element, which is the commonest, is written without
/// the call that filling costs.
#[inline(always)]
fn fill<T: Real>(x: T, out: &mut [T]) {
    match out {
        [o] => *o = x,
        out => fill_all(x, out),
    }
}

#[inline(never)]
fn fill_all<T: Real>(x: T, out: &mut [T]) {
    out.fill(x);
}

/// Calls `f`, which needs at least [`LANES`] elements, for any number of them: fewer are copied to a
/// block and back.
#[inline(never)]
fn any_number<T: Real>(f: fn(&[T], &mut [T]), x: &[T], out: &mut [T]) {
    if out.len() >= LANES {
        f(x, out);
        return;
    }
    let mut block = [T::zero(); LANES];
    f(&padded(x), &mut block);
    out.copy_from_slice(&block[..out.len()]);
}

/// As [`any_number`], for pairs. An operand of one element is repeated in a block, which costs little;
/// otherwise every function would need two more loops, for a constant on either side.
#[inline(never)]
fn any_pairs<T: Real>(f: fn(&[T], &[T], &mut [T]), x: &[T], y: &[T], out: &mut [T]) {
    let n = out.len();
    if n < LANES {
        let block = |s: &[T]| match s {
            [x] => [*x; LANES],
            s => padded(s),
        };
        let mut results = [T::zero(); LANES];
        f(&block(x), &block(y), &mut results);
        out.copy_from_slice(&results[..n]);
        return;
    }
    let constant = match (x, y) {
        ([x], _) | (_, [x]) => *x,
        _ => return f(x, y, out),
    };
    let few = [constant; 4 * LANES];
    let many;
    let block: &[T] = if n <= few.len() {
        &few
    } else {
        many = [constant; 16 * LANES];
        &many
    };
    let length = n.min(block.len());
    let block = &block[..length];
    for start in (0..n).step_by(length) {
        // The last part ends with the array and may overlap the one before.
        let at = start.min(n - length);
        let part = at..at + length;
        if x.len() == 1 {
            f(block, &y[part.clone()], &mut out[part]);
        } else {
            f(&x[part.clone()], block, &mut out[part]);
        }
    }
}

pub(in crate::rules) fn map1<T: Real, O: Map1>(x: &[T], out: &mut [T]) {
    match x {
        [x] => fill(anywhere::<T, O>(*x), out),
        x => any_number(each::<T, O>, x, out),
    }
}

pub(in crate::rules) fn map2<T: Real, O: Map2>(x: &[T], y: &[T], out: &mut [T]) {
    match (x, y) {
        ([x], [y]) => fill(O::f(*x, *y), out),
        (x, y) => any_pairs(pairs::<T, O>, x, y, out),
    }
}

multiversion! {
    pub(in crate::rules) fn map3<T: Real, O: Map3>(x: &[T], y: &[T], z: &[T], out: &mut [T]) {
        // The index of an operand of one element is multiplied by 0, so that it is read each time.
        let step = |s: &[T]| usize::from(s.len() != 1);
        let (sx, sy, sz) = (step(x), step(y), step(z));
        if sx & sy & sz == 1 {
            for (((o, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                *o = O::f(x, y, z);
            }
        } else {
            for (i, o) in out.iter_mut().enumerate() {
                *o = O::f(x[i * sx], y[i * sy], z[i * sz]);
            }
        }
    }
}
