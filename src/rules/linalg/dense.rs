//! Single dense matrices: their transposes, and what the crate `faer` needs before it is called.
//!
//! Memory is asked for beforehand, and a lack of it is an [`Error::Memory`]: `faer` would abort. Long
//! calls own what they work on, so that Ctrl-C can leave them behind.

use std::cell::Cell;

use faer::dyn_stack::{MemBuffer, StackReq};
use faer::{Accum, MatMut, MatRef, Par};

use crate::array::{Real, filled};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::process::Mutex;
use crate::reserve;

/// What a multiplication inside `faer` may ask for: room for packed operands, of twice the size of
/// the largest cache, once in each thread.
const PACKED: usize = 128 << 20;

/// Makes sure that products inside `faer` have their memory, for which they ask infallibly.
pub(super) fn prepare() -> Result<()> {
    thread_local! {
        static PREPARED: Cell<bool> = const { Cell::new(false) };
    }
    /// One thread at a time asks: the probe of one would take the memory that another is about to
    /// get for certain.
    static PROBING: Mutex<()> = Mutex::new(());
    if !PREPARED.get() {
        let _probing = PROBING.lock();
        reserve::ahead(1, PACKED).map_err(|_| no_memory())?;
        // The memory that was just asked for is there for this product, which keeps its own.
        let (ones, mut product) = ([1.0; 32 * 32], [0.0; 32 * 32]);
        let ones = MatRef::from_column_major_slice(&ones, 32, 32);
        let product = MatMut::from_column_major_slice_mut(&mut product, 32, 32);
        faer::linalg::matmul::matmul(product, Accum::Replace, ones, ones, 1.0, Par::Seq);
        PREPARED.set(true);
    }
    Ok(())
}

fn no_memory() -> Error {
    Error::Memory("there is no memory for what the decomposition of a matrix takes".into())
}

/// Scratch memory for an algorithm of `faer`.
pub(super) fn scratch(needed: StackReq) -> Result<MemBuffer> {
    prepare()?;
    MemBuffer::try_new(needed).map_err(|_| no_memory())
}

/// From this product of sides on a call takes some milliseconds, and must not keep Ctrl-C waiting.
const LARGE: f64 = (1 << 21) as f64;

/// Runs a call of `faer` on matrices of such sides, which owns all that it works on.
pub(super) fn run<R: Send + 'static>(
    sides: [usize; 3],
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    match sides.into_iter().map(|n| n as f64).product::<f64>() < LARGE {
        true => work(),
        false => interrupt::run_abandonable(work)?,
    }
}

/// Writes the transpose of a matrix in C order with so many columns, as numbers of another type.
/// Square blocks are read and written while they are in the fastest cache.
pub(super) fn transpose<T: Real, U: Real>(x: &[T], columns: usize, out: &mut [U]) {
    const BLOCK: usize = 16;
    let rows = x.len().checked_div(columns).unwrap_or(0);
    for i in (0..rows).step_by(BLOCK) {
        for j in (0..columns).step_by(BLOCK) {
            for r in i..(i + BLOCK).min(rows) {
                for c in j..(j + BLOCK).min(columns) {
                    out[c * rows + r] = U::of(Real::to(x[r * columns + c]));
                }
            }
        }
    }
}

/// The transpose of a matrix in C order with so many columns, in double precision.
pub(super) fn transposed<T: Real>(x: &[T], columns: usize) -> Result<Vec<f64>> {
    let mut out = filled(x.len(), 0.0)?;
    transpose(x, columns, &mut out);
    Ok(out)
}

/// The same numbers as another type.
pub(super) fn converted<T: Real, U: Real>(x: &[T]) -> Result<Vec<U>> {
    let mut out = filled(x.len(), U::zero())?;
    out.iter_mut()
        .zip(x)
        .for_each(|(o, &x)| *o = U::of(Real::to(x)));
    Ok(out)
}

/// The largest absolute value; NaN if there is one.
pub(super) fn largest<T: Real>(x: &[T]) -> T {
    let larger = |m: T, x: &T| match Real::to(*x).is_nan() {
        true => *x,
        false if num_traits::Float::abs(*x) > m => num_traits::Float::abs(*x),
        false => m,
    };
    x.iter().fold(T::default(), larger)
}
