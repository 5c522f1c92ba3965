//! What has changed since a number: one counter of the process, and marks of what this thread changed.
//!
//! The counter makes "has anything changed?" one comparison. Where something has, marks say whether it can
//! matter: each leaf that can be assigned and each table has one of [`MARKS`], by its number, and this thread
//! remembers the latest change of each mark. A node has the marks of all that is below it
//! (`graph::flags`), so a change elsewhere is told apart without a walk, unless it has a mark in common: leaves
//! share marks where they are many. Changes of other threads, which are of tables, are only counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Advances after changes of leaves and tables: with each change of a table, and once for all changes of a
/// thread's leaves, when that thread next reads it.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// How many marks there are.
pub(crate) const MARKS: u32 = 56;

/// What this thread knows of changes.
struct KnownChanges {
    /// How many changes this thread has recorded.
    own: Cell<u64>,
    /// How often this thread has advanced the counter.
    advanced: Cell<u64>,
    /// Whether leaves of this thread have changed since it last read the counter.
    leaves_changed: Cell<bool>,
    /// How often others had advanced the counter when this thread last looked, and the counter at the first look
    /// that found so many.
    others: Cell<(u64, u64)>,
    /// The latest change by this thread of what has each mark.
    marked: [Cell<u64>; MARKS as usize],
}

thread_local! {
    static KNOWN: KnownChanges = const {
        KnownChanges {
            own: Cell::new(0),
            advanced: Cell::new(0),
            leaves_changed: Cell::new(false),
            others: Cell::new((0, 0)),
            marked: [const { Cell::new(0) }; MARKS as usize],
        }
    };
}

impl KnownChanges {
    /// Advances the counter and returns its number.
    fn advance(&self) -> u64 {
        self.advanced.set(self.advanced.get() + 1);
        CHANGES.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn count_own(&self) {
        self.own.set(self.own.get() + 1);
    }

    /// The counter when others are known to have changed something last, or later. `now` is the counter.
    fn changed_by_others(&self, now: u64) -> u64 {
        let others = now - self.advanced.get();
        let (seen, at) = self.others.get();
        if others == seen {
            return at;
        }
        self.others.set((others, now));
        now
    }
}

/// The current value of the change counter, which counts the changes of this thread's leaves.
#[inline]
pub(crate) fn changes() -> u64 {
    KNOWN.with(|known| match known.leaves_changed.replace(false) {
        true => known.advance(),
        false => CHANGES.load(Ordering::Acquire),
    })
}

/// How many changes this thread has recorded.
pub(crate) fn own_changes() -> u64 {
    KNOWN.with(|known| known.own.get())
}

/// The mark of the leaf or table that has number `id`.
#[inline]
pub(crate) fn mark(id: u64) -> u32 {
    (id % u64::from(MARKS)) as u32
}

/// Which of the marks in a set, one bit for each, this thread has changed since `since`, and whether other
/// threads have changed a table. `since` is what [`changes`] gave this thread once, or less.
pub(crate) fn changed_since(mut marks: u64, since: u64) -> (u64, bool) {
    let now = changes();
    KNOWN.with(|known| {
        let mut changed = 0;
        while marks != 0 {
            let one = marks & marks.wrapping_neg();
            marks ^= one;
            let latest = known.marked.get(one.trailing_zeros() as usize);
            if latest.is_none_or(|latest| latest.get() > since) {
                changed |= one;
            }
        }
        (changed, known.changed_by_others(now) > since)
    })
}

/// Records the change of a leaf, which this thread alone can see, and returns the number that the counter will have at
/// least when this thread next reads it. `mark` is the leaf's, if anything is above it. The counter advances then, once
/// for all leaves that have changed meanwhile: an atomic addition for each leaf would take as long as setting it does.
#[inline]
pub(crate) fn record_leaf_change(mark: Option<u32>) -> u64 {
    KNOWN.with(|known| {
        known.count_own();
        known.leaves_changed.set(true);
        let number = CHANGES.load(Ordering::Acquire) + 1;
        if let Some(latest) = mark.and_then(|mark| known.marked.get(mark as usize)) {
            latest.set(number);
        }
        number
    })
}

/// Records a change of tables with some numbers, which `store` writes to their versions. Readers read the counter
/// first and versions second: whoever has read a counter that includes the change has to find the new version.
pub(super) fn record(store: impl Fn(u64), tables: impl Iterator<Item = u64>) {
    let recorded = KNOWN.with(|known| {
        known.count_own();
        // The number that is expected is stored first, so that whoever reads the advanced counter finds it. If it is
        // right, the counter advances only once, which takes as long as a step on one number does.
        let expected = CHANGES.load(Ordering::Acquire) + 1;
        store(expected);
        let number = known.advance();
        if number == expected {
            return number;
        }
        // Other threads have advanced the counter meanwhile, so that the version is to be larger.
        store(number);
        // A reader that found the counter at `number`, but the version of before, would keep its value until the
        // counter advances again.
        known.advance()
    });
    KNOWN.with(|known| {
        for id in tables {
            if let Some(latest) = known.marked.get(mark(id) as usize) {
                latest.set(recorded);
            }
        }
    });
}
