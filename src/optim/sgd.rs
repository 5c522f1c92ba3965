//! Stochastic gradient descent on rows without other state: `w ← (1 − lr l2) w − lr g`.
//!
//! It is linear in the gradient and the parameter, so equal rows need not be summed first: each term
//! of each row is added straight to the table, in order of arrival, and the row shrinks in the same
//! pass, each time that it occurs or the first time only ([`Shrink`]). This is the rule that large
//! sparse models are trained with, so its loops are kept bare: one for every form of a term,
//! compiled for the usual widths.

use super::gradient::{Access, GradientRows, Term};
use crate::array::{Number, Real};
use crate::simd::{self, Machine, by_width, multiversion};
use crate::table::{Table, moves};

/// How rows are reached, as a type.
trait Reach {
    const ACCESS: Access;
}

struct Alone;
impl Reach for Alone {
    const ACCESS: Access = Access::Alone;
}

struct Shared;
impl Reach for Shared {
    const ACCESS: Access = Access::Shared;
}

/// What rows are multiplied with before a gradient is added to them.
#[derive(Clone, Copy)]
pub(super) enum Shrink<'a, T> {
    /// Each occurrence of a row, by the same factor.
    All(T),
    /// The first occurrence of a row: where the flag of an occurrence, over all parts, is set.
    First(T, &'a [bool]),
}

impl<T: Number> Shrink<'_, T> {
    /// The factor of occurrence `k`.
    #[inline(always)]
    fn factor(&self, k: usize) -> T {
        match *self {
            Shrink::All(factor) => factor,
            Shrink::First(factor, first) => match first[k] {
                true => factor,
                false => T::one(),
            },
        }
    }

    /// Without the first `count` occurrences.
    fn after(self, count: usize) -> Self {
        match self {
            Shrink::First(factor, first) => Shrink::First(factor, &first[count..]),
            all => all,
        }
    }
}

/// The row at `at`, to be changed: in place, or a copy that [`finish`] takes back.
///
/// # Safety
/// `at` is a row as long as `copy`. If `A` is [`Alone`] nobody else uses it, else everybody
/// uses moves.
#[inline(always)]
unsafe fn begin<A: Reach, M: Machine, T: Real>(m: M, at: *mut T, copy: &mut [T]) -> &mut [T] {
    if A::ACCESS == Access::Alone {
        // SAFETY: `at` is a row of `copy.len()` numbers in the table's memory, hence valid and aligned.
        // `A` is `Alone`, so nobody else uses it while the slice lives: `add` and `add_two` drop it
        // before they take the next row.
        return unsafe { std::slice::from_raw_parts_mut(at, copy.len()) };
    }
    // SAFETY: `at` is a row of `copy.len()` numbers in the table's memory, and `A` is not `Alone`, so
    // everybody writes it by moves only.
    unsafe { moves::load_row_on(m, at, copy) };
    copy
}

/// Puts the row at `at` back, if it was copied.
///
/// # Safety
/// As for [`begin`].
#[inline(always)]
unsafe fn finish<A: Reach, M: Machine, T: Real>(m: M, at: *mut T, copy: &[T]) {
    if A::ACCESS == Access::Shared {
        // SAFETY: `at` is a row of `copy.len()` numbers in the table's memory, and `A` is `Shared`, so
        // everybody reads and writes it by moves only.
        unsafe { moves::store_row_on(m, at, copy) };
    }
}

multiversion! {
    /// Adds `step` times a term to the rows `indices`, which shrink before.
    #[allow(clippy::too_many_arguments, reason = "what a kernel needs, as plain values")]
    fn add<T: Number, A: Reach>(
        m: M, table: &Table, indices: &[u32], shrink: Shrink<'_, T>, step: T, term: Term<&[T]>,
        copy: &mut [T], _reach: A,
    ) {
        let start = table.pointer::<T>();
        by_width!(M, T, copy.len(), W => {
            let copy = &mut copy[..W];
            let rows = indices.iter().zip(term.rows.chunks_exact(W)).enumerate();
            for (k, (&i, x)) in rows {
                let factor = term.factor(k, step);
                // SAFETY: only `rows` calls this. By its conditions `i` is a row of the table, whose
                // rows have `copy.len()`, that is `W`, numbers, and others use the table as `A` says.
                unsafe {
                    let at = start.wrapping_add(i as usize * W);
                    let w = begin::<A, M, T>(m, at, copy);
                    simd::dot::axpby(m, factor, x, shrink.factor(k), w);
                    finish::<A, M, T>(m, at, copy);
                }
            }
        });
    }
}

