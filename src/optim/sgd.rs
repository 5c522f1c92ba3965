//! Stochastic gradient descent without other state: `w ← w − (lr l2 w + lr g)`.
//!
//! It is linear in the gradient and the parameter, so equal rows need not be summed first: each term
//! of each row is added straight to the table, in order of arrival, and the row decays in the same
//! pass, each time that it occurs or the first time only ([`Decay`]). The decay is added to the gradient
//! and not made a factor `1 − lr l2`, since float32 would round most of a small penalty away. This is the rule
//! that large sparse models are trained with, so its loops are kept bare: one for one
//! term and one for two, compiled for the usual widths.

use super::gradient::{GradientRows, RowsInPlace, Term};
use crate::array::Number;
use crate::simd::dot::{LoadStore, Plain};
use crate::simd::{self, Machine, by_width, multiversion};
use crate::table::Table;
use crate::table::moves::{self, Relaxed};

/// How many times itself is added to a row before a gradient is: `−lr l2`.
#[derive(Clone, Copy)]
pub(super) enum Decay<'a, T> {
    /// At each occurrence of a row.
    Each(T),
    /// At the first occurrence of a row: where the flag of an occurrence, over all parts, is set.
    First(T, &'a [bool]),
}

impl<T: Number> Decay<'_, T> {
    /// That of occurrence `k`.
    #[inline(always)]
    fn at(&self, k: usize) -> T {
        match *self {
            Decay::Each(decay) => decay,
            Decay::First(decay, first) => match first[k] {
                true => decay,
                false => T::zero(),
            },
        }
    }

    /// Without the first `count` occurrences.
    #[inline(always)]
    fn after(self, count: usize) -> Self {
        match self {
            Decay::First(decay, first) => Decay::First(decay, &first[count..]),
            each => each,
        }
    }
}

/// Rows that are added to those of a table.
trait AddedRows<T: Number>: Copy {
    /// How others use the rows meanwhile.
    type Access: LoadStore;

    /// What row `k` is multiplied with, times `step`.
    fn factor(&self, k: usize, step: T) -> T;

    /// Where row `k` starts, of rows of `width` numbers.
    ///
    /// # Safety
    /// There are more than `k` rows, of so many numbers.
    unsafe fn row(&self, k: usize, width: usize) -> *const T;
}

impl<T: Number> AddedRows<T> for Term<&[T]> {
    type Access = Plain;

    #[inline(always)]
    fn factor(&self, k: usize, step: T) -> T {
        Term::factor(self, k, step)
    }

    #[inline(always)]
    unsafe fn row(&self, k: usize, width: usize) -> *const T {
        // SAFETY: there are more than `k` rows of so many numbers, by the condition of this function.
        unsafe { self.rows.get_unchecked(k * width..(k + 1) * width) }.as_ptr()
    }
}

/// A term whose rows are in a table.
#[derive(Clone, Copy)]
struct TermInPlace<'a, T> {
    term: Term<&'a [T]>,
    /// Where the table starts, which is borrowed as long as `indices`. Asking the table for each row would be a call
    /// in the innermost loop.
    start: *const T,
    indices: &'a [u32],
}

impl<'a, T: Number> TermInPlace<'a, T> {
    #[inline(always)]
    fn new(term: Term<&'a [T]>, rows: RowsInPlace<'a>) -> Self {
        TermInPlace {
            term,
            start: rows.table.pointer::<T>(),
            indices: rows.indices,
        }
    }
}

impl<T: Number> AddedRows<T> for TermInPlace<'_, T> {
    type Access = Relaxed;

    #[inline(always)]
    fn factor(&self, k: usize, step: T) -> T {
        self.term.factor(k, step)
    }

    #[inline(always)]
    unsafe fn row(&self, k: usize, width: usize) -> *const T {
        // SAFETY: there are more than `k` rows, by the condition of this function.
        let i = unsafe { *self.indices.get_unchecked(k) };
        self.start.wrapping_add(i as usize * width)
    }
}

