//! Stochastic gradient descent on rows without other state: `w ← (1 − lr l2) w − lr g`.
//!
//! It is linear in the gradient and the parameter, so equal rows need not be summed first: each term
//! of each row is added straight to the table, in order of arrival, and the row shrinks in the same
//! pass, each time that it occurs or the first time only ([`Shrink`]). This is the rule that large
//! sparse models are trained with, so its loops are kept bare: one for one
//! term and one for two, compiled for the usual widths.

use super::gradient::{GradientRows, Term};
use crate::array::Number;
use crate::simd::{self, Machine, by_width, multiversion};
use crate::table::Table;
use crate::table::moves::{self, Relaxed};

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

/// Adds `step` times `N` terms to the rows `indices`, of `width` numbers, which shrink before.
///
/// Rows are changed where they are, by moves: those of a worker alone, too, for which plain loads
/// would be no faster.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn add<M: Machine, T: Number, const N: usize>(
    m: M,
    (table, width): (&Table, usize),
    indices: &[u32],
    shrink: Shrink<'_, T>,
    step: T,
    terms: [Term<&[T]>; N],
) {
    let start = table.pointer::<T>();
    by_width!(M, T, width, [32, 64, 128], W => {
        for (k, &i) in indices.iter().enumerate() {
            let terms = terms.each_ref().map(|term| {
                // SAFETY: by the conditions of this function a term has a row for each index, of `width`,
                // that is `W`, numbers.
                let row = unsafe { term.rows.get_unchecked(k * W..(k + 1) * W) };
                (term.factor(k, step), row)
            });
            let at = start.wrapping_add(i as usize * W);
            // SAFETY: by the conditions of this function `i` is a row of the table, whose rows have
            // `width`, that is `W`, numbers, and others use the table by moves if at all.
            unsafe { simd::dot::add_terms::<Relaxed, M, T, N>(m, terms, shrink.factor(k), at) };
        }
    });
}

multiversion! {
    /// [`add`] of one term, by [`rows`] alone.
    fn add_one<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], shrink: Shrink<'_, T>, step: T, term: Term<&[T]>,
    ) {
        // SAFETY: only `rows` calls this, whose conditions are the same.
        unsafe { add(m, table, indices, shrink, step, [term]) }
    }
}

multiversion! {
    /// [`add`] of two terms, by [`rows`] alone.
    fn add_two<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], shrink: Shrink<'_, T>, step: T,
        terms: [Term<&[T]>; 2],
    ) {
        // SAFETY: only `rows` calls this, whose conditions are the same.
        unsafe { add(m, table, indices, shrink, step, terms) }
    }
}

/// Adds `step` times a term to single numbers, which shrink before, and are moved alike by one worker and by
/// many.
///
/// # Safety
/// The table has rows of one number, `indices` are rows of it, and others reach it by moves if at all.
#[inline(always)]
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

/// Applies the rows of a gradient.
///
/// # Safety
/// All indices are rows of the table, and each term has one of its width for each index. Others use
/// the table by moves, if at all.
pub(super) unsafe fn rows<T: Number, P: GradientRows<T>>(
    table: &Table,
    lr: f64,
    shrink: Shrink<'_, T>,
    parts: &P,
) {
    let width = table.width();
    let step = -T::of(lr);
    let mut rest = shrink;
    for p in 0..parts.count() {
        let indices = parts.indices(p);
        let mut shrink = rest;
        rest = rest.after(indices.len());
        let terms = parts.terms(p);
        if width > 1 && terms == 2 {
            let both = [parts.term(p, 0), parts.term(p, 1)];
            add_two((table, width), indices, shrink, step, both);
            continue;
        }
        for t in 0..terms {
            let term = parts.term(p, t);
            match width {
                // SAFETY: rows have one number; indices are rows of the table, which others reach by
                // moves if at all, by the conditions of this function.
                1 => unsafe { add_numbers(table, indices, shrink, step, term) },
                _ => add_one((table, width), indices, shrink, step, term),
            }
            // Once for all terms.
            shrink = Shrink::All(T::one());
        }
    }
}
