//! Which lengths of an input were read as integers while graphs were built, and when.
//!
//! `len()` and a loop over rows give an integer, and what is made of an integer stays when the input
//! gets another length. So each such length is recorded, with the serial numbers of the nodes that
//! were built while the input had it: a graph of this input with one of these nodes holds for that
//! length alone.
//!
//! Limits: whether the integer was used cannot be known, so a graph that was built after a length was
//! only printed is bound, too. In graphs without the input its lengths are numbers as any others: to
//! bind those would tie all that is built later in the thread to the input.

use std::cell::{Cell, RefCell};

use crate::exec::Length;

/// Most records of one input.
const MOST: usize = 256;

thread_local! {
    /// Whether an input of this thread ever had a record.
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Whether an input of this thread ever had a record.
#[inline]
pub(in crate::graph) fn any() -> bool {
    ANY.with(Cell::get)
}

/// A length that was read as an integer.
#[derive(Debug)]
struct LengthRecord {
    length: Length,
    /// The nodes built while the input had the length are those with serial numbers above `from` and
    /// up to `until`.
    from: u64,
    until: u64,
}

impl LengthRecord {
    /// Whether a graph with nodes of these serial numbers, in rising order, may be made of the length.
    fn concerns(&self, serials: &[u64]) -> bool {
        let later = serials.partition_point(|&s| s <= self.from);
        serials.get(later).is_some_and(|&s| s <= self.until)
    }
}

/// The records of one input. Public as the trait `Node` is.
#[derive(Debug, Default)]
pub struct LengthRecords(RefCell<Vec<LengthRecord>>);

impl LengthRecords {
    /// Whether there is none.
    pub(in crate::graph) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Whether a length was read as an integer, and the input has had it since.
    pub(in crate::graph) fn has(&self, length: &Length) -> bool {
        let holds_now =
            |record: &LengthRecord| record.until == u64::MAX && record.length.is_same(length);
        self.0.borrow().iter().any(holds_now)
    }

    /// Adds a record of a length that was read when node `now` was the latest.
    pub(in crate::graph) fn add(&self, length: Length, now: u64) {
        ANY.with(|any| any.set(true));
        if self.has(&length) {
            return;
        }
        let mut records = self.0.borrow_mut();
        if records.len() >= MOST {
            // The two oldest records become one without a length, which refuses every shape.
            let oldest = records.remove(0);
            records[0].from = oldest.from;
            records[0].length.length = None;
        }
        records.push(LengthRecord {
            length,
            from: now,
            until: u64::MAX,
        });
    }

    /// The input has another shape: the records do not concern nodes after `now`.
    pub(in crate::graph) fn end(&self, now: u64) {
        for record in &mut *self.0.borrow_mut() {
            record.until = record.until.min(now);
        }
    }

    /// The lengths that a graph with nodes of these serial numbers, in rising order, may be made of.
    pub(super) fn lengths(&self, serials: &[u64]) -> Vec<Length> {
        let records = self.0.borrow();
        let concerned = records.iter().filter(|record| record.concerns(serials));
        concerned.map(|record| record.length.clone()).collect()
    }
}
