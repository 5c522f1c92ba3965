//! Applying gradients to tables, row by row: one code for `step` and for training, for one worker and
//! for many.
//!
//! Plain SGD is linear in the gradient, so equal rows need not be summed first, and numbers are changed
//! where they are ([`sgd`]). Every other rule groups equal rows and sums them
//! ([`grouped`]).

use smallvec::SmallVec;

use super::gradient::{Access, GradientRows, RowsInPlace, Scratch, StepTarget};
use super::grouped::PIECE;
use super::sgd::Decay;
use super::{Settings, grouped, sgd};
use crate::array::Number;

/// Applies rows of a gradient.
///
/// # Panics
/// If a term has not one row of the table's width, and one factor or none at all, for each index
/// of its part, or reads rows of a table though the target does not [add](StepTarget::adds) terms. It is compared
/// once a batch, and then relied on.
///
/// # Safety
/// All indices are rows of the table, and its state is that of a table of its type. Indices of terms that are
/// [in place](GradientRows::in_place) are rows of their tables, which everybody reaches by moves. With
/// [`Access::Alone`] nobody else uses the table or its state until this returns; with
/// [`Access::Shared`] everybody reaches both by moves.
pub(crate) unsafe fn rows<T: Number, P: GradientRows<T>>(
    access: Access,
    target: &StepTarget<'_>,
    parts: &P,
    scratch: &mut Scratch<T>,
) {
    let width = target.table.width();
    let mut occurrences = 0;
    for p in 0..parts.count() {
        let count = parts.indices(p).len();
        occurrences += count;
        for t in 0..parts.terms(p) {
            let term = parts.term(p, t);
            let fits = match parts.in_place(p, t) {
                None => term.rows.len() == count * width,
                Some(RowsInPlace { table, indices }) => {
                    let is_alike = table.ty().dtype == T::DTYPE && table.width() == width;
                    indices.len() == count && is_alike && width > 1 && target.adds()
                }
            };
            let factors = term.scale.is_none_or(|scale| scale.len() == count);
            assert!(fits && factors, "a gradient of rows has one row an index");
        }
    }
    if target.adds() {
        let lr = target.settings.lr;
        let decay = T::of(-lr * target.settings.l2);
        let decay = match target.groups(occurrences) {
            false => Decay::Each(decay),
            true => {
                // Only in huge programs are there so many parts that this allocates.
                let indices: SmallVec<[&[u32]; 4]> =
                    (0..parts.count()).map(|p| parts.indices(p)).collect();
                scratch.distinct.group(&indices);
                Decay::First(decay, scratch.distinct.is_first())
            }
        };
        // SAFETY: the indices are rows of the table, and others use it by moves if at all, by the
        // conditions of this function. Terms were just found to be as long as the indices imply.
        unsafe { sgd::rows(target.table, lr, decay, parts) };
    } else if let Some((row, gradient)) = only_row(parts)
        && !target.groups(occurrences)
    {
        // SAFETY: the row is one of the table's, its state is that of a table of its type, and others use both as
        // `access` says, by the conditions of this function. The gradient was just found to be as long as a row.
        unsafe { grouped::row(access, target, row, gradient, scratch) };
    } else {
        // SAFETY: the indices are rows of the table, its state is that of a table of its type, and
        // others use both as `access` says, by the conditions of this function. Terms were just found
        // to be as long as the indices imply.
        unsafe { grouped::rows(access, target, parts, scratch) };
    }
}

/// The row of a gradient that has no other, and no factor.
fn only_row<T: Number, P: GradientRows<T>>(parts: &P) -> Option<(u32, &[T])> {
    if parts.count() != 1 || parts.terms(0) != 1 {
        return None;
    }
    let term = parts.term(0, 0);
    match *parts.indices(0) {
        [row] if term.scale.is_none() => Some((row, term.rows)),
        _ => None,
    }
}

/// Applies a gradient of the table's shape, which is that of so many samples.
///
/// # Panics
/// If it has not as many numbers as the table.
///
/// # Safety
/// The state is that of a table of its type. With [`Access::Alone`] nobody else uses the table or its
/// state until this returns; with [`Access::Shared`] everybody reaches both by moves.
pub(crate) unsafe fn dense<T: Number>(
    access: Access,
    target: &StepTarget<'_>,
    gradient: &[T],
    samples: usize,
    scratch: &mut Scratch<T>,
) {
    let expected = target.table.size();
    assert!(
        gradient.len() == expected,
        "a gradient has its table's shape"
    );
    // The others go on in pieces, between which a step on a huge parameter can be interrupted.
    if target.adds() && gradient.len() <= PIECE {
        let Settings { lr, l2, .. } = target.settings;
        let decay = T::of(-lr * l2 * target.penalty_count(samples));
        // SAFETY: others use the table by moves if at all, by the conditions of this function. The gradient
        // was just found to be as long as the table.
        return unsafe { sgd::all(target.table, lr, decay, gradient) };
    }
    // SAFETY: the state is that of a table of this type, and others use both as `access` says, by the
    // conditions of this function. The gradient was just found to be as long as the table.
    unsafe { grouped::all(access, target, gradient, samples, scratch) };
}
