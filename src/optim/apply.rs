//! Applying gradients to tables, row by row.
//!
//! One code for `step` and for training, for one worker and for many: the difference is
//! how a row reaches the arithmetic ([`Access`]). A worker alone works on the table in
//! place. Several workers move a row to scratch, change it there, and move it back; an
//! update by another worker in between is lost, which is Hogwild's bargain (Recht et al.
//! 2011).
//!
//! Plain SGD is linear in the gradient, so equal rows need not be summed first and a row's
//! terms are added straight to it. Every other rule groups equal rows and sums them, in order of
//! arrival.

use super::distinct::Distinct;
use super::{Rule, Settings, State, sgd};
use crate::array::Real;
use crate::simd::{self, Machine, multiversion};
use crate::table::{Table, moves};

/// How rows are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// In place; nobody else reads or writes.
    Alone,
    /// By moves; other workers read and write too.
    Shared,
}

/// What a gradient is applied to.
pub(crate) struct Target<'a> {
    pub table: &'a Table,
    pub state: &'a State,
    pub rule: Rule,
    pub settings: Settings,
}

/// A summand of rows: `rows`, each times its element of `scale`.
#[derive(Clone, Copy)]
pub(crate) struct Term<'a, T> {
    pub scale: Option<&'a [T]>,
    pub rows: &'a [T],
}

impl<T: Real> Term<'_, T> {
    /// What row `k` is multiplied with, times `factor`.
    #[inline(always)]
    pub(super) fn factor(&self, k: usize, factor: T) -> T {
        self.scale.map_or(factor, |s| factor * s[k])
    }

    /// Row `k`.
    #[inline(always)]
    fn row(&self, k: usize, width: usize) -> &[T] {
        &self.rows[k * width..(k + 1) * width]
    }
}

/// Rows of a gradient, in parts; row `k` of the sum of a part's terms belongs to
/// `indices(part)[k]`.
pub(crate) trait Parts<T> {
    /// Number of parts.
    fn count(&self) -> usize;
    /// The rows' numbers.
    fn indices(&self, part: usize) -> &[u32];
    /// Number of terms of a part.
    fn terms(&self, part: usize) -> usize;
    /// A term of a part.
    fn term(&self, part: usize, term: usize) -> Term<'_, T>;
}

/// One part of one term: rows that are given as such.
pub(crate) struct Plain<'a, T> {
    pub indices: &'a [u32],
    pub rows: &'a [T],
}

impl<T> Parts<T> for Plain<'_, T> {
    fn count(&self) -> usize {
        1
    }
    fn indices(&self, _part: usize) -> &[u32] {
        self.indices
    }
    fn terms(&self, _part: usize) -> usize {
        1
    }
    fn term(&self, _part: usize, _term: usize) -> Term<'_, T> {
        Term {
            scale: None,
            rows: self.rows,
        }
    }
}

/// Memory for one worker, used again for every step.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    distinct: Distinct,
    gradient: Vec<T>,
    row: Vec<T>,
    slots: [Vec<T>; 3],
}

impl<T: Real> Scratch<T> {
    /// Scratch for rows of `width` numbers and gradients of up to `rows` rows.
    pub(crate) fn new(width: usize, rows: usize) -> Self {
        let line = || vec![T::default(); width];
        Scratch {
            distinct: Distinct::new(rows),
            gradient: line(),
            row: line(),
            slots: [line(), line(), vec![T::default(); 1]],
        }
    }
}

/// Where a row's state is.
#[derive(Clone, Copy)]
struct Slot<T> {
    start: *mut T,
    width: usize,
}

fn slots<T: Real>(target: &Target<'_>) -> [Slot<T>; 3] {
    let none = Slot {
        start: std::ptr::NonNull::dangling().as_ptr(),
        width: 0,
    };
    let mut out = [none; 3];
    let full = target.rule.full_slots();
    for (k, table) in target.state.slots.iter().enumerate() {
        let at = if k < full { k } else { 2 };
        out[at] = Slot {
            start: table.pointer::<T>(),
            width: if k < full { target.table.width() } else { 1 },
        };
    }
    out
}

