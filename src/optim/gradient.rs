//! Gradients as optimizers take them, and what they are applied to: types that the files of this
//! folder share.
//!
//! A gradient is an array of the table's shape, or rows of one ([`GradientRows`]): parts, each of
//! some rows' numbers and of [`Term`]s that add up to these rows. A program leaves them in its memory,
//! where they are read without a copy; a step by hand has one part of one term.
//!
//! Rows that a gradient is added to are changed where they are, by moves ([`sgd`](super::sgd)). For other
//! rules how a row reaches the arithmetic ([`Access`]) is what tells one worker from many: a worker alone
//! works on the table in place, several move a row to scratch, change it there, and move it back. An update
//! by another worker in between is lost, as is usual with Hogwild (Recht et al. 2011).

use super::distinct::DistinctRows;
use super::{L2Per, Rule, Settings, State};
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
pub(crate) struct StepTarget<'a> {
    pub table: &'a Table,
    pub state: &'a State,
    pub rule: Rule,
    pub settings: Settings,
}

impl StepTarget<'_> {
    /// Whether a step adds a multiple of the gradient and one of the parameter, so that rows need not
    /// be summed first.
    pub(super) fn adds(&self) -> bool {
        adds(self.rule, &self.settings)
    }

    /// Whether the penalty counts each time that a row occurs.
    pub(crate) fn counts_occurrences(&self) -> bool {
        self.settings.l2 != 0.0 && self.settings.l2_per == L2Per::Sample
    }

    /// How often the penalty counts for a gradient of the table's shape, which is that of so many samples.
    pub(super) fn penalty_count(&self, samples: usize) -> f64 {
        match self.counts_occurrences() {
            true => samples as f64,
            false => 1.0,
        }
    }

    /// Whether it matters which of so many occurrences are of the same row. Single numbers are gathered, too.
    pub(super) fn groups(&self, count: usize) -> bool {
        let by_row = !self.adds() || self.settings.l2 != 0.0 && !self.counts_occurrences();
        by_row && (count != 1 || self.table.width() == 1)
    }
}

/// Whether steps by this rule add a multiple of the gradient and one of the parameter.
pub(crate) fn adds(rule: Rule, settings: &Settings) -> bool {
    rule == Rule::Sgd { momentum: 0.0 } && settings.clip.is_none()
}

/// A summand of rows: `rows`, each times its element of `scale` if there is one. `V` is what names a
/// value: a value of a function, a place of a plan, an address, and here the numbers themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<V> {
    pub scale: Option<V>,
    pub rows: V,
    /// The table of which `rows` are numbers of rows, if they are not the rows themselves.
    pub table: Option<usize>,
}

impl<V> Term<V> {
    /// Rows, each times its element of `scale` if there is one.
    pub(crate) fn new(scale: Option<V>, rows: V) -> Self {
        Term {
            scale,
            rows,
            table: None,
        }
    }
}

/// Rows of a table that a term is a multiple of, where they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsInPlace<'a> {
    pub table: &'a Table,
    pub indices: &'a [u32],
}

impl<T: Number> Term<&[T]> {
    /// What row `k` is multiplied with, times `factor`.
    #[inline(always)]
    pub(super) fn factor(&self, k: usize, factor: T) -> T {
        self.scale.map_or(factor, |s| factor * s[k])
    }
}

/// Rows of a gradient, in parts; row `k` of the sum of a part's terms belongs to
/// `indices(part)[k]`.
pub(crate) trait GradientRows<T> {
    /// Number of parts.
    fn count(&self) -> usize;
    /// The rows' numbers.
    fn indices(&self, part: usize) -> &[u32];
    /// Number of terms of a part.
    fn terms(&self, part: usize) -> usize;
    /// A term of a part; it has no rows if these are [in a table](Self::in_place).
    fn term(&self, part: usize, term: usize) -> Term<&[T]>;
    /// The rows of a term that are in a table, one for each index of the part.
    fn in_place(&self, _part: usize, _term: usize) -> Option<RowsInPlace<'_>> {
        None
    }
}

/// One part of one term: rows that are given as such.
pub(crate) struct OnePart<'a, T> {
    pub indices: &'a [u32],
    pub rows: &'a [T],
}

impl<T> GradientRows<T> for OnePart<'_, T> {
    fn count(&self) -> usize {
        1
    }
    fn indices(&self, _part: usize) -> &[u32] {
        self.indices
    }
    fn terms(&self, _part: usize) -> usize {
        1
    }
    fn term(&self, _part: usize, _term: usize) -> Term<&[T]> {
        Term::new(None, self.rows)
    }
}

/// Memory for one worker, used again for every step.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    pub(super) distinct: DistinctRows,
    /// Lines of numbers for one row, or for many rows if each is a single number: the sum of
    /// gradients, copies of the parameter and of two rows of state, and counts of steps.
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
            distinct: DistinctRows::new(rows)?,
            lines: [line()?, line()?, line()?, line()?, line()?],
        })
    }

    /// Scratch for a gradient of the table's shape that a worker alone applies, and for rows that are
    /// added as they come: nothing.
    pub(super) fn none() -> Self {
        Scratch {
            distinct: DistinctRows::default(),
            lines: Default::default(),
        }
    }

    /// Scratch for rows that a worker alone applies to a table: it sums equal rows, and copies none
    /// but single numbers.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(super) fn alone(distinct: DistinctRows, width: usize, rows: usize) -> Result<Self> {
        let mut lines: [Vec<T>; 5] = Default::default();
        if width == 1 {
            for line in &mut lines {
                *line = filled(rows, T::zero())?;
            }
        } else {
            lines[0] = filled(width, T::zero())?;
        }
        Ok(Scratch { distinct, lines })
    }
}
