//! Applying gradients to tables, row by row.
//!
//! One code for `step` and for training, for one worker and for many: the difference is
//! how a row reaches the arithmetic ([`Access`]). A worker alone works on the table in
//! place. Several workers move a row to scratch, change it there, and move it back; an
//! update by another worker in between is lost, which is Hogwild's bargain (Recht et al.
//! 2011).
//!
//! Plain SGD is linear in the gradient, so equal rows need not be summed first and a row's
//! terms are added straight to it. Every other rule groups equal rows and sums them
//! ([`grouped`]).

use super::distinct::Distinct;
use super::{Rule, Settings, State, grouped, sgd};
use crate::array::{Number, filled};
use crate::error::Result;
use crate::table::Table;

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

impl<T: Number> Term<'_, T> {
    /// What row `k` is multiplied with, times `factor`.
    #[inline(always)]
    pub(super) fn factor(&self, k: usize, factor: T) -> T {
        self.scale.map_or(factor, |s| factor * s[k])
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
    pub(super) distinct: Distinct,
    /// A copy of a row.
    row: Vec<T>,
    /// Of a row, or of many if rows are single numbers: the sum of gradients, copies of the
    /// parameter and of two rows of state, and counts of steps.
    pub(super) lines: [Vec<T>; 5],
}

impl<T: Number> Scratch<T> {
    /// Scratch for rows of `width` numbers and gradients of up to `rows` rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(crate) fn new(width: usize, rows: usize) -> Result<Self> {
        let length = if width == 1 { rows.max(64) } else { width };
        let line = || filled(length, T::zero());
        Ok(Scratch {
            distinct: Distinct::new(rows)?,
            row: filled(width, T::zero())?,
            lines: [line()?, line()?, line()?, line()?, line()?],
        })
    }

    /// Scratch for rows of `width` numbers that are added as they come.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn plain(width: usize) -> Result<Self> {
        Ok(Scratch {
            distinct: Distinct::default(),
            row: filled(width, T::zero())?,
            lines: Default::default(),
        })
    }
}

/// Whether a step adds a multiple of the gradient, so that rows need not be summed first.
pub(super) fn adds(rule: Rule, settings: Settings) -> bool {
    rule == Rule::Sgd { momentum: 0.0 } && settings.l2 == 0.0 && settings.clip.is_none()
}

/// Applies rows of a gradient.
///
/// # Panics
/// If a term has not one row of the table's width, and one factor or none at all, for each index
/// of its part. It is compared once a batch, and then relied on.
///
/// # Safety
/// All indices are rows of the table, and its state is that of a table of its type. With
/// [`Access::Alone`] nobody else uses the table or its state until this returns; with
/// [`Access::Shared`] everybody reaches both by moves.
pub(crate) unsafe fn rows<T: Number, P: Parts<T>>(
    access: Access,
    target: &Target<'_>,
    parts: &P,
    scratch: &mut Scratch<T>,
) {
    let width = target.table.width();
    for p in 0..parts.count() {
        let count = parts.indices(p).len();
        for term in (0..parts.terms(p)).map(|t| parts.term(p, t)) {
            let fits = term.rows.len() == count * width;
            let factors = term.scale.is_none_or(|scale| scale.len() == count);
            assert!(fits && factors, "a gradient of rows has one row an index");
        }
    }
    assert!(
        scratch.row.len() == width,
        "scratch is for rows of this width"
    );
    if adds(target.rule, target.settings) {
        let lr = target.settings.lr;
        // SAFETY: handed on, and terms were just found to be as long as the indices imply.
        unsafe { sgd::rows(access, target.table, lr, parts, &mut scratch.row) };
    } else {
        // SAFETY: handed on, and as above.
        unsafe { grouped::rows(access, target, parts, scratch) };
    }
}

/// Applies a gradient of the table's shape.
///
/// # Panics
/// If it has not as many numbers as the table.
///
/// # Safety
/// The state and the access are as for [`rows`].
pub(crate) unsafe fn dense<T: Number>(
    access: Access,
    target: &Target<'_>,
    gradient: &[T],
    scratch: &mut Scratch<T>,
) {
    let expected = target.table.ty().size();
    assert!(
        gradient.len() == expected,
        "a gradient has its table's shape"
    );
    // SAFETY: handed on, and the gradient was just found to be as long as the table.
    unsafe { grouped::all(access, target, gradient, scratch) };
}