multiversion! {
    /// Adds `step` times two terms to the rows `indices`, which shrink before.
    #[allow(clippy::too_many_arguments, reason = "two terms of two each")]
    fn add_two<T: Number, A: Reach>(
        m: M, table: &Table, indices: &[u32], shrink: Shrink<'_, T>, step: T,
        first: (&[T], &[T]), second: (&[T], &[T]), copy: &mut [T], _reach: A,
    ) {
        let start = table.pointer::<T>();
        by_width!(M, T, copy.len(), W => {
            let copy = &mut copy[..W];
            let first = first.0.iter().zip(first.1.chunks_exact(W));
            let second = second.0.iter().zip(second.1.chunks_exact(W));
            let rows = indices.iter().zip(first).zip(second).enumerate();
            for (k, ((&i, (&a, x)), (&b, y))) in rows {
                // SAFETY: only `rows` calls this. By its conditions `i` is a row of the table, whose
                // rows have `copy.len()`, that is `W`, numbers, and others use the table as `A` says.
                unsafe {
                    let at = start.wrapping_add(i as usize * W);
                    let w = begin::<A, M, T>(m, at, copy);
                    let (first, second) = ((step * a, x), (step * b, y));
                    simd::dot::axpby_two(m, first, second, shrink.factor(k), w);
                    finish::<A, M, T>(m, at, copy);
                }
            }
        });
    }
}

/// Adds `step` times a term to single numbers, which shrink before, and are moved alike by one worker and by
/// many.
///
/// # Safety
/// The table has rows of one number, `indices` are rows of it, and others reach it by moves if at all.
#[inline]
unsafe fn add_numbers<T: Number>(
    table: &Table,
    indices: &[u32],
    shrink: Shrink<'_, T>,
    step: T,
    term: Term<&[T]>,
) {
    let start = table.pointer::<T>();
    for (k, (&i, &x)) in indices.iter().zip(term.rows).enumerate() {
        let at = start.wrapping_add(i as usize);
        // SAFETY: `i` is a row of the table, of one number, so `at` is valid and aligned; others reach
        // it by moves if at all.
        unsafe {
            let old = shrink.factor(k) * moves::load(at);
            moves::store(at, old + term.factor(k, step) * x);
        }
    }
}

/// Applies the rows of a gradient, `copy` being as long as one.
///
/// # Safety
/// As for [`apply::rows`](super::apply::rows).
pub(super) unsafe fn rows<T: Number, P: GradientRows<T>>(
    access: Access,
    table: &Table,
    lr: f64,
    shrink: Shrink<'_, T>,
    parts: &P,
    copy: &mut [T],
) {
    if copy.is_empty() {
        return;
    }
    let step = -T::of(lr);
    let mut rest = shrink;
    for p in 0..parts.count() {
        let indices = parts.indices(p);
        let mut shrink = rest;
        rest = rest.after(indices.len());
        let terms = parts.terms(p);
        if copy.len() > 1 && terms == 2 {
            let both = (parts.term(p, 0), parts.term(p, 1));
            if let (
                Term {
                    scale: Some(a),
                    rows: x,
                },
                Term {
                    scale: Some(b),
                    rows: y,
                },
            ) = both
            {
                match access {
                    Access::Alone => {
                        add_two(table, indices, shrink, step, (a, x), (b, y), copy, Alone);
                    }
                    Access::Shared => {
                        add_two(table, indices, shrink, step, (a, x), (b, y), copy, Shared);
                    }
                }
                continue;
            }
        }
        for t in 0..terms {
            let term = parts.term(p, t);
            match access {
                // SAFETY: `copy` is as long as a row, so rows have one number; indices are rows of the
                // table, which others reach by moves (`Shared`) or not at all (`Alone`).
                _ if copy.len() == 1 => unsafe {
                    add_numbers(table, indices, shrink, step, term);
                },
                Access::Alone => add(table, indices, shrink, step, term, copy, Alone),
                Access::Shared => add(table, indices, shrink, step, term, copy, Shared),
            }
            // Once for all terms.
            shrink = Shrink::All(T::one());
        }
    }
}