/// Changes one row by the gradient in `scratch.gradient`.
///
/// # Safety
/// `row` is a row of the table; with [`Access::Alone`] nobody else uses the table or the
/// state, with [`Access::Shared`] everybody uses moves.
#[inline(always)]
unsafe fn update<M: Machine, T: Real>(
    m: M,
    access: Access,
    target: &Target<'_>,
    slots: [Slot<T>; 3],
    row: usize,
    scratch: &mut Scratch<T>,
) {
    let width = scratch.row.len();
    let Settings { lr, l2, clip } = target.settings;
    let start = target.table.pointer::<T>().wrapping_add(row * width);
    let at = slots.map(|s| s.start.wrapping_add(row * s.width));
    let g = &mut scratch.gradient;
    if let Some(clip) = clip {
        let clip = T::of(clip);
        for g in g.iter_mut() {
            *g = g.max(-clip).min(clip);
        }
    }
    let (lr, l2) = (T::of(lr), T::of(l2));
    if access == Access::Alone {
        // SAFETY: the row and its state are in bounds, initialised and, by the caller's
        // promise, reached by nobody else; the four slices are different memory.
        let w = unsafe { std::slice::from_raw_parts_mut(start, width) };
        let [a, b, c] = [0, 1, 2].map(|k| {
            // SAFETY: as above; a slot that the rule lacks has width 0.
            unsafe { std::slice::from_raw_parts_mut(at[k], slots[k].width) }
        });
        if l2 > T::zero() {
            simd::dot::axpy(m, l2, w, g);
        }
        target.rule.update(m, lr, w, g, [a, b, c]);
        return;
    }
    // SAFETY: in bounds; everybody uses moves.
    unsafe { moves::load_row_on(m, start, &mut scratch.row) };
    let [a, b, c] = &mut scratch.slots;
    let mut local = [
        &mut a[..slots[0].width],
        &mut b[..slots[1].width],
        &mut c[..slots[2].width],
    ];
    for (k, local) in local.iter_mut().enumerate() {
        // SAFETY: as above.
        unsafe { moves::load_row_on(m, at[k], local) };
    }
    if l2 > T::zero() {
        simd::dot::axpy(m, l2, &scratch.row, g);
    }
    let [a, b, c] = local;
    let w = &mut scratch.row;
    target.rule.update(m, lr, w, g, [&mut *a, &mut *b, &mut *c]);
    // SAFETY: as above.
    unsafe { moves::store_row_on(m, start, w) };
    for (k, local) in [a, b, c].into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { moves::store_row_on(m, at[k], local) };
    }
}

multiversion! {
    fn summed_rows<T: Real, P: Parts<T>>(
        m: M,
        access: Access,
        target: &Target<'_>,
        parts: &P,
        scratch: &mut Scratch<T>,
    ) {
        let mut distinct = std::mem::take(&mut scratch.distinct);
        distinct.clear((0..parts.count()).map(|p| parts.indices(p).len()).sum());
        for p in 0..parts.count() {
            for (k, &i) in parts.indices(p).iter().enumerate() {
                distinct.add(i, p, k);
            }
        }
        let slots = slots::<T>(target);
        let width = scratch.gradient.len();
        for n in 0..distinct.len() {
            let (row, occurrences) = distinct.row(n);
            scratch.gradient.fill(T::zero());
            for (p, k) in occurrences {
                for t in 0..parts.terms(p) {
                    let x = parts.term(p, t);
                    let (a, x) = (x.factor(k, T::one()), x.row(k, width));
                    simd::dot::axpy(m, a, x, &mut scratch.gradient);
                }
            }
            // SAFETY: the caller of `rows` promises what `update` asks.
            unsafe { update(m, access, target, slots, row as usize, scratch) };
        }
        scratch.distinct = distinct;
    }
}

multiversion! {
    fn all_rows<T: Real>(
        m: M,
        access: Access,
        target: &Target<'_>,
        gradient: &[T],
        scratch: &mut Scratch<T>,
    ) {
        let slots = slots::<T>(target);
        let width = scratch.row.len().max(1);
        for (row, g) in gradient.chunks_exact(width).enumerate() {
            scratch.gradient.copy_from_slice(g);
            // SAFETY: the caller of `dense` promises what `update` asks.
            unsafe { update(m, access, target, slots, row, scratch) };
        }
    }
}

/// Applies rows of a gradient.
///
/// # Safety
/// All indices are rows of the table, and all terms are as long as they imply. With
/// [`Access::Alone`] nobody else uses the table or its state until this returns; with
/// [`Access::Shared`] everybody reaches both by moves.
pub(crate) unsafe fn rows<T: Real, P: Parts<T>>(
    access: Access,
    target: &Target<'_>,
    parts: &P,
    scratch: &mut Scratch<T>,
) {
    let plain = target.rule == Rule::Sgd { momentum: 0.0 };
    if plain && target.settings.l2 == 0.0 && target.settings.clip.is_none() {
        let lr = target.settings.lr;
        // SAFETY: handed on.
        unsafe { sgd::rows(access, target.table, lr, parts, &mut scratch.row) };
    } else {
        summed_rows(access, target, parts, scratch);
    }
}

/// Applies a gradient of the table's shape.
///
/// # Safety
/// `gradient` is as long as the table, and the access is as for [`rows`].
pub(crate) unsafe fn dense<T: Real>(
    access: Access,
    target: &Target<'_>,
    gradient: &[T],
    scratch: &mut Scratch<T>,
) {
    all_rows(access, target, gradient, scratch);
}