/// Adds `step` times `N` terms to the rows `indices`, of `width` numbers, which decay.
///
/// Rows are changed where they are, by moves: those of a worker alone, too, for which plain loads
/// would be no faster.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn add<M: Machine, T: Number, S: AddedRows<T>, const N: usize>(
    m: M,
    (table, width): (&Table, usize),
    indices: &[u32],
    decay: Decay<'_, T>,
    step: T,
    terms: [S; N],
) {
    let start = table.pointer::<T>();
    by_width!(M, T, width, [32, 64, 128], W => {
        for (k, &i) in indices.iter().enumerate() {
            let terms = terms.each_ref().map(|term| {
                // SAFETY: by the conditions of this function a term has a row for each index, of `width`,
                // that is `W`, numbers.
                (term.factor(k, step), unsafe { term.row(k, W) })
            });
            let at = start.wrapping_add(i as usize * W);
            // SAFETY: by the conditions of this function `i` is a row of the table, whose rows have
            // `width`, that is `W`, numbers, and others use the table by moves if at all, as they do tables
            // that rows of terms are in.
            unsafe {
                simd::dot::add_terms::<S::Access, Relaxed, M, T, N, true>(m, terms, W, decay.at(k), at)
            };
        }
    });
}

multiversion! {
    /// [`add`] of one term, by [`rows`] and [`all`] alone.
    fn add_one<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], decay: Decay<'_, T>, step: T, term: Term<&[T]>,
    ) {
        // SAFETY: only `rows` and `all` call this, whose conditions are the same, of a table of one row for `all`.
        unsafe { add(m, table, indices, decay, step, [term]) }
    }
}

multiversion! {
    /// [`add`] of two terms, by [`rows`] alone.
    fn add_two<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], decay: Decay<'_, T>, step: T,
        terms: [Term<&[T]>; 2],
    ) {
        // SAFETY: only `rows` calls this, whose conditions are the same.
        unsafe { add(m, table, indices, decay, step, terms) }
    }
}

multiversion! {
    /// [`add`] of one term whose rows are in a table, by [`rows`] alone.
    fn add_one_in_place<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], decay: Decay<'_, T>, step: T,
        term: TermInPlace<'_, T>,
    ) {
        // SAFETY: only `rows` calls this, whose conditions are the same.
        unsafe { add(m, table, indices, decay, step, [term]) }
    }
}

multiversion! {
    /// [`add`] of two terms whose rows are in tables, by [`rows`] alone.
    fn add_two_in_place<T: Number>(
        m: M, table: (&Table, usize), indices: &[u32], decay: Decay<'_, T>, step: T,
        terms: [TermInPlace<'_, T>; 2],
    ) {
        // SAFETY: only `rows` calls this, whose conditions are the same.
        unsafe { add(m, table, indices, decay, step, terms) }
    }
}

/// Adds `decay` times itself and `change` to a number.
///
/// # Safety
/// `at` is valid and aligned, and others reach it by moves if at all.
#[inline(always)]
unsafe fn add_number<T: Number>(at: *mut T, decay: T, change: T) {
    // SAFETY: `at` is valid and aligned, and others reach it by moves if at all, by the conditions of this
    // function.
    unsafe {
        let old = moves::load(at);
        moves::store(at, old + (decay * old + change));
    }
}

/// Adds `step` times a term to single numbers, which decay, and are moved alike by one worker and by
/// many.
///
/// # Safety
/// The table has rows of one number, `indices` are rows of it, and others reach it by moves if at all.
#[inline(always)]
unsafe fn add_numbers<T: Number>(
    table: &Table,
    indices: &[u32],
    decay: Decay<'_, T>,
    step: T,
    term: Term<&[T]>,
) {
    let start = table.pointer::<T>();
    for (k, (&i, &x)) in indices.iter().zip(term.rows).enumerate() {
        let at = start.wrapping_add(i as usize);
        // SAFETY: `i` is a row of the table, of one number, so `at` is valid and aligned; others reach
        // it by moves if at all.
        unsafe {
            add_number(at, decay.at(k), term.factor(k, step) * x);
        }
    }
}

/// Applies the rows of a gradient.
///
/// # Safety
/// All indices are rows of the table, and each term has one of its width for each index: those in other tables are
/// rows of these, which have numbers of type `T`. Others use all of these tables by moves, if at all. Rows of one
/// number are not in other tables.
pub(super) unsafe fn rows<T: Number, P: GradientRows<T>>(
    table: &Table,
    lr: f64,
    decay: Decay<'_, T>,
    parts: &P,
) {
    let width = table.width();
    let step = -T::of(lr);
    let mut rest = decay;
    for p in 0..parts.count() {
        let indices = parts.indices(p);
        let mut decay = rest;
        rest = rest.after(indices.len());
        let terms = parts.terms(p);
        let given = |t| parts.term(p, t);
        let in_place = |t| {
            let rows = parts.in_place(p, t)?;
            Some(TermInPlace::new(given(t), rows))
        };
        if width > 1 && terms == 2 {
            match [0, 1].map(in_place) {
                [None, None] => {
                    add_two((table, width), indices, decay, step, [0, 1].map(given));
                    continue;
                }
                [Some(first), Some(second)] => {
                    add_two_in_place((table, width), indices, decay, step, [first, second]);
                    continue;
                }
                _ => {}
            }
        }
        for t in 0..terms {
            match in_place(t) {
                Some(term) => add_one_in_place((table, width), indices, decay, step, term),
                // SAFETY: rows have one number; indices are rows of the table, which others reach by
                // moves if at all, by the conditions of this function.
                None if width == 1 => unsafe { add_numbers(table, indices, decay, step, given(t)) },
                None => add_one((table, width), indices, decay, step, given(t)),
            }
            // Once for all terms.
            decay = Decay::Each(T::zero());
        }
    }
}

/// Gradients of up to so many numbers are applied number by number: less than it takes to find the code for
/// this CPU.
const FEW: usize = 4;

/// Applies a gradient of the table's shape.
///
/// # Safety
/// The gradient has as many numbers as the table, which others reach by moves, if at all.
pub(super) unsafe fn all<T: Number>(table: &Table, lr: f64, decay: T, gradient: &[T]) {
    let step = -T::of(lr);
    if gradient.len() > FEW {
        // As a table of one row.
        let term = Term::new(None, gradient);
        let decay = Decay::Each(decay);
        return add_one((table, gradient.len()), &[0], decay, step, term);
    }
    for (k, &x) in gradient.iter().enumerate() {
        let at = table.pointer::<T>().wrapping_add(k);
        // SAFETY: the table has as many numbers as the gradient, and others reach them by moves if at
        // all, by the conditions of this function.
        unsafe { add_number(at, decay, step * x) };
    }
}

#[cfg(test)]
mod tests {
    use crate::array::Dense;
    use crate::optim::{L2Per, Optimizer, Rule, Settings};
    use crate::{Input, Parameter};

    /// With a learning rate and a penalty whose product is below half of what float32 tells apart near 1, the
    /// gradient and the penalty together change a parameter that neither of both would change.
    #[test]
    fn a_small_penalty_is_not_rounded_away() {
        for l2_per in [L2Per::Step, L2Per::Sample] {
            let rule = Rule::Sgd { momentum: 0.0 };
            let settings = Settings {
                lr: 0.01,
                l2: 2e-6,
                clip: None,
                l2_per,
            };
            let step = |factor: f64, width: usize, rows: Option<&[u32]>| {
                let w = Parameter::new(Dense::full(&[3, width], 1.0_f32));
                let sgd = Optimizer::new(rule, settings).expect("settings in range");
                let loss = match rows {
                    None => (w.clone() * factor).sum().boxed(),
                    Some(rows) => (w.clone().gather(Input::indices(rows.to_vec())) * factor)
                        .sum()
                        .boxed(),
                };
                loss.backward();
                sgd.step(&[w.param()]).expect("finite numbers");
                w.param().table().read().to_f64()
            };
            for width in [1, 2, 3, 8, 32, 37, 64, 128, 200] {
                for rows in [None, Some(&[1_u32][..])] {
                    let changed = match rows {
                        None => 0..3 * width,
                        Some(_) => width..2 * width,
                    };
                    let found = step(2e-6, width, rows);
                    for (k, &x) in found.iter().enumerate() {
                        let below_one = 1.0 - 2.0_f64.powi(-24);
                        let expected = if changed.contains(&k) { below_one } else { 1.0 };
                        assert_eq!(x, expected, "{width} {rows:?} {k}");
                    }
                }
            }
        }
    }
}
